//! What was seen from outside, and what the store says at the end. Times are microseconds of a clock that nobody sets.

use std::collections::BTreeMap;

/// All that the promises are held against.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What was answered with 201.
    pub accepted: Vec<Accepted>,
    /// In the order in which they were seen.
    pub sightings: Vec<Sighting>,
    /// Requests about money, as they left.
    pub sent: Vec<Sent>,
    /// The providers' books.
    pub charges: Vec<Charge>,
    /// What providers said, whether or not it was heard.
    pub said: Vec<Said>,
    pub callings: Vec<Calling>,
    /// What of it a living process has read in answers.
    pub answered: Vec<Answered>,
    /// When the process died.
    pub deaths: Vec<i64>,
    /// The merchants' inboxes, what did not arrive included.
    pub deliveries: Vec<Delivery>,
    pub given_up: Vec<GivenUp>,
    /// Mails that the server took.
    pub mails: Vec<Mail>,
    /// Mails that the engine is done with.
    pub posted: Vec<Posted>,
    /// What payers were shown that they pay, before they said yes.
    pub agreed: Vec<Agreed>,
    /// Requests with the access token of another connection, each in a sentence.
    pub foreign_tokens: Vec<String>,
    /// The codes that payers typed.
    pub codes: Vec<String>,
    /// Those of them, and of the connections' secrets, that lie on the disk in clear at the end.
    pub kept_in_clear: Vec<String>,
    /// Who was told that no gateway can serve them.
    pub turned_away: Vec<String>,
    /// Changes of gateways that an operator was told of, in order.
    pub changes: Vec<Changed>,
    /// The version of each gateway that is in force at the end.
    pub gateways: BTreeMap<String, Option<String>>,
    /// Orders about transactions that were carried out, as far as the operator was told.
    pub orders: Vec<OrderedByHand>,
    pub peace: Peace,
    /// The webhooks that were told of everything.
    pub webhooks: Vec<String>,
    /// The store, when everything had come to rest.
    pub stored: Vec<Stored>,
    /// What lists tell of how many there are, then.
    pub totals: Vec<Total>,
    /// Rows about webhooks and mails that are still waiting then.
    pub outbox: usize,
}

/// What never went wrong. Where a promise is about time, or about who is served, only what was well counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peace {
    pub disk: bool,
    pub clock: bool,
    /// Nothing was lost or late on the network.
    pub network: bool,
    /// Nobody died.
    pub process: bool,
    /// The first gateway, whose hosts begin with `s`.
    pub first: bool,
    /// All gateways.
    pub gateways: bool,
    /// Timers were exact up to then.
    pub exact_until: i64,
}

/// A mail that the server took.
#[derive(Clone, Debug)]
pub struct Mail {
    pub at: i64,
    pub id: String,
    /// The life of the process that sent it.
    pub life: u64,
    /// That life has read the server's answer.
    pub acknowledged: bool,
}

/// A mail that was sent or given up.
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
    /// The version that is in force from then on; `None`: none is.
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

/// Somebody was shown a transaction.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub at: i64,
    pub transaction: String,
    pub status: String,
    /// The transaction's version, where it was shown.
    pub version: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Sent {
    pub at: i64,
    pub reference: String,
    pub is_live: bool,
    /// Of the provider: `s0.live`.
    pub host: String,
    /// The version of the gateway that wrote it.
    pub version: String,
    /// It asks for money to be moved.
    pub submits: bool,
    /// So much of it, if it does.
    pub minor: i64,
    pub currency: String,
    /// Not one byte of it left when false.
    pub left: bool,
}

/// Money that moved.
#[derive(Clone, Debug)]
pub struct Charge {
    pub at: i64,
    pub reference: String,
    pub transaction: String,
    pub is_payout: bool,
    pub is_live: bool,
    pub minor: i64,
    pub currency: String,
    /// The provider had said before that it would not, or took another amount.
    pub lied: bool,
    pub taken_back: bool,
}

#[derive(Clone, Debug)]
pub struct Said {
    pub at: i64,
    pub reference: String,
    /// `paid`, `pending`, `declined`, `busy`, or `unknown`.
    pub status: String,
}

/// An answer of a provider that a living process has read.
#[derive(Clone, Debug)]
pub struct Answered {
    pub at: i64,
    pub reference: String,
    /// Of the request.
    pub method: String,
    pub status: u16,
    /// The provider's word: `paid`, `pending`, `declined`, `busy`. `None`: it failed, does not know the reference, or talks nonsense.
    pub word: Option<String>,
}

/// A callback.
#[derive(Clone, Debug)]
pub struct Calling {
    pub host: String,
    pub reference: String,
    pub status: String,
    pub body: String,
    /// By the provider: not forged.
    pub signed: bool,
    /// It names our reference, and not the provider's id alone, which may be that of several attempts.
    pub names_reference: bool,
    /// Its gateway panics over most that it is given: it may be put aside unread, where an operator sees it.
    pub to_sick: bool,
    /// When it was answered with 200.
    pub acknowledged_at: Option<i64>,
}

/// One attempt to deliver a webhook.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub at: i64,
    /// Its URL.
    pub webhook: String,
    pub event: String,
    pub event_id: String,
    pub transaction: String,
    pub status: String,
    /// A hash of the body.
    pub body: u64,
    pub is_signed: bool,
    pub arrived: bool,
    pub acknowledged: bool,
    /// The life of the process that sent it.
    pub life: u64,
}

/// A delivery that was given up, where an operator can see it.
#[derive(Clone, Debug)]
pub struct GivenUp {
    pub webhook: String,
    pub transaction: String,
    pub event: String,
}

/// A transaction as it is stored.
#[derive(Clone, Debug)]
pub struct Stored {
    pub id: String,
    pub status: String,
    pub is_live: bool,
    pub is_final: bool,
    pub version: u64,
    pub minor: i64,
    pub attempts: Vec<StoredAttempt>,
    /// The references that open or closed cases are about, with their reasons.
    pub cases: Vec<(String, String)>,
    /// Whether it has a time at which it is looked at again, and a timer for it.
    pub has_timer: bool,
    /// How often its timeline says that it ended.
    pub ends: usize,
    /// References of attempts that began after the engine had recorded money for another one.
    pub begun_after_money: Vec<String>,
    pub history: Vec<String>,
    /// The operators who signed something on its timeline.
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
    /// What one unit of the transaction's currency is in the attempt's, when they differ: a decimal.
    pub rate: Option<String>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    /// Requests of it in the journal that can have moved money.
    pub journaled: usize,
    /// The answers in its journal: the request's method and the answer's status.
    pub answers: Vec<(String, u16)>,
}

/// The total of one list.
#[derive(Clone, Debug)]
pub struct Total {
    /// Whose list it is, and what it is filtered by.
    pub list: String,
    pub told: u64,
    pub stored: u64,
}

impl Evidence {
    pub fn stored(&self, id: &str) -> Option<&Stored> {
        self.stored.iter().find(|stored| stored.id == id)
    }

    /// Whether what the process learned then was surely dealt with: it lived on for longer than that takes, and its disk was well.
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

    /// Whether the engine has promised to deal with it, and can.
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
