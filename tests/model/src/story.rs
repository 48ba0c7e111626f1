//! Story of a history: numbered sentences, and the body of a unit test for the core.

use std::fmt::Write;

use crate::apply::{Taken, apply};
use crate::base::Sum;
use crate::key::{decode, encode};
use crate::names;
use crate::reduce::reduce;
use crate::steps::{Names, Ordered, Said, Shown, Standing, Step, Turn, What};
use crate::world::{Scope, World};
use switchyard_core::transaction::{Captured, Command, Kind, OperatorCommand, Outcome, Verdict};

/// Tells `history`. The code uses the fixtures of `engine/core/src/transaction/tests`.
pub fn tell(scope: &Scope, history: &[Step]) -> String {
    let template = World::new(scope);
    let mut world = template.clone();
    let mut key = Vec::new();
    let mut story = String::new();
    let start = match scope.kind {
        Kind::Payment => format!("World::payment_with({})", scope.attempts.max(2)),
        Kind::Payout => "World::payout()".to_owned(),
    };
    let _ = writeln!(story, "    let mut world = {start};");
    for (number, step) in (1..).zip(history) {
        reduce(&mut world, scope);
        encode(&world, &mut key);
        world = decode(&key, &template);
        let _ = writeln!(story, "    // {number}. {}", sentence(*step));
        let Some(taken) = apply(&world, scope, *step) else {
            let _ = writeln!(story, "    // (nothing happens)");
            continue;
        };
        if let Step::Expire | Step::WaitLong | Step::Age(_) = step {
            let _ = writeln!(story, "    world.wait({});", seconds(*step));
        }
        decided(&taken, &mut story);
        world = taken.after;
    }
    story
}

fn decided(taken: &Taken, story: &mut String) {
    let Some((command, decided)) = &taken.decided else {
        return;
    };
    let _ = writeln!(story, "    let _ = world.apply({});", code(command));
    let result = match decided {
        Ok(events) => {
            let names: Vec<&str> = events.iter().map(names::event).collect();
            names.join(", ")
        }
        Err(refusal) => format!("refused: {}", names::refusal(refusal)),
    };
    let state = names::state(&taken.after.tx.state);
    let _ = writeln!(story, "    //    events: [{result}]; now {state}");
}

const fn seconds(step: Step) -> u64 {
    match step {
        Step::Expire | Step::WaitLong => 1_800,
        _ => 3 * 24 * 60 * 60,
    }
}

fn sentence(step: Step) -> String {
    match step {
        Step::Confirm(connections) => {
            format!("The payer confirms; {connections} connections can serve it.")
        }
        Step::SubmitCode => "The payer types a code.".to_owned(),
        Step::Cancel => "The payer cancels.".to_owned(),
        Step::GiveUp => "The payer gives the attempt up to pay another way.".to_owned(),
        Step::Verify => "The merchant verifies the transaction.".to_owned(),
        Step::Process => "The merchant marks the payment as processed.".to_owned(),
        Step::OperatorCommand(ordered) => format!("The operator orders: {}.", order_words(ordered)),
        Step::Expire => "The time to pay runs out.".to_owned(),
        Step::WaitLong => "Half an hour passes.".to_owned(),
        Step::Age(at) => format!("Attempt {} has had no final answer for three days.", at + 1),
        Step::Wake(0, standing) => format!("A wake-up is due{}.", standing_words(standing)),
        Step::Wake(connections, _) => {
            format!("A wake-up is due; {connections} connections can serve it.")
        }
        Step::Die => "The process dies and starts again.".to_owned(),
        Step::Send(at) => format!("The request of attempt {} leaves.", at + 1),
        Step::Withhold(at, standing) => format!(
            "The engine withholds attempt {}{}.",
            at + 1,
            standing_words(standing)
        ),
        Step::Return(at, said, standing) => format!(
            "The submission of attempt {} returns: {}{}.",
            at + 1,
            said_words(said),
            standing_words(standing)
        ),
        Step::Says(at, names, said, standing) => format!(
            "The provider says of attempt {}{}: {}{}.",
            at + 1,
            match names {
                Names::Reference => String::new(),
                Names::QueryAfterItsEnd => ", queried after its end".to_owned(),
                Names::Id => " by its id only".to_owned(),
                Names::ReferenceAndIdOf(other) => format!(" with the id of attempt {}", other + 1),
            },
            said_words(said),
            standing_words(standing)
        ),
        Step::CodeBack(at, said, standing) => format!(
            "The gateway returns from the code of attempt {}: {}{}.",
            at + 1,
            said_words(said),
            standing_words(standing)
        ),
        Step::Provider(at, turn) => {
            format!("The provider {} attempt {}.", turn_words(turn), at + 1)
        }
    }
}

const fn standing_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Able => "",
        Standing::Off => " (the connections are switched off)",
    }
}

const fn order_words(ordered: Ordered) -> &'static str {
    match ordered {
        Ordered::Check => "check now",
        Ordered::Succeeded => "it succeeded",
        Ordered::SucceededFor(_) => "the named attempt succeeded",
        Ordered::Failed => "it failed",
        Ordered::NeverSent => "it was never sent",
        Ordered::CloseCase(_) => "close the case",
        Ordered::Cancel => "cancel",
    }
}

const fn turn_words(turn: Turn) -> &'static str {
    match turn {
        Turn::Receives => "receives",
        Turn::Loses => "never receives",
        Turn::Pays => "pays",
        Turn::Declines(_) => "declines",
        Turn::PaysAgain => "pays again for",
        Turn::TakesBack => "takes back",
    }
}

fn said_words(said: Said) -> String {
    let id = said
        .id
        .map(|id| format!(" under id {}", crate::base::IDS[usize::from(id)]));
    let what = match said.what {
        What::Part => "pending, a part was received",
        What::Pending(Shown::Nothing) => "pending",
        What::Pending(Shown::Code) => "pending, asks for a code",
        What::Pending(Shown::UnusablePage) => "pending, names a page that cannot be opened",
        What::Succeeded(Sum::Asked) => "succeeded",
        What::Succeeded(Sum::Less) => "succeeded with less",
        What::Succeeded(Sum::More) => "succeeded with more",
        What::Succeeded(Sum::Foreign) => "succeeded in another currency",
        What::Succeeded(Sum::Unreadable) => "succeeded without a readable amount",
        What::Declined(true) => "declined, another gateway may try",
        What::Declined(false) => "declined",
        What::Refused => "a field is refused, nothing was sent",
        What::NotSent => "not sent",
        What::Unknown => "unknown",
    };
    format!("{what}{}", id.unwrap_or_default())
}

fn at(id: switchyard_core::ids::AttemptId) -> String {
    format!("world.tx.attempts[{}].id", id.ulid().random())
}

fn code(command: &Command) -> String {
    match command {
        Command::Confirm(confirm) => format!("confirm({})", confirm.route.candidates.len()),
        Command::Dispatch(route) => {
            format!("Command::Dispatch(route({}))", route.candidates.len())
        }
        Command::Answer {
            attempt,
            outcome,
            asked_at,
            ..
        } => format!(
            "Command::Answer {{ attempt: {}, outcome: {}, gateway_state: None, asked_at: {} }}",
            at(*attempt),
            outcome_code(outcome),
            if asked_at.is_some() {
                "Some(world.now)"
            } else {
                "None"
            }
        ),
        Command::CodeAnswer {
            attempt, outcome, ..
        } => format!(
            "Command::CodeAnswer {{ attempt: {}, outcome: {}, gateway_state: None }}",
            at(*attempt),
            outcome_code(outcome)
        ),
        Command::Recover {
            attempt,
            maybe_sent,
            ..
        } => format!(
            "Command::Recover {{ attempt: {}, maybe_sent: {maybe_sent}, gateway_state: None }}",
            at(*attempt)
        ),
        Command::Withhold { attempt, .. } => format!(
            "Command::Withhold {{ attempt: {}, why: String::new() }}",
            at(*attempt)
        ),
        Command::SubmitCode { attempt, tried, .. } => format!(
            "Command::SubmitCode {{ attempt: {}, tried: {tried}, code: code() }}",
            at(*attempt)
        ),
        Command::Wake => "Command::Wake".to_owned(),
        Command::Ask => "Command::Ask".to_owned(),
        Command::Hint => "Command::Hint".to_owned(),
        Command::MarkProcessed => "Command::MarkProcessed".to_owned(),
        Command::Cancel(by) => format!("Command::Cancel(CancelledBy::{by:?})"),
        Command::GiveUp => "Command::GiveUp".to_owned(),
        Command::Identify {
            attempt,
            provider_id,
        } => format!(
            "Command::Identify {{ attempt: {}, provider_id: {provider_id:?}.to_owned() }}",
            at(*attempt)
        ),
        Command::AmbiguousId {
            attempt,
            provider_id,
            reported: _, // the model has none
        } => format!(
            "Command::AmbiguousId {{ attempt: {}, provider_id: {provider_id:?}.to_owned(), \
             reported: None }}",
            at(*attempt)
        ),
        Command::ByOperator(order) => order_code(&order.order),
    }
}

fn order_code(order: &OperatorCommand) -> String {
    match order {
        OperatorCommand::Check => "by_operator(OperatorCommand::Check)".to_owned(),
        OperatorCommand::Cancel => "by_operator(OperatorCommand::Cancel)".to_owned(),
        OperatorCommand::CloseCase(case) => format!(
            "by_operator(OperatorCommand::CloseCase(world.tx.cases[{}].id))",
            case.ulid().random()
        ),
        OperatorCommand::Resolve(resolution) => match &resolution.verdict {
            Verdict::Succeeded {
                amount,
                provider_id,
            } => format!(
                "resolve({}, verdict({:?}, {provider_id:?}))",
                resolution
                    .attempt
                    .map_or("None".to_owned(), |id| format!("Some({})", at(id))),
                amount.map(|amount| amount.minor())
            ),
            Verdict::Failed { .. } => "resolve(None, Verdict::Failed { message: None })".to_owned(),
            Verdict::NeverSent => "resolve(None, Verdict::NeverSent)".to_owned(),
        },
    }
}

fn outcome_code(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded {
            provider_id,
            amount,
            ..
        } => format!(
            "/* id {provider_id:?} */ {}",
            match amount {
                Captured::AsAsked => "succeeded()".to_owned(),
                Captured::Unreadable => "succeeded_unreadably()".to_owned(),
                Captured::Named(amount) => match Sum::of(*amount) {
                    Sum::Asked | Sum::Unreadable => "succeeded()".to_owned(),
                    Sum::Foreign => "/* in EUR */ succeeded_with(2500)".to_owned(),
                    sum => format!("succeeded_with({})", sum.amount().minor()),
                },
            }
        ),
        Outcome::Declined(decline) => format!("declined({})", decline.retryable),
        Outcome::NotSent { .. } => "not_sent()".to_owned(),
        Outcome::Pending {
            received: Some(received),
            ..
        } => format!("part({})", received.minor()),
        Outcome::Pending { payer_action, .. } => match payer_action {
            Some(switchyard_core::transaction::PayerAction::EnterCode { .. }) => {
                "enter_code(\"\")".to_owned()
            }
            Some(switchyard_core::transaction::PayerAction::UnusablePage { .. }) => {
                "unusable_page()".to_owned()
            }
            _ => "pending()".to_owned(),
        },
        Outcome::Unknown { .. } => "unknown()".to_owned(),
    }
}
