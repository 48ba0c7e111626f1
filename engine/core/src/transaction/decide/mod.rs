//! `decide`: the one place where a transaction's fate is decided. Pure: the same transaction,
//! command and context give the same events. One file a transition.

mod ambiguous;
mod answer;
mod ask;
mod cancel;
mod cases;
mod code;
mod confirm;
mod dispatch;
mod end;
mod failover;
mod hint;
mod hold_submission;
mod identify;
mod late;
mod operator;
mod process;
mod recover;
mod resolve;
mod restored;
mod success;
mod wake;

use uuid::Uuid;

use self::answer::Answer;
use super::attempt::{Attempt, AttemptState, Candidate, Price};
use super::command::{Command, Context, Refusal};
use super::decision::Decision;
use super::event::Event;
use super::model::Transaction;
use super::schedule;

/// Events that `command` causes. An empty list: the command is valid and changes nothing (a
/// repeated response, an early wake-up).
pub fn decide(
    tx: &Transaction,
    command: Command,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let mut events = decide_command(tx, command, context)?;
    cases::number(&mut events, context.case);
    Ok(events)
}

fn decide_command(
    tx: &Transaction,
    command: Command,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::Confirm(confirm) => confirm::decide(tx, *confirm, context),
        Command::Dispatch(route) => dispatch::decide(tx, route, context),
        Command::Answer {
            attempt,
            outcome,
            gateway_state,
            asked_at,
        } => {
            let answer = Answer {
                attempt,
                outcome,
                gateway_state,
                asked_at,
            };
            answer::decide(tx, answer, context)
        }
        Command::Recover {
            attempt,
            maybe_sent,
            gateway_state,
        } => recover::decide(tx, attempt, maybe_sent.then_some(gateway_state), context),
        Command::Withhold { attempt, why } => hold_submission::decide(tx, attempt, why, context),
        Command::Wake => Ok(wake::decide(tx, context)),
        Command::Ask => Ok(ask::decide(tx, context)),
        Command::Hint => Ok(hint::decide(tx, context)),
        Command::Identify {
            attempt,
            provider_id,
        } => identify::decide(tx, attempt, provider_id, context),
        Command::AmbiguousId {
            attempt,
            provider_id,
            reported,
        } => ambiguous::decide(tx, attempt, (provider_id, reported), context),
        Command::Cancel(by) => cancel::decide(tx, by, context),
        Command::GiveUp => cancel::give_up(tx, context),
        Command::SubmitCode { attempt, tried, .. } => code::decide(tx, attempt, tried),
        Command::CodeAnswer {
            attempt,
            outcome,
            gateway_state,
        } => code::answer(tx, attempt, outcome, gateway_state, context),
        Command::ByOperator(order) => operator::decide(tx, *order, context),
        Command::MarkProcessed => process::decide(tx),
    }
}

/// Facts that all attempts of one confirmation share.
struct Try {
    follows: Option<crate::ids::AttemptId>,
    method: String,
    country: Option<String>,
    phone: Option<String>,
    fields: std::collections::BTreeMap<String, String>,
    price: Price,
    /// How often the engine's own stops have made it begin again where it was.
    resumed: u32,
}

impl Try {
    /// The same try once more, in the place of `attempt`.
    fn after(attempt: &Attempt) -> Self {
        Self {
            follows: Some(attempt.id),
            method: attempt.method.clone(),
            country: attempt.country.clone(),
            phone: attempt.phone.clone(),
            fields: attempt.fields.clone(),
            price: Price {
                amount: attempt.amount,
                conversion: attempt.conversion.clone(),
            },
            resumed: 0,
        }
    }
}

/// The event that starts an attempt at the first of `candidates`, keeping the others for later;
/// `None` when there is none.
fn start(
    what: Try,
    mut candidates: Vec<Candidate>,
    decision: Decision,
    context: &Context,
) -> Option<Event> {
    if candidates.is_empty() {
        return None;
    }
    let candidate = candidates.remove(0);
    let reference = context.reference_at(candidate.connection);
    let attempt = Attempt {
        decision,
        remaining: candidates,
        ..new_attempt(what, candidate, reference, context)
    };
    Some(Event::AttemptStarted {
        attempt: Box::new(attempt),
    })
}

/// An attempt that starts now, without a decision and without further candidates.
fn new_attempt(what: Try, candidate: Candidate, reference: Uuid, context: &Context) -> Attempt {
    Attempt {
        id: context.attempt,
        reference,
        candidate,
        follows: what.follows,
        presumed: false,
        method: what.method,
        country: what.country,
        phone: what.phone,
        fields: what.fields,
        amount: what.price.amount,
        conversion: what.price.conversion,
        state: AttemptState::Started,
        decision: Decision::default(),
        started_at: context.now,
        resumed_at: None,
        ended_at: None,
        provider_id: None,
        provider_status: None,
        payer_action: None,
        payer_fee: None,
        decline: None,
        why: None,
        captured: None,
        received: None,
        fees: None,
        money_reported_at: None,
        charges: Vec::new(),
        further_ids: Vec::new(),
        queries: 0,
        last_query_at: None,
        next_query_at: None,
        resumed: what.resumed,
        cut_off: false,
        codes: 0,
        code_away_since: None,
        call_off: None,
        settled: None,
        gateway_state: serde_json::Value::Null,
        remaining: Vec::new(),
    }
}

/// The query that the schedule has for `attempt`, and a case when it was the last before a person
/// has to look.
fn scheduled_query(attempt: &Attempt, context: &Context) -> Event {
    let age = context.now.since(attempt.started_at);
    let wait = schedule::wait_after(attempt.queries.saturating_add(1), age);
    let next_query_at = context.now.plus(wait);
    Event::QueryStarted {
        attempt: attempt.id,
        scheduled: true,
        next_query_at,
    }
}
