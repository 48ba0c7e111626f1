//! Deletion of expired sessions, links, tokens, proposals and invited users.

use std::collections::BTreeSet;
use std::sync::Arc;

use switchyard_core::ids::{LinkId, SessionId, UserId, UserTokenId};
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;

use crate::approval::Approval;
use crate::error::UsersError;
use crate::rows::{self, Kind};
use crate::user::UserState;
use crate::users::Users;

/// Rows to delete, and proposals to close.
struct Expired {
    sessions: Vec<SessionId>,
    links: Vec<LinkId>,
    tokens: Vec<UserTokenId>,
    users: Vec<UserId>,
    approvals: Vec<Arc<Approval>>,
}

impl Users {
    /// Deletes sessions, links and tokens that have expired, users who were invited and never
    /// accepted, and failed sign-ins that no longer count; closes expired proposals; records the
    /// refusals of an hour that were only counted. Call it about once an hour; nothing expired is
    /// accepted before. Also deletes unconfirmed batches of payouts, the personal data of those
    /// that ended long ago, and the rows of old sandbox payments of payment links.
    pub async fn purge_expired(&self) -> Result<(), UsersError> {
        self.purge_batches().await?;
        self.purge_ended_batches().await?;
        self.purge_link_payments().await?;
        let gate = self.gate().await;
        let now = gate.now();
        self.0.sign_ins.purge(now);
        self.0.resets.purge(now);
        self.0.pending.lock().purge(now);
        let expired = self.expired(now);
        let mut batch = Batch::new();
        for id in &expired.sessions {
            rows::delete(&mut batch, Kind::Session, id);
        }
        for id in &expired.links {
            rows::delete(&mut batch, Kind::Link, id);
        }
        for id in &expired.tokens {
            rows::delete(&mut batch, Kind::Token, id);
        }
        for id in &expired.users {
            rows::delete(&mut batch, Kind::User, id);
        }
        for approval in &expired.approvals {
            rows::delete(&mut batch, Kind::Approval, approval.id);
            rows::put(&mut batch, Kind::Decided, approval.id, &approval.expired())?;
        }
        let entries = self.0.refusals.ended(now);
        gate.commit(batch, entries, move |set| {
            for id in expired.sessions {
                set.remove_session(id);
            }
            for id in expired.links {
                set.links.remove(&id);
            }
            for id in expired.tokens {
                set.remove_token(id);
            }
            for id in expired.users {
                set.remove_user(id);
            }
            for approval in expired.approvals {
                set.approvals.remove(&approval.id);
            }
        })
        .await
    }

    fn expired(&self, now: Timestamp) -> Expired {
        let set = self.set();
        let sessions = set.sessions.values().filter(|live| live.is_expired(now));
        let links = set.links.values().filter(|link| link.is_expired(now));
        let tokens = set.tokens.values();
        let tokens = tokens.filter(|live| now >= live.token.expires_at);
        let open = set.links.values().filter(|link| !link.is_expired(now));
        let invited: BTreeSet<UserId> = open.map(|link| link.user).collect();
        let users = set.users.values().filter(|user| {
            user.state == UserState::Invited
                && user.roles().is_empty()
                && !invited.contains(&user.id)
        });
        let approvals = set.approvals.values();
        let approvals = approvals.filter(|it| it.is_expired(now));
        Expired {
            sessions: sessions.map(|live| live.session.id).collect(),
            links: links.map(|link| link.id).collect(),
            tokens: tokens.map(|live| live.token.id).collect(),
            users: users.map(|user| user.id).collect(),
            approvals: approvals.cloned().collect(),
        }
    }
}
