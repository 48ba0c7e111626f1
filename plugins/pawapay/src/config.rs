//! Configuration of a connection, as the operator enters it.

use serde::Deserialize;
use switchyard_gateway::{Context, Environment, Fault};

#[derive(Deserialize)]
pub struct Config {
    pub api_token: String,
    #[serde(default)]
    base_url: String,
    /// Address to which pawaPay sends its callbacks, if it is not the engine's own for this
    /// connection.
    #[serde(default)]
    callback_url: String,
}

impl Config {
    pub fn read(cx: &Context) -> Result<Self, Fault> {
        cx.config()
    }

    /// Without a slash at its end.
    pub fn base_url(&self, environment: Environment) -> &str {
        match (self.base_url.trim_end_matches('/'), environment) {
            ("", Environment::Sandbox) => SANDBOX,
            ("", Environment::Live) => LIVE,
            (given, _) => given,
        }
    }

    /// Address of our callbacks as pawaPay sees it: the operator's setting, or else the engine's.
    pub fn callback_url<'a>(&'a self, engines: Option<&'a str>) -> Option<&'a str> {
        match self.callback_url.as_str() {
            "" => engines,
            given => Some(given),
        }
    }
}

const SANDBOX: &str = "https://api.sandbox.pawapay.io";
const LIVE: &str = "https://api.pawapay.io";
