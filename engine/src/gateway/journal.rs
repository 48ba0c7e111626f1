//! What left the house, and what came back: one row for each exchange with a provider, without its secrets.
//!
//! A request that can move money is written down durably before its first byte leaves, and again when it is answered. So after a
//! crash the rows of an attempt prove what cannot have happened: no such row, nothing sent. Requests that only read are written
//! after the call, all at once. A call without requests writes nothing.
//!
//! Calls of one attempt overlap: a query and a callback, say, or two queries at one moment. Each counts its exchanges by itself, so a row's
//! key says besides its number when the exchange began, of which operation and of which call, and no call writes over another's rows.

pub(crate) mod rules;

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway::wire::{EffectError, HttpRequest, HttpResponse, Sent};

pub use self::rules::{Recovered, Stage};
use self::rules::{Row, Tally};
use super::redact::Redactor;
use crate::clock::Timestamp;
use crate::ids::{AttemptId, TransactionId};
use crate::planted::{Fault, is_planted};
use crate::store::{Batch, CommitError, Direction, Store, StoreError, Table};
use crate::transaction::Attempt;

/// Where a call writes down its exchanges.
#[derive(Clone)]
pub struct Journal {
    pub store: Store,
    pub transaction: TransactionId,
    pub attempt: AttemptId,
}

/// One exchange with a provider, as it is kept and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub at: Timestamp,
    pub gateway: String,
    pub operation: String,
    pub method: String,
    pub url: String,
    pub request_headers: Vec<(String, String)>,
    pub request_body: Option<String>,
    /// Can it have moved money?
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

impl Exchange {
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

/// Reads the journal of an attempt whose call did not come to its end.
pub async fn recover(
    store: &Store,
    transaction: TransactionId,
    attempt: AttemptId,
) -> Result<Recovered, StoreError> {
    let rows = exchanges(store, transaction, attempt).await?;
    Ok(rules::recovered(rows.iter().map(Exchange::row)))
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
    let state = match store.get(Table::Journal, key.as_bytes()).await {
        Ok(None) => return Ok(None),
        Ok(Some(row)) => serde_json::from_slice(&row).ok(),
        Err(StoreError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(Some(state.unwrap_or_else(|| {
        tracing::error!(
            transaction.id = %transaction,
            attempt.id = %attempt,
            "the gateway's state of this attempt is damaged: settle the attempt by hand"
        );
        Attempt::lost_state()
    })))
}

/// The exchanges of one attempt, in the order in which they began.
pub async fn exchanges(
    store: &Store,
    transaction: TransactionId,
    attempt: AttemptId,
) -> Result<Vec<Exchange>, StoreError> {
    let rows = store
        .scan(
            Table::Journal,
            rows_begin(transaction, attempt).as_bytes(),
            rows_end(transaction, attempt).as_bytes(),
            Direction::Forward,
            ROWS,
        )
        .await?;
    // A row that cannot be read counts as sent: the journal only ever proves that nothing was.
    Ok(rows
        .iter()
        .map(|(_, row)| serde_json::from_slice(row).unwrap_or_else(|_| unreadable()))
        .collect())
}

/// Notes that another engine may have submitted `attempt` until a time: the one that ran on after
/// the backup from which this store was restored. Twice is as good as once.
pub fn note_unknown(
    batch: &mut Batch,
    transaction: TransactionId,
    attempt: &Attempt,
    until: Timestamp,
) {
    let exchange = Exchange {
        at: until,
        gateway: attempt.candidate.gateway.clone(),
        operation: "unknown".to_owned(),
        duration_ms: Some(0),
        error: Some("it may have been submitted after the backup of this store".to_owned()),
        ..unreadable()
    };
    let at = until.as_micros();
    let (attempt, number) = (attempt.id, 0);
    let key = format!("{transaction}/{attempt}/{number:0NUMBER_DIGITS$}-{at}-unknown");
    batch.put(Table::Journal, key, written(&exchange));
}

/// One call's pen.
pub(super) struct Scribe<'c> {
    journal: Option<&'c Journal>,
    redactor: &'c Redactor,
    gateway: &'c str,
    operation: &'static str,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    next: Option<u32>,
    /// Tells this call's rows from those of another one at the same moment.
    call: u32,
    tally: Tally,
    /// Exchanges that are written down at the next occasion.
    later: Vec<(u32, Exchange)>,
    /// A state of the attempt that is not durable yet.
    state: Option<Value>,
}

/// An exchange that has begun.
pub(super) struct Begun {
    number: u32,
    exchange: Exchange,
    since: tokio::time::Instant,
}

impl<'c> Scribe<'c> {
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
            desk: Mutex::default(),
        }
    }

    /// Can anything of this call have moved money?
    /// Where this call is written down, if it is.
    pub(super) fn store(&self) -> Option<&Store> {
        self.journal.map(|journal| &journal.store)
    }

    pub(super) fn maybe_sent(&self) -> bool {
        self.desk().tally.may_have_left()
    }

    /// Is a request that can move money being sent now?
    pub(super) fn is_out(&self) -> bool {
        self.desk().tally.is_out()
    }

    /// Says which call this is, by anything that another one of the attempt has not.
    pub(super) fn name_call(&self, call: u32) {
        self.desk().call = call;
    }

    /// The attempt's state has changed; it is durable before the next request that can move money.
    pub(super) fn keep_state(&self, state: &Value) {
        self.desk().state = Some(state.clone());
    }

    /// Before a request leaves. One that can move money is durable when this returns, or does not leave.
    pub(super) async fn begin(
        &self,
        request: &HttpRequest,
        now: Timestamp,
    ) -> Result<Begun, JournalError> {
        let mutates = request.can_mutate();
        let number = self.number().await?;
        let exchange = Exchange {
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
            self.desk().tally.announce();
            if is_planted(Fault::JournalSkipped) {
                // Nothing is written down.
            } else if let Err(error) = self.write(journal, Some((number, &exchange))).await {
                self.desk().tally.withdraw();
                return Err(error.into());
            }
            self.desk().tally.leave();
        }
        Ok(Begun {
            number,
            exchange,
            since: tokio::time::Instant::now(),
        })
    }

    /// After it was answered, or was not.
    pub(super) async fn end(&self, begun: Begun, result: &Result<HttpResponse, EffectError>) {
        let Begun {
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
            self.desk().later.push((number, exchange));
            return;
        };
        self.desk().tally.end(exchange.stage);
        if is_planted(Fault::JournalSkipped) || is_planted(Fault::AnswerUnwritten) {
            return;
        }
        if let Err(error) = self.write(journal, Some((number, &exchange))).await {
            // What stands in the journal says "maybe sent", which is the safe reading of what it cannot say.
            tracing::warn!(%error, transaction.id = %journal.transaction, "an answer of a provider could not be journaled");
        }
    }

    /// What only read and is not written down anywhere: of a call that has no journal.
    pub(super) fn unwritten(&self) -> Vec<Exchange> {
        let later = std::mem::take(&mut self.desk().later);
        later.into_iter().map(|(_, exchange)| exchange).collect()
    }

    /// Writes down what only read, with what the last of it meant. Without any, writes nothing.
    pub(super) async fn finish(&self, meaning: Option<String>) {
        let Some(journal) = self.journal else { return };
        match self.desk().later.last_mut() {
            None => return,
            Some((_, last)) => last.meaning = meaning,
        }
        if let Err(error) = self.write(journal, None).await {
            tracing::warn!(%error, transaction.id = %journal.transaction, "exchanges that only read could not be journaled");
        }
    }

    /// Numbers go on where earlier calls of the attempt stopped.
    async fn number(&self) -> Result<u32, JournalError> {
        if self.desk().next.is_none() {
            let next = match self.journal {
                Some(journal) => journal.next().await?,
                None => 0,
            };
            // Another effect of this call may have looked meanwhile, and counted on.
            self.desk().next.get_or_insert(next);
        }
        let mut desk = self.desk();
        let number = desk.next.unwrap_or(0);
        desk.next = Some(number + 1);
        Ok(number)
    }

    async fn write(
        &self,
        journal: &Journal,
        row: Option<(u32, &Exchange)>,
    ) -> Result<(), CommitError> {
        let (later, state, call) = {
            let mut desk = self.desk();
            let later = std::mem::take(&mut desk.later);
            (later, desk.state.take(), desk.call)
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
            // A newer state is not pushed out by an older one.
            let mut desk = self.desk();
            desk.state = desk.state.take().or(state);
        }
        result
    }

    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// Adds exchanges that only read and were made before it was known what they were about. `call`: as for [`Scribe::name_call`].
    pub(crate) async fn add(&self, call: u32, exchanges: &[Exchange]) -> Result<(), CommitError> {
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
        let last = self
            .store
            .scan(
                Table::Journal,
                rows_begin(self.transaction, self.attempt).as_bytes(),
                rows_end(self.transaction, self.attempt).as_bytes(),
                Direction::Backward,
                1,
            )
            .await?;
        let number = last
            .first()
            .and_then(|(key, _)| {
                key.rsplit(|byte| *byte == b'/')
                    .next()?
                    .get(..NUMBER_DIGITS)
            })
            .and_then(|number| std::str::from_utf8(number).ok()?.parse::<u32>().ok());
        Ok(number.map_or(0, |number| number + 1))
    }
}

/// Why a request that can move money did not leave.
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

/// The number comes first: rows sort as they began, those of before this key had a moment or a call in it included.
fn row_key(journal: &Journal, number: u32, call: u32, exchange: &Exchange) -> String {
    let Journal {
        transaction,
        attempt,
        ..
    } = journal;
    let (at, operation) = (exchange.at.as_micros(), &exchange.operation);
    format!("{transaction}/{attempt}/{number:0NUMBER_DIGITS$}-{at}-{operation}-{call:08x}")
}

fn rows_begin(transaction: TransactionId, attempt: AttemptId) -> String {
    format!("{transaction}/{attempt}/0")
}

/// Sorts behind all numbers and before the state.
fn rows_end(transaction: TransactionId, attempt: AttemptId) -> String {
    format!("{transaction}/{attempt}/:")
}

fn state_key(transaction: TransactionId, attempt: AttemptId) -> String {
    format!("{transaction}/{attempt}/state")
}

fn written(row: &impl Serialize) -> Vec<u8> {
    // Texts, numbers and JSON values, which always can be written; an empty row would read as "maybe sent".
    serde_json::to_vec(row).unwrap_or_default()
}

fn unreadable() -> Exchange {
    Exchange {
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
/// Rows of one attempt that are read at once: hourly queries for days are some hundred.
const ROWS: usize = 10_000;

#[cfg(test)]
mod tests;
