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

/// Words for an amount that cannot be read, in responses.
const UNREADABLE: &str = "an amount that cannot be read";

/// Words behind a sum that is not all of the money.
pub fn and_unreadable() -> String {
    format!("and {UNREADABLE}")
}

/// Money that providers reported as moved for a transaction, and did not take back. All `None`:
/// there is none. An amount that cannot be read and amounts in several currencies have words only.
#[derive(Default)]
struct Moved {
    amount: Option<Number>,
    formatted: Option<String>,
    currency: Option<&'static str>,
}

impl Moved {
    fn of(tx: &Transaction) -> Self {
        let kept = tx.kept();
        let single = kept.as_ref().and_then(Received::single);
        let formatted = kept.map(|kept| kept.text(&and_unreadable(), Amount::format));
        let unreadable = tx.has_unreadable_money().then(|| UNREADABLE.to_owned());
        Self {
            amount: single.map(Amount::to_json_number),
            formatted: formatted.or(unreadable),
            currency: single.map(|amount| amount.currency().code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use switchyard_core::money::Currency;
    use switchyard_core::testing::fixtures::{World, confirm, part};

    use super::*;

    #[test]
    fn money_in_several_currencies_has_no_single_number() {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(part(1_000)).unwrap();
        let one = Moved::of(&world.tx);
        assert_eq!(one.currency, Some(world.tx.amount.currency().code()));
        assert!(one.amount.is_some());
        let charges = &mut world.tx.attempts[0].charges;
        let mut other = charges[0].clone();
        let euro = Currency::from_code("EUR").unwrap();
        other.amount = Some(Amount::from_minor(1_525, euro));
        charges.push(other);
        let both = Moved::of(&world.tx);
        assert_eq!((both.amount, both.currency), (None, None));
        let words = both.formatted.unwrap();
        assert!(words.contains(" + ") && words.contains("15,25"), "{words}");
    }
}
