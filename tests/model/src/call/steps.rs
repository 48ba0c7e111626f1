//! Steps of the world, and their results by the rules.

use std::time::Duration;

use super::world::{
    CALL, CallScope, Calls, Flight, InFlight, Known, PROMISED, Query, Read, Request, Truth,
};
use super::{CallPromise, Rules};
use crate::base::NOW;
use crate::search::Next;
use switchyard_core::journal::{Failure, NotFound, Row, Stage, StatusQuery, Tally};
use switchyard_core::time::Timestamp;

/// Result of writing a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Durable,
    /// The store reports an error, and nothing is written.
    Failed,
    /// The store reports an error although the row is durable.
    FailedYetDurable,
}

/// Reason why a call has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Fault, panic, nonsense, the worker's death, or the call's time is over.
    NoOutcome,
    /// A step timed out: the journal is read.
    GivenUp,
    /// The same, and the journal cannot be read.
    GivenUpUnreadable,
    /// The host panicked: no outcome is returned.
    Panic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A minute passes.
    Tick,
    /// The gateway asks for a request; its row is written.
    Announce(Write),
    Leave(u8),
    /// The request has no answer.
    Fail(u8, Failure),
    /// An answer comes, and its row may be lost. A proxy may answer before the request arrives.
    Answer(u8, Write),
    Arrive(u8, bool),
    Lose(u8),
    /// The gateway reports the submission's result, as far as it has received it.
    Outcome,
    End(End),
    /// The engine dies and starts again, with its clock set by so many ticks.
    Die(i8),
    /// An interrupted submission is recovered. `false`: the journal cannot be read.
    Recover(bool),
    ChangeCredentials,
    /// A later call of the attempt writes, too.
    GoOn,
    Ask,
    Read,
    /// The answer is judged. `false`: a row of the journal cannot be read.
    Told(bool),
}

impl Step {
    pub const fn is_by_itself(self) -> bool {
        !matches!(self, Self::Die(_) | Self::ChangeCredentials | Self::GoOn)
    }
}

/// How often an interrupted submission begins again.
const RESUMES: u8 = 1;

/// All steps that `world` can take, in a fixed order.
pub fn steps(world: &Calls, scope: &CallScope, steps: &mut Vec<Step>) {
    steps.clear();
    if !world.known.is_open() {
        return;
    }
    // A call ends before its time is over.
    if world.call.is_none_or(|call| call.ticks < CALL) {
        steps.push(Step::Tick);
    }
    if world.call.is_some() {
        in_flight(world, scope, steps);
    } else if world.known == Known::Started {
        steps.push(Step::Recover(true));
        steps.extend(scope.faults.then_some(Step::Recover(false)));
    } else if world.known == Known::InDoubt && world.query.is_none() {
        steps.push(Step::Ask);
        if usize::from(world.made) < scope.requests {
            steps.push(Step::GoOn);
        }
    }
    if let Some(query) = world.query {
        if query.read.is_none() {
            steps.push(Step::Read);
        } else {
            steps.push(Step::Told(true));
            steps.extend(scope.faults.then_some(Step::Told(false)));
        }
    }
    for (number, request) in (0..).zip(&world.requests) {
        if let Truth::OnTheWay(_) = request.truth {
            steps.extend([Step::Arrive(number, true), Step::Arrive(number, false)]);
            steps.push(Step::Lose(number));
        }
    }
    if world.deaths < scope.deaths {
        steps.push(Step::Die(0));
        if !world.was_clock_set {
            steps.extend(scope.clock.iter().map(|by| Step::Die(*by)));
        }
    }
    if scope.credentials && world.changed.is_none() {
        steps.push(Step::ChangeCredentials);
    }
}

fn in_flight(world: &Calls, scope: &CallScope, steps: &mut Vec<Step>) {
    let written: &[Write] = match scope.faults {
        true => &[Write::Durable, Write::Failed, Write::FailedYetDurable],
        false => &[Write::Durable],
    };
    if usize::from(world.made) < scope.requests {
        steps.extend(written.iter().copied().map(Step::Announce));
    }
    for (number, request) in (0..).zip(&world.requests) {
        match request.flight {
            Flight::Announced => {
                steps.push(Step::Leave(number));
                steps.push(Step::Fail(number, Failure::Connect));
                steps.push(Step::Fail(number, Failure::Refused));
            }
            Flight::Out => {
                steps.push(Step::Fail(number, Failure::Timeout));
                steps.push(Step::Fail(number, Failure::Broken));
                steps.extend(written.iter().map(|write| Step::Answer(number, *write)));
            }
            Flight::Over => {}
        }
    }
    steps.push(Step::Outcome);
    steps.push(Step::End(End::NoOutcome));
    steps.push(Step::End(End::GivenUp));
    steps.push(Step::End(End::Panic));
    if scope.faults {
        steps.push(Step::End(End::GivenUpUnreadable));
    }
}

/// Takes `step`.
pub fn take<R: Rules>(
    world: &Calls,
    scope: &CallScope,
    rules: &R,
    step: Step,
) -> Next<Calls, CallPromise> {
    let mut after = world.clone();
    match step {
        Step::Tick => after.tick(scope),
        Step::Announce(write) => announce(&mut after, rules, write),
        Step::Leave(at) => {
            let request = &mut after.requests[usize::from(at)];
            if request.stage.is_none() {
                return Next::Broken(CallPromise::WhatLeavesIsJournaled);
            }
            request.flight = Flight::Out;
            request.truth = Truth::OnTheWay(0);
        }
        Step::Fail(at, failure) => {
            let stage = rules.stage(false, rules.may_have_left(failure));
            end_request(&mut after, at, stage, Write::Durable);
        }
        Step::Answer(at, write) => {
            after.requests[usize::from(at)].is_answered = true;
            end_request(&mut after, at, rules.stage(true, true), write);
        }
        Step::Arrive(at, executed) => arrive(&mut after, at, executed),
        Step::Lose(at) => after.requests[usize::from(at)].truth = Truth::Lost,
        Step::Outcome => match outcome(&after) {
            Some(known) => come_back(&mut after, known),
            None => return Next::Nothing,
        },
        Step::End(end) => end_call(&mut after, rules, end),
        Step::Die(by) => die(&mut after, by),
        Step::Recover(is_readable) => {
            if let Err(broken) = recover(&mut after, rules, is_readable) {
                return Next::Broken(broken);
            }
        }
        Step::ChangeCredentials => {
            after.account = true;
            after.changed = Some(0);
        }
        Step::GoOn => begin(&mut after, false),
        Step::Ask => {
            after.query = Some(Query {
                age: 0,
                account: after.account,
                read: None,
            });
        }
        Step::Read => read(&mut after),
        Step::Told(is_readable) => told(&mut after, rules, is_readable),
    }
    if after.known == Known::NotSent && after.may_move() {
        return Next::Broken(CallPromise::NotSentMovesNoMoney);
    }
    after.forget(scope);
    Next::To(match after.known.is_open() {
        true => after,
        false => Calls::ended(after.known),
    })
}

/// The engine has started again and reads the journal.
fn recover<R: Rules>(world: &mut Calls, rules: &R, is_readable: bool) -> Result<(), CallPromise> {
    let rows = rows(world);
    if rules.maybe_sent(is_readable.then_some(&rows)) {
        world.known = Known::InDoubt;
    } else if world.resumed < RESUMES {
        let has_left = |request: &Request| request.truth != Truth::NotLeft;
        if world.requests.iter().any(has_left) {
            return Err(CallPromise::NothingIsSentTwice);
        }
        world.resumed += 1;
        begin(world, true);
    } else {
        world.known = Known::NotSent;
    }
    Ok(())
}

fn announce<R: Rules>(world: &mut Calls, rules: &R, write: Write) {
    let Some(call) = &mut world.call else {
        return;
    };
    call.tally.announce();
    let leaves = write == Write::Durable || rules.sends_unwritten();
    match leaves {
        true => call.tally.leave(),
        false => call.tally.withdraw(),
    }
    world.made += 1;
    world.requests.push(Request {
        stage: (write != Write::Failed).then_some(Stage::MaybeSent),
        age: 0,
        ended: None,
        truth: Truth::NotLeft,
        flight: match leaves {
            true => Flight::Announced,
            false => Flight::Over,
        },
        is_answered: false,
        account: call.account,
    });
}

/// An exchange has ended, and its row is written once more.
fn end_request(world: &mut Calls, at: u8, stage: Stage, write: Write) {
    let request = &mut world.requests[usize::from(at)];
    request.flight = Flight::Over;
    if write != Write::Failed {
        request.stage = Some(stage);
        request.ended = Some(0);
    }
    if let Some(call) = &mut world.call {
        call.tally.end(stage);
    }
}

/// The provider takes the first of several requests with the same reference at an account.
fn arrive(world: &mut Calls, at: u8, executed: bool) {
    let account = world.requests[usize::from(at)].account;
    let has_one = world.requests.iter().any(|other| {
        other.account == account && matches!(other.truth, Truth::Executed | Truth::Refused)
    });
    world.requests[usize::from(at)].truth = match (has_one, executed) {
        (true, _) => Truth::Lost,
        (false, true) => Truth::Executed,
        (false, false) => Truth::Refused,
    };
}

/// Outcome that an honest gateway returns: it knows the end only from an answer about a request
/// that arrived, and while no other one may arrive in its place.
fn outcome(world: &Calls) -> Option<Known> {
    let call = world.call?;
    if call.tally.is_sending() {
        return None;
    }
    let told = world.requests.iter().filter(|request| request.is_answered);
    let mut known = told.filter_map(|request| match request.truth {
        Truth::Executed => Some(Known::Succeeded),
        Truth::Refused => Some(Known::Declined),
        Truth::NotLeft | Truth::OnTheWay(_) | Truth::Lost => None,
    });
    Some(known.next_back().unwrap_or(Known::InDoubt))
}

/// The submission has ended. Requests that were not sent by now are dropped.
fn come_back(world: &mut Calls, known: Known) {
    world.call = None;
    for request in &mut world.requests {
        request.flight = Flight::Over;
    }
    world.known = known;
}

fn end_call<R: Rules>(world: &mut Calls, rules: &R, end: End) {
    let Some(call) = world.call else {
        return;
    };
    let may_have_left = match end {
        End::NoOutcome => call.tally.may_have_left(),
        End::GivenUp => rules.maybe_sent(Some(&rows(world))),
        End::GivenUpUnreadable => rules.maybe_sent(None),
        End::Panic if call.submits => return come_back(world, Known::Started),
        End::Panic => true,
    };
    let is_not_sent = rules.is_not_sent(call.submits, may_have_left);
    let known = match is_not_sent {
        true => Known::NotSent,
        false => Known::InDoubt,
    };
    come_back(world, known);
}

fn die(world: &mut Calls, by: i8) {
    let known = world.known;
    come_back(world, known);
    world.query = None;
    world.deaths += 1;
    world.was_clock_set |= by != 0;
    world.ages().for_each(|age| *age += by);
    world.began = 0;
}

fn begin(world: &mut Calls, submits: bool) {
    world.call = Some(InFlight {
        submits,
        ticks: 0,
        tally: Tally::default(),
        account: world.account,
    });
}

fn read(world: &mut Calls) {
    let Some(query) = world.query else {
        return;
    };
    let at_account = world
        .requests
        .iter()
        .filter(|request| request.account == query.account);
    let mut found = at_account.filter_map(|request| match request.truth {
        Truth::Executed => Some(Read::Executed),
        Truth::Refused => Some(Read::Refused),
        Truth::NotLeft | Truth::OnTheWay(_) | Truth::Lost => None,
    });
    let read = Some(found.next_back().unwrap_or(Read::NotFound));
    world.query = Some(Query { read, ..query });
}

/// The answer of the query is judged.
fn told<R: Rules>(world: &mut Calls, rules: &R, is_readable: bool) {
    let Some(query) = world.query.take() else {
        return;
    };
    let asked = StatusQuery {
        at: time(query.age),
        config_changed_at: world.changed.map(time),
        began: time(world.began),
    };
    match query.read {
        Some(Read::Executed) => world.known = Known::Succeeded,
        Some(Read::Refused) => world.known = Known::Declined,
        Some(Read::NotFound) => {
            let mut rows = rows(world);
            rows.iter_mut()
                .for_each(|row| row.is_readable = is_readable);
            let judged = rules.not_found(&rows, minutes(PROMISED), &asked);
            if judged == NotFound::Final {
                world.known = Known::NotSent;
            }
        }
        None => {}
    }
}

fn rows(world: &Calls) -> Vec<Row> {
    let written = world.requests.iter().filter_map(|request| {
        Some(Row {
            at: time(request.age),
            ended_at: request.ended.map(time),
            mutates: true,
            stage: request.stage?,
            is_readable: true,
        })
    });
    written.collect()
}

fn time(age: i8) -> Timestamp {
    match u8::try_from(age) {
        Ok(age) => NOW.minus(minutes(age)),
        Err(_) => NOW.plus(minutes(age.unsigned_abs())),
    }
}

fn minutes(ticks: u8) -> Duration {
    Duration::from_secs(60 * u64::from(ticks))
}
