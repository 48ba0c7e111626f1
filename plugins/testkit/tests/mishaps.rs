//! Faults of the testkit change responses, and never the simulator's ledger.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::time::Duration;

use axum::Router;
use axum::routing::post;
use switchyard_testkit::{
    FaultScenario, Ledger, LedgerEntry, Loopback, Mishaps, ProviderCallback, client,
};

const ANSWER: &str = "{\"status\":\"ACCEPTED\"}";

async fn provider(mishaps: &Mishaps, books: &Ledger) -> Loopback {
    let books = books.clone();
    let charge = move |reference: String| async move {
        books.write(LedgerEntry {
            reference,
            account: "22951345789".into(),
            amount: "1000".into(),
            currency: "XOF".into(),
        });
        ANSWER
    };
    let router = Router::new().route("/charges", post(charge));
    Loopback::serve(mishaps.before(router)).await.unwrap()
}

#[tokio::test]
async fn a_mishap_meets_one_request_and_only_a_refused_one_moves_no_money() {
    let (mishaps, books) = (Mishaps::default(), Ledger::default());
    let provider = provider(&mishaps, &books).await;
    let url = format!("{}/charges", provider.url);
    let http = client();
    let charge = async |reference: &str| http.post(&url).body(reference.to_owned()).send().await;
    for mishap in [
        FaultScenario::LoseAnswer,
        FaultScenario::AnswerInstead(500, "<html>".into()),
        FaultScenario::Refuse(429, "slow down".into()),
        FaultScenario::CutAnswer,
        FaultScenario::Delay(Duration::from_millis(30)),
    ] {
        mishaps.next("POST", "/charges", mishap);
    }
    assert!(charge("lost").await.is_err());
    assert_eq!(charge("hidden").await.unwrap().status(), 500);
    assert_eq!(charge("refused").await.unwrap().status(), 429);
    let cut = charge("cut").await.unwrap().text().await.unwrap();
    assert_eq!(cut, ANSWER[..ANSWER.len() / 2]);
    let since = tokio::time::Instant::now();
    assert_eq!(charge("late").await.unwrap().status(), 200);
    assert!(since.elapsed() >= Duration::from_millis(30));
    assert_eq!(
        charge("well").await.unwrap().text().await.unwrap(),
        ANSWER,
        "no mishap is left"
    );
    for (reference, times) in [
        ("lost", 1),
        ("hidden", 1),
        ("refused", 0),
        ("cut", 1),
        ("late", 1),
        ("well", 1),
    ] {
        assert_eq!(books.times(reference), times, "{reference}");
    }
    assert_eq!(books.times_of_account("22951345789"), books.all().len());
}

#[tokio::test]
async fn a_letter_arrives_as_it_was_written() {
    let (mishaps, books) = (Mishaps::default(), Ledger::default());
    let provider = provider(&mishaps, &books).await;
    let letter = ProviderCallback {
        method: "POST".into(),
        headers: vec![("x-signature".into(), "abc".into())],
        body: "news".into(),
    };
    let status = letter.post(&format!("{}/charges", provider.url)).await;
    assert_eq!(status.unwrap(), 200);
    assert_eq!(books.times("news"), 1);
    let callback = letter.as_callback("/callbacks/con_1", Some("https://pay.example.com"));
    assert_eq!(callback.header("X-Signature"), Some("abc"));
}
