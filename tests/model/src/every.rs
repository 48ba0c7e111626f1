//! Every command in every transaction that a history reaches: `decide` answers, its events are
//! stored and replayed to the same transaction, and an end stays an end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::apply::{context, outcome};
use crate::base::{
    IDS, NOW, SECOND, Sum, attempt_id, candidate, case_id, customer, earlier, reference,
};
use crate::key::decoded_action;
use crate::promises::{Promise, is_final};
use crate::rules::Rules;
use crate::steps::{Said, Shown, Standing, What};
use switchyard_core::secret::Secret;
use switchyard_core::transaction::{
    ByOperator, CancelledBy, Captured, ClientContext, Command, Confirm, Event, Operator,
    OperatorCommand, Outcome, Permit, Price, Resolution, Route, Transaction, Unasked, Verdict,
    decide, evolve,
};

/// Asks `tx` all commands. Returns the promise that an answer breaks.
pub fn ask_all(tx: &Transaction, rules: &mut Rules) -> Option<Promise> {
    let free = Permit::default;
    let held = Permit {
        is_held: true,
        ..free()
    };
    let contexts = [
        (Standing::Able, NOW, free()),
        (Standing::Off, NOW, free()),
        (Standing::Able, earlier(), free()),
        (Standing::Able, NOW, held),
        (Standing::Able, NOW, unasked(true)),
        (Standing::Off, NOW, unasked(false)),
    ];
    for command in commands(tx) {
        for (standing, now, permit) in &contexts {
            let mut context = context(tx, &command, *standing);
            context.now = *now;
            context.permit = permit.clone();
            let asked = || decide(tx, command.clone(), &context);
            let Ok(decided) = catch_unwind(AssertUnwindSafe(asked)) else {
                return Some(Promise::EveryCommandIsAnswered);
            };
            let is_new = rules.note(tx, &command, &decided);
            if let Ok(events) = &decided
                && let Some(broken) = replayed(tx, events, is_new)
            {
                return Some(broken);
            }
        }
    }
    None
}

/// A restored store that has not asked a connection.
fn unasked(can_be_asked: bool) -> Permit {
    let unasked = Unasked {
        candidate: candidate(0),
        reference: reference(usize::from(u8::MAX)),
        method: String::new(),
        can_be_asked,
    };
    Permit {
        unasked: vec![unasked],
        ..Permit::default()
    }
}

/// Applies the events. `as_stored`: also as they are read back from the store.
fn replayed(tx: &Transaction, events: &[Event], as_stored: bool) -> Option<Promise> {
    let is_final = is_final(&tx.state);
    if !is_final && !as_stored {
        return None;
    }
    let mut direct = tx.clone();
    for event in events {
        direct = evolve(direct, event, NOW);
    }
    // Reports after the end change the charges, ids and the time of the latest one, as they add
    // cases. A person's check changes the times of queries, and nothing changes anything else.
    let attempts = |tx: &Transaction| {
        let mut attempts = tx.attempts.clone();
        for attempt in &mut attempts {
            attempt.charges.clear();
            attempt.further_ids.clear();
            attempt.money_reported_at = None;
            (attempt.last_query_at, attempt.next_query_at) = (None, None);
        }
        attempts
    };
    if is_final && (direct.state != tx.state || attempts(&direct) != attempts(tx)) {
        return Some(Promise::FinalStaysFinal);
    }
    if direct.wake_at().is_some() == self::is_final(&direct.state) {
        return Some(Promise::WaitingHasAWakeUp);
    }
    let is_same = || {
        let mut stored = tx.clone();
        for event in events {
            let read = serde_json::from_slice(&serde_json::to_vec(event).ok()?).ok()?;
            stored = evolve(stored, &read, NOW);
        }
        (stored == direct).then_some(())
    };
    (as_stored && is_same().is_none()).then_some(Promise::ReplayIsTheSame)
}

fn commands(tx: &Transaction) -> Vec<Command> {
    let mut commands = vec![
        Command::Wake,
        Command::Ask,
        Command::Hint,
        Command::MarkProcessed,
    ];
    let by = [
        CancelledBy::Customer,
        CancelledBy::Expiry,
        CancelledBy::Operator,
        CancelledBy::Engine,
    ];
    commands.extend(by.map(Command::Cancel));
    commands.push(Command::GiveUp);
    for connections in 0..3 {
        let route = || Route {
            candidates: (0..connections).map(candidate).collect(),
            ..Route::default()
        };
        commands.push(Command::Dispatch(route()));
        commands.push(Command::Confirm(Box::new(Confirm {
            method: String::new(),
            country: None,
            phone: None,
            fields: std::collections::BTreeMap::new(),
            customer: customer(),
            context: ClientContext::default(),
            price: Price::plain(tx.amount),
            route: route(),
        })));
    }
    // One more than there are: an unknown attempt and an unknown case.
    for number in 0..=tx.attempts.len() {
        about_attempt(tx, number, &mut commands);
    }
    for number in 0..=tx.cases.len() {
        commands.push(by_operator(OperatorCommand::CloseCase(case_id(number))));
    }
    commands.extend([OperatorCommand::Check, OperatorCommand::Cancel].map(by_operator));
    commands
}

fn about_attempt(tx: &Transaction, number: usize, commands: &mut Vec<Command>) {
    let attempt = attempt_id(number);
    for outcome in outcomes(number) {
        commands.push(Command::Answer {
            attempt,
            outcome: outcome.clone(),
            gateway_state: None,
            asked_at: None,
        });
        commands.push(Command::Answer {
            attempt,
            outcome: outcome.clone(),
            gateway_state: Some(serde_json::Value::Bool(true)),
            asked_at: Some(NOW),
        });
        commands.push(Command::CodeAnswer {
            attempt,
            outcome,
            gateway_state: Some(serde_json::Value::Bool(true)),
        });
    }
    for maybe_sent in [true, false] {
        commands.push(Command::Recover {
            attempt,
            maybe_sent,
            gateway_state: None,
        });
    }
    commands.push(Command::Identify {
        attempt,
        provider_id: IDS[0].to_owned(),
    });
    commands.push(Command::AmbiguousId {
        attempt,
        provider_id: IDS[0].to_owned(),
        reported: None,
    });
    commands.push(Command::Withhold {
        attempt,
        why: String::new(),
    });
    let known = tx.attempts.get(number).map_or(0, |attempt| attempt.codes);
    for tried in [known, known + 1] {
        commands.push(Command::SubmitCode {
            attempt,
            tried,
            code: Secret::new(String::new()),
        });
    }
    let mut verdicts = vec![
        Verdict::Failed { message: None },
        Verdict::NeverSent,
        Verdict::Succeeded {
            amount: None,
            provider_id: None,
        },
    ];
    verdicts.extend(Sum::NAMED.map(|sum| Verdict::Succeeded {
        amount: Some(sum.amount()),
        provider_id: Some(IDS[number % IDS.len()].to_owned()),
    }));
    commands.extend(verdicts.into_iter().map(|verdict| {
        by_operator(OperatorCommand::Resolve(Resolution {
            attempt: Some(attempt),
            verdict,
        }))
    }));
}

fn outcomes(number: usize) -> Vec<Outcome> {
    let own = Some(u8::try_from(number).unwrap_or(0));
    let mut said = Vec::new();
    for id in [None, own, Some(SECOND)] {
        let what = [
            What::Pending(Shown::Nothing),
            What::Pending(Shown::Code),
            What::Part,
            What::Declined(true),
            What::Declined(false),
        ];
        said.extend(what.map(|what| Said { what, id }));
        said.extend(Sum::ALL.map(|sum| Said {
            what: What::Succeeded(sum),
            id,
        }));
    }
    said.extend([What::Refused, What::NotSent, What::Unknown].map(|what| Said { what, id: None }));
    let mut outcomes: Vec<Outcome> = said.into_iter().map(outcome).collect();
    outcomes.push(Outcome::Succeeded {
        provider_id: None,
        amount: Captured::AsAsked,
        fees: None,
        provider_status: Some(String::new()),
    });
    outcomes.extend([2, 3, 4].map(|action| Outcome::Pending {
        provider_id: None,
        payer_action: decoded_action(action),
        poll_after: Some(Duration::from_secs(60)),
        provider_status: None,
        received: None,
    }));
    outcomes
}

fn by_operator(order: OperatorCommand) -> Command {
    Command::ByOperator(Box::new(ByOperator {
        operator: Operator {
            name: String::new(),
            token: None,
        },
        note: None,
        order,
    }))
}
