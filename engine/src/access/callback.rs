//! Encryption of stored callbacks: some providers sign with a constant that is itself a secret.

use super::Access;
use super::error::AccessError;
use super::vault::Sealed;
use switchyard_core::ids::AccountId;
use switchyard_core::secret::Secret;

impl Access {
    /// Seals a provider's request for the account that it is meant for.
    pub(crate) fn seal_callback(
        &self,
        account: AccountId,
        raw: &[u8],
    ) -> Result<Sealed, AccessError> {
        Ok(self.0.vault.seal(account, PURPOSE, raw)?)
    }

    pub(crate) fn open_callback(
        &self,
        account: AccountId,
        sealed: &Sealed,
    ) -> Result<Secret<Vec<u8>>, AccessError> {
        Ok(self.0.vault.open(account, PURPOSE, sealed)?)
    }
}

/// Purpose that the vault authenticates.
const PURPOSE: &str = "callback";
