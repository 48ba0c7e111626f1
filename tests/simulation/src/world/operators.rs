//! Actions of the people who run the installation: they change gateways, set rates, and act on
//! transactions.

use std::collections::BTreeSet;

use super::agenda::{Deed, Happening};
use super::{SECOND, World};
use crate::gateway::{NAMES, VERSIONS};
use crate::promises::{Changed, Said};

/// A change of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// To this version, as a new one.
    Upgrade(usize),
    /// To this version, as an earlier one.
    RollBack(usize),
    Drain,
    Remove,
    Restore,
}

/// A change, and the operator's pause after it.
#[derive(Clone, Copy, Debug)]
pub struct Intent {
    pub gateway: &'static str,
    pub change: Change,
    pause: i64,
}

/// An operator's statement about an attempt, read from a provider's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Paid { minor: i64, currency: String },
    Declined,
    NeverSent,
}

/// State of the people who run the installation.
#[derive(Default)]
pub struct OperatorState {
    intents: Vec<Intent>,
    /// Number of finished intents.
    done: usize,
    /// Number of commands about transactions so far. Each is signed with its number.
    orders: u64,
    /// Webhooks that have replayed their missed deliveries after their receiver was gone.
    pub caught_up: BTreeSet<usize>,
}

impl World {
    /// Schedules the operators' changes.
    pub(super) fn hire(&mut self) {
        for _ in 0..self.plan.changes {
            let has_neighbour = self.plan.neighbours > 0;
            let gateway = NAMES[usize::from(has_neighbour && self.hand.happens(500))];
            let version = self.hand.between(1, VERSIONS as u64) as usize;
            // The first gateway always serves, so any refusal is caused by a change.
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
            self.operator_state.intents.push(intent);
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

    /// Schedules an operator's actions on a transaction, if any.
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

    /// Returns the current intent, unless it is finished.
    pub fn intent(&self, turn: usize) -> Option<Intent> {
        let is_next = turn == self.operator_state.done;
        self.operator_state
            .intents
            .get(turn)
            .copied()
            .filter(|_| is_next)
    }

    /// Returns the number of the next change.
    pub fn next_turn(&self) -> usize {
        self.operator_state.done
    }

    /// Records the response to a change, and schedules the next one. `current`: the gateway's
    /// version according to the response; `None` when the change was refused.
    pub fn changed(&mut self, turn: usize, current: Option<Option<String>>) {
        let Some(intent) = self.intent(turn).filter(|_| !self.is_dead) else {
            return;
        };
        if let Some(version) = current {
            let gateway = intent.gateway.to_owned();
            self.evidence.changes.push(Changed { gateway, version });
        }
        self.operator_state.done += 1;
        self.goes_on(intent.pause);
    }

    fn goes_on(&mut self, pause: i64) {
        let turn = self.operator_state.done;
        if turn < self.operator_state.intents.len() {
            self.later(pause, Happening::Deed(Deed::Operate { turn }));
        }
    }

    /// Returns the name that signs the next command.
    pub fn signature(&mut self) -> String {
        self.operator_state.orders += 1;
        format!("operator-{}", self.operator_state.orders)
    }

    /// Returns an operator's statement about a reference after looking into the ledger. `is_held`:
    /// the provider has said that it has the reference. A hasty operator does not look, and says
    /// anyway that it was never sent.
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
                // The request may still be in transit.
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

    /// Draws a duration between two numbers of milliseconds, and returns it in microseconds.
    pub(super) fn hand_waits(&mut self, from: u64, to: u64) -> i64 {
        i64::try_from(self.hand.between(from, to)).unwrap_or(0) * 1_000
    }
}
