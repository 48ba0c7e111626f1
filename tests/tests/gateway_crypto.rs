//! The crypto library in the whole engine, on a real chain: what a merchant and an operator see of a payment in a token.
//!
//! These need anvil, which `cargo xtask test chain` installs.

#[path = "../../plugins/crypto_evm/tests/chain/mod.rs"]
#[expect(dead_code, reason = "these tests pay in a token only")]
mod chain;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chain::Chain;
use serde_json::{Value, json};
use switchyard_engine::access::NewConnection;
use switchyard_engine::clock::Clock;
use switchyard_engine::engine::{Choice, NewPayment};
use switchyard_engine::environment::Environment;
use switchyard_engine::gateway::{GatewaySettings, Gateways};
use switchyard_engine::ids::{Ids, TransactionId};
use switchyard_engine::records::NewCustomer;
use switchyard_engine::testing::{self, START, Wanted, amount, customer};
use switchyard_engine::transaction::{CaseReason, ClientContext, PayerAction, Status, Transaction};
use switchyard_tests::{crypto_gateway, eventually};
use tempfile::TempDir;

/// A queue, a call and a commit, on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// More than an answer of the provider stays fresh.
const LATER: Duration = Duration::from_secs(11);
/// More than quote and grace.
const TOO_LATE: Duration = Duration::from_secs(91 * 60);

/// An engine on a clock that the test turns, with one connection: to a chain of the test's own.
struct Bench {
    chain: Chain,
    token: String,
    merchant: testing::Bench,
    _folder: TempDir,
}

impl Bench {
    async fn start() -> anyhow::Result<Self> {
        let chain = Chain::start(START.as_micros() / 1_000_000);
        let token = chain.deploy("Coin", 6);
        chain.mine(5);
        let folder = TempDir::new()?;
        let clock = Clock::manual(START);
        let settings = GatewaySettings {
            dir: folder.path().to_owned(),
            development: true,
            ..GatewaySettings::default()
        };
        let gateways = Gateways::new(settings, clock.clone(), Ids::system())?;
        gateways.add(&crypto_gateway()).await?;
        let wanted = Wanted {
            clock,
            ..Wanted::with(gateways)
        };
        let merchant = wanted.start().await;
        let vectors = include_str!("../../plugins/crypto_evm/tests/vectors.json");
        let vectors: Value = serde_json::from_str(vectors)?;
        let connection = NewConnection {
            app: merchant.caller().app.id,
            environment: Environment::Sandbox,
            gateway: "crypto_evm".into(),
            account_name: "Own wallet".into(),
            methods: None,
            config: json!({
                "account_xpub": vectors["account_xpub"], "rpc_url": chain.url, "chain_id": chain::CHAIN_ID,
                "tokens": format!("TST:{token}:6:EUR"), "confirmations": 3, "first_index": 100
            }),
        };
        merchant.engine.access.create_connection(connection).await?;
        Ok(Self {
            chain,
            token,
            merchant,
            _folder: folder,
        })
    }

    /// A payment of 655 957 XOF, which are 1000 tokens, and where the payer is to send them.
    async fn begin(&self) -> anyhow::Result<(TransactionId, String)> {
        let new = NewPayment {
            amount: amount(655_957, "XOF"),
            description: "Un vélo".into(),
            return_url: "https://shop.example/return".into(),
            customer: customer(),
            metadata: BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            context: ClientContext::default(),
        };
        let engine = &self.merchant.engine;
        let caller = self.merchant.caller();
        let payment = engine.initialize_payment(&caller, new).await?;
        let choice = Choice {
            method: "crypto_xof".into(),
            country: Some("BJ".into()),
            phone: None,
            agreed: None,
            fields: BTreeMap::new(),
            missing: NewCustomer::default(),
            context: ClientContext::default(),
        };
        engine.confirm(payment.id, choice).await?;
        let action = eventually("the address", SOON, || async {
            let found = engine.transaction(payment.id).await?;
            let attempt = found.and_then(|found| found.attempts.first().cloned());
            Ok(attempt.and_then(|attempt| attempt.payer_action))
        })
        .await?;
        let PayerAction::SendCrypto {
            address, amount, ..
        } = action
        else {
            anyhow::bail!("{action:?}")
        };
        assert_eq!(amount, "1000");
        Ok((payment.id, address))
    }

    fn pay(&self, address: &str, tokens: u128) {
        let units = tokens * 1_000_000;
        assert!(self.chain.transfer(&self.token, address, units, 0));
    }

    /// Asks as the merchant's server does, until this holds of the payment; time passes meanwhile.
    async fn becomes(
        &self,
        id: TransactionId,
        what: &str,
        holds: impl Fn(&Transaction) -> bool,
    ) -> anyhow::Result<Arc<Transaction>> {
        eventually(what, SOON, || async {
            self.merchant.clock.advance(LATER);
            let found = self.merchant.engine.verify(id).await?;
            Ok(found.filter(|found| holds(found)))
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_in_a_token_succeeds_once_it_is_confirmed() -> anyhow::Result<()> {
    let bench = Bench::start().await?;
    let (id, address) = bench.begin().await?;
    bench.pay(&address, 1_000);
    let seen = bench
        .becomes(id, "the sighting", |payment| {
            payment.attempts[0].gateway_state["seen"].is_object()
        })
        .await?;
    assert_eq!(seen.status(), Status::Pending);
    bench.chain.mine(2);
    let paid = bench
        .becomes(id, "the end", |payment| payment.status() != Status::Pending)
        .await?;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(paid.attempts.len(), 1);
    let attempt = &paid.attempts[0];
    assert_eq!(attempt.provider_id.as_deref(), Some(address.as_str()));
    assert!(paid.cases.is_empty());
    // The next payment has an address of its own.
    assert_ne!(bench.begin().await?.1, address);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn too_little_money_opens_a_case_and_the_rest_ends_the_payment() -> anyhow::Result<()> {
    let bench = Bench::start().await?;
    let (id, address) = bench.begin().await?;
    bench.pay(&address, 400);
    bench.chain.pass(TOO_LATE.as_secs());
    bench.chain.mine(2);
    bench.merchant.clock.advance(TOO_LATE);
    let open = bench
        .becomes(id, "the case", |payment| !payment.cases.is_empty())
        .await?;
    assert_eq!(open.status(), Status::Pending, "nothing is declined");
    assert_eq!(open.cases[0].reason, CaseReason::AmountDiffers);
    let detail = &open.cases[0].detail;
    assert!(detail.contains(&address), "{detail}");
    bench.pay(&address, 600);
    bench.chain.mine(2);
    let paid = bench
        .becomes(id, "the end", |payment| payment.status() != Status::Pending)
        .await?;
    assert_eq!(paid.status(), Status::Success);
    Ok(())
}
