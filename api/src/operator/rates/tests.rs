//! Held rates over the operator API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::operator::tests::World;

#[tokio::test]
async fn a_held_rate_is_listed_and_used_once_an_operator_accepts_what_they_saw() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // The CFA franc contradicts its peg to the euro, 655.957.
    let answer = r#"{"base":"EUR","rates":{"USD":1.08,"XOF":1,"GHS":0,"KES":null}}"#;
    let feed = Router::new().fallback(get(move || async move { answer }));
    tokio::spawn(async move { axum::serve(listener, feed).await });
    let world = World::with_feed(Some(url.parse().unwrap())).await;

    let fetched = world.done("POST", "/rates/fetch", json!({})).await;
    assert_eq!(fetched, json!({ "rates": 1, "held": 1, "unusable": 2 }));
    let held = world.get("/rates/held").await;
    assert_eq!(held.as_array().map(Vec::len), Some(3), "{held}");
    let of = |name: &str| held[0][name].as_str().unwrap().to_owned();
    assert_eq!((of("from"), of("to")), ("EUR".to_owned(), "XOF".to_owned()));
    assert_eq!(
        (of("rate"), of("expected")),
        ("1".to_owned(), "655.957".to_owned())
    );
    assert_eq!(
        (of("reason"), of("state")),
        ("contradicts_peg".to_owned(), "held".to_owned())
    );

    assert_eq!(of("pegged_to"), "EUR");

    let path = "/rates/held/EUR/XOF";
    let other = world
        .refused("POST", &format!("{path}/accept"), json!({ "rate": "2" }))
        .await;
    assert_eq!(other, (409, "resource_changed".to_owned()));
    let rejected = world
        .done("POST", &format!("{path}/reject"), json!({ "rate": "1" }))
        .await;
    assert_eq!(rejected["state"], "rejected");
    let accepted = world
        .done("POST", &format!("{path}/accept"), json!({ "rate": "1" }))
        .await;
    assert_eq!(
        (&accepted["rate"], &accepted["source"]),
        (&json!("1"), &json!("feed"))
    );
    assert_eq!(world.get("/rates/held").await.as_array().unwrap().len(), 2);
    let none = world
        .refused("POST", &format!("{path}/reject"), json!({ "rate": "1" }))
        .await;
    assert_eq!(none, (404, "resource_not_found".to_owned()));
    let rates = world.get("/rates").await;
    let is_feed = |rate: &&Value| rate["source"] == "feed";
    assert_eq!(rates.as_array().unwrap().iter().filter(is_feed).count(), 2);
}

#[tokio::test]
async fn a_value_that_is_no_rate_is_listed_with_the_rate_that_stays_in_use() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let is_later = Arc::new(AtomicBool::new(false));
    let later = is_later.clone();
    let feed = Router::new().fallback(get(move || {
        let answer = match later.load(Ordering::SeqCst) {
            false => r#"{"base":"EUR","rates":{"USD":1.08,"GHS":-16.5}}"#,
            true => r#"{"base":"EUR","rates":{"USD":1e-30,"GHS":16.5}}"#,
        };
        async move { answer }
    }));
    tokio::spawn(async move { axum::serve(listener, feed).await });
    let world = World::with_feed(Some(url.parse().unwrap())).await;
    for (to, sent, expected) in [
        ("GHS", "-16.5", Value::Null),
        ("USD", "1e-30", json!("1.08")),
    ] {
        let fetched = world.done("POST", "/rates/fetch", json!({})).await;
        assert_eq!(fetched, json!({ "rates": 1, "held": 0, "unusable": 1 }));
        let held = world.get("/rates/held").await;
        assert_eq!(held.as_array().map(Vec::len), Some(1), "{held}");
        let found = |name: &str| &held[0][name];
        assert_eq!((found("to"), found("rate")), (&json!(to), &json!(sent)));
        assert_eq!(found("expected"), &expected);
        assert_eq!(found("reason"), "not_a_rate");
        assert_eq!(found("state"), "unusable");
        let path = format!("/rates/held/EUR/{to}/accept");
        let accepted = world.refused("POST", &path, json!({ "rate": "1" })).await;
        assert_eq!(accepted, (404, "resource_not_found".to_owned()));
        is_later.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_rate_that_takes_the_place_of_a_fixed_one_says_so() {
    let world = World::with_feed(None).await;
    for (from, to, rate, fixed) in [
        ("EUR", "XOF", "655", json!("1 EUR = 655.957 XOF")),
        ("XOF", "EUR", "0.0015", json!("1 EUR = 655.957 XOF")),
        ("EUR", "USD", "1.08", Value::Null),
    ] {
        let new = json!({ "from": from, "to": to, "rate": rate });
        let set = world.done("PUT", "/rates", new).await;
        assert_eq!(set["instead_of_fixed"], fixed, "{from} {to}");
    }
}
