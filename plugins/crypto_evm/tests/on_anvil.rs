//! Payments on a real chain. These need anvil, which `cargo xtask test chain` installs.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod chain;

use chain::Chain;
use gateway_crypto_evm::CryptoEvm;
use serde_json::{Value, json};
use switchyard_gateway::testing::{collect, query};
use switchyard_gateway::{ConfigCheck, DeclineReason, Direction, Operation, Outcome, PayerAction};
use switchyard_testkit::{Driver, NOW_SECONDS};

/// A payment of 12.50 USD in a token or in the chain's coin at 2500.
struct Fixture {
    chain: Chain,
    token: String,
    gateway: Driver<CryptoEvm>,
    state: Value,
}

const WEI: u128 = 5_000_000_000_000_000;
const UNITS: u128 = 12_500_000;
/// The quote's end and the grace's, and a block more.
const TOO_LATE_S: u64 = 91 * 60;
const TOO_LATE: &str = "2026-11-20T11:31:00.000000Z";

impl Fixture {
    fn start() -> Self {
        let chain = Chain::start(NOW_SECONDS);
        let token = chain.deploy("Coin", 6);
        // The contract has to be older than the confirmations.
        chain.mine(5);
        let config = config(&chain, &token);
        Self {
            gateway: Driver::new(config),
            chain,
            token,
            state: Value::Null,
        }
    }

    /// Begins the payment in this coin; the address that the payer is shown.
    async fn begin(&mut self, coin: &str) -> String {
        let mut ask = collect("crypto_usd", 1_250, "USD", 2);
        ask.fields = [("coin", coin)].into();
        let outcome: Outcome = self
            .gateway
            .call(Operation::Collect, &ask, &mut self.state)
            .await
            .unwrap();
        let Outcome::Pending {
            payer_action: Some(PayerAction::SendCrypto { address, .. }),
            ..
        } = outcome
        else {
            panic!("{outcome:?}")
        };
        address
    }

    async fn ask(&mut self) -> Outcome {
        let ask = query("crypto_usd", Direction::Collect, 1_250, "USD", 2);
        let call = self.gateway.call(Operation::Query, &ask, &mut self.state);
        call.await.unwrap()
    }

    async fn is_pending(&mut self) -> bool {
        matches!(self.ask().await, Outcome::Pending { .. })
    }

    /// The provider's words about a payment that has to have succeeded, and how much.
    async fn paid(&mut self) -> (i64, String) {
        match self.ask().await {
            Outcome::Succeeded {
                amount: Some(amount),
                provider_status: Some(status),
                ..
            } => (amount.minor.unwrap(), status),
            other => panic!("{other:?}"),
        }
    }
}

fn config(chain: &Chain, token: &str) -> Value {
    let vectors: Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    json!({
        "account_xpub": vectors["account_xpub"], "rpc_url": chain.url, "chain_id": chain::CHAIN_ID, "confirmations": 3,
        "native_enabled": true, "tokens": format!("TST:{token}:6:USD"), "rates": "ETH/USD=2500",
        // The chain's own rich accounts are the first ten of this wallet.
        "first_index": 100
    })
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_in_the_chains_coin_counts_after_its_confirmations() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("ETH").await;
    assert!(fixture.is_pending().await);
    fixture.chain.pay(&address, WEI);
    assert!(fixture.is_pending().await);
    assert_eq!(
        fixture.state["seen"]["units"],
        json!(["0", WEI.to_string()])
    );
    fixture.chain.mine(1);
    assert!(fixture.is_pending().await, "two of three");
    fixture.chain.mine(1);
    let paid = fixture.paid().await;
    assert_eq!(paid, (1_250, "paid 0.005 ETH".to_owned()));
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_in_a_token_counts_and_one_that_is_topped_up_too() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("TST").await;
    assert!(
        fixture
            .chain
            .transfer(&fixture.token, &address, 2_500_000, 0)
    );
    fixture.chain.mine(5);
    let outcome = fixture.ask().await;
    let Outcome::Pending {
        payer_action: Some(PayerAction::SendCrypto { amount, .. }),
        ..
    } = &outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!(amount, "10", "what is missing");
    assert!(
        fixture
            .chain
            .transfer(&fixture.token, &address, UNITS - 2_500_000, 0)
    );
    fixture.chain.mine(2);
    assert_eq!(fixture.paid().await, (1_250, "paid 12.5 TST".to_owned()));
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn too_much_money_pays_and_all_of_it_is_reported() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("").await;
    assert!(
        fixture
            .chain
            .transfer(&fixture.token, &address, UNITS + 1_000_000, 0)
    );
    fixture.chain.mine(2);
    let status = "paid 13.5 TST, 1 TST more than asked".to_owned();
    assert_eq!(fixture.paid().await, (1_350, status));
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_that_a_reorganisation_drops_is_not_credited() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("ETH").await;
    fixture.chain.pay(&address, WEI);
    fixture.chain.mine(1);
    assert!(fixture.is_pending().await);
    let dropped = fixture.state["seen"]["hash"].clone();
    fixture.chain.rpc("anvil_reorg", json!([2, []]));
    // Whether anvil puts the transaction back is not for us to say: it must be gone.
    let has = fixture
        .chain
        .rpc("eth_getBalance", json!([address, "latest"]));
    assert_eq!(has, "0x0");
    fixture.chain.mine(10);
    assert!(fixture.is_pending().await);
    assert!(dropped.is_string() && fixture.state["seen"].is_null());
    // Sent once more, it counts.
    fixture.chain.pay(&address, WEI);
    fixture.chain.mine(2);
    assert_eq!(fixture.paid().await.0, 1_250);
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_token_that_only_says_transfer_and_a_transfer_that_fails_count_for_nothing() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("").await;
    let fake = fixture.chain.deploy("Fake", 6);
    assert!(fixture.chain.transfer(&fake, &address, UNITS, 0));
    let more_than_there_is = u128::MAX;
    assert!(
        !fixture
            .chain
            .transfer(&fixture.token, &address, more_than_there_is, 0)
    );
    fixture.chain.mine(10);
    assert!(fixture.is_pending().await);
    assert!(fixture.state["seen"].is_null() && fixture.state["confirmed"].is_null());
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_from_a_wallet_that_is_a_contract_counts() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("ETH").await;
    let wallet = fixture.chain.deploy("Wallet", 0);
    assert!(fixture.chain.transfer(&wallet, &address, WEI, WEI));
    fixture.chain.mine(2);
    assert_eq!(fixture.paid().await, (1_250, "paid 0.005 ETH".to_owned()));
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_that_never_came_expires_when_the_chain_has_passed_the_deadline() {
    let mut fixture = Fixture::start();
    fixture.begin("").await;
    fixture.gateway.set_now(TOO_LATE);
    assert!(fixture.is_pending().await, "the chain stands still");
    fixture.chain.pass(TOO_LATE_S);
    assert!(fixture.is_pending().await, "the new block is not confirmed");
    fixture.chain.mine(2);
    let outcome = fixture.ask().await;
    let Outcome::Declined { reason, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(reason, DeclineReason::Expired);
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn money_that_does_not_suffice_is_reported_at_the_end_and_never_declined() {
    let mut fixture = Fixture::start();
    let address = fixture.begin("").await;
    assert!(
        fixture
            .chain
            .transfer(&fixture.token, &address, 5_000_000, 0)
    );
    fixture.chain.mine(2);
    assert!(fixture.is_pending().await);
    fixture.gateway.set_now(TOO_LATE);
    fixture.chain.pass(TOO_LATE_S);
    fixture.chain.mine(2);
    let reported = (500, "underpaid: 5 TST".to_owned());
    assert_eq!(fixture.paid().await, reported);
    // The rest comes a day late.
    assert!(
        fixture
            .chain
            .transfer(&fixture.token, &address, 7_500_000, 0)
    );
    fixture.chain.mine(2);
    assert_eq!(fixture.paid().await, (1_250, "paid 12.5 TST".to_owned()));
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn used_addresses_are_passed_over_and_each_payment_has_its_own() {
    let mut fixture = Fixture::start();
    let vectors: Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    let mut config = config(&fixture.chain, &fixture.token);
    // Accounts 5 to 9 have money of the chain's own making.
    config["first_index"] = json!(5);
    fixture.gateway = Driver::new(config).in_live();
    let first = fixture.begin("").await;
    assert_eq!(first, vectors["addresses"][4]["address"], "number 10");
    fixture.state = Value::Null;
    assert_ne!(fixture.begin("").await, first);
    assert_eq!(fixture.state["index"], 11);
}

#[tokio::test]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn saving_asks_the_node_and_the_tokens() {
    let fixture = Fixture::start();
    let right = config(&fixture.chain, &fixture.token);
    let wrong_token = format!("TST:{}:18:USD", fixture.token);
    let nobody = format!("TST:{}:6:USD", chain::PAYER);
    let cases = [
        (right.clone(), "works"),
        (with(&right, "chain_id", json!(1)), "chain_id"),
        (with(&right, "tokens", json!(wrong_token)), "tokens"),
        (with(&right, "tokens", json!(nobody)), "tokens"),
    ];
    for (config, wanted) in cases {
        let gateway = Driver::<CryptoEvm>::new(config);
        let mut state = Value::Null;
        let call = gateway.call(Operation::CheckConfig, &Value::Null, &mut state);
        let is = match call.await.unwrap() {
            ConfigCheck::Works { .. } => "works".to_owned(),
            ConfigCheck::Refused { field, .. } => field.unwrap(),
        };
        assert_eq!(is, wanted);
    }
}

fn with(config: &Value, field: &str, value: Value) -> Value {
    let mut config = config.clone();
    config[field] = value;
    config
}
