//! Sends due mails and records their results. The queue is in the store; memory holds the mails in
//! flight.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::Shared;
use super::policy::{SendResult, Verdict, verdict};
use super::queued_mail::{self, QueuedMail, SentMail};
use super::render;
use super::streak::Line;
use crate::queue::{Backlog, Found, QueueHandle, QueueWork, each_row, sooner};
use switchyard_core::directory::Directory;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;
use switchyard_store::{Batch, CommitError, Direction, StoreError, Table};

/// Message to the mail dispatcher.
pub enum Message {
    /// Wake-up: a mail was added, or a timer expired.
    Look,
    /// The attempt to send the mail with this key has ended.
    Ended { key: Vec<u8> },
}

pub(super) struct MailDispatcher {
    shared: Arc<Shared>,
    /// Handle to its own mailbox.
    handle: QueueHandle<Self>,
    backlog: Backlog<Vec<u8>>,
    last_measured: Option<Timestamp>,
    started: u64,
}

/// State of the mail dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailSnapshot {
    pub in_flight: usize,
    /// Attempts started since the start of the process.
    pub started: u64,
    /// Low-water mark, at which the next scan starts.
    pub reads_from: Timestamp,
}

impl MailDispatcher {
    pub(super) fn new(shared: Arc<Shared>, handle: QueueHandle<Self>) -> Self {
        Self {
            shared,
            handle,
            backlog: Backlog::default(),
            last_measured: None,
            started: 0,
        }
    }

    /// Sends due mails up to the concurrency limit. Returns the earliest due time in the future.
    async fn send_due(&mut self, now: Timestamp) -> Option<Timestamp> {
        let scan = self
            .backlog
            .scan(ROOM.saturating_sub(self.backlog.in_flight()));
        let (start, end) = (queued_mail::from(scan.from), queued_mail::end());
        let store = &self.shared.store;
        let rows = store
            .scan(Table::Outbox, &start, &end, Direction::Forward, scan.limit)
            .await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                tracing::error!(%error, "failed to scan the mail outbox");
                self.backlog.failed(scan);
                return Some(now.plus(REST));
            }
        };
        let rows = rows.into_iter().filter_map(|(key, row)| {
            let due = queued_mail::due(&key)?;
            Some(Found { key, due, row })
        });
        for found in self.backlog.found(scan, rows, now) {
            match QueuedMail::read(&found.row) {
                Ok(letter) => self.start(found, letter),
                Err(error) => {
                    tracing::error!(%error, "skipped an unreadable mail");
                    self.backlog.leave_out(found.key);
                }
            }
        }
        self.backlog.next_due(now)
    }

    fn start(&mut self, found: Found<Vec<u8>, Vec<u8>>, letter: QueuedMail) {
        let (key, value) = (found.key, found.row);
        self.backlog.start(key.clone(), found.due, ());
        self.started += 1;
        let (shared, handle, tasks) = (
            self.shared.clone(),
            self.handle.clone(),
            self.shared.tasks.begin(),
        );
        self.shared.runtime.spawn(async move {
            let sent = AssertUnwindSafe(send(&shared, &key, &value, letter))
                .catch_unwind()
                .await;
            drop(tasks);
            if sent.is_err() {
                metrics::counter!("switchyard_actor_panics_total", "actor" => "mail").increment(1);
                tracing::error!("mail sending panicked");
                tokio::time::sleep(REST).await;
            }
            handle.send(Message::Ended { key }).await;
        });
    }
}

impl QueueWork for MailDispatcher {
    type Message = Message;
    type Snapshot = MailSnapshot;
    const NAME: &'static str = "mail";
    const MAILBOX: usize = limits::MAIL_MAILBOX;
    const SCAN: Message = Message::Look;

    fn snapshot(&self) -> MailSnapshot {
        MailSnapshot {
            in_flight: self.backlog.in_flight(),
            started: self.started,
            reads_from: self.backlog.reads_from(),
        }
    }

    async fn handle_message(&mut self, message: Message) -> Option<Timestamp> {
        for due in self.shared.nudges.drain().into_values() {
            self.backlog.added(due);
        }
        if let Message::Ended { key } = message {
            self.backlog.end(&key);
        }
        let now = self.shared.clock.now();
        if self.shared.is_stopping() {
            return None;
        }
        if self
            .last_measured
            .is_none_or(|last| now.since(last) >= MEASURE)
        {
            self.last_measured = Some(now);
            self.shared.runtime.spawn(measure(self.shared.clone()));
        }
        let next_due = self.send_due(now).await;
        let next_look = now.plus(MEASURE);
        Some(next_due.map_or(next_look, |due| due.min(next_look)))
    }
}

/// Counts the queued mails, measures the age of the oldest, and reports the first due time to the
/// dispatcher.
async fn measure(shared: Arc<Shared>) {
    let Ok(_only) = shared.measuring.try_lock() else {
        return; // an earlier measurement of a long queue is still running
    };
    let all = (queued_mail::from(Timestamp::default()), queued_mail::end());
    let (mut depth, mut oldest, mut first) = (0_u32, None, None);
    let walked = each_row(&shared.store, Table::Outbox, all, |key, value| {
        depth = depth.saturating_add(1);
        let enqueued_at = QueuedMail::read(value).map(|letter| letter.enqueued_at);
        oldest = sooner(oldest, enqueued_at.ok());
        first = first.or_else(|| queued_mail::due(key));
        Ok::<_, StoreError>(())
    });
    if walked.await.is_err() {
        return; // `send_due` logs store errors
    }
    let age = oldest.map_or(Duration::ZERO, |at| shared.clock.now().since(at));
    metrics::gauge!("switchyard_outbox_depth", "kind" => "mail").set(f64::from(depth));
    metrics::gauge!("switchyard_outbox_oldest_seconds", "kind" => "mail").set(age.as_secs_f64());
    if let Some(first) = first {
        shared.nudge(first);
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
    QueuedMail {
        method: method.map(|code| name(code).unwrap_or_else(|| code.clone())),
        ..letter.clone()
    }
}

async fn send(shared: &Shared, key: &[u8], value: &[u8], mut letter: QueuedMail) {
    letter.attempts += 1;
    let (verdict, why) = match render::render(
        &with_names(&letter, &shared.directory),
        &shared.installation,
    ) {
        Ok(mail) => {
            let (attempted, why) = shared.transport.send(letter.id, mail).await;
            count(attempted);
            (verdict(attempted, letter.attempts, shared.clock.now()), why)
        }
        Err(error) => {
            count(SendResult::Refused);
            (Verdict::Failed, Some(error.to_string()))
        }
    };
    log(shared, &letter, verdict, why.as_deref());
    loop {
        match shared
            .store
            .commit(batch(shared, key, value, &letter, verdict, why.clone()))
            .await
        {
            // Conflict: another commit took the row. The mail was sent; nothing is left to record.
            Ok(()) | Err(CommitError::Conflict) => return,
            Err(CommitError::Unavailable { .. }) if shared.is_stopping() => return,
            Err(CommitError::Unavailable { reason }) => {
                tracing::warn!(reason, mail.id = %letter.id, "failed to record a mail");
                tokio::time::sleep(STORE_PATIENCE).await;
            }
        }
    }
}

/// Logs the result of a mail; in a series of failures only the first one.
fn log(shared: &Shared, letter: &QueuedMail, verdict: Verdict, why: Option<&str>) {
    let lines = match verdict {
        Verdict::Sent => shared.streak.sent().into_iter().collect(),
        Verdict::Retry { .. } => shared.streak.failed(false),
        Verdict::Failed => shared.streak.failed(true),
    };
    let (id, transaction) = (letter.id, letter.transaction);
    if lines.is_empty() && why.is_some() {
        tracing::debug!(
            mail.id = %id,
            transaction.id = %transaction,
            why,
            "failed to send mail"
        );
    }
    for line in lines {
        match line {
            Line::Failing => tracing::warn!(
                mail.id = %id,
                transaction.id = %transaction,
                why,
                "failed to send mail"
            ),
            Line::GivingUp => {
                tracing::info!(mail.id = %id, transaction.id = %transaction, why, "mail abandoned");
            }
            Line::Recovered { failures } => tracing::info!(failures, "mails sent again"),
        }
    }
}

fn batch(
    shared: &Shared,
    key: &[u8],
    value: &[u8],
    letter: &QueuedMail,
    verdict: Verdict,
    why: Option<String>,
) -> Batch {
    let mut batch = Batch::new();
    batch.require_value(Table::Outbox, key, value);
    batch.delete(Table::Outbox, key);
    if let Verdict::Retry { due } = verdict {
        batch.put(
            Table::Outbox,
            queued_mail::key(due, letter.id),
            queued_mail::json(letter),
        );
        return batch;
    }
    let posted = SentMail {
        letter: letter.clone(),
        is_sent: verdict == Verdict::Sent,
        at: shared.clock.now(),
        why,
    };
    let key = queued_mail::posted_key(letter.environment, Some(letter.id));
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

/// Concurrency limit. A mail server with a lower limit responds slowly, which is harmless.
const ROOM: usize = 8;
/// Interval between measurements of the whole queue.
const MEASURE: Duration = Duration::from_secs(60);
/// Pause after a panic during sending, or after a failed scan.
const REST: Duration = Duration::from_secs(30);
/// Retry interval for recording a result while the store rejects writes.
const STORE_PATIENCE: Duration = Duration::from_secs(1);
