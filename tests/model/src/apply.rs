//! Application of a step: the command that it becomes, the core's decision, and its effects.

use crate::base::{
    CANCELS, ENDS, IDS, NOW, Sum, attempt_id, attempt_of, candidate, case_id, customer, earlier,
    id_number, long_ago, past_its_end, reference,
};
use crate::faults::decision;
use crate::key::{decoded_action, refused_field};
use crate::steps::{Names, Ordered, PAYER, Said, Standing, Step, Turn, What, is_lie, is_unsent};
use crate::world::{Lie, Scope, Side, Submission, Truth, World};
use switchyard_core::ids::AttemptId;
use switchyard_core::secret::Secret;
use switchyard_core::transaction::{
    Action, AttemptKey, AttemptState, ByOperator, CaseReason, ClientContext, Command, Confirm,
    Context, Decline, DeclineReason, Details, Due, Event, Identity, Onward, Operator,
    OperatorCommand, Outcome, Permit, Price, Refusal, Resolution, Route, State, Transaction,
    Verdict, actions, due, evolve, identify, is_unmistakable, may_recover, next_candidates,
    recovery,
};

/// A step that was taken.
pub struct Taken {
    pub after: World,
    /// The command that the core was given, and its decision.
    pub decided: Option<(Command, Result<Vec<Event>, Refusal>)>,
    pub actions: Vec<Action>,
    /// A statement of a provider that reached the engine, and the attempt that it was applied to.
    pub news: Option<(usize, Said)>,
    /// A submission that is made although an earlier one may have left.
    pub sent_again: bool,
}

/// Takes `step`. `None`: it cannot be taken now, or nothing happens.
pub fn apply(world: &World, scope: &Scope, step: Step) -> Option<Taken> {
    let mut after = world.clone();
    let mut news = None;
    let command = match step {
        Step::Provider(at, turn) => {
            provider(&mut after, at, turn, scope);
            None
        }
        Step::Expire | Step::WaitLong | Step::Age(_) => {
            pass_time(&mut after.tx, step);
            None
        }
        Step::Die => {
            die(&mut after);
            None
        }
        Step::Send(at) => {
            let side = &mut after.sides[usize::from(at)];
            side.submission = Submission::Sending;
            side.truth = Truth::OnTheWay;
            None
        }
        Step::Return(at, said, _) => Some(returned(&mut after, scope, at, said, &mut news)),
        Step::Withhold(at, _) => {
            let side = &mut after.sides[usize::from(at)];
            side.submission = Submission::Returned;
            side.closed = true;
            Some(Command::Withhold {
                attempt: attempt_id(at.into()),
                why: String::new(),
            })
        }
        Step::Says(at, names, said, _) => {
            Some(says(&mut after, scope, at, names, said, &mut news)?)
        }
        Step::CodeBack(at, said, _) => {
            // That a code was not sent says nothing of the attempt.
            if said.what != What::NotSent {
                hear(&mut after, scope, at.into(), at.into(), said, &mut news);
            }
            Some(Command::CodeAnswer {
                attempt: attempt_id(at.into()),
                outcome: outcome(said),
                gateway_state: None,
            })
        }
        Step::Wake(route, _) => Some(woken(&after, scope, route)?),
        Step::OperatorCommand(ordered) => Some(order(&after, scope, ordered)),
        Step::Confirm(_)
        | Step::SubmitCode
        | Step::Cancel
        | Step::GiveUp
        | Step::Verify
        | Step::Process => Some(asked(world, scope, step)),
    };
    let mut taken = Taken {
        after,
        decided: None,
        actions: Vec::new(),
        news,
        sent_again: false,
    };
    if let Some(command) = command {
        carry_out(&mut taken, scope, command, standing(step));
    }
    Some(taken)
}

fn standing(step: Step) -> Standing {
    match step {
        Step::Wake(_, standing)
        | Step::Withhold(_, standing)
        | Step::Return(_, _, standing)
        | Step::Says(_, _, _, standing)
        | Step::CodeBack(_, _, standing) => standing,
        _ => Standing::Able,
    }
}

/// The core decides, and its events and actions take effect.
fn carry_out(taken: &mut Taken, scope: &Scope, command: Command, standing: Standing) {
    let context = context(&taken.after.tx, &command, standing);
    let decided = decision(&taken.after.tx, command.clone(), &context);
    let on_hold = taken.after.tx.state == State::OnHold;
    let World {
        tx, sides, named, ..
    } = &mut taken.after;
    for event in decided.iter().flatten() {
        if matches!(event, Event::AttemptStarted { .. }) {
            sides.push(Side {
                submission: Submission::DiedUnsent,
                ..Side::NEW
            });
        }
        let next = evolve(tx.clone(), event, NOW);
        learn_names(named, tx, &next);
        *tx = next;
        taken.actions.extend(actions(tx, event));
    }
    for action in &taken.actions {
        if let Action::Submit { attempt } = action {
            let side = &mut sides[number_of(*attempt)];
            taken.sent_again |= side.submission != Submission::DiedUnsent;
            side.submission = Submission::Announced;
        }
    }
    // The journal proves that the attempt was not sent, unless it is submitted again.
    if let Command::Recover {
        maybe_sent: false, ..
    } = command
    {
        for side in sides.iter_mut() {
            side.closed |= side.submission == Submission::DiedUnsent;
        }
    }
    if let Command::ByOperator(order) = &command
        && decided.as_ref().is_ok_and(|events| !events.is_empty())
    {
        obey(&mut taken.after, scope, &order.order, on_hold);
    }
    taken.decided = Some((command, decided));
}

/// The order of a person has taken effect.
fn obey(after: &mut World, scope: &Scope, order: &OperatorCommand, on_hold: bool) {
    match order {
        OperatorCommand::Resolve(resolution) => {
            let last = after.sides.len() - 1;
            let is_success = matches!(resolution.verdict, Verdict::Succeeded { .. });
            let errs = scope.lie == Lie::MistakenPerson && after.may_move(last);
            if errs && !is_success && !on_hold {
                after.liar = Some(u8::try_from(last).unwrap_or(u8::MAX));
                after.sides[last].closed = true;
                return;
            }
            let many = if on_hold { usize::MAX } else { 1 };
            let settled = after.sides.iter_mut().rev().take(many);
            settled.for_each(|side| settle(side, &resolution.verdict));
        }
        // The person has looked at the attempt that was found.
        OperatorCommand::CloseCase(case) if scope.lie == Lie::MistakenPerson => {
            let mut cases = after.tx.cases.iter();
            if let Some(case) = cases.find(|one| one.id == *case)
                && case.reason == CaseReason::FoundAfterNotSent
            {
                after.sides[attempt_of(case.reference)].closed = true;
            }
        }
        _ => {}
    }
}

/// A person settled the attempt. If that is a failure, its money was given back.
fn settle(side: &mut Side, verdict: &Verdict) {
    match verdict {
        Verdict::Succeeded { .. } => {}
        Verdict::Failed { .. } | Verdict::NeverSent => {
            side.closed = true;
            if side.truth.holds_money() {
                side.truth = Truth::Reversed;
            }
        }
    }
}

/// Each attempt that got an id is found by it after this step.
fn learn_names(named: &mut [u8; 4], before: &Transaction, after: &Transaction) {
    for (number, attempt) in (0_u8..).zip(&after.attempts) {
        let known = before.attempts.get(usize::from(number));
        let ids_before = known.map_or_else(Vec::new, |known| before.ids_of(known));
        for id in after.ids_of(attempt) {
            if !ids_before.contains(&id) {
                named[usize::from(id_number(id))] |= 1 << number;
            }
        }
    }
}

/// Context of a decision, with ids in the order of their creation.
pub fn context(tx: &Transaction, command: &Command, standing: Standing) -> Context {
    Context {
        now: NOW,
        attempt: attempt_id(tx.attempts.len()),
        reference: reference(tx.attempts.len()),
        case: case_id(tx.cases.len()),
        references: Vec::new(),
        onward: onward(tx, command, standing),
        permit: Permit::default(),
    }
}

/// Standing of the connections that may come after the open attempt.
fn onward(tx: &Transaction, command: &Command, standing: Standing) -> Vec<Onward> {
    let onward = next_candidates(tx, command)
        .into_iter()
        .map(|candidate| Onward {
            connection: candidate.connection,
            standing: match standing {
                Standing::Able => Ok(candidate.clone()),
                Standing::Off => Err("it is switched off"),
            },
        });
    onward.collect()
}

fn provider(world: &mut World, at: u8, turn: Turn, scope: &Scope) {
    let is_lie = match turn {
        Turn::PaysAgain | Turn::TakesBack => true,
        Turn::Pays => scope.lie.sum() != Sum::Asked,
        Turn::Receives | Turn::Loses | Turn::Declines(_) => false,
    };
    if is_lie && world.may_lie(at.into()) {
        world.liar = Some(at);
    }
    world.sides[usize::from(at)].truth = match turn {
        Turn::Receives => Truth::Received,
        Turn::Loses => Truth::Lost,
        Turn::Pays => Truth::Paid,
        Turn::Declines(soft) => Truth::Declined(soft),
        Turn::PaysAgain => Truth::PaidTwice,
        Turn::TakesBack => Truth::Reversed,
    };
}

fn pass_time(tx: &mut Transaction, step: Step) {
    match (step, &mut tx.details) {
        (Step::Expire, Details::Payment(payment)) => payment.expires_at = earlier(),
        (Step::WaitLong, _) => tx.created_at = earlier(),
        (Step::Age(at), _) => {
            let attempt = &mut tx.attempts[usize::from(at)];
            let ends = attempt.candidate.ends_after_s.is_some();
            let begun = attempt.resumed_at.unwrap_or(attempt.started_at);
            let aged = match ends && begun > past_its_end() {
                true => past_its_end(),
                false => long_ago(),
            };
            attempt.started_at = attempt.started_at.min(aged);
            attempt.resumed_at = attempt.resumed_at.map(|_| aged);
        }
        _ => {}
    }
}

/// The calls in flight end without an answer. The journal keeps whether something may have left.
fn die(world: &mut World) {
    world.deaths += 1;
    for side in &mut world.sides {
        side.submission = match side.submission {
            Submission::Announced => Submission::DiedUnsent,
            Submission::Sending => Submission::DiedSent,
            ended @ (Submission::DiedUnsent | Submission::DiedSent | Submission::Returned) => ended,
        };
    }
}

fn returned(
    after: &mut World,
    scope: &Scope,
    at: u8,
    said: Said,
    news: &mut Option<(usize, Said)>,
) -> Command {
    let number = usize::from(at);
    let side = &mut after.sides[number];
    if side.submission == Submission::Announced
        && matches!(said.what, What::Declined(_) | What::Refused)
    {
        // The gateway refused it without a request: the provider never receives it.
        side.truth = Truth::Lost;
    }
    side.submission = Submission::Returned;
    hear(after, scope, number, number, said, news);
    Command::Answer {
        attempt: attempt_id(number),
        outcome: outcome(said),
        gateway_state: None,
        asked_at: None,
    }
}

/// A statement about attempt `at` arrives and is applied to attempt `to`. Records the statements
/// that the engine has received.
fn hear(
    after: &mut World,
    scope: &Scope,
    at: usize,
    to: usize,
    said: Said,
    news: &mut Option<(usize, Said)>,
) {
    if is_lie(after, scope, at, said) {
        after.liar = Some(u8::try_from(at).unwrap_or(u8::MAX));
    }
    let unsent = is_unsent(after, to);
    let side = &mut after.sides[to];
    match said.what {
        What::Succeeded(sum) => {
            let id = said.id.unwrap_or(0);
            side.successes |= 1 << (sum as u32 * 4 + u32::from(id));
        }
        What::Declined(_) | What::Refused => {
            side.declined = true;
            side.closed = true;
        }
        What::NotSent => side.closed |= unsent,
        What::Part => side.part = true,
        What::Pending(_) => {
            let is_mistaken =
                scope.lie == Lie::MistakenPerson && after.liar == u8::try_from(to).ok();
            side.closed &= !is_mistaken || side.declined;
        }
        What::Unknown => {}
    }
    *news = Some((to, said));
}

fn has_succeeded(after: &World, attempt: AttemptId) -> bool {
    let attempt = after.tx.attempt(attempt);
    attempt.is_some_and(|attempt| attempt.state == AttemptState::Succeeded)
}

/// A query's answer or a callback. `None`: it waits for our own call, or names no attempt.
fn says(
    after: &mut World,
    scope: &Scope,
    at: u8,
    names: Names,
    mut said: Said,
    news: &mut Option<(usize, Said)>,
) -> Option<Command> {
    let to = match names {
        Names::Reference | Names::QueryAfterItsEnd => at.into(),
        Names::Id => match identify(None, &found_by_id(after, at, said.id?)) {
            Identity::Unknown => return None,
            Identity::Proven((_, attempt)) => {
                let to = number_of(attempt);
                if !is_unmistakable(&after.tx, &after.tx.attempts[to]) {
                    return Some(Command::Hint);
                }
                to
            }
            Identity::Disagree(_) => return Some(Command::Hint),
            Identity::Ambiguous(several) => {
                let own = several
                    .iter()
                    .find(|(_, attempt)| number_of(*attempt) == usize::from(at));
                return Some(Command::AmbiguousId {
                    attempt: own.or(several.first())?.1,
                    provider_id: IDS[usize::from(said.id?)].to_owned(),
                    reported: None,
                });
            }
        },
        Names::ReferenceAndIdOf(other) => {
            let reference = (after.tx.id, attempt_id(at.into()));
            let id = crate::steps::own_id(scope, other.into());
            let by_id = found_by_id(after, at, id);
            match identify(Some(reference), &by_id) {
                Identity::Proven((_, attempt)) => number_of(attempt),
                Identity::Disagree((_, attempt)) if has_succeeded(after, attempt) => {
                    if !matches!(said.what, What::Succeeded(_)) {
                        return Some(Command::Hint);
                    }
                    said.id = Some(id);
                    number_of(attempt)
                }
                // The hint that follows the case is a step of its own.
                Identity::Disagree((_, attempt)) => {
                    return Some(Command::AmbiguousId {
                        attempt,
                        provider_id: IDS[usize::from(id)].to_owned(),
                        reported: None,
                    });
                }
                Identity::Unknown | Identity::Ambiguous(_) => return Some(Command::Hint),
            }
        }
    };
    let may_wait = !matches!(said.what, What::Succeeded(_));
    if may_wait && after.sides[to].submission.is_in_flight() {
        return None;
    }
    hear(after, scope, at.into(), to, said, news);
    // By the gateway's manifest no money can move any more.
    after.sides[to].closed |= names == Names::QueryAfterItsEnd && said.what != What::Part;
    Some(Command::Answer {
        attempt: attempt_id(to),
        outcome: outcome(said),
        gateway_state: None,
        asked_at: (names == Names::QueryAfterItsEnd).then_some(NOW),
    })
}

/// The attempts at the connection of attempt `at` that have the id.
fn found_by_id(world: &World, at: u8, id: u8) -> Vec<AttemptKey> {
    let connection = world.tx.attempts[usize::from(at)].candidate.connection;
    let found = (0..).zip(&world.tx.attempts).filter(|(number, attempt)| {
        let has_id = world.named[usize::from(id)] >> number & 1 == 1;
        has_id && attempt.candidate.connection == connection
    });
    found
        .map(|(_, attempt)| (world.tx.id, attempt.id))
        .collect()
}

fn number_of(attempt: AttemptId) -> usize {
    usize::try_from(attempt.ulid().random()).unwrap_or(usize::MAX)
}

/// The command that a due wake-up becomes.
fn woken(after: &World, scope: &Scope, route: u8) -> Option<Command> {
    let submission = after.sides.last().map(|side| side.submission);
    let in_flight = submission.is_some_and(Submission::is_in_flight);
    match due(&after.tx, in_flight, NOW) {
        Due::Nothing => None,
        Due::Dispatch => Some(Command::Dispatch(plan(scope, route))),
        Due::Recover(attempt) => {
            let maybe_sent = submission != Some(Submission::DiedUnsent);
            may_recover(&after.tx, maybe_sent, NOW).then(|| recovery(attempt, maybe_sent, None))
        }
        Due::Wake => Some(Command::Wake),
    }
}

fn plan(scope: &Scope, connections: u8) -> Route {
    let can = u8::from(scope.call_off) * CANCELS + u8::from(scope.ends) * ENDS;
    Route {
        candidates: (0..connections)
            .map(|number| candidate(number + can))
            .collect(),
        ..Route::default()
    }
}

/// Commands of the payer and the merchant.
fn asked(world: &World, scope: &Scope, step: Step) -> Command {
    match step {
        Step::Confirm(connections) => Command::Confirm(Box::new(Confirm {
            method: String::new(),
            country: None,
            phone: None,
            fields: std::collections::BTreeMap::new(),
            customer: customer(),
            context: ClientContext::default(),
            price: Price::plain(world.tx.amount),
            route: plan(scope, connections),
        })),
        Step::SubmitCode => {
            let attempt = world.tx.attempts.last();
            Command::SubmitCode {
                attempt: attempt_id(world.tx.attempts.len().wrapping_sub(1)),
                tried: attempt.map_or(0, |attempt| attempt.codes),
                code: Secret::new(String::new()),
            }
        }
        Step::Cancel => Command::Cancel(PAYER),
        Step::GiveUp => Command::GiveUp,
        Step::Process => Command::MarkProcessed,
        _ => Command::Ask,
    }
}

fn order(after: &World, scope: &Scope, ordered: Ordered) -> Command {
    let number = after.sides.len().wrapping_sub(1);
    let on_hold = after.tx.state == State::OnHold;
    let resolve = |verdict| {
        OperatorCommand::Resolve(Resolution {
            attempt: match ordered {
                Ordered::SucceededFor(named) => Some(attempt_id(named.into())),
                _ => (!on_hold).then(|| attempt_id(number)),
            },
            verdict,
        })
    };
    let order = match ordered {
        Ordered::Check => OperatorCommand::Check,
        Ordered::Cancel => OperatorCommand::Cancel,
        Ordered::CloseCase(case) => OperatorCommand::CloseCase(case_id(case.into())),
        Ordered::Succeeded | Ordered::SucceededFor(_) if on_hold => resolve(Verdict::Succeeded {
            amount: (scope.lie.sum() == Sum::Unreadable).then(|| Sum::Asked.amount()),
            provider_id: None,
        }),
        Ordered::Succeeded | Ordered::SucceededFor(_) => resolve(Verdict::Succeeded {
            amount: Some(scope.lie.sum().amount()),
            provider_id: Some(IDS[usize::from(crate::steps::own_id(scope, number))].to_owned()),
        }),
        Ordered::Failed => resolve(Verdict::Failed { message: None }),
        Ordered::NeverSent => resolve(Verdict::NeverSent),
    };
    Command::ByOperator(Box::new(ByOperator {
        operator: Operator {
            name: String::new(),
            token: None,
        },
        note: None,
        order,
    }))
}

/// The outcome that the host makes of a statement.
pub fn outcome(said: Said) -> Outcome {
    let provider_id = said.id.map(|id| IDS[usize::from(id)].to_owned());
    match said.what {
        What::Pending(shown) => Outcome::Pending {
            provider_id,
            payer_action: decoded_action(shown as u8),
            poll_after: None,
            provider_status: None,
            received: None,
        },
        What::Part => Outcome::Pending {
            provider_id,
            payer_action: None,
            poll_after: None,
            provider_status: None,
            received: Some(Sum::Less.amount()),
        },
        What::Succeeded(sum) => Outcome::Succeeded {
            provider_id,
            amount: sum.captured(),
            fees: None,
            provider_status: None,
        },
        What::Declined(retryable) => Outcome::Declined(Decline {
            reason: DeclineReason::Other,
            field: None,
            retryable,
            provider_id,
            provider_code: None,
            provider_message: None,
        }),
        What::Refused => Outcome::Declined(refused_field()),
        What::NotSent => Outcome::NotSent { why: String::new() },
        What::Unknown => Outcome::unknown(String::new()),
    }
}
