//! Reduction: worlds that differ only in facts that can never matter again are explored once.
//!
//! Each rule here replaces such a fact by a constant, before the key of a world is written. Both
//! worlds have the same future: the same commands, decisions and checks. A test explores the same
//! scopes with and without reduction and compares what was reached.
//!
//! - R1: The id under which an attempt is found counts only where providers mix ids up.
//! - R2: An interrupted call and a returned one are alike once the attempt has a response.
//! - R3: Of the connections of a plan only the order counts, not which ones they are.
//! - R4: An attempt that moved no money and can move none any more keeps one fact: whether it used
//!   up an attempt of the payer's. Not where its provider may still lie about it.
//! - R5: An order to resolve an attempt counts only while its provider may still have it.
//! - R6: Of an ended transaction with honest providers the state, the success and the notifications
//!   to the merchant count.

use crate::base::{candidate, connection_code, earlier, just_now, soon};
use crate::world::{Lie, Scope, Side, Submission, Truth, World};
use switchyard_core::transaction::{
    AfterCallOff, Attempt, AttemptState, CancelRequest, CaseReason, Decision, Details,
};

/// Replaces what can never matter again in `world`.
pub fn reduce(world: &mut World, scope: &Scope) {
    if !scope.reduced || scope.lie.mixes_ids() {
        return;
    }
    world.named = [0; 4];
    for number in 0..world.sides.len() {
        forget_how_it_ended(world, number);
        if world.is_over(scope, number) {
            world.tx.attempts[number].settled = None;
        }
        renumber(&mut world.tx.attempts[number]);
        if is_settled(world, scope, number) {
            settle(world, number);
        }
    }
    if world.tx.state.is_final() && scope.lie == Lie::Honest {
        end(world);
    }
}

/// R2. The journal is read for an attempt without an answer only.
fn forget_how_it_ended(world: &mut World, number: usize) {
    let side = &mut world.sides[number];
    if world.tx.attempts[number].state != AttemptState::Started && !side.submission.is_in_flight() {
        side.submission = Submission::Returned;
    }
}

/// R3. The connections of a plan are distinct, so their positions identify them.
fn renumber(attempt: &mut Attempt) {
    let at = |place: u8, code: u8| candidate(place + (code & !PLACE));
    attempt.candidate = at(0, connection_code(attempt.candidate.connection));
    for (place, next) in (1..).zip(&mut attempt.remaining) {
        *next = at(place, connection_code(next.connection));
    }
}

/// The bits of a connection's code that tell it from others.
const PLACE: u8 = 3;

/// R4: whether nothing that can still be said about the attempt changes anything.
fn is_settled(world: &World, scope: &Scope, number: usize) -> bool {
    let (side, attempt) = (&world.sides[number], &world.tx.attempts[number]);
    let is_honest = scope.lie == Lie::Honest || !world.may_lie(number);
    let has_ended = match attempt.state {
        // A report that the provider has it contradicts a person's word.
        AttemptState::Declined => attempt.settled.is_none(),
        AttemptState::NotSent => matches!(side.truth, Truth::NothingSent | Truth::Lost),
        AttemptState::Started
        | AttemptState::Pending
        | AttemptState::InDoubt
        | AttemptState::Succeeded => false,
    };
    let is_away = side.submission.is_in_flight() && side.truth == Truth::NothingSent;
    let is_reported = world
        .tx
        .cases
        .iter()
        .any(|case| case.reference == attempt.reference && !is_about_time(case.reason));
    is_honest
        && has_ended
        && side.closed
        && side.successes == 0
        && !side.part
        && !world.may_move(number)
        && !side.truth.holds_money()
        && !is_away
        && !is_reported
}

const fn is_about_time(reason: CaseReason) -> bool {
    matches!(
        reason,
        CaseReason::NoFinalAnswer | CaseReason::UnknownAfterRestore
    )
}

fn settle(world: &mut World, number: usize) {
    world.sides[number] = Side {
        submission: Submission::Returned,
        truth: Truth::Lost,
        closed: true,
        ..Side::NEW
    };
    let tx = &mut world.tx;
    let reference = tx.attempts[number].reference;
    tx.cases.retain(|case| case.reference != reference);
    let attempt = &mut tx.attempts[number];
    let gave_up = |asked: CancelRequest| asked.then == AfterCallOff::ChooseAgain;
    let is_used = attempt.state == AttemptState::Declined
        && attempt.refused_field().is_none()
        && !attempt.call_off.is_some_and(gave_up);
    forget_progress(attempt);
    attempt.provider_id = None;
    attempt.further_ids.clear();
    attempt.state = match is_used {
        true => AttemptState::Declined,
        false => AttemptState::NotSent,
    };
}

/// State that counts only while an attempt is in progress.
fn forget_progress(attempt: &mut Attempt) {
    attempt.candidate = candidate(0);
    attempt.remaining.clear();
    attempt.decision = Decision::default();
    attempt.started_at = earlier();
    attempt.resumed_at = None;
    attempt.payer_action = None;
    attempt.decline = None;
    attempt.next_query_at = None;
    attempt.resumed = 0;
    attempt.cut_off = false;
    attempt.codes = 0;
    attempt.code_away_since = None;
    attempt.call_off = None;
}

/// R6. A callback can bring each answer that a call in flight can bring.
fn end(world: &mut World) {
    let World { tx, sides, .. } = world;
    world.deaths = 0;
    tx.created_at = just_now();
    if let Details::Payment(payment) = &mut tx.details {
        payment.expires_at = soon();
    }
    tx.cases.retain(|case| !is_about_time(case.reason));
    for (side, attempt) in sides.iter_mut().zip(&mut tx.attempts) {
        attempt.follows = None;
        match attempt.state {
            AttemptState::Succeeded if side.truth.holds_money() => {
                forget_progress(attempt);
                side.submission = Submission::Returned;
            }
            AttemptState::Declined if side.truth == Truth::Lost => {
                attempt.state = AttemptState::NotSent;
            }
            _ => {}
        }
    }
}
