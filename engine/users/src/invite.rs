//! Invitations: creation, acceptance, and the first owner or operator.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchyard_core::ids::{AccountId, LinkId, SessionId, UserId};
use switchyard_core::language::Language;
use switchyard_core::limits::USERS;
use switchyard_core::secret::Secret;
use switchyard_store::Batch;

use crate::audit::{Actor, NewEntry, Origin};
use crate::authorize::{Identity, Permit};
use crate::error::UsersError;
use crate::link::{Link, NewLink, Purpose};
use crate::password::check_password;
use crate::refusal::Refusal;
use crate::role::{Role, Scope};
use crate::rows::{self, Kind};
use crate::user::{
    Credentials, Membership, User, UserState, checked_email, checked_name, email_key,
};
use crate::users::{Users, WriteGuard};
use switchyard_system::secrets::{Fingerprint, random_secret};

/// Person to invite, and the role that they get when they accept.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    pub email: String,
    /// Name and language of a new user. A user who exists keeps their own.
    pub name: String,
    pub language: Language,
    pub role: Role,
}

/// Entries of a person who accepts an invitation.
#[derive(Clone, Debug, Default)]
pub struct Acceptance {
    /// Password of the new user.
    pub password: Option<Secret<String>>,
    /// Another name than that of the invitation.
    pub name: Option<String>,
    pub language: Option<Language>,
}

impl Users {
    /// Invites a person into the account of the permit, or into the installation, in place of an
    /// earlier invitation of the same person.
    pub async fn invite(&self, permit: &Permit, new: NewInvitation) -> Result<NewLink, UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        self.check_assignable(permit, new.role)?;
        for (link, user) in self.invitations(permit.account) {
            if email_key(&user.email) == email_key(&new.email) {
                self.check_invitation(permit, &link)?;
            }
        }
        let entry = permit.entry(new.email.trim()).changing(
            serde_json::Value::Null,
            serde_json::json!({ "role": new.role }),
        );
        self.create_invitation(gate, permit.account, new, Vec::new(), entry)
            .await
    }

    /// Invites the first owner of an account, or the first operator, for the command line and for
    /// the creation of an account. It is refused when the account or the installation has one.
    /// Earlier invitations of other first owners of the account, or operators, end: with two of
    /// them open, one sender could become two users, who then approve each other's changes.
    pub async fn invite_first(
        &self,
        account: Option<AccountId>,
        new: NewInvitation,
        origin: &Origin,
    ) -> Result<NewLink, UsersError> {
        let first = match account {
            Some(_) => Role::Owner,
            None => Role::Operator,
        };
        if new.role != first {
            return Err(UsersError::invalid("role", format!("is {first}")));
        }
        let gate = self.gate().await;
        if self.holders(first, account).next().is_some() {
            return Err(UsersError::NotPossible(
                "there is a user with this role already, who can invite others",
            ));
        }
        let is_first =
            |purpose| matches!(purpose, Purpose::Invitation { role, .. } if role == first);
        let open = self.invitations(account).into_iter();
        let open = open.filter(|(link, _)| is_first(link.purpose));
        let earlier: Vec<_> = open.map(|(link, _)| link.id).collect();
        let entry = NewEntry::new(Actor::System, origin, "invite_first", new.email.trim());
        let entry = entry.about(account).changing(
            serde_json::json!({ "invitations": earlier }),
            serde_json::json!({ "role": first }),
        );
        self.create_invitation(gate, account, new, earlier, entry)
            .await
    }

    /// Open invitations into an account, or into the installation, with the invited users.
    pub fn invitations(&self, account: Option<AccountId>) -> Vec<(Arc<Link>, Arc<User>)> {
        let now = self.0.clock.now();
        let set = self.set();
        let links = set.links.values().filter(|link| {
            let into = match link.purpose {
                Purpose::Invitation { account, .. } => Some(account),
                Purpose::Reset | Purpose::SignIn => None,
            };
            into == Some(account) && !link.is_expired(now)
        });
        let pairs =
            links.filter_map(|link| Some((link.clone(), set.users.get(&link.user)?.clone())));
        pairs.collect()
    }

    /// Makes a new link for an open invitation; the earlier link ends. The new one is valid for
    /// seven days again.
    pub async fn resend_invitation(
        &self,
        permit: &Permit,
        id: LinkId,
    ) -> Result<NewLink, UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let (link, user) = self.invitation(permit.account, id)?;
        self.check_invitation(permit, &link)?;
        if user.state == UserState::Disabled {
            return Err(UsersError::NotPossible("this user is disabled"));
        }
        let entry = permit
            .entry(&user.email)
            .changing(serde_json::Value::Null, serde_json::json!({ "resent": id }));
        self.store_link(gate, Batch::new(), user, link.purpose, Vec::new(), entry)
            .await
    }

    fn invitation(
        &self,
        account: Option<AccountId>,
        id: LinkId,
    ) -> Result<(Arc<Link>, Arc<User>), UsersError> {
        let mut all = self.invitations(account).into_iter();
        let found = all.find(|(link, _)| link.id == id);
        found.ok_or_else(|| UsersError::not_found("invitation", id))
    }

    /// Checks that the user of the permit may give the role of an invitation, and so withdraw it.
    fn check_invitation(&self, permit: &Permit, link: &Link) -> Result<(), UsersError> {
        match link.purpose {
            Purpose::Invitation { role, .. } => self.check_assignable(permit, role),
            Purpose::Reset | Purpose::SignIn => Err(UsersError::not_found("invitation", link.id)),
        }
    }

    /// Deletes an invitation into the account of the permit, or into the installation.
    pub async fn withdraw_invitation(&self, permit: &Permit, id: LinkId) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let (link, _) = self.invitation(permit.account, id)?;
        self.check_invitation(permit, &link)?;
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::Link, id);
        gate.commit(batch, vec![permit.entry(id)], move |set| {
            set.links.remove(&id);
        })
        .await
    }

    /// The unused link with this token and its user, for the page that it opens.
    pub fn link(&self, token: &str) -> Result<(Arc<Link>, Arc<User>), UsersError> {
        let set = self.set();
        let link = set.link_by_hash(&Fingerprint::of(token));
        let link = link.filter(|link| !link.is_expired(self.0.clock.now()));
        let user = link.and_then(|link| set.users.get(&link.user));
        let user = user.filter(|user| user.state != UserState::Disabled);
        match link.zip(user) {
            Some((link, user)) => Ok((link.clone(), user.clone())),
            None => Err(UsersError::LinkExpired),
        }
    }

    /// Accepts the invitation of a new user, who gets the role and a password. It does not sign in,
    /// so that the second factor is set up or checked as at each sign-in.
    pub async fn accept_invitation(
        &self,
        token: &str,
        acceptance: Acceptance,
        origin: &Origin,
    ) -> Result<Arc<User>, UsersError> {
        let (_, user) = self.link(token)?;
        let Some(password) = acceptance.password else {
            return Err(UsersError::invalid("password", "is missing"));
        };
        check_password(password.expose(), &user.email)?;
        let hash = self.0.hasher.hash(password).await;
        let hash = hash.ok_or(UsersError::PasswordHash)?;
        let gate = self.gate().await;
        let (link, user) = self.link(token)?;
        if !matches!(link.purpose, Purpose::Invitation { .. }) {
            return Err(UsersError::LinkExpired);
        }
        if user.state != UserState::Invited {
            return Err(UsersError::NotPossible(
                "this user exists: sign in, then open the link again",
            ));
        }
        let mut changed = User::clone(&user);
        changed.credentials.password = Some(hash);
        changed.state = UserState::Active;
        if let Some(name) = acceptance.name {
            changed.name = checked_name("name", &name)?;
        }
        changed.language = acceptance.language.unwrap_or(changed.language);
        self.accept(gate, &link, changed, None, origin).await
    }

    /// Accepts an invitation of the signed-in user, who gets one more role. Other sessions of the
    /// user end. Without the session, a person who holds the link could change the roles
    /// of the user.
    pub async fn accept_invitation_as(
        &self,
        who: &Identity,
        token: &str,
    ) -> Result<Arc<User>, UsersError> {
        who.session().ok_or(Refusal::NeedsPerson)?;
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        let (link, invited) = self.link(token)?;
        if invited.id != user.id {
            return Err(UsersError::LinkExpired);
        }
        let changed = User::clone(&user);
        self.accept(gate, &link, changed, who.session(), &who.origin)
            .await
    }

    /// Stores the role of an invitation. `keep`: session of the user that does not end.
    async fn accept(
        &self,
        gate: WriteGuard,
        link: &Link,
        mut user: User,
        keep: Option<SessionId>,
        origin: &Origin,
    ) -> Result<Arc<User>, UsersError> {
        let Purpose::Invitation { account, role } = link.purpose else {
            return Err(UsersError::LinkExpired);
        };
        user.membership = with_role(&user.membership, account, role)?;
        let actor = Actor::User { id: user.id };
        let entry = NewEntry::new(actor, origin, "accept_invitation", user.id)
            .about(account)
            .changing(serde_json::Value::Null, serde_json::json!({ "role": role }));
        let id = user.id;
        gate.change_credentials_removing(user, keep, link.id, vec![entry])
            .await?;
        self.user(id).ok_or(UsersError::Conflict)
    }

    /// Active users with a role.
    pub(crate) fn holders(
        &self,
        role: Role,
        account: Option<AccountId>,
    ) -> impl Iterator<Item = Arc<User>> {
        let all = self.all_users().into_iter();
        all.filter(move |user| user.is_active() && user.has_role(role, account))
    }

    async fn create_invitation(
        &self,
        gate: WriteGuard,
        account: Option<AccountId>,
        new: NewInvitation,
        replaced: Vec<LinkId>,
        entry: NewEntry,
    ) -> Result<NewLink, UsersError> {
        let email = checked_email(&new.email)?;
        let user = match self.user_by_email(&email) {
            Some(user) => user,
            None => Arc::new(self.new_user(&gate, email, &new)?),
        };
        if user.state == UserState::Disabled {
            return Err(UsersError::NotPossible("this user is disabled"));
        }
        with_role(&user.membership, account, new.role)?;
        let purpose = Purpose::Invitation {
            account,
            role: new.role,
        };
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::User, user.id, &*user)?;
        self.store_link(gate, batch, user, purpose, replaced, entry)
            .await
    }

    fn new_user(
        &self,
        gate: &WriteGuard,
        email: String,
        new: &NewInvitation,
    ) -> Result<User, UsersError> {
        if self.set().users.len() >= USERS {
            return Err(UsersError::NotPossible(
                "this installation has the largest number of users already",
            ));
        }
        let now = gate.now();
        Ok(User {
            id: UserId::new(self.0.ids.ulid(now)),
            email,
            name: checked_name("name", &new.name)?,
            language: new.language,
            membership: Membership::Accounts(BTreeMap::new()),
            state: UserState::Invited,
            created_at: now,
            last_sign_in_at: None,
            credentials: Credentials::default(),
        })
    }

    /// Stores a new link, in place of earlier ones for the same purpose.
    pub(crate) async fn store_link(
        &self,
        gate: WriteGuard,
        mut batch: Batch,
        user: Arc<User>,
        purpose: Purpose,
        mut replaced: Vec<LinkId>,
        entry: NewEntry,
    ) -> Result<NewLink, UsersError> {
        let now = gate.now();
        let token = random_secret(&self.0.ids);
        let link = Arc::new(Link {
            id: LinkId::new(self.0.ids.ulid(now)),
            user: user.id,
            purpose,
            hash: Fingerprint::of(token.expose()),
            created_at: now,
            expires_at: now.plus(purpose.lifetime()),
        });
        {
            let set = self.set();
            let links = set.links_of(user.id);
            let links = links.filter(|other| purpose.replaces(other.purpose));
            let links = links.map(|other| other.id);
            let more: Vec<_> = links.filter(|id| !replaced.contains(id)).collect();
            replaced.extend(more);
        }
        for id in &replaced {
            rows::delete(&mut batch, Kind::Link, id);
        }
        rows::put(&mut batch, Kind::Link, link.id, &*link)?;
        let (new_link, of) = (link.clone(), user.clone());
        gate.commit(batch, vec![entry], move |set| {
            replaced
                .into_iter()
                .for_each(|id| drop(set.links.remove(&id)));
            set.put_user(of);
            set.links.insert(new_link.id, new_link);
        })
        .await?;
        Ok(NewLink { link, user, token })
    }
}

/// Membership with one more role.
fn with_role(
    membership: &Membership,
    account: Option<AccountId>,
    role: Role,
) -> Result<Membership, UsersError> {
    let is_of_account = role.scope() == Scope::Account;
    if is_of_account != account.is_some() {
        return Err(UsersError::invalid("role", "does not fit the invitation"));
    }
    match (membership, account) {
        (Membership::Accounts(roles), Some(account)) => {
            if roles.contains_key(&account) {
                return Err(UsersError::NotPossible(
                    "this user has a role in the account already: change that role",
                ));
            }
            let mut roles = roles.clone();
            roles.insert(account, role);
            Ok(Membership::Accounts(roles))
        }
        (Membership::Accounts(roles), None) if roles.is_empty() => {
            Ok(Membership::Installation(role))
        }
        (Membership::Accounts(_) | Membership::Installation(_), _) => Err(UsersError::NotPossible(
            "this address belongs to a user who cannot have the role as well: invite another \
                 address",
        )),
    }
}
