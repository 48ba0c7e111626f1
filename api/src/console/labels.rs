//! Labels of transactions on the pages of the console: status, detail and money.

use switchyard_core::directory::Directory;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{Customer, Kind, State, TakenBack, Transaction};

use super::case_names::attention_name;
use super::text::Text;
pub use crate::privacy::masked;

/// Status of a transaction: a word with an icon of its own shape.
pub struct Badge {
    /// Class of the style sheet and, after `i-`, name of the icon.
    pub class: &'static str,
    pub word: String,
    /// Word of the API.
    pub api: &'static str,
}

/// Amount in two parts, so that the code can be set smaller than the number.
pub struct Sum {
    pub currency: &'static str,
    pub number: String,
}

impl Sum {
    pub fn new(amount: Amount, text: Text) -> Self {
        Self {
            currency: amount.currency().code(),
            number: amount.figures(text.language()),
        }
    }
}

/// The status of a transaction. A success whose money the provider took back is not shown as paid,
/// and an unknown outcome is never shown as failed.
pub fn badge(tx: &Transaction, text: Text) -> Badge {
    let (class, word) = match (&tx.state, tx.kind()) {
        (State::Succeeded, _) if tx.taken_back() == TakenBack::All || !tx.success_stands() => {
            ("unknown", "console-status-taken-back")
        }
        (State::Succeeded, Kind::Payment) => ("paid", "console-status-paid"),
        (State::Succeeded, Kind::Payout) => ("paid", "console-status-sent"),
        (State::Failed(_), _) => ("failed", "console-status-failed"),
        (State::Cancelled, _) => ("cancelled", "console-status-cancelled"),
        (State::AwaitingCustomer, _) => ("waiting", "console-status-payer"),
        (State::AwaitingDispatch, _) => ("waiting", "console-status-dispatch"),
        (State::AwaitingGateway | State::AwaitingProvider, _) => {
            ("waiting", "console-status-provider")
        }
        (State::InDoubt, _) => ("unknown", "console-status-unknown"),
        (State::OnHold, _) => ("unknown", "console-status-hold"),
    };
    Badge {
        class,
        word: text.say(word),
        api: tx.status().as_str(),
    }
}

/// Detail beside the status: an open case, money that does not match, the reason of a failure.
/// `None`: the status says it all.
pub fn detail(tx: &Transaction, text: Text) -> Option<String> {
    if let Some(name) = attention_name(tx, text) {
        return Some(name);
    }
    match tx.taken_back() {
        TakenBack::Nothing => {}
        TakenBack::Part => return Some(text.say("console-money-partly-taken-back")),
        TakenBack::All => return Some(text.say("console-money-taken-back")),
    }
    match &tx.state {
        State::Failed(failure) => {
            let part = tx.received().map(|received| {
                let unreadable = text.say("console-money-and-unreadable");
                let sum = received.text(&unreadable, |amount| amount.with_code(text.language()));
                let name = match tx.is_received_sum_disputed() {
                    true => "console-money-reported",
                    false => "console-money-part",
                };
                text.with(name, &[("received", &sum)])
            });
            let reason = format!("console-decline-{}", failure.reason.as_str());
            Some(part.unwrap_or_else(|| text.say(&reason)))
        }
        State::AwaitingCustomer => {
            let last = tx.attempts.last()?.decline.as_ref()?;
            Some(text.say(&format!("console-decline-{}", last.reason.as_str())))
        }
        State::Cancelled if !tx.surely_moved_no_money() => Some(text.say("console-money-unclear")),
        _ => None,
    }
}

/// The sentence on money at the head of a transaction's page.
pub fn about_money(tx: &Transaction, text: Text) -> String {
    if tx.surely_moved_no_money() {
        return text.say("console-about-nothing");
    }
    let Some(received) = tx.received() else {
        return text.say(match (tx.has_unreadable_money(), tx.taken_back()) {
            (true, _) => "console-about-unreadable",
            (false, TakenBack::All) => "console-about-unreadable-back",
            (false, TakenBack::Part | TakenBack::Nothing) => "console-about-unknown",
        });
    };
    let write = |amount: Amount| amount.with_code(text.language());
    let unreadable = text.say("console-money-and-unreadable");
    let (sum, asked) = (received.text(&unreadable, write), write(received.asked));
    let sentence = match (tx.taken_back(), tx.kind()) {
        (TakenBack::All, _) => "console-about-taken-back",
        (TakenBack::Part, _) => "console-about-partly-taken-back",
        (TakenBack::Nothing, _) if tx.is_received_sum_disputed() => "console-about-reported",
        (TakenBack::Nothing, _) if received.is_part() => "console-about-part",
        (TakenBack::Nothing, Kind::Payment) => "console-about-received",
        (TakenBack::Nothing, Kind::Payout) => "console-about-paid-out",
    };
    let others: Vec<_> = tx.contradicting_amounts().into_iter().map(write).collect();
    let other = match others.is_empty() {
        true => "none".to_owned(),
        false => others.join(", "),
    };
    let values = [("received", &*sum), ("asked", &*asked), ("other", &*other)];
    text.with(sentence, &values)
}

/// Name of a transaction's method in the reader's language; its code when the directory no longer
/// has it.
pub fn method(tx: &Transaction, directory: &Directory, text: Text) -> Option<String> {
    let code = tx.method()?;
    Some(method_name(directory, tx.kind(), code, text))
}

pub fn method_name(directory: &Directory, kind: Kind, code: &str, text: Text) -> String {
    let known = directory.method(kind, code);
    known.map_or_else(
        || code.to_owned(),
        |method| method.name_in(text.language()).to_owned(),
    )
}

/// Name of the customer; initials for readers who may not see personal data.
pub fn customer_name(customer: &Customer, may_see: bool, text: Text) -> String {
    if customer.email.is_empty() {
        return text.say("console-customer-erased");
    }
    let initial = |name: &str| name.chars().next().map(|first| format!("{first}."));
    match may_see {
        true => format!("{} {}", customer.first_name, customer.last_name),
        false => {
            let names = [&customer.first_name, &customer.last_name];
            let initials: Vec<_> = names.into_iter().filter_map(|name| initial(name)).collect();
            initials.join(" ")
        }
    }
}
