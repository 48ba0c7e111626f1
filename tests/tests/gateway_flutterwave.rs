//! Flutterwave's library in the whole engine, against Flutterwave's simulator: the merchant's view,
//! and the provider's ledger.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "../../plugins/flutterwave/tests/simulator/mod.rs"]
mod simulator;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::operations::Draining;
use switchyard::state::{ApiState, HttpSettings};
use switchyard::{operator, routes};
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{self, CaseReason, ClientContext, PayerAction, State, Status};
use switchyard_engine::callback::{Callback, CallbackQuery, CallbackState};
use switchyard_engine::engine::{ConfirmRequest, NewPayout};
use switchyard_engine::testing::{amount, customer};
use switchyard_gateway_host::{Listed, ListedState};
use switchyard_testkit::{FaultScenario, ProviderCallback};
use switchyard_tests::at_provider::{AtProvider, SOON, choice};
use switchyard_tests::{eventually, flutterwave_gateway};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use simulator::{BAD_NUMBER, GOOD_CARD, Kind, POOR_CARD, Simulator};

/// An engine on a clock that the test turns, with one connection: to the simulator.
struct Fixture {
    flutterwave: Simulator,
    at: AtProvider,
}

/// The number of a payer of 1000 KES.
const PAYS: &str = "254708374149";

/// A payment that was confirmed, and the reference of its attempt.
struct Paying {
    id: TransactionId,
    reference: String,
}

impl Deref for Fixture {
    type Target = AtProvider;

    fn deref(&self) -> &AtProvider {
        &self.at
    }
}

impl Fixture {
    async fn start() -> anyhow::Result<Self> {
        let flutterwave = Simulator::start(AtProvider::starts_at()).await;
        let at = AtProvider::start(&flutterwave_gateway(), flutterwave.config()).await?;
        Ok(Self { flutterwave, at })
    }

    /// A payment of this many cents by this method, once its attempt came back.
    async fn pay(&self, minor: i64, method: &str, number: &str) -> anyhow::Result<Paying> {
        let (currency, country) = match method {
            "bank_transfer_ng" => ("NGN", "NG"),
            "mpesa_ke" => ("KES", "KE"),
            _ => ("GHS", "GH"),
        };
        let phone = (!number.is_empty()).then(|| format!("+{number}"));
        let fields = phone
            .iter()
            .map(|phone| ("msisdn".to_owned(), phone.clone()));
        let choice = ConfirmRequest {
            country: Some(country.into()),
            fields: fields.collect(),
            phone,
            ..choice(method)
        };
        let payment = self.confirm(amount(minor, currency), choice).await?;
        let reference = self.reference(payment.id).await?;
        Ok(Paying {
            id: payment.id,
            reference,
        })
    }

    /// `data` of what the API and the operator API answer at this path.
    async fn told(&self, path: &str, token: &str) -> anyhow::Result<Value> {
        let state = ApiState::new(self.merchant.engine.clone(), HttpSettings::default());
        let operators = operator::routes(state.clone(), Draining::default());
        let operators = Router::new()
            .nest("/operator/v1", operators)
            .with_state(state.clone());
        let router = routes::router(state).merge(operators);
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        let answer = router.oneshot(request.body(Body::empty())?).await?;
        anyhow::ensure!(answer.status() == 200, "{path}: {}", answer.status());
        let bytes = to_bytes(answer.into_body(), 1 << 20).await?;
        Ok(serde_json::from_slice::<Value>(&bytes)?["data"].take())
    }

    /// Action that the payer is shown.
    async fn action(&self, id: TransactionId) -> anyhow::Result<PayerAction> {
        eventually("what the payer does next", SOON, || async {
            let found = self.merchant.engine.transaction(id).await?;
            let attempt = found.and_then(|found| found.attempts.first().cloned());
            Ok(attempt.and_then(|attempt| attempt.payer_action))
        })
        .await
    }

    /// The newest callback about this reference.
    async fn letter(&self, reference: &str) -> anyhow::Result<ProviderCallback> {
        eventually("the callback", SOON, || async {
            Ok(self.flutterwave.letters(reference).pop())
        })
        .await
    }

    /// Turns the clock until this many callbacks have come to rest in this state.
    async fn rested(&self, state: CallbackState, count: usize) -> anyhow::Result<()> {
        eventually("the callbacks come to rest", SOON, || async {
            self.merchant.clock.advance(Duration::from_millis(250));
            let found = self.callbacks(Some(state)).await?;
            Ok((found.len() >= count).then_some(()))
        })
        .await
    }

    async fn callbacks(&self, state: Option<CallbackState>) -> anyhow::Result<Vec<Callback>> {
        let query = CallbackQuery {
            connection: self.connection,
            state,
            before: None,
            limit: 100,
        };
        Ok(self.merchant.engine.list_callbacks(&query).await?)
    }

    /// A payment that one callback ended: of 1000 KES, and what Flutterwave wrote of it.
    async fn paid(&self) -> anyhow::Result<(Paying, ProviderCallback)> {
        let paying = self.pay(100_000, "mpesa_ke", PAYS).await?;
        let success = self.letter(&paying.reference).await?;
        self.deliver(&success).await?;
        self.becomes(paying.id, Status::Success).await?;
        self.rested(CallbackState::Matched, 1).await?;
        Ok((paying, success))
    }

    /// One charge was made and one movement booked, and the payment is a success of one attempt
    /// that no person has to look at.
    async fn is_paid_once(&self, paying: &Paying) -> anyhow::Result<()> {
        let found = self.merchant.engine.transaction(paying.id).await?;
        let found = found.expect("it is stored");
        assert_eq!((found.status(), found.attempts.len()), (Status::Success, 1));
        assert!(found.cases.is_empty(), "{:?}", found.cases);
        assert_eq!(self.flutterwave.taken(Kind::Charge, &paying.reference), 1);
        assert_eq!(self.flutterwave.books.all().len(), 1);
        assert_eq!(self.flutterwave.books.times(&paying.reference), 1);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_fails_on_flutterwaves_page_and_the_next_one_pays_by_callbacks_that_are_hints()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let paying = fixture.pay(2_550, "card_ghs", "").await?;
    let action = fixture.action(paying.id).await?;
    assert!(
        matches!(&action, PayerAction::Redirect { url } if url.starts_with("https://checkout.flutterwave.com/")),
        "{action:?}"
    );
    assert!(fixture.flutterwave.card(&paying.reference, POOR_CARD));
    let failure = fixture.letter(&paying.reference).await?;
    assert!(failure.body.contains("\"failed\""));
    fixture.deliver(&failure).await?;
    fixture.rested(CallbackState::Matched, 1).await?;
    let found = fixture.merchant.engine.transaction(paying.id).await?;
    assert_eq!(found.expect("it is stored").status(), Status::Pending);

    assert!(fixture.flutterwave.card(&paying.reference, GOOD_CARD));
    let success = fixture.letter(&paying.reference).await?;
    for _ in 0..3 {
        fixture.deliver(&success).await?;
    }
    let paid = fixture.becomes(paying.id, Status::Success).await?;
    let attempt = &paid.attempts[0];
    assert_eq!(
        (
            paid.attempts.len(),
            attempt.candidate.gateway_title.as_str()
        ),
        (1, "Flutterwave")
    );
    assert_eq!(attempt.captured, Some(paid.amount));
    assert_eq!(fixture.flutterwave.books.times(&paying.reference), 1);
    assert_eq!(fixture.flutterwave.books.all()[0].amount, "25.50");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_callback_is_refused_and_a_lying_one_only_makes_the_engine_ask()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let paying = fixture.pay(2_550, "mtn_gh", BAD_NUMBER).await?;
    fixture.action(paying.id).await?;
    assert!(fixture.flutterwave.go_on(&paying.reference));
    let truth = fixture.letter(&paying.reference).await?;
    let mut forged = truth.clone();
    forged.headers.retain(|(name, _)| name != "verif-hash");
    fixture.deliver(&forged).await?;
    fixture.rested(CallbackState::Refused, 1).await?;
    // With the right hash, which any reader of one callback has.
    let mut lie = truth;
    lie.body = lie.body.replace("\"failed\"", "\"successful\"");
    fixture.deliver(&lie).await?;
    let failed = fixture.becomes(paying.id, Status::Failed).await?;
    let decline = format!("{:?}", failed.attempts[0]);
    assert!(
        decline.contains("Transaction rejected by customer"),
        "{decline}"
    );
    assert!(fixture.flutterwave.books.all().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_settled_by_asking_and_nothing_is_sent_twice() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let mishaps = &fixture.flutterwave.mishaps;
    mishaps.next("POST", "/v3/charges", FaultScenario::LoseAnswer);
    // The next query gets "not found" at first: that proves nothing.
    fixture.flutterwave.hide_for(2);
    let paying = fixture.pay(100_000, "mpesa_ke", PAYS).await?;
    let found = fixture.merchant.engine.transaction(paying.id).await?;
    assert_eq!(found.expect("it is stored").status(), Status::Pending);
    let paid = fixture.ends(paying.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(
        fixture.flutterwave.taken(Kind::Charge, &paying.reference),
        1
    );
    assert_eq!(fixture.flutterwave.books.all().len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bank_transfer_of_too_little_is_no_success_and_comes_before_a_person()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let paying = fixture.pay(100_000, "bank_transfer_ng", "").await?;
    let action = fixture.action(paying.id).await?;
    assert!(
        matches!(&action, PayerAction::Transfer { account, .. } if account == "0067100155"),
        "{action:?}"
    );
    assert!(fixture.flutterwave.transfer_in(&paying.reference, "999.99"));
    let open = fixture
        .asks_until(paying.id, |found| !found.cases.is_empty())
        .await?;
    assert_eq!(open.status(), Status::Pending);
    assert_eq!(open.cases[0].reason, CaseReason::AmountDiffers);
    // The merchant and the operator read how much arrived, each in major units.
    let keys = &fixture.merchant.keys;
    let verify = format!("/v1/payments/{}/verify", paying.id);
    let merchant = fixture
        .told(&verify, keys.sandbox_secret_key.expose())
        .await?;
    assert_eq!(
        (
            &merchant["status"],
            &merchant["amount"],
            &merchant["attention"]
        ),
        (&json!("pending"), &json!(1000), &json!("amount_differs"))
    );
    assert_eq!(
        (
            &merchant["amount_received"],
            &merchant["amount_received_formatted"],
            &merchant["currency_received"]
        ),
        (&json!(999.99), &json!("₦ 999.99"), &json!("NGN"))
    );
    let shown = format!("/operator/v1/transactions/{}", paying.id);
    let operator = fixture.told(&shown, keys.operator_token.expose()).await?;
    assert_eq!(
        (&operator["received"], &operator["received_formatted"]),
        (&json!(999.99), &json!("₦ 999.99"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_reaches_its_recipient_once_though_its_answer_was_a_500() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let lie = "{\"status\":\"error\",\"message\":\"Insufficient funds\"}".to_owned();
    let mishaps = &fixture.flutterwave.mishaps;
    mishaps.next(
        "POST",
        "/v3/transfers",
        FaultScenario::AnswerInstead(500, lie),
    );
    let new = NewPayout {
        amount: amount(5_050, "GHS"),
        description: "Salaire".into(),
        method: "mtn_gh".into(),
        recipient: BTreeMap::from([("msisdn".to_owned(), "233551234987".to_owned())]),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: ClientContext::default(),
    };
    let caller = fixture.merchant.caller();
    let payout = fixture
        .merchant
        .engine
        .initialize_payout(&caller, new, None)
        .await?;
    let reference = fixture.reference(payout.id).await?;
    fixture.ends(payout.id, Status::Success).await?;
    assert_eq!(fixture.flutterwave.taken(Kind::Transfer, &reference), 1);
    assert_eq!(fixture.flutterwave.books.times(&reference), 1);
    assert_eq!(fixture.flutterwave.books.all()[0].amount, "50.50");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_before_the_answer_waits_for_it_and_pays_once() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    // The charge is made and paid while our request still waits for its answer.
    let gate = Arc::new(Semaphore::new(0));
    let held = FaultScenario::Hold(Arc::clone(&gate));
    fixture
        .flutterwave
        .mishaps
        .next("POST", "/v3/charges", held);
    let paying = fixture.pay(100_000, "mpesa_ke", PAYS).await?;
    fixture
        .deliver(&fixture.letter(&paying.reference).await?)
        .await?;
    eventually("the callback waits for our own call", SOON, || async {
        let waiting = fixture.callbacks(Some(CallbackState::Waiting)).await?;
        let note = waiting.first().and_then(|one| one.note.clone());
        Ok(note.filter(|note| note.starts_with("Our own call to the provider has not come back")))
    })
    .await?;
    let found = fixture.merchant.engine.transaction(paying.id).await?;
    assert_eq!(
        found.expect("it is stored").state,
        State::AwaitingGateway,
        "the callback proves nothing"
    );
    gate.add_permits(1);
    fixture.becomes(paying.id, Status::Success).await?;
    fixture.rested(CallbackState::Matched, 1).await?;
    fixture.is_paid_once(&paying).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_callback_many_times_counts_once_and_after_the_end_not_at_all()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (paying, success) = fixture.paid().await?;
    let timeline = fixture.merchant.engine.timeline(paying.id).await?;
    for _ in 0..5 {
        fixture.deliver(&success).await?;
    }
    fixture.rested(CallbackState::Matched, 6).await?;
    assert_eq!(fixture.merchant.engine.timeline(paying.id).await?, timeline);
    fixture.is_paid_once(&paying).await
}

/// Such callbacks prove nothing, since any reader of one callback knows the secret hash for good:
/// so they neither change an end nor open a case.
#[tokio::test(flavor = "multi_thread")]
async fn pending_or_failed_that_comes_after_the_success_changes_nothing() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (paying, success) = fixture.paid().await?;
    let timeline = fixture.merchant.engine.timeline(paying.id).await?;
    for (at, status) in ["pending", "failed"].into_iter().enumerate() {
        let mut late = success.clone();
        late.body = late.body.replace("successful", status);
        assert_ne!(late.body, success.body);
        fixture.deliver(&late).await?;
        fixture.rested(CallbackState::Matched, 2 + at).await?;
    }
    assert_eq!(fixture.merchant.engine.timeline(paying.id).await?, timeline);
    fixture.is_paid_once(&paying).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_with_a_forged_signature_is_refused_though_its_hash_is_right()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    fixture.flutterwave.sign();
    fixture.flutterwave.settle_after(2);
    let paying = fixture.pay(100_000, "mpesa_ke", PAYS).await?;
    fixture.ends(paying.id, Status::Success).await?;
    let success = fixture.letter(&paying.reference).await?;
    let mut forged = success.clone();
    forged.body = forged.body.replace("successful", "failed");
    assert_ne!(forged.body, success.body);
    fixture.deliver(&forged).await?;
    fixture.rested(CallbackState::Refused, 1).await?;
    let refused = &fixture.callbacks(Some(CallbackState::Refused)).await?[0];
    assert_eq!(refused.transaction, None, "{refused:?}");
    // The same with its own body is accepted.
    fixture.deliver(&success).await?;
    fixture.rested(CallbackState::Matched, 1).await?;
    fixture.is_paid_once(&paying).await
}

#[tokio::test(flavor = "multi_thread")]
async fn money_of_which_a_hint_tells_after_the_end_comes_before_a_person() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let paying = fixture.pay(2_550, "mtn_gh", BAD_NUMBER).await?;
    fixture.action(paying.id).await?;
    assert!(fixture.flutterwave.go_on(&paying.reference));
    let failure = fixture.letter(&paying.reference).await?;
    fixture.deliver(&failure).await?;
    fixture.becomes(paying.id, Status::Failed).await?;
    // The failure once more is no news.
    fixture.deliver(&failure).await?;
    fixture.rested(CallbackState::Matched, 2).await?;
    let reasons = || async {
        let found = fixture.merchant.engine.transaction(paying.id).await?;
        let found = found.expect("it is stored");
        let cases = found.cases.iter().map(|case| case.reason);
        anyhow::Ok((found.status(), cases.collect::<Vec<_>>()))
    };
    assert_eq!(reasons().await?, (Status::Failed, Vec::new()));

    assert!(fixture.flutterwave.take_late(&paying.reference));
    let success = fixture.letter(&paying.reference).await?;
    for count in [3, 4] {
        fixture.deliver(&success).await?;
        fixture.rested(CallbackState::Matched, count).await?;
        let one = vec![CaseReason::MoneyAfterTheEnd];
        assert_eq!(reasons().await?, (Status::Failed, one));
    }
    assert_eq!(fixture.flutterwave.books.times(&paying.reference), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_are_listed_by_the_references_of_their_attempts() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let good = fixture.pay(100_000, "mpesa_ke", PAYS).await?;
    let bad = fixture.pay(100_000, "mtn_gh", BAD_NUMBER).await?;
    fixture.flutterwave.go_on(&bad.reference);
    let listing = fixture.listed().await?;
    assert_eq!(listing.incomplete, None);
    let mut found: Vec<_> = listing.transactions.iter().collect();
    found.sort_by_key(|listed| listed.provider_id.clone());
    let found: Vec<_> = found
        .into_iter()
        .map(|listed| (listed.reference.clone(), listed.state, listed.amount))
        .collect();
    let expected = [
        (
            Some(good.reference),
            ListedState::Succeeded,
            Some(amount(100_000, "KES")),
        ),
        (
            Some(bad.reference),
            ListedState::Failed,
            Some(amount(100_000, "GHS")),
        ),
    ];
    assert_eq!(found, expected);
    let is_payment = |listed: &Listed| listed.kind == transaction::Kind::Payment;
    assert!(listing.transactions.iter().all(is_payment));
    Ok(())
}
