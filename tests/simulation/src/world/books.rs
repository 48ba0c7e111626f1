//! The providers' ledgers: received requests by reference, their effects, and the statements about
//! them.

use std::collections::BTreeMap;

use super::{MINUTE, SECOND};
use crate::chance::Chance;
use crate::promises::{Charge, Said};
use crate::reached::Counts;

/// The ledgers of all providers, by reference.
pub struct Books {
    pub entries: BTreeMap<String, Entry>,
    /// Repetitions of submissions, by reference.
    pub repeats: BTreeMap<String, Repeats>,
    /// Count of each lie.
    pub told: Counts,
    chance: Chance,
}

/// Repetitions of one reference's submission.
#[derive(Default)]
pub struct Repeats {
    /// Submissions that were answered 401 and not sent again so far.
    pub unauthorized: u32,
    /// Whether it was sent again after a failure.
    pub once: bool,
}

/// Lies, and other faults that every run has to contain. [`Books::fate`] draws the first thirteen
/// by their position.
pub const LIES: &[&str] = &[
    "declined and then paid",
    "busy and then paid",
    "paid and then taken back",
    "less money",
    "more money",
    "paid twice",
    "another currency",
    "another reference's id",
    "one id for all",
    "not found and then paid",
    "not found and then paid in parts",
    "not found and then paid without naming an amount",
    "an amount that cannot be read and then declined",
    ID_DISAGREES,
    REPEATED_LATE,
    TOKEN_EXPIRED,
    LONG_PAUSE,
];

/// A callback names one reference by our name for it, and another one by the provider's id.
pub const ID_DISAGREES: &str = "reference and id that disagree";

/// A request is sent again so late that "not found" after the first one would be final.
pub const REPEATED_LATE: &str = "a second write much later";

/// A token that the gateway keeps has expired or was revoked.
pub const TOKEN_EXPIRED: &str = "an expired token of a cache";

/// An order comes after the health data of its connection is too old.
pub const LONG_PAUSE: &str = "a pause longer than a health window";

/// A provider's record of one reference.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Provider and environment: `s0.live`.
    pub host: String,
    pub reference: String,
    pub transaction: String,
    pub is_payout: bool,
    pub currency: String,
    pub arrived_at: i64,
    /// The provider's own status: `pending`, `code`, `part`, `paid`, `declined`, `busy`.
    pub status: &'static str,
    /// Code that was sent to the payer, if the provider requires one.
    pub code: String,
    /// Reported amount. An erroneous provider reports another amount than it was asked for.
    pub taken: i64,
    /// Amount that was asked for.
    pub asked: i64,
    /// The provider's own id. An erroneous provider uses one id for several references.
    pub id: String,
    /// Whether its callbacks name our reference; otherwise they have only the id.
    pub names_reference: bool,
    /// Whether the provider still answers that it does not know the reference.
    pub hidden: bool,
    /// Whether it arrived by a repeated request, so late that the provider knows it at once.
    pub repeated: bool,
    /// Whether the provider reports the amount that it took.
    pub names_amount: bool,
}

/// Effect of a request at a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Paid,
    Declined,
    Busy,
    /// Paid, or declined, after this delay.
    Later {
        paid: bool,
        after: i64,
    },
    Endless,
    /// Requires a code from the payer, and gives up after this delay.
    WantsCode {
        until: i64,
    },
    /// Answers declined or busy, and takes the money after this delay anyway.
    DeclinesAndTakes {
        status: &'static str,
        after: i64,
    },
    /// Answers paid, and reverses it after this delay.
    PaysAndTakesBack {
        after: i64,
    },
    /// Takes less than was asked for.
    TakesLess,
    /// Takes more than was asked for.
    TakesMore,
    /// Answers that it does not know the reference, and takes the money after this delay anyway.
    HidesAndTakes {
        after: i64,
    },
    /// The same, with the money taken in parts.
    HidesAndTakesParts {
        after: i64,
    },
    /// The same, with paid reported without an amount, and the amount reported later.
    HidesAndTakesUnnamed {
        after: i64,
    },
    /// Takes the money, reports an amount that cannot be read as received so far, and answers
    /// declined after this delay.
    TakesUnreadable {
        after: i64,
    },
    /// Answers paid, and after this delay reports another charge under another id.
    TakesTwice {
        after: i64,
    },
    /// Takes the amount in another currency.
    OtherCurrency,
    /// Uses the id of another reference.
    BorrowsId,
    /// Uses one id for all references with this effect, and sends callbacks with that id alone.
    RepeatsId,
}

impl Books {
    pub fn new(seed: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            repeats: BTreeMap::new(),
            told: Counts::new(),
            chance: Chance::of(seed, "books"),
        }
    }

    /// Counts a lie.
    pub fn tell(&mut self, lie: &'static str) {
        *self.told.entry(lie).or_default() += 1;
    }

    /// Draws the effect of the next request.
    pub fn fate(&mut self, lies: bool, endless: bool) -> Fate {
        let chance = &mut self.chance;
        let seconds = |chance: &mut Chance, most| {
            i64::try_from(chance.between(1, most)).unwrap_or(1) * SECOND
        };
        if lies {
            let after = seconds(chance, 600);
            // Most of these lies follow a "not found": they need a payer who returns before the
            // money arrives.
            let kind = chance.below(22);
            let name = match kind {
                0..9 => usize::try_from(kind).unwrap_or(0),
                9..14 => 9,
                14..16 => 10,
                16..18 => 11,
                18..20 => 12,
                _ => 7,
            };
            self.tell(LIES[name]);
            return match kind {
                0 => Fate::DeclinesAndTakes {
                    status: "declined",
                    after,
                },
                1 => Fate::DeclinesAndTakes {
                    status: "busy",
                    after,
                },
                2 => Fate::PaysAndTakesBack { after },
                3 => Fate::TakesLess,
                4 => Fate::TakesMore,
                5 => Fate::TakesTwice { after },
                6 => Fate::OtherCurrency,
                7 => Fate::BorrowsId,
                8 => Fate::RepeatsId,
                // After the time from which "not found" counts as final.
                9..14 => Fate::HidesAndTakes {
                    after: after + 130 * SECOND,
                },
                14..16 => Fate::HidesAndTakesParts {
                    after: after + 130 * SECOND,
                },
                16..18 => Fate::HidesAndTakesUnnamed {
                    after: after + 130 * SECOND,
                },
                18..20 => Fate::TakesUnreadable { after },
                _ => Fate::BorrowsId,
            };
        }
        if endless {
            return Fate::Endless;
        }
        match chance.below(100) {
            0..40 => Fate::Paid,
            40..50 => Fate::Declined,
            50..60 => Fate::Busy,
            60..85 => Fate::Later {
                paid: true,
                after: seconds(chance, 120),
            },
            85..95 => Fate::Later {
                paid: false,
                after: seconds(chance, 120),
            },
            _ => Fate::Later {
                paid: chance.below(2) == 0,
                after: i64::try_from(chance.between(10, 300)).unwrap_or(10) * MINUTE,
            },
        }
    }
}

impl Entry {
    /// Whether a provider that is slow to publish its references knows this one.
    pub fn is_known_at(&self, now: i64) -> bool {
        self.repeated || now - self.arrived_at > 20 * SECOND
    }

    /// Creates the movement of money at this time.
    pub fn charge(&self, at: i64, lied: bool) -> Charge {
        Charge {
            at,
            reference: self.reference.clone(),
            transaction: self.transaction.clone(),
            is_payout: self.is_payout,
            is_live: self.host.ends_with(".live"),
            minor: self.taken,
            currency: self.currency.clone(),
            lied,
            taken_back: false,
        }
    }

    /// Records the provider's current statement about the reference.
    pub fn said(&self, at: i64) -> Said {
        Said {
            at,
            reference: self.reference.clone(),
            status: self.status.to_owned(),
        }
    }

    /// Whether its callbacks name this reference and the id of another one.
    pub fn disagrees(&self) -> bool {
        self.names_reference && !self.id.ends_with(&self.reference)
    }

    /// Body of the response to a query.
    pub fn body(&self) -> String {
        self.body_naming(&self.reference)
    }

    /// Body of a callback.
    pub fn callback(&self) -> String {
        match self.names_reference {
            true => self.body(),
            false => self.body_naming(""),
        }
    }

    fn body_naming(&self, reference: &str) -> String {
        serde_json::json!({
            "reference": reference,
            "id": self.id,
            "status": self.status,
            "minor": self.names_amount.then_some(self.taken),
            "currency": self.currency,
        })
        .to_string()
    }
}
