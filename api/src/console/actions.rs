//! Actions on one transaction: query the provider now, cancel.

use axum::extract::Path;
use axum::response::Response;
use switchyard_core::transaction::{Kind, Operator};
use switchyard_engine::engine::EngineError;
use switchyard_users::{Action, AuditResult, Permit};

use super::answer;
use super::form::{Fields, Sent};
use super::list::segment;
use super::page::{Failed, Page, Scoped};
use super::transaction::{TransactionPath, one_of_scope};

/// `POST /console/apps/{app}/{environment}/payments/{id}`
pub async fn payment(Path((.., id)): TransactionPath, sent: Sent<Scoped>) -> Response {
    act(Kind::Payment, &id, sent).await
}

/// `POST /console/apps/{app}/{environment}/payouts/{id}`
pub async fn payout(Path((.., id)): TransactionPath, sent: Sent<Scoped>) -> Response {
    act(Kind::Payout, &id, sent).await
}

async fn act(kind: Kind, id: &str, Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let done = match fields.text("do") {
        "cancel" => cancel(&page, kind, id).await,
        _ => check(&page, kind, id).await,
    };
    let to = done.map(|notice| to_transaction(&page, kind, id, notice, &mut fields));
    answer(&page, to)
}

fn to_transaction(
    page: &Page,
    kind: Kind,
    id: &str,
    notice: &str,
    fields: &mut Fields,
) -> Response {
    fields.took_effect();
    page.go(&page.in_scope(&format!("{}/{id}?done={notice}", segment(kind))))
}

async fn check(page: &Page, kind: Kind, id: &str) -> Result<&'static str, Failed> {
    let permit = page.permit(Action::QueryProvider)?;
    let id = one_of_scope(page, kind, id).await?.id;
    let checked = page.state.engine().check(id, author(&permit)).await;
    page.audit(permit.entry(id).with_result(result_of(&checked)))
        .await?;
    match checked {
        Ok(checked) => Ok(match (checked.asked, checked.answered) {
            (false, _) => "asked-recently",
            (true, true) => "asked",
            (true, false) => "asked-waiting",
        }),
        Err(error) => refused(error),
    }
}

async fn cancel(page: &Page, kind: Kind, id: &str) -> Result<&'static str, Failed> {
    let permit = page.permit(Action::CancelTransaction)?;
    let id = one_of_scope(page, kind, id).await?.id;
    let engine = page.state.engine();
    let cancelled = engine.cancel_by_hand(id, author(&permit), None).await;
    page.audit(permit.entry(id).with_result(result_of(&cancelled)))
        .await?;
    match cancelled {
        Ok(after) if after.state.is_final() => Ok("cancelled"),
        Ok(_) => Ok("cancel-asked"),
        Err(error) => refused(error),
    }
}

/// The reader as the timeline names them.
pub fn author(permit: &Permit) -> Operator {
    Operator {
        name: permit.name.clone(),
        token: None,
    }
}

/// Result of an action for the audit log.
const fn result_of<T>(done: &Result<T, EngineError>) -> AuditResult {
    match done {
        Ok(_) => AuditResult::Succeeded,
        Err(EngineError::Refused(_)) => AuditResult::Refused,
        Err(_) => AuditResult::Failed,
    }
}

/// The notice about an action that the transaction's state does not allow.
fn refused(error: EngineError) -> Result<&'static str, Failed> {
    match error {
        EngineError::Refused(_) => Ok("not-possible"),
        EngineError::NotFound => Err(Failed::NotFound),
        error => Err(error.into()),
    }
}
