//! Access tokens of the providers. Each is for one of a provider's environments, and expires.

use switchyard_system::simulation::{NetworkError, Response};
use tokio::time::{Duration, sleep};

use super::network::ProviderRequest;
use super::{SECOND, Shared, World};
use crate::gateway::IDEMPOTENT;

/// Issues a token for `host`: `s0.live@` and the microsecond at which it expires.
pub(super) async fn issue(world: Shared, host: String) -> Result<Response, NetworkError> {
    let issued = {
        let mut world = world.lock();
        let dies = world.step("before a request leaves");
        (!dies).then(|| world.token(&host))
    };
    let Some((token, millis)) = issued else {
        return std::future::pending().await;
    };
    sleep(Duration::from_millis(millis)).await;
    let dies = world.lock().step("before an answer is read");
    match dies {
        true => std::future::pending().await,
        false => Ok(Response {
            status: 200,
            headers: Vec::new(),
            body: token.to_string().into_bytes(),
        }),
    }
}

impl World {
    fn token(&mut self, host: &str) -> (serde_json::Value, u64) {
        let expires_in = self.network.between(30, 600);
        let lives = i64::try_from(expires_in).unwrap_or(30) * SECOND;
        // Some tokens are revoked before they expire.
        let is_revoked = self.goes_wrong(self.plan.trouble.failing);
        let expires = self.now() + if is_revoked { lives / 3 } else { lives };
        let token = format!("{host}@{expires}");
        self.note(format_args!("{host} issues the token {token}"));
        let token = serde_json::json!({ "access_token": token, "expires_in": expires_in });
        (token, self.network.between(5, 100))
    }

    /// Whether the token of a request is one of its provider and environment, and has not expired.
    pub(super) fn accepts_token(&mut self, request: &ProviderRequest) -> bool {
        let Some((host, expires)) = request.token.split_once('@') else {
            return false;
        };
        if host != request.host {
            let stranger = format!("a token of {host} is sent to {}", request.host);
            self.evidence.foreign_tokens.push(stranger);
            return false;
        }
        expires
            .parse()
            .is_ok_and(|expires: i64| self.now() < expires)
    }

    /// Whether the gateway may send this submission again: after a 401, or once to an idempotent
    /// provider.
    pub(super) fn may_repeat(&mut self, request: &ProviderRequest, reference: &str) -> bool {
        let repeats = self.books.repeats.entry(reference.to_owned()).or_default();
        if repeats.unauthorized > 0 {
            repeats.unauthorized -= 1;
            return true;
        }
        request.host.starts_with(IDEMPOTENT) && !std::mem::replace(&mut repeats.once, true)
    }
}
