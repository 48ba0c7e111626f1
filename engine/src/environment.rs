//! Sandbox or live: chosen by the key of a request, and never mixed (promise P9).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a key, a connection, a customer or a transaction lives.
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
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
