//! Journal of exchanges with providers: one row for each exchange, with its secrets redacted.
//!
//! A request that can move money is written durably before its first byte is sent, and again after
//! its response. So after a crash the rows of an attempt prove what cannot have happened: no such
//! row, nothing sent. Requests that only read are written after the call, in one batch. A call
//! without requests writes nothing.
//!
//! Calls of one attempt overlap: for instance a query and a callback, or two concurrent queries.
//! Each call numbers its exchanges independently. So the key of a row contains, besides the number,
//! the start time, the operation and the call of the exchange, and no call overwrites the rows of
//! another.

mod erase;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway::wire::{EffectError, HttpRequest, HttpResponse, Sent};

use switchyard_core::journal::{self as rules, Row, Tally};
pub use switchyard_core::journal::{Recovered, Stage};

pub use self::erase::{erase_calls, origin_of};

use super::redact::Redactor;
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Attempt;
use switchyard_store::{Batch, CommitError, Direction, Key, KeyRange, Store, StoreError, Table};

/// Place in the store where a call journals its exchanges.
#[derive(Clone)]
pub struct Journal {
    pub store: Store,
    pub transaction: TransactionId,
    pub attempt: AttemptId,
}

/// One exchange with a provider, as stored and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderCall {
    pub at: Timestamp,
    pub gateway: String,
    pub operation: String,
    pub method: String,
    pub url: String,
    pub request_headers: Vec<(String, String)>,
    pub request_body: Option<String>,
    /// Whether it can have moved money.
    pub mutates: bool,
    pub stage: Stage,
    pub status: Option<u16>,
    pub response_headers: Vec<(String, String)>,
    pub response_body: Option<String>,
    pub error: Option<String>,
    pub duration_ms: Option<u64>,
    /// Meaning of the answer for the attempt, where the answer does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
}

impl ProviderCall {
    /// Row as the rules read it. An exchange without an operation stands for an unreadable row.
    pub(super) fn row(&self) -> Row {
        Row {
            at: self.at,
            ended_at: self
                .duration_ms
                .map(|lasted| self.at.plus(std::time::Duration::from_millis(lasted))),
            mutates: self.mutates,
            stage: self.stage,
            is_readable: !self.operation.is_empty(),
        }
    }
}

/// Reads the journal of an attempt whose call was interrupted.
pub async fn recover(
    store: &Store,
    transaction: TransactionId,
    attempt: AttemptId,
) -> Result<Recovered, StoreError> {
    let rows = provider_calls(store, transaction, attempt).await?;
    Ok(rules::recovered(rows.iter().map(ProviderCall::row)))
}

/// The attempt's state as it was when its last request that could move money left; `None` when the
/// journal has none. A damaged row gives [`Attempt::lost_state`]: it may name where the money went,
/// and without it a gateway may find nothing where there is something.
pub async fn recovered_state(
    store: &Store,
    transaction: TransactionId,
    attempt: AttemptId,
) -> Result<Option<Value>, StoreError> {
    let key = state_key(transaction, attempt);
    let state = match store.get(Table::Journal, &key).await {
        Ok(None) => return Ok(None),
        Ok(Some(row)) => serde_json::from_slice(&row).ok(),
        Err(StoreError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(Some(state.unwrap_or_else(|| {
        tracing::error!(
            transaction.id = %transaction,
            attempt.id = %attempt,
            "stored gateway state of an attempt is damaged"
        );
        Attempt::lost_state()
    })))
}

/// Returns the exchanges of one attempt, in the order in which they began.
pub async fn provider_calls(
    store: &Store,
    transaction: TransactionId,
    attempt: AttemptId,
) -> Result<Vec<ProviderCall>, StoreError> {
    let range = rows_of(transaction, attempt);
    let rows = store
        .scan(
            Table::Journal,
            range.from(),
            range.to(),
            Direction::Forward,
            ROWS,
        )
        .await?;
    // An unreadable row counts as sent: the journal only proves that nothing was sent.
    Ok(rows
        .iter()
        .map(|(_, row)| serde_json::from_slice(row).unwrap_or_else(|_| unreadable()))
        .collect())
}

/// Notes that another engine may have submitted `attempt` until a time: the engine that continued
/// after the backup from which this store was restored. Idempotent.
pub fn note_unknown(
    batch: &mut Batch,
    transaction: TransactionId,
    attempt: &Attempt,
    until: Timestamp,
) {
    let exchange = ProviderCall {
        at: until,
        gateway: attempt.candidate.gateway.clone(),
        operation: "unknown".to_owned(),
        duration_ms: Some(0),
        error: Some("it may have been submitted after the backup of this store".to_owned()),
        ..unreadable()
    };
    let (at, number) = (until.as_micros(), 0);
    let key = of_attempt(transaction, attempt.id)
        .child(format_args!("{number:0NUMBER_DIGITS$}-{at}-unknown"));
    batch.put(Table::Journal, key, written(&exchange));
}

/// Writes the journal rows of one call.
pub(super) struct JournalWriter<'c> {
    journal: Option<&'c Journal>,
    redactor: &'c Redactor,
    gateway: &'c str,
    operation: &'static str,
    buffer: Mutex<CallBuffer>,
}

#[derive(Default)]
struct CallBuffer {
    next: Option<u32>,
    /// Distinguishes the rows of this call from those of a concurrent one.
    call: u32,
    tally: Tally,
    /// Exchanges to write with the next batch.
    later: Vec<(u32, ProviderCall)>,
    /// State of the attempt that is not durable yet.
    state: Option<Value>,
}

/// Provider call that has begun.
pub(super) struct OpenCall {
    number: u32,
    exchange: ProviderCall,
    since: tokio::time::Instant,
}

impl<'c> JournalWriter<'c> {
    pub(super) fn new(
        journal: Option<&'c Journal>,
        redactor: &'c Redactor,
        gateway: &'c str,
        operation: &'static str,
    ) -> Self {
        Self {
            journal,
            redactor,
            gateway,
            operation,
            buffer: Mutex::default(),
        }
    }

    /// Store of the journal; `None` if this call has no journal.
    pub(super) fn store(&self) -> Option<&Store> {
        self.journal.map(|journal| &journal.store)
    }

    /// Whether a request of this call can have moved money.
    pub(super) fn maybe_sent(&self) -> bool {
        self.buffer().tally.may_have_left()
    }

    /// Whether a request that can move money is being sent now.
    pub(super) fn is_sending(&self) -> bool {
        self.buffer().tally.is_sending()
    }

    /// Sets the number of this call, which differs from those of other calls of the attempt.
    pub(super) fn name_call(&self, call: u32) {
        self.buffer().call = call;
    }

    /// Saves a changed state of the attempt. It is durable before the next request that can move
    /// money is sent.
    pub(super) fn save_state(&self, state: &Value) {
        self.buffer().state = Some(state.clone());
    }

    /// Journals a request before it is sent. If it can move money, its row is durable when this
    /// returns; on an error the request must not be sent.
    pub(super) async fn begin(
        &self,
        request: &HttpRequest,
        now: Timestamp,
    ) -> Result<OpenCall, JournalError> {
        let mutates = request.can_mutate();
        let number = self.number().await?;
        let exchange = ProviderCall {
            at: now,
            gateway: self.gateway.to_owned(),
            operation: self.operation.to_owned(),
            method: request.method.clone(),
            url: self.redactor.url(&request.url),
            request_headers: self.redactor.headers(&request.headers),
            request_body: request.body.as_ref().map(|body| self.redactor.body(body)),
            mutates,
            stage: Stage::MaybeSent,
            status: None,
            response_headers: Vec::new(),
            response_body: None,
            error: None,
            duration_ms: None,
            meaning: None,
        };
        if mutates {
            let Some(journal) = self.journal else {
                return Err(JournalError::NoJournal);
            };
            self.buffer().tally.announce();
            if let Err(error) = self.write(journal, Some((number, &exchange))).await {
                self.buffer().tally.withdraw();
                return Err(error.into());
            }
            self.buffer().tally.leave();
        }
        Ok(OpenCall {
            number,
            exchange,
            since: tokio::time::Instant::now(),
        })
    }

    /// Journals the response to a request, or its failure.
    pub(super) async fn end(&self, begun: OpenCall, result: &Result<HttpResponse, EffectError>) {
        let OpenCall {
            number,
            mut exchange,
            since,
        } = begun;
        exchange.duration_ms = u64::try_from(since.elapsed().as_millis()).ok();
        match result {
            Ok(answer) => {
                exchange.status = Some(answer.status);
                exchange.response_headers = self.redactor.headers(&answer.headers);
                exchange.response_body = Some(self.redactor.body(&answer.body));
            }
            Err(error) => {
                exchange.error = Some(self.redactor.sentence(&error.message));
            }
        }
        let may_have_left = result.as_ref().err().map(|error| error.sent) != Some(Sent::No);
        exchange.stage = rules::stage(result.is_ok(), may_have_left);
        let Some(journal) = self.journal.filter(|_| exchange.mutates) else {
            self.buffer().later.push((number, exchange));
            return;
        };
        self.buffer().tally.end(exchange.stage);
        if let Err(error) = self.write(journal, Some((number, &exchange))).await {
            // The row in the journal stays "maybe sent", which is the safe interpretation.
            tracing::warn!(
                %error,
                transaction.id = %journal.transaction,
                "failed to journal a provider response"
            );
        }
    }

    /// Takes the exchanges that were not written: the read-only ones of a call without a journal.
    pub(super) fn unwritten(&self) -> Vec<ProviderCall> {
        let later = std::mem::take(&mut self.buffer().later);
        later.into_iter().map(|(_, exchange)| exchange).collect()
    }

    /// Writes the read-only exchanges, with the meaning of the last one. Writes nothing if there
    /// are none.
    pub(super) async fn finish(&self, meaning: Option<String>) {
        let Some(journal) = self.journal else { return };
        match self.buffer().later.last_mut() {
            None => return,
            Some((_, last)) => last.meaning = meaning,
        }
        if let Err(error) = self.write(journal, None).await {
            tracing::warn!(
                %error,
                transaction.id = %journal.transaction,
                "failed to journal read-only exchanges"
            );
        }
    }

    /// Next number of an exchange, after those of earlier calls of the attempt.
    async fn number(&self) -> Result<u32, JournalError> {
        if self.buffer().next.is_none() {
            let next = match self.journal {
                Some(journal) => journal.next().await?,
                None => 0,
            };
            // Another effect of this call may have set it during the read.
            self.buffer().next.get_or_insert(next);
        }
        let mut buffer = self.buffer();
        let number = buffer.next.unwrap_or(0);
        buffer.next = Some(number + 1);
        Ok(number)
    }

    async fn write(
        &self,
        journal: &Journal,
        row: Option<(u32, &ProviderCall)>,
    ) -> Result<(), CommitError> {
        let (later, state, call) = {
            let mut buffer = self.buffer();
            let later = std::mem::take(&mut buffer.later);
            (later, buffer.state.take(), buffer.call)
        };
        let mut batch = Batch::new();
        for (number, exchange) in row.into_iter().chain(later.iter().map(|(n, e)| (*n, e))) {
            let key = row_key(journal, number, call, exchange);
            batch.put(Table::Journal, key, written(exchange));
        }
        if let Some(state) = &state {
            let key = state_key(journal.transaction, journal.attempt);
            batch.put(Table::Journal, key, written(state));
        }
        let result = journal.store.commit(batch).await;
        if result.is_err() {
            // An older state must not replace a newer one.
            let mut buffer = self.buffer();
            buffer.state = buffer.state.take().or(state);
        }
        result
    }

    fn buffer(&self) -> parking_lot::MutexGuard<'_, CallBuffer> {
        self.buffer.lock()
    }
}

impl Journal {
    /// Adds read-only exchanges that were made before their attempt was known. `call`: as for
    /// [`JournalWriter::name_call`].
    pub async fn add(&self, call: u32, exchanges: &[ProviderCall]) -> Result<(), CommitError> {
        let unavailable = |error: StoreError| CommitError::Unavailable {
            reason: error.to_string(),
        };
        let first = self.next().await.map_err(unavailable)?;
        let mut batch = Batch::new();
        for (number, exchange) in (first..).zip(exchanges) {
            let key = row_key(self, number, call, exchange);
            batch.put(Table::Journal, key, written(exchange));
        }
        self.store.commit(batch).await
    }

    async fn next(&self) -> Result<u32, StoreError> {
        let range = rows_of(self.transaction, self.attempt);
        let last = self
            .store
            .scan(
                Table::Journal,
                range.from(),
                range.to(),
                Direction::Backward,
                1,
            )
            .await?;
        let number = last.first().and_then(|(key, _)| {
            let row = of_attempt(self.transaction, self.attempt).child_in(key)?;
            row.get(..NUMBER_DIGITS)?.parse::<u32>().ok()
        });
        Ok(number.map_or(0, |number| number + 1))
    }
}

/// Reason why a request that can move money was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError {
    #[error(
        "this operation has no journal, so it may not send requests that can move money: mark the request as reading only"
    )]
    NoJournal,
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Key of a row. The number comes first, so that rows sort in the order in which they began.
fn row_key(journal: &Journal, number: u32, call: u32, exchange: &ProviderCall) -> Key {
    let (at, operation) = (exchange.at.as_micros(), &exchange.operation);
    of_attempt(journal.transaction, journal.attempt).child(format_args!(
        "{number:0NUMBER_DIGITS$}-{at}-{operation}-{call:08x}"
    ))
}

/// Key range of the rows of an attempt, without its state: from the first number to the character
/// behind the digits.
fn rows_of(transaction: TransactionId, attempt: AttemptId) -> KeyRange {
    let attempt = of_attempt(transaction, attempt);
    KeyRange::between(attempt.clone().child('0'), attempt.child(':'))
}

fn state_key(transaction: TransactionId, attempt: AttemptId) -> Key {
    of_attempt(transaction, attempt).child("state")
}

fn of_attempt(transaction: TransactionId, attempt: AttemptId) -> Key {
    Key::path(transaction).child(attempt)
}

fn written(row: &impl Serialize) -> Vec<u8> {
    // Texts, numbers and JSON values can always be serialized; an empty row would count as "maybe
    // sent".
    serde_json::to_vec(row).unwrap_or_default()
}

fn unreadable() -> ProviderCall {
    ProviderCall {
        at: Timestamp::default(),
        gateway: String::new(),
        operation: String::new(),
        method: String::new(),
        url: String::new(),
        request_headers: Vec::new(),
        request_body: None,
        mutates: true,
        stage: Stage::MaybeSent,
        status: None,
        response_headers: Vec::new(),
        response_body: None,
        error: Some("this row of the journal cannot be read".into()),
        duration_ms: None,
        meaning: None,
    }
}

const NUMBER_DIGITS: usize = 10;
/// Maximum number of rows of one attempt that are read. Hourly queries for days add some hundred.
const ROWS: usize = 10_000;

#[cfg(test)]
mod tests;
