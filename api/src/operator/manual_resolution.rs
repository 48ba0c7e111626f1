//! Manual operations on a transaction: check, resolve, cancel. The timeline shows each with the
//! token's name.

use axum::Extension;
use axum::extract::State;
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::limits::{GATEWAY_TEXT_BYTES, NOTE_CHARACTERS};
use switchyard_core::money::Amount;
use switchyard_core::transaction::{self, Attempt, Resolution, Verdict};
use switchyard_engine::access::Operator;
use switchyard_engine::engine;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::NumberOrText;
use super::contract::transactions::{
    Cancel, QueryReport, Resolve, ResolveOutcome as Outcome, Transaction,
};
use super::error::{Answer, Refused, invalid, not_found, second_person_needed};
use super::input::{Body, Id, ok};
use super::transactions::full_view;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::operations::note_transaction;
use crate::reason::Reason;
use crate::state::ApiState;

/// Routes of manual operations.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(check))
        .routes(routes!(resolve))
        .routes(routes!(cancel))
}

/// Query the provider about the open attempt now
///
/// `asked` and `answered` beside the transaction hold the result.
#[utoipa::path(
    post,
    path = "/transactions/{transaction}/check",
    operation_id = "checkTransaction",
    tag = "Transactions",
    responses((status = 200, description = "The transaction.", body = Success<QueryReport>)),
)]
async fn check(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Id(id): Id<TransactionId>,
) -> Answer {
    note_transaction(id);
    let checked = state.engine().check(id, signature(operator)).await?;
    let message = queried(&checked);
    let view = QueryReport {
        transaction: full_view(&state, id).await?,
        asked: checked.asked,
        answered: checked.answered,
    };
    ok(message, &view)
}

/// Message about a query of the provider.
pub const fn queried(checked: &engine::QueryReport) -> &'static str {
    match (checked.asked, checked.answered) {
        (false, _) => "The provider was asked a moment ago",
        (true, true) => "The query has ended, the timeline shows a new result",
        (true, false) => "The query of the provider has not ended yet",
    }
}

/// Resolve the open attempt by the provider's records
///
/// It is final and submits nothing again. A success needs the provider's id when none is known, and
/// an amount that covers the requested one when the provider has reported another. A payment of
/// which a part was received ends with `failed`: the payer gets no other attempt, and an open case
/// asks to return the part. With the setting `operator.second_person` it is refused: two people
/// resolve in the console.
#[utoipa::path(
    post,
    path = "/transactions/{transaction}/resolve",
    operation_id = "resolveTransaction",
    tag = "Transactions",
    request_body = Resolve,
    responses((status = 200, description = "The transaction.", body = Success<Transaction>)),
)]
async fn resolve(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Id(id): Id<TransactionId>,
    Body(asked): Body<Resolve>,
) -> Answer {
    note_transaction(id);
    let transaction = state.engine().transaction(id).await?;
    let transaction = transaction.ok_or_else(|| not_found("transaction"))?;
    if state.settings().second_person {
        let message = "Two people resolve a transaction in this installation, and a token is none: \
                       nothing was changed.";
        let hint = "Propose the resolution in the console; another operator approves it there.";
        return Err(second_person_needed(message, hint).into());
    }
    let (note, resolution) = checked(asked, &transaction)?;
    let engine = state.engine();
    let after = engine
        .resolve(id, signature(operator), note, resolution)
        .await?;
    let is_held = !engine.may_start(&after);
    ok(&resolved(&after, is_held), &full_view(&state, id).await?)
}

/// The note and the resolution of a request, checked against the reports about the transaction.
pub fn checked(
    asked: Resolve,
    transaction: &transaction::Transaction,
) -> Result<(String, Resolution), Refused> {
    let note = note(asked.note.clone())?;
    let resolution = Resolution {
        attempt: asked.attempt,
        verdict: verdict(asked, transaction)?,
    };
    Ok((note, resolution))
}

/// Message about the resolution of an attempt, by the state of the transaction afterwards.
fn resolved(after: &transaction::Transaction, is_held: bool) -> String {
    if after.state.is_final() {
        let open = after.cases.iter().filter(|case| case.closed.is_none());
        return match open.count() {
            0 => "Transaction settled successfully".to_owned(),
            1 => "Transaction settled successfully; one case stays open".to_owned(),
            more => format!("Transaction settled successfully; {more} cases stay open"),
        };
    }
    let (status, state) = (after.status().as_str(), after.state.name());
    let hold = match is_held {
        true => "; it is held, and no attempt starts until `switchyard release`",
        false => "",
    };
    format!("Attempt settled successfully; the transaction is {status} ({state}){hold}")
}

/// Cancel a transaction
///
/// A payout that was not sent yet fails instead. An attempt at a provider is cancelled there, where
/// the gateway supports it, and ends with the response of the provider.
#[utoipa::path(
    post,
    path = "/transactions/{transaction}/cancel",
    operation_id = "cancelTransaction",
    tag = "Transactions",
    request_body = Cancel,
    responses((status = 200, description = "The transaction.", body = Success<Transaction>)),
)]
async fn cancel(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Id(id): Id<TransactionId>,
    Body(asked): Body<Cancel>,
) -> Answer {
    note_transaction(id);
    let note = asked.note.map(note).transpose()?;
    let after = state
        .engine()
        .cancel_by_hand(id, signature(operator), note)
        .await?;
    ok(cancelled(&after), &full_view(&state, id).await?)
}

/// Message about the cancellation of a transaction, by its state afterwards.
pub fn cancelled(after: &transaction::Transaction) -> &'static str {
    let can_cancel = |attempt: &Attempt| attempt.candidate.can_cancel;
    if after.state.is_final() {
        return "Transaction ended successfully";
    }
    match after.current_attempt().is_some_and(can_cancel) {
        true => "The provider was asked to cancel the attempt, and has not confirmed that yet",
        false => {
            "The gateway cannot cancel the attempt: the transaction is cancelled once the attempt \
             has ended without money"
        }
    }
}

/// Operator for the timeline.
pub fn signature(operator: Operator) -> transaction::Operator {
    transaction::Operator {
        name: operator.name,
        token: operator.token,
    }
}

/// A note that says something.
pub fn note(text: String) -> Result<String, ApiError> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > NOTE_CHARACTERS {
        let message =
            format!("A note has 1 to {NOTE_CHARACTERS} characters and says how you know.");
        let problem = Problem::new(ErrorCode::FieldInvalid, message).at("note");
        let because = Reason::NoteLength.with("most", NOTE_CHARACTERS);
        return Err(problem.because(because).into());
    }
    Ok(text.to_owned())
}

fn verdict(asked: Resolve, transaction: &transaction::Transaction) -> Result<Verdict, Refused> {
    let foreign = |field: &'static str, belongs: &str| {
        Refused(invalid(
            field,
            format!("`{field}` belongs to {belongs} only."),
        ))
    };
    let is_success = matches!(asked.outcome, Outcome::Succeeded);
    if asked.amount.is_some() && !is_success {
        return Err(foreign("amount", "`succeeded`"));
    }
    if asked.provider_id.is_some() && !is_success {
        return Err(foreign("provider_id", "`succeeded`"));
    }
    if asked.another_charge && asked.provider_id.is_none() {
        return Err(foreign("another_charge", "`provider_id`"));
    }
    if asked.surplus && asked.amount.is_none() {
        return Err(foreign("surplus", "`amount`"));
    }
    if asked.message.is_some() && !matches!(asked.outcome, Outcome::Failed) {
        return Err(foreign("message", "`failed`"));
    }
    if let Some(id) = asked
        .provider_id
        .as_deref()
        .filter(|_| !asked.another_charge)
    {
        must_be_known(id, settled(transaction, asked.attempt))?;
    }
    let amount = asked
        .amount
        .map(|of| money(&of, transaction, asked.attempt));
    let amount = amount.transpose()?;
    if let Some(amount) = amount.filter(|_| !asked.surplus) {
        must_not_exceed(amount, settled(transaction, asked.attempt))?;
    }
    Ok(match asked.outcome {
        Outcome::Succeeded => Verdict::Succeeded {
            amount,
            provider_id: text("provider_id", asked.provider_id)?,
        },
        Outcome::Failed => Verdict::Failed {
            message: text("message", asked.message)?,
        },
        Outcome::NeverSent => Verdict::NeverSent,
    })
}

/// The attempt that a resolution settles: the one that it names, or the one that is open.
fn settled(transaction: &transaction::Transaction, named: Option<AttemptId>) -> Option<&Attempt> {
    let settled = match named {
        Some(id) => transaction.attempt(id),
        None => transaction.held_attempt(),
    };
    settled.or_else(|| transaction.current_attempt())
}

/// Refuses an id that no reported charge of the attempt has: a provider's books often show another
/// id of the same charge, and under a new id it would count as a second one.
fn must_be_known(id: &str, attempt: Option<&Attempt>) -> Result<(), Refused> {
    let charges = attempt.map_or(&[][..], |attempt| &attempt.charges);
    if charges.is_empty() || charges.iter().any(|charge| charge.is_under(Some(id))) {
        return Ok(());
    }
    let known = charges.iter().filter_map(|charge| charge.id.as_deref());
    let known: Vec<String> = known.map(|known| format!("`{known}`")).collect();
    let because = Reason::ProviderIdUnreported.with("known", known.join(", "));
    let message = format!(
        "The provider reported money of this attempt under {}, not under `{id}`: nothing was changed",
        known.join(", ")
    );
    let problem = Problem::new(ErrorCode::TransitionRefused, message).at("provider_id");
    let problem = problem.because(because);
    Err(Refused(
        problem
            .hint(
                "Leave `provider_id` out when this is the same money under another id. If both \
                 moved, send `another_charge: true`; on the command line, `--another-charge`.",
            )
            .into(),
    ))
}

/// Refuses an amount above the requested one that the provider did not report: a slip of the hand
/// would be announced as received.
fn must_not_exceed(amount: Amount, attempt: Option<&Attempt>) -> Result<(), Refused> {
    let Some(attempt) = attempt.filter(|attempt| amount.minor() > attempt.amount.minor()) else {
        return Ok(());
    };
    let mut charges = attempt.charges.iter();
    let is_of_one = charges.any(|charge| charge.amount == Some(amount));
    if is_of_one || attempt.total_of_charges() == Some(amount) {
        return Ok(());
    }
    let message = format!(
        "{} is more than the {} that was asked, and the provider has not reported it: nothing was \
         changed",
        amount.format(),
        attempt.amount.format()
    );
    let problem = Problem::new(ErrorCode::TransitionRefused, message)
        .at("amount")
        .because(Reason::AmountUnreported);
    let hint = "If that much came in, send `surplus: true`; on the command line, `--surplus`. A \
                case then asks to return the surplus.";
    Err(Refused(problem.hint(hint).into()))
}

/// A JSON number or text, in major units.
fn money(
    given: &NumberOrText,
    transaction: &transaction::Transaction,
    named: Option<AttemptId>,
) -> Result<Amount, ApiError> {
    let currency = settled(transaction, named)
        .map_or(transaction.amount, |attempt| attempt.amount)
        .currency();
    Amount::parse_major(&given.to_string(), currency)
        .map_err(|why| invalid("amount", why.to_string()))
}

fn text(field: &'static str, given: Option<String>) -> Result<Option<String>, ApiError> {
    let fits = |text: &String| !text.trim().is_empty() && text.len() <= GATEWAY_TEXT_BYTES;
    match given {
        Some(text) if !fits(&text) => Err(invalid(
            field,
            format!("{field} has 1 to {GATEWAY_TEXT_BYTES} bytes"),
        )),
        given => Ok(given),
    }
}

#[cfg(test)]
mod tests {
    use switchyard_core::transaction::{CaseReason, Charge, PayerAction, State};

    use switchyard_core::money::Amount;

    use super::{cancelled, must_be_known, must_not_exceed, resolved};
    use crate::checkout::tests::samples;

    #[test]
    fn an_attempt_that_is_settled_and_leaves_the_transaction_open_is_not_said_to_settle_it() {
        let ended = samples::ended(State::Succeeded);
        assert_eq!(resolved(&ended, true), "Transaction settled successfully");
        let open = samples::ended(State::AwaitingDispatch);
        let told = resolved(&open, false);
        assert!(told.ends_with("is pending (awaiting_dispatch)"), "{told}");
        assert!(resolved(&open, true).contains("until `switchyard release`"));
    }

    #[test]
    fn a_settled_transaction_with_an_open_case_is_said_to_have_one() {
        let reason = CaseReason::PaidTwice;
        let twice = samples::with_case(samples::ended(State::Succeeded), reason);
        assert!(resolved(&twice, false).ends_with("one case stays open"));
    }

    #[test]
    fn an_id_that_no_reported_charge_has_is_refused_as_it_may_be_the_same_money() {
        let charge = |id: Option<&str>| Charge {
            id: id.map(str::to_owned),
            amount: None,
            is_part: false,
            is_recorded: false,
            is_unclear: false,
            contradicting: Vec::new(),
            decided: Vec::new(),
            replaced: Vec::new(),
            replaced_parts: Vec::new(),
            is_taken_back: false,
        };
        for (charges, is_taken) in [
            (vec![], true),
            (vec![charge(Some("api-1"))], false),
            (vec![charge(Some("api-1")), charge(Some("books-7"))], true),
            (vec![charge(None)], true),
        ] {
            let mut tx = samples::waiting(None);
            tx.attempts[0].charges = charges.clone();
            let checked = must_be_known("books-7", tx.attempts.first());
            assert_eq!(checked.is_ok(), is_taken, "{charges:?}");
        }
    }

    #[test]
    fn an_amount_above_the_requested_one_is_refused_unless_the_provider_reported_it() {
        let mut tx = samples::waiting(None);
        let asked = tx.attempts[0].amount;
        let of = |minor| Amount::from_minor(minor, asked.currency());
        let twice = of(asked.minor() * 2);
        let checked = |tx: &switchyard_core::transaction::Transaction, amount| {
            must_not_exceed(amount, tx.attempts.first()).is_ok()
        };
        assert!(checked(&tx, asked));
        assert!(!checked(&tx, of(asked.minor() + 1)));
        assert!(!checked(&tx, twice));
        tx.attempts[0].charges = vec![Charge {
            id: None,
            amount: Some(twice),
            is_part: false,
            is_recorded: false,
            is_unclear: false,
            contradicting: Vec::new(),
            decided: Vec::new(),
            replaced: Vec::new(),
            replaced_parts: Vec::new(),
            is_taken_back: false,
        }];
        assert!(checked(&tx, twice));
        assert!(!checked(&tx, of(asked.minor() * 3)));
    }

    #[test]
    fn only_a_provider_whose_gateway_can_cancel_is_said_to_have_been_asked() {
        let ussd = "*126#".to_owned();
        let called_off = |can_cancel| {
            let action = PayerAction::Dial { ussd: ussd.clone() };
            samples::called_off(action, |attempt| attempt.candidate.can_cancel = can_cancel)
        };
        assert!(cancelled(&called_off(true)).starts_with("The provider was asked"));
        assert!(cancelled(&called_off(false)).starts_with("The gateway cannot cancel"));
        let ended = samples::ended(State::Cancelled);
        assert_eq!(cancelled(&ended), "Transaction ended successfully");
    }
}
