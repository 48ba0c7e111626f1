//! Sandbox or live. Every key, connection, customer and transaction is in one of the two, never in
//! both.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Environment: test money or real money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    Sandbox,
    Live,
}

impl Environment {
    pub const ALL: [Self; 2] = [Self::Sandbox, Self::Live];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Live => "live",
        }
    }

    /// Spelling in an API key.
    pub const fn in_key(self) -> &'static str {
        match self {
            Self::Sandbox => "test",
            Self::Live => "live",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Environment {
    type Err = ParseEnvironmentError;
    fn from_str(text: &str) -> Result<Self, ParseEnvironmentError> {
        match text {
            "sandbox" => Ok(Self::Sandbox),
            "live" => Ok(Self::Live),
            _ => Err(ParseEnvironmentError),
        }
    }
}

/// A text names no environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an environment is `sandbox` or `live`")]
pub struct ParseEnvironmentError;
