//! Faulty decisions in place of those of the core, for the tests of the checker itself.

use std::cell::Cell;

use switchyard_core::transaction::{
    Captured, Command, Context, Event, Outcome, Refusal, State, Transaction, decide,
};

/// A fault in the decisions about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A success with less money than requested counts as one with the whole amount.
    LessIsEnough,
    /// The payer may confirm while the outcome of an attempt is unknown.
    ConfirmedInDoubt,
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Returns the fault planted on this thread.
pub fn planted() -> Option<Fault> {
    PLANTED.get()
}

/// Plants `fault` on this thread, or removes it.
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

/// Returns the core's decision, or the one of the planted fault.
pub fn decision(
    tx: &Transaction,
    command: Command,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    match (planted(), command) {
        (Some(Fault::LessIsEnough), mut command) => {
            raise(tx, &mut command);
            decide(tx, command, context)
        }
        (Some(Fault::ConfirmedInDoubt), command @ Command::Confirm(_))
            if tx.state == State::InDoubt =>
        {
            let mut waiting = tx.clone();
            waiting.state = State::AwaitingCustomer;
            decide(&waiting, command, context)
        }
        (_, command) => decide(tx, command, context),
    }
}

/// Raises the amount of a success to the attempt's amount.
fn raise(tx: &Transaction, command: &mut Command) {
    let (Command::Answer {
        attempt, outcome, ..
    }
    | Command::CodeAnswer {
        attempt, outcome, ..
    }) = command
    else {
        return;
    };
    if let Outcome::Succeeded {
        amount: Captured::Named(named),
        ..
    } = outcome
        && let Some(asked) = tx.attempt(*attempt).map(|attempt| attempt.amount)
        && named.currency() == asked.currency()
        && named.minor() < asked.minor()
    {
        *named = asked;
    }
}
