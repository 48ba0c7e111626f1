//! Outbox row of a delivery that waits for its next attempt.
//!
//! ```text
//! key    w <webhook 16> <due 8> <transaction 16> <sequence 1>
//! value  <form 1> <event 1> <environment 1> <attempts 2> <delivery 16> <event id 16> <app 16>
//!        <enqueued 8> <initiated 8> <first attempt 8> <body …>
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

    pub fn key(&self) -> Vec<u8> {
        key(
            self.webhook,
            self.due,
            self.transaction.ulid(),
            self.sequence(),
        )
    }

    /// Key of the first event of the same transaction until its first attempt.
    pub fn predecessor_key(&self) -> Option<Vec<u8>> {
        (self.sequence() > 1)
            .then(|| key(self.webhook, self.initiated_at, self.transaction.ulid(), 1))
    }

    pub fn value(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(HEAD + self.body.len());
        value.push(FORM);
        value.push(event_number(self.name));
        value.push(environment_byte(self.environment));
        value.extend_from_slice(&self.attempts.to_be_bytes());
        for ulid in [self.delivery.ulid(), self.event.ulid(), self.app.ulid()] {
            value.extend_from_slice(&ulid.to_bytes());
        }
        let never = Timestamp::from_micros(0);
        for at in [
            self.enqueued_at,
            self.initiated_at,
            self.first_attempt_at.unwrap_or(never),
        ] {
            value.extend_from_slice(&moment(at));
        }
        value.extend_from_slice(&self.body);
        value
    }

    pub fn read(key: &[u8], value: &[u8]) -> Result<Self, Unreadable> {
        let mut key = Bytes(key);
        let ([PREFIX], webhook) = (key.take()?, key.ulid()?) else {
            return Err(Unreadable);
        };
        let (due, transaction) = (key.moment()?, key.ulid()?);
        let mut value = Bytes(value);
        let [FORM, name, environment] = value.take()? else {
            return Err(Unreadable);
        };
        let name = *EventName::ALL.get(usize::from(name)).ok_or(Unreadable)?;
        let row = Self {
            webhook: WebhookId::new(webhook),
            due,
            transaction: transaction_id(name, transaction),
            name,
            environment: read_environment(environment)?,
            attempts: u16::from_be_bytes(value.take()?),
            delivery: DeliveryId::new(value.ulid()?),
            event: EventId::new(value.ulid()?),
            app: AppId::new(value.ulid()?),
            enqueued_at: value.moment()?,
            initiated_at: value.moment()?,
            first_attempt_at: Some(value.moment()?).filter(|at| at.as_micros() != 0),
            body: value.0.to_vec(),
        };
        (key.0 == [row.sequence()]).then_some(row).ok_or(Unreadable)
    }
}

/// Key range of all rows of all webhooks.
pub fn all() -> (Vec<u8>, Vec<u8>) {
    (vec![PREFIX], vec![PREFIX + 1])
}

/// Key range of one webhook's rows that are due at `from` or later.
pub fn of_webhook(webhook: WebhookId, from: Timestamp) -> (Vec<u8>, Vec<u8>) {
    let mut end = prefix(webhook);
    end.extend_from_slice(&[u8::MAX; 8]);
    let mut start = prefix(webhook);
    start.extend_from_slice(&moment(from));
    (start, end)
}

/// Webhook and due time in the key of a row.
pub fn read_key(key: &[u8]) -> Result<(WebhookId, Timestamp), Unreadable> {
    let mut key = Bytes(key);
    let [PREFIX] = key.take()? else {
        return Err(Unreadable);
    };
    Ok((WebhookId::new(key.ulid()?), key.moment()?))
}

/// Bytes of a time, in the same order as the times. Times before 1970 do not occur; they would sort
/// as 1970.
pub fn moment(at: Timestamp) -> [u8; 8] {
    u64::try_from(at.as_micros()).unwrap_or(0).to_be_bytes()
}

pub fn environment_byte(environment: Environment) -> u8 {
    match environment {
        Environment::Sandbox => b's',
        Environment::Live => b'l',
    }
}

fn read_environment(byte: u8) -> Result<Environment, Unreadable> {
    Environment::ALL
        .into_iter()
        .find(|environment| environment_byte(*environment) == byte)
        .ok_or(Unreadable)
}

fn key(webhook: WebhookId, due: Timestamp, transaction: Ulid, sequence: u8) -> Vec<u8> {
    let mut key = prefix(webhook);
    key.extend_from_slice(&moment(due));
    key.extend_from_slice(&transaction.to_bytes());
    key.push(sequence);
    key
}

fn prefix(webhook: WebhookId) -> Vec<u8> {
    let mut key = Vec::with_capacity(KEY);
    key.push(PREFIX);
    key.extend_from_slice(&webhook.ulid().to_bytes());
    key
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

/// Reader of a byte slice from its front.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Unreadable)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn ulid(&mut self) -> Result<Ulid, Unreadable> {
        Ok(Ulid::from_bytes(self.take()?))
    }

    fn moment(&mut self) -> Result<Timestamp, Unreadable> {
        let micros = i64::try_from(u64::from_be_bytes(self.take()?)).map_err(|_| Unreadable)?;
        Ok(Timestamp::from_micros(micros))
    }
}

/// First byte of a webhook row's key in the outbox table, which mails share.
const PREFIX: u8 = b'w';
const FORM: u8 = 1;
const KEY: usize = 42;
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
            any::<Vec<u8>>(),
        );
        (ids, times, rest).prop_map(|(ids, times, (name, live, attempts, body))| {
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
                body,
            }
        })
    }

    proptest! {
        #[test]
        fn a_row_reads_back_as_it_was_written(row in any_row()) {
            prop_assert_eq!(row.value().len(), HEAD + row.body.len());
            prop_assert_eq!(row.key().len(), KEY);
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
            let (start, end) = of_webhook(b.webhook, b.due);
            prop_assert!(start <= b.key() && b.key() < end);
        }
    }
}
