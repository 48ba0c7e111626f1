//! The gateway against Flutterwave's simulator, over real HTTP: every method, and every trap.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use std::time::Duration;

use gateway_flutterwave::Flutterwave;
use gateway_flutterwave::methods::{CollectMode, METHODS, Method};
use serde_json::{Value, json};
use switchyard_gateway::{
    Amount, CallbackResult, Collect, ConfigCheck, DeclineReason, Direction, Fault, FaultKind,
    Money, Operation, Outcome, PayerAction, Payout, Query, testing,
};
use switchyard_testkit::{Driver, FaultScenario, NOW_SECONDS};

use simulator::{BAD_NUMBER, GOOD_CARD, Kind, POOR_CARD, Simulator};

const PAYS: &str = "0551234987";
/// When the page and the account of a bank transfer take nothing any more, and the gateway knows
/// it.
const PAGE_IS_OVER: &str = "2026-11-20T10:31:00.000000Z";
const ACCOUNT_IS_OVER: &str = "2026-11-20T11:01:00.000000Z";

struct Fixture {
    flutterwave: Simulator,
    driver: Driver<Flutterwave>,
}

/// State that the engine keeps of an attempt.
struct Attempt {
    reference: String,
    method: &'static Method,
    direction: Direction,
    state: Value,
}

impl Attempt {
    fn new(number: usize, method: &str, direction: Direction) -> Self {
        Self {
            reference: format!("7d3f0c9e-5b1a-4a52-9d6e-{number:012x}"),
            method: Method::of(method).unwrap(),
            direction,
            state: Value::Null,
        }
    }

    /// 1000 of the method's currency, in its smallest unit.
    fn amount(&self) -> Money {
        match self.method.decimals() {
            0 => Money::from_minor(1_000, self.method.currency, 0),
            decimals => Money::from_minor(100_000, self.method.currency, decimals),
        }
    }

    fn payment(&self, number: &str) -> Collect {
        let mut ask = testing::collect(self.method.code, 0, "", 0);
        ask.amount = self.amount();
        self.reference.clone_into(&mut ask.reference);
        ask.fields = [("msisdn", number), ("account_bank", "GTBank")].into();
        ask
    }

    fn payout(&self, number: &str) -> Payout {
        let mut ask = testing::payout(self.method.code, 0, "", 0);
        ask.amount = self.amount();
        self.reference.clone_into(&mut ask.reference);
        ask.recipient = [("msisdn", number)].into();
        ask
    }

    fn question(&self) -> Query {
        let mut ask = testing::query(self.method.code, self.direction, 0, "", 0);
        ask.amount = self.amount();
        self.reference.clone_into(&mut ask.reference);
        ask
    }
}

impl Fixture {
    async fn start() -> Self {
        let flutterwave = Simulator::start(NOW_SECONDS).await;
        let driver = Driver::new(flutterwave.config());
        Self {
            flutterwave,
            driver,
        }
    }

    async fn pay(&self, number: usize, method: &str) -> (Attempt, Result<Outcome, Fault>) {
        self.pay_from(number, method, PAYS).await
    }

    async fn pay_from(
        &self,
        number: usize,
        method: &str,
        phone: &str,
    ) -> (Attempt, Result<Outcome, Fault>) {
        let mut attempt = Attempt::new(number, method, Direction::Collect);
        let ask = attempt.payment(phone);
        let called = self
            .driver
            .call(Operation::Collect, &ask, &mut attempt.state);
        let outcome = called.await;
        (attempt, outcome)
    }

    async fn send(
        &self,
        number: usize,
        method: &str,
        to: &str,
    ) -> (Attempt, Result<Outcome, Fault>) {
        let mut attempt = Attempt::new(number, method, Direction::Payout);
        let ask = attempt.payout(to);
        let called = self
            .driver
            .call(Operation::Payout, &ask, &mut attempt.state);
        let outcome = called.await;
        (attempt, outcome)
    }

    async fn try_to_ask(&self, attempt: &mut Attempt) -> Result<Outcome, Fault> {
        let ask = attempt.question();
        self.driver
            .call(Operation::Query, &ask, &mut attempt.state)
            .await
    }

    async fn asked(&self, attempt: &mut Attempt) -> Outcome {
        self.try_to_ask(attempt).await.unwrap()
    }
}

fn paid(outcome: &Outcome) -> Option<&Amount> {
    match outcome {
        Outcome::Succeeded { amount, .. } => amount.as_ref(),
        _ => None,
    }
}

fn reason(outcome: &Outcome) -> Option<(DeclineReason, bool)> {
    match outcome {
        Outcome::Declined {
            reason, retryable, ..
        } => Some((*reason, *retryable)),
        _ => None,
    }
}

fn is_open(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Pending { .. })
}

#[tokio::test]
async fn every_method_collects_what_was_asked_and_pays_it_out_once() {
    let fixture = Fixture::start().await;
    for (at, method) in METHODS.iter().enumerate() {
        let thousand = Amount::decimal("1000", method.currency);
        if let Some(way) = method.collect {
            let (mut attempt, begun) = fixture.pay(2 * at, method.code).await;
            let begun = begun.unwrap();
            assert!(is_open(&begun), "{}: {begun:?}", method.code);
            let provider = &fixture.flutterwave;
            let reference = attempt.reference.clone();
            match way {
                CollectMode::Page => assert!(provider.card(&reference, GOOD_CARD)),
                CollectMode::BankTransfer => assert!(provider.transfer_in(&reference, "1000")),
                CollectMode::Ussd | CollectMode::Qr => assert!(provider.go_on(&reference)),
                CollectMode::Mobile(..) => {
                    let asks_for_page = matches!(
                        begun,
                        Outcome::Pending {
                            payer_action: Some(PayerAction::Redirect { .. }),
                            ..
                        }
                    );
                    assert_eq!(provider.go_on(&reference), asks_for_page);
                }
            }
            let ended = fixture.asked(&mut attempt).await;
            assert_eq!(paid(&ended), Some(&thousand), "{}: {ended:?}", method.code);
            assert_eq!(provider.books.times(&reference), 1, "{}", method.code);
        }
        if method.payout.is_some() {
            let (mut attempt, begun) = fixture.send(2 * at + 1, method.code, PAYS).await;
            assert!(is_open(&begun.unwrap()), "{}", method.code);
            let ended = fixture.asked(&mut attempt).await;
            assert_eq!(paid(&ended), Some(&thousand), "{}: {ended:?}", method.code);
            assert_eq!(fixture.flutterwave.books.times(&attempt.reference), 1);
        }
    }
    assert_eq!(fixture.flutterwave.books.all().len(), 62);
}

#[tokio::test]
async fn a_card_that_fails_is_not_the_end_and_the_next_one_pays() {
    let fixture = Fixture::start().await;
    let (mut attempt, _) = fixture.pay(1, "card_ghs").await;
    let tx_ref = attempt.reference.clone();
    // Nobody has begun: Flutterwave does not know it, and that is no failure.
    assert!(is_open(&fixture.asked(&mut attempt).await));
    assert!(fixture.flutterwave.card(&tx_ref, POOR_CARD));
    assert!(is_open(&fixture.asked(&mut attempt).await));
    assert!(fixture.flutterwave.card(&tx_ref, GOOD_CARD));
    assert!(paid(&fixture.asked(&mut attempt).await).is_some());

    let (mut poor, _) = fixture.pay(2, "card_ghs").await;
    let (mut idle, _) = fixture.pay(3, "card_ghs").await;
    for _ in 0..3 {
        assert!(fixture.flutterwave.card(&poor.reference, POOR_CARD));
    }
    assert!(
        !fixture.flutterwave.card(&poor.reference, GOOD_CARD),
        "three cards a page"
    );
    fixture.driver.set_now(PAGE_IS_OVER);
    fixture.flutterwave.set_now(NOW_SECONDS + 31 * 60);
    assert!(
        !fixture.flutterwave.card(&idle.reference, GOOD_CARD),
        "the page is over"
    );
    let ended = fixture.asked(&mut poor).await;
    assert_eq!(
        reason(&ended),
        Some((DeclineReason::InsufficientFunds, false))
    );
    let ended = fixture.asked(&mut idle).await;
    assert_eq!(reason(&ended), Some((DeclineReason::Expired, false)));
    assert_eq!(fixture.flutterwave.books.all().len(), 1);
}

#[tokio::test]
async fn a_bank_transfer_of_another_amount_is_told_as_it_came() {
    let fixture = Fixture::start().await;
    for (at, (sent, told)) in [
        ("999.99", "999.99"),
        ("1000.01", "1000.01"),
        ("1000.00", "1000"),
    ]
    .iter()
    .enumerate()
    {
        let (mut attempt, begun) = fixture.pay(at, "bank_transfer_ng").await;
        let action = PayerAction::Transfer {
            bank: "Mock Bank".into(),
            account: "0067100155".into(),
            name: "Simulated Ltd".into(),
            amount: Amount::decimal("1000", "NGN"),
            fees: None,
            reference: Some("MockFLWRef-1".into()),
            expires: Some("2026-11-20 10:30 UTC".into()),
        };
        assert_eq!(begun.unwrap(), Outcome::awaiting(action));
        assert!(is_open(&fixture.asked(&mut attempt).await));
        assert!(fixture.flutterwave.transfer_in(&attempt.reference, sent));
        let ended = fixture.asked(&mut attempt).await;
        assert_eq!(paid(&ended), Some(&Amount::decimal(*told, "NGN")));
    }
    let (mut idle, _) = fixture.pay(9, "bank_transfer_ng").await;
    fixture.driver.set_now(ACCOUNT_IS_OVER);
    fixture.flutterwave.set_now(NOW_SECONDS + 61 * 60);
    assert!(!fixture.flutterwave.transfer_in(&idle.reference, "1000"));
    let ended = fixture.asked(&mut idle).await;
    assert_eq!(reason(&ended), Some((DeclineReason::Expired, false)));
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_asking_and_nothing_is_sent_twice() {
    let fixture = Fixture::start().await;
    for (at, mishap) in [
        FaultScenario::LoseAnswer,
        FaultScenario::CutAnswer,
        FaultScenario::AnswerInstead(
            500,
            "{\"status\":\"error\",\"message\":\"Insufficient funds\"}".into(),
        ),
        FaultScenario::AnswerInstead(502, "<html>Bad gateway</html>".into()),
        FaultScenario::AnswerInstead(200, String::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let unclear = |called: &Result<Outcome, Fault>| match called {
            Ok(outcome) => matches!(outcome, Outcome::Unknown { .. }),
            Err(fault) => fault.kind == FaultKind::Provider,
        };
        fixture
            .flutterwave
            .mishaps
            .next("POST", "/v3/charges", mishap.clone());
        // The next query gets "not found" at first: that proves nothing.
        fixture.flutterwave.hide_for(1);
        let (mut attempt, called) = fixture.pay(2 * at, "mpesa_ke").await;
        assert!(unclear(&called), "{mishap:?}: {called:?}");
        let first = fixture.asked(&mut attempt).await;
        assert!(
            matches!(first, Outcome::NotFound { .. }),
            "{mishap:?}: {first:?}"
        );
        assert!(
            paid(&fixture.asked(&mut attempt).await).is_some(),
            "{mishap:?}"
        );
        assert_eq!(
            fixture.flutterwave.taken(Kind::Charge, &attempt.reference),
            1
        );
        assert_eq!(fixture.flutterwave.books.times(&attempt.reference), 1);

        fixture
            .flutterwave
            .mishaps
            .next("POST", "/v3/transfers", mishap.clone());
        let (mut attempt, called) = fixture.send(2 * at + 1, "mtn_gh", PAYS).await;
        assert!(unclear(&called), "{mishap:?}: {called:?}");
        assert!(
            paid(&fixture.asked(&mut attempt).await).is_some(),
            "{mishap:?}"
        );
        assert_eq!(fixture.flutterwave.books.times(&attempt.reference), 1);
    }
}

#[tokio::test]
async fn a_lost_link_is_over_when_its_page_is_and_a_question_that_is_lost_leaves_everything_open() {
    let fixture = Fixture::start().await;
    fixture
        .flutterwave
        .mishaps
        .next("POST", "/v3/payments", FaultScenario::LoseAnswer);
    let (mut lost, called) = fixture.pay(1, "card_usd").await;
    assert_eq!(called.unwrap_err().kind, FaultKind::Provider);
    assert!(matches!(
        fixture.asked(&mut lost).await,
        Outcome::NotFound { .. }
    ));
    let late = FaultScenario::Delay(Duration::from_millis(200));
    fixture
        .flutterwave
        .mishaps
        .next("POST", "/v3/payments", late);
    let (mut attempt, begun) = fixture.pay(2, "card_usd").await;
    assert!(is_open(&begun.unwrap()));
    fixture.flutterwave.card(&attempt.reference, GOOD_CARD);
    for mishap in [
        FaultScenario::LoseAnswer,
        FaultScenario::CutAnswer,
        FaultScenario::Refuse(500, "{}".into()),
        FaultScenario::Refuse(404, "<html>".into()),
        FaultScenario::Refuse(404, "{}".into()),
    ] {
        fixture
            .flutterwave
            .mishaps
            .next("GET", "/v3/transactions", mishap.clone());
        let fault = fixture.try_to_ask(&mut attempt).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Provider, "{mishap:?}");
    }
    assert!(paid(&fixture.asked(&mut attempt).await).is_some());
    fixture.driver.set_now(PAGE_IS_OVER);
    let ended = fixture.asked(&mut lost).await;
    assert_eq!(reason(&ended), Some((DeclineReason::Expired, false)));
    assert_eq!(fixture.flutterwave.taken(Kind::Page, &lost.reference), 1);
}

#[tokio::test]
async fn a_final_state_that_comes_late_is_waited_for_and_a_bad_number_fails_for_good() {
    let fixture = Fixture::start().await;
    fixture.flutterwave.settle_after(3);
    let (mut charge, _) = fixture.pay(1, "orange_cm").await;
    let (mut transfer, _) = fixture.send(2, "mtn_gh", PAYS).await;
    for _ in 0..2 {
        assert!(is_open(&fixture.asked(&mut charge).await));
        assert!(is_open(&fixture.asked(&mut transfer).await));
    }
    for attempt in [&mut charge, &mut transfer] {
        assert!(paid(&fixture.asked(attempt).await).is_some());
    }
    fixture.flutterwave.settle_after(0);
    fixture.flutterwave.empty_wallet("KES");
    let (mut refused, _) = fixture
        .pay_from(3, "mtn_gh", &format!("+{BAD_NUMBER}"))
        .await;
    assert!(fixture.flutterwave.go_on(&refused.reference));
    let (mut nobody, _) = fixture.send(4, "mtn_gh", &format!("+{BAD_NUMBER}")).await;
    let (mut broke, _) = fixture.send(5, "mpesa_ke", "0708374149").await;
    for (attempt, why) in [
        (&mut refused, (DeclineReason::PayerDeclined, false)),
        (&mut nobody, (DeclineReason::InvalidAccount, false)),
        (&mut broke, (DeclineReason::MerchantFunds, true)),
    ] {
        let ended = fixture.asked(attempt).await;
        assert_eq!(reason(&ended), Some(why), "{ended:?}");
        assert_eq!(fixture.flutterwave.books.times(&attempt.reference), 0);
    }
}

#[tokio::test]
async fn the_same_transfer_twice_is_one_and_the_second_call_says_what_became_of_it() {
    let fixture = Fixture::start().await;
    let (first, _) = fixture.send(1, "mtn_gh", PAYS).await;
    let (_, again) = fixture.send(1, "mtn_gh", PAYS).await;
    assert!(paid(&again.unwrap()).is_some());
    assert_eq!(
        fixture.flutterwave.taken(Kind::Transfer, &first.reference),
        1
    );
    assert_eq!(fixture.flutterwave.books.times(&first.reference), 1);
}

#[tokio::test]
async fn a_refund_is_never_more_than_was_paid_and_is_followed_to_its_end() {
    let fixture = Fixture::start().await;
    let (paid_by, _) = fixture.pay(1, "card_ghs").await;
    fixture.flutterwave.card(&paid_by.reference, GOOD_CARD);
    let mut refund = Attempt::new(2, "card_ghs", Direction::Collect);
    let ask = |minor| {
        let amount = Money::from_minor(minor, "GHS", 2);
        json!({ "reference": "r-1", "of": paid_by.reference, "method": "card_ghs", "amount": amount })
    };
    let begun: Outcome = fixture
        .driver
        .call(Operation::Refund, &ask(60_050), &mut refund.state)
        .await
        .unwrap();
    assert!(is_open(&begun), "{begun:?}");
    assert_eq!(
        paid(&fixture.asked(&mut refund).await),
        Some(&Amount::decimal("600.5", "GHS"))
    );
    let mut state = Value::Null;
    let too_much: Outcome = fixture
        .driver
        .call(Operation::Refund, &ask(60_050), &mut state)
        .await
        .unwrap();
    assert_eq!(
        reason(&too_much),
        Some((DeclineReason::AmountOutOfRange, false))
    );
}

#[tokio::test]
async fn every_callback_is_a_hint_about_our_reference_and_a_forged_one_is_refused() {
    let fixture = Fixture::start().await;
    let (charge, _) = fixture.pay(1, "mpesa_ke").await;
    fixture.flutterwave.sign();
    let (mut transfer, _) = fixture.send(2, "mtn_gh", PAYS).await;
    fixture.asked(&mut transfer).await;
    for attempt in [&charge, &transfer] {
        let letter = fixture.flutterwave.letters(&attempt.reference).remove(0);
        let mut forged = letter.clone();
        forged
            .headers
            .retain(|(name, _)| name != "flutterwave-signature");
        for (name, value) in &mut forged.headers {
            if name == "verif-hash" {
                value.push('x');
            }
        }
        let hint = CallbackResult::hint().about(&attempt.reference);
        for (letter, is_ours) in [(letter, true), (forged, false)] {
            let mut state = Value::Null;
            let news = letter.as_callback("/callbacks/con_1", None);
            let called = fixture.driver.call(Operation::Callback, &news, &mut state);
            let result: CallbackResult = called.await.unwrap();
            if is_ours {
                assert_eq!(result, hint);
            } else {
                assert!(result.refused.is_some() && result.reference.is_none());
            }
        }
    }
}

#[tokio::test]
async fn the_key_is_checked_without_touching_anything() {
    let fixture = Fixture::start().await;
    let check = async |driver: &Driver<Flutterwave>| -> ConfigCheck {
        let mut state = Value::Null;
        let called = driver.call(Operation::CheckConfig, &Value::Null, &mut state);
        called.await.unwrap()
    };
    assert_eq!(
        check(&fixture.driver).await,
        ConfigCheck::Works { account: None }
    );
    let mut config = fixture.flutterwave.config();
    config["secret_key"] = json!("FLWSECK_TEST-another-X");
    let stranger = Driver::<Flutterwave>::new(config);
    assert!(matches!(
        check(&stranger).await,
        ConfigCheck::Refused { .. }
    ));
    let attempt = Attempt::new(1, "card_usd", Direction::Collect);
    let (ask, mut state) = (attempt.payment(PAYS), Value::Null);
    let called = stranger.call(Operation::Collect, &ask, &mut state);
    let refused: Outcome = called.await.unwrap();
    assert_eq!(reason(&refused), Some((DeclineReason::Misconfigured, true)));
}
