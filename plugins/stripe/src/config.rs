//! Configuration of a connection, as the operator enters it.

use serde::Deserialize;
use switchyard_gateway::{Context, Environment, Fault};

#[derive(Deserialize)]
pub struct Config {
    pub secret_key: String,
    /// Empty: callbacks cannot be verified, and are hints.
    #[serde(default)]
    pub webhook_secret: String,
    #[serde(default)]
    session_minutes: Option<i64>,
    #[serde(default)]
    base_url: String,
}

impl Config {
    pub fn read(cx: &Context) -> Result<Self, Fault> {
        cx.config()
    }

    /// Error in the key that is visible without a request: a test key in live would take orders and
    /// no money.
    pub fn wrong_key(&self, environment: Environment) -> Option<&'static str> {
        let is = |mode: &str| {
            ["sk", "rk"].iter().any(|kind| {
                let rest = self.secret_key.strip_prefix(kind);
                rest.is_some_and(|rest| rest.starts_with(mode))
            })
        };
        match environment {
            Environment::Sandbox if !is("_test_") => {
                Some("a sandbox connection takes a test key: sk_test_… or rk_test_…")
            }
            Environment::Live if !is("_live_") => {
                Some("a live connection takes a live key: sk_live_… or rk_live_…")
            }
            Environment::Sandbox | Environment::Live => None,
        }
    }

    /// Without a slash at its end.
    pub fn base_url(&self) -> &str {
        match self.base_url.trim_end_matches('/') {
            "" => BASE_URL,
            given => given,
        }
    }

    /// How long a session lives, in seconds. Stripe takes 30 minutes to 24 hours by its own clock:
    /// a few minutes are left to clocks that differ and to requests that travel.
    pub fn session_seconds(&self) -> i64 {
        let minutes = self.session_minutes.unwrap_or(SESSION_MINUTES);
        minutes.clamp(SHORTEST_MINUTES, LONGEST_MINUTES) * 60
    }
}

const BASE_URL: &str = "https://api.stripe.com";
const SESSION_MINUTES: i64 = 60;
const SHORTEST_MINUTES: i64 = 31;
const LONGEST_MINUTES: i64 = 24 * 60 - 5;
