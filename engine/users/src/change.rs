//! Changes of one user that end what was granted before: sessions, and for a disabled user links
//! and tokens.

use std::sync::Arc;

use switchyard_core::ids::{LinkId, SessionId};
use switchyard_store::Batch;

use crate::audit::NewEntry;
use crate::error::UsersError;
use crate::link::Purpose;
use crate::rows::{self, Kind};
use crate::user::{User, UserState};
use crate::users::{WriteGuard, end_sessions};

impl WriteGuard {
    /// The same as [`Self::change_credentials`] for a user who has used a link, which is deleted.
    pub(crate) async fn change_credentials_removing(
        self,
        user: User,
        used: LinkId,
        entries: Vec<NewEntry>,
    ) -> Result<(), UsersError> {
        self.store_changed(user, None, Some(used), entries).await
    }

    /// Stores a user whose password, second factor, role or state has changed, and ends the
    /// sessions of the user except for `keep`. Password resets that were requested before end, too;
    /// a disabled user loses all links and tokens.
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
            let links: Vec<_> = links.map(|link| link.id).collect();
            let tokens = set.tokens_of(id).filter(|_| is_disabled);
            let tokens: Vec<_> = tokens.map(|live| live.token.id).collect();
            (sessions, links, tokens)
        };
        for link in &links {
            rows::delete(&mut batch, Kind::Link, link);
        }
        for token in &tokens {
            rows::delete(&mut batch, Kind::Token, token);
        }
        self.commit(batch, entries, move |set| {
            sessions.into_iter().for_each(|id| set.remove_session(id));
            links.into_iter().for_each(|id| drop(set.links.remove(&id)));
            tokens.into_iter().for_each(|id| set.remove_token(id));
            set.put_user(Arc::new(user));
        })
        .await?;
        users.0.pending.lock().remove_setup(id);
        Ok(())
    }
}
