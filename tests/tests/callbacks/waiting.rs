//! Callbacks that come too early: before their transaction, before the answer of our own call, and
//! those whose transaction never comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use switchyard::operations::metrics;
use switchyard_core::limits::CALLBACK_MATCH_WINDOW;
use switchyard_core::transaction::{AttemptState, Status};
use switchyard_engine::callback::CallbackState;
use switchyard_tests::eventually;

use crate::fixture::{Fixture, KEY, SOON, news};
use crate::reread::Provider;

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_comes_before_its_transaction_is_kept_and_dealt_with_when_it_appears()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let early = json!({ "id": "ch_9", "status": "succeeded", "minor": 2_500 });
    fixture.send_raw(early.to_string(), Some(KEY)).await?;
    let callbacks = fixture.dealt_with(1).await?;
    assert_eq!(
        callbacks[0].state,
        CallbackState::Unmatched,
        "{:?}",
        callbacks[0]
    );
    assert!(callbacks[0].awaits);
    let id = fixture.confirmed("pending ch_9").await?;
    eventually("the callback found it", SOON, async || {
        let found = fixture.transaction(id).await?;
        Ok((found.status() == Status::Success).then_some(()))
    })
    .await?;
    let callbacks = fixture.dealt_with(1).await?;
    assert_eq!(callbacks[0].state, CallbackState::Matched);
    assert_eq!(callbacks[0].transaction, Some(id));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_outcome_that_names_nobody_is_a_fault_of_its_gateway() -> anyhow::Result<()> {
    let metrics = metrics::start()?;
    let faults = || {
        let text = metrics.render();
        let name = "switchyard_gateway_faults_total{gateway=\"misbehaving\"} ";
        let count = text.lines().find_map(|line| line.strip_prefix(name));
        count.unwrap_or("0").to_owned()
    };
    let fixture = Fixture::misbehaving().await?;
    let nameless = json!({ "status": "succeeded", "minor": 2_500 });
    assert_eq!(faults(), "0");
    fixture.send_raw(nameless.to_string(), Some(KEY)).await?;
    let callback = fixture.dealt_with(1).await?.remove(0);
    assert_eq!(faults(), "1");
    assert_eq!(callback.state, CallbackState::Refused, "{callback:?}");
    let note = callback.note.unwrap_or_default();
    assert!(note.contains("a fault of the gateway"), "{note}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_says_what_it_meant_for_which_attempt() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("pending ch_9").await?;
    let reference = fixture.transaction(id).await?.attempts[0].reference;
    let mut notes = Vec::new();
    for (count, status) in [(1, "succeeded"), (2, "declined")] {
        let news = json!({ "reference": reference, "status": status, "minor": 2_500 });
        fixture.send_raw(news.to_string(), Some(KEY)).await?;
        let callbacks = fixture.dealt_with(count).await?;
        let all = callbacks
            .iter()
            .filter_map(|callback| callback.note.clone());
        notes = all.collect();
    }
    for meaning in [
        "Verified: succeeded for attempt 1; the transaction is success.",
        "Verified: declined for attempt 1;",
    ] {
        assert!(notes.iter().any(|note| note.contains(meaning)), "{notes:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_that_comes_before_the_answer_of_our_call_counts_at_once() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("never").await?;
    let away = fixture.transaction(id).await?;
    assert_eq!(away.attempts[0].state, AttemptState::Started);
    let reference = away.attempts[0].reference;
    let news = json!({ "reference": reference, "status": "succeeded", "minor": 2_500 });
    fixture.send_raw(news.to_string(), Some(KEY)).await?;
    fixture.dealt_with(1).await?;
    assert_eq!(fixture.transaction(id).await?.status(), Status::Success);
    // Then our call comes back with nothing to show.
    let engine = &fixture.merchant.bench.engine;
    eventually("our call came back", SOON, async || {
        Ok((engine.submissions_away() == 0).then_some(()))
    })
    .await?;
    let paid = fixture.transaction(id).await?;
    assert_eq!((paid.status(), paid.attempts.len()), (Status::Success, 1));
    assert!(paid.cases.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_that_comes_before_the_answer_of_our_call_waits_for_its_end() -> anyhow::Result<()>
{
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("never").await?;
    let reference = fixture.reference(id).await?;
    let news = json!({ "reference": reference, "status": "declined", "minor": 2_500 });
    fixture.send_raw(news.to_string(), Some(KEY)).await?;
    let engine = &fixture.merchant.bench.engine;
    eventually("it waits", SOON, async || {
        let waiting = fixture.callbacks(Some(CallbackState::Waiting)).await?;
        Ok(waiting.iter().any(|one| one.note.is_some()).then_some(()))
    })
    .await?;
    assert_eq!(engine.submissions_away(), 1);
    assert_eq!(fixture.transaction(id).await?.status(), Status::Pending);
    fixture.dealt_with(1).await?;
    assert_eq!(
        engine.submissions_away(),
        0,
        "nothing else began before our call had ended"
    );
    // Our call's own end came first: it had sent nothing, so the payer may choose again.
    let after = fixture.transaction(id).await?;
    assert_eq!(
        (after.attempts.len(), after.attempts[0].state),
        (1, AttemptState::NotSent)
    );
    assert_eq!(after.status(), Status::Pending);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_the_end_of_our_call_is_given_to_its_gateway_once() -> anyhow::Result<()> {
    let (url, asked) = provider_that_counts().await?;
    let fixture = Fixture::misbehaving_at(&url).await?;
    let id = fixture.confirmed("never").await?;
    let reference = fixture.reference(id).await?;
    let news = json!({ "reference": reference, "status": "declined", "minor": 0, "do": "look" });
    fixture.send_raw(news.to_string(), Some(KEY)).await?;
    let callbacks = fixture.dealt_with(1).await?;
    assert_eq!(callbacks[0].state, CallbackState::Matched, "{callbacks:?}");
    let engine = &fixture.merchant.bench.engine;
    assert_eq!(engine.submissions_away(), 0, "it waited");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "looks at the provider");
    Ok(())
}

/// A provider that has nothing to say, and how often it was asked.
async fn provider_that_counts() -> anyhow::Result<(String, Arc<AtomicUsize>)> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            let _ = stream.write_all(answer).await;
        }
    });
    Ok((url, asked))
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_that_comes_before_the_answer_of_our_call_has_nobody_ask_meanwhile()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("never").await?;
    let reference = fixture.reference(id).await?;
    let news = json!({ "reference": reference, "status": "pending", "minor": 0 });
    fixture.send_raw(news.to_string(), Some(KEY)).await?;
    eventually("it waits", SOON, async || {
        let waiting = fixture.callbacks(Some(CallbackState::Waiting)).await?;
        Ok(waiting.iter().any(|one| one.note.is_some()).then_some(()))
    })
    .await?;
    // A query now might return a decline, and begin the next attempt while this one may still move
    // money.
    let engine = &fixture.merchant.bench.engine;
    assert_eq!(engine.submissions_away(), 1);
    let away = fixture.transaction(id).await?;
    assert_eq!(away.attempts[0].state, AttemptState::Started);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_nothing_stays_where_people_see_it_when_it_has_waited_long_enough()
-> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let nobody = news("00000000-0000-4000-8000-000000000000", "success");
    fixture.send(&nobody).await?;
    let callbacks = fixture.dealt_with(1).await?;
    assert_eq!(callbacks[0].state, CallbackState::Unmatched);
    let clock = &fixture.merchant.bench.clock;
    clock.advance(CALLBACK_MATCH_WINDOW + Duration::from_secs(1));
    eventually("it waits no longer", SOON, async || {
        clock.advance(Duration::from_millis(500));
        let unmatched = fixture.callbacks(Some(CallbackState::Unmatched)).await?;
        Ok((unmatched.len() == 1 && !unmatched[0].awaits).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_stumbles_is_given_it_again_and_then_it_is_put_down() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let bad = json!({ "status": "", "minor": 1, "do": "fault" });
    fixture.send_raw(bad.to_string(), Some(KEY)).await?;
    let put_down = async || {
        fixture.merchant.bench.clock.advance(Duration::from_secs(5));
        let refused = fixture.callbacks(Some(CallbackState::Refused)).await?;
        Ok((!refused.is_empty()).then_some(refused))
    };
    let callbacks = eventually("it is put down", SOON, put_down).await?;
    assert_eq!(
        callbacks[0].tries + 1,
        switchyard_core::limits::CALLBACK_TRIES
    );
    let engine = &fixture.merchant.bench.engine;
    engine
        .retry_callback(fixture.connection, callbacks[0].id)
        .await?;
    assert!(
        fixture
            .callbacks(Some(CallbackState::Refused))
            .await?
            .is_empty()
    );
    eventually("it is put down again", SOON, put_down).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_by_a_clock_that_was_set_back_since_is_dealt_with_at_once_after_a_restart()
-> anyhow::Result<()> {
    let provider = Provider::default();
    let fixture = Fixture::misbehaving_at(&provider.start().await?).await?;
    let id = fixture.confirmed("pending ch_9").await?;
    let news = json!({ "id": "ch_9", "status": "succeeded", "minor": 2_500, "do": "look" });
    fixture.send_raw(news.to_string(), Some(KEY)).await?;
    eventually("it is put off", SOON, async || {
        let waiting = fixture.callbacks(Some(CallbackState::Waiting)).await?;
        Ok(waiting.iter().any(|one| one.tries == 1).then_some(()))
    })
    .await?;
    provider.is_well.store(true, Ordering::SeqCst);
    let before = fixture.merchant.bench.clock.now();
    let half_an_hour = Duration::from_secs(1_800);
    let next = fixture.restarted(before.minus(half_an_hour)).await?;
    eventually("the money is known", SOON, async || {
        let tx = next.transaction(id).await?;
        Ok((tx.status() == Status::Success).then_some(()))
    })
    .await?;
    assert_eq!(provider.asked(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_may_look_at_the_provider_and_may_not_move_money() -> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("pending ch_9").await?;
    for (count, does, because) in [
        // There is no listener, which is a failure like any other; but the engine refuses nothing.
        (1, "look", "cannot be reached"),
        (2, "charge", "may not send requests that can move money"),
    ] {
        let news = json!({ "id": "ch_9", "status": "succeeded", "minor": 2_500, "do": does });
        fixture.send_raw(news.to_string(), Some(KEY)).await?;
        let refused = eventually("it is refused", SOON, async || {
            fixture.merchant.bench.clock.advance(Duration::from_secs(5));
            let mut refused = fixture.callbacks(Some(CallbackState::Refused)).await?;
            Ok((refused.len() == count).then(|| refused.swap_remove(0)))
        });
        let note = refused.await?.note.unwrap_or_default();
        assert!(note.contains(because), "{does}: {note}");
    }
    assert_eq!(fixture.transaction(id).await?.status(), Status::Pending);
    Ok(())
}
