//! Sessions of users in browsers, from a sign-in on.
//!
//! The token has 256 random bits, is shown once and stored by its SHA-256. A session ends after 30
//! minutes without a request, after 12 hours in any case, and when the password, the second factor,
//! a role or the state of its user changes.

use std::net::IpAddr;
use std::sync::Arc;

use ring::hmac;
use serde::{Deserialize, Serialize};
use switchyard_core::ids::{SessionId, UserId};
use switchyard_core::limits::{
    RECENT_AUTHENTICATION, SESSION_IDLE, SESSION_LIFETIME, USER_AGENT_CHARACTERS,
};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;

use switchyard_system::secrets::Fingerprint;

/// A session of a user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub user: UserId,
    pub(crate) hash: Fingerprint,
    pub created_at: Timestamp,
    /// Time of the last request, up to a minute earlier after a restart.
    pub last_seen_at: Timestamp,
    /// Time of the last sign-in or re-authentication with all factors.
    pub authenticated_at: Timestamp,
    pub address: Option<IpAddr>,
    pub user_agent: String,
    /// Whether the second factor of the sign-in was one of the OpenID Connect provider.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) provider_factor: bool,
}

/// New session with its token, which is not stored.
#[derive(Debug)]
pub struct NewSession {
    pub session: Arc<Session>,
    pub token: Secret<String>,
}

impl NewSession {
    /// Token for the forms of this session, see [`csrf_token`].
    pub fn csrf(&self) -> Secret<String> {
        csrf_token(self.token.expose())
    }
}

impl Session {
    /// Whether the session has ended by time. `last_seen`: time of its last request.
    pub(crate) fn is_expired(&self, last_seen: Timestamp, now: Timestamp) -> bool {
        now.since(last_seen) >= SESSION_IDLE || now.since(self.created_at) >= SESSION_LIFETIME
    }

    /// Whether all factors were given recently enough for sensitive actions.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        now.since(self.authenticated_at) < RECENT_AUTHENTICATION
    }
}

/// Token that each form of a session carries: an HMAC under the session's token, so that another
/// site cannot make one.
pub fn csrf_token(session_token: &str) -> Secret<String> {
    let tag = hmac::sign(&csrf_key(session_token), CSRF_PURPOSE);
    Secret::new(base16ct::lower::encode_string(tag.as_ref()))
}

/// Whether `given` is the form token of the session with this token. Constant time.
pub fn is_csrf_token(session_token: &str, given: &str) -> bool {
    let mut bytes = [0; 32];
    let decoded = base16ct::lower::decode(given, &mut bytes);
    let is_whole = decoded.is_ok_and(|decoded| decoded.len() == 32);
    is_whole && hmac::verify(&csrf_key(session_token), CSRF_PURPOSE, &bytes).is_ok()
}

fn csrf_key(session_token: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, session_token.as_bytes())
}

/// User agent as it is stored: shortened, without control characters.
pub(crate) fn shortened_user_agent(text: &str) -> String {
    let visible = text.chars().filter(|c| !c.is_control());
    visible.take(USER_AGENT_CHARACTERS).collect()
}

const CSRF_PURPOSE: &[u8] = b"switchyard/v1/csrf";

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn session() -> Session {
        Session {
            id: SessionId::new(Default::default()),
            user: UserId::new(Default::default()),
            hash: Fingerprint::ZERO,
            created_at: Timestamp::from_seconds(0),
            last_seen_at: Timestamp::from_seconds(0),
            authenticated_at: Timestamp::from_seconds(0),
            address: None,
            user_agent: String::new(),
            provider_factor: false,
        }
    }

    #[test]
    fn a_session_ends_after_30_idle_minutes_and_after_12_hours() {
        let minutes = |minutes: i64| Timestamp::from_seconds(minutes * 60);
        let session = session();
        assert!(!session.is_expired(minutes(0), minutes(29)));
        assert!(session.is_expired(minutes(0), minutes(30)));
        assert!(!session.is_expired(minutes(700), minutes(719)));
        assert!(session.is_expired(minutes(719), minutes(720)));
    }

    #[test]
    fn an_authentication_is_recent_for_10_minutes() {
        let start = Timestamp::from_seconds(0);
        let after = |seconds| start.plus(Duration::from_secs(seconds));
        assert!(session().is_recent(after(599)));
        assert!(!session().is_recent(after(600)));
    }

    #[test]
    fn a_form_token_belongs_to_one_session() {
        let token = csrf_token("one");
        assert!(is_csrf_token("one", token.expose()));
        assert!(!is_csrf_token("other", token.expose()));
        assert!(!is_csrf_token("one", ""));
        assert!(!is_csrf_token("one", &token.expose()[..62]));
        assert!(!is_csrf_token("one", &format!("{}00", token.expose())));
    }

    #[test]
    fn a_user_agent_is_shortened_and_on_one_line() {
        assert_eq!(shortened_user_agent("Firefox\r\n/1"), "Firefox/1");
        assert_eq!(shortened_user_agent(&"é".repeat(999)).chars().count(), 200);
    }
}
