//! What the people do who run the installation: they change gateways, set rates, and lend transactions a hand.

use std::collections::BTreeSet;

use super::agenda::{Deed, Happening};
use super::{SECOND, World};
use crate::gateway::{NAMES, VERSIONS};
use crate::promises::{Changed, Said};

/// What is to be done with a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// To this version, as one that comes.
    Upgrade(usize),
    /// To this version, as one that was there before.
    RollBack(usize),
    Drain,
    Remove,
    Restore,
}

/// A change, and how long the operator waits after it.
#[derive(Clone, Copy, Debug)]
pub struct Intent {
    pub gateway: &'static str,
    pub change: Change,
    pause: i64,
}

/// What an operator reads in a provider's books, and says of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Paid { minor: i64, currency: String },
    Declined,
    NeverSent,
}

/// What lies before the people who run the installation.
#[derive(Default)]
pub struct Desk {
    intents: Vec<Intent>,
    /// How many of them are done with.
    done: usize,
    /// Orders about transactions so far: each is signed with its number.
    orders: u64,
    /// Webhooks that have caught up after their receiver was gone.
    pub caught_up: BTreeSet<usize>,
}

impl World {
    /// Puts on the agenda what operators will do.
    pub(super) fn hire(&mut self) {
        for _ in 0..self.plan.changes {
            let has_neighbour = self.plan.neighbours > 0;
            let gateway = NAMES[usize::from(has_neighbour && self.hand.happens(500))];
            let version = self.hand.between(1, VERSIONS as u64) as usize;
            // One gateway always serves: who is turned away then is turned away because of a change.
            let most = if gateway == NAMES[0] { 6 } else { 10 };
            let change = match self.hand.below(most) {
                0..3 => Change::Upgrade(version),
                3 | 4 => Change::RollBack(version),
                5 | 6 => Change::Restore,
                7 => Change::Drain,
                _ => Change::Remove,
            };
            let pause = self.hand_waits(100, 40_000);
            let intent = Intent {
                gateway,
                change,
                pause,
            };
            self.desk.intents.push(intent);
        }
        let first = self.hand_waits(0, 60_000);
        self.goes_on(first);
        let stumbles = self.plan.trouble.gateways + self.plan.trouble.sick > 0;
        if stumbles && self.plan.changes == 0 {
            for gateway in NAMES.into_iter().cycle().take(6) {
                let at = self.hand_waits(60_000, 1_200_000);
                self.later(at, Happening::Deed(Deed::Restore { gateway }));
            }
        }
        if self.plan.trouble.gone > 0 {
            for webhook in 0..self.plan.webhooks {
                let at = self.hand_waits(5_100_000, 6_000_000);
                self.later(at, Happening::Deed(Deed::CatchUp { webhook }));
            }
        }
        if self.plan.converted > 0 {
            for _ in 0..self.hand.between(0, 12) {
                let (at, cents) = (
                    self.hand_waits(0, 200_000),
                    self.hand.between(50_000, 70_000),
                );
                self.later(at, Happening::Deed(Deed::SetRate { cents }));
            }
        }
    }

    /// An operator notices a transaction, or does not.
    pub(super) fn lend_a_hand(&mut self, order: usize) {
        if !self.hand.happens(self.plan.by_hand) {
            return;
        }
        for _ in 0..self.hand.between(1, 4) {
            let most = [5_000, 120_000, 2_400_000][self.hand.below(3) as usize];
            let at = self.hand_waits(0, most);
            let deed = match self.hand.below(7) {
                0 | 1 => Deed::Check { order },
                2..5 => Deed::Settle { order },
                5 => Deed::CancelByHand { order },
                _ => Deed::CloseCases { order },
            };
            self.later(at, Happening::Deed(deed));
        }
    }

    /// What is to be done now, unless it is done already.
    pub fn intent(&self, turn: usize) -> Option<Intent> {
        let is_next = turn == self.desk.done;
        self.desk.intents.get(turn).copied().filter(|_| is_next)
    }

    /// The number of the next change.
    pub fn next_turn(&self) -> usize {
        self.desk.done
    }

    /// The operator was answered: on with the next. `current`: what the gateway's version is now by that answer; `None` when the change
    /// was refused.
    pub fn changed(&mut self, turn: usize, current: Option<Option<String>>) {
        let Some(intent) = self.intent(turn).filter(|_| !self.is_dead) else {
            return;
        };
        if let Some(version) = current {
            let gateway = intent.gateway.to_owned();
            self.evidence.changes.push(Changed { gateway, version });
        }
        self.desk.done += 1;
        self.goes_on(intent.pause);
    }

    fn goes_on(&mut self, pause: i64) {
        let turn = self.desk.done;
        if turn < self.desk.intents.len() {
            self.later(pause, Happening::Deed(Deed::Operate { turn }));
        }
    }

    /// The name under which the next order is given.
    pub fn signature(&mut self) -> String {
        self.desk.orders += 1;
        format!("operator-{}", self.desk.orders)
    }

    /// What an operator says of a reference after a look into the books. `is_held`: the provider has said that it has it; who is hasty
    /// does not look, and says all the same that it was never sent.
    pub fn looks_into_the_books(&mut self, reference: &str, is_held: bool) -> Option<Word> {
        let now = self.now();
        let is_hasty = self.hand.happens(250);
        let word = match self.books.entries.get(reference) {
            Some(entry) if entry.status == "paid" => Word::Paid {
                minor: entry.taken,
                currency: entry.currency.clone(),
            },
            Some(entry) if matches!(entry.status, "declined" | "busy") => Word::Declined,
            Some(_) => return (is_hasty && is_held).then_some(Word::NeverSent),
            None => {
                let about = |sent: &&crate::promises::Sent| sent.reference == reference;
                let last = self.evidence.sent.iter().filter(about).map(|sent| sent.at);
                // It may still be on its way.
                if last.max().is_some_and(|last| now - last < 300 * SECOND) {
                    return None;
                }
                Word::NeverSent
            }
        };
        let status = match &word {
            Word::Paid { .. } => "paid",
            Word::Declined => "declined",
            Word::NeverSent => "unknown",
        };
        self.evidence.said.push(Said {
            at: now,
            reference: reference.to_owned(),
            status: status.to_owned(),
        });
        Some(word)
    }

    /// Microseconds, of as many milliseconds as chance wants.
    pub(super) fn hand_waits(&mut self, from: u64, to: u64) -> i64 {
        i64::try_from(self.hand.between(from, to)).unwrap_or(0) * 1_000
    }
}
