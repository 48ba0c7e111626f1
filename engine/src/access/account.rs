//! A merchant's organisation. It owns apps, and its secrets are sealed with a data key of its own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::rows::{self, Kind};
use super::{Access, WriteGuard, text};
use switchyard_core::ids::AccountId;
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    pub created_at: Timestamp,
}

impl Access {
    pub fn accounts(&self) -> Vec<Arc<Account>> {
        self.set().accounts.values().cloned().collect()
    }

    pub fn account(&self, id: AccountId) -> Option<Arc<Account>> {
        self.set().accounts.get(&id).cloned()
    }

    /// Makes an account and the data key that its secrets are sealed with.
    pub async fn create_account(&self, name: &str) -> Result<Arc<Account>, AccessError> {
        text::name("name", name)?;
        let gate = self.gate().await;
        let created_at = self.0.clock.now();
        let account = Arc::new(Account {
            id: AccountId::new(self.0.ids.ulid(created_at)),
            name: name.to_owned(),
            created_at,
        });
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::Account, account.id, &*account)?;
        let data_key = self.0.vault.new_data_key(account.id)?;
        rows::put(&mut batch, Kind::DataKey, account.id, &data_key)?;
        put(gate, batch, account).await
    }

    pub async fn rename_account(
        &self,
        id: AccountId,
        name: &str,
    ) -> Result<Arc<Account>, AccessError> {
        text::name("name", name)?;
        let gate = self.gate().await;
        let account = self
            .account(id)
            .ok_or_else(|| AccessError::not_found("account", id))?;
        let account = Arc::new(Account {
            name: name.to_owned(),
            ..(*account).clone()
        });
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::Account, account.id, &*account)?;
        put(gate, batch, account).await
    }
}

async fn put(
    gate: WriteGuard,
    batch: Batch,
    account: Arc<Account>,
) -> Result<Arc<Account>, AccessError> {
    let row = account.clone();
    gate.commit(batch, move |set| {
        set.accounts.insert(row.id, row);
    })
    .await?;
    Ok(account)
}
