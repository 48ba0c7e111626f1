//! pawaPay's library in the whole engine, against pawaPay's simulator: the merchant's view, and the
//! provider's ledger.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "../../plugins/pawapay/tests/simulator/mod.rs"]
mod simulator;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use switchyard_core::transaction::{ClientContext, Status, Transaction};
use switchyard_engine::engine::{ConfirmRequest, NewPayout};
use switchyard_engine::testing::{amount, customer};
use switchyard_store::{Denier, Store};
use switchyard_testkit::FaultScenario;
use switchyard_tests::at_provider::{AtProvider, SOON, choice};
use switchyard_tests::{eventually, pawapay_gateway};

use simulator::{Kind, Scheme, Simulator};

const PAYS: &str = "22951345789";
const REFUSES: &str = "22951345039";

/// An engine on a clock that the test turns, with one connection: to the simulator.
struct Fixture {
    pawapay: Simulator,
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
        Self::start_on(Store::memory()).await
    }

    async fn start_on(store: Store) -> anyhow::Result<Self> {
        let pawapay = Simulator::start(AtProvider::starts_at()).await;
        let at = AtProvider::start_on(store, &pawapay_gateway(), pawapay.config()).await?;
        Ok(Self { pawapay, at })
    }

    /// A payment of 1000 XOF that the payer confirmed from `number`, once its attempt came back.
    async fn pay(&self, number: &str) -> anyhow::Result<Arc<Transaction>> {
        let choice = ConfirmRequest {
            country: Some("BJ".into()),
            phone: Some(format!("+{number}")),
            fields: BTreeMap::from([("msisdn".to_owned(), number.to_owned())]),
            ..choice("mtn_bj")
        };
        let payment = self.confirm(amount(1_000, "XOF"), choice).await?;
        self.reference(payment.id).await?;
        Ok(payment)
    }

    /// A payout of 5000 XOF, as soon as it is stored.
    async fn pay_out(&self) -> anyhow::Result<Arc<Transaction>> {
        let new = NewPayout {
            amount: amount(5_000, "XOF"),
            description: "Salaire".into(),
            method: "mtn_bj".into(),
            recipient: BTreeMap::from([("msisdn".to_owned(), PAYS.to_owned())]),
            customer: customer(),
            metadata: BTreeMap::new(),
            context: ClientContext::default(),
        };
        let caller = self.merchant.caller();
        let engine = &self.merchant.engine;
        Ok(engine.initialize_payout(&caller, new, None).await?)
    }

    /// Has pawaPay sign its callbacks for this connection's address.
    fn signed_callbacks(&self) {
        let public_url = &self.merchant.engine.settings().public_url;
        let url = format!("{public_url}/callbacks/{}", self.connection);
        self.pawapay.sign(&url, Some(Scheme::EcdsaP256));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_by_mobile_money_succeeds_and_is_in_the_books_once() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    fixture.pawapay.settle_after(2);
    let payment = fixture.pay(PAYS).await?;
    let paid = fixture.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    let attempt = &paid.attempts[0];
    assert_eq!(attempt.candidate.gateway_title, "pawaPay");
    let reference = attempt.reference.to_string();
    assert_eq!(fixture.pawapay.books.times(&reference), 1);
    assert_eq!(fixture.pawapay.books.all().len(), 1);
    let movement = fixture.pawapay.books.all().remove(0);
    assert_eq!(
        (movement.amount.as_str(), movement.account.as_str()),
        ("1000", PAYS)
    );
    let sent = fixture.pawapay.transfer(Kind::Deposit, &reference);
    let sent = sent.expect("it was made under our reference").request;
    assert_eq!(sent["customerMessage"], "Deux cafes");
    assert_eq!(sent["clientReferenceId"], payment.id.to_string());
    assert!(
        attempt
            .provider_id
            .as_deref()
            .is_some_and(|id| id.starts_with("MP"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_payer_ends_the_payment_with_pawapays_own_code() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let payment = fixture.pay(REFUSES).await?;
    let failed = fixture.ends(payment.id, Status::Failed).await?;
    let decline = format!("{:?}", failed.attempts[0]);
    assert!(decline.contains("PAYMENT_NOT_APPROVED"), "{decline}");
    assert!(fixture.pawapay.books.all().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_settled_by_asking_and_nothing_is_sent_twice() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    fixture
        .pawapay
        .mishaps
        .next("POST", "/v2/deposits", FaultScenario::LoseAnswer);
    // The next query gets "not found" at first: that proves nothing.
    fixture.pawapay.hide_for(2);
    let payment = fixture.pay(PAYS).await?;
    let found = fixture.merchant.engine.transaction(payment.id).await?;
    assert_eq!(found.expect("it is stored").status(), Status::Pending);
    let paid = fixture.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(fixture.pawapay.count(Kind::Deposit), 1);
    assert_eq!(fixture.pawapay.books.times_of_account(PAYS), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_reaches_its_recipient_once_though_its_answer_was_a_500() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let lie = FaultScenario::AnswerInstead(
        500,
        "{\"failureReason\":{\"failureCode\":\"UNKNOWN_ERROR\"}}".into(),
    );
    fixture.pawapay.mishaps.next("POST", "/v2/payouts", lie);
    let payout = fixture.pay_out().await?;
    let reference = fixture.reference(payout.id).await?;
    fixture.ends(payout.id, Status::Success).await?;
    assert_eq!(fixture.pawapay.count(Kind::Payout), 1);
    assert_eq!(fixture.pawapay.books.times(&reference), 1);
    assert_eq!(fixture.pawapay.books.all()[0].amount, "5000");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_whose_commit_is_wrongly_refused_is_stored_and_dispatched_once()
-> anyhow::Result<()> {
    let denier = Denier::default();
    let fixture = Fixture::start_on(denier.over(Store::memory())).await?;
    fixture.pawapay.settle_after(4);
    let (answer, until) = tokio::sync::oneshot::channel();
    denier.deny_next_commit(until);
    // Its timer is due at once: it is dispatched while the answer of the store is still out.
    let dispatched = eventually("the payout", SOON, || async {
        fixture.merchant.clock.advance(Duration::from_millis(250));
        Ok((fixture.pawapay.count(Kind::Payout) > 0).then_some(()))
    });
    let answered = async {
        dispatched.await?;
        let _ = answer.send(());
        Ok(())
    };
    let (payout, ()) = tokio::try_join!(fixture.pay_out(), answered)?;
    assert_eq!(payout.attempts.len(), 1);
    let paid = fixture.ends(payout.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(fixture.pawapay.count(Kind::Payout), 1);
    assert_eq!(fixture.pawapay.books.all().len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_callback_is_believed_though_the_answer_was_lost_and_nobody_finds_the_payment()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    fixture.signed_callbacks();
    fixture
        .pawapay
        .mishaps
        .next("POST", "/v2/deposits", FaultScenario::LoseAnswer);
    // Asking would not settle it: only the callback can.
    fixture.pawapay.hide_for(u32::MAX);
    let payment = fixture.pay(PAYS).await?;
    let reference = fixture.reference(payment.id).await?;
    let letter = eventually("the callback", SOON, || async {
        Ok(fixture.pawapay.letters(&reference).pop())
    })
    .await?;
    for _ in 0..3 {
        fixture.deliver(&letter).await?;
    }
    let paid = fixture.becomes(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(fixture.pawapay.books.times_of_account(PAYS), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_callback_only_makes_the_engine_ask() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    fixture.signed_callbacks();
    let payment = fixture.pay(REFUSES).await?;
    let reference = fixture.reference(payment.id).await?;
    let mut letter = eventually("the callback", SOON, || async {
        Ok(fixture.pawapay.letters(&reference).pop())
    })
    .await?;
    letter.body = letter.body.replace("FAILED", "COMPLETED");
    fixture.deliver(&letter).await?;
    fixture.becomes(payment.id, Status::Failed).await?;
    assert!(fixture.pawapay.books.all().is_empty());
    Ok(())
}
