//! Verified callbacks by several ids of one attempt. Money that names the id alone is found as soon
//! as a callback has named the id beside our reference.

use serde_json::{Value, json};
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{AttemptState, Case, CaseReason, Status, Transaction};
use switchyard_engine::callback::CallbackState;
use switchyard_tests::eventually;

use crate::fixture::{Fixture, KEY, SOON};
use crate::races::allow_three_attempts;

/// Provider's id of the try that paid.
const PAID_TRY: &str = "ch_paid";

async fn tell(fixture: &Fixture, news: &Value) -> anyhow::Result<()> {
    Ok(fixture.send_raw(news.to_string(), Some(KEY)).await?)
}

fn money() -> Value {
    json!({ "id": PAID_TRY, "status": "paid", "minor": 2_500 })
}

async fn decline(fixture: &Fixture, id: TransactionId) -> anyhow::Result<Value> {
    let reference = fixture.reference(id).await?;
    Ok(json!({ "reference": reference, "id": PAID_TRY, "status": "declined", "minor": 0 }))
}

async fn until_in(fixture: &Fixture, id: TransactionId, state: AttemptState) -> anyhow::Result<()> {
    eventually("the state of the attempt", SOON, async || {
        let found = fixture.transaction(id).await?;
        Ok((found.attempts[0].state == state).then_some(()))
    })
    .await
}

/// A payment whose first attempt was declined without an id.
async fn declined(fixture: &Fixture) -> anyhow::Result<TransactionId> {
    let id = fixture.confirmed("decline").await?;
    until_in(fixture, id, AttemptState::Declined).await?;
    Ok(id)
}

/// Waits until the money of the try is known.
async fn until_found(fixture: &Fixture, id: TransactionId) -> anyhow::Result<Transaction> {
    eventually("the money of the other try", SOON, async || {
        fixture.merchant.bench.clock.advance(SOON / 20);
        let found = fixture.transaction(id).await?;
        let mut charges = found.attempts[0].charges.iter();
        let is_known = charges.any(|charge| charge.id.as_deref() == Some(PAID_TRY));
        Ok(is_known.then(|| Transaction::clone(&found)))
    })
    .await
}

/// Waits until the attempt has the id of the other try.
async fn until_named(fixture: &Fixture, id: TransactionId) -> anyhow::Result<Transaction> {
    eventually("the id of the other try", SOON, async || {
        let found = fixture.transaction(id).await?;
        let is_named = found.attempts[0].further_ids == [PAID_TRY];
        Ok(is_named.then(|| Transaction::clone(&found)))
    })
    .await
}

/// The first answer of the provider, and the state of the attempt that follows it.
const FIRST_ANSWERS: [(&str, AttemptState); 3] = [
    ("decline", AttemptState::Declined),
    ("decline ch_7", AttemptState::Declined),
    ("pending ch_9", AttemptState::Pending),
];

#[tokio::test(flavor = "multi_thread")]
async fn money_by_an_id_alone_that_came_before_the_decline_that_names_the_id_is_found()
-> anyhow::Result<()> {
    for (description, state) in FIRST_ANSWERS {
        let fixture = Fixture::misbehaving().await?;
        allow_three_attempts(&fixture).await?;
        let id = fixture.confirmed(description).await?;
        until_in(&fixture, id, state).await?;
        tell(&fixture, &money()).await?;
        fixture.dealt_with(1).await?;
        let parked = fixture.callbacks(Some(CallbackState::Unmatched)).await?;
        assert_eq!(parked.len(), 1, "{description}");
        tell(&fixture, &decline(&fixture, id).await?).await?;
        let found = until_found(&fixture, id).await?;
        assert_eq!(found.status(), Status::Success, "{description}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn money_by_an_id_alone_that_comes_after_the_decline_that_names_the_id_is_found()
-> anyhow::Result<()> {
    for (description, state) in FIRST_ANSWERS {
        let fixture = Fixture::misbehaving().await?;
        allow_three_attempts(&fixture).await?;
        let id = fixture.confirmed(description).await?;
        until_in(&fixture, id, state).await?;
        let news = decline(&fixture, id).await?;
        for _ in 0..2 {
            tell(&fixture, &news).await?;
        }
        let named = until_named(&fixture, id).await?;
        assert_eq!(named.attempts[0].state, state, "{description}");
        tell(&fixture, &money()).await?;
        let found = until_found(&fixture, id).await?;
        assert_eq!(found.status(), Status::Success, "{description}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn money_by_an_id_that_declines_give_to_two_payments_is_credited_to_neither()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    allow_three_attempts(&fixture).await?;
    let mut both = Vec::new();
    for _ in 0..2 {
        let id = declined(&fixture).await?;
        tell(&fixture, &decline(&fixture, id).await?).await?;
        until_named(&fixture, id).await?;
        both.push(id);
    }
    // The provider repeats itself: neither becomes the owner of the id.
    for id in &both {
        tell(&fixture, &decline(&fixture, *id).await?).await?;
    }
    tell(&fixture, &money()).await?;
    for id in both {
        let in_question = until_in_question(&fixture, id).await?;
        assert!(in_question.attempts[0].charges.is_empty());
        assert_eq!(in_question.received(), None);
        assert!(in_question.is_held());
        assert!(!in_question.surely_moved_no_money());
    }
    Ok(())
}

/// Waits until the payment is held for verified money under the id of another one.
async fn until_in_question(fixture: &Fixture, id: TransactionId) -> anyhow::Result<Transaction> {
    eventually("the case about the id", SOON, async || {
        fixture.merchant.bench.clock.advance(SOON / 20);
        let found = fixture.transaction(id).await?;
        let is_about =
            |case: &Case| case.reason == CaseReason::AmbiguousProviderId && case.amount.is_some();
        let is_open = found.cases.iter().any(is_about);
        Ok(is_open.then(|| Transaction::clone(&found)))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_a_paid_payment_under_an_id_of_another_one_holds_the_other_one()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    allow_three_attempts(&fixture).await?;
    let paid = fixture.confirmed("succeed ch_shared").await?;
    let other = fixture.confirmed("decline").await?;
    until_in(&fixture, paid, AttemptState::Succeeded).await?;
    until_in(&fixture, other, AttemptState::Declined).await?;
    for id in [paid, other] {
        tell(&fixture, &decline(&fixture, id).await?).await?;
    }
    until_named(&fixture, other).await?;
    let mut news = decline(&fixture, paid).await?;
    news["status"] = json!("paid");
    news["minor"] = json!(2_500);
    tell(&fixture, &news).await?;
    let held = until_in_question(&fixture, other).await?;
    assert!(held.is_held());
    assert!(!held.surely_moved_no_money());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_under_an_id_by_which_another_payment_was_credited_holds_its_own_payment()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    allow_three_attempts(&fixture).await?;
    let both = [declined(&fixture).await?, declined(&fixture).await?];
    tell(&fixture, &money()).await?;
    fixture.dealt_with(1).await?;
    tell(&fixture, &decline(&fixture, both[0]).await?).await?;
    until_found(&fixture, both[0]).await?;
    tell(&fixture, &decline(&fixture, both[1]).await?).await?;
    let held = until_in_question(&fixture, both[1]).await?;
    assert!(held.is_held());
    assert!(!held.surely_moved_no_money());
    Ok(())
}
