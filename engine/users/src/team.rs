//! Changes of other users: roles, removal from an account, disabling, lost second factors.

use std::sync::Arc;

use serde_json::{Value, json};
use switchyard_core::ids::{AccountId, UserId};
use switchyard_store::Batch;

use crate::authorize::Permit;
use crate::error::UsersError;
use crate::refusal::Refusal;
use crate::role::{Action, Role, Scope, allows};
use crate::user::{Membership, User, UserState};
use crate::users::{Users, WriteGuard};

impl Users {
    /// Users with a role in an account, or with one for the installation, oldest first.
    pub fn members(&self, account: Option<AccountId>) -> Vec<(Arc<User>, Role)> {
        let set = self.set();
        let users = set.users.values();
        let members = users.filter_map(|user| Some((user.clone(), role_within(user, account)?)));
        members.collect()
    }

    /// Gives a member another role, and ends their sessions.
    pub async fn change_role(
        &self,
        permit: &Permit,
        id: UserId,
        role: Role,
    ) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let (user, before) = self.managed_member(permit, id)?;
        self.check_assignable(permit, role)?;
        if before == role {
            return Ok(());
        }
        self.check_not_last(&user, before, permit.account)?;
        let mut changed = User::clone(&user);
        changed.membership = match (&user.membership, permit.account) {
            (Membership::Accounts(roles), Some(account)) => {
                let mut roles = roles.clone();
                roles.insert(account, role);
                Membership::Accounts(roles)
            }
            _ => Membership::Installation(role),
        };
        let entry = permit
            .entry(id)
            .changing(json!({ "role": before }), json!({ "role": role }));
        gate.change_credentials(changed, None, vec![entry]).await
    }

    /// Removes a member from the account of the permit, and ends their sessions. The user keeps
    /// roles in other accounts.
    pub async fn remove_member(&self, permit: &Permit, id: UserId) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let (user, before) = self.managed_member(permit, id)?;
        let (Membership::Accounts(roles), Some(account)) = (&user.membership, permit.account)
        else {
            return Err(UsersError::NotPossible(
                "a user of the installation is disabled, not removed",
            ));
        };
        self.check_not_last(&user, before, permit.account)?;
        let mut roles = roles.clone();
        roles.remove(&account);
        let mut changed = User::clone(&user);
        // After another invitation, the next sign-in by the provider binds an identity again. Roles
        // in other accounts still depend on it.
        if roles.is_empty() {
            changed.credentials.unbind();
        }
        changed.membership = Membership::Accounts(roles);
        let entry = permit
            .entry(id)
            .changing(json!({ "role": before }), Value::Null);
        gate.change_credentials(changed, None, vec![entry]).await
    }

    /// Disables a user of any account or of the installation: their sessions, links and tokens end,
    /// and they cannot sign in.
    pub async fn disable(&self, permit: &Permit, id: UserId) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let user = self.user_for_operator(permit, id)?;
        if user.id == permit.user {
            return Err(UsersError::NotPossible("you cannot disable yourself"));
        }
        if let Membership::Installation(role) = user.membership {
            self.check_not_last(&user, role, None)?;
        }
        let state = UserState::Disabled;
        self.change_state(gate, permit, &user, state).await
    }

    /// Lets a disabled user sign in again, with the roles from before. The password from before
    /// counts unless the second factor was the provider's.
    pub async fn enable(&self, permit: &Permit, id: UserId) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let user = self.user_for_operator(permit, id)?;
        let has_accepted = user.credentials.password.is_some() || user.last_sign_in_at.is_some();
        let state = match has_accepted {
            true => UserState::Active,
            false => UserState::Invited,
        };
        self.change_state(gate, permit, &user, state).await
    }

    /// Removes the second factor of a user who has lost it, and ends their sessions. At the next
    /// sign-in a user whose role needs one sets up another. Refused for the user of the permit.
    pub async fn remove_second_factor_of(
        &self,
        permit: &Permit,
        id: UserId,
    ) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        if id == permit.user {
            return Err(UsersError::NotPossible(
                "this is your own second factor: replace it in your account",
            ));
        }
        let user = self.manageable(permit, id)?;
        let mut changed = User::clone(&user);
        changed.credentials.totp = None;
        let entry = permit
            .entry(id)
            .changing(json!({ "totp": user.has_totp() }), json!({ "totp": false }));
        gate.change_credentials(changed, None, vec![entry]).await
    }

    /// Ends all sessions of a user. Returns how many.
    pub async fn end_sessions_of(&self, permit: &Permit, id: UserId) -> Result<usize, UsersError> {
        let gate = self.gate().await;
        let permit = &self.manager(permit)?;
        let user = self.manageable(permit, id)?;
        let mut batch = Batch::new();
        let ended = {
            let set = self.set();
            crate::users::end_sessions(&set, &mut batch, user.id, None)
        };
        let count = ended.len();
        let entry = permit
            .entry(id)
            .changing(json!({ "sessions": count }), json!({ "sessions": 0 }));
        gate.commit(batch, vec![entry], move |set| {
            ended.into_iter().for_each(|id| set.remove_session(id));
        })
        .await?;
        Ok(count)
    }

    /// The permit as it is at this change, if it is for users of its account or of the
    /// installation.
    pub(crate) fn manager(&self, permit: &Permit) -> Result<Permit, UsersError> {
        let fits = match permit.action {
            Action::ManageTeam => permit.account.is_some(),
            Action::ManageInstallationUsers => permit.account.is_none(),
            _ => false,
        };
        match fits {
            true => Ok(self.renew(permit)?),
            false => Err(UsersError::NotPossible("this permit is for another action")),
        }
    }

    /// Checks that the role fits the permit, and that its user may give it.
    pub(crate) fn check_assignable(&self, permit: &Permit, role: Role) -> Result<(), UsersError> {
        let scope = match permit.account {
            Some(_) => Scope::Account,
            None => Scope::Installation,
        };
        if role.scope() != scope {
            return Err(UsersError::invalid("role", "is not one of this team"));
        }
        match permit.role.may_assign(role) {
            true => Ok(()),
            false => Err(self.refuse(permit, refused_role(permit, role))),
        }
    }

    /// A member of the permit's account or of the installation whom the permit may change.
    fn managed_member(&self, permit: &Permit, id: UserId) -> Result<(Arc<User>, Role), UsersError> {
        let user = self.user(id);
        let role = user.as_ref().and_then(|it| role_within(it, permit.account));
        let (Some(user), Some(role)) = (user, role) else {
            return Err(UsersError::not_found("user", id));
        };
        match permit.role.may_assign(role) {
            true => Ok((user, role)),
            false => Err(self.refuse(permit, refused_role(permit, role))),
        }
    }

    /// A user whose sign-in the permit may change: an operator any, others a member of their
    /// account only, who has a role in no other.
    fn manageable(&self, permit: &Permit, id: UserId) -> Result<Arc<User>, UsersError> {
        if permit.action == Action::ManageInstallationUsers {
            return self.user_for_operator(permit, id);
        }
        let (user, _) = self.managed_member(permit, id)?;
        match user.accounts().len() == 1 || permit.role == Role::Operator {
            true => Ok(user),
            false => Err(UsersError::NotPossible(
                "this user has roles in other accounts: ask the operator of the installation",
            )),
        }
    }

    fn user_for_operator(&self, permit: &Permit, id: UserId) -> Result<Arc<User>, UsersError> {
        if permit.action != Action::ManageInstallationUsers {
            return Err(UsersError::NotPossible("this permit is for another action"));
        }
        self.user(id)
            .ok_or_else(|| UsersError::not_found("user", id))
    }

    /// Refuses to take the role from the last active owner of an account, or the last operator.
    fn check_not_last(
        &self,
        user: &User,
        role: Role,
        account: Option<AccountId>,
    ) -> Result<(), UsersError> {
        let is_needed = matches!(role, Role::Owner | Role::Operator) && user.is_active();
        let mut others = self.holders(role, account);
        match is_needed && !others.any(|other| other.id != user.id) {
            true => Err(UsersError::NotPossible(
                "this is the last user with this role: give it to another user first",
            )),
            false => Ok(()),
        }
    }

    async fn change_state(
        &self,
        gate: WriteGuard,
        permit: &Permit,
        user: &User,
        state: UserState,
    ) -> Result<(), UsersError> {
        if user.state == state {
            return Ok(());
        }
        let mut changed = user.clone();
        changed.state = state;
        if state == UserState::Disabled {
            // After the user is enabled, the next sign-in by the provider binds an identity again.
            changed.credentials.unbind();
        }
        let entry = permit
            .entry(user.id)
            .changing(json!({ "state": user.state }), json!({ "state": state }));
        gate.change_credentials(changed, None, vec![entry]).await
    }
}

/// Role in the account, or for the installation; unlike [`User::role_in`] without the roles that
/// cover every account.
fn role_within(user: &User, account: Option<AccountId>) -> Option<Role> {
    match (&user.membership, account) {
        (Membership::Accounts(roles), Some(account)) => roles.get(&account).copied(),
        (Membership::Installation(role), None) => Some(*role),
        _ => None,
    }
}

fn refused_role(permit: &Permit, role: Role) -> Refusal {
    let roles = Role::ALL
        .into_iter()
        .filter(|other| allows(*other, permit.action) && other.may_assign(role));
    Refusal::Forbidden {
        action: permit.action,
        roles: roles.collect(),
    }
}
