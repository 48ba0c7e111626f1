//! Addresses are given once, whatever connection, environment or version asks.

use std::collections::{BTreeMap, BTreeSet};

use gateway_crypto_evm::CryptoEvm;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, timeout};
use switchyard_gateway::{Environment, Fault, FaultKind, Operation};

use super::node::{Node, call, config};

/// The first address that a connection with this configuration gives, and its number.
fn first_address(environment: Environment, config: &Value) -> Result<(String, u64), Fault> {
    let node = Node::new();
    let end = Call::new(Operation::Collect)
        .config(config.clone())
        .environment(environment)
        .input(&testing::collect("crypto_usd", 1_250, "USD", 2))
        .run::<CryptoEvm>(|request| node.answer(request))?;
    let address = end.state["address"].as_str().unwrap().to_owned();
    Ok((address, end.state["index"].as_u64().unwrap()))
}

#[test]
fn one_xpub_gives_no_address_in_sandbox_that_it_gives_in_live() {
    const HALF: u64 = 1 << 30;
    for first in [0, 1, 1_000, HALF - 1] {
        let mut config = config();
        config["first_index"] = json!(first);
        let live = first_address(Environment::Live, &config).unwrap();
        let sandbox = first_address(Environment::Sandbox, &config).unwrap();
        assert_eq!((live.1, sandbox.1), (first, HALF + first));
        assert_ne!(live.0, sandbox.0);
    }
    // The two ranges of numbers do not overlap: a number beyond the half is refused, not used.
    let mut config = config();
    config["first_index"] = json!(HALF);
    for environment in [Environment::Live, Environment::Sandbox] {
        let refused = first_address(environment, &config).unwrap_err();
        assert!(refused.message.contains("first_index"), "{refused:?}");
    }
}

/// Next address of a connection with this `first_index`, its number, and the series after it.
fn next_address(
    environment: Environment,
    first: u64,
    numbers: BTreeMap<String, u64>,
) -> (String, u64, BTreeMap<String, u64>) {
    let node = Node::new();
    let mut config = config();
    config["first_index"] = json!(first);
    let end = Call::new(Operation::Collect)
        .config(config)
        .environment(environment)
        .numbers(numbers)
        .input(&testing::collect("crypto_usd", 1_250, "USD", 2))
        .run::<CryptoEvm>(|request| node.answer(request))
        .unwrap();
    let address = end.state["address"].as_str().unwrap().to_owned();
    let index = end.state["index"].as_u64().unwrap();
    (address, index, end.numbers)
}

#[test]
fn connections_with_one_xpub_give_no_address_twice_whatever_their_first_index() {
    for (environment, begins) in [(Environment::Live, 0), (Environment::Sandbox, 1 << 30)] {
        for firsts in [[0, 1, 0, 1], [1, 0, 1, 0], [3, 0, 0, 3], [0, 100, 1, 99]] {
            let mut numbers = BTreeMap::new();
            let mut given = BTreeSet::new();
            for first in firsts {
                let (address, index, after) = next_address(environment, first, numbers);
                assert!(index >= begins + first, "{firsts:?}: {index}");
                assert!(given.insert(address), "{firsts:?}: {index} is given twice");
                numbers = after;
            }
        }
        // One connection alone leaves no gaps.
        let mut numbers = BTreeMap::new();
        for wanted in 5..9 {
            let (_, index, after) = next_address(environment, 5, numbers);
            assert_eq!(index, begins + wanted);
            numbers = after;
        }
    }
}

#[test]
fn addresses_of_an_earlier_version_are_not_given_again() {
    let (_, _, numbers) = next_address(Environment::Live, 5, BTreeMap::new());
    // An earlier version had one series, of the payments.
    let payments = numbers.keys().find(|name| !name.contains('/')).unwrap();
    let before = BTreeMap::from([(payments.clone(), 7)]);
    let (_, index, after) = next_address(Environment::Live, 5, before);
    assert_eq!(index, 12);
    assert_eq!(next_address(Environment::Live, 5, after).1, 13);
}

#[test]
fn numbers_end_where_those_of_the_other_environment_begin() {
    let mut config = config();
    config["first_index"] = json!((1_u64 << 30) - 1);
    for environment in [Environment::Live, Environment::Sandbox] {
        let mut node = Node::new();
        let refused = Call::new(Operation::Collect)
            .config(config.clone())
            .environment(environment)
            .input(&testing::collect("crypto_usd", 1_250, "USD", 2))
            .run::<CryptoEvm>(|request| {
                // The last one was used before.
                node.sent = 1;
                node.answer(request)
            })
            .unwrap_err();
        assert!(refused.message.contains("used up"), "{refused:?}");
    }
}

#[test]
fn addresses_that_were_used_before_are_passed_over_and_a_node_that_is_away_costs_none() {
    let mut node = Node::new();
    node.sent = 1;
    let mut asked = 0;
    let end = call(Operation::Collect)
        .input(&testing::collect("crypto_usd", 1_250, "USD", 2))
        .run::<CryptoEvm>(|request| {
            asked += 1;
            // Batches 2 and 3 ask about the first two addresses: the second of them was paid once.
            node.sent = u64::from(asked == 2);
            node.token = [u64::from(asked == 3), 0];
            node.answer(request)
        })
        .unwrap();
    assert_eq!(end.state["index"], 2);
    assert_eq!(end.log.len(), 2);
    let away = call(Operation::Collect)
        .input(&testing::collect("crypto_usd", 1_250, "USD", 2))
        .run::<CryptoEvm>(|_| timeout());
    assert_eq!(away.unwrap_err().kind, FaultKind::Provider);
}
