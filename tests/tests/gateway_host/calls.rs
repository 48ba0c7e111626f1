//! Calls: outcomes, effects, the journal, and the money rule.

use std::sync::Arc;

use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{Captured, DeclineReason, Outcome};
use switchyard_gateway_host::{
    ConfigCheck, Direction, Operation, ProviderCall, Recovered, Stage, Version, provider_calls,
    recovered_state,
};
use switchyard_tests::{demo_gateway, misbehaving_gateway};

use crate::fixture::{Fixture, KEY, REFERENCE, Try, collection};
use crate::provider::{Provider, hangs_up, nobody};

async fn misbehaving(bench: &Fixture) -> Arc<Version> {
    bench.gateways.add(&misbehaving_gateway()).await.unwrap()
}

/// The one word of an outcome.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded { .. } => "succeeded",
        Outcome::Declined(_) => "declined",
        Outcome::NotSent { .. } => "not sent",
        Outcome::Pending { .. } => "pending",
        Outcome::Unknown { .. } => "unknown",
    }
}

fn why(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::NotSent { why } | Outcome::Unknown { why, .. } => why,
        other => panic!("an outcome was reached: {other:?}"),
    }
}

#[tokio::test]
async fn the_test_gateway_serves_payments_payouts_and_queries_and_writes_nothing() {
    let bench = Fixture::new();
    let demo = bench.gateways.add(&demo_gateway()).await.unwrap();
    assert_eq!(demo.name(), "switchyard_demo");
    assert_eq!(demo.manifest.title, "Switchyard Test Gateway");
    let before = bench.store.stats().commits;
    for (number, payment, payout) in [
        ("+1 (414) 951-8161", "succeeded", "succeeded"),
        ("4149518162", "pending", "declined"),
        ("4149518163", "declined", "pending"),
    ] {
        let of = bench.attempt();
        let mut input = collection("");
        input["fields"] = json!({ "msisdn": number });
        input["recipient"] = json!({ "account_number": number });
        let collect = bench.call(&demo, of, Operation::Collect, json!({}), input.clone());
        let end = bench.gateways.call(collect).await;
        assert_eq!(word(&end.outcome), payment, "{number}: {:?}", end.outcome);
        input["direction"] = json!("collect");
        let mut query = bench.call(&demo, of, Operation::Query, json!({}), input.clone());
        query.state = end.state;
        assert_eq!(
            word(&bench.gateways.call(query).await.outcome),
            payment,
            "{number}, asked again"
        );
        let payout_call = bench.call(&demo, bench.attempt(), Operation::Payout, json!({}), input);
        let end = bench.gateways.call(payout_call).await;
        assert_eq!(word(&end.outcome), payout, "{number}: {:?}", end.outcome);
    }
    assert_eq!(
        bench.store.stats().commits,
        before,
        "a call without requests writes nothing"
    );
}

#[tokio::test]
async fn the_test_gateway_has_the_installations_own_demo_methods_and_serves_every_other() {
    let bench = Fixture::new();
    let demo = bench.gateways.add(&demo_gateway()).await.unwrap();
    assert!(
        demo.method(Direction::Collect, "switchyard_payment_demo")
            .is_some()
    );
    assert!(
        demo.method(Direction::Payout, "switchyard_payout_demo")
            .is_some()
    );
    assert!(demo.serves(Direction::Payout, "mtn_bj"));
    let misbehaving = misbehaving(&bench).await;
    assert!(misbehaving.serves(Direction::Collect, "card_usd"));
    assert!(!misbehaving.serves(Direction::Collect, "mtn_bj"));
    assert!(!misbehaving.serves(Direction::Payout, "card_usd"));
    let usd = Currency::from_code("USD").unwrap();
    for (minor, fits) in [(99, false), (100, true), (50_000, true), (50_001, false)] {
        let amount = Amount::from_minor(minor, usd);
        assert_eq!(
            misbehaving.takes(Direction::Collect, "card_usd", amount),
            fits,
            "{minor}"
        );
    }
}

#[tokio::test]
async fn a_fault_before_the_first_write_is_not_sent() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    for what in [
        "panic",
        "panic bomb",
        "stall",
        "never",
        "never bomb",
        "elsewhere",
        "effects",
        "read and fail",
        "talk",
    ] {
        let of = bench.attempt();
        let end = bench
            .collect(&gateway, of, &provider.in_mood("ok"), what)
            .await;
        assert_eq!(word(&end.outcome), "not sent", "{what}: {:?}", end.outcome);
        assert_eq!(bench.recovered(of).await, Recovered::NothingSent, "{what}");
        assert!(
            !why(&end.outcome).contains(KEY),
            "{what}: {:?}",
            end.outcome
        );
    }
    assert_eq!(
        provider.count(),
        1,
        "only the one that reads has asked the provider"
    );
}

#[tokio::test]
async fn a_fault_after_the_first_write_is_unknown() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let cases = [
        ("ok", "write and panic"),
        ("ok", "write and fail"),
        ("ok", "write and never"),
        ("silent", "write"),
        ("huge", "write"),
    ];
    for (mood, what) in cases {
        let of = bench.attempt();
        let end = bench
            .collect(&gateway, of, &provider.in_mood(mood), what)
            .await;
        assert_eq!(
            word(&end.outcome),
            "unknown",
            "{mood}, {what}: {:?}",
            end.outcome
        );
        assert_eq!(
            bench.recovered(of).await,
            Recovered::MaybeSent,
            "{mood}, {what}"
        );
    }
    assert_eq!(provider.count(), cases.len());
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_got_nothing() {
    let bench = Fixture::new();
    let gateway = misbehaving(&bench).await;
    let of = bench.attempt();
    let end = bench.collect(&gateway, of, &nobody().await, "write").await;
    assert_eq!(word(&end.outcome), "not sent", "{:?}", end.outcome);
    let rows = bench.provider_calls(of).await;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].stage, rows[0].mutates), (Stage::NotSent, true));
    assert_eq!(bench.recovered(of).await, Recovered::NothingSent);
}

#[tokio::test]
async fn a_connection_that_breaks_proves_nothing_and_one_without_tls_proves_that_nothing_left() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let of = bench.attempt();
    let end = bench
        .collect(&gateway, of, &hangs_up().await, "write")
        .await;
    assert_eq!(word(&end.outcome), "unknown", "{:?}", end.outcome);
    assert_eq!(bench.recovered(of).await, Recovered::MaybeSent);
    let of = bench.attempt();
    let end = bench
        .collect(
            &gateway,
            of,
            &provider.url.replace("http:", "https:"),
            "write",
        )
        .await;
    assert_eq!(word(&end.outcome), "not sent", "{:?}", end.outcome);
    assert_eq!(bench.recovered(of).await, Recovered::NothingSent);
    assert_eq!(provider.count(), 0);
}

#[tokio::test]
async fn a_success_of_an_amount_that_cannot_be_read_names_none() {
    let bench = Fixture::new();
    let gateway = misbehaving(&bench).await;
    let nowhere = "http://127.0.0.1:1";
    let what = "strange amount";
    let end = bench
        .collect(&gateway, bench.attempt(), nowhere, what)
        .await;
    let Outcome::Succeeded { amount, .. } = end.outcome else {
        panic!("{:?}", end.outcome);
    };
    assert_eq!(amount, Captured::Unreadable);
}

#[tokio::test]
async fn a_write_is_journaled_before_it_leaves_and_again_when_it_is_answered() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let of = bench.attempt();
    let end = bench
        .collect(&gateway, of, &provider.in_mood("ok"), "write")
        .await;
    assert_eq!(word(&end.outcome), "succeeded", "{:?}", end.outcome);
    assert_eq!(end.state, json!({ "began": REFERENCE }));
    assert_eq!(bench.store.stats().commits, 2);

    let rows = bench.provider_calls(of).await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(
        (row.stage, row.status, row.mutates),
        (Stage::Answered, Some(200), true)
    );
    assert_eq!(row.url, provider.in_mood("ok/charges"));
    let sent: Value = serde_json::from_str(row.request_body.as_deref().unwrap()).unwrap();
    assert_eq!(
        sent,
        json!({ "reference": REFERENCE, "amount": "25.00", "note": "***" })
    );
    let answered: Value = serde_json::from_str(row.response_body.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&answered["status"], &answered["access_token"]),
        (&json!("paid"), &json!("***"))
    );
    let kept = format!("{row:?}");
    assert!(!kept.contains(KEY) && !kept.contains("t0ken"), "{kept}");
    assert!(
        row.response_headers
            .contains(&("x-request-id".into(), "r-1".into()))
    );
    assert!(
        row.response_headers
            .contains(&("x-secret".into(), "***".into()))
    );
    // Answered, and still "maybe sent" after a crash: the outcome of the call itself may be lost.
    assert_eq!(bench.recovered(of).await, Recovered::MaybeSent);
    let state = recovered_state(&bench.store, of.transaction, of.attempt)
        .await
        .unwrap();
    assert_eq!(state, Some(json!({ "began": REFERENCE })));

    // A second call of the attempt goes on numbering.
    bench
        .collect(&gateway, of, &provider.in_mood("sick"), "write")
        .await;
    let statuses: Vec<_> = bench
        .provider_calls(of)
        .await
        .iter()
        .map(|row| row.status)
        .collect();
    assert_eq!(statuses, [Some(200), Some(502)]);
}

#[tokio::test]
async fn a_crash_between_the_write_and_its_answer_is_recovered_as_maybe_sent() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let of = bench.attempt();
    let config = json!({ "url": provider.in_mood("silent"), "key": KEY });
    let call = bench.call(
        &gateway,
        of,
        Operation::Collect,
        config,
        collection("write"),
    );
    let gateways = bench.gateways.clone();
    let running = tokio::spawn(async move { gateways.call(call).await });
    provider.asked().await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_eq!(bench.recovered(of).await, Recovered::MaybeSent);
    let rows = bench.provider_calls(of).await;
    assert_eq!((rows[0].stage, rows[0].status), (Stage::MaybeSent, None));
    assert_eq!(
        bench.recovered(bench.attempt()).await,
        Recovered::NothingSent
    );
}

#[tokio::test]
async fn a_write_that_cannot_be_journaled_does_not_leave() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    bench.store.close().await;
    let end = bench
        .collect(&gateway, bench.attempt(), &provider.in_mood("ok"), "write")
        .await;
    assert_eq!(word(&end.outcome), "not sent", "{:?}", end.outcome);
    assert_eq!(provider.count(), 0);
}

#[tokio::test]
async fn what_only_reads_is_journaled_in_one_commit_at_the_end() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let of = bench.attempt();
    bench
        .collect(
            &gateway,
            of,
            &provider.in_mood("elsewhere"),
            "read and fail",
        )
        .await;
    assert_eq!(bench.store.stats().commits, 1);
    let rows = bench.provider_calls(of).await;
    assert_eq!((rows[0].mutates, rows[0].status), (false, Some(307)));
    assert_eq!(
        provider.count(),
        1,
        "a redirect is an answer, and is not followed"
    );
}

#[tokio::test]
async fn a_failed_query_says_nothing_about_the_attempt() {
    let bench = Fixture::new();
    let gateway = misbehaving(&bench).await;
    let query = |method: &str, of: Try| {
        let mut input = collection("");
        input["method"] = json!(method);
        input["direction"] = json!("collect");
        let config = json!({ "url": "http://127.0.0.1:1", "key": KEY });
        bench
            .gateways
            .call(bench.call(&gateway, of, Operation::Query, config, input))
    };
    let end = query("fail", bench.attempt()).await;
    assert_eq!(word(&end.outcome), "unknown", "{:?}", end.outcome);
    // Neither payouts nor refunds are in the manifest: a missing operation is not sent.
    let payout = bench.call(
        &gateway,
        bench.attempt(),
        Operation::Payout,
        json!({}),
        collection(""),
    );
    assert_eq!(word(&bench.gateways.call(payout).await.outcome), "not sent");
}

#[tokio::test]
async fn not_found_proves_that_nothing_was_sent_only_when_the_manifest_says_so() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let query = |of: Try| {
        let mut input = collection("");
        input["direction"] = json!("collect");
        let config = json!({ "url": provider.url, "key": KEY });
        bench
            .gateways
            .call(bench.call(&gateway, of, Operation::Query, config, input))
    };
    let outcome = query(bench.attempt()).await.outcome;
    assert_eq!(
        word(&outcome),
        "unknown",
        "the submission may be about to leave"
    );
    let of = bench.attempt();
    bench
        .collect(&gateway, of, &provider.in_mood("sick"), "write and fail")
        .await;
    assert_eq!(
        word(&query(of).await.outcome),
        "unknown",
        "it may still be on its way"
    );
    bench.clock.advance(std::time::Duration::from_secs(901));
    assert_eq!(
        word(&query(of).await.outcome),
        "not sent",
        "fifteen minutes later it is final"
    );
}

#[tokio::test]
async fn a_token_is_fetched_once_and_kept_for_its_connection() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    for expected in [1, 1] {
        bench
            .collect(&gateway, bench.attempt(), &provider.in_mood("ok"), "token")
            .await;
        assert_eq!(provider.count(), expected);
    }
    let other = provider.in_mood("other-connection");
    bench
        .collect(&gateway, bench.attempt(), &other, "token")
        .await;
    assert_eq!(
        provider.count(),
        2,
        "another configuration is another connection"
    );
    bench.clock.advance(std::time::Duration::from_secs(61));
    bench
        .collect(&gateway, bench.attempt(), &provider.in_mood("ok"), "token")
        .await;
    assert_eq!(provider.count(), 3, "the token has expired");
}

#[tokio::test]
async fn two_calls_run_at_the_same_time() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    // The provider answers neither before it has both.
    let url = provider.in_mood("together");
    let (one, other) = tokio::join!(
        bench.collect(&gateway, bench.attempt(), &url, "write"),
        bench.collect(&gateway, bench.attempt(), &url, "write"),
    );
    assert_eq!(
        (word(&one.outcome), word(&other.outcome)),
        ("succeeded", "succeeded")
    );
}

#[tokio::test]
async fn a_gateway_that_panics_too_often_is_in_quarantine_until_it_is_added_again() {
    let bench = Fixture::new();
    let gateway = misbehaving(&bench).await;
    for _ in 0..5 {
        assert!(!gateway.is_in_quarantine());
        bench
            .collect(&gateway, bench.attempt(), "http://127.0.0.1:1", "panic")
            .await;
    }
    assert!(gateway.is_in_quarantine());
    let end = bench
        .collect(
            &gateway,
            bench.attempt(),
            "http://127.0.0.1:1",
            "other currency",
        )
        .await;
    assert!(
        why(&end.outcome).contains("quarantine"),
        "{:?}",
        end.outcome
    );
    assert_eq!(word(&end.outcome), "not sent");
    assert!(!misbehaving(&bench).await.is_in_quarantine());
}

#[tokio::test]
async fn a_gateway_that_computes_for_long_still_answers_later_calls() {
    let bench = Fixture::new();
    let gateway = misbehaving(&bench).await;
    for _ in 0..2 {
        let end = bench
            .collect(&gateway, bench.attempt(), "http://127.0.0.1:1", "compute")
            .await;
        assert_eq!(word(&end.outcome), "succeeded", "{:?}", end.outcome);
    }
}

#[tokio::test]
async fn a_check_of_credentials_can_not_send_what_moves_money() {
    let (bench, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let config = json!({ "url": provider.in_mood("ok"), "key": KEY });
    let check = bench
        .gateways
        .check_config(&gateway, Environment::Sandbox, &config)
        .await;
    assert!(check.unwrap_err().contains("no journal"));
    assert_eq!(provider.count(), 0);
    let demo = bench.gateways.add(&demo_gateway()).await.unwrap();
    let check = bench
        .gateways
        .check_config(&demo, Environment::Sandbox, &json!({}))
        .await
        .unwrap();
    assert_eq!(
        check,
        ConfigCheck::Works {
            account: Some("Switchyard Test Gateway".into())
        }
    );
}

#[tokio::test]
async fn outside_development_mode_private_addresses_are_out_of_reach() {
    let (bench, provider) = (Fixture::with(false), Provider::start().await);
    let gateway = misbehaving(&bench).await;
    let end = bench
        .collect(&gateway, bench.attempt(), &provider.in_mood("ok"), "write")
        .await;
    assert_eq!(word(&end.outcome), "not sent", "{:?}", end.outcome);
    assert_eq!(provider.count(), 0);
}

#[tokio::test]
async fn an_unknown_number_is_declined_with_the_providers_words() {
    let bench = Fixture::new();
    let demo = bench.gateways.add(&demo_gateway()).await.unwrap();
    let mut input = collection("");
    input["payer"]["msisdn"] = json!("22997000000");
    let call = bench.call(&demo, bench.attempt(), Operation::Collect, json!({}), input);
    let Outcome::Declined(decline) = bench.gateways.call(call).await.outcome else {
        panic!("not declined");
    };
    assert_eq!(decline.reason, DeclineReason::InvalidAccount);
    assert!(decline.provider_message.unwrap().contains("4149518161"));
}

/// Prints what one call of the test gateway costs: `cargo test … -- --ignored --nocapture cost`.
#[tokio::test]
#[ignore = "prints a figure, proves nothing"]
async fn cost_of_a_call_without_requests() {
    let bench = Fixture::new();
    let demo = bench.gateways.add(&demo_gateway()).await.unwrap();
    let rounds = 20_000;
    let since = tokio::time::Instant::now();
    for _ in 0..rounds {
        let call = bench.call(
            &demo,
            bench.attempt(),
            Operation::Collect,
            json!({}),
            collection(""),
        );
        bench.gateways.call(call).await;
    }
    println!("{} ns a call", since.elapsed().as_nanos() / rounds);
}

/// The provider looks into the journal when a request arrives, as a process that dies then would.
#[tokio::test]
async fn a_request_of_any_verb_is_in_the_journal_when_it_arrives() {
    let bench = Fixture::new();
    let gateway = misbehaving(&bench).await;
    for verb in ["POST", "PUT", "PATCH", "DELETE", "MERGE", "SETTLE"] {
        let of = bench.attempt();
        let store = bench.store.clone();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let router = axum::Router::new().fallback(move || {
            let (store, tell) = (store.clone(), tell.clone());
            async move {
                let rows = provider_calls(&store, of.transaction, of.attempt).await;
                let maybe = |row: &ProviderCall| row.stage == Stage::MaybeSent;
                let _ = tell.send(rows.is_ok_and(|rows| rows.iter().any(maybe)));
                axum::http::StatusCode::SERVICE_UNAVAILABLE
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let what = format!("habit: send {verb}");
        let end = bench.collect(&gateway, of, &url, &what).await;
        assert_eq!(
            told.recv().await,
            Some(true),
            "{verb}: nothing was written down"
        );
        assert_eq!(word(&end.outcome), "unknown", "{verb}: {:?}", end.outcome);
        assert_eq!(bench.recovered(of).await, Recovered::MaybeSent, "{verb}");
        server.abort();
    }
}
