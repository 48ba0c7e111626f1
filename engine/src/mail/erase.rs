//! Erasure of personal data from the records of mails.

use std::collections::BTreeSet;

use ulid::Ulid;

use super::queued_mail::{self, OutboxMail, QueuedMail, Recipient, SentMail};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Store, StoreError, Table};

/// Ulids of the transactions with mails that are still to be sent.
///
/// # Errors
/// When the store cannot be read.
pub async fn waiting(store: &Store) -> Result<BTreeSet<Ulid>, StoreError> {
    let all = queued_mail::range(Timestamp::default());
    let mut pages = store.pages(Table::Outbox, all, PAGE);
    let mut found = BTreeSet::new();
    while let Some(rows) = pages.next().await? {
        for (_, row) in rows {
            let mail = OutboxMail::read(&row).ok();
            let about = mail.and_then(|mail| mail.transaction());
            found.extend(about.map(|transaction| transaction.ulid()));
        }
        tokio::task::yield_now().await;
    }
    Ok(found)
}

/// Erases name and address of the customer from the mails about these transactions that were sent
/// or abandoned. The log is read from its beginning: it has no index by transaction.
///
/// # Errors
/// When the store cannot be read or written.
pub async fn erase(
    store: &Store,
    environment: Environment,
    transactions: &BTreeSet<TransactionId>,
) -> Result<(), CommitError> {
    if transactions.is_empty() {
        return Ok(());
    }
    let all = queued_mail::ended(environment).range();
    let mut pages = store.pages(Table::Delivery, all, PAGE);
    let unavailable = |error: StoreError| CommitError::Unavailable {
        reason: error.to_string(),
    };
    while let Some(rows) = pages.next().await.map_err(unavailable)? {
        let mut batch = Batch::new();
        for (key, row) in rows {
            let Ok(mut sent) = serde_json::from_slice::<SentMail>(&row) else {
                continue;
            };
            if transactions.contains(&sent.letter.transaction) {
                erase_customer(&mut sent.letter);
                // The words of a mail server may name the person.
                sent.why = None;
                batch.put(Table::Delivery, key, queued_mail::json(&sent));
            }
        }
        if !batch.is_empty() {
            store.commit(batch).await?;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn erase_customer(mail: &mut QueuedMail) {
    mail.customer_name.clear();
    mail.customer_email.clear();
    // A reason may be in the words of the provider.
    mail.reason = None;
    match mail.to {
        Recipient::Customer => mail.address.clear(),
        Recipient::Merchant | Recipient::Preview => {}
    }
}

/// Rows that are read at once.
const PAGE: usize = 200;
