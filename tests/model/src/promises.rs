//! Promises about money, checked after every step. They read fields only, and call no function of
//! the core but the one that plans the next wake-up, which is itself a promise.

use crate::apply::Taken;
use crate::base::{Sum, attempt_of};
use crate::steps::{Ordered, Said, Step, What};
use crate::world::{Lie, Scope, Side, Submission, Truth, World};
use switchyard_core::transaction::{
    Action, AttemptState, CaseReason, Command, Event, EventName, Kind, State, Transaction,
};

/// A promise. The name is printed with a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// With honest providers at most one attempt is paid, in the provider's records.
    PaidOnceInTheRecords,
    /// With honest providers at most one attempt is reported as paid.
    PaidOnceByTheNews,
    /// No submission starts after money was reported for an attempt.
    NothingStartsAfterMoney,
    /// No submission starts while an earlier attempt may still move money.
    NothingStartsBesideAnOpenAttempt,
    /// A request that may have left is not submitted again.
    NothingIsSentTwice,
    /// A final state never changes.
    FinalStaysFinal,
    /// Success needs a report of enough money in the right currency.
    SuccessIsPaid,
    /// Failed and cancelled need the end of every attempt, or a case.
    NeverFailedWhileMoneyMayMove,
    /// Money beyond or against the state has an open case.
    MoneyHasACase,
    /// A success that is taken back has a case.
    ReversalHasACase,
    /// A transaction has a wake-up time if and only if it is not final.
    WaitingHasAWakeUp,
    /// Each end is announced once, and nothing else is.
    EndIsAnnounced,
    /// A final state or an open case can be reached.
    EndIsReachable,
    /// `decide` answers every command in every state.
    EveryCommandIsAnswered,
    /// Stored events give the same transaction again.
    ReplayIsTheSame,
}

/// The promise that `taken` breaks.
pub fn broken(before: &World, scope: &Scope, step: Step, taken: &Taken) -> Option<Promise> {
    let after = &taken.after;
    let checks = [
        (Promise::FinalStaysFinal, final_stays(&before.tx, &after.tx)),
        (Promise::NothingIsSentTwice, !taken.sent_again),
        (
            Promise::NothingStartsAfterMoney,
            starts_without_money(after, taken),
        ),
        (
            Promise::NothingStartsBesideAnOpenAttempt,
            starts_alone(after, taken),
        ),
        (
            Promise::SuccessIsPaid,
            success_is_paid(before, scope, step, taken),
        ),
        (
            Promise::NeverFailedWhileMoneyMayMove,
            failed_is_over(before, scope, step, after),
        ),
        (Promise::MoneyHasACase, money_has_a_case(before, taken)),
        (
            Promise::ReversalHasACase,
            reversal_has_a_case(before, taken),
        ),
        (Promise::WaitingHasAWakeUp, wakes(&after.tx)),
        (Promise::EndIsAnnounced, announces(&before.tx, taken)),
        (
            Promise::PaidOnceInTheRecords,
            paid_once(after, scope, |side| side.truth.holds_money()),
        ),
        (Promise::PaidOnceByTheNews, paid_once_by_news(after, scope)),
    ];
    checks
        .into_iter()
        .find(|(_, holds)| !holds)
        .map(|(promise, _)| promise)
}

pub(crate) fn is_final(state: &State) -> bool {
    match state {
        State::Succeeded | State::Failed(_) | State::Cancelled => true,
        State::AwaitingCustomer
        | State::AwaitingDispatch
        | State::AwaitingGateway
        | State::AwaitingProvider
        | State::InDoubt
        | State::OnHold => false,
    }
}

/// State, times and attempts of an ended transaction stay as they are. Cases may be added.
fn final_stays(before: &Transaction, after: &Transaction) -> bool {
    if !is_final(&before.state) {
        return true;
    }
    before.state == after.state
        && before.attempts.len() == after.attempts.len()
        && before
            .attempts
            .iter()
            .zip(&after.attempts)
            .all(|(before, after)| {
                before.state == after.state
                    && before.captured == after.captured
                    && before.provider_id == after.provider_id
            })
        && before.success_at == after.success_at
        && before.failed_at == after.failed_at
        && before.cancelled_at == after.cancelled_at
}

fn starts(taken: &Taken) -> bool {
    let events = taken
        .decided
        .iter()
        .flat_map(|(_, decided)| decided.iter().flatten());
    let mut events = events;
    events.any(|event| {
        matches!(
            event,
            Event::AttemptStarted { .. }
                | Event::SubmissionResumed { .. }
                | Event::CodeSubmitted { .. }
        )
    }) || taken
        .actions
        .iter()
        .any(|action| matches!(action, Action::Submit { .. }))
}

fn starts_without_money(after: &World, taken: &Taken) -> bool {
    let has_none = |side: &Side| side.successes == 0 && !side.part;
    !starts(taken) || after.sides.iter().all(has_none)
}

fn starts_alone(after: &World, taken: &Taken) -> bool {
    let earlier = after
        .sides
        .split_last()
        .map_or(&[][..], |(_, earlier)| earlier);
    !starts(taken) || earlier.iter().all(|side| side.closed)
}

/// The pairs of amount and id that were reported for an attempt.
fn reported(side: &Side) -> impl Iterator<Item = Sum> {
    let successes = side.successes;
    let sums = Sum::ALL.into_iter();
    sums.filter(move |sum| successes >> (*sum as u32 * 4) & 0b1111 != 0)
}

fn success_is_paid(before: &World, scope: &Scope, step: Step, taken: &Taken) -> bool {
    let after = &taken.after;
    if after.tx.state != State::Succeeded || before.tx.state == State::Succeeded {
        return true;
    }
    let enough = |side: &Side| reported(side).any(Sum::is_enough);
    let by_news = after.sides.iter().any(enough);
    let is_ordered = matches!(
        step,
        Step::OperatorCommand(Ordered::Succeeded | Ordered::SucceededFor(_))
    );
    let paid_in_full = scope.lie.sum().amount().minor() >= Sum::Asked.amount().minor()
        && scope.lie.sum() != Sum::Foreign;
    let by_person = is_ordered && paid_in_full;
    let in_records = after.sides.iter().any(|side| side.truth.holds_money());
    let one_succeeded = after.tx.attempts.iter().filter(|attempt| {
        attempt.state == AttemptState::Succeeded
            && attempt
                .captured
                .is_some_and(|captured| Sum::of(captured).is_enough())
    });
    (by_news || by_person) && one_succeeded.count() == 1 && (in_records || !scope.lie.is_honest())
}

/// At the step that ends the transaction the case is open, unless a person ends it and the case.
fn failed_is_over(before: &World, scope: &Scope, step: Step, after: &World) -> bool {
    if !matches!(after.tx.state, State::Failed(_) | State::Cancelled) {
        return true;
    }
    let ends = !is_final(&before.tx.state) && !matches!(step, Step::OperatorCommand(_));
    let mut cases = after.tx.cases.iter();
    let has_case = match ends {
        true => has_open_case(after),
        false => cases.any(|case| is_about_money(case.reason)),
    };
    let by_news = after.sides.iter().all(|side| side.closed);
    let in_records = (0..after.sides.len()).all(|number| !after.may_move(number));
    let no_part = after.sides.iter().all(|side| !side.part);
    has_case || (by_news && no_part && (in_records || !scope.lie.is_honest()))
}

fn is_about_money(reason: CaseReason) -> bool {
    match reason {
        CaseReason::MoneyAfterTheEnd
        | CaseReason::FoundAfterNotSent
        | CaseReason::LateSuccess
        | CaseReason::PaidTwice
        | CaseReason::Surplus
        | CaseReason::ContradictingSuccess
        | CaseReason::SuccessContradicted
        | CaseReason::AmountDiffers => true,
        CaseReason::AmbiguousProviderId
        | CaseReason::NoFinalAnswer
        | CaseReason::UnknownAfterRestore => false,
    }
}

/// Money that a provider reported for the first time fits the state, or a case about it is open.
fn money_has_a_case(before: &World, taken: &Taken) -> bool {
    if let Some((number, said)) = taken.news
        && said.what == What::Part
    {
        return part_is_kept(before, taken, number);
    }
    let Some((
        number,
        Said {
            what: What::Succeeded(sum),
            id,
        },
    )) = taken.news
    else {
        return true;
    };
    let after = &taken.after;
    let is_known = before.sides[number].successes == after.sides[number].successes;
    let first = before.sides.iter().all(|side| side.successes == 0);
    let attempt = &after.tx.attempts[number];
    let same_id = match (&attempt.provider_id, id) {
        (Some(known), Some(id)) => known == crate::base::IDS[usize::from(id)],
        _ => true,
    };
    let fits = first
        && sum == Sum::Asked
        && after.tx.state == State::Succeeded
        && attempt.state == AttemptState::Succeeded
        && attempt.captured == Some(sum.amount())
        && same_id;
    let is_settled = is_known || settled_by_person(before, number, sum, id);
    fits || is_settled || has_open_case(after)
}

/// A part that was reported for the first time is kept with its open attempt, or has a case.
fn part_is_kept(before: &World, taken: &Taken, number: usize) -> bool {
    let after = &taken.after;
    let attempt = &after.tx.attempts[number];
    let is_open = attempt.state == AttemptState::Pending;
    let is_kept = is_open && attempt.received == Some(Sum::Less.amount());
    let is_paid = attempt.state == AttemptState::Succeeded;
    before.sides[number].part || is_kept || is_paid || has_open_case(after)
}

/// The report repeats what a person settled the attempt with.
fn settled_by_person(before: &World, number: usize, sum: Sum, id: Option<u8>) -> bool {
    let attempt = &before.tx.attempts[number];
    before.tx.state == State::Succeeded
        && attempt.state == AttemptState::Succeeded
        && attempt.captured == Some(sum.amount())
        && attempt.provider_id.as_deref() == id.map(|id| crate::base::IDS[usize::from(id)])
}

fn has_open_case(world: &World) -> bool {
    let mut cases = world.tx.cases.iter();
    cases.any(|case| is_about_money(case.reason) && case.closed.is_none())
}

fn reversal_has_a_case(before: &World, taken: &Taken) -> bool {
    let Some((
        number,
        Said {
            what: What::Declined(_),
            ..
        },
    )) = taken.news
    else {
        return true;
    };
    let side = &before.sides[number];
    if side.successes == 0 || side.declined {
        return true;
    }
    taken.after.tx.cases.iter().any(|case| {
        case.reason == CaseReason::SuccessContradicted && attempt_of(case.reference) == number
    })
}

fn wakes(tx: &Transaction) -> bool {
    tx.wake_at().is_some() != is_final(&tx.state)
}

/// Each end is announced once with its own name, at the step that ends the transaction.
fn announces(before: &Transaction, taken: &Taken) -> bool {
    let tx = &taken.after.tx;
    let names = taken.actions.iter().filter_map(|action| match action {
        Action::Announce(name) => Some(*name),
        Action::Submit { .. }
        | Action::Query { .. }
        | Action::SubmitCode { .. }
        | Action::CancelRequest { .. }
        | Action::Mail(_) => None,
    });
    let mut names = names;
    let (success, failed) = match tx.kind() {
        Kind::Payment => (EventName::PaymentSuccess, EventName::PaymentFailed),
        Kind::Payout => (EventName::PayoutSuccess, EventName::PayoutFailed),
    };
    let ended = is_final(&tx.state) && !is_final(&before.state);
    let expected = match &tx.state {
        State::Succeeded => Some(success),
        State::Failed(_) => Some(failed),
        State::Cancelled => Some(EventName::PaymentCancelled),
        _ => None,
    };
    names.next() == expected.filter(|_| ended) && names.next().is_none()
}

/// A shared id may bring the news of one attempt to another one.
fn paid_once_by_news(after: &World, scope: &Scope) -> bool {
    scope.lie == Lie::SharedId || paid_once(after, scope, |side| side.successes != 0)
}

fn paid_once(after: &World, scope: &Scope, is_paid: impl Fn(&Side) -> bool) -> bool {
    !scope.lie.is_honest() || after.sides.iter().filter(|side| is_paid(side)).count() <= 1
}

/// Whether no automatic step is left: an end, or a case for manual review.
pub fn is_at_rest(world: &World) -> bool {
    is_final(&world.tx.state) || world.tx.cases.iter().any(|case| case.closed.is_none())
}

/// The command of a step, for messages.
pub fn command_of(taken: &Taken) -> Option<&Command> {
    taken.decided.as_ref().map(|(command, _)| command)
}

/// Whether the truth and the submission of an attempt can be together.
pub fn is_consistent(side: &Side) -> bool {
    side.truth == Truth::NothingSent || side.submission != Submission::DiedUnsent
}
