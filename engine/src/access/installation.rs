//! Encryption of secrets that belong to no account: the second factors of users.
//!
//! They are sealed with a data key of the installation, which is stored like the data keys of
//! accounts, and so moves with them to a new master key.

use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::secret::Secret;
use switchyard_store::Batch;

use super::rows::{self, Kind};
use super::vault::{Sealed, Vault};
use super::{Access, AccessError};

/// Vault of the installation. Clones share it.
#[derive(Clone)]
pub struct InstallationVault(Vault);

impl Access {
    /// Opens the vault of the installation. The first call makes its data key.
    pub async fn installation_vault(&self) -> Result<InstallationVault, AccessError> {
        let vault = self.vault();
        let gate = self.gate().await;
        if !vault.has_data_key(installation()) {
            let mut batch = Batch::new();
            let key = vault.new_data_key(installation())?;
            rows::put(&mut batch, Kind::DataKey, installation(), &key)?;
            gate.commit(batch, |_| {}).await?;
        }
        Ok(InstallationVault(vault.clone()))
    }
}

impl InstallationVault {
    /// Seals a secret of a user. `None`: the encryption failed.
    pub fn seal(&self, user: UserId, plain: &[u8]) -> Option<String> {
        let bound = [user.to_string().as_bytes(), plain].concat();
        let bound = Secret::new(bound);
        let sealed = self.0.seal(installation(), PURPOSE, bound.expose());
        serde_json::to_string(&sealed.ok()?).ok()
    }

    /// Opens what was sealed for the same user.
    pub fn open(&self, user: UserId, sealed: &str) -> Option<Secret<Vec<u8>>> {
        let sealed: Sealed = serde_json::from_str(sealed).ok()?;
        let bound = self.0.open(installation(), PURPOSE, &sealed).ok()?;
        let plain = bound.expose().strip_prefix(user.to_string().as_bytes())?;
        Some(Secret::new(plain.to_vec()))
    }
}

/// Name of the installation's data key among those of the accounts. No account has this id: the ids
/// of accounts begin with the time at which they were made.
fn installation() -> AccountId {
    AccountId::new(0.into())
}

const PURPOSE: &str = "second factor of a user";

#[cfg(test)]
mod tests {
    use switchyard_gateway_host::Gateways;

    use super::*;
    use crate::testing::Wanted;

    #[tokio::test]
    async fn a_secret_opens_for_its_own_user_only() {
        let bench = Wanted::with(Gateways::default()).start().await;
        let access = bench.engine.access();
        let vault = access.installation_vault().await.unwrap();
        let (ada, bea) = (UserId::new(1.into()), UserId::new(2.into()));
        let sealed = vault.seal(ada, b"secret").unwrap();
        assert!(!sealed.contains("secret"));
        // A second vault has the same key.
        let again = access.installation_vault().await.unwrap();
        assert_eq!(again.open(ada, &sealed).unwrap().expose(), b"secret");
        assert!(again.open(bea, &sealed).is_none());
        assert!(again.open(ada, "\"v1.AAAA\"").is_none());
    }
}
