//! Users, sessions, links, tokens and open approvals in memory, arranged for look-ups.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use switchyard_core::ids::{ApprovalId, LinkId, SessionId, UserId, UserTokenId};
use switchyard_core::limits::LAST_USED_INTERVAL;
use switchyard_core::time::Timestamp;

use crate::approval::Approval;
use crate::link::Link;
use crate::session::Session;
use crate::token::UserToken;
use crate::user::{User, email_key};
use switchyard_system::secrets::Fingerprint;

#[derive(Default)]
pub(crate) struct Set {
    pub users: BTreeMap<UserId, Arc<User>>,
    by_email: HashMap<String, UserId>,
    pub sessions: BTreeMap<SessionId, LiveSession>,
    sessions_by_hash: BTreeMap<Fingerprint, SessionId>,
    pub links: BTreeMap<LinkId, Arc<Link>>,
    pub tokens: BTreeMap<UserTokenId, LiveToken>,
    tokens_by_hash: BTreeMap<Fingerprint, UserTokenId>,
    pub approvals: BTreeMap<ApprovalId, Arc<Approval>>,
}

#[derive(Clone)]
pub(crate) struct LiveSession {
    pub session: Arc<Session>,
    pub used: Arc<LastUsed>,
}

#[derive(Clone)]
pub(crate) struct LiveToken {
    pub token: Arc<UserToken>,
    pub used: Arc<LastUsed>,
}

/// Time of the last use, and the last one whose write began, in microseconds.
pub(crate) struct LastUsed {
    at: AtomicI64,
    written: AtomicI64,
}

impl LastUsed {
    fn new(at: Timestamp) -> Arc<Self> {
        Arc::new(Self {
            at: AtomicI64::new(at.as_micros()),
            written: AtomicI64::new(at.as_micros()),
        })
    }

    pub fn at(&self) -> Timestamp {
        Timestamp::from_micros(self.at.load(Ordering::Relaxed))
    }

    /// Notes a use. Returns whether it is to be written: once in an interval.
    pub fn note(&self, now: Timestamp) -> bool {
        self.at.fetch_max(now.as_micros(), Ordering::Relaxed);
        let written = self.written.load(Ordering::Relaxed);
        let is_due = now.since(Timestamp::from_micros(written)) >= LAST_USED_INTERVAL;
        is_due
            && self
                .written
                .compare_exchange(
                    written,
                    now.as_micros(),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
    }
}

impl LiveSession {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.session.is_expired(self.used.at(), now)
    }

    /// The session with the time of its last request.
    pub fn current(&self) -> Session {
        Session {
            last_seen_at: self.used.at(),
            ..Session::clone(&self.session)
        }
    }
}

impl LiveToken {
    /// The token with the time of its last use.
    pub fn current(&self) -> UserToken {
        let used = self.used.at();
        UserToken {
            last_used_at: (used > self.token.created_at).then_some(used),
            ..UserToken::clone(&self.token)
        }
    }
}

impl Set {
    pub fn user_by_email(&self, email: &str) -> Option<&Arc<User>> {
        self.users.get(self.by_email.get(&email_key(email))?)
    }

    pub fn put_user(&mut self, user: Arc<User>) {
        self.by_email.insert(email_key(&user.email), user.id);
        self.users.insert(user.id, user);
    }

    pub fn remove_user(&mut self, id: UserId) {
        if let Some(gone) = self.users.remove(&id) {
            self.by_email.remove(&email_key(&gone.email));
        }
    }

    pub fn session_by_hash(&self, hash: &Fingerprint) -> Option<&LiveSession> {
        self.sessions.get(self.sessions_by_hash.get(hash)?)
    }

    pub fn put_session(&mut self, session: Arc<Session>) {
        self.sessions_by_hash.insert(session.hash, session.id);
        let used = LastUsed::new(session.last_seen_at);
        self.sessions
            .insert(session.id, LiveSession { session, used });
    }

    pub fn remove_session(&mut self, id: SessionId) {
        if let Some(gone) = self.sessions.remove(&id) {
            self.sessions_by_hash.remove(&gone.session.hash);
        }
    }

    /// Sessions of a user, oldest first.
    pub fn sessions_of(&self, user: UserId) -> impl Iterator<Item = &LiveSession> {
        let all = self.sessions.values();
        all.filter(move |live| live.session.user == user)
    }

    pub fn link_by_hash(&self, hash: &Fingerprint) -> Option<&Arc<Link>> {
        self.links.values().find(|link| link.hash == *hash)
    }

    pub fn links_of(&self, user: UserId) -> impl Iterator<Item = &Arc<Link>> {
        self.links.values().filter(move |link| link.user == user)
    }

    pub fn token_by_hash(&self, hash: &Fingerprint) -> Option<&LiveToken> {
        self.tokens.get(self.tokens_by_hash.get(hash)?)
    }

    pub fn put_token(&mut self, token: Arc<UserToken>) {
        self.tokens_by_hash.insert(token.hash, token.id);
        let used = LastUsed::new(token.last_used_at.unwrap_or(token.created_at));
        self.tokens.insert(token.id, LiveToken { token, used });
    }

    pub fn remove_token(&mut self, id: UserTokenId) {
        if let Some(gone) = self.tokens.remove(&id) {
            self.tokens_by_hash.remove(&gone.token.hash);
        }
    }

    pub fn tokens_of(&self, user: UserId) -> impl Iterator<Item = &LiveToken> {
        let all = self.tokens.values();
        all.filter(move |live| live.token.user == user)
    }
}
