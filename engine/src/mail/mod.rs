//! Mails about the end of a transaction: to the merchant about every result, to the customer about
//! a successful payment (docs/contract/mails-and-redirect.md). Mails about a case: to the merchant,
//! and to the customer about money that did not pay for the order as asked. Mails to users of the
//! console with a link.
//!
//! Promises: a mail is put into the outbox, with its complete content, in the commit that ends the
//! transaction. It is sent at least once, or abandoned with a visible record after two days.
//! Webhooks and payments never wait for it. In sandbox all mails go to the merchant, who also gets
//! the customer's mail as a preview, and all say SANDBOX. Without an SMTP server, development mode
//! writes `.eml` files; in production there are no mails.
//!
//! Leaves out: bounces. Mails returned to the sender's address are not processed.

mod account_mail;
mod erase;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod messages;
mod news;
mod policy;
mod queue;
mod queued_mail;
mod render;
mod streak;
#[cfg(test)]
mod tests;
mod transport;
mod unattempted;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use tokio::runtime::Handle;

pub use self::account_mail::{AccountMail, AccountMailError, AccountMailReason, NewAccountMail};
pub use self::erase::{erase, waiting};
pub use self::news::MoneyNews;
use self::queue::MailQueue;
pub use self::queued_mail::{Money, OutboxMail, QueuedMail, Recipient, SentMail, enqueue};
use self::streak::FailureStreak;
use self::transport::Transport;
pub use self::transport::test_connection;
use self::unattempted::UnattemptedMails;
use crate::access::Access;
use crate::queue::{Queue, QueueContext, QueueSnapshot};
use switchyard_core::directory::Directory;
use switchyard_core::environment::Environment;
use switchyard_core::ids::MailId;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, MailTo, Transaction};
use switchyard_store::{Batch, Direction, Store, StoreError, Table};
use switchyard_system::clock::Clock;

/// Operator settings for mails.
#[derive(Clone, Debug, Default)]
pub struct MailSettings {
    /// `smtps://user:password@host`, or `smtp://host:port?tls=required`.
    pub smtp_url: Option<Secret<String>>,
    /// Sender of all mails: `Switchyard <no-reply@pay.example.com>`.
    pub from: String,
    /// Folder for mails as files when there is no SMTP server (development mode).
    pub folder: Option<PathBuf>,
}

/// Whether mails can be sent from `text`: an address, alone or between angle brackets after a name.
pub fn is_sender(text: &str) -> bool {
    !text.chars().any(char::is_control) && render::sender(text).is_ok()
}

/// Error in the mail settings.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("mail.from cannot be used: write it like `Switchyard <no-reply@pay.example.com>`")]
    From(#[source] render::RenderError),
    #[error(transparent)]
    Transport(#[from] transport::TransportError),
}

/// Handle to the mail module. Clones share the state.
#[derive(Clone)]
pub struct Mails(Option<Arc<Shared>>);

/// Dependencies of the mail module.
pub struct Dependencies {
    pub store: Store,
    /// Seals links to users.
    pub access: Access,
    pub clock: Clock,
    /// Source of the names of methods.
    pub directory: Arc<Directory>,
    /// Display name of the service.
    pub service: String,
    /// Public URL of this installation, without a slash at its end.
    pub public_url: String,
    pub settings: MailSettings,
}

struct Shared {
    store: Store,
    access: Access,
    clock: Clock,
    directory: Arc<Directory>,
    installation: render::Installation,
    transport: Transport,
    queue: Queue<MailQueue>,
    unattempted: UnattemptedMails,
    /// Failures since the last sent mail; limits the log to one line for many failures.
    streak: FailureStreak,
}

impl Mails {
    /// Starts the actor on `arbiter` and sends the queued mails. Call it on the tokio runtime that
    /// is to send them. Mails are disabled, with a log line, without a server and a folder.
    ///
    /// # Errors
    /// When the settings are invalid.
    pub fn start(with: Dependencies, arbiter: &ArbiterHandle) -> Result<Self, MailError> {
        #[cfg(feature = "simulation")]
        if let Some(line) = switchyard_system::simulation::line() {
            return Self::start_through(Transport::Simulated(line), with, arbiter);
        }
        let transport = match (&with.settings.smtp_url, &with.settings.folder) {
            (Some(url), _) => Transport::smtp(url)?,
            (None, Some(folder)) => {
                tracing::info!(
                    folder = %folder.display(),
                    "mails are written to files, no SMTP server configured"
                );
                Transport::files(folder)?
            }
            (None, None) => {
                tracing::warn!("mails are disabled, mail.smtp_url is not set");
                return Ok(Self(None));
            }
        };
        Self::start_through(transport, with, arbiter)
    }

    fn start_through(
        transport: Transport,
        with: Dependencies,
        arbiter: &ArbiterHandle,
    ) -> Result<Self, MailError> {
        let shared = Arc::new(Shared {
            installation: render::Installation {
                sender: render::sender(&with.settings.from).map_err(MailError::From)?,
                service: with.service,
                public_url: with.public_url,
            },
            store: with.store,
            access: with.access,
            clock: with.clock,
            directory: with.directory,
            transport,
            queue: Queue::default(),
            unattempted: UnattemptedMails::default(),
            streak: FailureStreak::default(),
        });
        let context = QueueContext {
            store: shared.store.clone(),
            clock: shared.clock.clone(),
            runtime: Handle::current(),
        };
        let handler = MailQueue(shared.clone());
        shared.queue.start(arbiter, context, handler);
        Ok(Self(Some(shared)))
    }

    /// Whether mails are enabled. If not, none need be put into the outbox.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a mail about `tx` is to be put into the outbox: mails are enabled, and it is not one
    /// of too many about payments that ended without an attempt.
    pub(crate) fn admits(&self, tx: &Transaction, to: MailTo, now: Timestamp) -> bool {
        let Some(shared) = &self.0 else {
            return false;
        };
        let is_about_an_end = matches!(to, MailTo::Merchant);
        let is_unattempted = match tx.kind() {
            Kind::Payment => is_about_an_end && tx.attempts.is_empty(),
            Kind::Payout => false,
        };
        !is_unattempted || shared.unattempted.admits(tx.app, now)
    }

    /// Wakes the queue actor for new mails that are due at `due`. Call it after the commit with the
    /// result of [`enqueue`].
    pub fn nudge(&self, count: usize, due: Timestamp) {
        if let Some(shared) = self.0.as_ref().filter(|_| count > 0) {
            shared
                .queue
                .depth_changed(i64::try_from(count).unwrap_or(0));
            shared.queue.wake([((), due)]);
        }
    }

    /// Snapshot of the queue actor; `None` when mails are disabled or it has stopped.
    pub async fn snapshot(&self) -> Option<QueueSnapshot> {
        self.0.as_ref()?.queue.snapshot().await
    }

    /// Starts no new sends and waits up to `grace` for those in flight.
    pub async fn stop(&self, grace: Duration) {
        let Some(shared) = &self.0 else { return };
        shared.queue.stop(grace).await;
    }
}

/// Mails that were sent or abandoned, newest first.
pub async fn posted(
    store: &Store,
    environment: Environment,
    limit: usize,
) -> Result<Vec<SentMail>, StoreError> {
    let range = queued_mail::ended(environment).range();
    let (from, to) = (range.from(), range.to());
    let rows = store
        .scan(Table::Delivery, from, to, Direction::Backward, limit)
        .await?;
    // Unreadable rows are omitted: a list with a gap is more useful than an error.
    Ok(rows
        .iter()
        .filter_map(|(_, value)| serde_json::from_slice(value).ok())
        .collect())
}

/// Deletes the records of sandbox mails that ended before `before`. Returns the number of deleted
/// rows.
pub async fn purge(store: &Store, before: Timestamp) -> Result<u64, StoreError> {
    let ended = queued_mail::ended(Environment::Sandbox);
    let millis = u64::try_from(before.as_millis()).unwrap_or(0);
    let last = MailId::new(ulid::Ulid::from_parts(millis, 0));
    let range = ended.range().ending_at(ended.with(last));
    let mut gone = 0;
    let mut pages = store.pages(Table::Delivery, range, PURGE);
    while let Some(rows) = pages.next().await? {
        let mut batch = Batch::new();
        for (key, _) in &rows {
            batch.delete(Table::Delivery, key);
        }
        // After a store error, the next purge deletes the rows.
        if store.commit(batch).await.is_err() {
            break;
        }
        gone += rows.len() as u64;
    }
    Ok(gone)
}

/// Rows per commit.
const PURGE: usize = 200;
