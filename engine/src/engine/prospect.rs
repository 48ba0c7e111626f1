//! Who would take a payment now: what a page has to know before the payer confirms.

use std::sync::Arc;

use super::{Engine, Purpose};
use crate::gateway::Version;
use crate::transaction::{Price, Transaction};

/// The gateway that a confirmation would go to first.
#[derive(Clone, Debug)]
pub struct Prospect {
    pub gateway: Arc<Version>,
    pub price: Price,
    /// It is the test gateway of the sandbox: test numbers decide.
    pub is_test: bool,
}

impl Engine {
    /// Where this payment would go by `method` if it were confirmed now; `None` when nobody can serve it.
    pub fn prospect(&self, tx: &Transaction, method: &str) -> Option<Prospect> {
        let price = self.price(tx, method)?;
        let route = self.route_payment(tx, method, price.amount, None, Purpose::Look);
        let first = route.candidates.first()?;
        Some(Prospect {
            gateway: self.gateways.version(&first.gateway, &first.gateway_hash)?,
            price,
            is_test: first.gateway == self.settings.sandbox_gateway,
        })
    }
}
