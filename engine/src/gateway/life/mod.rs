//! The life of a gateway: how one comes, is followed by its next version, goes back, rests and leaves, while payments flow.
//!
//! What it promises:
//! - The engine's own copies, by their hash, and one record for each gateway are the truth. The operator's files are only where
//!   versions come from: a restart comes back with the versions that were current, whatever lies in the folder then.
//! - A change is durable before it takes effect, and says who made it, when and why.
//! - A version is taken on by consent only: its hash is pinned, an operator said yes to this very file, or development mode takes
//!   the folder as a yes.
//! - Nothing is ever unloaded. Attempts end on the version that they began on, also after an upgrade, a roll back and a removal.
//!
//! One file an operation. [`record`] holds what a change does to a record, and is pure.

mod add;
mod change;
mod drain;
mod error;
mod folder;
mod incoming;
mod propose;
mod quarantine;
mod record;
mod remove;
mod restart;
mod restore;
mod rollback;
mod rows;
mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub use self::add::Consent;
pub use self::change::{Change, What};
pub use self::error::LifeError;
pub use self::folder::{FolderFile, FolderWatch, Notice};
pub use self::incoming::Incoming;
pub use self::propose::Proposal;
pub use self::record::{Kept, Record};
pub use self::show::{Count, Overview, State, VersionView};
use crate::clock::Timestamp;
use crate::store::Store;

/// Who wants a change, and why.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    pub who: &'a str,
    pub why: Option<&'a str>,
}

impl<'a> By<'a> {
    pub const fn new(who: &'a str) -> Self {
        Self { who, why: None }
    }

    pub(super) const fn because(who: &'a str, why: &'a str) -> Self {
        Self {
            who,
            why: Some(why),
        }
    }
}

/// All that is known of gateways besides the loaded versions themselves.
#[derive(Default)]
pub(super) struct Life {
    /// None: nothing is kept over the end of the process, as in tests of the host alone.
    store: OnceLock<Store>,
    /// Held by whoever changes something: changes happen one after the other.
    changing: tokio::sync::Mutex<()>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    records: BTreeMap<String, Record>,
    /// Hashes that an operator trusts beforehand.
    pins: BTreeMap<String, Pin>,
    folder: Option<PathBuf>,
    files: BTreeMap<String, folder::Known>,
}

/// A hash that may come without a question.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pin {
    pub sha256: String,
    pub by: String,
    pub at: Timestamp,
}

impl Life {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, name: &str) -> Option<Record> {
        self.book().records.get(name).cloned()
    }

    fn found(&self, name: &str) -> Result<Record, LifeError> {
        let missing = || LifeError::NotFound(name.to_owned());
        self.record(name).ok_or_else(missing)
    }

    /// Makes a changed record durable, and only then the one that holds.
    async fn keep(&self, record: Record) -> Result<(), LifeError> {
        if let Some(store) = self.store.get() {
            rows::write(store, &record).await?;
        }
        self.book().records.insert(record.name.clone(), record);
        Ok(())
    }
}
