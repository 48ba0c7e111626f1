//! Behaviour of faulty and dishonest nodes: each reading of the chain is answered by a script.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod addresses;
mod node;

use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, answer, no_provider, text_answer, timeout};
use switchyard_gateway::wire::{EffectError, HttpResponse};
use switchyard_gateway::{
    Amount, ConfigCheck, DeclineReason, Direction, FaultKind, Operation, OptionList, Outcome,
    PayerAction,
};

use gateway_crypto_evm::CryptoEvm;
use node::{LATER, Node, OVER, TOKEN, USER, asked, begun, call, config, is_pending};

#[test]
fn a_payment_is_given_an_address_a_price_and_a_wallets_link() {
    let node = Node::new();
    let collect = testing::collect("crypto_usd", 1_250, "USD", 2);
    let end = call(Operation::Collect)
        .input(&collect)
        .run::<CryptoEvm>(|request| node.answer(request))
        .unwrap();
    let Outcome::Pending {
        payer_action: Some(action),
        provider_id,
        ..
    } = &end.outcome
    else {
        panic!("{:?}", end.outcome)
    };
    let wanted = PayerAction::SendCrypto {
        address: USER.into(),
        chain: "EVM chain 31337".into(),
        token: Some(format!("USDC ({TOKEN})")),
        amount: "12.5".into(),
        worth: Some(Box::new(Amount::minor(1_250, "USD"))),
        uri: format!("ethereum:{TOKEN}@31337/transfer?address={USER}&uint256=12500000"),
        expires: Some("2026-11-20 10:30 UTC".into()),
    };
    assert_eq!(action, &wanted);
    assert_eq!(provider_id.as_deref(), Some(USER));
    // A repeated call gives the same result, takes no second number and sends no request.
    let again = call(Operation::Collect)
        .state(end.state.clone())
        .input(&collect);
    let again = again.run::<CryptoEvm>(no_provider).unwrap();
    assert_eq!((again.outcome, again.state), (end.outcome, end.state));
}

#[test]
fn the_payer_may_choose_the_coin_among_those_with_a_price() {
    let node = Node::new();
    let mut collect = testing::collect("crypto_usd", 1_250, "USD", 2);
    let mut pay = |coin: &str| {
        collect.fields = [("coin", coin)].into();
        let call = call(Operation::Collect).input(&collect);
        call.run::<CryptoEvm>(|request| node.answer(request))
            .unwrap()
    };
    let text = format!("{:?}", pay(" eth ").outcome);
    assert!(text.contains("@31337?value=5000000000000000"), "{text}");
    let Outcome::Declined {
        retryable,
        provider_message,
        ..
    } = pay("DOGE").outcome
    else {
        panic!("there is no such coin")
    };
    assert!(retryable && provider_message.unwrap().contains("USDC, ETH"));
}

#[test]
fn the_coins_with_a_price_are_listed() {
    let ask = testing::options("coins", "crypto_usd", "USD", 2);
    let call = call(Operation::Options).input(&ask);
    let end = call.run_as::<CryptoEvm, OptionList>(|_| panic!("nobody is asked"));
    let options = end.unwrap().outcome.options;
    let values: Vec<_> = options.iter().map(|it| it.value.as_str()).collect();
    assert_eq!(values, ["USDC", "ETH"]);
}

#[test]
fn an_attempt_without_an_address_is_not_found() {
    let node = Node::new();
    let end = asked(&Value::Null, LATER, &node).unwrap();
    assert!(matches!(end.outcome, Outcome::NotFound { .. }));
}

#[test]
fn nothing_is_declined_before_the_chains_own_clock_has_passed_the_deadline() {
    let state = begun();
    let mut node = Node::new();
    // A node that stands still: the engine's clock alone proves nothing.
    assert!(is_pending(&asked(&state, LATER, &node).unwrap().outcome));
    // A node from the future: neither does the chain's.
    node.time = OVER;
    assert!(is_pending(
        &asked(&state, "2026-11-20T11:29:00Z", &node)
            .unwrap()
            .outcome
    ));
    let end = asked(&state, LATER, &node).unwrap();
    let Outcome::Declined {
        reason,
        provider_message,
        provider_id,
        ..
    } = end.outcome
    else {
        panic!("{:?}", end.outcome)
    };
    assert_eq!(reason, DeclineReason::Expired);
    assert!(
        provider_message
            .unwrap()
            .starts_with("Nothing came to 0xf39F")
    );
    assert_eq!(provider_id.as_deref(), Some(USER));
}

#[test]
fn money_that_is_on_its_way_at_the_deadline_is_waited_for() {
    let mut node = Node::new();
    node.time = OVER;
    node.token = [12_500_000, 0];
    let end = asked(&begun(), LATER, &node).unwrap();
    assert!(is_pending(&end.outcome));
    assert_eq!(end.state["seen"]["hash"], "a100");
    node.token = [12_500_000; 2];
    let end = asked(&end.state, LATER, &node).unwrap();
    assert!(matches!(end.outcome, Outcome::Succeeded { .. }));
}

#[test]
fn too_little_money_is_reported_as_what_it_is_and_never_declined() {
    let mut node = Node::new();
    node.time = OVER;
    node.token = [2_500_000; 2];
    // AttemptState first: the sighting must be durable before it is spoken of.
    let kept = asked(&begun(), LATER, &node).unwrap();
    assert!(is_pending(&kept.outcome));
    let end = asked(&kept.state, LATER, &node).unwrap();
    let Outcome::Succeeded {
        amount,
        provider_status,
        ..
    } = &end.outcome
    else {
        panic!("{:?}", end.outcome)
    };
    assert_eq!(amount.as_ref().unwrap().minor, Some(250));
    assert_eq!(provider_status.as_deref(), Some("underpaid: 2.5 USDC"));
    assert!(end.log[0].text.contains("a person has to decide"));
    // The owner has moved it on: it stays credited. The rest of it comes late: paid.
    node.token = [0, 0];
    let moved = asked(&end.state, LATER, &node).unwrap();
    assert!(matches!(moved.outcome, Outcome::Succeeded { .. }));
    node.token = [12_500_000; 2];
    let Outcome::Succeeded { amount, .. } = asked(&end.state, LATER, &node).unwrap().outcome else {
        panic!("it is all there")
    };
    assert_eq!(amount.unwrap().minor, Some(1_250));
}

#[test]
fn dust_does_not_keep_a_payment_open_and_is_named() {
    let mut node = Node::new();
    node.time = OVER;
    node.coin = [7, 7];
    let kept = asked(&begun(), LATER, &node).unwrap();
    let Outcome::Declined {
        provider_message, ..
    } = kept.outcome
    else {
        panic!("{:?}", kept.outcome)
    };
    let said = provider_message.unwrap();
    assert!(said.contains("0.000000000000000007 ETH"), "{said}");
}

#[test]
fn two_coins_together_pay_and_a_surplus_is_told() {
    let mut node = Node::new();
    // 10 USDC and 0.001 ETH at 2500.
    node.token = [10_000_000; 2];
    node.coin = [1_000_000_000_000_000; 2];
    let Outcome::Succeeded {
        provider_status, ..
    } = asked(&begun(), LATER, &node).unwrap().outcome
    else {
        panic!("12.50 USD are there")
    };
    assert_eq!(
        provider_status.as_deref(),
        Some("paid 10 USDC and 0.001 ETH")
    );
    node.token = [13_000_000; 2];
    let end = asked(&begun(), LATER, &node).unwrap();
    let Outcome::Succeeded {
        provider_status,
        amount,
        ..
    } = end.outcome
    else {
        panic!("it is paid")
    };
    let said = provider_status.unwrap();
    assert!(
        said.ends_with("0.5 USDC and 0.001 ETH more than asked"),
        "{said}"
    );
    assert_eq!(amount.unwrap().minor, Some(1_550));
    assert_eq!(end.log.len(), 1);
}

#[test]
fn all_that_came_is_reported_at_the_quote_rounded_down() {
    let mut node = Node::new();
    for (units, minor) in [
        (12_500_000, 1_250),
        // Less than a cent too much is no surplus.
        (12_500_001, 1_250),
        (12_509_999, 1_250),
        (12_510_000, 1_251),
        (25_000_000, 2_500),
        (u64::MAX, 1_844_674_407_370_955),
    ] {
        node.token = [units; 2];
        let Outcome::Succeeded { amount, .. } = asked(&begun(), LATER, &node).unwrap().outcome
        else {
            panic!("{units} pay for it")
        };
        assert_eq!(amount, Some(Amount::minor(minor, "USD")), "{units}");
    }
}

#[test]
fn a_payer_who_sent_too_little_is_shown_what_is_missing() {
    let mut node = Node::new();
    node.token = [2_500_000, 0];
    node.block_time = 12;
    let end = asked(&begun(), "2026-11-20T10:05:00Z", &node).unwrap();
    let Outcome::Pending {
        payer_action: Some(PayerAction::SendCrypto { amount, uri, .. }),
        poll_after,
        ..
    } = end.outcome
    else {
        panic!("{:?}", end.outcome)
    };
    assert_eq!(amount, "10");
    assert!(uri.ends_with("uint256=10000000"), "{uri}");
    // Two blocks of twelve seconds, and a little more.
    assert_eq!(poll_after, Some(35));
    // Dropped by a reorganisation: the whole is asked for again, and the operator reads why.
    let mut forked = Node::new();
    forked.fork = "b";
    let end = asked(&end.state, "2026-11-20T10:06:00Z", &forked).unwrap();
    assert!(format!("{:?}", end.outcome).contains("uint256=12500000"));
    assert!(end.log[0].text.contains("the chain has dropped"));
    assert_eq!(end.state["seen"], Value::Null);
}

#[test]
fn a_payer_whose_money_is_all_on_its_way_has_nothing_left_to_do() {
    let mut node = Node::new();
    for (before, latest) in [(0, [12_500_000, 0]), (5_000_000, [12_500_000, 5_000_000])] {
        node.token = [before; 2];
        let state = asked(&begun(), "2026-11-20T10:04:00Z", &node)
            .unwrap()
            .state;
        node.token = latest;
        let end = asked(&state, "2026-11-20T10:05:00Z", &node).unwrap();
        let Outcome::Pending { payer_action, .. } = end.outcome else {
            panic!("{:?}", end.outcome)
        };
        assert_eq!(payer_action, Some(PayerAction::Wait {}), "{latest:?}");
    }
}

#[test]
fn the_confirmed_part_is_reported_as_received_until_a_reorganisation_drops_it() {
    let mut node = Node::new();
    let mut state = begun();
    for (token, fork, minor) in [
        ([0, 0], "a", 0),
        ([5_000_000, 0], "a", 0),
        ([5_000_000; 2], "a", 500),
        ([12_500_000, 5_000_000], "a", 500),
        ([0, 0], "b", 0),
    ] {
        (node.token, node.fork) = (token, fork);
        let end = asked(&state, "2026-11-20T10:05:00Z", &node).unwrap();
        let Outcome::Pending { received, .. } = end.outcome else {
            panic!("{:?}", end.outcome)
        };
        assert_eq!(received, Some(Amount::minor(minor, "USD")), "{token:?}");
        state = end.state;
    }
}

#[test]
fn a_node_that_lags_contradicts_itself_or_changed_its_chain_ends_nothing() {
    let mut node = Node::new();
    node.time = OVER;
    node.token = [2_500_000; 2];
    let state = asked(&begun(), LATER, &node).unwrap().state;
    let lagging = Node {
        head: 90,
        token: [0, 0],
        ..node.clone()
    };
    let fault = asked(&state, LATER, &lagging).unwrap_err();
    assert!(fault.message.contains("behind"), "{fault}");
    let other = Node {
        chain: 1,
        ..node.clone()
    };
    let fault = asked(&state, LATER, &other).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Config);
    // A reorganisation deeper than the confirmations: credited money is counted again, with a
    // message.
    let deep = Node {
        fork: "b",
        token: [0, 0],
        ..node.clone()
    };
    let end = asked(&state, LATER, &deep).unwrap();
    assert!(
        end.log
            .iter()
            .any(|line| line.text.contains("raise `confirmations`"))
    );
    let broken = Node {
        token_fails: true,
        token: [0, 0],
        ..node
    };
    let fault = asked(&begun(), LATER, &broken).unwrap_err();
    assert!(fault.message.contains("every coin"), "{fault}");
}

#[test]
fn a_broken_token_does_not_hold_up_a_payment_in_another_coin() {
    let mut node = Node::new();
    node.token_fails = true;
    node.coin = [5_000_000_000_000_000; 2];
    let end = asked(&begun(), LATER, &node).unwrap();
    assert!(matches!(end.outcome, Outcome::Succeeded { .. }));
}

#[test]
fn no_answer_of_a_node_is_a_decline_and_none_tells_its_address() {
    let query = testing::query("crypto_usd", Direction::Collect, 1_250, "USD", 2);
    let answers: [fn() -> Result<HttpResponse, EffectError>; 7] = [
        || timeout(),
        || testing::unreachable(),
        || text_answer(502, "<html>Bad gateway</html>"),
        || text_answer(200, "<html>"),
        || answer(429, json!({ "error": "slow down" })),
        || {
            answer(
                200,
                json!({ "id": null, "error": { "code": -32600, "message": "no batches here" } }),
            )
        },
        || answer(200, json!([])),
    ];
    for answered in answers {
        let call = call(Operation::Query)
            .state(begun())
            .now(LATER)
            .input(&query);
        let fault = call.run::<CryptoEvm>(|_| answered()).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Provider);
        assert!(!fault.message.contains("secret"), "{fault}");
    }
}

fn checked(config: Value, node: &Node) -> Result<String, (String, String)> {
    let call = Call::new(Operation::CheckConfig).config(config);
    let end = call.run_as::<CryptoEvm, ConfigCheck>(|request| node.answer(request));
    match end.unwrap().outcome {
        ConfigCheck::Works { account } => Ok(account.unwrap()),
        ConfigCheck::Refused { message, field } => Err((field.unwrap(), message)),
    }
}

#[test]
fn saving_shows_the_first_address_and_names_the_field_that_is_wrong() {
    let node = Node::new();
    let account = checked(config(), &node).unwrap();
    assert!(
        account.contains(USER) && account.contains("USDC, ETH"),
        "{account}"
    );
    let with = |field: &str, value: Value| {
        let mut config = config();
        config[field] = value;
        config
    };
    for (field, value) in [
        ("account_xpub", json!("xpub1")),
        ("tokens", json!("USDC")),
        ("tokens", json!(format!("USDC:{TOKEN}:6:USD,ETH:{USER}:18"))),
        ("tokens", json!(format!("USDC:{TOKEN}:8:USD"))),
        ("rates", json!("ETH")),
        ("confirmations", json!(0)),
        ("quote_minutes", json!(0)),
        ("native_symbol", json!("")),
    ] {
        let (named, message) = checked(with(field, value.clone()), &node).unwrap_err();
        assert_eq!(named, field, "{value}: {message}");
    }
    let other = Node {
        chain: 1,
        ..Node::new()
    };
    assert_eq!(checked(config(), &other).unwrap_err().0, "chain_id");
    let broken = Node {
        token_fails: true,
        ..Node::new()
    };
    assert_eq!(checked(config(), &broken).unwrap_err().0, "tokens");
}

#[test]
fn a_currency_without_a_rate_is_not_sent() {
    let node = Node::new();
    let end = call(Operation::Collect)
        .input(&testing::collect("crypto_ghs", 1_000, "GHS", 2))
        .run::<CryptoEvm>(|request| node.answer(request));
    let fault = end.unwrap_err();
    assert!(fault.message.contains("GHS"), "{fault}");
}

#[test]
fn a_node_in_trouble_says_nothing_about_what_was_entered_and_one_that_refuses_does() {
    let ask = |status: u16| {
        let call = Call::new(Operation::CheckConfig).config(config());
        call.run_as::<CryptoEvm, ConfigCheck>(|_| text_answer(status, "no"))
    };
    for status in [200, 429, 500, 502] {
        assert_eq!(
            ask(status).unwrap_err().kind,
            FaultKind::Provider,
            "{status}"
        );
    }
    for status in [401, 403, 404] {
        let ConfigCheck::Refused { field, message } = ask(status).unwrap().outcome else {
            panic!("{status}")
        };
        assert_eq!(field.as_deref(), Some("rpc_url"));
        assert!(!message.contains("secret"), "{message}");
    }
}
