//! The host's side of gateways: the versions that are loaded, and how one of them is called.

use std::sync::Arc;

use serde_json::Value;

use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::ids::{AttemptId, TransactionId};
use crate::money::Amount;
use crate::store::{Store, StoreError};
use crate::transaction::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Collect,
    Payout,
    Query,
}

impl Operation {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Payout => "payout",
            Self::Query => "query",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Collect,
    Payout,
}

#[derive(Clone, Debug)]
pub struct Manifest {
    pub name: String,
    pub title: String,
}

impl Manifest {
    /// Whether the gateway serves a method, by its code.
    pub fn serves(&self, _direction: Direction, _method: &str, _service_code: &str) -> bool {
        false
    }

    /// Whether the gateway takes this amount for a method.
    pub fn takes(
        &self,
        _direction: Direction,
        _method: &str,
        _service_code: &str,
        _amount: Amount,
    ) -> bool {
        false
    }
}

#[derive(Debug)]
pub struct Version {
    pub manifest: Arc<Manifest>,
    pub sha256: String,
}

pub struct Journal {
    pub store: Store,
    pub transaction: TransactionId,
    pub attempt: AttemptId,
}

pub struct Call {
    pub gateway: Arc<Version>,
    pub operation: Operation,
    pub journal: Journal,
    pub now: Timestamp,
    pub config: Value,
    pub state: Value,
    pub input: Value,
    pub environment: Environment,
}

pub struct CallEnd {
    pub outcome: Outcome,
    pub state: Value,
}

pub enum Recovered {
    NothingSent,
    MaybeSent,
}

#[derive(Clone, Default)]
pub struct Gateways {}

impl Gateways {
    pub fn list(&self) -> Vec<Arc<Version>> {
        Vec::new()
    }

    pub fn current(&self, _name: &str) -> Option<Arc<Version>> {
        None
    }

    pub fn version(&self, _name: &str, _sha256: &str) -> Option<Arc<Version>> {
        None
    }

    pub async fn call(&self, call: Call) -> CallEnd {
        CallEnd {
            outcome: Outcome::NotSent {
                why: "no gateway is loaded".to_owned(),
            },
            state: call.state,
        }
    }
}

pub async fn recover(
    _store: &Store,
    _transaction: TransactionId,
    _attempt: AttemptId,
) -> Result<Recovered, StoreError> {
    Ok(Recovered::NothingSent)
}
