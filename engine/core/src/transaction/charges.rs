//! The charges of an attempt: money that its provider reported, each under its own provider id.
//! Reports arrive in any order, so the largest sum counts until it is taken back. Sums, reversals
//! and refunds are computed from the charges.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::operator::EntryKind;
use super::outcome::{Captured, Outcome};
use crate::limits::CONTRADICTING_AMOUNTS;
use crate::money::Amount;
use crate::time::Timestamp;

/// A charge that the provider of an attempt reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Charge {
    /// Provider id. `None`: the provider named none.
    pub id: Option<String>,
    /// Largest reported sum; of two currencies the latest. `None`: the amount cannot be read.
    pub amount: Option<Amount>,
    /// Whether it was only reported while the provider had not finished: coins that were seen and
    /// not confirmed may be gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// Whether the attempt succeeded with it. Its amount stands, whatever is reported later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_recorded: bool,
    /// Whether the attempt was pending with `amount`, and a later report names an amount that
    /// cannot be read. After a report of a finished charge it is no news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unclear: bool,
    /// Amounts of reports that contradict `amount`, each once: less for the finished charge, or in
    /// another currency. A person decides which of them is right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicting: Vec<Amount>,
    /// Reported amounts that a person knew when they recorded another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<Amount>,
    /// Amounts of finished charges that were taken back and then replaced by another one, each
    /// once. A report of one of them is an old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Amount>,
    /// The same of charges of which only parts were reported. A report of such a part is an old
    /// one; a report of the finished charge is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced_parts: Vec<Amount>,
    /// Whether the latest report is that the provider took it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_taken_back: bool,
}

/// A report of a provider about money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MoneyReport {
    /// Money moved. `amount`: `None` when it cannot be read.
    Moved {
        provider_id: Option<String>,
        amount: Option<Amount>,
    },
    /// Sum that moved until now.
    Part {
        provider_id: Option<String>,
        amount: Amount,
    },
    /// Money was taken back.
    TakenBack { provider_id: Option<String> },
}

/// The charge that a report is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    At(usize),
    New,
    /// The report has no id, and there are several charges.
    Unclear,
}

impl Charge {
    /// Whether a report under `id` may be about this charge.
    pub fn is_under(&self, id: Option<&str>) -> bool {
        self.id.is_none() || id.is_none() || self.id.as_deref() == id
    }
}

impl MoneyReport {
    /// The report that an answer about `attempt` makes. `None`: it says nothing about money.
    pub(super) fn of(attempt: &Attempt, outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Succeeded {
                provider_id,
                amount,
                ..
            } => {
                let amount = match amount {
                    Captured::Named(amount) => Some(*amount),
                    Captured::AsAsked => Some(attempt.amount),
                    Captured::Unreadable => None,
                };
                Some(Self::Moved {
                    provider_id: provider_id.clone(),
                    amount,
                })
            }
            Outcome::Pending {
                provider_id,
                received: Some(amount),
                ..
            } if amount.minor() > 0 => Some(Self::Part {
                provider_id: provider_id.clone().or_else(|| id_of_part(attempt)),
                amount: *amount,
            }),
            Outcome::Declined(decline) => Some(Self::TakenBack {
                provider_id: decline.provider_id.clone(),
            }),
            Outcome::Pending { .. } | Outcome::NotSent { .. } | Outcome::Unknown { .. } => None,
        }
    }

    pub(super) fn provider_id(&self) -> Option<&str> {
        match self {
            Self::Moved { provider_id, .. }
            | Self::Part { provider_id, .. }
            | Self::TakenBack { provider_id } => provider_id.as_deref(),
        }
    }

    /// Whether it repeats what is known about a charge of `attempt`.
    pub(super) fn is_repeated(&self, attempt: &Attempt) -> bool {
        let charges = &attempt.charges;
        match self {
            Self::TakenBack { provider_id: None } => {
                !charges.is_empty() && standing(charges).is_none()
            }
            Self::TakenBack { provider_id } => match place(charges, provider_id.as_deref()) {
                Match::At(place) => charges[place].is_taken_back,
                Match::New | Match::Unclear => false,
            },
            Self::Moved { provider_id, .. } | Self::Part { provider_id, .. } => {
                let place = place(charges, provider_id.as_deref());
                matches!(place, Match::At(_)) && !self.is_news(attempt)
            }
        }
    }

    /// Whether it changes what is known about the charges of `attempt`.
    pub(super) fn is_news(&self, attempt: &Attempt) -> bool {
        let mut charges = attempt.charges.clone();
        apply(&mut charges, self);
        charges != attempt.charges
    }
}

/// Id of the charge for which a part without an id counts. `None`: after the end of the attempt, it
/// brings no reversed charge back beside another one.
fn id_of_part(attempt: &Attempt) -> Option<String> {
    let id = attempt.provider_id.clone();
    let is_back = |charge: &Charge| charge.is_taken_back && charge.id == id;
    let is_beside = !attempt.state.is_open() && attempt.charges.len() > 1;
    let is_none = is_beside && attempt.charges.iter().any(is_back);
    id.filter(|_| !is_none)
}

/// Amount of the charge that `report` is about, once it is applied. `None`: it is about none, or
/// the amount cannot be read.
pub(super) fn amount_after(attempt: &Attempt, report: &MoneyReport) -> Option<Amount> {
    let mut charges = attempt.charges.clone();
    apply(&mut charges, report);
    match place(&charges, report.provider_id()) {
        Match::At(place) => charges[place].amount,
        Match::New | Match::Unclear => None,
    }
}

/// Sum that was reported before for the charge under `id` and stands after a report of `amount`: a
/// larger one, or one in another currency where no further contradicting amount is kept. `None`:
/// there is none, the provider took it back, or the attempt succeeded with the charge.
pub(super) fn larger_before(
    attempt: &Attempt,
    id: Option<&str>,
    amount: Option<Amount>,
) -> Option<Amount> {
    let Match::At(place) = place(&attempt.charges, id) else {
        return None;
    };
    let counts = |charge: &&Charge| !charge.is_taken_back && !charge.is_recorded;
    let known = Some(&attempt.charges[place]).filter(counts)?;
    let is_full = known.has_all_contradictions();
    let stands = |known: Amount, amount: Amount| match known.partial_cmp(&amount) {
        Some(order) => order == Ordering::Greater,
        None => is_full,
    };
    known
        .amount
        .filter(|known| amount.is_some_and(|amount| stands(*known, amount)))
}

/// Sum that was reported for the pending charge under `id`, before a report whose amount cannot be
/// read. `None`: there is none, or such a report came before.
pub(super) fn before_unreadable(attempt: &Attempt, id: Option<&str>) -> Option<Amount> {
    let Match::At(place) = place(&attempt.charges, id) else {
        return None;
    };
    let waits = |charge: &&Charge| charge.is_part && !charge.is_unclear && !charge.is_taken_back;
    let known = Some(&attempt.charges[place]).filter(waits)?;
    known.amount
}

/// Whether the amount of the charge under `id` cannot be read in a report after a pending one.
pub(super) fn is_unclear(attempt: &Attempt, id: Option<&str>) -> bool {
    match place(&attempt.charges, id) {
        Match::At(place) => attempt.charges[place].is_unclear,
        Match::New | Match::Unclear => false,
    }
}

/// Whether `part` is the known sum of the pending charge under `id`, or one that was replaced.
pub(super) fn is_known_part(attempt: &Attempt, id: Option<&str>, part: Option<Amount>) -> bool {
    let is_it = |charge: &&Charge| id.is_some() && charge.id.as_deref() == id;
    let charge = attempt.charges.iter().find(is_it);
    let is_known = |charge: &Charge| !charge.is_taken_back && charge.amount == part;
    let was_replaced = |charge: &Charge| {
        let mut old = charge.replaced.iter().chain(&charge.replaced_parts);
        old.any(|old| Some(*old) == part)
    };
    charge.is_some_and(|charge| was_replaced(charge) || (charge.is_part && is_known(charge)))
}

/// An answer that names no provider id, with that of the charge that it is certainly about. A sum
/// of a pending attempt that is less than the known one comes from an older report: the known one
/// takes its place. So does zero, unless a query that began at `asked_at`, after the latest report
/// of money, brought it.
pub(super) fn named(
    attempt: &Attempt,
    mut outcome: Outcome,
    asked_at: Option<Timestamp>,
) -> Outcome {
    let charges = &attempt.charges;
    let (id, about) = match &mut outcome {
        // The id of an open attempt that is pending is kept as it is.
        Outcome::Pending {
            provider_id,
            received,
            ..
        } if attempt.state.is_open() => {
            let id = provider_id.as_deref().or(attempt.provider_id.as_deref());
            let part = received.filter(|part| part.minor() > 0);
            let is_newer = asked_at.is_some_and(|asked| Some(asked) > attempt.money_reported_at);
            let known = received.filter(|part| part.minor() > 0 || is_newer);
            *received = larger_before(attempt, id, part).or(known);
            return outcome;
        }
        Outcome::Succeeded { provider_id, .. } | Outcome::Pending { provider_id, .. } => {
            let about = match charges.as_slice() {
                [] => attempt.provider_id.clone(),
                [charge] => charge.id.clone(),
                _ => None,
            };
            (provider_id, about)
        }
        Outcome::Declined(decline) => {
            let about = reversed_without_id(charges).and_then(|place| charges[place].id.clone());
            (&mut decline.provider_id, about)
        }
        Outcome::NotSent { .. } | Outcome::Unknown { .. } => return outcome,
    };
    *id = id.take().or(about);
    outcome
}

/// Applies a report to the charges of an attempt.
///
/// A report of an amount that was taken back is an old one that is delivered once more; another
/// amount is money again.
pub(super) fn apply(charges: &mut Vec<Charge>, report: &MoneyReport) {
    match report {
        MoneyReport::Moved {
            provider_id,
            amount,
        } => moved(charges, provider_id.as_deref(), *amount, false),
        MoneyReport::Part {
            provider_id,
            amount,
        } => moved(charges, provider_id.as_deref(), Some(*amount), true),
        MoneyReport::TakenBack { provider_id } => taken_back(charges, provider_id.as_deref()),
    }
}

/// Applies the sum that an open attempt has received so far. Zero takes a part off that no other
/// report has confirmed.
pub(super) fn apply_pending(attempt: &mut Attempt, amount: Amount) {
    let (charges, id) = (&mut attempt.charges, attempt.provider_id.as_deref());
    let part = match place(charges, id) {
        Match::At(place) if charges[place].is_part && !charges[place].is_taken_back => place,
        Match::At(_) | Match::New if amount.minor() > 0 => {
            return moved(charges, id, Some(amount), true);
        }
        Match::At(_) | Match::New | Match::Unclear => return,
    };
    match amount.minor() {
        0 => drop(charges.remove(part)),
        _ => {
            let charge = &mut charges[part];
            if is_in_other_currency(Some(amount), charge.amount) {
                add(&mut charge.contradicting, charge.amount);
            }
            charge.amount = larger(Some(amount), charge.amount);
        }
    }
}

/// Place of the charge with which an attempt that succeeds under `id` is recorded. `None`: a new
/// charge.
pub(super) fn recorded_at(charges: &[Charge], id: Option<&str>) -> Option<usize> {
    match place(charges, id) {
        Match::At(place) => Some(place),
        Match::Unclear => standing(charges),
        Match::New => None,
    }
}

/// Records that the attempt succeeded with `captured`.
///
/// `entered`: kind of a person's entry. The person has seen the earlier reports.
pub(super) fn record(attempt: &mut Attempt, captured: Amount, entered: Option<EntryKind>) {
    let (charges, id) = (&mut attempt.charges, attempt.provider_id.as_deref());
    if entered == Some(EntryKind::Total) {
        let standing = charges.iter_mut().filter(|charge| !charge.is_taken_back);
        for (charge, amount) in standing.filter_map(|charge| charge.amount.map(|sum| (charge, sum)))
        {
            record_charge(charge, amount, entered);
        }
        return;
    }
    let place = recorded_at(charges, id).unwrap_or(charges.len());
    if place == charges.len() {
        charges.push(Charge::new(id, None));
    }
    let charge = &mut charges[place];
    charge.id = id.map(str::to_owned).or_else(|| charge.id.take());
    record_charge(charge, captured, entered);
}

fn record_charge(charge: &mut Charge, amount: Amount, entered: Option<EntryKind>) {
    let reported = std::mem::take(&mut charge.contradicting);
    if entered.is_some() {
        let known = charge.amount.into_iter().chain(reported);
        charge
            .decided
            .extend(known.filter(|known| *known != amount));
    }
    charge.amount = Some(amount);
    charge.is_part = false;
    charge.is_recorded = true;
    charge.is_unclear = false;
    charge.is_taken_back = false;
}

/// Adds an amount to those of contradicting reports.
fn add(amounts: &mut Vec<Amount>, amount: Option<Amount>) {
    let has_room = amounts.len() < CONTRADICTING_AMOUNTS;
    let new = amount.filter(|amount| has_room && !amounts.contains(amount));
    amounts.extend(new);
}

impl Attempt {
    /// Total of the charges that stand. `None`: there are fewer than two, or their amounts cannot
    /// be added.
    pub fn total_of_charges(&self) -> Option<Amount> {
        let mut standing = self.charges.iter().filter(|charge| !charge.is_taken_back);
        let (first, second) = (standing.next()?, standing.next()?);
        let readable = |charge: &Charge| charge.amount.filter(|_| !charge.is_unclear);
        let mut sum = readable(first)?;
        for charge in std::iter::once(second).chain(standing) {
            sum = sum.checked_add(readable(charge)?)?;
        }
        Some(sum)
    }
}

impl Charge {
    fn new(id: Option<&str>, amount: Option<Amount>) -> Self {
        Self {
            id: id.map(str::to_owned),
            amount,
            is_part: false,
            is_recorded: false,
            is_unclear: false,
            contradicting: Vec::new(),
            decided: Vec::new(),
            replaced: Vec::new(),
            replaced_parts: Vec::new(),
            is_taken_back: false,
        }
    }

    /// Whether an amount that cannot be read was reported for it.
    pub fn has_unreadable(&self) -> bool {
        self.amount.is_none() || self.is_unclear
    }

    /// Whether two reports about its amount contradict each other.
    pub fn is_disputed(&self) -> bool {
        !self.contradicting.is_empty()
    }

    /// Whether a person knew of this report when they recorded the success: it is no news then.
    pub(super) fn was_decided(&self, id: Option<&str>, amount: Option<Amount>) -> bool {
        self.is_under(id) && amount.is_some_and(|amount| self.decided.contains(&amount))
    }

    /// Whether an amount contradicts it that is known, or is one too many to be kept. A larger sum
    /// in its currency is news.
    pub(super) fn is_contradicted_by(&self, amount: Amount) -> bool {
        let is_larger = |known: Amount| amount.partial_cmp(&known) == Some(Ordering::Greater);
        let is_no_more = self.amount.is_some_and(|known| !is_larger(known));
        self.contradicting.contains(&amount) || (self.has_all_contradictions() && is_no_more)
    }

    /// Whether a report of `amount` is one that was superseded, and is delivered again.
    fn had(&self, amount: Amount, is_part: bool) -> bool {
        let old = [&self.contradicting, &self.decided, &self.replaced];
        let parts = Some(&self.replaced_parts).filter(|_| is_part);
        let mut old = old.into_iter().chain(parts);
        old.any(|amounts| amounts.contains(&amount))
    }

    /// Whether no further contradicting amount is kept.
    fn has_all_contradictions(&self) -> bool {
        self.contradicting.len() >= CONTRADICTING_AMOUNTS
    }

    /// Amount of a finished charge about which no two reports contradict each other.
    pub(super) fn certain_amount(&self) -> Option<Amount> {
        let is_certain = !(self.is_part || self.is_unclear || self.is_disputed());
        self.amount.filter(|_| is_certain)
    }
}

/// `is_part`: the provider had not finished.
fn moved(charges: &mut Vec<Charge>, id: Option<&str>, amount: Option<Amount>, is_part: bool) {
    let place = match place(charges, id) {
        Match::At(place) => place,
        Match::New => {
            return charges.push(Charge {
                is_part,
                ..Charge::new(id, amount)
            });
        }
        Match::Unclear => return,
    };
    let charge = &mut charges[place];
    charge.id = charge.id.take().or_else(|| id.map(str::to_owned));
    // Reports that contradict each other may be delivered again, in any order, also after a
    // reversal.
    let is_one_too_many =
        charge.has_all_contradictions() && is_in_other_currency(amount, charge.amount);
    let is_known = is_one_too_many || amount.is_some_and(|amount| charge.had(amount, is_part));
    let was_part = charge.is_part;
    charge.is_part &= is_part;
    if is_known {
        return;
    }
    // After a reversal any other amount of a finished charge is money again. Where no further one
    // is kept as replaced, only a larger one is.
    let has_room = charge.replaced.len() < CONTRADICTING_AMOUNTS;
    let is_again = charge.is_taken_back && !is_part && has_room;
    let counts = match is_again {
        true => amount.or(charge.amount),
        false => larger(amount, charge.amount),
    };
    let contradicting = match is_part {
        _ if is_in_other_currency(amount, charge.amount) => charge.amount,
        true => charge
            .amount
            .filter(|_| counts != charge.amount && !charge.is_part),
        false => amount.filter(|_| amount != counts),
    };
    if charge.is_taken_back {
        if counts != charge.amount {
            let replaced = match was_part {
                true => &mut charge.replaced_parts,
                false => &mut charge.replaced,
            };
            add(replaced, charge.amount);
            charge.amount = counts;
            charge.is_unclear &= is_part;
            add(&mut charge.contradicting, contradicting);
            charge.is_taken_back = false;
        }
    } else if !charge.is_recorded {
        charge.is_unclear = match amount {
            Some(_) => is_part && charge.has_unreadable(),
            None => charge.is_unclear || was_part,
        };
        charge.amount = counts;
        add(&mut charge.contradicting, contradicting);
    }
}

/// Marks the charge under `id`; without an id the one that [`reversed_without_id`] finds.
fn taken_back(charges: &mut [Charge], id: Option<&str>) {
    let about = match id {
        None => reversed_without_id(charges),
        Some(_) => match place(charges, id) {
            Match::At(place) => Some(place),
            Match::New | Match::Unclear => None,
        },
    };
    if let Some(charge) = about.and_then(|place| charges.get_mut(place)) {
        charge.id = charge.id.take().or_else(|| id.map(str::to_owned));
        charge.is_taken_back = true;
    }
}

fn place(charges: &[Charge], id: Option<&str>) -> Match {
    let same = |charge: &Charge| charge.id.as_deref() == id;
    let unnamed = |charge: &Charge| charge.id.is_none();
    let found = match id {
        None if charges.len() > 1 => return Match::Unclear,
        None => (!charges.is_empty()).then_some(0),
        Some(_) => charges
            .iter()
            .position(same)
            .or_else(|| charges.iter().position(unnamed)),
    };
    found.map_or(Match::New, Match::At)
}

/// The charge that a reversal without an id is about: the latest one, while none was taken back.
/// Beside a charge that was, it may be the same report once more, and is about none.
fn reversed_without_id(charges: &[Charge]) -> Option<usize> {
    let is_any_back = charges.iter().any(|charge| charge.is_taken_back);
    standing(charges).filter(|_| !is_any_back)
}

/// The latest charge that was not taken back.
fn standing(charges: &[Charge]) -> Option<usize> {
    charges.iter().rposition(|charge| !charge.is_taken_back)
}

fn is_in_other_currency(reported: Option<Amount>, known: Option<Amount>) -> bool {
    let both = reported.zip(known);
    both.is_some_and(|(reported, known)| reported.currency() != known.currency())
}

/// A provider names the total of the received money: a smaller sum may be an older report.
fn larger(reported: Option<Amount>, known: Option<Amount>) -> Option<Amount> {
    match (reported, known) {
        (Some(reported), Some(known))
            if reported.currency() == known.currency() && reported.minor() <= known.minor() =>
        {
            Some(known)
        }
        (reported, known) => reported.or(known),
    }
}
