//! Delivery log: all attempts, and the state of all deliveries that were tried.
//!
//! ```text
//! a <webhook> <environment> <time> <delivery>    one attempt, as JSON
//! d <webhook> <environment> <delivery>           one delivery, as JSON, from its first attempt or
//!                                                replay on
//! f <webhook> <time> <delivery>                  a delivery that failed at that time; the value is
//!                                                its environment
//! ```

use serde::{Deserialize, Serialize};

use super::row::Row;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, DeliveryId, EventId, TransactionId, WebhookId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::EventName;
use switchyard_store::{Batch, Direction, Key, KeyRange, KeyReader, Store, StoreError, Table};
use switchyard_system::egress::Failure;
use switchyard_system::trace::TraceContext;

/// One request that was sent or could not be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub webhook: WebhookId,
    /// Delivery, which contains the body: it is the same on every attempt.
    pub delivery: DeliveryId,
    pub event: EventId,
    pub name: EventName,
    pub transaction: TransactionId,
    pub environment: Environment,
    /// Number of the attempt in its round, from 1.
    pub number: u16,
    pub at: Timestamp,
    pub url: String,
    pub request_headers: Vec<(String, String)>,
    pub acknowledged: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Error as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
    pub timing: Timing,
    /// Address of the connection, or all addresses that were tried.
    pub addresses: Vec<String>,
}

/// Response of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// First [`switchyard_core::limits::WEBHOOK_RESPONSE_BYTES`] of the body, as text.
    pub body: String,
    pub is_cut: bool,
}

/// Duration of each phase, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Name resolution; `None` for an IP address or an open connection.
    pub dns: Option<u64>,
    /// Connecting, without name resolution and TLS; `None` for an open connection.
    #[serde(default)]
    pub connect: Option<u64>,
    /// TLS handshake; `None` without TLS and for an open connection.
    #[serde(default)]
    pub tls: Option<u64>,
    /// Time from the start to the head of the response.
    pub answer: Option<u64>,
    pub total: u64,
}

/// Delivery that was tried at least once, or abandoned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: DeliveryId,
    pub webhook: WebhookId,
    pub app: AppId,
    pub environment: Environment,
    pub event: EventId,
    pub name: EventName,
    pub transaction: TransactionId,
    pub status: DeliveryStatus,
    /// Attempts in the current round.
    pub attempts: u16,
    pub enqueued_at: Timestamp,
    pub initiated_at: Timestamp,
    pub first_attempt_at: Option<Timestamp>,
    pub last_attempt_at: Option<Timestamp>,
    /// Due time of the next attempt, while the delivery waits.
    pub next_attempt_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Reason why the delivery was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Request body, byte for byte.
    pub body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    Waiting,
    Delivered,
    Failed,
}

/// Causes of a change of the status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryChange {
    /// The receiver answered 200, perhaps after the delivery had ended.
    Acknowledged,
    /// An attempt failed, and another one follows.
    Refused,
    /// The last attempt failed.
    Exhausted,
    /// The webhook was disabled.
    Disabled,
    /// Sent again, by an operator or the merchant.
    Replayed,
}

impl DeliveryStatus {
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Delivered, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    /// Status after a change. A delivery that has ended is not affected by what only ends one that
    /// waits.
    pub const fn after(self, change: DeliveryChange) -> Self {
        match (self, change) {
            (_, DeliveryChange::Acknowledged) => Self::Delivered,
            (_, DeliveryChange::Replayed) | (Self::Waiting, DeliveryChange::Refused) => {
                Self::Waiting
            }
            (Self::Waiting, DeliveryChange::Exhausted | DeliveryChange::Disabled) => Self::Failed,
            (Self::Delivered | Self::Failed, _) => self,
        }
    }
}

impl DeliveryChange {
    pub const ALL: [Self; 5] = [
        Self::Acknowledged,
        Self::Refused,
        Self::Exhausted,
        Self::Disabled,
        Self::Replayed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::Refused => "refused",
            Self::Exhausted => "exhausted",
            Self::Disabled => "disabled",
            Self::Replayed => "replayed",
        }
    }
}

/// Error while reading the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "a row of the delivery log cannot be read: the store was written by a newer program or is damaged, restore a backup"
    )]
    Unreadable(#[source] serde_json::Error),
}

impl Attempt {
    /// Value of a response header.
    pub fn answered(&self, header: &str) -> Option<&str> {
        let headers = &self.response.as_ref()?.headers;
        let found = headers.iter().find(|(name, _)| name == header)?;
        Some(found.1.as_str())
    }
}

impl Delivery {
    /// Record of a delivery that waits, or has just ended.
    pub fn of(row: &Row, status: DeliveryStatus, now: Timestamp) -> Self {
        let is_waiting = status == DeliveryStatus::Waiting;
        Self {
            id: row.delivery,
            webhook: row.webhook,
            app: row.app,
            environment: row.environment,
            event: row.event,
            name: row.name,
            transaction: row.transaction,
            status,
            attempts: row.attempts,
            enqueued_at: row.enqueued_at,
            initiated_at: row.initiated_at,
            first_attempt_at: row.first_attempt_at,
            last_attempt_at: None,
            next_attempt_at: is_waiting.then_some(row.due),
            ended_at: (!is_waiting).then_some(now),
            why: None,
            body: String::from_utf8_lossy(&row.body).into_owned(),
        }
    }

    /// Outbox row of the delivery, due at `due`, after `attempts` attempts.
    pub fn row(&self, due: Timestamp, attempts: u16) -> Row {
        Row {
            webhook: self.webhook,
            due,
            transaction: self.transaction,
            name: self.name,
            environment: self.environment,
            attempts,
            delivery: self.id,
            event: self.event,
            app: self.app,
            enqueued_at: self.enqueued_at,
            initiated_at: self.initiated_at,
            first_attempt_at: self.first_attempt_at,
            trace: TraceContext::current().position(),
            body: self.body.clone().into_bytes(),
        }
    }
}

/// Adds an attempt to the log.
pub fn put_attempt(batch: &mut Batch, attempt: &Attempt) {
    let key = prefix(ATTEMPT, attempt.webhook, attempt.environment)
        .with(attempt.at)
        .with(attempt.delivery);
    batch.put(Table::Delivery, key, json(attempt));
}

/// Writes the state of a delivery.
pub fn put_delivery(batch: &mut Batch, delivery: &Delivery) {
    batch.put(
        Table::Delivery,
        delivery_key(delivery.webhook, delivery.environment, delivery.id),
        json(delivery),
    );
    if let (DeliveryStatus::Failed, Some(at)) = (delivery.status, delivery.ended_at) {
        let key = failed_key(delivery.webhook, at, delivery.id);
        let environment = Key::new().with(delivery.environment);
        batch.put(Table::Delivery, key, environment);
    }
}

/// Makes the commit conflict when the delivery exists already.
pub fn require_no_delivery(batch: &mut Batch, delivery: &Delivery) {
    let key = delivery_key(delivery.webhook, delivery.environment, delivery.id);
    batch.require_absent(Table::Delivery, key);
}

/// Replaces a delivery. The commit conflicts when it has changed since `before` was read.
pub fn replace_delivery(batch: &mut Batch, before: &Delivery, after: &Delivery) {
    let key = delivery_key(before.webhook, before.environment, before.id);
    batch.require_value(Table::Delivery, key, json(before));
    if let (DeliveryStatus::Failed, Some(at)) = (before.status, before.ended_at) {
        batch.delete(Table::Delivery, failed_key(before.webhook, at, before.id));
    }
    put_delivery(batch, after);
}

/// Attempts at one webhook in both environments, newest first, optionally only those before
/// `before`.
pub async fn attempts(
    store: &Store,
    webhook: WebhookId,
    before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<Attempt>, LogError> {
    let mut found = Vec::new();
    for environment in Environment::ALL {
        let attempts = prefix(ATTEMPT, webhook, environment);
        let mut range = attempts.range();
        if let Some(before) = before {
            range = range.ending_at(attempts.with(before));
        }
        found.extend(read::<Attempt>(store, &range, limit).await?);
    }
    found.sort_by_key(|attempt| std::cmp::Reverse((attempt.at, attempt.delivery)));
    found.truncate(limit);
    Ok(found)
}

/// Attempts of one delivery, newest first. Of the attempts at its webhook between its first and its
/// last one, only the newest `examined` are read.
pub async fn attempts_of(
    store: &Store,
    delivery: &Delivery,
    examined: usize,
) -> Result<Vec<Attempt>, LogError> {
    let (Some(first), Some(last)) = (delivery.first_attempt_at, delivery.last_attempt_at) else {
        return Ok(Vec::new());
    };
    let attempts = prefix(ATTEMPT, delivery.webhook, delivery.environment);
    let (first, last) = (attempts.clone().with(first), attempts.with(last));
    let range = first.range().until(last.range());
    let found = read::<Attempt>(store, &range, examined).await?;
    let own = found.into_iter();
    Ok(own
        .filter(|attempt| attempt.delivery == delivery.id)
        .collect())
}

/// Attempts at one webhook since `since`, in unspecified order.
pub async fn attempts_since(
    store: &Store,
    webhook: WebhookId,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Attempt>, LogError> {
    let mut found = Vec::new();
    for environment in Environment::ALL {
        let attempts = prefix(ATTEMPT, webhook, environment);
        let range = attempts.range().starting_at(attempts.with(since));
        found.extend(read(store, &range, limit).await?);
    }
    Ok(found)
}

/// Deliveries of one webhook that were tried, in both environments, newest first, optionally only
/// those older than `before`.
pub async fn deliveries(
    store: &Store,
    webhook: WebhookId,
    before: Option<DeliveryId>,
    limit: usize,
) -> Result<Vec<Delivery>, LogError> {
    let mut found = Vec::new();
    for environment in Environment::ALL {
        let deliveries = prefix(DELIVERY, webhook, environment);
        let mut range = deliveries.range();
        if let Some(before) = before {
            range = range.ending_at(deliveries.with(before));
        }
        found.extend(read::<Delivery>(store, &range, limit).await?);
    }
    found.sort_by_key(|delivery| std::cmp::Reverse(delivery.id));
    found.truncate(limit);
    Ok(found)
}

/// One delivery, if it was tried.
pub async fn delivery(
    store: &Store,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<Delivery>, LogError> {
    for environment in Environment::ALL {
        let key = delivery_key(webhook, environment, id);
        if let Some(value) = store.get(Table::Delivery, &key).await? {
            return serde_json::from_slice(&value)
                .map(Some)
                .map_err(LogError::Unreadable);
        }
    }
    Ok(None)
}

/// Deliveries that failed at `since` or later, oldest failure first.
pub async fn failed(
    store: &Store,
    webhook: WebhookId,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<DeliveryId>, LogError> {
    let failed = of_webhook(FAILED, webhook);
    let range = failed.range().starting_at(failed.with(since));
    let rows = store
        .scan(
            Table::Delivery,
            range.from(),
            range.to(),
            Direction::Forward,
            limit,
        )
        .await?;
    let ids = rows.iter();
    Ok(ids
        .filter_map(|(key, _)| KeyReader::new(key).take_last())
        .collect())
}

/// Rows of a range, newest first.
async fn read<T: for<'a> Deserialize<'a>>(
    store: &Store,
    range: &KeyRange,
    limit: usize,
) -> Result<Vec<T>, LogError> {
    let (from, to) = (range.from(), range.to());
    let rows = store
        .scan(Table::Delivery, from, to, Direction::Backward, limit)
        .await?;
    rows.iter()
        .map(|(_, value)| serde_json::from_slice(value).map_err(LogError::Unreadable))
        .collect()
}

/// Beginning of the keys of one kind and webhook.
pub(super) fn of_webhook(kind: u8, webhook: WebhookId) -> Key {
    Key::of(kind).with(webhook)
}

/// Beginning of the keys of one kind, webhook and environment.
pub(super) fn prefix(kind: u8, webhook: WebhookId, environment: Environment) -> Key {
    of_webhook(kind, webhook).with(environment)
}

fn delivery_key(webhook: WebhookId, environment: Environment, id: DeliveryId) -> Key {
    prefix(DELIVERY, webhook, environment).with(id)
}

pub(super) fn failed_key(webhook: WebhookId, at: Timestamp, id: DeliveryId) -> Key {
    of_webhook(FAILED, webhook).with(at).with(id)
}

pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("structs of strings and numbers always print")
}

/// First bytes of the log's keys in the delivery table, which mails share.
pub(super) const ATTEMPT: u8 = b'a';
pub(super) const DELIVERY: u8 = b'd';
pub(super) const FAILED: u8 = b'f';

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;

    #[test]
    fn the_keys_of_the_log_have_their_stored_bytes() {
        let webhook = WebhookId::new(Ulid::from_parts(1, 1));
        let delivery = DeliveryId::new(Ulid::from_parts(1, 2));
        let [of, id] = [webhook.ulid(), delivery.ulid()].map(|ulid| ulid.to_bytes());
        let row = delivery_key(webhook, Environment::Live, delivery);
        assert_eq!(*row, [&[DELIVERY][..], &of, b"l", &id].concat());
        let failed = failed_key(webhook, Timestamp::from_micros(0x0102), delivery);
        let at = [0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(*failed, [&[FAILED][..], &of, &at, &id].concat());
        let attempts = prefix(ATTEMPT, webhook, Environment::Sandbox);
        assert_eq!(*attempts, [&[ATTEMPT][..], &of, b"s"].concat());
    }
}
