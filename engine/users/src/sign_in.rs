//! Sign-in: password, second factor, new session; re-authentication within a session.

use std::sync::Arc;
use std::time::Duration;

use switchyard_core::ids::{SessionId, UserId};
use switchyard_core::limits::SESSIONS_PER_USER;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;

use crate::audit::{Actor, AuditResult, NewEntry, Origin};
use crate::authorize::Identity;
use crate::error::UsersError;
use crate::pending::PendingSignIn;
use crate::refusal::Refusal;
use crate::refusal_log::Source;
use crate::rows::{self, Kind};
use crate::session::{NewSession, Session, shortened_user_agent};
use crate::throttle::{Key, Try};
use crate::totp;
use crate::user::User;
use crate::users::{SecondFactor, Users, WriteGuard};
use switchyard_system::secrets::{Fingerprint, random_secret};

/// Result of a sign-in.
#[derive(Debug)]
pub enum SignIn {
    SignedIn(NewSession),
    /// The password is correct. The token goes to [`Users::confirm_second_factor`], within 10
    /// minutes.
    NeedsTotp(Secret<String>),
    /// The password is correct, and the user needs a second factor first. The token goes to
    /// [`Users::begin_first_setup`], within 10 minutes.
    NeedsTotpSetup(Secret<String>),
    /// The user does not exist or cannot sign in, or a factor is wrong.
    Refused,
    /// Too many failed tries of this e-mail address or this client.
    TooMany {
        retry_after: Duration,
    },
}

/// Factors of a user who signs in again within a session.
#[derive(Clone, Debug)]
pub struct Factors {
    pub first: FirstFactor,
    /// Code of the authenticator or a recovery code; needed by users who have one.
    pub code: Option<String>,
}

/// First factor of a user who signs in again within a session.
#[derive(Clone, Debug)]
pub enum FirstFactor {
    Password(Secret<String>),
    /// Token of a new authentication at the OpenID Connect provider, from
    /// [`Users::reauthenticate_with_identity`].
    Provider(Secret<String>),
}

impl Users {
    /// Checks a password. It takes the same time for unknown users and for disabled ones.
    pub async fn sign_in(
        &self,
        email: &str,
        password: Secret<String>,
        origin: &Origin,
    ) -> Result<SignIn, UsersError> {
        let counted = match self.begin_try(email, origin) {
            Ok(counted) => counted,
            Err(retry_after) => return Ok(SignIn::TooMany { retry_after }),
        };
        let user = self.user_by_email(email).filter(|user| user.is_active());
        let stored = user.as_ref().and_then(|it| it.credentials.password.clone());
        let is_correct = self.0.hasher.verify(password, stored).await;
        // The password is one factor: it does not replace the second one of the provider.
        let needs_provider =
            |user: &User| self.is_without_password(user) || self.has_factor_elsewhere(user);
        let user = user.filter(|user| is_correct && !needs_provider(user));
        let Some(user) = user else {
            let known = self.user_by_email(email).map(|user| user.id);
            self.record_failure("sign_in", email, known, origin).await?;
            return Ok(SignIn::Refused);
        };
        self.0.sign_ins.refund(counted);
        let checked = PendingSignIn {
            user: user.id,
            version: user.credentials.version,
            since: self.0.clock.now(),
            confirms: None,
        };
        self.continue_sign_in(checked, origin).await
    }

    /// Checks the second factor after a correct password: a code of the authenticator, or a
    /// recovery code.
    pub async fn confirm_second_factor(
        &self,
        pending: &str,
        code: &str,
        origin: &Origin,
    ) -> Result<SignIn, UsersError> {
        let (found, user) = self.pending_sign_in(pending)?;
        let counted = match self.begin_try(&user.email, origin) {
            Ok(counted) => counted,
            Err(retry_after) => return Ok(SignIn::TooMany { retry_after }),
        };
        let gate = self.gate().await;
        let user = self.user_at_version(found)?;
        let Some(changed) = self.with_used_code(&user, code)? else {
            drop(gate);
            self.record_failure("second_factor", &user.email, Some(user.id), origin)
                .await?;
            return Ok(SignIn::Refused);
        };
        let session = self.open_session(gate, changed, origin, Vec::new()).await?;
        self.0.pending.lock().remove(pending);
        self.0.sign_ins.refund(counted);
        Ok(SignIn::SignedIn(session))
    }

    /// Signs a user of a session in again with all factors, for sensitive actions. The session gets
    /// a new token, and the old one ends.
    pub async fn reauthenticate(
        &self,
        who: &Identity,
        factors: Factors,
    ) -> Result<NewSession, UsersError> {
        let user = self.live_user(who)?;
        let old = who.session().ok_or(Refusal::NeedsPerson)?;
        let email = user.email.clone();
        let begun = self.begin_try(&email, &who.origin);
        let counted = begun.map_err(UsersError::TooMany)?;
        if !self.is_first_factor(&user, old, &factors.first).await {
            self.record_wrong_factor(who, "reauthenticate").await?;
            return Err(UsersError::WrongFactor);
        }
        let gate = self.gate().await;
        let current = self.live_user(who)?;
        if current.credentials.version != user.credentials.version {
            return Err(Refusal::NotSignedIn.into());
        }
        let code = factors.code.as_deref().unwrap_or_default();
        let changed = match current.has_totp() {
            true => self.with_used_code(&current, code)?,
            false => Some(User::clone(&current)),
        };
        let Some(changed) = changed else {
            drop(gate);
            self.record_wrong_factor(who, "reauthenticate").await?;
            return Err(UsersError::WrongFactor);
        };
        let session = self.renew_session(gate, changed, old, who).await?;
        if let FirstFactor::Provider(token) = &factors.first {
            self.0.pending.lock().remove(token.expose());
        }
        self.0.sign_ins.refund(counted);
        Ok(session)
    }

    /// Whether the first factor of a new authentication is right. The password alone is not, for a
    /// user whose second factor is that of the provider.
    async fn is_first_factor(&self, user: &User, session: SessionId, given: &FirstFactor) -> bool {
        match given {
            FirstFactor::Password(password) => {
                let stored = user.credentials.password.clone();
                let is_correct = self.0.hasher.verify(password.clone(), stored).await;
                is_correct && !self.needs_provider(user)
            }
            FirstFactor::Provider(token) => {
                let found = self.pending(token.expose(), Some(session));
                user.has_totp() && found.is_ok_and(|(found, _)| found.user == user.id)
            }
        }
    }

    /// Whether the user can only sign in again by the provider.
    pub fn needs_provider(&self, user: &User) -> bool {
        self.is_without_password(user) || self.lacks_totp(user)
    }

    /// Ends the session of the request.
    pub async fn sign_out(&self, who: &Identity) -> Result<(), UsersError> {
        let session = who.session().ok_or(Refusal::NeedsPerson)?;
        self.end_session(who, session).await
    }

    /// Sessions of the user that have not ended, oldest first, with the time of their last request.
    pub fn sessions(&self, user: UserId) -> Vec<Session> {
        let now = self.0.clock.now();
        let set = self.set();
        let live = set.sessions_of(user).filter(|live| !live.is_expired(now));
        live.map(|live| live.current()).collect()
    }

    /// Ends one of the sender's own sessions. A token cannot sign its owner out.
    pub async fn end_session(&self, who: &Identity, id: SessionId) -> Result<(), UsersError> {
        who.session().ok_or(Refusal::NeedsPerson)?;
        let gate = self.gate().await;
        let user = self.live_user(who)?.id;
        let is_own = {
            let set = self.set();
            let session = set.sessions.get(&id);
            session.is_some_and(|live| live.session.user == user)
        };
        if !is_own {
            return Err(UsersError::not_found("session", id));
        }
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::Session, id);
        let entry = NewEntry::new(who.actor(), &who.origin, "end_session", id);
        gate.commit(batch, vec![entry], move |set| set.remove_session(id))
            .await
    }

    /// Ends all of the sender's sessions but that of the request. Returns how many. A token cannot
    /// sign its owner out.
    pub async fn end_other_sessions(&self, who: &Identity) -> Result<usize, UsersError> {
        who.session().ok_or(Refusal::NeedsPerson)?;
        let gate = self.gate().await;
        let user = self.live_user(who)?.id;
        let mut batch = Batch::new();
        let ended = {
            let set = self.set();
            crate::users::end_sessions(&set, &mut batch, user, who.session())
        };
        let count = ended.len();
        let entry = NewEntry::new(who.actor(), &who.origin, "end_other_sessions", user);
        gate.commit(batch, vec![entry], move |set| {
            ended.into_iter().for_each(|id| set.remove_session(id));
        })
        .await?;
        Ok(count)
    }

    fn begin_try(&self, email: &str, origin: &Origin) -> Result<Try, Duration> {
        let now = self.0.clock.now();
        self.0.sign_ins.begin(email, origin.address, now)
    }

    /// Continues a sign-in whose first factor was correct for these credentials.
    pub(crate) async fn continue_sign_in(
        &self,
        checked: PendingSignIn,
        origin: &Origin,
    ) -> Result<SignIn, UsersError> {
        let gate = self.gate().await;
        let user = self.user_at_version(checked)?;
        let needs_setup = self.lacks_totp(&user);
        if user.has_totp() || needs_setup {
            let token = random_secret(&self.0.ids);
            self.0.pending.lock().add(token.expose(), checked);
            return Ok(match needs_setup {
                true => SignIn::NeedsTotpSetup(token),
                false => SignIn::NeedsTotp(token),
            });
        }
        let session = self.open_session(gate, User::clone(&user), origin, Vec::new());
        Ok(SignIn::SignedIn(session.await?))
    }

    /// Whether the settings or a role of the user require a second factor.
    pub(crate) fn needs_totp(&self, user: &User) -> bool {
        match self.0.options.second_factor {
            SecondFactor::ByRole => user.requires_totp(),
            SecondFactor::All => true,
            SecondFactor::Optional => false,
        }
    }

    /// Whether the user has no second factor although the settings or a role require one.
    pub(crate) fn lacks_totp(&self, user: &User) -> bool {
        !user.has_totp() && self.needs_totp(user)
    }

    /// Sign-in that waits for its second factor, and its user.
    pub(crate) fn pending_sign_in(
        &self,
        token: &str,
    ) -> Result<(PendingSignIn, Arc<User>), UsersError> {
        self.pending(token, None)
    }

    /// Sign-in of a token, or the confirmation of this session.
    fn pending(
        &self,
        token: &str,
        confirms: Option<SessionId>,
    ) -> Result<(PendingSignIn, Arc<User>), UsersError> {
        let found = self.0.pending.lock().get(token, self.0.clock.now());
        let found = found.filter(|found| found.confirms == confirms);
        let found = found.ok_or(UsersError::SignInExpired)?;
        Ok((found, self.user_at_version(found)?))
    }

    /// The active user, if the credentials that were checked are still current.
    pub(crate) fn user_at_version(&self, checked: PendingSignIn) -> Result<Arc<User>, UsersError> {
        let user = self
            .user(checked.user)
            .filter(|user| user.is_active() && user.credentials.version == checked.version);
        user.ok_or(UsersError::SignInExpired)
    }

    /// The user after the use of a code of the authenticator, or of a recovery code. `None`: it is
    /// wrong, or was used.
    pub(crate) fn with_used_code(
        &self,
        user: &User,
        code: &str,
    ) -> Result<Option<User>, UsersError> {
        let Some(mut stored) = user.credentials.totp.clone() else {
            return Ok(None);
        };
        match totp::digits(code) {
            Some(code) => {
                let secret = self.0.sealer.open(user.id, &stored.sealed);
                let secret = secret.ok_or(UsersError::Seal)?;
                // Authenticator apps use the wall clock.
                let now = self.0.clock.shown();
                let period = totp::accepted_period(secret.expose(), &code, now, stored.last_period);
                let Some(period) = period else {
                    return Ok(None);
                };
                stored.last_period = period;
            }
            None => {
                let hash = totp::recovery_hash(code);
                let before = stored.recovery.len();
                stored.recovery.retain(|other| *other != hash);
                if stored.recovery.len() == before {
                    return Ok(None);
                }
            }
        }
        let mut changed = user.clone();
        changed.credentials.totp = Some(stored);
        Ok(Some(changed))
    }

    /// Stores `user`, who has given all factors, with a new session.
    pub(crate) async fn open_session(
        &self,
        gate: WriteGuard,
        user: User,
        origin: &Origin,
        entries: Vec<NewEntry>,
    ) -> Result<NewSession, UsersError> {
        self.open_session_with(gate, user, origin, entries, false)
            .await
    }

    /// The same; `provider_factor`: the second factor was one of the OpenID Connect provider.
    pub(crate) async fn open_session_with(
        &self,
        gate: WriteGuard,
        mut user: User,
        origin: &Origin,
        mut entries: Vec<NewEntry>,
        provider_factor: bool,
    ) -> Result<NewSession, UsersError> {
        let now = gate.now();
        user.last_sign_in_at = Some(now);
        let (token, mut session) = self.new_session(user.id, origin);
        Arc::make_mut(&mut session).provider_factor = provider_factor;
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::User, user.id, &user)?;
        rows::put(&mut batch, Kind::Session, session.id, &*session)?;
        let is_changed = self
            .user(user.id)
            .is_some_and(|stored| stored.credentials.version != user.credentials.version);
        let ended = self.replaced_sessions(user.id, now, is_changed);
        for id in &ended {
            rows::delete(&mut batch, Kind::Session, id);
        }
        let actor = Actor::User { id: user.id };
        entries.push(NewEntry::new(actor, origin, "sign_in", session.id));
        let email = user.email.clone();
        let stored = session.clone();
        gate.commit(batch, entries, move |set| {
            ended.into_iter().for_each(|id| set.remove_session(id));
            set.put_user(Arc::new(user));
            set.put_session(stored);
        })
        .await?;
        self.0.sign_ins.forget(&email);
        Ok(NewSession { session, token })
    }

    /// Replaces a session by one with a new token.
    pub(crate) async fn renew_session(
        &self,
        gate: WriteGuard,
        user: User,
        old: SessionId,
        who: &Identity,
    ) -> Result<NewSession, UsersError> {
        let (token, mut session) = self.new_session(user.id, &who.origin);
        let before = {
            let set = self.set();
            set.sessions.get(&old).map(|live| live.session.clone())
        };
        let before = before.ok_or(Refusal::NotSignedIn)?;
        let renewed = Arc::make_mut(&mut session);
        // The longest duration of a session counts from the sign-in.
        renewed.created_at = before.created_at;
        renewed.provider_factor = before.provider_factor;
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::User, user.id, &user)?;
        rows::delete(&mut batch, Kind::Session, old);
        rows::put(&mut batch, Kind::Session, session.id, &*session)?;
        let entry = NewEntry::new(who.actor(), &who.origin, "reauthenticate", session.id);
        let email = user.email.clone();
        let stored = session.clone();
        gate.commit(batch, vec![entry], move |set| {
            set.remove_session(old);
            set.put_user(Arc::new(user));
            set.put_session(stored);
        })
        .await?;
        self.0.sign_ins.forget(&email);
        Ok(NewSession { session, token })
    }

    pub(crate) fn new_session(
        &self,
        user: UserId,
        origin: &Origin,
    ) -> (Secret<String>, Arc<Session>) {
        let now = self.0.clock.now();
        let token = random_secret(&self.0.ids);
        let session = Session {
            id: SessionId::new(self.0.ids.ulid(now)),
            user,
            hash: Fingerprint::of(token.expose()),
            created_at: now,
            last_seen_at: now,
            authenticated_at: now,
            address: origin.address,
            user_agent: shortened_user_agent(&origin.user_agent),
            provider_factor: false,
        };
        (token, Arc::new(session))
    }

    /// Sessions that end when a user opens another one: expired ones, the oldest above the limit,
    /// and all when the credentials change.
    fn replaced_sessions(&self, user: UserId, now: Timestamp, all: bool) -> Vec<SessionId> {
        let set = self.set();
        let (ended, live): (Vec<_>, Vec<_>) =
            set.sessions_of(user).partition(|it| it.is_expired(now));
        let excess = match all {
            true => live.len(),
            false => (live.len() + 1).saturating_sub(SESSIONS_PER_USER),
        };
        let oldest = live.into_iter().take(excess);
        let all = ended.into_iter().chain(oldest);
        all.map(|live| live.session.id).collect()
    }

    /// Records a failed sign-in, for known users and unknown ones, which takes the same time.
    pub(crate) async fn record_failure(
        &self,
        action: &str,
        email: &str,
        user: Option<UserId>,
        origin: &Origin,
    ) -> Result<(), UsersError> {
        let object = user.map_or_else(|| "unknown user".to_owned(), |id| id.to_string());
        let entry = NewEntry::new(Actor::Anonymous, origin, action, object)
            .with_result(AuditResult::Refused);
        let email = Source::Address(Key::of_email(email));
        let client = origin.address.map(Key::of_client).map(Source::Address);
        let sources: Vec<_> = [Some(Source::Anonymous), Some(email), client]
            .into_iter()
            .flatten()
            .collect();
        let due = self.0.refusals.note(&sources, entry, self.0.clock.now());
        match due.is_empty() {
            true => Ok(()),
            false => self.commit_audited(Batch::new(), due).await,
        }
    }
}
