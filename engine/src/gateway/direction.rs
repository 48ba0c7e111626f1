//! Direction of a kind of transaction, in the wire form of gateways.

use switchyard_gateway::Direction;

use crate::transaction::Kind;

impl From<Kind> for Direction {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Payment => Self::Collect,
            Kind::Payout => Self::Payout,
        }
    }
}
