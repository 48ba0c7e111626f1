//! Who would take a payment now: what a page has to know before the payer confirms.

use std::sync::Arc;

use super::Engine;
use crate::gateway::Version;
use crate::transaction::Transaction;

/// The gateway that a confirmation would go to first.
#[derive(Clone, Debug)]
pub struct Prospect {
    pub gateway: Arc<Version>,
    /// It is the test gateway of the sandbox: test numbers decide.
    pub is_test: bool,
}

impl Engine {
    /// Where this payment would go by `method` if it were confirmed now; `None` when nobody can serve it.
    pub fn prospect(&self, tx: &Transaction, method: &str) -> Option<Prospect> {
        let route = self.route_payment(tx, method);
        let first = route.candidates.first()?;
        Some(Prospect {
            gateway: self.gateways.version(&first.gateway, &first.gateway_hash)?,
            is_test: first.gateway == self.settings.sandbox_gateway,
        })
    }
}
