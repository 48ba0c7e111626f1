//! Configuration of a connection, as the operator enters it.

use serde::Deserialize;
use switchyard_gateway::{Context, Environment, Fault};

#[derive(Deserialize)]
pub struct Config {
    pub secret_key: String,
    /// "Secret hash" of the dashboard: every callback carries it.
    #[serde(default)]
    pub secret_hash: String,
    #[serde(default)]
    base_url: String,
}

impl Config {
    /// Test and live share one address, and the key alone decides which money moves. So a key of
    /// the other environment is refused before anything leaves.
    pub fn read(cx: &Context) -> Result<Self, Fault> {
        let config: Self = cx.config()?;
        match config.wrong_key(cx.environment()) {
            Some(why) => Err(Fault::config(why)),
            None => Ok(config),
        }
    }

    pub fn wrong_key(&self, environment: Environment) -> Option<&'static str> {
        let is_test = self.secret_key.starts_with(TEST);
        match environment {
            Environment::Sandbox if !is_test => Some(
                "a sandbox connection needs Flutterwave's test key, which begins with FLWSECK_TEST-",
            ),
            Environment::Live if !self.secret_key.starts_with(LIVE) => Some(
                "a live connection needs Flutterwave's live key, which begins with FLWSECK- and has no TEST in it",
            ),
            _ => None,
        }
    }

    /// Without a slash at its end.
    pub fn base_url(&self) -> &str {
        match self.base_url.trim_end_matches('/') {
            "" => BASE,
            given => given,
        }
    }
}

const TEST: &str = "FLWSECK_TEST-";
const LIVE: &str = "FLWSECK-";
const BASE: &str = "https://api.flutterwave.com/v3";
