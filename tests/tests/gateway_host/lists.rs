//! Lists of a provider's transactions: page by page, within limits, and never with a secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::limits::{GATEWAY_TEXT_BYTES, LIST_PAGES, LIST_TRANSACTIONS};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;
use switchyard_gateway_host::{ChangeAuthor, ListedState, Listing, ListingCall};
use switchyard_tests::misbehaving_gateway;

use crate::fixture::{Fixture, KEY, REFERENCE};

const AT: &str = "2026-11-20T09:30:00Z";

/// A provider that answers each question with what `page` says, and counts the questions.
async fn provider(
    page: impl Fn(&Value) -> Result<Value, StatusCode> + Clone + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answer = async move |Json(ask): Json<Value>| -> Response {
        count.fetch_add(1, Ordering::SeqCst);
        match page(&ask) {
            Ok(page) => Json(page).into_response(),
            Err(status) => status.into_response(),
        }
    };
    let routes = axum::Router::new().route("/list", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (url, asked)
}

async fn listed(url: &str) -> Result<Listing, String> {
    listed_with(url, KEY).await
}

async fn listed_with(url: &str, key: &str) -> Result<Listing, String> {
    let fixture = Fixture::new();
    let gateway = fixture.gateways.add(&misbehaving_gateway()).await.unwrap();
    let call = ListingCall {
        gateway,
        environment: Environment::Sandbox,
        config: json!({ "url": url, "key": key }),
        from: Timestamp::parse("2026-11-20T09:00:00Z").unwrap(),
        until: Timestamp::parse("2026-11-20T10:00:00Z").unwrap(),
    };
    fixture.gateways.list_transactions(&call).await
}

/// The transactions with these ids.
fn with_ids(ids: impl IntoIterator<Item = usize>) -> Vec<Value> {
    let one =
        |id: usize| json!({ "provider_id": id.to_string(), "created_at": AT, "state": "pending" });
    ids.into_iter().map(one).collect()
}

fn number(ask: &Value) -> usize {
    let cursor = ask["cursor"].as_str().unwrap_or("0");
    cursor.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_of_payments_and_payouts_are_read_and_each_transaction_is_there_once() {
    let (url, asked) = provider(|ask| {
        if ask["direction"] == "payout" {
            let amount = json!({ "currency": "USD", "decimal": "25.00" });
            let one = json!({
                "reference": REFERENCE, "amount": amount, "created_at": AT, "state": "succeeded",
            });
            return Ok(json!({ "transactions": [one] }));
        }
        // The third one has moved to the second page before that is read.
        Ok(match number(ask) {
            0 => json!({ "transactions": with_ids(1..4), "next": "1" }),
            1 => json!({ "transactions": [], "next": "2" }),
            _ => json!({ "transactions": with_ids(3..6) }),
        })
    })
    .await;
    let listing = listed(&url).await.unwrap();
    assert_eq!(
        (listing.incomplete, asked.load(Ordering::SeqCst)),
        (None, 4)
    );
    let ids = listing.transactions.iter();
    let ids: Vec<_> = ids.filter_map(|it| it.provider_id.as_deref()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    let payout = listing.transactions.last().unwrap();
    assert_eq!(payout.kind, Kind::Payout);
    assert_eq!(payout.reference.as_deref(), Some(REFERENCE));
    assert_eq!(payout.amount.map(|amount| amount.minor()), Some(2_500));
    assert_eq!(payout.state, ListedState::Succeeded);
    assert_eq!(payout.created_at.to_string(), "2026-11-20T09:30:00.000000Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_an_end_is_incomplete_after_the_limits() {
    let (url, asked) = provider(|ask| {
        let next = number(ask) + 1;
        Ok(json!({ "transactions": with_ids([next]), "next": next.to_string() }))
    })
    .await;
    let listing = listed(&url).await.unwrap();
    let why = listing.incomplete.unwrap();
    assert!(why.contains(&format!("{LIST_PAGES} pages")), "{why}");
    assert_eq!(listing.transactions.len(), 2 * LIST_PAGES);
    assert_eq!(asked.load(Ordering::SeqCst), 2 * LIST_PAGES);

    let (url, _) = provider(|ask| {
        let next = number(ask) + 1;
        let ids = next * 1_000..next * 1_000 + 1_000;
        let is_payment = ask["direction"] == "collect";
        let page = json!({ "transactions": with_ids(ids), "next": next.to_string() });
        Ok(if is_payment {
            page
        } else {
            json!({ "transactions": [] })
        })
    })
    .await;
    let listing = listed(&url).await.unwrap();
    let why = listing.incomplete.unwrap();
    let limit = format!("{LIST_TRANSACTIONS} transactions");
    assert!(why.contains(&limit), "{why}");
    assert_eq!(listing.transactions.len(), LIST_TRANSACTIONS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_breaks_the_contract_ends_the_list_and_what_was_read_before_is_kept() {
    let outside =
        json!({ "provider_id": "1", "created_at": "2026-11-20T10:00:00Z", "state": "failed" });
    let nameless = json!({ "provider_id": " ", "created_at": AT, "state": "failed" });
    let bad_state = json!({ "provider_id": "1", "created_at": AT, "state": "perhaps" });
    for (bad, why) in [
        (json!({ "transactions": [outside] }), "outside of the span"),
        (json!({ "transactions": [nameless] }), "neither a reference"),
        (json!({ "transactions": [bad_state] }), "list"),
        (
            json!({ "transactions": with_ids(0..1_001) }),
            "more than 1000",
        ),
        (json!({ "transactions": [], "next": "" }), "a cursor"),
        (
            json!({ "transactions": [], "next": "x".repeat(1_001) }),
            "a cursor",
        ),
        (json!({ "transactions": [], "next": "1" }), "itself"),
        (json!({ "transactions": {} }), "list"),
        (json!("no page"), "list"),
    ] {
        let later = bad.clone();
        let (url, _) = provider(move |ask| {
            Ok(match number(ask) {
                0 => json!({ "transactions": with_ids([7]), "next": "1" }),
                _ => later.clone(),
            })
        })
        .await;
        let listing = listed(&url).await.unwrap();
        let incomplete = listing.incomplete.unwrap();
        assert!(incomplete.contains(why), "{bad}: {incomplete}");
        assert_eq!(listing.transactions.len(), 2, "a payment and a payout");
    }
    let broken = || Ok(json!({ "transactions": with_ids(0..1_001) }));
    let (url, _) = provider(move |_| broken()).await;
    let failed = listed(&url).await.unwrap_err();
    assert!(failed.contains("more than 1000"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_a_provider_are_cut_and_show_no_secret() {
    let long = "x".repeat(10 * GATEWAY_TEXT_BYTES);
    let (url, _) = provider(move |_| {
        let amount = json!({ "currency": "USD", "minor": -5 });
        let one = json!({
            "reference": format!("a\u{1b}[2J {KEY}"), "provider_id": long, "amount": amount,
            "created_at": AT, "state": "failed",
        });
        Ok(json!({ "transactions": [one] }))
    })
    .await;
    let listing = listed(&url).await.unwrap();
    let one = &listing.transactions[0];
    let hash = "#0123456789abcdef";
    let reference = one.reference.as_deref().unwrap();
    assert!(reference.starts_with("a [2J ***#"), "{reference}");
    assert_eq!(reference.len(), "a [2J ***".len() + hash.len());
    let id = one.provider_id.as_ref().unwrap();
    let most = GATEWAY_TEXT_BYTES + '…'.len_utf8() + hash.len();
    assert!(id.len() <= most, "{id}");
    assert_eq!(one.amount, None, "it is not plausible");

    let (url, _) = provider(|_| Err(StatusCode::BAD_GATEWAY)).await;
    let failed = listed(&url).await.unwrap_err();
    assert!(failed.contains("gateway misbehaving, list"), "{failed}");
    assert!(!failed.contains(KEY), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_list_that_could_move_money_never_leaves() {
    let (url, asked) = provider(|_| Ok(json!({ "transactions": [] }))).await;
    let failed = listed_with(&url, "writes").await.unwrap_err();
    assert!(failed.contains("gateway misbehaving, list"), "{failed}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_in_quarantine_lists_nothing() {
    let fixture = Fixture::new();
    let gateway = fixture.gateways.add(&misbehaving_gateway()).await.unwrap();
    let (url, asked) = provider(|_| Ok(json!({ "transactions": [] }))).await;
    let by = ChangeAuthor::new("ada");
    let quarantined = fixture.gateways.quarantine("misbehaving", None, &by).await;
    quarantined.unwrap();
    let call = ListingCall {
        gateway,
        environment: Environment::Sandbox,
        config: json!({ "url": url, "key": KEY }),
        from: Timestamp::from_seconds(0),
        until: Timestamp::from_seconds(1),
    };
    let refused = fixture.gateways.list_transactions(&call).await.unwrap_err();
    assert!(refused.contains("quarantine"), "{refused}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}
