//! Whether money comes in or goes out.

use serde::{Deserialize, Serialize};

use crate::ids::TransactionId;

/// A payment or a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Payment,
    Payout,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Payment, Self::Payout];

    pub const fn of(id: TransactionId) -> Self {
        match id {
            TransactionId::Payment(_) => Self::Payment,
            TransactionId::Payout(_) => Self::Payout,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Payout => "payout",
        }
    }
}
