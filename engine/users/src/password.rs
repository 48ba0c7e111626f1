//! Passwords: rules, and hashes with argon2id.
//!
//! A hash is computed on a blocking thread, a few at a time. Verification against a user without a
//! password, or without a user, costs the same as against a stored hash.

use std::sync::{Arc, LazyLock};

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use switchyard_core::limits::{PASSWORD_HASHES, PASSWORD_MAX_CHARACTERS, PASSWORD_MIN_CHARACTERS};
use switchyard_core::secret::Secret;
use switchyard_system::ids::Ids;
use tokio::sync::Semaphore;

/// Cost of a password hash. The default is the OWASP minimum: 19 MiB, two passes, one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordCost {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

impl Default for PasswordCost {
    fn default() -> Self {
        Self {
            memory_kib: 19 * 1024,
            passes: 2,
            lanes: 1,
        }
    }
}

impl PasswordCost {
    /// Cost for tests: the least that argon2 allows.
    pub const MINIMUM: Self = Self {
        memory_kib: 8,
        passes: 1,
        lanes: 1,
    };
}

/// Reason why a password is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordProblem {
    #[error("is shorter than {PASSWORD_MIN_CHARACTERS} characters")]
    TooShort,
    #[error("is longer than {PASSWORD_MAX_CHARACTERS} characters")]
    TooLong,
    #[error("is one of the most common passwords")]
    Common,
    #[error("is the e-mail address or a part of it")]
    IsEmail,
}

/// Argon2id hash of a password with its salt and cost.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PasswordHash {
    cost: PasswordCost,
    salt: String,
    hash: String,
}

/// Checks a new password of the user with this e-mail address.
pub fn check_password(password: &str, email: &str) -> Result<(), PasswordProblem> {
    let characters = password.chars().count();
    if characters < PASSWORD_MIN_CHARACTERS {
        return Err(PasswordProblem::TooShort);
    }
    if characters > PASSWORD_MAX_CHARACTERS {
        return Err(PasswordProblem::TooLong);
    }
    let lower = password.to_lowercase();
    let email = email.to_lowercase();
    let local = email.split('@').next().unwrap_or_default();
    if lower == email || lower == local {
        return Err(PasswordProblem::IsEmail);
    }
    if COMMON.binary_search(&lower.as_str()).is_ok() {
        return Err(PasswordProblem::Common);
    }
    Ok(())
}

/// Computes and verifies hashes on blocking threads. Clones share the limit on concurrent hashes.
#[derive(Clone)]
pub(crate) struct PasswordHasher {
    cost: PasswordCost,
    ids: Ids,
    permits: Arc<Semaphore>,
}

impl PasswordHasher {
    pub fn new(cost: PasswordCost, ids: Ids) -> Self {
        Self {
            cost,
            ids,
            permits: Arc::new(Semaphore::new(PASSWORD_HASHES)),
        }
    }

    /// Hash of a new password. `None`: it could not be computed, for want of memory.
    pub async fn hash(&self, password: Secret<String>) -> Option<PasswordHash> {
        let mut salt = [0; SALT_BYTES];
        self.ids.fill(&mut salt);
        let salt = base16ct::lower::encode_string(&salt);
        let cost = self.cost;
        let hashed = self.run(move || {
            let hash = derive(password.expose(), &salt, cost)?;
            Some(PasswordHash { cost, salt, hash })
        });
        hashed.await
    }

    /// Whether this is the password of `stored`. Without a stored hash the same work is done, and
    /// the answer is no.
    pub async fn verify(&self, password: Secret<String>, stored: Option<PasswordHash>) -> bool {
        let is_known = stored.is_some();
        let stored = stored.unwrap_or_else(|| PasswordHash {
            cost: self.cost,
            salt: "0".repeat(2 * SALT_BYTES),
            hash: "0".repeat(2 * HASH_BYTES),
        });
        let verified = self.run(move || {
            let hash = derive(password.expose(), &stored.salt, stored.cost)?;
            Some(bool::from(hash.as_bytes().ct_eq(stored.hash.as_bytes())))
        });
        verified.await.unwrap_or(false) && is_known
    }

    /// Runs `work` on a blocking thread. A caller that disconnects does not free its permit before
    /// the work is done.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        task.await.ok().flatten()
    }
}

fn derive(password: &str, salt: &str, cost: PasswordCost) -> Option<String> {
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(HASH_BYTES)).ok()?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut salt_bytes = [0; SALT_BYTES];
    base16ct::lower::decode(salt, &mut salt_bytes).ok()?;
    let mut hash = [0; HASH_BYTES];
    argon
        .hash_password_into(password.as_bytes(), &salt_bytes, &mut hash)
        .ok()?;
    Some(base16ct::lower::encode_string(&hash))
}

/// Common passwords of at least [`PASSWORD_MIN_CHARACTERS`], sorted. Shorter ones are rejected for
/// their length.
static COMMON: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = include_str!("data/common_passwords.txt").lines();
    lines.filter(|line| !line.starts_with('#')).collect()
});

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_common_passwords_is_sorted_and_holds_long_ones_only() {
        assert!(COMMON.is_sorted() && COMMON.len() > 150);
        for password in COMMON.iter() {
            assert!(password.chars().count() >= PASSWORD_MIN_CHARACTERS);
            assert_eq!(*password, password.to_lowercase());
        }
    }

    #[test]
    fn a_password_is_long_uncommon_and_not_the_email_address() {
        let check = |password: &str| check_password(password, "ada.lovelace@example.com");
        assert_eq!(check("correct horse battery"), Ok(()));
        assert_eq!(check("pässwörterbuch"), Ok(()));
        assert_eq!(check("short"), Err(PasswordProblem::TooShort));
        assert_eq!(check("äöüäöüäöüäö"), Err(PasswordProblem::TooShort));
        assert_eq!(check(&"x".repeat(129)), Err(PasswordProblem::TooLong));
        assert_eq!(check(&"xy".repeat(64)), Ok(()));
        assert_eq!(check("QWERTYuiop123456"), Ok(()));
        assert_eq!(check("1Q2W3E4R5T6Y"), Err(PasswordProblem::Common));
        assert_eq!(check("Ada.Lovelace"), Err(PasswordProblem::IsEmail));
        let whole = check("ada.lovelace@EXAMPLE.com");
        assert_eq!(whole, Err(PasswordProblem::IsEmail));
    }

    #[tokio::test]
    async fn a_hash_verifies_its_own_password_and_no_other() {
        let hasher = PasswordHasher::new(PasswordCost::MINIMUM, Ids::seeded(1));
        let password = || Secret::from("correct horse battery");
        let hash = hasher.hash(password()).await.unwrap();
        assert!(hasher.verify(password(), Some(hash.clone())).await);
        let wrong = Secret::from("correct horse batterz");
        assert!(!hasher.verify(wrong, Some(hash.clone())).await);
        assert!(!hasher.verify(password(), None).await);
        let again = hasher.hash(password()).await.unwrap();
        assert_ne!(hash.hash, again.hash, "each hash has a salt of its own");
        let stored = serde_json::to_string(&hash).unwrap();
        let read = serde_json::from_str(&stored).unwrap();
        assert!(hasher.verify(password(), Some(read)).await);
    }

    #[tokio::test]
    async fn a_hash_of_another_cost_still_verifies() {
        let cheap = PasswordHasher::new(PasswordCost::MINIMUM, Ids::seeded(1));
        let hash = cheap.hash(Secret::from("correct horse")).await.unwrap();
        let dear = PasswordHasher::new(PasswordCost::default(), Ids::seeded(2));
        assert!(dear.verify(Secret::from("correct horse"), Some(hash)).await);
    }

    /// Vector of the reference implementation.
    #[test]
    fn the_default_cost_is_argon2id_with_the_owasp_minimum() {
        let cost = PasswordCost::default();
        assert_eq!((cost.memory_kib, cost.passes, cost.lanes), (19_456, 2, 1));
        let hash = derive("password", &"61".repeat(SALT_BYTES), cost);
        assert_eq!(
            hash.as_deref(),
            Some("d4ccf1ec025b036217f8ce79fcc87e6cc62531c873ec598c8917547f56e8e9f6")
        );
    }
}
