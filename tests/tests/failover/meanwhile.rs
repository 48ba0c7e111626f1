//! Changes between the plan and the failover: the state of the next connection is checked again
//! before a submission to it.

use serde_json::json;
use switchyard_core::transaction::{AttemptState, Status, Transaction};
use switchyard_engine::access::{AppChange, ConnectionChange};
use switchyard_gateway_host::ChangeAuthor;
use switchyard_tests::programmable_gateway;

use crate::road::Road;

const ADA: ChangeAuthor<'_> = ChangeAuthor::new("ada");
const GATEWAY: &str = "programmable";

/// Skipped connections on the timeline, each with the reason.
async fn stepped_over(road: &Road, tx: &Transaction) -> Vec<(usize, String)> {
    let timeline = road.bench.engine.timeline(tx.id).await.unwrap();
    let timeline = serde_json::to_value(timeline).unwrap();
    let events = timeline.as_array().unwrap().iter();
    let lists = events.flat_map(|recorded| {
        let event = &recorded["event"];
        let of_attempt = event["attempt"]["decision"]["skipped"].as_array();
        let of_event = event["skipped"].as_array();
        of_attempt.into_iter().chain(of_event).flatten().cloned()
    });
    let lists: Vec<_> = lists.collect();
    let slot = |connection: &serde_json::Value| {
        let same = |one: &switchyard_core::ids::ConnectionId| json!(one) == *connection;
        road.connections.iter().position(same).unwrap()
    };
    lists
        .iter()
        .map(|one| {
            let because = one["because"].as_str().unwrap();
            (slot(&one["connection"]), because.to_owned())
        })
        .collect()
}

/// A payment whose first attempt is in doubt: the provider will report that it never came, and the
/// next connection is due.
async fn in_doubt(road: &Road, words: &str) -> std::sync::Arc<Transaction> {
    let begun = road.pay(words).await;
    let tx = road.bench.engine.transaction(begun.id).await.unwrap();
    let tx = tx.unwrap();
    assert!(!tx.state.is_final(), "{:?}", tx.state);
    assert_eq!(tx.attempts.len(), 1);
    tx
}

async fn switch(road: &Road, slot: usize, on: bool) {
    let change = ConnectionChange {
        is_enabled: Some(on),
        ..ConnectionChange::default()
    };
    let access = road.bench.engine.access();
    let changed = access.update_connection(road.connections[slot], change);
    changed.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_was_switched_off_meanwhile_is_stepped_over_and_the_one_after_it_tried() {
    let road = Road::new(3).await;
    let waiting = in_doubt(&road, "broken ok ok").await;
    switch(&road, 1, false).await;
    let tx = road.end(waiting.id).await;
    assert_eq!(tx.status(), Status::Success);
    let tried: Vec<_> = tx
        .attempts
        .iter()
        .map(|attempt| road.slot(attempt.candidate.connection))
        .collect();
    assert_eq!(tried, [0, 2], "nothing was even begun at the one between");
    let told = stepped_over(&road, &tx).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0], (1, "the connection is switched off".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_fails_over_to_a_gateway_that_is_gone_or_drained_or_in_quarantine() {
    for (what, because) in [
        ("remove", "its gateway is not loaded"),
        ("drain", "its gateway begins nothing new"),
        ("quarantine", "its gateway is in quarantine"),
    ] {
        let road = Road::new(2).await;
        let engine = &road.bench.engine;
        engine.gateways().keep_in(engine.store()).await.unwrap();
        engine
            .gateways()
            .add(&programmable_gateway())
            .await
            .unwrap();
        let waiting = in_doubt(&road, "broken ok").await;
        let done = match what {
            "remove" => engine.gateways().remove(GATEWAY, &ADA).await,
            "drain" => engine.gateways().drain(GATEWAY, &ADA).await,
            _ => engine.gateways().quarantine(GATEWAY, None, &ADA).await,
        };
        done.unwrap();
        let tx = road.end(waiting.id).await;
        assert_eq!(tx.attempts.len(), 1, "{what}");
        assert_eq!(tx.attempts[0].state, AttemptState::NotSent, "{what}");
        for (reference, entry) in road.provider.books() {
            assert_eq!(
                (entry.requests, entry.charges),
                (1, 0),
                "{what} {reference}"
            );
        }
        let told = stepped_over(&road, &tx).await;
        assert_eq!(told.len(), 1, "{what} {told:?}");
        assert_eq!(told[0].0, 1, "{what}");
        assert!(told[0].1.contains(because), "{what} {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fail_over_begins_on_the_version_of_its_gateway_that_is_current_then() {
    let road = Road::new(2).await;
    let engine = &road.bench.engine;
    let first = engine.gateways().current(GATEWAY).unwrap().sha256.clone();
    let waiting = in_doubt(&road, "broken ok").await;
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("second.so");
    let mut bytes = std::fs::read(programmable_gateway()).unwrap();
    bytes.extend_from_slice(b"another version");
    std::fs::write(&file, bytes).unwrap();
    let second = engine.gateways().add(&file).await.unwrap().sha256.clone();
    let tx = road.end(waiting.id).await;
    assert_eq!(tx.status(), Status::Success);
    let versions: Vec<_> = tx
        .attempts
        .iter()
        .map(|attempt| attempt.candidate.gateway_hash.clone())
        .collect();
    assert_eq!(versions, [first, second]);
}

async fn switch_app(road: &Road, on: bool) {
    let change = AppChange {
        is_enabled: Some(on),
        ..AppChange::default()
    };
    let access = road.bench.engine.access();
    access.update_app(road.caller.app.id, change).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_was_disabled_meanwhile_fails_over_to_nobody() {
    let road = Road::new(2).await;
    let waiting = in_doubt(&road, "broken ok").await;
    switch_app(&road, false).await;
    let tx = road.end(waiting.id).await;
    assert_eq!(tx.status(), Status::Cancelled);
    assert_eq!(tx.attempts.len(), 1);
    assert_eq!(tx.attempts[0].state, AttemptState::NotSent);
    let told = stepped_over(&road, &tx).await;
    assert_eq!(told, [(1, "the app is disabled".to_owned())]);
    let books = road.provider.books();
    let asked: Vec<_> = books
        .values()
        .map(|entry| (entry.slot, entry.charges))
        .collect();
    assert_eq!(asked, [(0, 0)], "only the first connection heard of it");
}
