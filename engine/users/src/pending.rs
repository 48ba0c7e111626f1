//! Sign-ins that wait for a second factor, and set-ups of one. In memory: a restart ends them, and
//! the user signs in again.

use std::collections::BTreeMap;

use switchyard_core::ids::{SessionId, UserId};
use switchyard_core::limits::{PENDING_SIGN_INS, SECOND_FACTOR_WINDOW};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;

use switchyard_system::secrets::Fingerprint;

/// Sign-ins with a correct password by the hash of their token, and new TOTP secrets by user.
#[derive(Default)]
pub(crate) struct Pending {
    sign_ins: BTreeMap<Fingerprint, PendingSignIn>,
    set_ups: BTreeMap<UserId, PendingSetup>,
}

/// A sign-in whose first factor was correct.
#[derive(Clone, Copy)]
pub(crate) struct PendingSignIn {
    pub user: UserId,
    /// Version of the credentials that were checked.
    pub version: u64,
    pub since: Timestamp,
    /// Session that is confirmed, by a new authentication at the provider. `None`: a sign-in.
    pub confirms: Option<SessionId>,
}

/// A new TOTP secret that was shown and not confirmed yet.
#[derive(Clone)]
pub(crate) struct PendingSetup {
    pub secret: Secret<Vec<u8>>,
    /// Hash of the token of the sign-in, or of the id of the session, that began it.
    pub begun_by: Fingerprint,
    pub since: Timestamp,
}

impl Pending {
    pub fn add(&mut self, token: &str, sign_in: PendingSignIn) {
        self.purge(sign_in.since);
        if self.sign_ins.len() >= PENDING_SIGN_INS {
            let oldest = self.sign_ins.iter().min_by_key(|(_, it)| it.since);
            if let Some(hash) = oldest.map(|(hash, _)| *hash) {
                self.sign_ins.remove(&hash);
            }
        }
        self.sign_ins.insert(Fingerprint::of(token), sign_in);
    }

    pub fn get(&self, token: &str, now: Timestamp) -> Option<PendingSignIn> {
        let found = self.sign_ins.get(&Fingerprint::of(token)).copied()?;
        (now.since(found.since) < SECOND_FACTOR_WINDOW).then_some(found)
    }

    pub fn remove(&mut self, token: &str) {
        self.sign_ins.remove(&Fingerprint::of(token));
    }

    pub fn add_setup(&mut self, user: UserId, setup: PendingSetup) {
        self.purge(setup.since);
        self.set_ups.insert(user, setup);
    }

    /// Secret of the set-up that this sign-in or session began, to show it again after a wrong
    /// code. Another one of the same user never gets it: one of the two may be of an attacker.
    pub fn setup_begun_by(
        &self,
        user: UserId,
        begun_by: Fingerprint,
        now: Timestamp,
    ) -> Option<Secret<Vec<u8>>> {
        let setup = self.set_ups.get(&user)?;
        let is_own = setup.begun_by == begun_by;
        let is_valid = now.since(setup.since) < SECOND_FACTOR_WINDOW;
        (is_own && is_valid).then(|| setup.secret.clone())
    }

    /// Drops the set-up of a user, when it was confirmed or their credentials changed.
    pub fn remove_setup(&mut self, user: UserId) {
        self.set_ups.remove(&user);
    }

    /// Drops those that took too long.
    pub fn purge(&mut self, now: Timestamp) {
        self.sign_ins
            .retain(|_, it| now.since(it.since) < SECOND_FACTOR_WINDOW);
        self.set_ups
            .retain(|_, it| now.since(it.since) < SECOND_FACTOR_WINDOW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_oldest_sign_in_is_dropped_when_there_are_too_many() {
        let start = Timestamp::from_seconds(1_800_000_000);
        let mut pending = Pending::default();
        let user = UserId::new(1.into());
        for n in 0..=PENDING_SIGN_INS as u64 {
            let sign_in = PendingSignIn {
                user,
                version: 0,
                since: start.plus(Duration::from_millis(n)),
                confirms: None,
            };
            pending.add(&n.to_string(), sign_in);
        }
        assert!(pending.get("0", start).is_none());
        assert!(pending.get("1", start).is_some());
        let late = start.plus(SECOND_FACTOR_WINDOW);
        assert!(pending.get("0", late).is_none());
    }
}
