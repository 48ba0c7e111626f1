//! Changes of one user that end what was granted before: sessions, tokens beyond the new roles, and
//! for a disabled user all links and tokens.

use std::sync::Arc;

use switchyard_core::ids::{LinkId, SessionId};
use switchyard_store::Batch;

use crate::audit::NewEntry;
use crate::error::UsersError;
use crate::link::{Link, Purpose};
use crate::role::{Role, allows};
use crate::rows::{self, Kind};
use crate::set::Set;
use crate::token::UserToken;
use crate::user::{User, UserState};
use crate::users::{WriteGuard, end_sessions};

impl WriteGuard {
    /// The same as [`Self::change_credentials`] for a user who has used a link, which is deleted.
    pub(crate) async fn change_credentials_removing(
        self,
        user: User,
        keep: Option<SessionId>,
        used: LinkId,
        entries: Vec<NewEntry>,
    ) -> Result<(), UsersError> {
        self.store_changed(user, keep, Some(used), entries).await
    }

    /// Stores a user whose password, second factor, role or state has changed, and ends the
    /// sessions of the user except for `keep`. Password resets that were requested before end, too.
    /// Tokens keep the actions that the roles still allow, and end without one. A disabled user
    /// loses all links and tokens. A new operator ends the resets of the other operators: a token
    /// may have requested one while there was a single operator.
    pub(crate) async fn change_credentials(
        self,
        user: User,
        keep: Option<SessionId>,
        entries: Vec<NewEntry>,
    ) -> Result<(), UsersError> {
        self.store_changed(user, keep, None, entries).await
    }

    async fn store_changed(
        self,
        mut user: User,
        keep: Option<SessionId>,
        used: Option<LinkId>,
        entries: Vec<NewEntry>,
    ) -> Result<(), UsersError> {
        let mut batch = Batch::new();
        user.credentials.version += 1;
        let id = user.id;
        let is_disabled = user.state == UserState::Disabled;
        rows::put(&mut batch, Kind::User, id, &user)?;
        let users = self.users().clone();
        let (sessions, links, tokens) = {
            let set = users.set();
            let sessions = end_sessions(&set, &mut batch, id, keep);
            let links = set.links_of(id).filter(|link| {
                let is_used = Some(link.id) == used;
                let is_invitation = matches!(link.purpose, Purpose::Invitation { .. });
                is_used || is_disabled || !is_invitation
            });
            let others = resets_of_other_operators(&set, &user);
            let links: Vec<_> = links.chain(others).map(|link| link.id).collect();
            let tokens = set.tokens_of(id).map(|live| live.current());
            let tokens = tokens.filter_map(|token| restricted(token, &user));
            (sessions, links, tokens.collect::<Vec<_>>())
        };
        for link in &links {
            rows::delete(&mut batch, Kind::Link, link);
        }
        for token in &tokens {
            match token.actions.is_empty() {
                true => rows::delete(&mut batch, Kind::Token, token.id),
                false => rows::put(&mut batch, Kind::Token, token.id, token)?,
            }
        }
        self.commit(batch, entries, move |set| {
            sessions.into_iter().for_each(|id| set.remove_session(id));
            links.into_iter().for_each(|id| drop(set.links.remove(&id)));
            for token in tokens {
                match token.actions.is_empty() {
                    true => set.remove_token(token.id),
                    false => set.put_token(Arc::new(token)),
                }
            }
            set.put_user(Arc::new(user));
        })
        .await?;
        users.0.pending.lock().remove_setup(id);
        Ok(())
    }
}

/// Unused resets of the other operators, if the change makes `user` an operator.
fn resets_of_other_operators<'a>(set: &'a Set, user: &User) -> impl Iterator<Item = &'a Arc<Link>> {
    let id = user.id;
    let is_operator = |user: &User| user.is_active() && user.has_role(Role::Operator, None);
    let was_operator = set.users.get(&id).is_some_and(|before| is_operator(before));
    let is_new = is_operator(user) && !was_operator;
    let is_other = move |link: &&Arc<Link>| {
        let holder = set.users.get(&link.user).filter(|holder| holder.id != id);
        holder.is_some_and(|holder| is_operator(holder))
    };
    let resets = set
        .links
        .values()
        .filter(move |link| is_new && link.purpose == Purpose::Reset);
    resets.filter(is_other)
}

/// The token with the actions that the roles of its changed user still allow. `None`: it keeps all.
fn restricted(mut token: UserToken, user: &User) -> Option<UserToken> {
    let role = user
        .role_in(token.account)
        .filter(|_| user.state != UserState::Disabled);
    let before = token.actions.len();
    token
        .actions
        .retain(|action| role.is_some_and(|role| allows(role, *action)));
    (token.actions.len() < before).then_some(token)
}
