//! Parts of the money that the provider reports where a query or another report says that nothing
//! was paid.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::{
    CALLBACK_CROWD_PAUSE, CALLBACKS_IN_FLIGHT, CALLBACKS_PER_TRANSACTION, CALLBACKS_UNMATCHED,
};
use switchyard_core::transaction::{AttemptState, Transaction};
use switchyard_engine::callback::CallbackState;
use switchyard_tests::eventually;

use crate::fixture::{Fixture, KEY, SOON};
use crate::reread::Provider;

/// Waits until the attempt is in `state`.
async fn until(
    fixture: &Fixture,
    id: TransactionId,
    state: AttemptState,
) -> anyhow::Result<Transaction> {
    eventually("the state of the attempt", SOON, async || {
        let found = fixture.transaction(id).await?;
        let is_there = found.attempts[0].state == state;
        Ok(is_there.then(|| Transaction::clone(&found)))
    })
    .await
}

async fn until_in_question(fixture: &Fixture, id: TransactionId) -> anyhow::Result<()> {
    eventually("a case", SOON, async || {
        fixture.merchant.bench.clock.advance(SOON / 20);
        let found = fixture.transaction(id).await?;
        Ok((!found.cases.is_empty() && !found.surely_moved_no_money()).then_some(()))
    })
    .await
}

async fn told(fixture: &Fixture, news: Value, key: Option<&str>) -> anyhow::Result<()> {
    Ok(fixture.send_raw(news.to_string(), key).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_a_query_finds_for_a_declined_attempt_opens_a_case() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("decline ch_8").await?;
    until(&fixture, id, AttemptState::Declined).await?;
    assert!(fixture.transaction(id).await?.surely_moved_no_money());
    let reference = fixture.reference(id).await?;
    let hint = json!({ "reference": reference, "status": "paid", "minor": 1_000 });
    told(&fixture, hint, None).await?;
    until_in_question(&fixture, id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_of_the_first_id_takes_no_part_under_another_id_back() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("pending ch_9").await?;
    until(&fixture, id, AttemptState::Pending).await?;
    let reference = fixture.reference(id).await?;
    let part = json!({
        "reference": reference, "id": "ch_other", "status": "received", "minor": 2_500,
    });
    told(&fixture, part, Some(KEY)).await?;
    fixture.dealt_with(1).await?;
    let declined = json!({
        "reference": reference, "id": "ch_9", "status": "declined", "minor": 0,
    });
    told(&fixture, declined, Some(KEY)).await?;
    fixture.dealt_with(2).await?;
    let found = fixture.transaction(id).await?;
    let attempt = &found.attempts[0];
    assert_eq!(attempt.state, AttemptState::Pending);
    assert_eq!(attempt.provider_id.as_deref(), Some("ch_other"));
    let charges: Vec<_> = attempt
        .charges
        .iter()
        .map(|one| one.id.as_deref())
        .collect();
    assert_eq!(charges, [Some("ch_other")]);
    assert!(!attempt.charges[0].is_taken_back && !found.surely_moved_no_money());
    Ok(())
}

/// Strangers fill the list of callbacks without an attempt.
#[tokio::test(flavor = "multi_thread")]
async fn a_verified_callback_without_an_attempt_is_not_pushed_out_by_those_of_strangers()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let clock = &fixture.merchant.bench.clock;
    let verified = json!({ "id": "ch_early", "status": "paid", "minor": 2_500 });
    told(&fixture, verified, Some(KEY)).await?;
    fixture.dealt_with(1).await?;
    for number in 0..CALLBACKS_UNMATCHED + 20 {
        let junk = json!({ "id": format!("junk{number}"), "status": "paid", "minor": 1 });
        told(&fixture, junk, None).await?;
        if number % 400 == 0 {
            clock.advance(SOON);
        }
    }
    until_read(&fixture).await?;
    is_settled_by_early_report(&fixture).await
}

/// Strangers know the provider's id before its verified callback comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_verified_callback_behind_many_of_strangers_by_its_id_settles_its_attempt()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let early = json!({ "id": "ch_early", "status": "paid", "minor": 2_500 });
    for _ in 0..300 {
        told(&fixture, early.clone(), None).await?;
    }
    told(&fixture, early, Some(KEY)).await?;
    until_read(&fixture).await?;
    is_settled_by_early_report(&fixture).await
}

async fn until_read(fixture: &Fixture) -> anyhow::Result<()> {
    let clock = &fixture.merchant.bench.clock;
    eventually("all are read", SOON * 6, async || {
        clock.advance(SOON / 20);
        let waiting = fixture.callbacks(Some(CallbackState::Waiting)).await?;
        Ok(waiting.is_empty().then_some(()))
    })
    .await
}

async fn is_settled_by_early_report(fixture: &Fixture) -> anyhow::Result<()> {
    let id = fixture.confirmed("pending ch_early").await?;
    eventually("the early report settles it", SOON, async || {
        fixture.merchant.bench.clock.advance(SOON / 20);
        let found = fixture.transaction(id).await?;
        Ok((found.attempts[0].state == AttemptState::Succeeded).then_some(()))
    })
    .await
}

/// Beyond the limit of an attempt that has ended, its unsigned callbacks cause one query every 10
/// seconds: strangers neither cause more nor keep the provider from being heard.
#[tokio::test(flavor = "multi_thread")]
async fn money_that_an_unsigned_callback_reports_after_many_of_strangers_is_found()
-> anyhow::Result<()> {
    let provider = Provider::default();
    let fixture = Fixture::misbehaving_at(&provider.start().await?).await?;
    let id = fixture.confirmed("decline ch_5").await?;
    until(&fixture, id, AttemptState::Declined).await?;
    let reference = fixture.reference(id).await?;
    let hint = json!({ "reference": reference, "status": "paid", "minor": 2_500 });
    for _ in 0..CALLBACKS_PER_TRANSACTION {
        told(&fixture, hint.clone(), None).await?;
    }
    fixture.dealt_with(CALLBACKS_PER_TRANSACTION).await?;
    let clock = &fixture.merchant.bench.clock;
    for minute in 0..3 {
        clock.advance(Duration::from_secs(1));
        let asked = provider.asked();
        for _ in 0..40 {
            told(&fixture, hint.clone(), None).await?;
        }
        clock.advance(CALLBACK_CROWD_PAUSE);
        fixture.dealt_with(CALLBACKS_PER_TRANSACTION).await?;
        let asked = provider.asked() - asked;
        assert!((1..=2).contains(&asked), "{asked} in round {minute}");
    }
    assert!(fixture.transaction(id).await?.surely_moved_no_money());
    provider.is_well.store(true, Ordering::SeqCst);
    told(&fixture, hint, None).await?;
    clock.advance(CALLBACK_CROWD_PAUSE);
    until_in_question(&fixture, id).await
}

/// Each of 100 callbacks would cause five queries on a schedule of its own.
#[tokio::test(flavor = "multi_thread")]
async fn callbacks_of_strangers_cause_few_queries_while_the_provider_cannot_answer()
-> anyhow::Result<()> {
    let provider = Provider::default();
    let fixture = Fixture::misbehaving_at(&provider.start().await?).await?;
    let id = fixture.confirmed("decline ch_6").await?;
    until(&fixture, id, AttemptState::Declined).await?;
    let hint = json!({
        "reference": fixture.reference(id).await?, "status": "paid", "minor": 2_500,
    });
    for _ in 0..CALLBACKS_PER_TRANSACTION {
        told(&fixture, hint.clone(), None).await?;
    }
    eventually("the provider is queried", SOON, async || {
        Ok((provider.asked() > 0).then_some(()))
    })
    .await?;
    let clock = &fixture.merchant.bench.clock;
    let minute = 6 * CALLBACK_CROWD_PAUSE;
    for _ in 0..minute.as_secs() {
        clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let asked = provider.asked();
    let most = 6 * CALLBACKS_IN_FLIGHT;
    assert!((2..=most).contains(&asked), "{asked} queries in a minute");
    provider.is_well.store(true, Ordering::SeqCst);
    eventually("the money is found", SOON, async || {
        clock.advance(CALLBACK_CROWD_PAUSE);
        let is_known = !fixture.transaction(id).await?.surely_moved_no_money();
        Ok(is_known.then_some(()))
    })
    .await
}
