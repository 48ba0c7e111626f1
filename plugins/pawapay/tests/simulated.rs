//! The gateway against pawaPay's simulator, over real HTTP: every published test number, and every
//! trap.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use std::time::Duration;

use gateway_pawapay::PawaPay;
use gateway_pawapay::operators::{OPERATORS, Operator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchyard_gateway::{
    Amount, CallbackResult, Collect, ConfigCheck, DeclineReason, Direction, Fault, FaultKind,
    Operation, Outcome, PayerAction, Payout, Prompt, Query, testing,
};
use switchyard_testkit::{Driver, FaultScenario, NOW_SECONDS};

use simulator::{Kind, Scheme, Simulator, TOKEN};

const URL: &str = "https://pay.example.com/callbacks/con_1";
const PAYS: &str = "22951345789";
const NEVER_ENDS: &str = "22951345129";

struct Fixture {
    pawapay: Simulator,
    driver: Driver<PawaPay>,
}

impl Fixture {
    async fn start() -> Self {
        let pawapay = Simulator::start(NOW_SECONDS).await;
        let driver = Driver::new(pawapay.config());
        Self { pawapay, driver }
    }

    async fn collect(&self, ask: &Collect, state: &mut Value) -> Result<Outcome, Fault> {
        self.driver.call(Operation::Collect, ask, state).await
    }

    async fn query(&self, ask: &Query) -> Outcome {
        self.query_with(ask, &mut Value::Null).await.unwrap()
    }

    async fn query_with(&self, ask: &Query, state: &mut Value) -> Result<Outcome, Fault> {
        self.driver.call(Operation::Query, ask, state).await
    }

    /// Pays by MTN Benin under this reference, and returns the outcome of the call.
    async fn pay(&self, reference: &str, number: &str) -> Result<Outcome, Fault> {
        self.collect(&payment(reference, "mtn_bj", number), &mut Value::Null)
            .await
    }

    async fn asked(&self, reference: &str) -> Outcome {
        self.query(&question(reference, "mtn_bj", Direction::Collect))
            .await
    }

    async fn news(&self, letter: &switchyard_testkit::ProviderCallback) -> CallbackResult {
        let callback = letter.as_callback("/callbacks/con_1", Some(URL));
        call(&self.driver, Operation::Callback, &callback).await
    }
}

/// A call of an attempt that keeps nothing.
async fn call<T: DeserializeOwned>(
    driver: &Driver<PawaPay>,
    operation: Operation,
    input: &impl Serialize,
) -> T {
    let called = driver.call(operation, input, &mut Value::Null).await;
    called.unwrap()
}

/// A UUID of version 4 that ends so.
fn reference(number: usize) -> String {
    format!("7d3f0c9e-5b1a-4a52-9d6e-{number:012x}")
}

/// 1000 of the operator's currency, in its smallest unit.
fn amount(operator: &Operator) -> (i64, &'static str, u8) {
    match operator.decimals() {
        0 => (1_000, operator.currency, 0),
        decimals => (100_000, operator.currency, decimals),
    }
}

fn payment(reference: &str, method: &str, number: &str) -> Collect {
    let (minor, currency, decimals) = amount(Operator::of(method).unwrap());
    let mut ask = testing::collect(method, minor, currency, decimals);
    reference.clone_into(&mut ask.reference);
    ask.fields = [("msisdn", number), ("otp", "123456")].into();
    ask
}

fn payout(reference: &str, method: &str, number: &str) -> Payout {
    let (minor, currency, decimals) = amount(Operator::of(method).unwrap());
    let mut ask = testing::payout(method, minor, currency, decimals);
    reference.clone_into(&mut ask.reference);
    ask.recipient = [("msisdn", number)].into();
    ask
}

fn question(reference: &str, method: &str, direction: Direction) -> Query {
    let (minor, currency, decimals) = amount(Operator::of(method).unwrap());
    let mut ask = testing::query(method, direction, minor, currency, decimals);
    reference.clone_into(&mut ask.reference);
    ask
}

/// The word for an outcome, and pawaPay's code for a decline.
fn word(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Succeeded { .. } => "COMPLETED",
        Outcome::Declined { provider_code, .. } => provider_code.as_deref().unwrap_or("declined"),
        Outcome::Pending { .. } => "STUCK",
        Outcome::Unknown { .. } => "unknown",
        Outcome::NotFound { .. } => "not found",
    }
}

#[tokio::test]
async fn every_published_test_number_ends_as_published_in_both_directions() {
    let fixture = Fixture::start().await;
    let mut tried = 0;
    for (at, case) in simulator::cases().enumerate() {
        let served = OPERATORS
            .iter()
            .find(|operator| operator.provider == case.provider);
        let Some(operator) = served.filter(|operator| case.is_deposit || operator.pays_out) else {
            continue;
        };
        let id = reference(at);
        let (operation, direction, ask) = if case.is_deposit {
            let ask = json!(payment(&id, operator.code, case.msisdn));
            (Operation::Collect, Direction::Collect, ask)
        } else {
            let ask = json!(payout(&id, operator.code, case.msisdn));
            (Operation::Payout, Direction::Payout, ask)
        };
        let mut state = Value::Null;
        let begun: Outcome = fixture
            .driver
            .call(operation, &ask, &mut state)
            .await
            .unwrap();
        assert!(
            matches!(begun, Outcome::Pending { .. }),
            "{case:?}: {begun:?}"
        );
        let ended = fixture
            .query(&question(&id, operator.code, direction))
            .await;
        assert_eq!(word(&ended), case.fate, "{case:?}");
        let moved = usize::from(case.fate == "COMPLETED");
        assert_eq!(fixture.pawapay.books.times(&id), moved, "{case:?}");
        tried += 1;
    }
    // All but the two of Sierra Leone, which has no method of ours.
    assert_eq!(tried, 266);
}

#[tokio::test]
async fn every_operator_takes_what_the_gateway_writes() {
    let fixture = Fixture::start().await;
    for (at, operator) in OPERATORS.iter().enumerate() {
        let number = format!("+{}700000789", operator.country.dial_code);
        let paid = reference(2 * at);
        let begun = fixture
            .collect(&payment(&paid, operator.code, &number), &mut Value::Null)
            .await;
        assert_eq!(word(&begun.unwrap()), "STUCK", "{}", operator.code);
        if operator.pays_out {
            let sent = reference(2 * at + 1);
            let ask = payout(&sent, operator.code, &number);
            let begun: Outcome = call(&fixture.driver, Operation::Payout, &ask).await;
            assert_eq!(begun, Outcome::pending(), "{}", operator.code);
            let ended = fixture
                .query(&question(&sent, operator.code, Direction::Payout))
                .await;
            let Outcome::Succeeded {
                amount: Some(moved),
                ..
            } = ended
            else {
                panic!("{}: {ended:?}", operator.code);
            };
            assert_eq!(moved, Amount::decimal("1000", operator.currency));
        }
    }
    assert_eq!(
        (
            fixture.pawapay.count(Kind::Deposit),
            fixture.pawapay.count(Kind::Payout)
        ),
        (34, 32)
    );
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_asking_and_the_payer_is_charged_once() {
    let fixture = Fixture::start().await;
    let half = "{\"depositId\":\"7d3f".to_owned();
    for (at, mishap) in [
        FaultScenario::LoseAnswer,
        FaultScenario::CutAnswer,
        FaultScenario::AnswerInstead(500, half),
        FaultScenario::AnswerInstead(502, "<html>Bad gateway</html>".into()),
        FaultScenario::AnswerInstead(200, String::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let id = reference(at);
        fixture
            .pawapay
            .mishaps
            .next("POST", "/v2/deposits", mishap.clone());
        let unclear = match fixture.pay(&id, PAYS).await {
            Ok(outcome) => matches!(outcome, Outcome::Unknown { .. }),
            Err(fault) => fault.kind == FaultKind::Provider,
        };
        assert!(unclear, "{mishap:?}");
        assert_eq!(word(&fixture.asked(&id).await), "COMPLETED", "{mishap:?}");
        // Even sent again, it is one payment.
        assert_eq!(word(&fixture.pay(&id, PAYS).await.unwrap()), "COMPLETED");
        assert_eq!(fixture.pawapay.books.times(&id), 1, "{mishap:?}");
    }
}

#[tokio::test]
async fn a_late_answer_is_an_answer_and_a_question_that_is_lost_leaves_everything_open() {
    let fixture = Fixture::start().await;
    let late = FaultScenario::Delay(Duration::from_millis(200));
    fixture.pawapay.mishaps.next("POST", "/v2/deposits", late);
    assert_eq!(
        word(&fixture.pay(&reference(1), PAYS).await.unwrap()),
        "STUCK"
    );
    for mishap in [
        FaultScenario::LoseAnswer,
        FaultScenario::CutAnswer,
        FaultScenario::Refuse(500, "{}".into()),
        FaultScenario::Refuse(404, "{}".into()),
    ] {
        fixture.pawapay.mishaps.next("GET", "/v2/deposits", mishap);
        let ask = question(&reference(1), "mtn_bj", Direction::Collect);
        let fault = fixture
            .query_with(&ask, &mut Value::Null)
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Provider);
    }
    assert_eq!(word(&fixture.asked(&reference(1)).await), "COMPLETED");
}

#[tokio::test]
async fn a_final_state_that_comes_late_is_waited_for_and_not_found_at_first_is_said_as_it_is() {
    let fixture = Fixture::start().await;
    fixture.pawapay.settle_after(3);
    fixture.pay(&reference(1), PAYS).await.unwrap();
    fixture.pay(&reference(2), NEVER_ENDS).await.unwrap();
    for expected in ["STUCK", "STUCK", "COMPLETED", "COMPLETED"] {
        assert_eq!(word(&fixture.asked(&reference(1)).await), expected);
        assert_eq!(word(&fixture.asked(&reference(2)).await), "STUCK");
    }
    fixture.pawapay.settle_after(0);
    fixture.pawapay.hide_for(2);
    fixture.pay(&reference(3), PAYS).await.unwrap();
    for expected in ["not found", "not found", "COMPLETED"] {
        assert_eq!(word(&fixture.asked(&reference(3)).await), expected);
    }
    assert_eq!(word(&fixture.asked(&reference(4)).await), "not found");
}

#[tokio::test]
async fn what_pawapay_refuses_at_once_is_declined_with_200_and_moves_nothing() {
    let fixture = Fixture::start().await;
    fixture.pawapay.close("MOOV_BEN");
    fixture.pawapay.empty_wallet("BEN");
    let mut too_much = payment(&reference(3), "mtn_bj", PAYS);
    too_much.amount = switchyard_gateway::Money::from_minor(3_000_000, "XOF", 0);
    let mut with_cents = payment(&reference(4), "mpesa_ke", "254708374149");
    with_cents.amount = switchyard_gateway::Money::from_minor(1_050, "KES", 2);
    let collected = [
        (
            payment(&reference(1), "mtn_bj", "+233243456789"),
            "INVALID_PHONE_NUMBER",
            DeclineReason::InvalidAccount,
            false,
        ),
        (
            payment(&reference(2), "moov_bj", PAYS),
            "PROVIDER_TEMPORARILY_UNAVAILABLE",
            DeclineReason::ProviderUnavailable,
            true,
        ),
        (
            too_much,
            "AMOUNT_OUT_OF_BOUNDS",
            DeclineReason::AmountOutOfRange,
            true,
        ),
        (
            with_cents,
            "INVALID_AMOUNT",
            DeclineReason::AmountOutOfRange,
            true,
        ),
    ];
    for (ask, code, reason, elsewhere) in collected {
        let outcome = fixture.collect(&ask, &mut Value::Null).await.unwrap();
        refused(&outcome, code, reason, elsewhere);
    }
    let ask = payout(&reference(5), "mtn_bj", PAYS);
    let outcome = call(&fixture.driver, Operation::Payout, &ask).await;
    let code = "PAWAPAY_WALLET_OUT_OF_FUNDS";
    refused(&outcome, code, DeclineReason::MerchantFunds, true);
    let stranger =
        Driver::<PawaPay>::new(json!({ "api_token": "wrong", "base_url": fixture.pawapay.url }));
    let ask = payment(&reference(6), "mtn_bj", PAYS);
    let outcome = call(&stranger, Operation::Collect, &ask).await;
    refused(
        &outcome,
        "AUTHENTICATION_ERROR",
        DeclineReason::Misconfigured,
        true,
    );
    assert!(fixture.pawapay.books.all().is_empty());
    assert_eq!(word(&fixture.asked(&reference(1)).await), "not found");
}

fn refused(outcome: &Outcome, code: &str, expected: DeclineReason, elsewhere: bool) {
    let Outcome::Declined {
        reason,
        retryable,
        provider_code,
        ..
    } = outcome
    else {
        panic!("{code}: {outcome:?}");
    };
    assert_eq!(provider_code.as_deref(), Some(code));
    assert_eq!((*reason, *retryable), (expected, elsewhere), "{code}");
}

#[tokio::test]
async fn the_payer_is_sent_to_the_operators_page_when_it_is_there() {
    let fixture = Fixture::start().await;
    for (at, method) in ["wave_sn", "wave_ci"].into_iter().enumerate() {
        let id = reference(at);
        let number = format!(
            "{}700000001",
            Operator::of(method).unwrap().country.dial_code
        );
        let mut ask = payment(&id, method, &number);
        let page = PayerAction::Redirect {
            url: format!("https://pay.wave.example/c/{id}"),
        };
        let begun = fixture.collect(&ask, &mut Value::Null).await.unwrap();
        assert_eq!(begun, Outcome::awaiting(page));
        assert_eq!(
            word(
                &fixture
                    .query(&question(&id, method, Direction::Collect))
                    .await
            ),
            "STUCK"
        );
        fixture.pawapay.approve(&id);
        assert_eq!(
            word(
                &fixture
                    .query(&question(&id, method, Direction::Collect))
                    .await
            ),
            "COMPLETED"
        );
        assert_eq!(fixture.pawapay.books.times(&id), 1);
        // The page needs a way back: pawaPay says so, and the fault is ours.
        ask.reference = reference(at + 10);
        ask.return_url = None;
        let refused = fixture.collect(&ask, &mut Value::Null).await.unwrap();
        assert_eq!(word(&refused), "MISSING_PARAMETER");
    }
}

#[tokio::test]
async fn the_payer_reads_what_to_do_and_the_instructions_are_fetched_once() {
    let fixture = Fixture::start().await;
    for at in 0..3 {
        let ask = payment(&reference(at), "orange_ci", "2250707123456");
        let begun = fixture.collect(&ask, &mut Value::Null).await.unwrap();
        let Outcome::Pending {
            payer_action:
                Some(PayerAction::ConfirmOnPhone {
                    prompt,
                    steps,
                    ussd,
                }),
            ..
        } = begun
        else {
            panic!("{begun:?}");
        };
        assert_eq!((prompt, ussd.as_deref()), (Prompt::Manual, Some("*120#")));
        assert_eq!(steps["fr"], ["Composez *120#", "Entrez votre code"]);
    }
    let looked_up = fixture
        .driver
        .requests()
        .into_iter()
        .filter(|request| request.method == "GET")
        .count();
    assert_eq!(looked_up, 1);
    let fixture = Fixture::start().await;
    fixture
        .pawapay
        .mishaps
        .next("GET", "/v2/active-conf", FaultScenario::LoseAnswer);
    let begun = fixture.pay(&reference(9), PAYS).await.unwrap();
    assert_eq!(
        word(&begun),
        "STUCK",
        "a look-up that fails does not take the payment along"
    );
}

#[tokio::test]
async fn callbacks_may_come_early_twice_and_out_of_order_and_forged_ones_change_nothing() {
    let fixture = Fixture::start().await;
    fixture.pawapay.sign(URL, Some(Scheme::EcdsaP256));
    // The answer is lost, so the callback is the first that is heard.
    fixture
        .pawapay
        .mishaps
        .next("POST", "/v2/deposits", FaultScenario::LoseAnswer);
    assert!(fixture.pay(&reference(1), PAYS).await.is_err());
    fixture.pay(&reference(2), "22951345039").await.unwrap();
    let first = fixture.pawapay.letters(&reference(1)).remove(0);
    let second = fixture.pawapay.letters(&reference(2)).remove(0);
    for (letter, id, expected) in [
        (&second, reference(2), "PAYMENT_NOT_APPROVED"),
        (&first, reference(1), "COMPLETED"),
        (&first, reference(1), "COMPLETED"),
        (&second, reference(2), "PAYMENT_NOT_APPROVED"),
    ] {
        let news = fixture.news(letter).await;
        assert_eq!((news.reference, news.trusted), (Some(id.clone()), true));
        let told = news.outcome.unwrap();
        assert_eq!(word(&told), expected);
        assert_eq!(
            word(&fixture.asked(&id).await),
            expected,
            "asking says the same"
        );
    }
    assert_eq!(fixture.pawapay.key_requests(), 1, "the keys are kept");

    let mut forged = second.clone();
    forged.body = forged.body.replace("FAILED", "COMPLETED");
    let news = fixture.news(&forged).await;
    assert_eq!((news.trusted, news.outcome), (false, None));
    fixture.pawapay.sign(URL, None);
    fixture.pay(&reference(3), PAYS).await.unwrap();
    let unsigned = fixture.pawapay.letters(&reference(3)).remove(0);
    let news = fixture.news(&unsigned).await;
    assert_eq!(
        (news.reference, news.trusted, news.outcome),
        (Some(reference(3)), false, None)
    );
}

#[tokio::test]
async fn a_new_key_is_fetched_when_it_is_named_and_forgers_cannot_make_us_fetch_for_ever() {
    let fixture = Fixture::start().await;
    fixture.pawapay.sign(URL, Some(Scheme::EcdsaP256));
    fixture.pay(&reference(1), PAYS).await.unwrap();
    let old = fixture.pawapay.letters(&reference(1)).remove(0);
    assert!(fixture.news(&old).await.trusted);
    fixture.pawapay.sign(URL, Some(Scheme::RsaPss));
    fixture.pay(&reference(2), PAYS).await.unwrap();
    let new = fixture.pawapay.letters(&reference(2)).remove(0);
    for _ in 0..5 {
        assert!(
            !fixture.news(&new).await.trusted,
            "asked for a moment ago: a hint is enough"
        );
    }
    assert_eq!(fixture.pawapay.key_requests(), 1);
    fixture.driver.set_now("2026-11-20T10:01:10.000000Z");
    assert!(fixture.news(&new).await.trusted);
    assert_eq!(fixture.pawapay.key_requests(), 2);
}

#[tokio::test]
async fn refunds_give_back_what_was_paid_and_not_more() {
    let fixture = Fixture::start().await;
    let paid = reference(1);
    fixture.pay(&paid, PAYS).await.unwrap();
    let refund = async |number: usize, minor: i64| -> Outcome {
        let amount = switchyard_gateway::Money::from_minor(minor, "XOF", 0);
        let ask = json!({ "reference": reference(number), "of": paid, "method": "mtn_bj", "amount": amount });
        call(&fixture.driver, Operation::Refund, &ask).await
    };
    assert_eq!(refund(2, 400).await, Outcome::pending());
    assert_eq!(
        word(&refund(2, 400).await),
        "COMPLETED",
        "the same refund again asks"
    );
    assert_eq!(word(&refund(3, 601).await), "AMOUNT_TOO_LARGE");
    assert_eq!(refund(4, 600).await, Outcome::pending());
    assert_eq!(word(&refund(5, 1).await), "DEPOSIT_ALREADY_REFUNDED");
    for (number, times) in [(2, 1), (3, 0), (4, 1), (5, 0)] {
        assert_eq!(
            fixture.pawapay.books.times(&reference(number)),
            times,
            "{number}"
        );
    }
}

#[tokio::test]
async fn the_check_of_the_credentials_knows_good_ones_from_bad_ones() {
    let fixture = Fixture::start().await;
    let check = async |token: &str| -> ConfigCheck {
        let config = json!({ "api_token": token, "base_url": fixture.pawapay.url });
        let driver = Driver::<PawaPay>::new(config);
        call(&driver, Operation::CheckConfig, &Value::Null).await
    };
    let account = Some("Simulated Ltd".into());
    assert_eq!(check(TOKEN).await, ConfigCheck::Works { account });
    assert!(matches!(check("wrong").await, ConfigCheck::Refused { .. }));
    assert!(fixture.pawapay.books.all().is_empty());
}
