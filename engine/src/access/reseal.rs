//! Moving a store to a new master key.
//!
//! Only the data keys of accounts are sealed under the master key; everything else is sealed under
//! a data key. All of them are sealed again in one commit: after a crash the store opens under the
//! old key or under the new one, never under a mixture.

use super::error::AccessError;
use super::master_key::MasterKey;
use super::rows::{self, Kind};
use super::vault::{DataKeyRow, Vault};
use switchyard_store::{Batch, CommitError, Store};
use switchyard_system::ids::Ids;

/// Result of moving a store to a new master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resealed {
    /// Accounts whose data keys were sealed again.
    pub accounts: usize,
    /// Accounts whose data keys were sealed under the new master key before.
    pub already: usize,
}

/// Seals all data keys of `store` under `new`. Nothing else may write to the store during the call.
///
/// # Errors
/// When a data key does not open under `current`, or the store does not take the commit. Then
/// nothing has changed.
pub async fn reseal(
    store: &Store,
    current: &MasterKey,
    new: &MasterKey,
    ids: &Ids,
) -> Result<Resealed, AccessError> {
    let (from, to) = (
        Vault::new(current, ids.clone()),
        Vault::new(new, ids.clone()),
    );
    let rows: Vec<DataKeyRow> = rows::all(store, Kind::DataKey).await?;
    let mut batch = Batch::new();
    let mut done = Resealed {
        accounts: 0,
        already: 0,
    };
    for row in rows {
        if row.master_key == new.id() {
            // It has to open, or this is another key with the same name.
            to.adopt(&row)?;
            done.already += 1;
            continue;
        }
        let moved = from.move_to(&to, &row)?;
        rows::put(&mut batch, Kind::DataKey, moved.account, &moved)?;
        done.accounts += 1;
    }
    store.commit(batch).await.map_err(|why| match why {
        CommitError::Conflict => AccessError::Conflict,
        why => AccessError::Write(why),
    })?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Options, Sealed};
    use switchyard_core::ids::AccountId;
    use switchyard_core::testing::START;
    use switchyard_store::{CrashPoint, CrashingKv, MemoryDisk};
    use switchyard_system::clock::Clock;

    async fn open(store: &Store, key: &MasterKey, ids: &Ids) -> Result<Access, AccessError> {
        let vault = Vault::new(key, ids.clone());
        let (store, clock) = (store.clone(), Clock::manual(START));
        Access::load(store, vault, clock, ids.clone(), Options::default()).await
    }

    #[tokio::test]
    async fn a_store_opens_under_the_new_master_key_only_and_all_secrets_with_it() {
        let (store, ids) = (Store::memory(), Ids::seeded(5));
        let (old, new) = (MasterKey::random(&ids), MasterKey::random(&ids));
        let access = open(&store, &old, &ids).await.unwrap();
        let seeded = access.seed_development(None).await.unwrap().keys;
        let account = access.app(seeded.app).unwrap().account;
        let sealed = access.vault().seal(account, "test", b"a secret").unwrap();

        let done = reseal(&store, &old, &new, &ids).await.unwrap();
        assert_eq!((done.accounts, done.already), (1, 0));
        assert!(open(&store, &old, &ids).await.is_err());
        let access = open(&store, &new, &ids).await.unwrap();
        let opened = access.vault().open(account, "test", &sealed).unwrap();
        assert_eq!(opened.expose(), b"a secret");

        // After a crash the command is simply run again.
        let again = reseal(&store, &old, &new, &ids).await.unwrap();
        assert_eq!((again.accounts, again.already), (0, 1));
    }

    /// A disk with several accounts and a secret of each.
    async fn filled(key: &MasterKey, ids: &Ids) -> (MemoryDisk, Vec<(AccountId, Sealed)>) {
        let disk = MemoryDisk::default();
        let store = CrashingKv::new(&disk, CrashPoint::Never).store();
        let access = open(&store, key, ids).await.unwrap();
        let mut sealed = Vec::new();
        for number in 0..5 {
            let account = access
                .create_account(&format!("Shop {number}"))
                .await
                .unwrap();
            let secret = access.vault().seal(account.id, "test", b"a secret");
            sealed.push((account.id, secret.unwrap()));
        }
        store.close().await;
        (disk, sealed)
    }

    #[tokio::test]
    async fn after_a_kill_at_any_moment_the_command_is_run_again_and_no_secret_is_lost() {
        let ids = Ids::seeded(7);
        let (old, new) = (MasterKey::random(&ids), MasterKey::random(&ids));
        let (disk, sealed) = filled(&old, &ids).await;
        for death in [CrashPoint::Before(1), CrashPoint::After(1)] {
            let disk = disk.copy();
            let killed = CrashingKv::new(&disk, death).store();
            let cut_short = reseal(&killed, &old, &new, &ids).await;
            assert!(cut_short.is_err(), "{death:?}");

            let store = CrashingKv::new(&disk, CrashPoint::Never).store();
            let opens = [
                open(&store, &old, &ids).await.is_ok(),
                open(&store, &new, &ids).await.is_ok(),
            ];
            let was_done = matches!(death, CrashPoint::After(_));
            assert_eq!(opens, [!was_done, was_done], "{death:?}: never a mixture");

            let again = reseal(&store, &old, &new, &ids).await.unwrap();
            assert_eq!(again.accounts + again.already, sealed.len());
            let access = open(&store, &new, &ids).await.unwrap();
            for (account, sealed) in &sealed {
                let opened = access.vault().open(*account, "test", sealed).unwrap();
                assert_eq!(opened.expose(), b"a secret");
            }
        }
    }

    #[tokio::test]
    async fn a_store_that_takes_no_write_stays_under_the_old_key() {
        let ids = Ids::seeded(8);
        let (old, new) = (MasterKey::random(&ids), MasterKey::random(&ids));
        let (disk, _) = filled(&old, &ids).await;
        let mortal = CrashingKv::new(&disk, CrashPoint::Never);
        let store = mortal.store();
        mortal.kill();
        assert!(reseal(&store, &old, &new, &ids).await.is_err());
        let store = CrashingKv::new(&disk, CrashPoint::Never).store();
        assert!(open(&store, &old, &ids).await.is_ok());
    }

    #[tokio::test]
    async fn a_wrong_current_key_changes_nothing() {
        let (store, ids) = (Store::memory(), Ids::seeded(6));
        let keys = [(); 3].map(|()| MasterKey::random(&ids));
        let [old, wrong, new] = &keys;
        let access = open(&store, old, &ids).await.unwrap();
        access.seed_development(None).await.unwrap();
        assert!(reseal(&store, wrong, new, &ids).await.is_err());
        assert!(open(&store, old, &ids).await.is_ok());
    }
}
