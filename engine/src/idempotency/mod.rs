//! Idempotency keys: the same request sent twice makes one transaction and gets one answer
//! (docs/contract/responses.md).
//!
//! The answer is kept in a row that is written in the commit that stores the transaction, guarded
//! by a check that the row did not exist: after any crash or race there is either a transaction
//! with its row, or neither. Concurrent requests with one key inside this process wait for each
//! other without touching the store. A key belongs to one app, one environment, one route and one
//! kind of API key: a request with a public key cannot claim a key of the merchant's server.
//! Refused requests are not kept.
//!
//! A row that cannot be read is an error until its time is over: it says that there was a request,
//! and to carry that one out again could pay twice.

#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod in_flight;
mod row;
mod sweep;
#[cfg(test)]
mod tests;

use crate::access::KeyKind;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::limits::{IDEMPOTENCY_LIVE, IDEMPOTENCY_SANDBOX, IDEMPOTENCY_WAIT};
use switchyard_core::time::Timestamp;
use switchyard_records::RecordError;
use switchyard_store::{Batch, Key, Store, StoreError, Table};
use switchyard_system::clock::Clock;

use self::in_flight::{Admission, InFlightGuard, InFlightRequests};
use self::row::{Fingerprints, Row};
pub use self::sweep::sweep;

/// The routes that take a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Route {
    InitializePayment = 1,
    InitializePayout = 2,
}

/// Idempotency key, its scope (app, environment, route, kind of API key) and the fields of the
/// request.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    pub app: AppId,
    pub environment: Environment,
    pub route: Route,
    /// With which kind of API key it came.
    pub kind: KeyKind,
    /// As the client chose it, at most [`switchyard_core::limits::IDEMPOTENCY_KEY_BYTES`].
    pub key: String,
    /// The request as it was understood, field by field, in the documented order.
    pub fields: Vec<(String, String)>,
}

/// The first response, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

/// Decision about a request that carries a key.
pub enum Begin {
    /// The key is new: execute the request, and store its response.
    First(Pending),
    /// The request was executed before; send this response again.
    Replay(Answer),
    /// The key was used for another request; this is the first field that differs.
    Differs(String),
    /// Another request with this key is in flight.
    InFlight,
}

/// A request that is being carried out. As long as this lives, its twins wait.
pub struct Pending {
    key: Key,
    fingerprints: Fingerprints,
    /// The row that is there and has expired, and when.
    stale: Option<(Vec<u8>, Timestamp)>,
    expires_at: Timestamp,
    _landing: InFlightGuard,
}

/// A pending request, and what will be answered once its transaction has an id.
pub struct KeyedResponse<'a> {
    pub pending: &'a Pending,
    pub answer: &'a (dyn Fn(TransactionId) -> Answer + Sync),
    /// Adds rows of the caller that become durable with the transaction, such as its approval.
    pub with: Option<&'a AddRows<'a>>,
}

/// Adds rows and conditions to the commit that stores a transaction.
pub type AddRows<'a> = dyn Fn(&mut Batch, TransactionId) + Sync + 'a;

/// The keys of one process. Cloning gives another handle on the same ones.
#[derive(Clone)]
pub struct Idempotency {
    store: Store,
    clock: Clock,
    flights: InFlightRequests,
}

impl Idempotency {
    pub fn new(store: Store, clock: Clock) -> Self {
        Self {
            store,
            clock,
            flights: InFlightRequests::default(),
        }
    }

    /// Whether `request` is the first with its key. Waits for a twin that is being carried out, but
    /// not for long.
    ///
    /// # Errors
    /// When the store cannot be read, or what it keeps under this key is damaged.
    pub async fn begin(&self, request: &KeyedRequest) -> Result<Begin, RecordError> {
        let key = row::key(request);
        let deadline = tokio::time::Instant::now() + IDEMPOTENCY_WAIT;
        loop {
            match self.flights.board(&key) {
                Admission::First(landing) => return self.look_up(request, key, landing).await,
                Admission::Wait(mut landed) => {
                    // An error means that the twin has landed: its sender is gone.
                    if tokio::time::timeout_at(deadline, landed.changed())
                        .await
                        .is_err()
                    {
                        return Ok(Begin::InFlight);
                    }
                }
            }
        }
    }

    async fn look_up(
        &self,
        request: &KeyedRequest,
        key: Key,
        landing: InFlightGuard,
    ) -> Result<Begin, RecordError> {
        let now = self.clock.now();
        let fingerprints = Fingerprints::of(&request.fields);
        let mut stale = None;
        if let Some(stored) = self.store.get(Table::Idempotency, &key).await? {
            let row = Row::read(&stored).ok_or_else(|| damaged(request))?;
            if row.expires_at > now {
                return Ok(match row.fingerprints.first_difference(&fingerprints) {
                    Some(field) => Begin::Differs(field),
                    None => Begin::Replay(row.answer()),
                });
            }
            stale = Some((stored, row.expires_at));
        }
        let kept = match request.environment {
            Environment::Live => IDEMPOTENCY_LIVE,
            Environment::Sandbox => IDEMPOTENCY_SANDBOX,
        };
        Ok(Begin::First(Pending {
            key,
            fingerprints,
            stale,
            expires_at: now.plus(kept),
            _landing: landing,
        }))
    }
}

impl KeyedResponse<'_> {
    /// Adds the row with the response for `id`, the check that the row does not exist, and the rows
    /// of the caller.
    pub fn keep(&self, batch: &mut Batch, id: TransactionId) {
        let pending = self.pending;
        match &pending.stale {
            None => batch.require_absent(Table::Idempotency, &pending.key),
            Some((stale, at)) => {
                batch.require_value(Table::Idempotency, &pending.key, stale);
                // So that the only time that is written down for a row is its own, should it ever
                // not be readable.
                batch.delete(Table::Idempotency, row::expiry_key(*at, &pending.key));
            }
        }
        if let Some(add) = self.with {
            add(batch, id);
        }
        let row = Row::new((self.answer)(id), &pending.fingerprints, pending.expires_at);
        batch.put(Table::Idempotency, &pending.key, row.write());
        batch.put(
            Table::Idempotency,
            row::expiry_key(pending.expires_at, &pending.key),
            [],
        );
    }

    /// Whether another process has kept an answer under this key since this request began.
    pub async fn was_overtaken(&self, store: &Store) -> Result<bool, StoreError> {
        let stored = store.get(Table::Idempotency, &self.pending.key).await?;
        let stale = self.pending.stale.as_ref().map(|(stale, _)| stale);
        Ok(stored.as_ref() != stale)
    }
}

/// Keys are the merchant's own, and may stand in a log.
fn damaged(request: &KeyedRequest) -> RecordError {
    RecordError::Damaged {
        what: "idempotency key",
        id: request.key.clone(),
    }
}
