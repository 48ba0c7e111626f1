//! One attempt: sends a row, judges the response, and records the result in one commit.

use std::time::Duration;

use super::Shared;
use super::log::{self, Attempt, Delivery, DeliveryChange, DeliveryStatus, LogError};
use super::policy::{Reply, Verdict, classify, verdict};
use super::row::Row;
use crate::access::Webhook;
use crate::queue::{Executed, RowState};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, StoreError, Table};
use switchyard_system::egress::Failure;
use switchyard_system::trace::{Span, SpanKind, TracePosition};

/// Sends `row` to `webhook` and records the result.
pub async fn attempt(shared: &Shared, webhook: &Webhook, row: &Row) -> Executed {
    let begun = tokio::time::Instant::now();
    let now = shared.clock.now();
    let secret = match shared.access.webhook_secret(webhook) {
        Ok(secret) => secret,
        Err(error) => {
            tracing::error!(webhook.id = %webhook.id, %error, "failed to decrypt a webhook secret");
            return RowState::Unchanged.into();
        }
    };
    let span = span(webhook, row);
    let sent = shared.sender.send(
        row,
        &webhook.url,
        secret.expose(),
        now,
        shared.clock.shown(),
    );
    let attempt = span.scope(sent).await;
    end(&span, &attempt);
    drop(span);
    let took = Some(begun.elapsed());
    let row = settle(shared, webhook, row, &attempt).await;
    Executed { row, took }
}

/// The span of one attempt, in the trace that caused the event.
fn span(webhook: &Webhook, row: &Row) -> Span {
    let cause = row.trace.map(TracePosition::context).unwrap_or_default();
    let span = Span::begin_at(&cause, "webhook delivery", SpanKind::Client);
    span.set("transaction.id", || row.transaction.to_string());
    span.set("webhook.id", || webhook.id.to_string());
    span.set("delivery.id", || row.delivery.to_string());
    span.set("event.name", || row.name.as_str());
    span.set("attempt.number", || i64::from(row.attempts) + 1);
    span
}

fn end(span: &Span, attempt: &Attempt) {
    if let Some(response) = &attempt.response {
        span.set("http.response.status_code", || i64::from(response.status));
    }
    if !attempt.acknowledged {
        span.fail("not acknowledged");
    }
}

async fn settle(shared: &Shared, webhook: &Webhook, row: &Row, attempt: &Attempt) -> RowState {
    let ended_at = shared.clock.now();
    let mut chance = [0; 4];
    shared.ids.fill(&mut chance);
    let made = u32::from(attempt.number);
    let status = attempt.response.as_ref().map(|response| response.status);
    // A date in `Retry-After` is by the receiver's clock: compare with the wall clock.
    let retry_after = attempt.answered("retry-after");
    let heard = classify(status, retry_after, shared.clock.shown());
    if heard == Reply::Gone && webhook.options.retry.follows_receiver() {
        switch_off(shared, webhook).await;
    }
    let verdict = verdict(
        &shared.settings,
        &webhook.options.retry,
        heard,
        made,
        ended_at,
        u32::from_le_bytes(chance),
    );
    count(attempt, row);
    match (
        write(shared, row, attempt, verdict, ended_at).await,
        verdict,
    ) {
        (Recorded::No, _) => RowState::Unchanged,
        (Recorded::WithoutRow, _) => RowState::DueAt(row.due),
        (Recorded::Yes, Verdict::Acknowledged | Verdict::Failed) => RowState::Removed,
        (Recorded::Yes, Verdict::Retry { due }) => {
            if row.attempts == 0 && row.sequence() == 1 {
                shared.tried.add(row.webhook, row.transaction, attempt.at);
            }
            RowState::DueAt(due)
        }
    }
}

/// Whether a result is recorded.
enum Recorded {
    Yes,
    /// Another commit had moved or removed the row.
    WithoutRow,
    /// The server stops first.
    No,
}

/// Records the result, retrying until the store accepts it.
async fn write(
    shared: &Shared,
    row: &Row,
    attempt: &Attempt,
    verdict: Verdict,
    ended_at: Timestamp,
) -> Recorded {
    let mut is_taken = false;
    loop {
        let batch = match is_taken {
            false => Ok(batch(row, attempt, verdict, ended_at)),
            true => batch_without_row(shared, row, attempt, verdict, ended_at).await,
        };
        let reason = match batch {
            Ok(batch) => match shared.store.commit(batch).await {
                Ok(()) if is_taken => return Recorded::WithoutRow,
                Ok(()) => return Recorded::Yes,
                Err(CommitError::Conflict) => {
                    // Another commit moved or removed the row, or changed the delivery.
                    is_taken = true;
                    continue;
                }
                Err(CommitError::Unavailable { reason }) => reason,
            },
            Err(reason) => reason,
        };
        if shared.queue.is_stopping() {
            return Recorded::No;
        }
        tracing::warn!(reason, delivery.id = %row.delivery, "failed to record a delivery");
        tokio::time::sleep(STORE_RETRY_INTERVAL).await;
    }
}

/// Disables a webhook after 410 Gone. Runs before the result is recorded: after a crash in between,
/// the webhook is disabled and its queue is kept for a replay.
async fn switch_off(shared: &Shared, webhook: &Webhook) {
    let why = "its receiver answered 410 Gone: correct the URL, enable it, then replay".to_owned();
    let done = shared
        .access
        .disable_webhook(webhook.id, &webhook.url, why)
        .await;
    match done {
        Ok(true) => {
            metrics::counter!("switchyard_webhooks_disabled_total").increment(1);
            tracing::warn!(
                webhook.id = %webhook.id,
                app.id = %webhook.app,
                "webhook disabled after 410 Gone"
            );
        }
        Ok(false) => {} // already disabled, or its URL has changed
        Err(error) => {
            tracing::error!(
                webhook.id = %webhook.id,
                %error,
                "failed to disable a webhook after 410 Gone"
            )
        }
    }
}

/// Changes for an attempt and its row, on condition that the row is still the one that was sent.
fn batch(row: &Row, attempt: &Attempt, verdict: Verdict, ended_at: Timestamp) -> Batch {
    let after = Row {
        attempts: attempt.number,
        first_attempt_at: row.first_attempt_at.or(Some(attempt.at)),
        due: match verdict {
            Verdict::Retry { due } => due,
            Verdict::Acknowledged | Verdict::Failed => row.due,
        },
        ..row.clone()
    };
    let status = DeliveryStatus::Waiting.after(match verdict {
        Verdict::Acknowledged => DeliveryChange::Acknowledged,
        Verdict::Retry { .. } => DeliveryChange::Refused,
        Verdict::Failed => DeliveryChange::Exhausted,
    });
    let mut batch = Batch::new();
    batch.require_value(Table::Outbox, row.key(), row.value());
    batch.delete(Table::Outbox, row.key());
    if status == DeliveryStatus::Waiting {
        batch.put(Table::Outbox, after.key(), after.value());
    }
    log::put_attempt(&mut batch, attempt);
    let delivery = Delivery {
        last_attempt_at: Some(attempt.at),
        why: attempt.detail.clone(),
        ..Delivery::of(&after, status, ended_at)
    };
    log::put_delivery(&mut batch, &delivery);
    batch
}

/// Changes for an attempt whose row another commit has moved or removed. A delivery that failed
/// because its webhook was disabled during the request, and was acknowledged, is delivered: a
/// replay does not send it again. Returns the reason while the store cannot be read.
async fn batch_without_row(
    shared: &Shared,
    row: &Row,
    attempt: &Attempt,
    verdict: Verdict,
    ended_at: Timestamp,
) -> Result<Batch, String> {
    let mut batch = Batch::new();
    log::put_attempt(&mut batch, attempt);
    if verdict != Verdict::Acknowledged {
        return Ok(batch);
    }
    let known = match log::delivery(&shared.store, row.webhook, row.delivery).await {
        Ok(known) => known,
        Err(LogError::Store(StoreError::Unavailable { reason })) => return Err(reason),
        Err(error) => {
            tracing::error!(
                %error,
                delivery.id = %row.delivery,
                "failed to mark an acknowledged webhook as delivered"
            );
            None
        }
    };
    if let Some(before) = known.filter(|known| known.status == DeliveryStatus::Failed) {
        let after = Delivery {
            status: before.status.after(DeliveryChange::Acknowledged),
            attempts: attempt.number,
            first_attempt_at: before.first_attempt_at.or(Some(attempt.at)),
            last_attempt_at: Some(attempt.at),
            ended_at: Some(ended_at),
            why: None,
            ..before.clone()
        };
        log::replace_delivery(&mut batch, &before, &after);
    }
    Ok(batch)
}

fn count(attempt: &Attempt, row: &Row) {
    let outcome = match attempt.failure {
        None => "acknowledged",
        Some(Failure::Timeout) => "timeout",
        Some(Failure::Dns) => "dns",
        Some(Failure::Connect) => "connect",
        Some(Failure::Tls) => "tls",
        Some(Failure::Http) => "http",
        Some(Failure::ForbiddenTarget) => "forbidden_target",
    };
    metrics::counter!("switchyard_webhook_attempts_total", "outcome" => outcome).increment(1);
    if row.first_attempt_at.is_none() {
        let delay = attempt.at.since(row.enqueued_at).as_secs_f64();
        metrics::histogram!("switchyard_webhook_delay_seconds").record(delay);
    }
}

/// Retry interval for recording a result while the store rejects writes.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);
