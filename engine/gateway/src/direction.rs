//! Direction of a kind of transaction, in the wire form of gateways.

use switchyard_core::transaction::Kind;
use switchyard_gateway::Direction;

/// Direction in which a transaction of this kind moves money.
pub const fn direction(kind: Kind) -> Direction {
    match kind {
        Kind::Payment => Direction::Collect,
        Kind::Payout => Direction::Payout,
    }
}
