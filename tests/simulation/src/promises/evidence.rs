//! What was seen from outside, and what the store says at the end. Times are microseconds of a clock that nobody sets.

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
    /// The merchants' inboxes, what did not arrive included.
    pub deliveries: Vec<Delivery>,
    pub given_up: Vec<GivenUp>,
    /// Mails that the server took, by their id.
    pub mails: Vec<String>,
    /// The webhooks that were told of everything.
    pub webhooks: Vec<String>,
    /// The store, when everything had come to rest.
    pub stored: Vec<Stored>,
    /// Rows about webhooks and mails that are still waiting then.
    pub outbox: usize,
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
    /// It asks for money to be moved.
    pub submits: bool,
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

/// A callback.
#[derive(Clone, Debug)]
pub struct Calling {
    pub host: String,
    pub reference: String,
    pub status: String,
    pub body: String,
    /// By the provider: not forged.
    pub signed: bool,
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
    /// Whether its customer or operator ended it by hand.
    pub history: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct StoredAttempt {
    pub reference: String,
    /// `started`, `pending`, `in_doubt`, `succeeded`, `declined`, `not_sent`.
    pub state: String,
    /// Requests of it in the journal that can have moved money.
    pub journaled: usize,
}

impl Evidence {
    pub fn stored(&self, id: &str) -> Option<&Stored> {
        self.stored.iter().find(|stored| stored.id == id)
    }
}

impl Stored {
    pub fn has_case(&self, reference: &str) -> bool {
        self.cases.iter().any(|(about, _)| about == reference)
    }
}
