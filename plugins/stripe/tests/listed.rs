//! Stripe's sessions of a span of time: what their fields mean, and pages of the simulator.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use gateway_stripe::Stripe;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, REFERENCE, answer, no_provider, text_answer};
use switchyard_gateway::wire::{EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Amount, Direction, Fault, FaultKind, List, ListedState, ListedTransaction, Operation, Outcome,
    TransactionPage,
};
use switchyard_testkit::{Driver, NOW_SECONDS};

use simulator::Simulator;

const NINE: i64 = NOW_SECONDS - 3_600;
const SESSIONS: &str = "https://api.stripe.com/v1/checkout/sessions?limit=100\
    &created%5Bgte%5D=1795165200&created%5Blt%5D=1795168800&expand%5B%5D=data.payment_intent";

fn page(
    ask: &List,
    provider: impl FnMut(&HttpRequest) -> Result<HttpResponse, EffectError>,
) -> Result<(TransactionPage, Vec<HttpRequest>), Fault> {
    let call = Call::new(Operation::List).config(json!({ "secret_key": "sk_test_x" }));
    let end = call
        .input(ask)
        .run_as::<Stripe, TransactionPage>(provider)?;
    Ok((end.outcome, end.requests))
}

fn session(change: Value) -> Value {
    let mut session = json!({
        "id": "cs_test_1", "status": "complete", "payment_status": "paid", "created": NINE,
        "amount_total": 2_550, "currency": "usd", "payment_intent": { "id": "pi_1" },
        "metadata": { "switchyard_reference": REFERENCE },
    });
    let fields = session.as_object_mut().unwrap();
    fields.extend(change.as_object().unwrap().clone());
    session
}

#[test]
fn a_session_is_listed_with_its_reference_its_id_its_amount_and_its_state() {
    let paid = ListedTransaction {
        reference: Some(REFERENCE.into()),
        provider_id: Some("cs_test_1".into()),
        amount: Some(Amount::decimal("25.50", "USD")),
        created_at: "2026-11-20T09:00:00Z".into(),
        state: ListedState::Succeeded,
    };
    let state = |state| ListedTransaction {
        state,
        ..paid.clone()
    };
    let open = json!({ "status": "open", "payment_status": "unpaid", "payment_intent": null });
    let behind = |status: &str| {
        let intent = json!({ "id": "pi_1", "status": status });
        json!({ "payment_status": "unpaid", "payment_intent": intent })
    };
    let (later, late_failure) = (behind("processing"), behind("canceled"));
    for (change, listed) in [
        (json!({}), Some(paid.clone())),
        (open, Some(state(ListedState::Pending))),
        (later, Some(state(ListedState::Pending))),
        (late_failure, Some(state(ListedState::Failed))),
        (
            json!({ "status": "expired", "payment_status": "unpaid" }),
            Some(state(ListedState::Failed)),
        ),
        (
            json!({ "status": "new word", "payment_status": "unpaid" }),
            Some(state(ListedState::Pending)),
        ),
        (
            json!({ "currency": "eur" }),
            Some(ListedTransaction {
                amount: None,
                ..paid.clone()
            }),
        ),
        (json!({ "metadata": {} }), None),
        (json!({ "metadata": null }), None),
    ] {
        let data = json!({ "data": [session(change.clone())], "has_more": false });
        let ask = testing::list(Direction::Collect);
        let (page, requests) = page(&ask, |_| answer(200, data.clone())).unwrap();
        assert_eq!(page.check(&ask), Ok(()));
        let expected: Vec<_> = listed.into_iter().collect();
        assert_eq!(page.transactions, expected, "{change}");
        assert_eq!(page.next, None);
        let urls: Vec<_> = requests.iter().map(|request| &*request.url).collect();
        assert_eq!(urls, [SESSIONS]);
        assert!(!requests[0].can_mutate());
    }
}

#[test]
fn the_next_page_begins_behind_the_last_session_even_if_that_is_none_of_ours() {
    let other = session(json!({ "id": "cs_test_2", "metadata": {} }));
    let data = json!({ "data": [session(json!({})), other], "has_more": true });
    let mut ask = testing::list(Direction::Collect);
    let (first, _) = page(&ask, |_| answer(200, data.clone())).unwrap();
    assert_eq!(first.next.as_deref(), Some("cs_test_2"));
    ask.cursor = first.next;
    let last = json!({ "data": [], "has_more": false });
    let (second, requests) = page(&ask, |_| answer(200, last.clone())).unwrap();
    assert_eq!(second, TransactionPage::default());
    let url = format!("{SESSIONS}&starting_after=cs_test_2");
    assert_eq!(requests[0].url, url);
}

#[test]
fn no_payouts_are_listed_and_a_broken_cursor_never_leaves() {
    let payouts = testing::list(Direction::Payout);
    let (page_of_payouts, _) = page(&payouts, no_provider).unwrap();
    assert_eq!(page_of_payouts, TransactionPage::default());
    for cursor in ["", "pi_1", "cs_1&limit=1", "cs_1/expire"] {
        let mut ask = testing::list(Direction::Collect);
        ask.cursor = Some(cursor.into());
        let fault = page(&ask, no_provider).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Message, "{cursor}");
    }
}

#[test]
fn trouble_is_a_fault_and_never_a_short_list() {
    let timeless = json!({ "data": [session(json!({ "created": null }))], "has_more": false });
    let refusal = json!({ "error": { "type": "invalid_request_error", "message": "No." } });
    for (answered, kind) in [
        (answer(200, timeless), FaultKind::Provider),
        (answer(401, refusal.clone()), FaultKind::Config),
        (answer(404, refusal), FaultKind::Provider),
        (answer(500, json!({})), FaultKind::Provider),
        (text_answer(200, "<html>"), FaultKind::Provider),
    ] {
        let said = format!("{answered:?}");
        let ask = testing::list(Direction::Collect);
        let fault = page(&ask, |_| answered.clone()).unwrap_err();
        assert_eq!(fault.kind, kind, "{said}");
    }
}

#[tokio::test]
async fn all_sessions_of_the_span_are_listed_once_page_by_page() {
    let stripe = Simulator::start(NINE - 1).await;
    let driver = Driver::<Stripe>::new(stripe.config());
    let open = async |number: usize| -> String {
        let mut ask = testing::collect("card_usd", 2_550, "USD", 2);
        ask.reference = format!("7d3f0c9e-5b1a-4a52-9d6e-{number:012}");
        let mut state = Value::Null;
        let opened = driver.call::<Outcome>(Operation::Collect, &ask, &mut state);
        opened.await.unwrap();
        ask.reference
    };
    open(0).await;
    let mut expected = Vec::new();
    for number in 1..=250 {
        stripe.set_now(NINE + i64::try_from(number).unwrap());
        expected.push(open(number).await);
    }
    stripe.set_now(NOW_SECONDS);
    open(251).await;
    let paid = stripe.session_of(&expected[7]).unwrap();
    stripe.pay(&paid.id, "4242424242424242");

    let (listed, pages) = driver
        .list(testing::list(Direction::Collect))
        .await
        .unwrap();
    assert_eq!(pages, 3);
    let mut references: Vec<_> = listed
        .iter()
        .filter_map(|it| it.reference.clone())
        .collect();
    references.reverse();
    assert_eq!(references, expected);
    let is_paid = |it: &&ListedTransaction| it.state == ListedState::Succeeded;
    let succeeded: Vec<_> = listed.iter().filter(is_paid).collect();
    assert_eq!(succeeded.len(), 1);
    assert_eq!(succeeded[0].provider_id, Some(paid.id));
    assert_eq!(succeeded[0].created_at, "2026-11-20T09:00:08Z");
}
