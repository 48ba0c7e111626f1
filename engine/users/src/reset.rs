//! Passwords: reset by mail, change by the user, and sign-in links of development mode.
//!
//! A new password ends sessions. API tokens stay valid, since programs use them and each was made
//! by the user with a recent authentication; the result lists them, and the user ends them one by
//! one.

use std::sync::Arc;

use switchyard_core::secret::Secret;
use switchyard_store::Batch;

use crate::audit::{Actor, NewEntry, Origin};
use crate::authorize::Identity;
use crate::error::UsersError;
use crate::link::{NewLink, Purpose};
use crate::password::check_password;
use crate::pending::PendingSignIn;
use crate::refusal::Refusal;
use crate::rows::{self, Kind};
use crate::sign_in::SignIn;
use crate::token::UserToken;
use crate::user::User;
use crate::users::Users;

/// Result of a reset.
#[derive(Clone, Debug)]
pub struct PasswordReset {
    pub user: Arc<User>,
    /// API tokens of the user, which stay valid.
    pub tokens: Vec<UserToken>,
}

impl Users {
    /// Makes a link to reset a password. `None`: there is no such active user. The response to the
    /// client must be the same in both cases, and must not wait for the mail; this function takes
    /// the same time.
    pub async fn request_reset(
        &self,
        email: &str,
        origin: &Origin,
    ) -> Result<Option<NewLink>, UsersError> {
        let now = self.0.clock.now();
        let begun = self.0.resets.begin(email, origin.address, now);
        begun.map_err(UsersError::TooMany)?;
        let gate = self.gate().await;
        let user = self.user_by_email(email).filter(|user| user.is_active());
        let Some(user) = user else {
            drop(gate);
            self.record_failure("request_reset", email, None, origin)
                .await?;
            return Ok(None);
        };
        let entry = NewEntry::new(Actor::Anonymous, origin, "request_reset", user.id);
        let link = self.store_link(gate, Batch::new(), user, Purpose::Reset, Vec::new(), entry);
        Ok(Some(link.await?))
    }

    /// Sets a new password with a link, and ends all sessions of the user. It does not sign in: the
    /// second factor is checked at the next sign-in as before (ASVS 6.4.3).
    pub async fn reset_password(
        &self,
        token: &str,
        password: Secret<String>,
        origin: &Origin,
    ) -> Result<PasswordReset, UsersError> {
        let (_, user) = self.link(token)?;
        check_password(password.expose(), &user.email)?;
        let hash = self.0.hasher.hash(password).await;
        let hash = hash.ok_or(UsersError::PasswordHash)?;
        let gate = self.gate().await;
        let (link, user) = self.link(token)?;
        if link.purpose != Purpose::Reset || !user.is_active() {
            return Err(UsersError::LinkExpired);
        }
        let mut changed = User::clone(&user);
        changed.credentials.password = Some(hash);
        let actor = Actor::User { id: user.id };
        let entry = NewEntry::new(actor, origin, "reset_password", user.id);
        gate.change_credentials_removing(changed, None, link.id, vec![entry])
            .await?;
        self.0.sign_ins.forget(&user.email);
        self.0.resets.forget(&user.email);
        Ok(PasswordReset {
            user: self.user(user.id).ok_or(UsersError::Conflict)?,
            tokens: self.tokens(user.id),
        })
    }

    /// Sets a new password of the sender, who signed in recently, and ends the other sessions.
    /// Returns the API tokens of the sender, which stay valid.
    pub async fn change_password(
        &self,
        who: &Identity,
        password: Secret<String>,
    ) -> Result<Vec<UserToken>, UsersError> {
        let user = self.live_user(who)?;
        self.check_recently_authenticated(who)?;
        check_password(password.expose(), &user.email)?;
        let hash = self.0.hasher.hash(password).await;
        let hash = hash.ok_or(UsersError::PasswordHash)?;
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        self.check_recently_authenticated(who)?;
        let mut changed = User::clone(&user);
        changed.credentials.password = Some(hash);
        let entry = NewEntry::new(who.actor(), &who.origin, "change_password", user.id);
        gate.change_credentials(changed, who.session(), vec![entry])
            .await?;
        Ok(self.tokens(user.id))
    }

    /// Makes a link that signs a user in without a password. For development mode only: the caller
    /// checks the mode.
    pub async fn create_sign_in_link(
        &self,
        email: &str,
        origin: &Origin,
    ) -> Result<NewLink, UsersError> {
        let gate = self.gate().await;
        let user = self.user_by_email(email).filter(|user| user.is_active());
        let user = user.ok_or_else(|| UsersError::not_found("active user", email))?;
        let entry = NewEntry::new(Actor::System, origin, "create_sign_in_link", user.id);
        self.store_link(gate, Batch::new(), user, Purpose::SignIn, Vec::new(), entry)
            .await
    }

    /// Signs in with a link in place of the password. A second factor is needed as at each sign-in.
    pub async fn sign_in_with_link(
        &self,
        token: &str,
        origin: &Origin,
    ) -> Result<SignIn, UsersError> {
        let gate = self.gate().await;
        let (link, user) = self.link(token)?;
        if link.purpose != Purpose::SignIn || !user.is_active() {
            return Err(UsersError::LinkExpired);
        }
        let checked = PendingSignIn {
            user: user.id,
            version: user.credentials.version,
            since: gate.now(),
            confirms: None,
        };
        let id = link.id;
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::Link, id);
        let actor = Actor::User { id: user.id };
        let entry = NewEntry::new(actor, origin, "use_sign_in_link", user.id);
        gate.commit(batch, vec![entry], move |set| {
            set.links.remove(&id);
        })
        .await?;
        self.continue_sign_in(checked, origin).await
    }

    /// Sets the name and the language of the sender.
    pub async fn change_profile(
        &self,
        who: &Identity,
        name: &str,
        language: switchyard_core::language::Language,
    ) -> Result<(), UsersError> {
        if who.session().is_none() {
            return Err(Refusal::NeedsPerson.into());
        }
        let gate = self.gate().await;
        let mut user = User::clone(&*self.live_user(who)?);
        user.name = crate::user::checked_name("name", name)?;
        user.language = language;
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::User, user.id, &user)?;
        let entry = NewEntry::new(who.actor(), &who.origin, "change_profile", user.id);
        gate.commit(batch, vec![entry], move |set| set.put_user(Arc::new(user)))
            .await
    }
}
