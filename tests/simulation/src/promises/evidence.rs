//! Observations from outside, and the contents of the store at the end. Times are in microseconds
//! of a clock that is never set.

use std::collections::BTreeMap;

/// Evidence for all promises.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Requests that were answered with 201.
    pub accepted: Vec<Accepted>,
    /// Views of transactions, in order.
    pub sightings: Vec<Sighting>,
    /// Requests to providers about money, in order.
    pub sent: Vec<Sent>,
    /// The providers' ledgers.
    pub charges: Vec<Charge>,
    /// Statements of providers, whether or not they were received.
    pub said: Vec<Said>,
    pub callings: Vec<Calling>,
    /// Statements that a running process has read in responses.
    pub answered: Vec<Answered>,
    /// Times at which the process crashed.
    pub deaths: Vec<i64>,
    /// The merchants' inboxes, including deliveries that did not arrive.
    pub deliveries: Vec<Delivery>,
    pub given_up: Vec<GivenUp>,
    /// Mails that the server accepted.
    pub mails: Vec<Mail>,
    /// Mails that the engine has sent or marked as failed.
    pub posted: Vec<Posted>,
    /// Prices that payers were shown before they confirmed.
    pub agreed: Vec<Agreed>,
    /// Requests with the access token of another connection, each as a sentence.
    pub foreign_tokens: Vec<String>,
    /// Codes that payers typed.
    pub codes: Vec<String>,
    /// Codes and connection secrets that are on the disk in the clear at the end.
    pub kept_in_clear: Vec<String>,
    /// Payers and merchants who got the response that no gateway is available.
    pub turned_away: Vec<String>,
    /// Gateway changes that were acknowledged to an operator, in order.
    pub changes: Vec<Changed>,
    /// Active version of each gateway at the end.
    pub gateways: BTreeMap<String, Option<String>>,
    /// Commands about transactions that were acknowledged to an operator.
    pub orders: Vec<OrderedByHand>,
    pub peace: Peace,
    /// Webhooks that receive every event.
    pub webhooks: Vec<String>,
    /// Transactions in the store when everything had come to rest.
    pub stored: Vec<Stored>,
    /// Totals of lists at that time.
    pub totals: Vec<Total>,
    /// Webhooks and mails that are still queued at that time.
    pub outbox: usize,
}

/// Parts of the system that never failed. A promise about time, or about who is served, applies
/// only to those parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peace {
    pub disk: bool,
    pub clock: bool,
    /// Whether the network lost and delayed nothing.
    pub network: bool,
    /// Whether the process did not crash.
    pub process: bool,
    /// Whether the first gateway, whose hosts begin with `s`, did not fail.
    pub first: bool,
    /// Whether no gateway failed.
    pub gateways: bool,
    /// Time until which timers were exact.
    pub exact_until: i64,
}

/// A mail that the server accepted.
#[derive(Clone, Debug)]
pub struct Mail {
    pub at: i64,
    pub id: String,
    /// Life of the process that sent it.
    pub life: u64,
    /// Whether that life has read the server's response.
    pub acknowledged: bool,
}

/// A mail that was sent or marked as failed.
#[derive(Clone, Debug)]
pub struct Posted {
    pub id: String,
    pub transaction: String,
    pub status: String,
    pub to: &'static str,
    pub sent: bool,
}

#[derive(Clone, Debug)]
pub struct Agreed {
    pub transaction: String,
    pub minor: i64,
    pub currency: String,
}

#[derive(Clone, Debug)]
pub struct Changed {
    pub gateway: String,
    /// Active version after the change; `None`: no version is active.
    pub version: Option<String>,
}

#[derive(Clone, Debug)]
pub struct OrderedByHand {
    pub by: String,
    pub transaction: String,
}

#[derive(Clone, Debug)]
pub struct Accepted {
    pub at: i64,
    pub transaction: String,
    pub key: Option<String>,
    pub is_live: bool,
    pub minor: i64,
}

/// A view of a transaction by a payer, merchant or operator.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub at: i64,
    pub transaction: String,
    pub status: String,
    /// Version of the transaction, if shown.
    pub version: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Sent {
    pub at: i64,
    pub reference: String,
    pub is_live: bool,
    /// Host of the provider: `s0.live`.
    pub host: String,
    /// Version of the gateway that sent it.
    pub version: String,
    /// Whether it asks to move money.
    pub submits: bool,
    /// Amount in the smallest unit, if it submits.
    pub minor: i64,
    pub currency: String,
    /// False when not a single byte of it left.
    pub left: bool,
}

/// A movement of money.
#[derive(Clone, Debug)]
pub struct Charge {
    pub at: i64,
    pub reference: String,
    pub transaction: String,
    pub is_payout: bool,
    pub is_live: bool,
    pub minor: i64,
    pub currency: String,
    /// Whether the provider had said before that it would not charge, or took another amount.
    pub lied: bool,
    pub taken_back: bool,
}

#[derive(Clone, Debug)]
pub struct Said {
    pub at: i64,
    pub reference: String,
    /// `paid`, `part`, `pending`, `declined`, `busy`, or `unknown`.
    pub status: String,
}

/// A provider's response that a running process has read.
#[derive(Clone, Debug)]
pub struct Answered {
    pub at: i64,
    pub reference: String,
    /// HTTP method of the request.
    pub method: String,
    pub status: u16,
    /// The provider's status: `paid`, `pending`, `declined`, `busy`. `None`: the provider failed,
    /// does not know the reference, or returned an invalid response.
    pub word: Option<String>,
}

/// A callback.
#[derive(Clone, Debug)]
pub struct Calling {
    pub host: String,
    pub reference: String,
    pub status: String,
    pub body: String,
    /// Whether the provider signed it; false for a forged one.
    pub signed: bool,
    /// Whether it names our reference. Otherwise it has only the provider's id, which several
    /// attempts may share.
    pub names_reference: bool,
    /// Whether its gateway panics at most callbacks. Such a callback may be parked unread, where an
    /// operator can see it.
    pub to_sick: bool,
    /// Time of the response 200.
    pub acknowledged_at: Option<i64>,
}

/// One attempt to deliver a webhook.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub at: i64,
    /// URL of the webhook.
    pub webhook: String,
    pub event: String,
    pub event_id: String,
    pub transaction: String,
    pub status: String,
    /// Hash of the body.
    pub body: u64,
    pub is_signed: bool,
    pub arrived: bool,
    pub acknowledged: bool,
    /// Life of the process that sent it.
    pub life: u64,
}

/// A delivery marked as failed, where an operator can see it.
#[derive(Clone, Debug)]
pub struct GivenUp {
    pub webhook: String,
    pub transaction: String,
    pub event: String,
}

/// A stored transaction.
#[derive(Clone, Debug)]
pub struct Stored {
    pub id: String,
    pub status: String,
    pub is_live: bool,
    pub is_final: bool,
    pub version: u64,
    pub minor: i64,
    pub attempts: Vec<StoredAttempt>,
    /// References that open or closed cases are about, with their reasons.
    pub cases: Vec<(String, String)>,
    /// Whether it has a wake-up time, and a timer for it.
    pub has_timer: bool,
    /// Number of ends in its timeline.
    pub ends: usize,
    /// References of attempts that began after the engine had recorded money for another one.
    pub begun_after_money: Vec<String>,
    pub history: Vec<String>,
    /// Operators who signed an event on its timeline.
    pub signed: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct StoredAttempt {
    pub reference: String,
    /// `started`, `pending`, `in_doubt`, `succeeded`, `declined`, `not_sent`.
    pub state: String,
    /// The provider's id of the attempt, as far as the engine knows it.
    pub provider_id: Option<String>,
    pub minor: i64,
    pub currency: String,
    /// Price of one unit of the transaction's currency in the attempt's currency, as a decimal, if
    /// they differ.
    pub rate: Option<String>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    /// Number of requests in its journal that can have moved money.
    pub journaled: usize,
    /// Responses in its journal: the request's method and the response's status.
    pub answers: Vec<(String, u16)>,
}

/// Total of one list.
#[derive(Clone, Debug)]
pub struct Total {
    /// App, environment and filter of the list.
    pub list: String,
    pub told: u64,
    pub stored: u64,
}

impl Evidence {
    pub fn stored(&self, id: &str) -> Option<&Stored> {
        self.stored.iter().find(|stored| stored.id == id)
    }

    /// Whether the process has certainly handled the message that it received at this time: it ran
    /// for longer than that takes, and its disk did not fail.
    pub fn was_dealt_with(&self, at: i64) -> bool {
        let soon_after = |died: &i64| (at..at + ENOUGH).contains(died);
        self.peace.disk && !self.deaths.iter().any(soon_after)
    }
}

impl Calling {
    /// Whether it is about the charge with this provider id.
    pub fn names_id(&self, id: &str) -> bool {
        self.body.contains(&format!("\"id\":\"{id}\""))
    }

    /// Whether the engine has acknowledged it and is able to process it.
    pub fn was_taken(&self) -> bool {
        self.signed && self.names_reference && !self.to_sick && self.acknowledged_at.is_some()
    }
}

impl Stored {
    pub fn has_case(&self, reference: &str) -> bool {
        self.cases.iter().any(|(about, _)| about == reference)
    }
}

/// Longer than a call lasts, in microseconds.
const ENOUGH: i64 = 120_000_000;
