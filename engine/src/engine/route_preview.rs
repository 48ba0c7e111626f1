//! Preview of a payment's route: data that a page shows before the payer confirms.

use std::sync::Arc;

use super::{Engine, Purpose};
use switchyard_core::directory::{Method, PHONE_FIELD};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_core::money::Amount;
use switchyard_core::routing::{Eligibility, Offer};
use switchyard_core::transaction::{Kind, Price, Transaction};
use switchyard_gateway_host::{Direction, Version};

/// The gateway that a confirmation would go to first.
#[derive(Clone, Debug)]
pub struct RoutePreview {
    pub gateway: Arc<Version>,
    pub connection: ConnectionId,
    pub price: Price,
    /// Whether this is the test gateway of the sandbox: test numbers decide.
    pub is_test: bool,
}

impl Engine {
    /// Route of this payment by `method` if it were confirmed now; `None` when no connection can
    /// serve it.
    pub fn route_preview(&self, tx: &Transaction, method: &str) -> Option<RoutePreview> {
        let price = self.price(tx, method)?;
        let route = self.route_payment(tx, method, price.amount, None, Purpose::Look);
        let first = route.candidates.first()?;
        Some(RoutePreview {
            gateway: self
                .gateways()
                .version(&first.gateway, &first.gateway_hash)?,
            connection: first.connection,
            price,
            is_test: first.gateway == self.settings().sandbox_gateway,
        })
    }

    /// Whether a connection that would take a payment of `amount` by `method` now has the payer
    /// enter the phone number from which they pay. The test gateway always does.
    pub fn can_be_tied_to_a_phone(
        &self,
        app: AppId,
        environment: Environment,
        method: &Method,
        amount: Amount,
    ) -> bool {
        let asks = |offer: &Offer| {
            let candidate = &offer.candidate;
            let is_test = candidate.gateway == self.settings().sandbox_gateway;
            let version = self.gateways().current(&candidate.gateway);
            let row = version
                .as_ref()
                .and_then(|version| version.method(Direction::Collect, &method.code));
            is_test || row.is_some_and(|row| row.fields.iter().any(|one| one.name == PHONE_FIELD))
        };
        if method.field(PHONE_FIELD).is_some() {
            return true;
        }
        let country = self.only_country(Kind::Payment, &method.code);
        self.offers(
            app,
            environment,
            Kind::Payment,
            &method.code,
            country,
            Some(amount),
        )
        .iter()
        .any(|offer| offer.standing == Eligibility::CanServe && asks(offer))
    }
}
