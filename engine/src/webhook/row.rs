//! Outbox row of a delivery that waits for its next attempt.
//!
//! ```text
//! key    w <webhook 16> <due 8> <transaction 16> <sequence 1>
//! value  <form 1> <event 1> <environment 1> <attempts 2> <delivery 16> <event id 16> <app 16>
//!        <enqueued 8> <initiated 8> <first attempt 8> <trace 25, in form 2 only> <body …>
//! ```
//!
//! The rows of one webhook are adjacent, in the order of their due time. Numbers are big endian,
//! times in microseconds. The body is fixed when the row is created. A failed attempt moves the row
//! to a later due time. The end of the delivery deletes it.

use ulid::Ulid;

use super::payload;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{
    AppId, DeliveryId, EventId, PaymentId, PayoutId, TransactionId, WebhookId,
};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::EventName;
use switchyard_store::{Key, KeyPart, KeyRange, KeyReader};
use switchyard_system::trace::TracePosition;

/// One delivery that waits for its next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub webhook: WebhookId,
    pub due: Timestamp,
    pub transaction: TransactionId,
    pub name: EventName,
    pub environment: Environment,
    /// Attempts in the current round. A replay starts a new round.
    pub attempts: u16,
    pub delivery: DeliveryId,
    pub event: EventId,
    pub app: AppId,
    pub enqueued_at: Timestamp,
    /// Start of the transaction, which determines the key of its first event.
    pub initiated_at: Timestamp,
    pub first_attempt_at: Option<Timestamp>,
    /// Place in the trace of the work that caused the event.
    pub trace: Option<TracePosition>,
    pub body: Vec<u8>,
}

/// Error for a row that was written by another program or is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a webhook in the outbox cannot be read: the store was written by a newer program or is damaged, restore a backup"
)]
pub struct Unreadable;

impl Row {
    pub fn sequence(&self) -> u8 {
        payload::sequence(self.name)
    }

    pub fn key(&self) -> Key {
        key(
            self.webhook,
            self.due,
            self.transaction.ulid(),
            self.sequence(),
        )
    }

    /// Key of the first event of the same transaction until its first attempt.
    pub fn predecessor_key(&self) -> Option<Key> {
        (self.sequence() > 1)
            .then(|| key(self.webhook, self.initiated_at, self.transaction.ulid(), 1))
    }

    pub fn value(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(HEAD + TracePosition::BYTES + self.body.len());
        value.push(match self.trace {
            None => FORM,
            Some(_) => TRACED_FORM,
        });
        value.push(event_number(self.name));
        self.environment.append(&mut value);
        self.attempts.append(&mut value);
        for ulid in [self.delivery.ulid(), self.event.ulid(), self.app.ulid()] {
            ulid.append(&mut value);
        }
        let never = Timestamp::from_micros(0);
        for at in [
            self.enqueued_at,
            self.initiated_at,
            self.first_attempt_at.unwrap_or(never),
        ] {
            at.append(&mut value);
        }
        if let Some(trace) = self.trace {
            trace.to_bytes().append(&mut value);
        }
        value.extend_from_slice(&self.body);
        value
    }

    pub fn read(key: &[u8], value: &[u8]) -> Result<Self, Unreadable> {
        Self::readable(key, value).ok_or(Unreadable)
    }

    fn readable(key: &[u8], value: &[u8]) -> Option<Self> {
        let mut key = KeyReader::of(PREFIX, key)?;
        let (webhook, due, transaction) = (key.take()?, key.take()?, key.take()?);
        let traced = KeyReader::of(TRACED_FORM, value);
        let is_traced = traced.is_some();
        let mut value = traced.or_else(|| KeyReader::of(FORM, value))?;
        let name = *EventName::ALL.get(usize::from(value.take::<u8>()?))?;
        let row = Self {
            webhook,
            due,
            transaction: transaction_id(name, transaction),
            name,
            environment: value.take()?,
            attempts: value.take()?,
            delivery: value.take()?,
            event: value.take()?,
            app: value.take()?,
            enqueued_at: value.take()?,
            initiated_at: value.take()?,
            first_attempt_at: Some(value.take()?).filter(|at: &Timestamp| at.as_micros() != 0),
            trace: match is_traced {
                true => Some(TracePosition::from_bytes(value.take()?)),
                false => None,
            },
            body: value.rest().to_vec(),
        };
        (key.rest() == [row.sequence()]).then_some(row)
    }
}

/// Key range of all rows of all webhooks.
pub fn all() -> KeyRange {
    Key::of(PREFIX).range()
}

/// Key range of one webhook's rows that are due at `from` or later.
pub fn of_webhook(webhook: WebhookId, from: Timestamp) -> KeyRange {
    let rows = Key::of(PREFIX).with(webhook);
    rows.range().starting_at(rows.with(from))
}

/// Webhook and due time in the key of a row.
pub fn read_key(key: &[u8]) -> Option<(WebhookId, Timestamp)> {
    let mut key = KeyReader::of(PREFIX, key)?;
    Some((key.take()?, key.take()?))
}

/// Ulid of the transaction in the key of a row.
pub fn transaction_in(key: &[u8]) -> Option<Ulid> {
    let mut key = KeyReader::of(PREFIX, key)?;
    let (_, _): (WebhookId, Timestamp) = (key.take()?, key.take()?);
    key.take()
}

fn key(webhook: WebhookId, due: Timestamp, transaction: Ulid, sequence: u8) -> Key {
    let webhook = Key::of(PREFIX).with(webhook);
    webhook.with(due).with(transaction).with(sequence)
}

/// Number of an event on disk: its position in [`EventName::ALL`], which grows only at its end.
fn event_number(name: EventName) -> u8 {
    let place = EventName::ALL.iter().position(|other| *other == name);
    place
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(u8::MAX) // the list contains all seven names
}

fn transaction_id(name: EventName, ulid: Ulid) -> TransactionId {
    if name.as_str().starts_with("payment.") {
        TransactionId::Payment(PaymentId::new(ulid))
    } else {
        TransactionId::Payout(PayoutId::new(ulid))
    }
}

/// First byte of a webhook row's key in the outbox table, which mails share.
const PREFIX: u8 = b'w';
const FORM: u8 = 1;
/// Form of a row that was written inside a trace.
const TRACED_FORM: u8 = 2;
const HEAD: usize = 77;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_row() -> impl Strategy<Value = Row> {
        let ids = (
            any::<u128>(),
            any::<u128>(),
            any::<u128>(),
            any::<u128>(),
            any::<u128>(),
        );
        let times = (
            0..i64::MAX,
            0..i64::MAX,
            0..i64::MAX,
            proptest::option::of(1..i64::MAX),
        );
        let rest = (
            0..EventName::ALL.len(),
            any::<bool>(),
            any::<u16>(),
            proptest::option::of(any::<[u8; TracePosition::BYTES]>()),
            any::<Vec<u8>>(),
        );
        (ids, times, rest).prop_map(|(ids, times, (name, live, attempts, trace, body))| {
            let at = Timestamp::from_micros;
            let name = EventName::ALL[name];
            Row {
                webhook: WebhookId::new(Ulid::from(ids.0)),
                due: at(times.0),
                transaction: transaction_id(name, Ulid::from(ids.1)),
                name,
                environment: Environment::ALL[usize::from(live)],
                attempts,
                delivery: DeliveryId::new(Ulid::from(ids.2)),
                event: EventId::new(Ulid::from(ids.3)),
                app: AppId::new(Ulid::from(ids.4)),
                enqueued_at: at(times.1),
                initiated_at: at(times.2),
                first_attempt_at: times.3.map(at),
                trace: trace.map(TracePosition::from_bytes),
                body,
            }
        })
    }

    proptest! {
        #[test]
        fn a_row_reads_back_as_it_was_written(row in any_row()) {
            let trace = row.trace.map_or(0, |_| TracePosition::BYTES);
            prop_assert_eq!(row.value().len(), HEAD + trace + row.body.len());
            prop_assert_eq!(row.key().len(), 42);
            prop_assert_eq!(Row::read(&row.key(), &row.value()), Ok(row));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(key: Vec<u8>, value: Vec<u8>) {
            let _ = Row::read(&key, &value);
        }

        #[test]
        fn the_rows_of_one_webhook_sort_by_the_time_at_which_they_are_due(mut a in any_row(), b in any_row()) {
            a.webhook = b.webhook;
            if a.due != b.due {
                prop_assert_eq!(a.key() < b.key(), a.due < b.due);
            }
            prop_assert!(of_webhook(b.webhook, b.due).contains(&b.key()));
        }
    }
}
