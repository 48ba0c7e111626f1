//! Set-up, replacement and removal of a user's own second factor.

use switchyard_core::ids::UserId;

use crate::audit::{Actor, NewEntry, Origin};
use crate::authorize::Identity;
use crate::error::UsersError;
use crate::pending::PendingSetup;
use crate::session::{NewSession, Session};
use crate::totp::{self, RecoveryCodes, StoredTotp, TotpSetup};
use crate::user::User;
use crate::users::Users;
use switchyard_system::secrets::Fingerprint;

/// Result of a set-up: codes to keep, and for a sign-in its session.
#[derive(Debug)]
pub struct FirstSetup {
    pub codes: RecoveryCodes,
    pub session: NewSession,
}

impl Users {
    /// Makes a secret for the authenticator of the sender, who signed in recently. It takes effect
    /// with [`Self::confirm_setup`], within 10 minutes; the session gets the same one until then.
    pub fn begin_setup(&self, who: &Identity) -> Result<TotpSetup, UsersError> {
        let user = self.live_user(who)?;
        let session = self.check_recently_authenticated(who)?;
        Ok(self.setup_begun_by(&user, begun_by_session(&session)))
    }

    /// Confirms a set-up with a code of the authenticator, and ends the other sessions.
    pub async fn confirm_setup(
        &self,
        who: &Identity,
        code: &str,
    ) -> Result<RecoveryCodes, UsersError> {
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        let session = self.check_recently_authenticated(who)?;
        let begun_by = begun_by_session(&session);
        let (changed, codes) = match self.with_new_totp(&user, begun_by, code) {
            Err(UsersError::WrongFactor) => {
                drop(gate);
                self.record_wrong_factor(who, "set_up_totp").await?;
                return Err(UsersError::WrongFactor);
            }
            made => made?,
        };
        let entry = NewEntry::new(who.actor(), &who.origin, "set_up_totp", user.id);
        gate.change_credentials(changed, who.session(), vec![entry])
            .await?;
        Ok(codes)
    }

    /// Makes a secret for a user who signs in with a correct password and needs a second factor
    /// first. `pending`: token of [`crate::SignIn::NeedsTotpSetup`].
    pub fn begin_first_setup(&self, pending: &str) -> Result<TotpSetup, UsersError> {
        let (_, user) = self.pending_sign_in(pending)?;
        self.require_no_factor(&user)?;
        Ok(self.setup_begun_by(&user, Fingerprint::of(pending)))
    }

    /// Confirms the first set-up with a code of the authenticator, and signs in.
    pub async fn confirm_first_setup(
        &self,
        pending: &str,
        code: &str,
        origin: &Origin,
    ) -> Result<FirstSetup, UsersError> {
        let gate = self.gate().await;
        let (_, user) = self.pending_sign_in(pending)?;
        self.require_no_factor(&user)?;
        let begun_by = Fingerprint::of(pending);
        let (mut changed, codes) = match self.with_new_totp(&user, begun_by, code) {
            Err(UsersError::WrongFactor) => {
                drop(gate);
                self.record_failure("set_up_totp", &user.email, Some(user.id), origin)
                    .await?;
                return Err(UsersError::WrongFactor);
            }
            made => made?,
        };
        changed.credentials.version += 1;
        let id = user.id;
        let entry = NewEntry::new(Actor::User { id }, origin, "set_up_totp", id);
        let entries = vec![entry];
        let session = self.open_session(gate, changed, origin, entries).await?;
        self.forget_setup(pending, id);
        Ok(FirstSetup { codes, session })
    }

    /// Checks that the user has no second factor, here or at the provider: one may have come since
    /// the set-up began.
    fn require_no_factor(&self, user: &User) -> Result<(), UsersError> {
        match user.has_totp() || self.has_factor_elsewhere(user) {
            true => Err(UsersError::SignInExpired),
            false => Ok(()),
        }
    }

    /// Makes new recovery codes for the sender, who signed in recently. The earlier ones end.
    pub async fn renew_recovery_codes(&self, who: &Identity) -> Result<RecoveryCodes, UsersError> {
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        self.check_recently_authenticated(who)?;
        let mut changed = User::clone(&user);
        let Some(stored) = &mut changed.credentials.totp else {
            return Err(UsersError::NotPossible("set up an authenticator first"));
        };
        let (codes, hashes) = totp::new_recovery_codes(&self.0.ids);
        stored.recovery = hashes;
        let entry = NewEntry::new(who.actor(), &who.origin, "renew_recovery_codes", user.id);
        gate.change_credentials(changed, who.session(), vec![entry])
            .await?;
        Ok(codes)
    }

    /// Removes the second factor of the sender, who signed in recently. Refused when a role or the
    /// settings require one.
    pub async fn remove_second_factor(&self, who: &Identity) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        self.check_recently_authenticated(who)?;
        if self.needs_totp(&user) {
            return Err(UsersError::NotPossible(
                "your role requires a second factor: replace it instead",
            ));
        }
        let mut changed = User::clone(&user);
        changed.credentials.totp = None;
        let entry = NewEntry::new(who.actor(), &who.origin, "remove_totp", user.id);
        gate.change_credentials(changed, who.session(), vec![entry])
            .await
    }

    /// The set-up that this sign-in or session began, or a new one.
    fn setup_begun_by(&self, user: &User, begun_by: Fingerprint) -> TotpSetup {
        let now = self.0.clock.now();
        let mut all = self.0.pending.lock();
        let begun = all.setup_begun_by(user.id, begun_by, now);
        let secret = begun.unwrap_or_else(|| {
            let secret = totp::new_secret(&self.0.ids);
            let setup = PendingSetup {
                secret: secret.clone(),
                begun_by,
                since: now,
            };
            all.add_setup(user.id, setup);
            secret
        });
        TotpSetup::new(secret.expose(), &self.0.options.issuer, &user.email)
    }

    /// The user with the authenticator whose set-up began, if `code` is one of its codes.
    fn with_new_totp(
        &self,
        user: &User,
        begun_by: Fingerprint,
        code: &str,
    ) -> Result<(User, RecoveryCodes), UsersError> {
        let now = self.0.clock.now();
        let begun = self.0.pending.lock();
        let secret = begun.setup_begun_by(user.id, begun_by, now);
        drop(begun);
        let secret = secret.ok_or(UsersError::SignInExpired)?;
        let code = totp::digits(code).ok_or(UsersError::WrongFactor)?;
        let period = totp::accepted_period(secret.expose(), &code, self.0.clock.shown(), 0);
        let last_period = period.ok_or(UsersError::WrongFactor)?;
        let sealed = self.0.sealer.seal(user.id, secret.expose());
        let sealed = sealed.ok_or(UsersError::Seal)?;
        let (codes, recovery) = totp::new_recovery_codes(&self.0.ids);
        let mut changed = user.clone();
        changed.credentials.totp = Some(StoredTotp {
            sealed,
            last_period,
            recovery,
        });
        Ok((changed, codes))
    }

    fn forget_setup(&self, pending: &str, user: UserId) {
        let mut all = self.0.pending.lock();
        all.remove(pending);
        all.remove_setup(user);
    }
}

fn begun_by_session(session: &Session) -> Fingerprint {
    Fingerprint::of(session.id.to_string())
}
