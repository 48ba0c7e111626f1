//! Numbers of enumerated values in the key of a world.

use crate::base::{IDS, Sum, earlier, id_number, long_ago, past_its_end};
use crate::world::{Submission, Truth};
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::CaseReason;

pub const fn reason_code(reason: CaseReason) -> u8 {
    match reason {
        CaseReason::MoneyAfterTheEnd => 0,
        CaseReason::SuccessContradicted => 1,
        CaseReason::AmountDiffers => 2,
        CaseReason::NoFinalAnswer => 3,
        CaseReason::LateSuccess => 4,
        CaseReason::PaidTwice => 5,
        CaseReason::Surplus => 6,
        CaseReason::ContradictingSuccess => 7,
        CaseReason::AmbiguousProviderId => 8,
        CaseReason::FoundAfterNotSent => 9,
        CaseReason::UnknownAfterRestore => 10,
    }
}

pub const REASONS: [CaseReason; 11] = [
    CaseReason::MoneyAfterTheEnd,
    CaseReason::SuccessContradicted,
    CaseReason::AmountDiffers,
    CaseReason::NoFinalAnswer,
    CaseReason::LateSuccess,
    CaseReason::PaidTwice,
    CaseReason::Surplus,
    CaseReason::ContradictingSuccess,
    CaseReason::AmbiguousProviderId,
    CaseReason::FoundAfterNotSent,
    CaseReason::UnknownAfterRestore,
];

pub const fn submission_code(submission: Submission) -> u8 {
    match submission {
        Submission::Announced => 0,
        Submission::Sending => 1,
        Submission::DiedUnsent => 2,
        Submission::DiedSent => 3,
        Submission::Returned => 4,
    }
}

pub const SUBMISSIONS: [Submission; 5] = [
    Submission::Announced,
    Submission::Sending,
    Submission::DiedUnsent,
    Submission::DiedSent,
    Submission::Returned,
];

pub const fn truth_code(truth: Truth) -> u8 {
    match truth {
        Truth::NothingSent => 0,
        Truth::OnTheWay => 1,
        Truth::Lost => 2,
        Truth::Received => 3,
        Truth::Paid => 4,
        Truth::Declined(false) => 5,
        Truth::Declined(true) => 6,
        Truth::PaidTwice => 7,
        Truth::Reversed => 8,
    }
}

pub const TRUTHS: [Truth; 9] = [
    Truth::NothingSent,
    Truth::OnTheWay,
    Truth::Lost,
    Truth::Received,
    Truth::Paid,
    Truth::Declined(false),
    Truth::Declined(true),
    Truth::PaidTwice,
    Truth::Reversed,
];

/// Code of a set of ids.
pub fn ids_code(ids: &[String]) -> u8 {
    ids.iter().fold(0, |code, id| code | 1 << id_number(id))
}

pub fn decoded_ids(code: u8) -> Vec<String> {
    let ids = (0_u8..)
        .zip(IDS)
        .filter(|(place, _)| code >> place & 1 == 1);
    ids.map(|(_, id)| id.to_owned()).collect()
}

pub fn resumed_code(resumed_at: Option<Timestamp>) -> u8 {
    match resumed_at {
        None => 0,
        Some(at) if at <= long_ago() => 3,
        Some(at) if at <= past_its_end() => 2,
        Some(_) => 1,
    }
}

pub fn decoded_resumed(code: u8) -> Option<Timestamp> {
    Some(match code {
        0 => return None,
        3 => long_ago(),
        2 => past_its_end(),
        _ => earlier(),
    })
}

/// A set of amounts, a bit for each: their order counts on pages only.
pub fn sums_code(sums: &[Amount]) -> u8 {
    let named = Sum::NAMED.iter().enumerate();
    let bit = |(place, sum): (usize, &Sum)| u8::from(sums.contains(&sum.amount())) << place;
    named.map(bit).sum()
}

pub fn decoded_sums(code: u8) -> Vec<Amount> {
    let named = Sum::NAMED.iter().enumerate();
    let is_in = |place: usize| code >> place & 1 == 1;
    let sums = named.filter(|(place, _)| is_in(*place));
    sums.map(|(_, sum)| sum.amount()).collect()
}
