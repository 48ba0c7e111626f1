//! Price of a payment by a method: its own amount, or that amount in the method's currency, if the
//! app allows conversion.

use super::Engine;
use switchyard_core::directory::Method;
use switchyard_core::ids::AppId;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{Kind, Price, Transaction};
use switchyard_gateway_host::Direction;

impl Engine {
    /// Price of this payment by `method` now; `None` when the method's currency is another one and
    /// the app does not convert, or no valid rate connects the two.
    pub fn price(&self, tx: &Transaction, method: &str) -> Option<Price> {
        match self.directory().payment_method(method) {
            Some(method) => self.price_of(tx.app, tx.amount, method),
            // A gateway's own method: its row says which currency it takes, and routing holds the
            // amount against it.
            None => Some(Price::plain(tx.amount)),
        }
    }

    /// The same for a payment that does not exist yet.
    pub fn price_of(&self, app: AppId, amount: Amount, method: &Method) -> Option<Price> {
        if method.currency == amount.currency() {
            return Some(Price::plain(amount));
        }
        let correction = self.access().app(app)?.settings.conversion?;
        let converted = self.exchange_rates().convert(
            amount,
            method.currency,
            self.decimals(method),
            correction,
        );
        let (amount, conversion) = converted?.ok()?;
        Some(Price {
            amount,
            conversion: Some(conversion),
        })
    }

    /// The decimals that every gateway of the method can take, so that the price is the same
    /// wherever it goes.
    fn decimals(&self, method: &Method) -> u8 {
        let gateways = self.gateways_serving(Kind::Payment, &method.code);
        let rows = gateways
            .iter()
            .filter_map(|gateway| gateway.method(Direction::Collect, &method.code)?.decimals);
        rows.min().unwrap_or_else(|| method.currency.decimals())
    }
}
