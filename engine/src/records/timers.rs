//! The timers: which transactions have to be looked at, in the order in which they are due.

use super::{RecordError, keys};
use crate::clock::Timestamp;
use crate::ids::TransactionId;
use crate::store::{Direction, Store, Table};

/// One timer that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub at: Timestamp,
    pub transaction: TransactionId,
}

/// The timers due from `from` until `until`, both included, at most `limit` of them, earliest first.
pub async fn due(
    store: &Store,
    from: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<Due>, RecordError> {
    let end = keys::moment(Timestamp::from_micros(until.as_micros().saturating_add(1)));
    let rows = store
        .scan(
            Table::Timer,
            &keys::moment(from),
            &end,
            Direction::Forward,
            limit,
        )
        .await?;
    rows.iter()
        .map(|(key, _)| {
            read(key).ok_or_else(|| RecordError::damaged("timer", format!("{key:02x?}")))
        })
        .collect()
}

pub(super) fn read(key: &[u8]) -> Option<Due> {
    let (at, transaction) = key.split_at_checked(8)?;
    let micros = u64::from_be_bytes(at.try_into().ok()?);
    Some(Due {
        at: Timestamp::from_micros(i64::try_from(micros).ok()?),
        transaction: keys::read_transaction(transaction)?,
    })
}
