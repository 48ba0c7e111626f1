//! Queue of mails: sends due mails and records their results.

use std::sync::Arc;
use std::time::Duration;

use super::policy::{SendResult, Verdict, verdict};
use super::queued_mail::{self, OutboxMail, QueuedMail, SentMail};
use super::render;
use super::streak::StreakEvent;
use super::{Shared, account_mail};
use crate::queue::{Executed, Item, LaneLimits, Queue, QueueError, QueueHandler, RowState};
use switchyard_core::directory::Directory;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;
use switchyard_store::{Batch, CommitError, KeyRange, Table};

pub(super) struct MailQueue(pub Arc<Shared>);

/// Queued mail, with its value in the store.
pub(super) struct MailRow {
    value: Vec<u8>,
    mail: OutboxMail,
}

impl QueueHandler for MailQueue {
    type Queue = ();
    type Key = Vec<u8>;
    type Row = MailRow;

    const NAME: &'static str = "mail";
    const MAILBOX: usize = limits::MAIL_MAILBOX;
    const TABLE: Table = Table::Outbox;
    // A mail server with a lower limit responds slowly, which is harmless.
    const LANES: LaneLimits = LaneLimits {
        quick: 8,
        slow: None,
    };
    const REST: Duration = Duration::from_secs(30);
    const MEASURED: Option<&'static str> = Some("mail");

    fn queue(&self) -> &Queue<Self> {
        &self.0.queue
    }

    fn all() -> KeyRange {
        Self::range((), Timestamp::default())
    }

    fn range((): (), from: Timestamp) -> KeyRange {
        queued_mail::range(from)
    }

    fn read_key(key: &[u8]) -> Option<((), Vec<u8>, Timestamp)> {
        Some(((), key.to_owned(), queued_mail::due(key)?))
    }

    fn read_row(_: &[u8], value: &[u8]) -> Result<MailRow, QueueError> {
        Ok(MailRow {
            mail: OutboxMail::read(value)?,
            value: value.to_owned(),
        })
    }

    fn enqueued_at(row: &MailRow) -> Option<Timestamp> {
        Some(row.mail.enqueued_at())
    }

    async fn execute(&self, (): (), item: &Item<Self>) -> Executed {
        send(&self.0, item).await.into()
    }
}

/// Replaces the method's code by its name: for a payment the name on its pages, for a payout, which
/// has no pages, the name with its country.
fn with_names(letter: &QueuedMail, directory: &Directory) -> QueuedMail {
    let kind = letter.kind();
    let name = |code: &String| {
        let known = directory.method(kind, code)?;
        Some(match kind {
            Kind::Payment => known.name_in(letter.language).to_owned(),
            Kind::Payout => known.name_with_country(letter.language),
        })
    };
    let method = letter.method.as_ref();
    let mut second_payments = letter.second_payments.clone();
    for payment in &mut second_payments {
        if let Some(name) = name(&payment.method) {
            payment.method = name;
        }
    }
    QueuedMail {
        method: method.map(|code| name(code).unwrap_or_else(|| code.clone())),
        second_payments,
        ..letter.clone()
    }
}

async fn send(shared: &Shared, item: &Item<MailQueue>) -> RowState {
    let mut letter = item.row.mail.clone();
    let attempts = letter.count_attempt();
    let rendered = match &letter {
        OutboxMail::Transaction(letter) => {
            let named = with_names(letter, &shared.directory);
            let app = shared.access.app(letter.app);
            let logo = app.as_ref().and_then(|app| app.settings.logo.as_ref());
            render::render(&named, logo, &shared.installation)
        }
        OutboxMail::User(mail) => account_mail::render(shared, mail).await,
    };
    let (verdict, why) = match rendered {
        Ok(mail) => {
            let (attempted, why) = shared.transport.send(letter.id(), mail).await;
            count(attempted);
            let judged = verdict(attempted, attempts, shared.clock.now());
            (within_life(judged, &letter), why)
        }
        Err(error) => {
            count(SendResult::Refused);
            (Verdict::Failed, Some(error.to_string()))
        }
    };
    // Servers repeat the address, which belongs in no log.
    let why = why.map(|why| letter.without_address(&why));
    log(shared, &letter, verdict, why.as_deref());
    loop {
        match shared
            .store
            .commit(batch(shared, item, &letter, verdict, why.clone()))
            .await
        {
            Ok(()) => {
                return match verdict {
                    Verdict::Retry { due } => RowState::DueAt(due),
                    Verdict::Sent | Verdict::Failed => RowState::Removed,
                };
            }
            // Conflict: another commit took the row. The mail was sent; nothing is left to record.
            Err(CommitError::Conflict) => return RowState::DueAt(item.due),
            Err(CommitError::Unavailable { .. }) if shared.queue.is_stopping() => {
                return RowState::Unchanged;
            }
            Err(CommitError::Unavailable { reason }) => {
                tracing::warn!(reason, mail.id = %letter.id(), "failed to record a mail");
                tokio::time::sleep(STORE_RETRY_INTERVAL).await;
            }
        }
    }
}

/// The verdict, but no retry after the end of a mail's link.
fn within_life(verdict: Verdict, letter: &OutboxMail) -> Verdict {
    match (verdict, letter) {
        (Verdict::Retry { due }, OutboxMail::User(mail)) if due >= mail.expires_at => {
            Verdict::Failed
        }
        (verdict, _) => verdict,
    }
}

/// Logs the result of a mail; in a series of failures only the first one.
fn log(shared: &Shared, letter: &OutboxMail, verdict: Verdict, why: Option<&str>) {
    let lines = match verdict {
        Verdict::Sent => shared.streak.sent().into_iter().collect(),
        Verdict::Retry { .. } => shared.streak.failed(false),
        Verdict::Failed => shared.streak.failed(true),
    };
    let id = letter.id();
    // Absent in a line about a mail to a user.
    let transaction = letter.transaction().map(tracing::field::display);
    if lines.is_empty() && why.is_some() {
        tracing::debug!(
            mail.id = %id,
            transaction.id = transaction,
            why,
            "failed to send mail"
        );
    }
    for line in lines {
        match line {
            StreakEvent::Failing => tracing::warn!(
                mail.id = %id,
                transaction.id = transaction,
                why,
                "failed to send mail"
            ),
            StreakEvent::GivingUp => {
                tracing::info!(mail.id = %id, transaction.id = transaction, why, "mail abandoned");
            }
            StreakEvent::Recovered { failures } => tracing::info!(failures, "mails sent again"),
        }
    }
}

fn batch(
    shared: &Shared,
    item: &Item<MailQueue>,
    letter: &OutboxMail,
    verdict: Verdict,
    why: Option<String>,
) -> Batch {
    let mut batch = Batch::new();
    batch.require_value(Table::Outbox, &item.key, &item.row.value);
    batch.delete(Table::Outbox, &item.key);
    if let Verdict::Retry { due } = verdict {
        batch.put(
            Table::Outbox,
            queued_mail::key(due, letter.id()),
            queued_mail::json(letter),
        );
        return batch;
    }
    let OutboxMail::Transaction(letter) = letter else {
        return batch;
    };
    let posted = SentMail {
        letter: QueuedMail::clone(letter),
        is_sent: verdict == Verdict::Sent,
        at: shared.clock.now(),
        why,
    };
    let key = queued_mail::ended(letter.environment).with(letter.id);
    batch.put(Table::Delivery, key, queued_mail::json(&posted));
    batch
}

fn count(attempted: SendResult) {
    let outcome = match attempted {
        SendResult::Sent => "sent",
        SendResult::Troubled => "troubled",
        SendResult::Refused => "refused",
    };
    metrics::counter!("switchyard_mail_attempts_total", "outcome" => outcome).increment(1);
}

/// Retry interval for recording a result while the store rejects writes.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);
