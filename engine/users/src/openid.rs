//! Sign-in by an OpenID Connect provider: the user of an identity, and new sessions for it.
//!
//! The caller has verified the identity: this module never sees a token of the provider. An
//! identity is an issuer and a subject. The first sign-in finds its user by a verified e-mail
//! address and binds the identity to the user; later ones find the user by the identity alone, so
//! that a changed address gives access to no other user. No user is created.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use switchyard_core::ids::UserId;
use switchyard_core::secret::Secret;
use switchyard_store::Batch;

use crate::audit::{Actor, NewEntry, Origin};
use crate::authorize::Identity;
use crate::error::UsersError;
use crate::identity::{BoundIdentity, ProviderIdentity};
use crate::pending::PendingSignIn;
use crate::refusal::Refusal;
use crate::rows::{self, Kind};
use crate::session::NewSession;
use crate::sign_in::SignIn;
use crate::user::{User, UserState};
use crate::users::Users;
use switchyard_system::secrets::random_secret;

/// Reason why an identity signs no user in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityRefusal {
    /// The provider names no e-mail address, or one that it has not verified.
    EmailNotVerified,
    /// No user has this e-mail address.
    UnknownUser,
    /// The user has not accepted the invitation.
    NotAccepted,
    Disabled,
    /// The user is bound to another identity of the provider.
    OtherIdentity,
    /// The identity is bound to another user than the one with its e-mail address, or the one who
    /// is signed in.
    OtherUser,
    /// Earlier sign-ins had a second factor of the provider, and this one has none.
    NoSecondFactor,
}

/// Result of a sign-in by a provider.
#[derive(Debug)]
pub enum ProviderSignIn {
    Accepted(SignIn),
    Refused(IdentityRefusal),
}

/// Result of a new authentication at the provider within a session.
#[derive(Debug)]
pub enum ProviderConfirmation {
    Confirmed(NewSession),
    /// The user has a second factor of their own, too. The token goes to [`Users::reauthenticate`]
    /// in place of the password, within 10 minutes.
    NeedsCode(Secret<String>),
    Refused(IdentityRefusal),
    /// The user needs a second factor, and the provider has checked none.
    NoSecondFactor,
}

impl Users {
    /// Signs in the user of an identity. A second factor is needed as after a password, unless the
    /// provider has checked one that counts.
    pub async fn sign_in_with_identity(
        &self,
        identity: &ProviderIdentity,
        origin: &Origin,
    ) -> Result<ProviderSignIn, UsersError> {
        let gate = self.gate().await;
        let found = self.user_of_identity(identity);
        let user = match found.and_then(|user| self.require_usual_factor(user, identity)) {
            Ok(user) => user,
            Err(refusal) => {
                drop(gate);
                return self.refuse_identity(identity, refusal, origin).await;
            }
        };
        let checked = PendingSignIn {
            user: user.id,
            version: user.credentials.version,
            since: gate.now(),
            confirms: None,
        };
        let (mut batch, changed, entries) = bound(&user, identity, origin);
        rows::put(&mut batch, Kind::User, changed.id, &changed)?;
        gate.commit(batch, entries, move |set| set.put_user(Arc::new(changed)))
            .await?;
        let signed_in = match self.counts_second_factor(identity) {
            true => self.open_session_of_provider(checked, origin).await?,
            false => self.continue_sign_in(checked, origin).await?,
        };
        Ok(ProviderSignIn::Accepted(signed_in))
    }

    /// Replaces the session of a user who signed in at the provider again just now, for sensitive
    /// actions.
    pub async fn reauthenticate_with_identity(
        &self,
        who: &Identity,
        identity: &ProviderIdentity,
    ) -> Result<ProviderConfirmation, UsersError> {
        let old = who.session().ok_or(Refusal::NeedsPerson)?;
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        let is_bound = user.bound_identity().is_some_and(|it| it.is(identity));
        if !is_bound {
            drop(gate);
            self.record_wrong_factor(who, "reauthenticate").await?;
            return Ok(ProviderConfirmation::Refused(IdentityRefusal::OtherUser));
        }
        let has_second_factor = self.counts_second_factor(identity);
        if user.has_totp() && !has_second_factor {
            let token = random_secret(&self.0.ids);
            let checked = PendingSignIn {
                user: user.id,
                version: user.credentials.version,
                since: gate.now(),
                confirms: Some(old),
            };
            self.0.pending.lock().add(token.expose(), checked);
            return Ok(ProviderConfirmation::NeedsCode(token));
        }
        if self.lacks_totp(&user) && !has_second_factor {
            return Ok(ProviderConfirmation::NoSecondFactor);
        }
        let user = User::clone(&user);
        let session = self.renew_session(gate, user, old, who).await?;
        Ok(ProviderConfirmation::Confirmed(session))
    }

    /// Whether the user signs in by the provider only, as the settings say.
    pub(crate) fn is_without_password(&self, user: &User) -> bool {
        !self.0.options.password_beside_provider && user.bound_identity().is_some()
    }

    /// Whether the sign-ins of this user at the provider have the second factor that they need.
    pub(crate) fn has_provider_factor(&self, user: &User) -> bool {
        let bound = user.bound_identity();
        self.0.options.provider_second_factor && bound.is_some_and(|it| it.has_second_factor)
    }

    /// Whether the second factor of the user is the provider's, and none is here.
    pub(crate) fn has_factor_elsewhere(&self, user: &User) -> bool {
        self.has_provider_factor(user) && self.lacks_totp(user)
    }

    /// Checks that the identity has the second factor that the user's earlier sign-ins had. The
    /// first factor of the provider must not lead to the set-up of an authenticator.
    fn require_usual_factor(
        &self,
        user: Arc<User>,
        identity: &ProviderIdentity,
    ) -> Result<Arc<User>, IdentityRefusal> {
        match self.has_factor_elsewhere(&user) && !identity.has_second_factor {
            true => Err(IdentityRefusal::NoSecondFactor),
            false => Ok(user),
        }
    }

    fn counts_second_factor(&self, identity: &ProviderIdentity) -> bool {
        self.0.options.provider_second_factor && identity.has_second_factor
    }

    async fn open_session_of_provider(
        &self,
        checked: PendingSignIn,
        origin: &Origin,
    ) -> Result<SignIn, UsersError> {
        let gate = self.gate().await;
        let user = self.user_at_version(checked)?;
        let user = User::clone(&user);
        let session = self.open_session_with(gate, user, origin, Vec::new(), true);
        Ok(SignIn::SignedIn(session.await?))
    }

    async fn refuse_identity(
        &self,
        identity: &ProviderIdentity,
        refusal: IdentityRefusal,
        origin: &Origin,
    ) -> Result<ProviderSignIn, UsersError> {
        let email = identity.verified_email.as_deref().unwrap_or_default();
        let known = self.user_by_email(email).map(|user| user.id);
        self.record_failure("sign_in_with_identity", email, known, origin)
            .await?;
        Ok(ProviderSignIn::Refused(refusal))
    }

    fn user_of_identity(&self, identity: &ProviderIdentity) -> Result<Arc<User>, IdentityRefusal> {
        choose_user(&self.set().users, identity).cloned()
    }
}

/// The user whom an identity signs in.
fn choose_user<'u>(
    users: &'u BTreeMap<UserId, Arc<User>>,
    identity: &ProviderIdentity,
) -> Result<&'u Arc<User>, IdentityRefusal> {
    let bound = users.values().find(|user| {
        let bound = user.bound_identity();
        bound.is_some_and(|bound| bound.is(identity))
    });
    // Letters that only look alike in another case are other addresses.
    let of_email = identity.verified_email.as_deref().and_then(|email| {
        let is_same = |user: &&Arc<User>| user.email.trim().eq_ignore_ascii_case(email.trim());
        users.values().find(is_same)
    });
    let user = match (bound, of_email) {
        (Some(bound), Some(other)) if bound.id != other.id => {
            return Err(IdentityRefusal::OtherUser);
        }
        (Some(bound), _) => bound,
        (None, Some(user)) => user,
        (None, None) if identity.verified_email.is_none() => {
            return Err(IdentityRefusal::EmailNotVerified);
        }
        (None, None) => return Err(IdentityRefusal::UnknownUser),
    };
    match user.state {
        UserState::Disabled => return Err(IdentityRefusal::Disabled),
        UserState::Invited => return Err(IdentityRefusal::NotAccepted),
        UserState::Active => {}
    }
    // The identity of another issuer, from before the settings changed, is replaced.
    let other = user.bound_identity();
    let other = other.is_some_and(|it| it.issuer == identity.issuer && !it.is(identity));
    match other {
        true => Err(IdentityRefusal::OtherIdentity),
        false => Ok(user),
    }
}

/// The user with the identity, and the entries of the audit log about it.
fn bound(
    user: &User,
    identity: &ProviderIdentity,
    origin: &Origin,
) -> (Batch, User, Vec<NewEntry>) {
    let before = user.bound_identity().filter(|before| before.is(identity));
    let had_second_factor = before.is_some_and(|before| before.has_second_factor);
    let new = BoundIdentity {
        issuer: identity.issuer.clone(),
        subject: identity.subject.clone(),
        has_second_factor: had_second_factor || identity.has_second_factor,
    };
    let entry = |action: &str| {
        let actor = Actor::User { id: user.id };
        NewEntry::new(actor, origin, action, user.id)
    };
    let shown = |bound: &BoundIdentity| json!({ "issuer": bound.issuer, "subject": bound.subject });
    let before = user.bound_identity();
    let mut entries = Vec::new();
    if !before.is_some_and(|before| before.is(identity)) {
        let before = before.map_or(Value::Null, shown);
        entries.push(entry("bind_identity").changing(before, shown(&new)));
    }
    let factor = json!({ "second_factor": identity.has_second_factor });
    entries.push(entry("sign_in_with_identity").changing(Value::Null, factor));
    let mut changed = user.clone();
    changed.credentials.identity = Some(new);
    (Batch::new(), changed, entries)
}

#[cfg(test)]
mod tests {
    use switchyard_core::language::Language;
    use switchyard_core::time::Timestamp;

    use super::*;
    use crate::user::{Credentials, Membership};

    fn user(number: u128, email: &str, state: UserState, subject: Option<&str>) -> Arc<User> {
        let identity = subject.map(|subject| BoundIdentity {
            issuer: "https://id.example".to_owned(),
            subject: subject.to_owned(),
            has_second_factor: false,
        });
        Arc::new(User {
            id: UserId::new(number.into()),
            email: email.to_owned(),
            name: "Ada".to_owned(),
            language: Language::En,
            membership: Membership::Accounts(BTreeMap::new()),
            state,
            created_at: Timestamp::default(),
            last_sign_in_at: None,
            credentials: Credentials {
                identity,
                ..Credentials::default()
            },
        })
    }

    fn chosen(issuer: &str, subject: &str, email: Option<&str>) -> Result<u128, IdentityRefusal> {
        let users = [
            user(1, "Ada@example.com", UserState::Active, None),
            user(2, "bob@example.com", UserState::Active, Some("bob")),
            user(3, "cy@example.com", UserState::Invited, None),
            user(4, "dee@example.com", UserState::Disabled, None),
            user(5, "eve@example.com", UserState::Disabled, Some("eve")),
            user(6, "kirk@example.com", UserState::Active, None),
        ];
        let users: BTreeMap<_, _> = users.into_iter().map(|user| (user.id, user)).collect();
        let identity = ProviderIdentity {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            verified_email: email.map(str::to_owned),
            has_second_factor: false,
        };
        let chosen = choose_user(&users, &identity)?.id;
        let position = users.keys().position(|id| *id == chosen).unwrap();
        Ok(position as u128 + 1)
    }

    #[test]
    fn an_identity_signs_in_the_user_it_is_bound_to_or_the_first_time_that_of_its_email() {
        use IdentityRefusal::*;
        let (here, other) = ("https://id.example", "https://other.example");
        for (issuer, subject, email, expected) in [
            (here, "new", Some("ada@EXAMPLE.com"), Ok(1)),
            // The first letter is the sign of a kelvin.
            (
                here,
                "new",
                Some("\u{212a}irk@example.com"),
                Err(UnknownUser),
            ),
            (here, "bob", None, Ok(2)),
            (here, "bob", Some("bob@example.com"), Ok(2)),
            // The address of the person has changed at the provider.
            (here, "bob", Some("robert@example.com"), Ok(2)),
            // The operator has changed the provider.
            (other, "123", Some("bob@example.com"), Ok(2)),
            (here, "new", None, Err(EmailNotVerified)),
            (other, "bob", None, Err(EmailNotVerified)),
            (here, "new", Some("zoe@example.com"), Err(UnknownUser)),
            (here, "new", Some("cy@example.com"), Err(NotAccepted)),
            (here, "new", Some("dee@example.com"), Err(Disabled)),
            (here, "eve", None, Err(Disabled)),
            // The address went to another person at the provider.
            (here, "new", Some("bob@example.com"), Err(OtherIdentity)),
            (here, "bob", Some("ada@example.com"), Err(OtherUser)),
        ] {
            let result = chosen(issuer, subject, email);
            assert_eq!(result, expected, "{issuer} {subject} {email:?}");
        }
    }
}
