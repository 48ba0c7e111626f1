//! Replays missed events: those of an app's transactions that a webhook never acknowledged. They
//! are found in the transactions themselves.
//!
//! The events, their ids and the ids of their deliveries are derived from the transaction. A
//! replayed event therefore has the same `webhook-id` as at every other receiver, and delivered
//! events are recognized.

use super::log::{self, Delivery, DeliveryStatus};
use super::outbox;
use super::replay::{self, ReplayError};
use super::row::Row;
use super::{Queued, Shared, WebhookId};
use crate::access::Webhook;
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{EventName, Kind, State, Transaction};
use switchyard_records as records;
use switchyard_store::{Batch, CommitError, Table};

/// Result of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedReplay {
    /// Events that are sent for the first time or again.
    pub replayed: usize,
    /// Number of transactions examined.
    pub examined: usize,
    /// Cursor for the next call, if there are more.
    pub after: Option<TransactionId>,
}

pub(super) async fn replay_missing(
    shared: &Shared,
    webhook: WebhookId,
    since: Timestamp,
    after: Option<TransactionId>,
) -> Result<MissedReplay, ReplayError> {
    let target = replay::enabled(shared, webhook)?;
    let mut done = MissedReplay::default();
    let begun_at = match after {
        Some(id) => match records::load(&shared.store, id).await? {
            Some(tx) if tx.app == target.app => Some((part_of(&tx), id)),
            _ => return Err(ReplayError::UnknownTransaction),
        },
        None => None,
    };
    for (place, part) in PARTS.into_iter().enumerate() {
        let mut after = match begun_at {
            Some((begun, _)) if place < begun => continue,
            Some((begun, id)) if place == begun => Some(id),
            _ => None,
        };
        loop {
            let found = page(shared, &target, part, since, after).await?;
            let Some(last) = found.last() else { break };
            after = Some(*last);
            for id in &found {
                done.examined += 1;
                done.replayed += catch_up(shared, &target, *id, since).await?;
                let is_enough = done.replayed >= limits::WEBHOOK_REPLAYS
                    || done.examined >= limits::WEBHOOK_MISSING_LOOKS;
                if is_enough {
                    done.after = Some(*id);
                    return Ok(done);
                }
            }
        }
    }
    Ok(done)
}

/// Next page of transactions of one kind and environment that may have an event since `since`.
async fn page(
    shared: &Shared,
    target: &Webhook,
    (environment, kind): (Environment, Kind),
    since: Timestamp,
    after: Option<TransactionId>,
) -> Result<Vec<TransactionId>, ReplayError> {
    let begun = since.minus(SCAN_OVERLAP);
    let list = records::begun_since(
        &shared.store,
        target.app,
        environment,
        kind,
        begun,
        after,
        PAGE,
    );
    Ok(list.await?)
}

/// Enqueues the events of one transaction that `target` missed. Returns their number.
async fn catch_up(
    shared: &Shared,
    target: &Webhook,
    id: TransactionId,
    since: Timestamp,
) -> Result<usize, ReplayError> {
    let Some(tx) = records::load(&shared.store, id).await? else {
        return Ok(0); // deleted meanwhile
    };
    let mut replayed = 0;
    for (name, at) in announced(&tx) {
        if at < since || !target.options.events.matches(name) {
            continue;
        }
        let event = super::payload::event_id(id, name, at);
        let row = outbox::row(target.id, &as_it_was(&tx, name), name, event, at);
        // The order matters: a row that leaves the outbox between the two reads is in the log by
        // then.
        if shared.store.get(Table::Outbox, &row.key()).await?.is_some() {
            continue;
        }
        let logged = log::delivery(&shared.store, target.id, row.delivery).await?;
        let is_sent = match logged.map(|delivery| delivery.status) {
            None => enqueue(shared, row).await?,
            Some(DeliveryStatus::Failed) => again(shared, &row).await?,
            Some(DeliveryStatus::Waiting | DeliveryStatus::Delivered) => false,
        };
        replayed += usize::from(is_sent);
    }
    Ok(replayed)
}

async fn enqueue(shared: &Shared, row: Row) -> Result<bool, ReplayError> {
    let now = shared.clock.now();
    let due = outbox::due(row.name, row.initiated_at, now);
    let row = Row {
        due,
        enqueued_at: now,
        ..row
    };
    let delivery = Delivery::of(&row, DeliveryStatus::Waiting, now);
    let mut batch = Batch::new();
    log::require_no_delivery(&mut batch, &delivery);
    log::put_delivery(&mut batch, &delivery);
    batch.put(Table::Outbox, row.key(), row.value());
    match shared.store.commit(batch).await {
        Ok(()) => {}
        Err(CommitError::Conflict) => return Ok(false), // another call enqueued it first
        Err(error) => return Err(ReplayError::Commit(error)),
    }
    shared.queue.depth_changed(1);
    let webhook = row.webhook;
    shared.wake(&[Queued { webhook, due }]);
    Ok(true)
}

async fn again(shared: &Shared, row: &Row) -> Result<bool, ReplayError> {
    match replay::replay(shared, row.webhook, row.delivery).await {
        Ok(_) => Ok(true),
        Err(ReplayError::Moving | ReplayError::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Events of a transaction that are sent to merchants, each with its time.
fn announced(tx: &Transaction) -> Vec<(EventName, Timestamp)> {
    let kind = tx.kind();
    let ended = match tx.state {
        State::Succeeded => tx.success_at.map(|at| (EventName::success(kind), at)),
        State::Failed(_) => tx.failed_at.map(|at| (EventName::failed(kind), at)),
        State::Cancelled => tx.cancelled_at.map(|at| (EventName::PaymentCancelled, at)),
        _ => None,
    };
    std::iter::once((EventName::initiated(kind), tx.created_at))
        .chain(ended)
        .collect()
}

/// State of the transaction right after the event, as far as the body shows it. The customer's data
/// are the current ones.
fn as_it_was(tx: &Transaction, name: EventName) -> Transaction {
    let mut then = tx.clone();
    if super::payload::sequence(name) == 1 {
        then.state = State::before_an_attempt(tx.kind());
        then.attempts.clear();
    }
    then
}

fn part_of(tx: &Transaction) -> usize {
    let part = (tx.environment, tx.kind());
    PARTS.iter().position(|other| *other == part).unwrap_or(0) // the list contains all four
}

/// Parts of an app's list of transactions.
const PARTS: [(Environment, Kind); 4] = [
    (Environment::Sandbox, Kind::Payment),
    (Environment::Sandbox, Kind::Payout),
    (Environment::Live, Kind::Payment),
    (Environment::Live, Kind::Payout),
];
/// Maximum time from the start of a transaction, by which the list is sorted, to its end. Payouts
/// are queried for three days.
const SCAN_OVERLAP: std::time::Duration = std::time::Duration::from_secs(4 * 24 * 60 * 60);
/// Transactions per page.
const PAGE: usize = 200;
