//! Decides which mail goes next, and writes what became of it. The queue is in the store; in here is what is on its way.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::Shared;
use super::letter::{self, Letter, Posted};
use super::policy::{Attempted, Verdict, verdict};
use super::render;
use super::streak::Line;
use crate::actors::{Door, Work};
use crate::clock::Timestamp;
use crate::directory::{Directory, MethodKind};
use crate::limits;
use crate::planted::{Fault, is_planted};
use crate::store::{Batch, CommitError, Direction, Table};

/// Something that the post has to hear of.
pub enum News {
    /// There is a new mail, or a time has come.
    Look,
    /// The mail with this key is back, one way or the other.
    Ended { key: Vec<u8> },
}

pub(super) struct Post {
    shared: Arc<Shared>,
    /// Where its own news come in.
    door: Door<Self>,
    in_flight: BTreeSet<Vec<u8>>,
    /// Rows that cannot be read. They stay where they are, for whoever repairs the store.
    unreadable: BTreeSet<Vec<u8>>,
    /// Nothing that is not on its way lies before this time, as far as we were told: where reading begins, since a store steps slowly over
    /// rows that are gone. Whoever measures the queue tells of what nobody else told us of.
    low: Timestamp,
    last_measured: Option<Timestamp>,
    started: u64,
}

/// How the post is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailSnapshot {
    pub in_flight: usize,
    /// Attempts begun since the start.
    pub started: u64,
    /// Where the next look at the queue begins.
    pub reads_from: Timestamp,
}

impl Post {
    pub(super) fn new(shared: Arc<Shared>, door: Door<Self>) -> Self {
        Self {
            shared,
            door,
            in_flight: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            low: Timestamp::default(),
            last_measured: None,
            started: 0,
        }
    }

    /// Sends what is due, as much as there is room for. Answers when the next one will be.
    async fn send_due(&mut self, now: Timestamp) -> Option<Timestamp> {
        let limit = ROOM + self.in_flight.len() + self.unreadable.len();
        let start = letter::from(self.low);
        let rows = self
            .shared
            .store
            .scan(
                Table::Outbox,
                &start,
                &letter::end(),
                Direction::Forward,
                limit,
            )
            .await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                tracing::error!(%error, "The mails in the outbox cannot be read; trying again.");
                return Some(now.plus(REST));
            }
        };
        let seen_to = rows.last().filter(|_| rows.len() == limit);
        self.low = seen_to.and_then(|(key, _)| letter::due(key)).unwrap_or(now);
        let mut next_due = None;
        for (key, value) in rows {
            let Some(due) = letter::due(&key) else {
                continue;
            };
            if due > now {
                next_due = Some(due);
                self.low = self.low.min(due);
                break;
            }
            if self.in_flight.contains(&key) || self.unreadable.contains(&key) {
                continue;
            }
            if self.in_flight.len() >= ROOM {
                self.low = self.low.min(due);
                break; // whatever comes back makes room and looks again
            }
            match Letter::read(&value) {
                Ok(letter) => self.start(key, value, letter),
                Err(error) => {
                    tracing::error!(%error, "A mail in the outbox is skipped: it cannot be read.");
                    self.unreadable.insert(key);
                }
            }
        }
        next_due
    }

    fn start(&mut self, key: Vec<u8>, value: Vec<u8>, letter: Letter) {
        self.in_flight.insert(key.clone());
        self.started += 1;
        let (shared, door, away) = (
            self.shared.clone(),
            self.door.clone(),
            self.shared.away.one_more(),
        );
        self.shared.runtime.spawn(async move {
            let sent = AssertUnwindSafe(send(&shared, &key, &value, letter))
                .catch_unwind()
                .await;
            drop(away);
            if sent.is_err() {
                metrics::counter!("switchyard_actor_panics_total", "actor" => "mail").increment(1);
                tracing::error!("Sending a mail panicked; it is tried again later.");
                tokio::time::sleep(REST).await;
            }
            door.tell(News::Ended { key }).await;
        });
    }
}

impl Work for Post {
    type News = News;
    type Snapshot = MailSnapshot;
    const NAME: &'static str = "mail";
    const MAILBOX: usize = limits::MAIL_MAILBOX;
    const LOOK: News = News::Look;

    fn snapshot(&self) -> MailSnapshot {
        MailSnapshot {
            in_flight: self.in_flight.len(),
            started: self.started,
            reads_from: self.low,
        }
    }

    async fn take_in(&mut self, news: News) -> Option<Timestamp> {
        let mut told = self.shared.told().take();
        if let News::Ended { key } = news {
            self.in_flight.remove(&key);
            // It may still be there: then it is tried again. Its next try is later than this one in any case.
            told = told.into_iter().chain(letter::due(&key)).min();
        }
        self.low = told.map_or(self.low, |told| self.low.min(told));
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

/// Counts the mails that wait, measures the age of the oldest, and tells the post where they begin.
async fn measure(shared: Arc<Shared>) {
    let Ok(_only) = shared.measuring.try_lock() else {
        return; // an earlier walk through a long queue is still under way
    };
    let (mut from, end) = (letter::from(Timestamp::default()), letter::end());
    let (mut depth, mut oldest, mut first) = (0_u32, None::<Timestamp>, None);
    loop {
        let rows = shared
            .store
            .scan(Table::Outbox, &from, &end, Direction::Forward, CHUNK)
            .await;
        let Ok(rows) = rows else {
            return; // who sends them says so
        };
        for (_, value) in &rows {
            depth = depth.saturating_add(1);
            if let Ok(letter) = Letter::read(value) {
                let at = letter.enqueued_at;
                oldest = Some(oldest.map_or(at, |oldest| oldest.min(at)));
            }
        }
        first = first.or_else(|| rows.first().and_then(|(key, _)| letter::due(key)));
        match rows.last() {
            Some((last, _)) if rows.len() == CHUNK => from = [&last[..], &[0]].concat(),
            _ => break,
        }
    }
    let age = oldest.map_or(Duration::ZERO, |at| shared.clock.now().since(at));
    metrics::gauge!("switchyard_outbox_depth", "kind" => "mail").set(f64::from(depth));
    metrics::gauge!("switchyard_outbox_oldest_seconds", "kind" => "mail").set(age.as_secs_f64());
    if let Some(first) = first {
        shared.nudge(first);
    }
}

/// The letter with the method's name in place of its code: of a payment the name on its pages, of a
/// payout, which has no pages, the name with its country.
fn with_names(letter: &Letter, directory: &Directory) -> Letter {
    let kind = if letter.is_payment() {
        MethodKind::Payment
    } else {
        MethodKind::Payout
    };
    let name = |code: &String| {
        let known = directory.method(kind, code)?;
        Some(match kind {
            MethodKind::Payment => known.name_in(letter.language).to_owned(),
            MethodKind::Payout => known.name_with_country(letter.language),
        })
    };
    let method = letter.method.as_ref();
    Letter {
        method: method.map(|code| name(code).unwrap_or_else(|| code.clone())),
        ..letter.clone()
    }
}

async fn send(shared: &Shared, key: &[u8], value: &[u8], mut letter: Letter) {
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
            count(Attempted::Refused);
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
            // A conflict: somebody else took the row. It was sent; there is nothing left to write.
            Ok(()) | Err(CommitError::Conflict) => return,
            Err(CommitError::Unavailable { .. }) if shared.is_stopping() => return,
            Err(CommitError::Unavailable { reason }) => {
                tracing::warn!(reason, mail.id = %letter.id, "The store takes no writes; a mail's outcome waits for it.");
                tokio::time::sleep(STORE_PATIENCE).await;
            }
        }
    }
}

/// Logs the outcome of a mail; of many that fail one after the other only the first.
fn log(shared: &Shared, letter: &Letter, verdict: Verdict, why: Option<&str>) {
    let line = match verdict {
        Verdict::Sent => shared.streak.sent(),
        Verdict::Retry { .. } => shared.streak.failed(false),
        Verdict::Failed => shared.streak.failed(true),
    };
    let (id, transaction) = (letter.id, letter.transaction);
    match line {
        Some(Line::Failing) => {
            tracing::warn!(mail.id = %id, transaction.id = %transaction, why, "failed to send mail");
        }
        Some(Line::GivingUp) => {
            tracing::warn!(mail.id = %id, transaction.id = %transaction, why, "mail abandoned");
        }
        Some(Line::Recovered { failures }) => tracing::info!(failures, "mails sent again"),
        None if why.is_some() => {
            tracing::debug!(mail.id = %id, transaction.id = %transaction, why, "failed to send mail");
        }
        None => {}
    }
}

fn batch(
    shared: &Shared,
    key: &[u8],
    value: &[u8],
    letter: &Letter,
    verdict: Verdict,
    why: Option<String>,
) -> Batch {
    let mut batch = Batch::new();
    batch.require_value(Table::Outbox, key, value);
    batch.delete(Table::Outbox, key);
    if is_planted(Fault::MailRepeated) {
        let due = shared.clock.now().plus(Duration::from_secs(60 * 60));
        batch.put(Table::Outbox, letter::key(due, letter.id), value);
        return batch;
    }
    if let Verdict::Retry { due } = verdict {
        batch.put(
            Table::Outbox,
            letter::key(due, letter.id),
            letter::json(letter),
        );
        return batch;
    }
    let posted = Posted {
        letter: letter.clone(),
        is_sent: verdict == Verdict::Sent,
        at: shared.clock.now(),
        why,
    };
    let key = letter::posted_key(letter.environment, Some(letter.id));
    batch.put(Table::Delivery, key, letter::json(&posted));
    batch
}

fn count(attempted: Attempted) {
    let outcome = match attempted {
        Attempted::Sent => "sent",
        Attempted::Troubled => "troubled",
        Attempted::Refused => "refused",
    };
    metrics::counter!("switchyard_mail_attempts_total", "outcome" => outcome).increment(1);
}

/// Mails on their way at a time. A mail server that takes fewer answers slowly, and that is that.
const ROOM: usize = 8;
/// Mails read at once when they are counted.
const CHUNK: usize = 1_000;
/// How often the whole queue is walked through.
const MEASURE: Duration = Duration::from_secs(60);
/// How long a mail rests whose sending broke, or a queue that cannot be read.
const REST: Duration = Duration::from_secs(30);
/// How long an outcome waits before it is written again to a store that takes no writes.
const STORE_PATIENCE: Duration = Duration::from_secs(1);
