//! The gateway against Stripe's simulator, over real HTTP: every test card, and every trap.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use gateway_stripe::Stripe;
use gateway_stripe::cards::CARDS;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, REFERENCE};
use switchyard_gateway::{
    Amount, CallbackResult, Cancel, Collect, ConfigCheck, DeclineReason, Direction, Fault,
    FaultKind, Money, Operation, Outcome, PayerAction, Query, Refund,
};
use switchyard_testkit::{Driver, FaultScenario, NOW_SECONDS, ProviderCallback};

use simulator::payments::CARDS as TEST_CARDS;
use simulator::{SECRET, Simulator};

const PAYS: &str = "4242424242424242";
const REFUSED: &str = "4000000000000002";
const TOO_LITTLE: &str = "4000000000009995";
const SESSIONS: &str = "/v1/checkout/sessions";
const REFUND: &str = "11111111-2222-4333-8444-555555555555";

struct Fixture {
    stripe: Simulator,
    driver: Driver<Stripe>,
    state: Value,
}

impl Fixture {
    async fn start() -> Self {
        let stripe = Simulator::start(NOW_SECONDS).await;
        let driver = Driver::new(stripe.config());
        Self {
            stripe,
            driver,
            state: Value::Null,
        }
    }

    async fn collect(&mut self, ask: &Collect) -> Result<Outcome, Fault> {
        self.driver
            .call(Operation::Collect, ask, &mut self.state)
            .await
    }

    /// 25.50 USD; the session's id.
    async fn open(&mut self) -> String {
        let outcome = self.collect(&payment()).await.unwrap();
        assert!(is_redirect(&outcome), "{outcome:?}");
        self.session()
    }

    fn session(&self) -> String {
        self.stripe.session_of(REFERENCE).expect("it was made").id
    }

    async fn query(&mut self) -> Outcome {
        self.try_query().await.unwrap()
    }

    async fn try_query(&mut self) -> Result<Outcome, Fault> {
        let ask = testing::query("card_usd", Direction::Collect, 2_550, "USD", 2);
        self.driver
            .call(Operation::Query, &ask, &mut self.state)
            .await
    }

    async fn cancel(&mut self) -> Outcome {
        let ask = Cancel {
            reference: REFERENCE.into(),
            provider_id: None,
            method: "card_usd".into(),
            amount: Money::from_minor(2_550, "USD", 2),
            environment: Default::default(),
        };
        self.driver
            .call(Operation::Cancel, &ask, &mut self.state)
            .await
            .unwrap()
    }

    async fn refund(
        &self,
        reference: &str,
        minor: i64,
        state: &mut Value,
    ) -> Result<Outcome, Fault> {
        let ask = Refund {
            reference: reference.into(),
            of: REFERENCE.into(),
            provider_id: Some(self.session()),
            method: "card_usd".into(),
            amount: Money::from_minor(minor, "USD", 2),
            environment: Default::default(),
        };
        self.driver.call(Operation::Refund, &ask, state).await
    }

    async fn news(&self, letter: &ProviderCallback) -> CallbackResult {
        let callback = letter.as_callback("/callbacks/con_1", None);
        self.driver
            .call(Operation::Callback, &callback, &mut Value::Null)
            .await
            .unwrap()
    }

    async fn news_of(&self, kind: &str) -> CallbackResult {
        let letter = self.stripe.letter(REFERENCE, kind);
        self.news(&letter.unwrap_or_else(|| panic!("no {kind}")))
            .await
    }
}

fn payment() -> Collect {
    testing::collect("card_usd", 2_550, "USD", 2)
}

fn is_redirect(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Pending {
            payer_action: Some(PayerAction::Redirect { .. }),
            ..
        }
    )
}

fn is_paid(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded { amount: Some(amount), .. } if *amount == Amount::decimal("25.50", "USD"))
}

/// Stripe's code for a decline.
fn code(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Declined { provider_code, .. } => provider_code.as_deref().unwrap(),
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn every_card_method_is_paid_with_the_amount_that_was_asked_for() {
    for card in CARDS {
        let mut fixture = Fixture::start().await;
        let (minor, decimals) = if card.is_whole {
            (25_000, 0)
        } else {
            (5_000_050, 2)
        };
        let ask = testing::collect(card.code, minor, card.currency, decimals);
        assert!(
            is_redirect(&fixture.collect(&ask).await.unwrap()),
            "{}",
            card.code
        );
        fixture.stripe.pay(&fixture.session(), PAYS);
        let query = testing::query(
            card.code,
            Direction::Collect,
            minor,
            card.currency,
            decimals,
        );
        let outcome: Outcome = fixture
            .driver
            .call(Operation::Query, &query, &mut fixture.state)
            .await
            .unwrap();
        let decimal = if card.is_whole { "25000" } else { "50000.50" };
        let Outcome::Succeeded { amount, .. } = outcome else {
            panic!("{}: {outcome:?}", card.code);
        };
        assert_eq!(amount, Some(Amount::decimal(decimal, card.currency)));
        assert_eq!(fixture.stripe.books.times(REFERENCE), 1);
    }
}

#[tokio::test]
async fn each_test_card_leaves_the_session_open_or_pays_and_its_refusal_is_the_reason_when_time_is_up()
 {
    for (number, error, decline_code) in TEST_CARDS {
        let mut fixture = Fixture::start().await;
        let id = fixture.open().await;
        fixture.stripe.pay(&id, number);
        if error.is_empty() {
            assert!(is_paid(&fixture.query().await));
            continue;
        }
        assert!(is_redirect(&fixture.query().await), "{number}");
        fixture.stripe.expire(&id);
        let expected = if decline_code.is_empty() {
            error
        } else {
            decline_code
        };
        assert_eq!(code(&fixture.query().await), *expected);
        let news = fixture.news_of("checkout.session.expired").await;
        assert_eq!(code(&news.outcome.unwrap()), *expected);
        assert!(fixture.stripe.books.all().is_empty());
    }
}

#[tokio::test]
async fn a_refused_card_and_then_another_pays_once() {
    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    fixture.stripe.pay(&id, REFUSED);
    assert_eq!(
        fixture.news_of("payment_intent.payment_failed").await,
        CallbackResult::nothing()
    );
    fixture.stripe.pay(&id, TOO_LITTLE);
    fixture.stripe.pay(&id, PAYS);
    fixture.stripe.pay(&id, PAYS);
    let news = fixture.news_of("checkout.session.completed").await;
    assert_eq!(news.reference.as_deref(), Some(REFERENCE));
    assert!(news.trusted && is_paid(&news.outcome.unwrap()));
    assert!(is_paid(&fixture.query().await));
    assert_eq!(fixture.stripe.books.times(REFERENCE), 1);
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_asking_and_the_page_is_found_again() {
    for mishap in [
        FaultScenario::LoseAnswer,
        FaultScenario::CutAnswer,
        FaultScenario::AnswerInstead(500, "{\"error\":{\"type\":\"api_error\"}}".into()),
        FaultScenario::AnswerInstead(502, "<html>".into()),
    ] {
        let mut fixture = Fixture::start().await;
        fixture
            .stripe
            .mishaps
            .next("POST", SESSIONS, mishap.clone());
        let lost = fixture.collect(&payment()).await;
        assert!(
            !matches!(lost, Ok(Outcome::Declined { .. } | Outcome::Pending { .. })),
            "{mishap:?}: {lost:?}"
        );
        assert!(is_redirect(&fixture.query().await), "{mishap:?}");
        fixture.stripe.pay(&fixture.session(), PAYS);
        assert!(is_paid(&fixture.query().await));
        assert_eq!(
            (
                fixture.stripe.sessions().len(),
                fixture.stripe.books.times(REFERENCE)
            ),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn a_request_that_never_arrived_is_not_found() {
    let mut fixture = Fixture::start().await;
    fixture
        .stripe
        .mishaps
        .next("POST", SESSIONS, FaultScenario::Refuse(503, String::new()));
    let outcome = fixture.collect(&payment()).await.unwrap();
    assert!(matches!(outcome, Outcome::Unknown { .. }));
    assert!(matches!(fixture.query().await, Outcome::NotFound { .. }));
}

#[tokio::test]
async fn a_failure_that_stripe_repeats_for_ever_hides_a_session_that_can_be_paid() {
    let mut fixture = Fixture::start().await;
    fixture.stripe.stumble();
    for _ in 0..2 {
        let outcome = fixture.collect(&payment()).await.unwrap();
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    }
    assert!(is_redirect(&fixture.query().await));
    assert_eq!(fixture.stripe.sessions().len(), 1);
}

#[tokio::test]
async fn the_same_attempt_twice_has_one_session_and_another_body_finds_it() {
    let mut fixture = Fixture::start().await;
    let first = fixture.collect(&payment()).await.unwrap();
    // Its state is lost, too: the same request under the same key.
    fixture.state = Value::Null;
    assert_eq!(fixture.collect(&payment()).await.unwrap(), first);
    fixture.state = Value::Null;
    let mut other = payment();
    other.description = "Another text".into();
    assert_eq!(fixture.collect(&other).await.unwrap(), first);
    assert_eq!(fixture.stripe.sessions().len(), 1);
}

#[tokio::test]
async fn a_request_while_the_first_is_on_its_way_is_unknown() {
    let mut fixture = Fixture::start().await;
    fixture.stripe.hold(REFERENCE);
    let outcome = fixture.collect(&payment()).await.unwrap();
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn money_that_comes_later_is_waited_for_and_may_not_come() {
    for came in [true, false] {
        let mut fixture = Fixture::start().await;
        let id = fixture.open().await;
        fixture.stripe.pay_later(&id);
        assert!(matches!(
            fixture.query().await,
            Outcome::Pending {
                payer_action: None,
                ..
            }
        ));
        let completed = fixture.news_of("checkout.session.completed").await;
        assert!(matches!(completed.outcome, Some(Outcome::Pending { .. })));
        fixture.stripe.settle_later(&id, came);
        let kind = if came { "succeeded" } else { "failed" };
        let news = fixture
            .news_of(&format!("checkout.session.async_payment_{kind}"))
            .await;
        for outcome in [news.outcome.unwrap(), fixture.query().await] {
            if came {
                assert!(is_paid(&outcome));
            } else {
                assert_eq!(code(&outcome), "insufficient_funds");
            }
        }
        assert_eq!(fixture.stripe.books.times(REFERENCE), usize::from(came));
    }
}

#[tokio::test]
async fn only_what_stripe_signed_for_this_endpoint_just_now_is_believed() {
    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    fixture.stripe.roll_secret("whsec_next");
    fixture.stripe.pay(&id, PAYS);
    let letter = fixture
        .stripe
        .letter(REFERENCE, "checkout.session.completed")
        .unwrap();
    assert!(fixture.news(&letter).await.trusted);
    let mut forged = letter.clone();
    forged.body = forged.body.replace("2550", "255000");
    assert!(fixture.news(&forged).await.refused.is_some());
    // Replayed an hour later.
    fixture.driver.set_now("2026-11-20T11:00:00Z");
    let replayed = fixture.news(&letter).await;
    assert!(!replayed.trusted && replayed.outcome.is_none() && replayed.refused.is_none());
    assert_eq!(replayed.reference.as_deref(), Some(REFERENCE));
}

#[tokio::test]
async fn an_attempt_that_is_called_off_cannot_be_paid_any_more_and_one_that_was_paid_stays_paid() {
    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    assert_eq!(code(&fixture.cancel().await), "session_expired");
    fixture.stripe.pay(&id, PAYS);
    assert!(fixture.stripe.books.all().is_empty());
    assert_eq!(code(&fixture.cancel().await), "session_expired");

    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    fixture.stripe.pay(&id, PAYS);
    assert!(is_paid(&fixture.cancel().await));

    // The answer is lost: asking shows that it worked.
    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    let path = format!("{SESSIONS}/{id}/expire");
    fixture.stripe.mishaps.next(
        "POST",
        &path,
        FaultScenario::AnswerInstead(500, String::new()),
    );
    assert_eq!(code(&fixture.cancel().await), "session_expired");

    // Nothing was ever made.
    let mut fixture = Fixture::start().await;
    assert!(matches!(fixture.cancel().await, Outcome::NotFound { .. }));
}

#[tokio::test]
async fn a_refund_happens_once_in_parts_and_never_beyond_what_was_paid() {
    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    let unpaid = fixture.refund(REFUND, 1_000, &mut Value::Null).await;
    assert_eq!(unpaid.unwrap_err().kind, FaultKind::Config);
    fixture.stripe.pay(&id, PAYS);
    let mut state = Value::Null;
    for _ in 0..3 {
        let outcome = fixture.refund(REFUND, 1_000, &mut state).await.unwrap();
        assert!(matches!(outcome, Outcome::Succeeded { .. }), "{outcome:?}");
    }
    assert_eq!(fixture.stripe.refunds.times(REFUND), 1);
    let too_much = fixture
        .refund("second", 2_000, &mut Value::Null)
        .await
        .unwrap();
    assert_eq!(code(&too_much), "amount_too_large");
    let rest = fixture
        .refund("third", 1_550, &mut Value::Null)
        .await
        .unwrap();
    assert!(matches!(rest, Outcome::Succeeded { .. }));
    let nothing_left = fixture
        .refund("fourth", 100, &mut Value::Null)
        .await
        .unwrap();
    assert_eq!(code(&nothing_left), "charge_already_refunded");
    assert_eq!(fixture.stripe.refunds.all().len(), 2);
}

#[tokio::test]
async fn a_refund_whose_answer_was_lost_is_found_and_not_made_again() {
    let mut fixture = Fixture::start().await;
    let id = fixture.open().await;
    fixture.stripe.pay(&id, PAYS);
    fixture
        .stripe
        .mishaps
        .next("POST", "/v1/refunds", FaultScenario::LoseAnswer);
    let mut state = Value::Null;
    assert!(fixture.refund(REFUND, 2_550, &mut state).await.is_err());
    let before = fixture
        .stripe
        .requests()
        .iter()
        .filter(|line| *line == "POST /v1/refunds")
        .count();
    let outcome = fixture.refund(REFUND, 2_550, &mut state).await.unwrap();
    assert!(is_paid(&outcome), "{outcome:?}");
    let after = fixture
        .stripe
        .requests()
        .iter()
        .filter(|line| *line == "POST /v1/refunds")
        .count();
    assert_eq!(
        (before, after, fixture.stripe.refunds.times(REFUND)),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn a_refund_that_is_pending_is_asked_about_until_it_ends() {
    for (status, reason) in [("succeeded", None), ("failed", Some("lost_or_stolen_card"))] {
        let mut fixture = Fixture::start().await;
        let id = fixture.open().await;
        fixture.stripe.pay(&id, PAYS);
        fixture.stripe.refunds_are("pending");
        let mut state = Value::Null;
        let outcome = fixture.refund(REFUND, 2_550, &mut state).await.unwrap();
        assert!(matches!(outcome, Outcome::Pending { .. }));
        fixture.stripe.settle_refunds(status, reason);
        let mut ask: Query = testing::query("card_usd", Direction::Collect, 2_550, "USD", 2);
        ask.reference = REFUND.into();
        let ended: Outcome = fixture
            .driver
            .call(Operation::Query, &ask, &mut state)
            .await
            .unwrap();
        match reason {
            None => assert!(is_paid(&ended), "{ended:?}"),
            Some(reason) => assert_eq!(code(&ended), reason),
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_a_restricted_one_may_do() {
    let fixture = Fixture::start().await;
    let check = async |config: Value| -> ConfigCheck {
        let driver = Driver::<Stripe>::new(config);
        driver
            .call(Operation::CheckConfig, &Value::Null, &mut Value::Null)
            .await
            .unwrap()
    };
    let account = Some("Simulated Ltd".to_owned());
    assert_eq!(
        check(fixture.stripe.config()).await,
        ConfigCheck::Works { account }
    );
    fixture.stripe.restrict_key();
    assert_eq!(
        check(fixture.stripe.config()).await,
        ConfigCheck::Works { account: None }
    );
    let wrong = json!({ "secret_key": "sk_test_wrong", "webhook_secret": SECRET, "base_url": fixture.stripe.url });
    assert!(matches!(
        check(wrong.clone()).await,
        ConfigCheck::Refused { .. }
    ));
    let driver = Driver::<Stripe>::new(wrong);
    let declined: Outcome = driver
        .call(Operation::Collect, &payment(), &mut Value::Null)
        .await
        .unwrap();
    assert!(matches!(
        declined,
        Outcome::Declined {
            reason: DeclineReason::Misconfigured,
            retryable: true,
            ..
        }
    ));
}

#[tokio::test]
async fn an_amount_that_stripe_does_not_take_is_for_another_gateway_to_try() {
    let mut fixture = Fixture::start().await;
    let outcome = fixture
        .collect(&testing::collect("card_usd", 49, "USD", 2))
        .await
        .unwrap();
    let Outcome::Declined {
        reason,
        retryable,
        provider_code,
        ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((reason, retryable), (DeclineReason::AmountOutOfRange, true));
    assert_eq!(provider_code.as_deref(), Some("amount_too_small"));
}

#[tokio::test]
async fn a_session_is_found_among_many() {
    let mut fixture = Fixture::start().await;
    for number in 0..250 {
        let mut other = payment();
        other.reference = format!("7d3f0c9e-5b1a-4a52-9d6e-{number:012}");
        let _: Outcome = fixture
            .driver
            .call(Operation::Collect, &other, &mut Value::Null)
            .await
            .unwrap();
        if number == 20 {
            fixture.open().await;
        }
    }
    fixture.state = json!({ "since": NOW_SECONDS });
    let found = fixture.query().await;
    assert!(is_redirect(&found), "{found:?}");
    assert!(fixture.try_query().await.is_ok());
}
