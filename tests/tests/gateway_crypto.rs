//! The crypto library in the whole engine, on a real chain: the merchant's and the operator's view
//! of a payment in a token.
//!
//! These need anvil, which `cargo xtask test chain` installs.

#[path = "../../plugins/crypto_evm/tests/chain/mod.rs"]
#[expect(dead_code, reason = "these tests pay in a token only")]
mod chain;

use std::ops::Deref;
use std::time::Duration;

use chain::Chain;
use serde_json::{Value, json};
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{CaseReason, PayerAction, Status};
use switchyard_engine::engine::ConfirmRequest;
use switchyard_engine::testing::amount;
use switchyard_tests::at_provider::{AtProvider, SOON, choice};
use switchyard_tests::{crypto_gateway, eventually};

/// More than quote and grace.
const TOO_LATE: Duration = Duration::from_secs(91 * 60);

/// An engine on a clock that the test turns, with one connection: to a chain of the test's own.
struct Fixture {
    chain: Chain,
    token: String,
    at: AtProvider,
}

impl Deref for Fixture {
    type Target = AtProvider;

    fn deref(&self) -> &AtProvider {
        &self.at
    }
}

impl Fixture {
    async fn start() -> anyhow::Result<Self> {
        let chain = Chain::start(AtProvider::starts_at());
        let token = chain.deploy("Coin", 6);
        chain.mine(5);
        let vectors = include_str!("../../plugins/crypto_evm/tests/vectors.json");
        let vectors: Value = serde_json::from_str(vectors)?;
        let config = json!({
            "account_xpub": vectors["account_xpub"], "rpc_url": chain.url, "chain_id": chain::CHAIN_ID,
            "tokens": format!("TST:{token}:6:EUR"), "confirmations": 3, "first_index": 100
        });
        let at = AtProvider::start(&crypto_gateway(), config).await?;
        Ok(Self { chain, token, at })
    }

    /// A payment of 655 957 XOF, which are 1000 tokens, and where the payer is to send them.
    async fn begin(&self) -> anyhow::Result<(TransactionId, String)> {
        let choice = ConfirmRequest {
            country: Some("BJ".into()),
            ..choice("crypto_xof")
        };
        let payment = self.confirm(amount(655_957, "XOF"), choice).await?;
        let engine = &self.merchant.engine;
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
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn a_payment_in_a_token_succeeds_once_it_is_confirmed() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (id, address) = fixture.begin().await?;
    fixture.pay(&address, 1_000);
    let seen = fixture
        .asks_until(id, |payment| {
            payment.attempts[0].gateway_state["seen"].is_object()
        })
        .await?;
    assert_eq!(seen.status(), Status::Pending);
    fixture.chain.mine(2);
    let paid = fixture
        .asks_until(id, |payment| payment.status() != Status::Pending)
        .await?;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(paid.attempts.len(), 1);
    let attempt = &paid.attempts[0];
    assert_eq!(attempt.provider_id.as_deref(), Some(address.as_str()));
    assert!(paid.cases.is_empty());
    // The next payment has an address of its own.
    assert_ne!(fixture.begin().await?.1, address);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs anvil: cargo xtask test chain"]
async fn too_little_money_opens_a_case_and_the_rest_ends_the_payment() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (id, address) = fixture.begin().await?;
    fixture.pay(&address, 400);
    fixture.chain.pass(TOO_LATE.as_secs());
    fixture.chain.mine(2);
    fixture.merchant.clock.advance(TOO_LATE);
    let open = fixture
        .asks_until(id, |payment| !payment.cases.is_empty())
        .await?;
    assert_eq!(open.status(), Status::Pending, "nothing is declined");
    assert_eq!(open.cases[0].reason, CaseReason::AmountDiffers);
    let detail = &open.cases[0].detail;
    assert!(detail.contains(&address), "{detail}");
    fixture.pay(&address, 600);
    fixture.chain.mine(2);
    let paid = fixture
        .asks_until(id, |payment| payment.status() != Status::Pending)
        .await?;
    assert_eq!(paid.status(), Status::Success);
    Ok(())
}
