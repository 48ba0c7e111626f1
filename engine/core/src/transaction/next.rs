//! Which connections an attempt's transaction could go to after it. Pure: the engine looks up how
//! each of them stands at the moment of the decision.

use super::attempt::Candidate;
use super::command::Command;
use super::model::Transaction;

/// Candidates that may follow the open attempt if `command` ends it, in order. The attempt's own
/// comes first when the engine stopped while it was called. Empty for a command after which nothing
/// starts.
pub fn next_candidates<'t>(tx: &'t Transaction, command: &Command) -> Vec<&'t Candidate> {
    let may_go_on = match command {
        Command::Answer { .. }
        | Command::CodeAnswer { .. }
        | Command::Recover { .. }
        | Command::Withhold { .. } => true,
        Command::Confirm(_)
        | Command::Dispatch(_)
        | Command::Wake
        | Command::Ask
        | Command::Hint
        | Command::Identify { .. }
        | Command::AmbiguousId { .. }
        | Command::Cancel(_)
        | Command::GiveUp
        | Command::SubmitCode { .. }
        | Command::ByOperator(_)
        | Command::MarkProcessed => false,
    };
    let open = tx
        .current_attempt()
        .filter(|attempt| may_go_on && attempt.state.is_open());
    let Some(attempt) = open else {
        return Vec::new();
    };
    let is_cut_off = attempt.cut_off || matches!(command, Command::Recover { .. });
    let same = is_cut_off.then_some(&attempt.candidate);
    same.into_iter().chain(&attempt.remaining).collect()
}
