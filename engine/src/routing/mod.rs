//! Which connections can take a transaction, in order, and why the others cannot. Pure.
//!
//! It leaves out what a connection's recent past says of it; candidates come in the order of the offers.

use crate::ids::ConnectionId;
use crate::transaction::{Candidate, Decision, Route, Skipped};

/// A connection, seen with one transaction's method in mind.
#[derive(Clone, Debug)]
pub struct Offer {
    pub candidate: Candidate,
    pub standing: Standing,
}

/// Whether a connection can take a transaction, and what stands in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    CanServe,
    /// The operator switched the connection off.
    Disabled,
    /// Its gateway is not loaded.
    GatewayMissing,
    /// Its gateway panicked too often, and is not called for a while.
    Suspended,
    /// The method is not among those that the connection may serve, or not one of its gateway's.
    MethodNotServed,
    /// The provider takes no such amount.
    AmountOutOfRange,
}

impl Standing {
    const fn reason(self) -> Option<&'static str> {
        match self {
            Self::CanServe => None,
            Self::Disabled => Some("the connection is switched off"),
            Self::GatewayMissing => Some("its gateway is not loaded"),
            Self::Suspended => {
                Some("its gateway is suspended for a while after panicking too often")
            }
            Self::MethodNotServed => Some("it does not serve the method"),
            Self::AmountOutOfRange => Some("the provider takes no such amount"),
        }
    }
}

/// The plan: every offer that can serve, in the order given, and a trace of the decision.
pub fn plan(offers: Vec<Offer>) -> Route {
    let mut route = Route::default();
    for offer in offers {
        match offer.standing.reason() {
            None => route.candidates.push(offer.candidate),
            Some(because) => route
                .decision
                .skipped
                .push(skipped(offer.candidate.connection, because)),
        }
    }
    route.decision = Decision {
        chosen_because: match route.candidates.len() {
            0 => "nothing can serve it".to_owned(),
            1 => "the only connection that serves it".to_owned(),
            count => format!("the first of {count} connections that serve it"),
        },
        ..route.decision
    };
    route
}

fn skipped(connection: ConnectionId, because: &str) -> Skipped {
    Skipped {
        connection,
        because: because.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(number: u128, standing: Standing) -> Offer {
        let candidate = Candidate {
            connection: ConnectionId::new(ulid::Ulid::from_parts(1, number)),
            gateway: format!("gateway_{number}"),
            gateway_title: format!("Gateway {number}"),
            gateway_hash: String::new(),
            account_name: "Main".to_owned(),
        };
        Offer {
            candidate,
            standing,
        }
    }

    #[test]
    fn connections_that_can_serve_are_tried_in_their_order_and_the_others_are_named_with_a_reason()
    {
        let route = plan(vec![
            offer(1, Standing::Disabled),
            offer(2, Standing::CanServe),
            offer(3, Standing::GatewayMissing),
            offer(4, Standing::CanServe),
            offer(5, Standing::AmountOutOfRange),
            offer(6, Standing::MethodNotServed),
            offer(7, Standing::Suspended),
        ]);
        let order: Vec<&str> = route
            .candidates
            .iter()
            .map(|candidate| candidate.gateway.as_str())
            .collect();
        assert_eq!(order, ["gateway_2", "gateway_4"]);
        assert_eq!(route.decision.skipped.len(), 5);
        assert!(route.decision.skipped[4].because.contains("suspended"));
        assert_eq!(
            route.decision.chosen_because,
            "the first of 2 connections that serve it"
        );
    }

    #[test]
    fn nobody_is_chosen_when_nobody_can_serve() {
        assert_eq!(plan(Vec::new()).candidates, Vec::new());
    }
}
