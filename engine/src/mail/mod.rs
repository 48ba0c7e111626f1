//! Mails about the end of a transaction: to the merchant about every outcome, to the customer about a successful payment (decisions 7).
//! Mails about a case: to the merchant, and to the customer about money that did not pay for the
//! order as asked.
//!
//! Promises: a mail is put into the outbox in the commit that ends the transaction, with everything it will say; it is sent at least once
//! or given up visibly after two days; webhooks and payments never wait for it. In sandbox all go to the merchant, who also gets the
//! customer's mail as a preview, and all say SANDBOX.
//! Without an SMTP server development mode writes `.eml` files, and otherwise there are no mails.
//!
//! It leaves out bounces: nobody reads what comes back to the sender's address.

#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod letter;
mod news;
mod policy;
mod post;
mod render;
mod streak;
#[cfg(test)]
mod tests;
mod transport;
mod words;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use actix::ArbiterHandle;
use tokio::runtime::Handle;
use tokio::sync::watch;

pub use self::letter::{Letter, Money, Posted, Recipient, enqueue};
pub use self::news::MoneyNews;
pub use self::post::MailSnapshot;
use self::post::Post;
use self::streak::FailureStreak;
use self::transport::Transport;
use crate::actors::{Away, Door, Setting, start_desk};
use crate::clock::{Clock, Timestamp};
use crate::directory::Directory;
use crate::environment::Environment;
use crate::ids::MailId;
use crate::secret::Secret;
use crate::store::{Batch, Direction, Store, StoreError, Table};

/// What an operator decides about mails.
#[derive(Clone, Debug, Default)]
pub struct MailSettings {
    /// `smtps://user:password@host`, or `smtp://host:port?tls=required`.
    pub smtp_url: Option<Secret<String>>,
    /// Who mails come from: `Switchyard <no-reply@pay.example.com>`.
    pub from: String,
    /// Where mails are written as files when there is no SMTP server: development mode.
    pub folder: Option<PathBuf>,
}

/// Mails cannot be sent with these settings.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("mail.from cannot be used: write it like `Switchyard <no-reply@pay.example.com>`")]
    From(#[source] render::RenderError),
    #[error(transparent)]
    Transport(#[from] transport::TransportError),
}

/// A handle on the mail room. Cloning gives another one.
#[derive(Clone)]
pub struct Mails(Option<Arc<Shared>>);

/// What the mail room works with.
pub struct Equipment {
    pub store: Store,
    pub clock: Clock,
    /// Where methods have their names.
    pub directory: Arc<Directory>,
    /// The service's name, as people read it.
    pub service: String,
    /// Where payers reach this installation, without a slash at its end.
    pub public_url: String,
    pub settings: MailSettings,
}

struct Shared {
    store: Store,
    clock: Clock,
    directory: Arc<Directory>,
    installation: render::Installation,
    transport: Transport,
    runtime: Handle,
    /// The earliest time of a mail that was added and that the actor has not heard of: a look is in its mailbox.
    told: Mutex<Option<Timestamp>>,
    /// Held while the queue is being counted.
    measuring: tokio::sync::Mutex<()>,
    /// Failures since the last mail that was sent, so that the log has one line for many.
    streak: FailureStreak,
    away: Away,
    stopping: watch::Sender<bool>,
    desk: OnceLock<Door<Post>>,
}

impl Mails {
    /// Starts the actor on `arbiter`, and sends what was left unsent. Call it on the tokio runtime that shall do the sending. With neither
    /// a server nor a folder there are no mails, and this says so in the log.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub fn start(with: Equipment, arbiter: &ArbiterHandle) -> Result<Self, MailError> {
        #[cfg(feature = "simulation")]
        if let Some(line) = crate::simulation::line() {
            return Self::start_through(Transport::Simulated(line), with, arbiter);
        }
        let transport = match (&with.settings.smtp_url, &with.settings.folder) {
            (Some(url), _) => Transport::smtp(url)?,
            (None, Some(folder)) => {
                tracing::info!(folder = %folder.display(), "No SMTP server is set: mails are written to files.");
                Transport::files(folder)?
            }
            (None, None) => {
                tracing::warn!("No SMTP server is set (mail.smtp_url): no mails are sent.");
                return Ok(Self(None));
            }
        };
        Self::start_through(transport, with, arbiter)
    }

    fn start_through(
        transport: Transport,
        with: Equipment,
        arbiter: &ArbiterHandle,
    ) -> Result<Self, MailError> {
        let shared = Arc::new(Shared {
            installation: render::Installation {
                sender: render::sender(&with.settings.from).map_err(MailError::From)?,
                service: with.service,
                public_url: with.public_url,
            },
            store: with.store,
            clock: with.clock,
            directory: with.directory,
            transport,
            runtime: Handle::current(),
            told: Mutex::default(),
            measuring: tokio::sync::Mutex::default(),
            streak: FailureStreak::default(),
            away: Away::default(),
            stopping: watch::channel(false).0,
            desk: OnceLock::new(),
        });
        let setting = Setting {
            arbiter,
            clock: shared.clock.clone(),
            stopping: shared.stopping.subscribe(),
        };
        let for_desk = shared.clone();
        let desk = start_desk(setting, move |door| Post::new(for_desk, door));
        desk.look();
        let _ = shared.desk.set(desk);
        Ok(Self(Some(shared)))
    }

    /// Whether mails go anywhere. If not, none need be put into the outbox.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Says that there is a new mail in the outbox, due at `due`; after the commit.
    pub fn nudge(&self, due: Timestamp) {
        if let Some(shared) = &self.0 {
            shared.nudge(due);
        }
    }

    /// How the post is; `None` when there are no mails, or it has stopped.
    pub async fn snapshot(&self) -> Option<MailSnapshot> {
        self.0.as_ref()?.desk.get()?.snapshot().await
    }

    /// Begins nothing new and waits for what is on its way, for so long at most.
    pub async fn stop(&self, grace: Duration) {
        let Some(shared) = &self.0 else { return };
        shared.stopping.send_replace(true);
        shared.away.all_back(grace).await;
    }
}

impl Shared {
    fn nudge(&self, due: Timestamp) {
        let Some(desk) = self.desk.get() else { return };
        let before = {
            let mut told = self.told();
            let earliest = told.map_or(due, |before| before.min(due));
            told.replace(earliest)
        };
        if before.is_none() {
            desk.look();
        }
    }

    fn told(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Mails that were sent or given up, newest first.
pub async fn posted(
    store: &Store,
    environment: Environment,
    limit: usize,
) -> Result<Vec<Posted>, StoreError> {
    let start = letter::posted_key(environment, None);
    let end = crate::store::prefix_end(&start);
    let rows = store
        .scan(Table::Delivery, &start, &end, Direction::Backward, limit)
        .await?;
    // What cannot be read is not shown: a list with a gap is of more use than none.
    Ok(rows
        .iter()
        .filter_map(|(_, value)| serde_json::from_slice(value).ok())
        .collect())
}

/// Deletes what is known of sandbox mails that ended before `before`. Says how many went.
pub async fn purge(store: &Store, before: Timestamp) -> Result<u64, StoreError> {
    let start = letter::posted_key(Environment::Sandbox, None);
    let millis = u64::try_from(before.as_millis()).unwrap_or(0);
    let last = MailId::new(ulid::Ulid::from_parts(millis, 0));
    let end = letter::posted_key(Environment::Sandbox, Some(last));
    let mut gone = 0;
    loop {
        let rows = store
            .scan(Table::Delivery, &start, &end, Direction::Forward, PURGE)
            .await?;
        let mut batch = Batch::new();
        for (key, _) in &rows {
            batch.delete(Table::Delivery, key);
        }
        // A store that takes no writes is left for the next purge.
        if rows.is_empty() || store.commit(batch).await.is_err() {
            return Ok(gone);
        }
        gone += rows.len() as u64;
    }
}

impl Shared {
    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }
}

/// Rows deleted in one commit.
const PURGE: usize = 200;
