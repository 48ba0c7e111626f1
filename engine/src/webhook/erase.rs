//! Erasure of personal data from the log of deliveries.

use std::collections::BTreeSet;

use serde_json::Value;
use ulid::Ulid;

use super::log::{self, ATTEMPT, Attempt, DELIVERY, Delivery, LogError};
use super::{Shared, WebhookId, row};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Table};

/// Ulids of the transactions with events that are still to be sent to a webhook.
pub(super) async fn waiting(
    shared: &Shared,
    webhook: WebhookId,
) -> Result<BTreeSet<Ulid>, LogError> {
    let all = row::of_webhook(webhook, Timestamp::default());
    let mut pages = shared.store.pages(Table::Outbox, all, PAGE);
    let mut found = BTreeSet::new();
    while let Some(rows) = pages.next().await? {
        found.extend(rows.iter().filter_map(|(key, _)| row::transaction_in(key)));
        tokio::task::yield_now().await;
    }
    Ok(found)
}

/// Erases name, address and number of the customer from the bodies that were sent to a webhook
/// about these transactions. The log is read from its beginning: it has no index by transaction.
pub(super) async fn erase_bodies(
    shared: &Shared,
    (webhook, environment): (WebhookId, Environment),
    transactions: &BTreeSet<TransactionId>,
) -> Result<(), EraseError> {
    let all = log::prefix(DELIVERY, webhook, environment).range();
    let mut pages = shared.store.pages(Table::Delivery, all, PAGE);
    while let Some(rows) = pages.next().await.map_err(LogError::from)? {
        let mut batch = Batch::new();
        for (key, row) in rows {
            let delivery: Delivery = serde_json::from_slice(&row).map_err(LogError::Unreadable)?;
            if transactions.contains(&delivery.transaction) {
                let body = without_customer(&delivery.body);
                let erased = log::json(&Delivery { body, ..delivery });
                batch.require_value(Table::Delivery, &key, row);
                batch.put(Table::Delivery, key, erased);
            }
        }
        if !batch.is_empty() {
            shared.store.commit(batch).await?;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Erases the bodies of the receiver's responses about these transactions: they may repeat what was
/// sent.
pub(super) async fn erase_responses(
    shared: &Shared,
    (webhook, environment): (WebhookId, Environment),
    transactions: &BTreeSet<TransactionId>,
) -> Result<(), EraseError> {
    let all = log::prefix(ATTEMPT, webhook, environment).range();
    let mut pages = shared.store.pages(Table::Delivery, all, PAGE);
    while let Some(rows) = pages.next().await.map_err(LogError::from)? {
        let mut batch = Batch::new();
        for (key, row) in rows {
            let mut attempt: Attempt =
                serde_json::from_slice(&row).map_err(LogError::Unreadable)?;
            let is_about = transactions.contains(&attempt.transaction);
            if let Some(response) = attempt.response.as_mut().filter(|_| is_about) {
                response.body.clear();
                batch.put(Table::Delivery, key, log::json(&attempt));
            }
        }
        if !batch.is_empty() {
            shared.store.commit(batch).await?;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Reason why a log was not erased, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// The body without what describes the customer. A body that cannot be read is left out whole.
fn without_customer(body: &str) -> String {
    let mut parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let customer = parsed.pointer_mut("/data/customer");
    let Some(customer) = customer.and_then(Value::as_object_mut) else {
        return String::new();
    };
    for name in ["email", "firstName", "lastName"] {
        customer.insert(name.to_owned(), Value::from(""));
    }
    customer.insert("phone".to_owned(), Value::Null);
    parsed.to_string()
}

/// Rows that are read at once.
const PAGE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erased_body_has_all_but_the_description_of_the_customer() {
        let body = |customer: &str| {
            let rest = r#""id":"py_1","status":"success","metadata":{"order":"7"}"#;
            format!(r#"{{"event":"payment.success","data":{{{rest},"customer":{customer}}}}}"#)
        };
        let before = body(
            r#"{"id":"cus_1","email":"a@example.com","firstName":"A","lastName":"L","phone":"+229"}"#,
        );
        let after = body(r#"{"id":"cus_1","email":"","firstName":"","lastName":"","phone":null}"#);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(parsed(&without_customer(&before)), parsed(&after));
        for unreadable in [
            "",
            "no JSON",
            "{}",
            r#"{"data":7}"#,
            r#"{"data":{"customer":7}}"#,
        ] {
            assert_eq!(without_customer(unreadable), "");
        }
    }
}
