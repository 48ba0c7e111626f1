//! The hold: after a restore from a backup no attempt starts until an operator releases the apps.
//!
//! A restored store does not know the attempts that were made after its backup. While it is held,
//! requests are answered, providers are queried and callbacks are applied, but nothing that could
//! move money a second time begins. The hold is a row of the store: it survives restarts. After the
//! release it stays: transactions that were open at its beginning are queried before anything of
//! them is submitted (see `engine::restored`).

mod open;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

pub(crate) use self::open::Sums;
pub use self::open::{Open, Snapshot};
use switchyard_core::ids::AppId;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Transaction;
use switchyard_records::RecordError;
use switchyard_store::{Batch, CommitError, Restored, Store, StoreError, Table};
use switchyard_system::clock::Clock;

/// The hold of a store; clones share it.
#[derive(Clone)]
pub struct Hold(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    state: ArcSwapOption<HoldState>,
    /// Taken while the row is changed.
    changing: Mutex<()>,
}

/// A hold and its releases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldState {
    /// When it began. Transactions created before may have attempts that the store does not know.
    pub since: Timestamp,
    /// The restore that made it, or the last one before an operator ordered it.
    #[serde(default)]
    pub restored: Option<Restored>,
    /// Whether a release of all apps followed that restore before this hold began: its lost span is
    /// no longer in question.
    #[serde(default)]
    pub restore_is_released: bool,
    /// Earlier restores that no release of all apps followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Restored>,
    /// When the first of the holds began that no release of all apps ended. `None`: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreleased_since: Option<Timestamp>,
    /// Release of all apps.
    #[serde(default)]
    pub released: Option<Release>,
    /// Releases of single apps.
    #[serde(default)]
    pub apps: BTreeMap<AppId, Release>,
}

/// A release, and the operator who ordered it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    pub at: Timestamp,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Reasons for which a store is held at its start.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    /// The store was restored from a backup, or may have lost commits.
    pub restored: Option<Restored>,
    /// The operator ordered it, or accepted a loss.
    pub is_ordered: bool,
}

/// The hold could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error("the row of the hold cannot be read: restore the store from a backup")]
    Damaged,
    #[error(transparent)]
    Read(#[from] StoreError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Hold {
    /// Opens the hold of a store, and begins one if there is a new reason. Durable when it returns.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn open(store: Store, clock: Clock, reasons: Reasons) -> Result<Self, HoldError> {
        let stored = match store.get(Table::Meta, KEY).await? {
            None => None,
            Some(row) => Some(serde_json::from_slice(&row).map_err(|_| HoldError::Damaged)?),
        };
        let state = begun(stored.clone(), reasons, clock.now());
        if let Some(held) = state.as_ref().filter(|_| state != stored) {
            let mut batch = Batch::new();
            let open = open::snapshot(&store).await?;
            batch.put(Table::Meta, open::KEY, written(&open));
            batch.put(Table::Meta, KEY, written(held));
            store.commit(batch).await?;
        }
        Ok(Self(Arc::new(Inner {
            store,
            clock,
            state: ArcSwapOption::new(state.map(Arc::new)),
            changing: Mutex::default(),
        })))
    }

    /// The last hold, released or not; `None`: the store was never held.
    pub fn state(&self) -> Option<Arc<HoldState>> {
        self.0.state.load_full()
    }

    /// Whether attempts of some app may not start.
    pub fn is_held(&self) -> bool {
        self.state().is_some_and(|held| held.released.is_none())
    }

    /// The transactions that were open when the last hold began.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        open::stored(&self.0.store).await
    }

    /// Payouts of apps that are held, made since the first hold that no release of all apps ended.
    /// A release sends them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn payouts_made_since(&self) -> Result<Vec<Open>, RecordError> {
        let Some(since) = self.state().map(|held| held.first_since()) else {
            return Ok(Vec::new());
        };
        let mut sums = Sums::default();
        self.each_unsent_payout(|payout| {
            if payout.created_at >= since {
                sums.add(payout);
            }
        })
        .await?;
        Ok(sums.into_vec())
    }

    /// Visits each payout of a held app that waits to be sent. The release sends it, once no
    /// provider has it.
    pub(crate) async fn each_unsent_payout(
        &self,
        visit: impl FnMut(&Transaction),
    ) -> Result<(), RecordError> {
        match self.state().filter(|held| held.released.is_none()) {
            Some(held) => open::each_unsent_payout(&self.0.store, &held, visit).await,
            None => Ok(()),
        }
    }

    /// Releases one app of `apps`, which are all apps, or all of them. `false`: nothing of it was
    /// held, and an earlier release stays as it is.
    ///
    /// # Errors
    /// When the store cannot be written: nothing is released then.
    pub async fn release(
        &self,
        app: Option<AppId>,
        apps: &[AppId],
        by: String,
        note: Option<String>,
    ) -> Result<bool, HoldError> {
        let _changing = self.0.changing.lock().await;
        let Some(before) = self.state() else {
            return Ok(false);
        };
        let at = self.0.clock.now();
        let release = Release { at, by, note };
        let mut held = (*before).clone();
        match app {
            Some(app) if before.is_held(app) => {
                held.apps.insert(app, release.clone());
                let is_last = !apps.iter().any(|app| held.is_held(*app));
                held.released = is_last.then_some(release);
            }
            None if before.released.is_none() => held.released = Some(release),
            _ => return Ok(false),
        }
        let mut batch = Batch::new();
        batch.put(Table::Meta, KEY, written(&held));
        self.0.store.commit(batch).await?;
        self.0.state.store(Some(Arc::new(held)));
        Ok(true)
    }
}

impl HoldState {
    /// When the first of the holds began that no release of all apps ended.
    pub fn first_since(&self) -> Timestamp {
        self.unreleased_since.unwrap_or(self.since)
    }

    /// The restores of which the lost spans are still to be compared: the latest one last.
    pub fn restores(&self) -> impl Iterator<Item = &Restored> {
        let latest = self.restored.as_ref();
        let latest = latest.filter(|_| !self.restore_is_released);
        self.earlier.iter().chain(latest)
    }

    /// Whether all apps are held, and none was released.
    pub fn is_untouched(&self) -> bool {
        self.released.is_none() && self.apps.is_empty()
    }

    /// Whether no attempt of this app may start.
    pub fn is_held(&self, app: AppId) -> bool {
        self.released.is_none() && !self.apps.contains_key(&app)
    }

    /// When the app was released.
    pub fn released_at(&self, app: AppId) -> Option<Timestamp> {
        let all = self.released.as_ref();
        self.apps.get(&app).or(all).map(|release| release.at)
    }
}

/// The hold at the start of a server that found `stored`.
fn begun(stored: Option<HoldState>, reasons: Reasons, now: Timestamp) -> Option<HoldState> {
    // A second hold does not end the first: its payouts and its lost span are still in question.
    let unreleased = stored.as_ref().filter(|held| held.released.is_none());
    let new = |restored: Option<Restored>| HoldState {
        since: now,
        earlier: unreleased
            .into_iter()
            .flat_map(HoldState::restores)
            .filter(|earlier| Some(*earlier) != restored.as_ref())
            .cloned()
            .collect(),
        unreleased_since: unreleased.map(HoldState::first_since),
        restore_is_released: false,
        restored,
        released: None,
        apps: BTreeMap::new(),
    };
    let is_known = |restored: &Restored| {
        let known = stored.as_ref().and_then(|held| held.restored.as_ref());
        known == Some(restored)
    };
    match reasons.restored {
        Some(restored) if !is_known(&restored) => return Some(new(Some(restored))),
        _ => {}
    }
    match &stored {
        Some(held) if reasons.is_ordered && !held.is_untouched() => Some(HoldState {
            restore_is_released: held.restore_is_released || held.released.is_some(),
            ..new(held.restored.clone())
        }),
        None if reasons.is_ordered => Some(new(None)),
        _ => stored,
    }
}

fn written(row: &impl Serialize) -> Vec<u8> {
    // Texts and numbers, which can always be written.
    serde_json::to_vec(row).unwrap_or_default()
}

const KEY: &[u8] = b"hold";

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use switchyard_core::testing::START;

    fn restored(number: u128) -> Option<Restored> {
        Some(Restored {
            store: Ulid::from_parts(1, number),
            incarnation: Ulid::from_parts(2, 1),
            sequence: 7,
            backup_at: START,
            restored_at: START,
            lost: None,
        })
    }

    fn app(number: u128) -> AppId {
        AppId::new(Ulid::from_parts(3, number))
    }

    async fn opened(store: &Store, restored: Option<Restored>, is_ordered: bool) -> Hold {
        let reasons = Reasons {
            restored,
            is_ordered,
        };
        let clock = Clock::manual(START);
        Hold::open(store.clone(), clock, reasons).await.unwrap()
    }

    /// There are two apps.
    async fn release(hold: &Hold, one: Option<AppId>) -> bool {
        let apps = [app(1), app(2)];
        let released = hold.release(one, &apps, "ada".to_owned(), None);
        released.await.unwrap()
    }

    #[tokio::test]
    async fn an_ordered_hold_asks_about_no_span_of_a_restore_that_was_released() {
        let store = Store::memory();
        let hold = opened(&store, restored(1), false).await;
        let spans = |hold: &Hold| hold.state().map(|held| held.restores().count());
        assert_eq!(spans(&hold), Some(1));
        let hold = opened(&store, restored(1), true).await;
        assert_eq!(spans(&hold), Some(1), "its release is still to come");
        assert!(release(&hold, None).await);
        for _ in 0..2 {
            let hold = opened(&store, restored(1), true).await;
            assert!(hold.is_held());
            assert_eq!(spans(&hold), Some(0));
        }
        let hold = opened(&store, restored(2), false).await;
        assert_eq!(spans(&hold), Some(1), "another restore");
    }

    #[tokio::test]
    async fn a_restore_holds_once_and_the_hold_and_its_release_survive_restarts() {
        let store = Store::memory();
        let hold = opened(&store, None, false).await;
        assert!(hold.state().is_none());
        assert!(!release(&hold, None).await, "nothing is held");
        let hold = opened(&store, restored(1), false).await;
        assert!(hold.is_held());
        assert!(
            opened(&store, None, false).await.is_held(),
            "the marker is gone"
        );
        let hold = opened(&store, restored(1), false).await;
        assert!(release(&hold, None).await);
        assert!(!hold.is_held());
        let hold = opened(&store, restored(1), false).await;
        assert!(!hold.is_held(), "released before");
        assert!(!release(&hold, None).await, "released before");
        assert!(
            opened(&store, restored(2), false).await.is_held(),
            "another restore"
        );
    }

    #[tokio::test]
    async fn an_app_is_released_for_itself_and_an_order_holds_all_again() {
        let store = Store::memory();
        let hold = opened(&store, None, true).await;
        assert!(release(&hold, Some(app(1))).await);
        assert!(!release(&hold, Some(app(1))).await, "released before");
        for hold in [hold, opened(&store, None, false).await] {
            let held = hold.state().unwrap();
            assert!(!held.is_held(app(1)) && held.is_held(app(2)) && hold.is_held());
            assert_eq!(held.released_at(app(1)), Some(START));
            assert_eq!(held.released_at(app(2)), None);
        }
        let hold = opened(&store, None, true).await;
        assert!(hold.state().unwrap().is_held(app(1)));
        assert!(release(&hold, None).await);
        assert!(!hold.state().unwrap().is_held(app(2)));
        assert!(opened(&store, None, true).await.is_held());
    }

    #[tokio::test]
    async fn nothing_is_held_once_each_app_was_released() {
        let store = Store::memory();
        let hold = opened(&store, restored(1), false).await;
        for number in [1, 2] {
            assert!(hold.is_held());
            assert!(release(&hold, Some(app(number))).await);
        }
        assert!(!hold.is_held() && !opened(&store, restored(1), false).await.is_held());
    }

    #[tokio::test]
    async fn a_second_hold_before_the_release_keeps_the_beginning_and_the_restore_of_the_first() {
        let store = Store::memory();
        let first = opened(&store, restored(1), false).await;
        let began = first.state().unwrap().first_since();
        assert!(release(&first, Some(app(1))).await);
        let later = |reasons| {
            let clock = Clock::manual(START.plus(std::time::Duration::from_secs(60)));
            Hold::open(store.clone(), clock, reasons)
        };
        let reasons = |restored, is_ordered| Reasons {
            restored,
            is_ordered,
        };
        let ordered = later(reasons(None, true)).await.unwrap();
        let held = ordered.state().unwrap();
        assert!(held.since > began && held.first_since() == began);
        assert_eq!(held.restores().count(), 1);
        let again = later(reasons(restored(2), false)).await.unwrap();
        let held = again.state().unwrap();
        assert_eq!(held.first_since(), began);
        let restores: Vec<_> = held.restores().cloned().collect();
        assert_eq!(restores, [restored(1).unwrap(), restored(2).unwrap()]);
        assert!(release(&again, None).await);
        let after = later(reasons(restored(3), false)).await.unwrap();
        let held = after.state().unwrap();
        assert!(held.first_since() == held.since && held.restores().count() == 1);
    }

    #[tokio::test]
    async fn an_order_keeps_what_is_known_of_the_restore() {
        let store = Store::memory();
        let hold = opened(&store, restored(1), false).await;
        assert!(release(&hold, None).await);
        let hold = opened(&store, restored(1), true).await;
        assert_eq!(hold.state().unwrap().restored, restored(1));
        assert!(hold.is_held());
    }
}
