//! Stripe's library in the whole engine, against Stripe's simulator: what a merchant sees, and what the provider's books say.

#[path = "../../plugins/stripe/tests/simulator/mod.rs"]
mod simulator;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use switchyard_engine::testing::amount;
use switchyard_engine::transaction::{Status, Transaction};
use switchyard_testkit::{Letter, Mishap};
use switchyard_tests::at_provider::{AtProvider, SOON, choice};
use switchyard_tests::{eventually, stripe_gateway};

use simulator::{Session, Simulator};

const PAYS: &str = "4242424242424242";
const TOO_LITTLE: &str = "4000000000009995";
const SESSIONS: &str = "/v1/checkout/sessions";
const COMPLETED: &str = "checkout.session.completed";

/// An engine on a clock that the test turns, with one connection: to the simulator.
struct Bench {
    stripe: Simulator,
    at: AtProvider,
}

impl Deref for Bench {
    type Target = AtProvider;

    fn deref(&self) -> &AtProvider {
        &self.at
    }
}

impl Bench {
    async fn start() -> anyhow::Result<Self> {
        let stripe = Simulator::start(AtProvider::starts_at()).await;
        let at = AtProvider::start(&stripe_gateway(), stripe.config()).await?;
        Ok(Self { stripe, at })
    }

    /// A payment of 25.50 USD that the payer confirmed, once its attempt has left.
    async fn pay(&self) -> anyhow::Result<(Arc<Transaction>, Session)> {
        let payment = self
            .confirm(amount(2_550, "USD"), choice("card_usd"))
            .await?;
        let session = eventually("the session", SOON, || async {
            Ok(self.stripe.sessions().pop())
        })
        .await?;
        Ok((payment, session))
    }

    fn letter(&self, session: &Session, kind: &str) -> Letter {
        let letter = self.stripe.letter(session.reference(), kind);
        letter.unwrap_or_else(|| panic!("Stripe wrote no {kind}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_pays_by_a_signed_callback_after_one_that_was_refused_and_is_in_the_books_once()
-> anyhow::Result<()> {
    let bench = Bench::start().await?;
    let (payment, session) = bench.pay().await?;
    bench.stripe.pay(&session.id, TOO_LITTLE);
    bench
        .deliver(&bench.letter(&session, "payment_intent.payment_failed"))
        .await?;
    bench.stripe.pay(&session.id, PAYS);
    let letter = bench.letter(&session, COMPLETED);
    for _ in 0..3 {
        bench.deliver(&letter).await?;
    }
    let paid = bench.becomes(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    let attempt = &paid.attempts[0];
    assert_eq!(attempt.candidate.gateway_title, "Stripe");
    assert_eq!(session.reference(), attempt.reference.to_string());
    assert_eq!(attempt.provider_id.as_deref(), Some(session.id.as_str()));
    assert_eq!(
        session.text("metadata[switchyard_transaction]"),
        payment.id.to_string()
    );
    assert_eq!(bench.stripe.books.all().len(), 1);
    assert_eq!(bench.stripe.books.all()[0].amount, "2550");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_expires_fails_the_payment_with_the_last_refusal() -> anyhow::Result<()> {
    let bench = Bench::start().await?;
    let (payment, session) = bench.pay().await?;
    bench.stripe.pay(&session.id, TOO_LITTLE);
    bench.stripe.expire(&session.id);
    let failed = bench.ends(payment.id, Status::Failed).await?;
    let decline = format!("{:?}", failed.attempts[0]);
    assert!(decline.contains("insufficient_funds"), "{decline}");
    assert!(bench.stripe.books.all().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_settled_by_asking_and_nothing_is_sent_twice() -> anyhow::Result<()> {
    let bench = Bench::start().await?;
    bench
        .stripe
        .mishaps
        .next("POST", SESSIONS, Mishap::LoseAnswer);
    let (payment, session) = bench.pay().await?;
    bench.stripe.pay(&session.id, PAYS);
    let paid = bench.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(bench.stripe.sessions().len(), 1);
    assert_eq!(bench.stripe.books.times(session.reference()), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_before_the_answer_is_believed() -> anyhow::Result<()> {
    let bench = Bench::start().await?;
    let late = Mishap::Delay(Duration::from_secs(2));
    bench.stripe.mishaps.next("POST", SESSIONS, late);
    // The session is there, and our request still waits for its answer.
    let (payment, session) = bench.pay().await?;
    bench.stripe.pay(&session.id, PAYS);
    bench.deliver(&bench.letter(&session, COMPLETED)).await?;
    bench.becomes(payment.id, Status::Success).await?;
    // The answer still says "open": a success stays one.
    eventually("the answer", SOON, || async {
        let found = bench.merchant.engine.transaction(payment.id).await?;
        let is_back = found.is_some_and(|found| found.attempts[0].provider_id.is_some());
        Ok(is_back.then_some(()))
    })
    .await?;
    let paid = bench.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(bench.stripe.books.times(session.reference()), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_callback_changes_nothing() -> anyhow::Result<()> {
    let bench = Bench::start().await?;
    let (payment, session) = bench.pay().await?;
    bench.stripe.expire(&session.id);
    let mut letter = bench.letter(&session, "checkout.session.expired");
    letter.body = letter
        .body
        .replace("session.expired", "session.completed")
        .replace("\"unpaid\"", "\"paid\"");
    bench.deliver(&letter).await?;
    bench.ends(payment.id, Status::Failed).await?;
    assert!(bench.stripe.books.all().is_empty());
    Ok(())
}
