//! Rendering of resources in responses: each field of docs/contract/resources.md, in a fixed
//! order.
//!
//! A field that is typed as a string is a string in every state: empty while there
//! is nothing to say. Objects that do not exist yet (`capture`, `disburse`, `method`, `gateway`
//! before the first attempt) are null.

pub mod app;
pub mod attempt;
pub mod context;
pub mod currency;
pub mod customer;
pub mod method_list;
pub mod payment;
pub mod payout;
mod sides;

use serde_json::Number;
use switchyard_core::directory::Directory;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{Received, Transaction};
use switchyard_engine::access::App;

/// Context of rendering besides the transaction.
pub struct RenderContext<'a> {
    pub public_url: &'a str,
    pub directory: &'a Directory,
    pub app: &'a App,
}

impl RenderContext<'_> {
    /// The address of a path of ours, which begins with a slash.
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.public_url)
    }
}

/// Money that providers reported as moved for a transaction. All `None`: nothing was reported. An
/// amount that cannot be read has words only.
#[derive(Default)]
struct Moved {
    amount: Option<Number>,
    formatted: Option<String>,
    currency: Option<&'static str>,
}

impl Moved {
    fn of(tx: &Transaction) -> Self {
        let received = tx.received();
        let first = received.as_ref().map(Received::first);
        let formatted = received.map(|received| received.text(Amount::format));
        let has_case = tx.cases.iter().any(|case| case.reason.reports_money());
        let unreadable = has_case.then(|| "an amount that cannot be read".to_owned());
        Self {
            amount: first.map(Amount::to_json_number),
            formatted: formatted.or(unreadable),
            currency: first.map(|amount| amount.currency().code()),
        }
    }
}
