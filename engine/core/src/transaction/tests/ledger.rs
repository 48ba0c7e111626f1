//! Every short history of reports about two attempts against a ledger that is kept apart: sums,
//! reversals, refunds and the words about them.

use std::collections::BTreeMap;

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::transaction::*;

/// One step of a history. The number is that of the attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Success(usize, &'static str, i64),
    Part(usize, &'static str, i64),
    Reversal(usize, &'static str),
    /// The second attempt is declined, under no id.
    Decline,
    SettledAsFailed,
    SettledAsSuccess(usize, &'static str, i64),
}

const STEPS: [Step; 14] = [
    Step::Success(0, "A", 1_000),
    Step::Success(0, "A", 2_500),
    Step::Success(0, "B", 700),
    Step::Success(0, "B", 2_600),
    Step::Reversal(0, "A"),
    Step::Reversal(0, "B"),
    Step::Part(0, "A", 1_200),
    Step::Success(1, "Z", 2_500),
    Step::Success(1, "Z", 900),
    Step::Reversal(1, "Z"),
    Step::Part(1, "Z", 800),
    Step::Decline,
    Step::SettledAsFailed,
    Step::SettledAsSuccess(0, "A", 2_500),
];
/// Steps of a history.
const LENGTH: u32 = 4;

#[derive(Clone, Debug, Default)]
struct Entry {
    minor: i64,
    is_reversed: bool,
    /// The attempt succeeded with it.
    is_recorded: bool,
}

type Ledger = BTreeMap<(usize, &'static str), Entry>;

struct History {
    world: World,
    attempts: [AttemptId; 2],
    ledger: Ledger,
    /// Whether a person settled money, which closes its cases.
    is_settled: bool,
}

impl History {
    /// The first attempt was declined, and the second one answered.
    fn after(answer: Outcome) -> Self {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(declined(false)).unwrap();
        world.wait(1);
        world.apply(confirm(1)).unwrap();
        let second = world.current();
        let mut ledger = Ledger::new();
        if let Outcome::Succeeded { .. } = answer {
            let entry = Entry {
                minor: 2_500,
                is_recorded: true,
                ..Entry::default()
            };
            ledger.insert((1, "Z"), entry);
        }
        world.answer(answer).unwrap();
        world.wait(1);
        Self {
            world,
            attempts: [first, second],
            ledger,
            is_settled: false,
        }
    }

    fn attempt(&self, number: usize) -> &Attempt {
        self.world.tx.attempt(self.attempts[number]).unwrap()
    }

    /// `None`: the step is refused, or what it means is a matter of choice.
    fn step(&mut self, step: Step) -> Option<()> {
        let done = match step {
            Step::Success(number, id, minor) => self.tell(number, reported(id, amount(minor))),
            Step::Reversal(number, id) => self.tell(number, reversed(id)),
            Step::Part(number, id, minor) => self.tell(number, part_under(id, minor)),
            Step::Decline if self.attempt(1).state != AttemptState::Pending => return None,
            Step::Decline => self.tell(1, declined(false)),
            Step::SettledAsFailed => {
                let failed = resolve(None, Verdict::Failed { message: None });
                self.world.apply(failed)
            }
            Step::SettledAsSuccess(number, id, minor) => {
                let verdict = verdict(Some(minor), Some(id));
                let order = resolve(Some(self.attempts[number]), verdict);
                self.world.apply(order)
            }
        };
        done.ok()?;
        self.world.wait(1);
        self.keep(step)?;
        self.note_recorded();
        Some(())
    }

    fn tell(&mut self, number: usize, outcome: Outcome) -> Result<usize, Refusal> {
        self.world.answer_about(self.attempts[number], outcome)
    }

    /// Writes the step into the ledger.
    fn keep(&mut self, step: Step) -> Option<()> {
        match step {
            Step::Success(number, id, minor) => {
                let entry = self.ledger.entry((number, id)).or_default();
                // An amount that was taken back may be an old report.
                if entry.is_reversed && minor <= entry.minor {
                    return None;
                }
                if !entry.is_recorded {
                    entry.minor = entry.minor.max(minor);
                }
                entry.is_reversed = false;
            }
            Step::Part(number, id, minor) => {
                let entry = self.ledger.entry((number, id)).or_default();
                if entry.is_reversed && minor <= entry.minor {
                    return None;
                }
                if !entry.is_recorded && minor > entry.minor {
                    entry.minor = minor;
                    entry.is_reversed = false;
                }
            }
            Step::Reversal(number, id) => {
                self.ledger.get_mut(&(number, id))?.is_reversed = true;
            }
            Step::Decline => {
                let of_second = self
                    .ledger
                    .iter_mut()
                    .filter(|((number, _), _)| *number == 1);
                of_second.for_each(|(_, entry)| entry.is_reversed = true);
            }
            Step::SettledAsFailed => self.is_settled = true,
            Step::SettledAsSuccess(number, id, minor) => {
                self.is_settled = true;
                let recorded = Entry {
                    minor,
                    is_reversed: false,
                    is_recorded: true,
                };
                self.ledger.insert((number, id), recorded);
            }
        }
        Some(())
    }

    /// Money of before may have settled the transaction once the other attempt had ended.
    fn note_recorded(&mut self) {
        let of = |number: usize| self.world.tx.attempt(self.attempts[number]).unwrap();
        for ((number, id), entry) in &mut self.ledger {
            let attempt = of(*number);
            let is_of_it = attempt.provider_id.as_deref() == Some(*id);
            if attempt.state == AttemptState::Succeeded && is_of_it && !entry.is_recorded {
                *entry = Entry {
                    minor: attempt.captured.unwrap().minor(),
                    is_reversed: false,
                    is_recorded: true,
                };
            }
        }
    }

    /// Compares what the transaction tells with the ledger.
    fn check(&self, last: Step) -> Result<(), String> {
        let tx = &self.world.tx;
        let entries = || self.ledger.values();
        let sum: i64 = entries().map(|entry| entry.minor).sum();
        let told = tx.received().map_or(0, |sum| sum.single().unwrap().minor());
        if told != sum {
            return Err(format!("received {told} for {sum}"));
        }
        let reversed = entries().filter(|entry| entry.is_reversed).count();
        let wanted = match reversed {
            0 => TakenBack::Nothing,
            all if all == self.ledger.len() => TakenBack::All,
            _ => TakenBack::Part,
        };
        if tx.taken_back() != wanted {
            return Err(format!("{:?} for {wanted:?}", tx.taken_back()));
        }
        if tx.surely_moved_no_money() && !self.ledger.is_empty() {
            return Err("no money moved".to_owned());
        }
        let standing = self.ledger.len() - reversed;
        match &tx.state {
            State::Failed(failure) if last == Step::SettledAsFailed => {
                let is_wrong = |words, is_true: bool| failure.message.contains(words) && !is_true;
                if is_wrong("took back", standing == 0)
                    || is_wrong("is to be returned", standing > 0)
                {
                    return Err(failure.message.clone());
                }
            }
            State::Succeeded => {
                for (place, entry) in &self.ledger {
                    self.check_refunds(*place, entry, standing)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Each charge beside the recorded one has a case with its amount, and no other charge is to be
    /// refunded.
    fn check_refunds(
        &self,
        (number, id): (usize, &str),
        entry: &Entry,
        standing: usize,
    ) -> Result<(), String> {
        let tx = &self.world.tx;
        let attempt = self.attempt(number);
        let is_about = |case: &&Case| {
            case.reference == attempt.reference
                && case.provider_id.as_deref() == Some(id)
                && case.reason.reports_money()
                && case.reason != CaseReason::SuccessContradicted
                && case.closed.is_none()
                && !tx.is_superseded(case)
        };
        let valid: Vec<_> = tx.cases.iter().filter(is_about).collect();
        let twice = || {
            valid
                .iter()
                .filter(|case| case.reason == CaseReason::PaidTwice)
        };
        let whole = Some(amount(entry.minor));
        let is_beside = !entry.is_reversed && !entry.is_recorded && standing > 1;
        if is_beside && !self.is_settled && !valid.iter().any(|case| case.amount == whole) {
            return Err(format!("no case of {} under {id}", entry.minor));
        }
        if entry.is_reversed && !valid.is_empty() {
            return Err(format!("a case of reversed money under {id}"));
        }
        if twice().any(|case| case.amount != whole) || twice().count() > 1 || standing < 2 {
            return match twice().next() {
                Some(case) => Err(format!("a refund of {:?} under {id}", case.amount)),
                None => Ok(()),
            };
        }
        Ok(())
    }
}

#[test]
fn every_short_history_of_reports_agrees_with_a_ledger() {
    let mut histories = 0;
    for answer in [pending(), declined(false), reported("Z", amount(2_500))] {
        for code in 0..STEPS.len().pow(LENGTH) {
            let place = |level| code / STEPS.len().pow(level) % STEPS.len();
            let steps: Vec<_> = (0..LENGTH).map(|level| STEPS[place(level)]).collect();
            if steps.windows(2).any(|pair| pair[0] == pair[1]) {
                continue;
            }
            let mut history = History::after(answer.clone());
            for step in &steps {
                if history.step(*step).is_none() {
                    break;
                }
                let checked = history.check(*step);
                assert_eq!(
                    checked,
                    Ok(()),
                    "{steps:?} at {step:?}: {:?}",
                    history.ledger
                );
            }
            histories += 1;
        }
    }
    assert!(histories > 90_000, "{histories}");
}
