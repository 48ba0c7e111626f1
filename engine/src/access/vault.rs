//! Vault: encrypts secrets that must be readable again, such as gateway credentials and webhook
//! secrets.
//!
//! Each account has a data key, created with it. The store holds data keys encrypted with the
//! master key, which is not in the store (see [`super::master_key`]). The cipher is
//! XChaCha20-Poly1305; its 192-bit nonces may be random without counting. A secret of one purpose
//! cannot be decrypted for another: account and purpose are authenticated, so a row that is copied
//! to another place in the store is useless.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::master_key::MasterKey;
use switchyard_core::ids::AccountId;
use switchyard_core::secret::Secret;
use switchyard_system::ids::Ids;

/// Ciphertext in the store: `v1.` and base64 of nonce and ciphertext.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(String);

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sealed")
    }
}

/// Stored form of an account's data key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DataKeyRow {
    pub account: AccountId,
    /// Which master key sealed it: [`MasterKey::id`].
    pub master_key: String,
    pub sealed: Sealed,
}

/// Seals and opens secrets. Cloning gives another handle on the same keys.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    master: XChaCha20Poly1305,
    master_id: String,
    data_keys: RwLock<HashMap<AccountId, XChaCha20Poly1305>>,
    ids: Ids,
}

/// Error of an encryption or decryption, without details of the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    #[error("account {0} has no data key: its row in the store is missing")]
    NoDataKey(AccountId),
    #[error(
        "the secrets in this store were sealed under master key {stored}, and the given one is {given}: give the right master key"
    )]
    WrongMasterKey { stored: String, given: String },
    #[error("a sealed value does not open: it is damaged, or was sealed for another purpose ({0})")]
    Damaged(&'static str),
    #[error("a value could not be sealed")]
    Seal,
}

impl Vault {
    pub fn new(master: &MasterKey, ids: Ids) -> Self {
        Self(Arc::new(Inner {
            master: XChaCha20Poly1305::new(master.expose().into()),
            master_id: master.id(),
            data_keys: RwLock::default(),
            ids,
        }))
    }

    /// Seals `plain` with the account's data key, for `purpose` only.
    pub fn seal(
        &self,
        account: AccountId,
        purpose: &'static str,
        plain: &[u8],
    ) -> Result<Sealed, VaultError> {
        let keys = self.0.data_keys.read();
        let key = keys.get(&account).ok_or(VaultError::NoDataKey(account))?;
        seal(key, &context(account, purpose), plain, &self.0.ids)
    }

    /// Opens what was sealed for the same account and purpose.
    pub fn open(
        &self,
        account: AccountId,
        purpose: &'static str,
        sealed: &Sealed,
    ) -> Result<Secret<Vec<u8>>, VaultError> {
        let keys = self.0.data_keys.read();
        let key = keys.get(&account).ok_or(VaultError::NoDataKey(account))?;
        open(key, &context(account, purpose), sealed).ok_or(VaultError::Damaged(purpose))
    }

    /// Opens a text that was sealed for the same account and purpose.
    pub fn open_text(
        &self,
        account: AccountId,
        purpose: &'static str,
        sealed: &Sealed,
    ) -> Result<Secret<String>, VaultError> {
        let bytes = self.open(account, purpose, sealed)?;
        match std::str::from_utf8(bytes.expose()) {
            Ok(text) => Ok(Secret::new(text.to_owned())),
            Err(_) => Err(VaultError::Damaged(purpose)),
        }
    }

    pub(super) fn has_data_key(&self, account: AccountId) -> bool {
        self.0.data_keys.read().contains_key(&account)
    }

    /// Makes the data key of a new account, and keeps it open. The row has to be stored with the
    /// account.
    pub(super) fn new_data_key(&self, account: AccountId) -> Result<DataKeyRow, VaultError> {
        let mut key = [0; 32];
        self.0.ids.fill(&mut key);
        let sealed = seal(
            &self.0.master,
            &context(account, DATA_KEY),
            &key,
            &self.0.ids,
        );
        self.keep(account, &key);
        key.zeroize();
        Ok(DataKeyRow {
            account,
            master_key: self.0.master_id.clone(),
            sealed: sealed?,
        })
    }

    /// Opens a data key from the store, and keeps it open.
    pub(super) fn adopt(&self, row: &DataKeyRow) -> Result<(), VaultError> {
        let opened = self.open_data_key(row)?;
        let mut key: [u8; 32] = opened
            .expose()
            .as_slice()
            .try_into()
            .map_err(|_| VaultError::Damaged(DATA_KEY))?;
        self.keep(row.account, &key);
        key.zeroize();
        Ok(())
    }

    fn open_data_key(&self, row: &DataKeyRow) -> Result<Secret<Vec<u8>>, VaultError> {
        if row.master_key != self.0.master_id {
            return Err(VaultError::WrongMasterKey {
                stored: row.master_key.clone(),
                given: self.0.master_id.clone(),
            });
        }
        open(&self.0.master, &context(row.account, DATA_KEY), &row.sealed)
            .ok_or(VaultError::Damaged(DATA_KEY))
    }

    /// A data key from the store, sealed again under the master key of `other`.
    pub(super) fn move_to(&self, other: &Self, row: &DataKeyRow) -> Result<DataKeyRow, VaultError> {
        let key = self.open_data_key(row)?;
        let context = context(row.account, DATA_KEY);
        Ok(DataKeyRow {
            account: row.account,
            master_key: other.0.master_id.clone(),
            sealed: seal(&other.0.master, &context, key.expose(), &other.0.ids)?,
        })
    }

    fn keep(&self, account: AccountId, key: &[u8; 32]) {
        self.0
            .data_keys
            .write()
            .insert(account, XChaCha20Poly1305::new(key.into()));
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault(master key {})", self.0.master_id)
    }
}

fn context(account: AccountId, purpose: &str) -> String {
    format!("switchyard/v1/{account}/{purpose}")
}

fn seal(
    key: &XChaCha20Poly1305,
    context: &str,
    plain: &[u8],
    ids: &Ids,
) -> Result<Sealed, VaultError> {
    let mut nonce = [0; NONCE_BYTES];
    ids.fill(&mut nonce);
    let payload = Payload {
        msg: plain,
        aad: context.as_bytes(),
    };
    let ciphertext = key
        .encrypt(&XNonce::from(nonce), payload)
        .map_err(|_| VaultError::Seal)?;
    let mut bytes = nonce.to_vec();
    bytes.extend_from_slice(&ciphertext);
    Ok(Sealed(format!("{VERSION}{}", BASE64.encode(bytes))))
}

fn open(key: &XChaCha20Poly1305, context: &str, sealed: &Sealed) -> Option<Secret<Vec<u8>>> {
    let bytes = BASE64.decode(sealed.0.strip_prefix(VERSION)?).ok()?;
    let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_BYTES>()?;
    let payload = Payload {
        msg: ciphertext,
        aad: context.as_bytes(),
    };
    key.decrypt(&XNonce::from(*nonce), payload)
        .ok()
        .map(Secret::new)
}

const VERSION: &str = "v1.";
const NONCE_BYTES: usize = 24;
const DATA_KEY: &str = "data key";

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::time::Timestamp;

    fn vault() -> (Vault, AccountId, AccountId) {
        let ids = Ids::seeded(3);
        let vault = Vault::new(&MasterKey::random(&ids), ids.clone());
        let one = AccountId::new(ids.ulid(Timestamp::from_seconds(1)));
        let other = AccountId::new(ids.ulid(Timestamp::from_seconds(1)));
        vault.new_data_key(one).unwrap();
        vault.new_data_key(other).unwrap();
        (vault, one, other)
    }

    #[test]
    fn what_is_sealed_opens_again_and_never_looks_the_same_twice() {
        let (vault, account, _) = vault();
        let sealed = vault.seal(account, "webhook secret", b"whsec_x").unwrap();
        assert_eq!(
            vault
                .open_text(account, "webhook secret", &sealed)
                .unwrap()
                .expose(),
            "whsec_x"
        );
        assert_ne!(
            sealed,
            vault.seal(account, "webhook secret", b"whsec_x").unwrap()
        );
        assert!(!serde_json::to_string(&sealed).unwrap().contains("whsec"));
    }

    #[test]
    fn a_sealed_value_opens_for_no_other_account_and_no_other_purpose() {
        let (vault, one, other) = vault();
        let sealed = vault.seal(one, "webhook secret", b"x").unwrap();
        assert_eq!(
            vault.open(other, "webhook secret", &sealed).unwrap_err(),
            VaultError::Damaged("webhook secret")
        );
        assert!(vault.open(one, "connection", &sealed).is_err());
        let mut cut = sealed.clone();
        cut.0.pop();
        assert!(vault.open(one, "webhook secret", &cut).is_err());
    }

    #[test]
    fn a_data_key_opens_under_its_own_master_key_only() {
        let ids = Ids::seeded(4);
        let master = MasterKey::random(&ids);
        let account = AccountId::new(ids.ulid(Timestamp::from_seconds(1)));
        let first = Vault::new(&master, ids.clone());
        let row = first.new_data_key(account).unwrap();
        let sealed = first.seal(account, "connection", b"{}").unwrap();

        let again = Vault::new(&master, ids.clone());
        again.adopt(&row).unwrap();
        assert_eq!(
            again.open(account, "connection", &sealed).unwrap().expose(),
            b"{}"
        );

        let stranger = Vault::new(&MasterKey::random(&ids), ids);
        assert!(matches!(
            stranger.adopt(&row),
            Err(VaultError::WrongMasterKey { .. })
        ));
        assert_eq!(
            stranger.seal(account, "connection", b"").unwrap_err(),
            VaultError::NoDataKey(account)
        );
    }
}
