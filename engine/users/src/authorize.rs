//! Authentication of requests and authorization of actions: the one place for console and API.

use std::sync::Arc;

use switchyard_core::ids::{AccountId, SessionId, UserId, UserTokenId};
use switchyard_store::Batch;

use crate::audit::{Actor, AuditResult, NewEntry, Origin};
use crate::error::UsersError;
use crate::refusal::Refusal;
use crate::refusal_log::Source;
use crate::role::{Action, Role, Scope, allowed_roles, allows, requires_recent_authentication};
use crate::rows::{self, Kind};
use crate::session::Session;
use crate::token::{self, UserToken};
use crate::user::User;
use crate::users::Users;
use switchyard_system::secrets::Fingerprint;

/// Sender of a request: a user in a session, or a token of a user.
#[derive(Clone, Debug)]
pub struct Identity {
    pub user: Arc<User>,
    pub via: Via,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub enum Via {
    Session(Arc<Session>),
    Token(Arc<UserToken>),
}

/// Proof that a user may perform an action now. Only [`Users::authorize`] makes one.
///
/// A permit is a value of one request. The functions that take one check it again at the change:
/// its session or token, the role, and the time of the authentication.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Permit {
    pub user: UserId,
    pub name: String,
    pub role: Role,
    pub action: Action,
    /// Account of the action; `None`: the installation, or all accounts.
    pub account: Option<AccountId>,
    pub actor: Actor,
    pub origin: Origin,
    /// Sender to whom it was given.
    who: Identity,
}

impl Identity {
    pub fn actor(&self) -> Actor {
        match &self.via {
            Via::Session(_) => Actor::User { id: self.user.id },
            Via::Token(token) => Actor::UserToken {
                id: token.id,
                user: self.user.id,
            },
        }
    }

    /// Session of the request; `None`: a token sent it.
    pub fn session(&self) -> Option<SessionId> {
        match &self.via {
            Via::Session(session) => Some(session.id),
            Via::Token(_) => None,
        }
    }

    /// API token of the request; `None`: a session sent it.
    pub fn token(&self) -> Option<&UserToken> {
        match &self.via {
            Via::Session(_) => None,
            Via::Token(token) => Some(token),
        }
    }
}

impl Permit {
    /// Session of the request; `None`: a token sent it.
    pub fn session(&self) -> Option<SessionId> {
        self.who.session()
    }

    /// An entry of the audit log about an object of this permit's action.
    pub fn entry(&self, object: impl ToString) -> NewEntry {
        let entry = NewEntry::new(self.actor.clone(), &self.origin, self.action.name(), object);
        entry.about(self.account)
    }
}

impl Users {
    /// Finds the session with this token, and notes its use. A session of a user who needs a second
    /// factor by now and has none is refused: they sign in again and set one up.
    pub fn authenticate_session(&self, token: &str, origin: &Origin) -> Result<Identity, Refusal> {
        let now = self.0.clock.now();
        let hash = Fingerprint::of(token);
        let set = self.set();
        let live = set.session_by_hash(&hash).ok_or(Refusal::NotSignedIn)?;
        let user = set.users.get(&live.session.user);
        let user = user.filter(|user| user.is_active() && self.is_enough(&live.session, user));
        let user = user.ok_or(Refusal::NotSignedIn)?;
        if live.is_expired(now) {
            return Err(Refusal::NotSignedIn);
        }
        if live.used.note(now) {
            self.write_session_use(live.session.id);
        }
        Ok(Identity {
            user: user.clone(),
            via: Via::Session(live.session.clone()),
            origin: origin.clone(),
        })
    }

    /// Finds a user's API token, and notes its use. It is refused, as a session is, while its user
    /// needs a second factor and has none.
    pub fn authenticate_token(&self, bearer: &str, origin: &Origin) -> Result<Identity, Refusal> {
        if !token::is_well_formed(bearer, &self.0.options.service_code) {
            return Err(Refusal::NotSignedIn);
        }
        let now = self.0.clock.now();
        let hash = Fingerprint::of(bearer);
        let set = self.set();
        let live = set.token_by_hash(&hash).ok_or(Refusal::NotSignedIn)?;
        let user = set.users.get(&live.token.user);
        let user = user.filter(|user| user.is_active() && self.has_factors(user));
        let user = user.ok_or(Refusal::NotSignedIn)?;
        if now >= live.token.expires_at {
            return Err(Refusal::NotSignedIn);
        }
        if live.used.note(now) {
            self.write_token_use(live.token.id);
        }
        Ok(Identity {
            user: user.clone(),
            via: Via::Token(live.token.clone()),
            origin: origin.clone(),
        })
    }

    /// Decides whether the sender may perform an action, by the roles that are stored now. A
    /// refusal is recorded in the audit log; to decide what a page offers, use [`Self::may`].
    ///
    /// `account`: the account of the object; `None` for the installation, or for all accounts.
    pub fn authorize(
        &self,
        who: &Identity,
        action: Action,
        account: Option<AccountId>,
    ) -> Result<Permit, Refusal> {
        self.permit(who, action, account)
            .map_err(|refusal| self.noted(who, action, account, refusal))
    }

    /// Whether the sender may perform an action, after a new authentication if it needs one.
    pub fn may(&self, who: &Identity, action: Action, account: Option<AccountId>) -> bool {
        let permit = self.permit(who, action, account);
        matches!(permit, Ok(_) | Err(Refusal::NeedsRecentAuthentication))
    }

    fn permit(
        &self,
        who: &Identity,
        action: Action,
        account: Option<AccountId>,
    ) -> Result<Permit, Refusal> {
        let user = self.live_user(who)?;
        let role = role_for(&user, action, account)?;
        match &who.via {
            Via::Token(token) => self.check_token(token.id, action, account)?,
            Via::Session(_) => self.check_recent(who, action)?,
        }
        Ok(Permit {
            user: user.id,
            name: user.name.clone(),
            role,
            action,
            account,
            actor: who.actor(),
            origin: who.origin.clone(),
            who: who.clone(),
        })
    }

    /// The permit by the roles, sessions and tokens that are stored now, for a change that is made
    /// later than the request was authorized.
    pub fn renew(&self, permit: &Permit) -> Result<Permit, Refusal> {
        self.authorize(&permit.who, permit.action, permit.account)
    }

    /// Records that the sender was refused an action that their role or token does not include.
    /// Returns the refusal. The entry is written in the background: reads are refused, too.
    pub(crate) fn noted(
        &self,
        who: &Identity,
        action: Action,
        account: Option<AccountId>,
        refusal: Refusal,
    ) -> Refusal {
        let about = match refusal {
            Refusal::Forbidden { .. } | Refusal::NotInToken { .. } | Refusal::NeedsPerson => {
                account
            }
            // The log of an account does not name users of others.
            Refusal::NotFound => None,
            Refusal::NotSignedIn | Refusal::NeedsRecentAuthentication => return refusal,
        };
        let object = account.map_or_else(|| "installation".to_owned(), |id| id.to_string());
        self.write_refusals(self.refused(who, action.name(), &object, about));
        refusal
    }

    /// Records that the permit's user was refused an object for another reason than their role.
    pub(crate) fn note_refused(&self, permit: &Permit, object: impl ToString) {
        let action = permit.action.name();
        let object = object.to_string();
        self.write_refusals(self.refused(&permit.who, action, &object, permit.account));
    }

    fn write_refusals(&self, due: Vec<NewEntry>) {
        if !due.is_empty() {
            let users = self.clone();
            self.write_in_background("a refusal", async move {
                users.commit_audited(Batch::new(), due).await
            });
        }
    }

    /// Records that the permit does not include an object of its action.
    pub(crate) fn refuse(&self, permit: &Permit, refusal: Refusal) -> UsersError {
        self.noted(&permit.who, permit.action, permit.account, refusal)
            .into()
    }

    /// Records that the sender has entered a wrong password or code.
    pub(crate) async fn record_wrong_factor(
        &self,
        who: &Identity,
        action: &str,
    ) -> Result<(), UsersError> {
        let due = self.refused(who, action, &who.user.id.to_string(), None);
        match due.is_empty() {
            true => Ok(()),
            false => self.commit_audited(Batch::new(), due).await,
        }
    }

    /// Counts a refusal of a signed-in sender. Returns the entries to write.
    fn refused(
        &self,
        who: &Identity,
        action: &str,
        object: &str,
        account: Option<AccountId>,
    ) -> Vec<NewEntry> {
        let entry = NewEntry::new(who.actor(), &who.origin, action, object)
            .about(account)
            .with_result(AuditResult::Refused);
        let sources = [Source::User(who.user.id)];
        let now = self.0.clock.now();
        self.0.refusals.note(&sources, entry, now)
    }

    /// The user as stored now, while the session or the token of the request is still valid.
    pub(crate) fn live_user(&self, who: &Identity) -> Result<Arc<User>, Refusal> {
        let now = self.0.clock.now();
        let set = self.set();
        let user = set.users.get(&who.user.id);
        let user = user.filter(|user| user.is_active());
        let user = user.ok_or(Refusal::NotSignedIn)?;
        let is_live = match &who.via {
            Via::Session(session) => set.sessions.get(&session.id).is_some_and(|live| {
                let is_own = live.session.user == user.id;
                is_own && !live.is_expired(now) && self.is_enough(&live.session, user)
            }),
            Via::Token(token) => set.tokens.get(&token.id).is_some_and(|live| {
                let is_own = live.token.user == user.id;
                is_own && now < live.token.expires_at && self.has_factors(user)
            }),
        };
        match is_live {
            true => Ok(user.clone()),
            false => Err(Refusal::NotSignedIn),
        }
    }

    /// Whether the sign-in of a session had the factors that its user needs by now.
    fn is_enough(&self, session: &Session, user: &User) -> bool {
        let of_provider = session.provider_factor && self.0.options.provider_second_factor;
        of_provider || !self.lacks_totp(user)
    }

    /// Whether the user has the second factor that they need, here or at the provider.
    fn has_factors(&self, user: &User) -> bool {
        !self.lacks_totp(user) || self.has_provider_factor(user)
    }

    /// Checks that the session was authenticated recently, if the action needs it.
    fn check_recent(&self, who: &Identity, action: Action) -> Result<(), Refusal> {
        match requires_recent_authentication(action) {
            true => self.check_recently_authenticated(who).map(drop),
            false => Ok(()),
        }
    }

    /// Session of the request if all factors were given recently.
    pub fn check_recently_authenticated(&self, who: &Identity) -> Result<Arc<Session>, Refusal> {
        let Via::Session(session) = &who.via else {
            return Err(Refusal::NeedsPerson);
        };
        let set = self.set();
        let live = set.sessions.get(&session.id).ok_or(Refusal::NotSignedIn)?;
        match live.session.is_recent(self.0.clock.now()) {
            true => Ok(live.session.clone()),
            false => Err(Refusal::NeedsRecentAuthentication),
        }
    }

    /// Checks that the token, as it is stored now, includes the action.
    fn check_token(
        &self,
        id: UserTokenId,
        action: Action,
        account: Option<AccountId>,
    ) -> Result<(), Refusal> {
        let set = self.set();
        let live = set.tokens.get(&id).ok_or(Refusal::NotSignedIn)?;
        let token = &live.token;
        if token.account.is_some() && token.account != account {
            return Err(match account {
                Some(_) => Refusal::NotFound,
                None => Refusal::NotInToken { action },
            });
        }
        if action.needs_person() {
            return Err(Refusal::NeedsPerson);
        }
        match token.actions.contains(&action) {
            true => Ok(()),
            false => Err(Refusal::NotInToken { action }),
        }
    }

    /// Writes the time of a session's last request, in a task: no request waits for it. A failure
    /// costs a minute of the session after a crash.
    fn write_session_use(&self, id: SessionId) {
        let users = self.clone();
        self.write_in_background("use of a session", async move {
            let gate = users.gate().await;
            let session = users.set().sessions.get(&id).map(|live| live.current());
            let Some(session) = session else {
                return Ok(());
            };
            let mut batch = Batch::new();
            rows::put(&mut batch, Kind::Session, id, &session)?;
            gate.commit(batch, Vec::new(), |_| {}).await
        });
    }

    fn write_token_use(&self, id: UserTokenId) {
        let users = self.clone();
        self.write_in_background("use of a token", async move {
            let gate = users.gate().await;
            let token = users.set().tokens.get(&id).map(|live| live.current());
            let Some(token) = token else {
                return Ok(());
            };
            let mut batch = Batch::new();
            rows::put(&mut batch, Kind::Token, id, &token)?;
            gate.commit(batch, Vec::new(), |_| {}).await
        });
    }
}

/// Role with which the user may perform the action.
fn role_for(user: &User, action: Action, account: Option<AccountId>) -> Result<Role, Refusal> {
    let forbidden = |roles: Vec<Role>| Refusal::Forbidden { action, roles };
    let Some(role) = user.role_in(account) else {
        // Without an account the action concerns more than the accounts of this user.
        return Err(match account {
            Some(_) => Refusal::NotFound,
            None => forbidden(installation_roles(action)),
        });
    };
    match allows(role, action) {
        true => Ok(role),
        false => Err(forbidden(allowed_roles(action))),
    }
}

fn installation_roles(action: Action) -> Vec<Role> {
    let mut roles = allowed_roles(action);
    roles.retain(|role| role.scope() == Scope::Installation);
    roles
}
