//! Changes by an operator to a gateway after an attempt at it was committed, and before its call
//! has begun.
//!
//! The engine begins calls on the runtime that it was started on, and its actors commit on threads
//! of their own. So the tests start it on a runtime that stands still while the payer and the
//! operator are at work on another one: between the two nothing can be called.

use std::sync::Arc;

use switchyard_core::transaction::{AttemptState, State, Status, Transaction};
use switchyard_gateway_host::{ChangeAuthor, Gateways};
use switchyard_tests::at_provider::SOON;
use switchyard_tests::{eventually, programmable_gateway};
use tokio::runtime::{Builder, Runtime};

use crate::road::Road;

const ADA: ChangeAuthor<'_> = ChangeAuthor::new("ada");
const GATEWAY: &str = "programmable";

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// To a version of the same code.
async fn upgrade(gateways: &Gateways) {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("second.so");
    let mut bytes = std::fs::read(programmable_gateway()).unwrap();
    bytes.extend_from_slice(b"another version");
    std::fs::write(&file, bytes).unwrap();
    gateways.add(&file).await.unwrap();
}

/// A payment that is confirmed, then `what` happens to its gateway, then the calls go on. Answers
/// how it ended, and the road.
fn meanwhile(what: &str) -> (Arc<Transaction>, Road) {
    let (calls, people) = (runtime(), runtime());
    let road = calls.block_on(async {
        let road = Road::new(2).await;
        let engine = &road.bench.engine;
        engine.gateways().keep_in(engine.store()).await.unwrap();
        engine
            .gateways()
            .add(&programmable_gateway())
            .await
            .unwrap();
        road
    });
    let gateways = road.bench.engine.gateways();
    let begun = people.block_on(async {
        let begun = road.pay("ok ok").await;
        assert_eq!(begun.state, State::AwaitingGateway, "{what}");
        match what {
            "drain" => gateways.drain(GATEWAY, &ADA).await.map(drop),
            "remove" => gateways.remove(GATEWAY, &ADA).await.map(drop),
            _ => {
                let first = gateways.current(GATEWAY).unwrap().sha256.clone();
                upgrade(gateways).await;
                let of = Some(first.as_str());
                gateways.quarantine(GATEWAY, of, &ADA).await.map(drop)
            }
        }
        .unwrap();
        begun
    });
    assert!(road.provider.books().is_empty(), "{what}: nothing has left");
    // The clock stands still: nothing here waits for a time.
    let ended = calls.block_on(eventually("its end", SOON, || async {
        let found = road.bench.engine.transaction(begun.id).await?;
        Ok(found.filter(|found| found.state.is_final()))
    }));
    let ended = ended.unwrap();
    drop(calls);
    (ended, road)
}

#[test]
fn a_drain_or_a_removal_before_the_call_lets_the_attempt_run_on_its_own_version() {
    for what in ["drain", "remove"] {
        let (ended, road) = meanwhile(what);
        assert_eq!(
            (ended.status(), ended.attempts.len()),
            (Status::Success, 1),
            "{what}"
        );
        let books = road.provider.books();
        let charges: Vec<_> = books.values().map(|entry| entry.charges).collect();
        assert_eq!(charges, [1], "{what}");
    }
}

#[test]
fn a_quarantine_of_its_version_before_the_call_has_the_next_connection_pay_by_the_new_one() {
    let (ended, road) = meanwhile("upgrade and quarantine");
    assert_eq!(ended.status(), Status::Success);
    let attempts = ended.attempts.iter();
    let tried: Vec<_> = attempts
        .map(|attempt| (road.slot(attempt.candidate.connection), &attempt.state))
        .collect();
    assert_eq!(tried.len(), 2, "{tried:?}");
    assert_eq!(tried[0], (0, &AttemptState::NotSent));
    assert_eq!(tried[1].0, 1);
    assert_ne!(
        ended.attempts[0].candidate.gateway_hash,
        ended.attempts[1].candidate.gateway_hash
    );
    let books = road.provider.books();
    let charges: Vec<_> = books.values().map(|entry| entry.charges).collect();
    assert_eq!(charges, [1]);
}
