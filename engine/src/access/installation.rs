//! Encryption of secrets that belong to no account: second factors of users, and their links in
//! mails that wait.
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

/// Purpose of a user's secret. A secret that is sealed for one purpose does not open for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSecret {
    SecondFactor,
    /// Single-use link in a mail.
    Link,
}

impl UserSecret {
    const fn purpose(self) -> &'static str {
        match self {
            Self::SecondFactor => "second factor of a user",
            Self::Link => "link of a user",
        }
    }
}

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
    pub fn seal(&self, user: UserId, secret: UserSecret, plain: &[u8]) -> Option<String> {
        let bound = [user.to_string().as_bytes(), plain].concat();
        let bound = Secret::new(bound);
        let sealed = self
            .0
            .seal(installation(), secret.purpose(), bound.expose());
        serde_json::to_string(&sealed.ok()?).ok()
    }

    /// Opens what was sealed for the same user and purpose.
    pub fn open(&self, user: UserId, secret: UserSecret, sealed: &str) -> Option<Secret<Vec<u8>>> {
        let sealed: Sealed = serde_json::from_str(sealed).ok()?;
        let bound = self.0.open(installation(), secret.purpose(), &sealed);
        let bound = bound.ok()?;
        let plain = bound.expose().strip_prefix(user.to_string().as_bytes())?;
        Some(Secret::new(plain.to_vec()))
    }
}

/// Name of the installation's data key among those of the accounts. No account has this id: the ids
/// of accounts begin with the time at which they were made.
fn installation() -> AccountId {
    AccountId::new(0.into())
}

#[cfg(test)]
mod tests {
    use switchyard_gateway_host::Gateways;

    use super::*;
    use crate::testing::TestEngineBuilder;

    #[tokio::test]
    async fn a_secret_opens_for_its_own_user_only() {
        let test = TestEngineBuilder::with(Gateways::default()).start().await;
        let access = test.engine.access();
        let vault = access.installation_vault().await.unwrap();
        let (ada, bea) = (UserId::new(1.into()), UserId::new(2.into()));
        let factor = UserSecret::SecondFactor;
        let sealed = vault.seal(ada, factor, b"secret").unwrap();
        assert!(!sealed.contains("secret"));
        // A second vault has the same key.
        let again = access.installation_vault().await.unwrap();
        assert_eq!(
            again.open(ada, factor, &sealed).unwrap().expose(),
            b"secret"
        );
        assert!(again.open(ada, UserSecret::Link, &sealed).is_none());
        assert!(again.open(bea, factor, &sealed).is_none());
        assert!(again.open(ada, factor, "\"v1.AAAA\"").is_none());
    }
}
