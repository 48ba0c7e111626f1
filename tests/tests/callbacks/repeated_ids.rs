//! A provider id that two attempts of one connection have: it identifies neither, and a person looks
//! at both.

use std::time::Duration;

use serde_json::json;
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::CALLBACKS_PER_TRANSACTION;
use switchyard_core::transaction::{AttemptState, CaseReason, Status, Transaction};
use switchyard_engine::callback::{Callback, CallbackQuery, CallbackState};
use switchyard_tests::eventually;
use switchyard_tests::merchant::payout;

use crate::fixture::{Fixture, KEY, SOON};

/// Waits until there is a case about the id, and returns the transaction.
async fn in_question(fixture: &Fixture, id: TransactionId) -> anyhow::Result<Transaction> {
    let found = eventually("a case about the id", SOON, async || {
        let found = fixture.transaction(id).await?;
        Ok(Some(found).filter(|found| !found.cases.is_empty()))
    })
    .await?;
    let reasons: Vec<_> = found.cases.iter().map(|case| case.reason).collect();
    assert_eq!(reasons, [CaseReason::AmbiguousProviderId], "{id}");
    assert_eq!(found.cases[0].provider_id.as_deref(), Some("ch_shared"));
    assert_eq!(found.cases[0].reference, found.attempts[0].reference);
    Ok(Transaction::clone(&found))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_payouts_that_succeed_under_one_id_open_a_case_about_each() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut order = payout("4149518161");
        order["description"] = json!("succeed ch_shared");
        let made = fixture.merchant.post("/v1/payouts/initialize", &order);
        let made = made.await?;
        let id = made.body["data"]["id"].as_str().unwrap_or_default();
        ids.push(id.parse::<TransactionId>()?);
    }
    for id in ids {
        let payout = in_question(&fixture, id).await?;
        assert_eq!(payout.status(), Status::Success);
        let path = format!("/v1/payouts/{id}/verify");
        let verified = fixture.merchant.get(&path).await?.body["data"].clone();
        assert_eq!(
            (&verified["status"], &verified["attention"]),
            (&json!("success"), &json!("ambiguous_provider_id"))
        );
    }
    Ok(())
}

/// The query was about the one, and found the charge of the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_success_that_a_query_finds_under_the_id_of_another_attempt_opens_a_case_about_each()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let named = async |description: &str, name: &str| {
        let id = fixture.confirmed(description).await?;
        eventually("the provider has named its id", SOON, async || {
            let attempt = &fixture.transaction(id).await?.attempts[0];
            Ok((attempt.provider_id.as_deref() == Some(name)).then_some(()))
        })
        .await?;
        anyhow::Ok(id)
    };
    let owner = named("pending ch_shared", "ch_shared").await?;
    let other = named("pending ch_renamed", "ch_renamed").await?;
    fixture
        .merchant
        .bench
        .clock
        .advance(Duration::from_secs(11));
    let path = format!("/v1/payments/{other}/verify");
    fixture.merchant.get(&path).await?;
    in_question(&fixture, other).await?;
    let owner = in_question(&fixture, owner).await?;
    assert_eq!(owner.attempts[0].provider_id.as_deref(), Some("ch_shared"));
    Ok(())
}

/// Three declined attempts of one id, and a success by that id. A query finds nothing, so it is not
/// known for which of them the money came.
async fn declined_under_one_id(fixture: &Fixture) -> anyhow::Result<Vec<TransactionId>> {
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(fixture.confirmed("decline ch_7").await?);
    }
    for id in &ids {
        eventually("it is declined", SOON, async || {
            let attempt = &fixture.transaction(*id).await?.attempts[0];
            Ok((attempt.state == AttemptState::Declined).then_some(()))
        })
        .await?;
    }
    Ok(ids)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_success_by_a_shared_id_holds_each_attempt_although_no_query_is_answered()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let ids = declined_under_one_id(&fixture).await?;
    let paid = json!({ "id": "ch_7", "status": "paid", "minor": 2_500 });
    fixture.send_raw(paid.to_string(), Some(KEY)).await?;
    for id in ids {
        let held = eventually("a case about the id", SOON, async || {
            let found = fixture.transaction(id).await?;
            Ok(Some(found).filter(|found| !found.cases.is_empty()))
        })
        .await?;
        assert_eq!(held.cases[0].reason, CaseReason::AmbiguousProviderId);
        assert!(!held.surely_moved_no_money(), "{id}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_of_strangers_by_a_shared_id_are_neither_kept_nor_asked_about_without_limit()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let ids = declined_under_one_id(&fixture).await?;
    let hint = json!({ "id": "ch_7", "status": "paid", "minor": 2_500 }).to_string();
    for _ in 0..CALLBACKS_PER_TRANSACTION + 50 {
        fixture.send_raw(hint.clone(), None).await?;
    }
    let kept = eventually("no callback waits", Duration::from_secs(60), async || {
        let clock = &fixture.merchant.bench.clock;
        clock.advance(Duration::from_secs(3_600));
        let query = CallbackQuery {
            connection: fixture.connection,
            state: None,
            before: None,
            limit: 1_000,
        };
        let kept = fixture.merchant.bench.engine.list_callbacks(&query).await?;
        let is_waiting = |one: &Callback| one.state == CallbackState::Waiting;
        Ok((!kept.iter().any(is_waiting)).then_some(kept))
    })
    .await?;
    // Several are processed at once.
    assert!(
        kept.len() < CALLBACKS_PER_TRANSACTION + 25,
        "{}",
        kept.len()
    );
    for id in ids {
        assert!(fixture.transaction(id).await?.cases.is_empty(), "{id}");
    }
    Ok(())
}
