//! Flutterwave's charges and transfers of a span of time: what their fields mean, and pages of the
//! simulator.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use gateway_flutterwave::Flutterwave;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, REFERENCE, answer, no_provider, text_answer};
use switchyard_gateway::wire::{EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Amount, Direction, Fault, FaultKind, List, ListedState, ListedTransaction, Operation, Outcome,
    TransactionPage,
};
use switchyard_testkit::{Driver, NOW_SECONDS};

use simulator::{BAD_NUMBER, Simulator};

const NINE: i64 = NOW_SECONDS - 3_600;
const URL: &str = "https://api.flutterwave.com/v3";
const DIRECTIONS: [(Direction, &str); 2] = [
    (Direction::Collect, "transactions"),
    (Direction::Payout, "transfers"),
];

fn page(
    ask: &List,
    provider: impl FnMut(&HttpRequest) -> Result<HttpResponse, EffectError>,
) -> Result<(TransactionPage, Vec<HttpRequest>), Fault> {
    let call = Call::new(Operation::List).config(json!({ "secret_key": "FLWSECK_TEST-k-X" }));
    let end = call
        .input(ask)
        .run_as::<Flutterwave, TransactionPage>(provider)?;
    Ok((end.outcome, end.requests))
}

/// The answer with these rows, of so many pages.
fn rows(rows: &Value, pages: u32) -> Value {
    let info = json!({ "total": 1, "current_page": 1, "total_pages": pages });
    json!({ "status": "success", "message": "ok", "meta": { "page_info": info }, "data": rows })
}

fn row(status: &str, at: &str) -> Value {
    json!({
        "id": 7, "tx_ref": REFERENCE, "reference": REFERENCE, "amount": 25.5, "currency": "GHS",
        "status": status, "created_at": at,
    })
}

#[test]
fn a_row_is_listed_with_its_reference_its_id_its_amount_and_its_state() {
    use Direction::{Collect, Payout};
    for (direction, status, state) in [
        (Collect, "successful", ListedState::Succeeded),
        (Collect, "failed", ListedState::Failed),
        (Collect, "pending", ListedState::Pending),
        (Collect, "new word", ListedState::Pending),
        (Payout, "SUCCESSFUL", ListedState::Succeeded),
        (Payout, "FAILED", ListedState::Failed),
        (Payout, "REVERSED", ListedState::Failed),
        (Payout, "NEW", ListedState::Pending),
        (Payout, "PENDING", ListedState::Pending),
        (Payout, "new word", ListedState::Pending),
    ] {
        let ask = testing::list(direction);
        let data = rows(&json!([row(status, "2026-11-20T09:30:00.000Z")]), 1);
        let (page, requests) = page(&ask, |_| answer(200, data.clone())).unwrap();
        assert_eq!(page.check(&ask), Ok(()));
        let listed = ListedTransaction {
            reference: Some(REFERENCE.into()),
            provider_id: Some("7".into()),
            amount: Some(Amount::decimal("25.5", "GHS")),
            created_at: "2026-11-20T09:30:00.000Z".into(),
            state,
        };
        assert_eq!(page.transactions, [listed], "{status}");
        assert_eq!((page.next, requests.len()), (None, 1));
        assert!(!requests[0].can_mutate());
    }
}

#[test]
fn rows_of_the_day_that_are_outside_of_the_span_are_left_out() {
    for (at, is_listed) in [
        ("2026-11-20T08:59:59.999Z", false),
        ("2026-11-20T09:00:00.000Z", true),
        ("2026-11-20T09:59:59.999Z", true),
        ("2026-11-20T10:00:00.000Z", false),
    ] {
        let data = rows(&json!([row("successful", at)]), 1);
        let ask = testing::list(Direction::Collect);
        let (page, _) = page(&ask, |_| answer(200, data.clone())).unwrap();
        assert_eq!(page.transactions.len() == 1, is_listed, "{at}");
    }
}

#[test]
fn the_days_that_are_asked_for_contain_the_span_in_utc_and_in_lagos() {
    for (from, until, days) in [
        (
            "2026-11-20T09:00:00Z",
            "2026-11-20T10:00:00Z",
            "from=2026-11-20&to=2026-11-20",
        ),
        (
            "2026-11-20T23:30:00Z",
            "2026-11-20T23:45:00Z",
            "from=2026-11-20&to=2026-11-21",
        ),
        (
            "2026-12-31T22:00:00Z",
            "2027-01-01T00:30:00Z",
            "from=2026-12-31&to=2027-01-01",
        ),
    ] {
        for (direction, path) in DIRECTIONS {
            let ask = List {
                direction,
                from: from.into(),
                until: until.into(),
                cursor: None,
            };
            let none = rows(&json!([]), 0);
            let (page, requests) = page(&ask, |_| answer(200, none.clone())).unwrap();
            assert_eq!(page, TransactionPage::default());
            let url = format!("{URL}/{path}?{days}&page=1");
            assert_eq!(requests[0].url, url);
        }
    }
}

#[test]
fn ten_pages_are_one_of_ours_and_a_broken_cursor_never_leaves() {
    let mut ask = testing::list(Direction::Collect);
    let data = rows(&json!([row("successful", "2026-11-20T09:30:00.000Z")]), 12);
    for (cursor, next, requests) in [(None, Some("11"), 10), (Some("11"), None, 2)] {
        ask.cursor = cursor.map(str::to_owned);
        let (page, sent) = page(&ask, |_| answer(200, data.clone())).unwrap();
        assert_eq!(page.next.as_deref(), next);
        assert_eq!((page.transactions.len(), sent.len()), (requests, requests));
    }
    for cursor in ["", "0", "-1", "1&to=2020-01-01", "99999999999"] {
        ask.cursor = Some(cursor.into());
        let fault = page(&ask, no_provider).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Message, "{cursor}");
    }
}

#[test]
fn trouble_is_a_fault_and_never_a_short_list() {
    let no_pages = json!({ "status": "success", "message": "ok", "meta": [], "data": [] });
    let error = json!({ "status": "error", "message": "no", "data": null });
    for (answered, kind) in [
        (answer(200, no_pages), FaultKind::Provider),
        (
            answer(200, rows(&json!([row("failed", "20 November")]), 1)),
            FaultKind::Provider,
        ),
        (
            answer(200, rows(&json!([{ "id": 7 }]), 1)),
            FaultKind::Provider,
        ),
        (answer(401, error.clone()), FaultKind::Config),
        (answer(404, error.clone()), FaultKind::Provider),
        (answer(500, error), FaultKind::Provider),
        (text_answer(200, "<html>"), FaultKind::Provider),
    ] {
        for (direction, _) in DIRECTIONS {
            let said = format!("{answered:?}");
            let ask = testing::list(direction);
            let fault = page(&ask, |_| answered.clone()).unwrap_err();
            assert_eq!(fault.kind, kind, "{said}");
        }
    }
}

#[tokio::test]
async fn all_payments_and_payouts_of_the_span_are_listed_once_page_by_page() {
    let flutterwave = Simulator::start(NINE - 1).await;
    let driver = Driver::<Flutterwave>::new(flutterwave.config());
    let make = async |number: usize| {
        let name = |kind: u8| format!("7d3f0c9e-5b1a-4a52-9d6e-{kind}{number:011}");
        let mut ask = testing::collect("mpesa_ke", 100_000, "KES", 2);
        ask.reference = name(1);
        let to = if number == 7 {
            BAD_NUMBER
        } else {
            "0551234987"
        };
        ask.fields = [("msisdn", "0712345678")].into();
        let mut state = Value::Null;
        let made = driver.call::<Outcome>(Operation::Collect, &ask, &mut state);
        made.await.unwrap();
        let mut payout = testing::payout("mtn_gh", 5_050, "GHS", 2);
        payout.reference = name(2);
        payout.recipient = [("msisdn", to)].into();
        let mut state = Value::Null;
        let made = driver.call::<Outcome>(Operation::Payout, &payout, &mut state);
        made.await.unwrap();
        [name(1), name(2)]
    };
    make(0).await;
    let mut expected = Vec::new();
    for number in 1..=115 {
        flutterwave.set_now(NINE + i64::try_from(number).unwrap());
        expected.push(make(number).await);
    }
    flutterwave.set_now(NOW_SECONDS);
    make(116).await;
    for (kind, (direction, _)) in DIRECTIONS.into_iter().enumerate() {
        let (listed, pages) = driver.list(testing::list(direction)).await.unwrap();
        assert_eq!(pages, 2);
        let mut references: Vec<_> = listed
            .iter()
            .filter_map(|it| it.reference.clone())
            .collect();
        references.reverse();
        let made: Vec<_> = expected.iter().map(|both| both[kind].clone()).collect();
        assert_eq!(references, made);
        assert_eq!(
            listed.last().unwrap().created_at,
            "2026-11-20T09:00:01.000Z"
        );
    }
}
