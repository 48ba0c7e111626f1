//! Redirect, answer, poll and callback come in any order, and twice, and contradict each other.

use std::time::Duration;

use serde_json::json;
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::transaction::{CaseReason, Status, Transaction};
use switchyard_engine::access::{AppChange, AppSettings, NewApp, NewConnection};
use switchyard_engine::callback::CallbackState;
use switchyard_tests::eventually;

use crate::fixture::{DECLINES, Fixture, KEY, PAYS, SECRET, SOON, STAYS_PENDING, connection, news};
use crate::late_success::checkout_page;

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_success_ends_a_payment_that_waits() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    fixture.send(&fixture.news(id, "success").await?).await?;
    let callbacks = fixture.dealt_with(1).await?;
    assert_eq!(
        callbacks[0].state,
        CallbackState::Matched,
        "{:?}",
        callbacks[0]
    );
    assert_eq!(callbacks[0].trusted, Some(true));
    let paid = fixture.transaction(id).await?;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(paid.attempts[0].captured, Some(paid.amount));
    assert_eq!(fixture.asked(id).await?, 0, "nobody had to be asked");
    let about = fixture.merchant.bench.engine.callbacks_about(id).await?;
    assert_eq!(about.len(), 1, "it is on the timeline");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_callback_many_times_counts_once() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let news = fixture.news(id, "success").await?;
    for _ in 0..20 {
        fixture.send(&news).await?;
    }
    fixture.dealt_with(20).await?;
    let paid = fixture.transaction(id).await?;
    assert_eq!((paid.status(), paid.attempts.len()), (Status::Success, 1));
    assert!(paid.cases.is_empty());
    let timeline = fixture.merchant.bench.engine.timeline(id).await?;
    fixture.send(&news).await?;
    fixture.dealt_with(21).await?;
    assert_eq!(fixture.merchant.bench.engine.timeline(id).await?, timeline);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_that_comes_after_the_end_changes_nothing() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    fixture.send(&fixture.news(id, "success").await?).await?;
    fixture.dealt_with(1).await?;
    fixture.send(&fixture.news(id, "pending").await?).await?;
    fixture.dealt_with(2).await?;
    let paid = fixture.transaction(id).await?;
    assert_eq!(paid.status(), Status::Success);
    assert!(paid.cases.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contradiction_of_the_end_opens_a_case_and_changes_nothing() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let paid = fixture.paying(PAYS).await?;
    let declined = fixture.paying(DECLINES).await?;
    fixture.send(&fixture.news(paid, "failed").await?).await?;
    fixture
        .send(&fixture.news(declined, "success").await?)
        .await?;
    fixture.dealt_with(2).await?;
    for (id, status, reason) in [
        (paid, Status::Success, CaseReason::SuccessContradicted),
        (declined, Status::Failed, CaseReason::MoneyAfterTheEnd),
    ] {
        let found = fixture.transaction(id).await?;
        assert_eq!(found.status(), status);
        let reasons: Vec<_> = found.cases.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, [reason]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_callback_changes_nothing_and_is_kept() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let before = fixture.transaction(id).await?;
    let news = fixture.news(id, "success").await?.to_string();
    fixture.send_raw(news.clone(), None).await?;
    fixture.send_raw(news.clone(), Some("another key")).await?;
    fixture.send_raw("{".to_owned(), Some(SECRET)).await?;
    let callbacks = fixture.dealt_with(3).await?;
    for forged in &callbacks {
        assert_eq!(forged.state, CallbackState::Refused, "{forged:?}");
        assert_eq!(forged.transaction, None);
    }
    assert_eq!(fixture.transaction(id).await?, before);
    assert_eq!(
        fixture.callbacks(Some(CallbackState::Refused)).await?.len(),
        3
    );
    Ok(())
}

/// A connection of another app to the same gateway, whose callbacks are signed with `secret`.
async fn strangers(fixture: &Fixture, secret: &str) -> anyhow::Result<ConnectionId> {
    let access = fixture.merchant.bench.engine.access();
    let account = access.create_account("A stranger").await?.id;
    let new = NewApp {
        account,
        name: "The stranger's".to_owned(),
        icon_url: None,
        website_url: None,
        settings: Default::default(),
    };
    let new = NewConnection {
        app: access.create_app(new).await?.id,
        config: json!({ "callback_secret": secret }),
        ..connection(&fixture.merchant)
    };
    Ok(access.create_connection(new).await?.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_signs_at_a_connection_of_their_own_is_about_nothing_of_ours()
-> anyhow::Result<()> {
    let theirs = "a secret of a stranger's";
    let mut fixture = Fixture::signed().await?;
    let foreign = strangers(&fixture, theirs).await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let before = fixture.transaction(id).await?;
    let paid = fixture.news(id, "success").await?;
    let provider_id = before.attempts[0].provider_id.clone();
    assert_eq!(provider_id.as_deref(), paid["id"].as_str());
    let mut by_reference = paid.clone();
    by_reference["id"] = json!(null);
    let mut by_id = paid.clone();
    by_id["reference"] = json!(null);
    let declined = fixture.news(id, "failed").await?;
    let all = [&paid, &by_reference, &by_id, &declined];

    let own = std::mem::replace(&mut fixture.connection, foreign);
    for news in all {
        fixture.send_raw(news.to_string(), Some(theirs)).await?;
    }
    let heard = fixture.dealt_with(all.len()).await?;
    for callback in &heard {
        let stands = (callback.state, callback.trusted, callback.transaction);
        let nobody = (CallbackState::Unmatched, Some(true), None);
        assert_eq!(stands, nobody, "{callback:?}");
        assert_eq!(callback.connection, foreign);
    }
    fixture.connection = own;
    assert!(fixture.callbacks(None).await?.is_empty());
    // Nor does their secret open our door.
    fixture.send_raw(paid.to_string(), Some(theirs)).await?;
    assert_eq!(
        fixture.dealt_with(1).await?[0].state,
        CallbackState::Refused
    );
    let engine = &fixture.merchant.bench.engine;
    assert!(engine.callbacks_about(id).await?.is_empty());
    // The engine may have queried in between: the clock was advanced.
    let after = fixture.transaction(id).await?;
    let stands = |tx: &Transaction| (tx.status(), tx.attempts.len(), tx.attempts[0].captured);
    assert_eq!(stands(&after), stands(&before));
    assert_eq!(after.cases, []);
    assert_eq!(fixture.asked(id).await?, 0);
    // A callback to our own connection counts.
    fixture.send(&paid).await?;
    fixture.dealt_with(2).await?;
    assert_eq!(fixture.transaction(id).await?.status(), Status::Success);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn less_money_or_other_money_is_no_success() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let reference = fixture.reference(id).await?;
    let mut other_currency = news(&reference, "success");
    other_currency["currency"] = json!("XOF");
    fixture.send(&other_currency).await?;
    fixture.dealt_with(1).await?;
    assert_eq!(fixture.transaction(id).await?.status(), Status::Pending);
    let mut too_little = news(&reference, "success");
    too_little["amount"] = json!(2_499);
    fixture.send(&too_little).await?;
    fixture.dealt_with(2).await?;
    let waits = fixture.transaction(id).await?;
    assert_eq!(waits.status(), Status::Pending);
    assert_eq!(waits.cases[0].reason, CaseReason::AmountDiffers);
    Ok(())
}

/// A provider may make a new charge for each try of a payer on its page, all under our reference.
#[tokio::test(flavor = "multi_thread")]
async fn another_charge_under_our_reference_is_a_success_but_its_decline_only_a_hint()
-> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let reference = fixture.reference(id).await?;
    let of_another_charge = |status: &str| {
        let mut news = news(&reference, status);
        news["id"] = json!("demo-second-try");
        news
    };
    fixture.send(&of_another_charge("failed")).await?;
    fixture.dealt_with(1).await?;
    assert_eq!(fixture.transaction(id).await?.status(), Status::Pending);
    assert!(
        fixture.asked(id).await? >= 1,
        "the provider is asked instead"
    );
    fixture.send(&of_another_charge("success")).await?;
    fixture.dealt_with(2).await?;
    let paid = fixture.transaction(id).await?;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(
        paid.attempts[0].provider_id.as_deref(),
        Some("demo-second-try")
    );
    assert!(paid.cases.is_empty(), "{:?}", paid.cases);
    Ok(())
}

/// The engine has recorded the second charge, so a decline by its id takes that money back.
#[tokio::test(flavor = "multi_thread")]
async fn a_verified_decline_of_a_recorded_second_charge_takes_it_back() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    let id = fixture.paying(PAYS).await?;
    let mut second = fixture.news(id, "success").await?;
    second["id"] = json!("demo-second-charge");
    fixture.send(&second).await?;
    fixture.dealt_with(1).await?;
    second["status"] = json!("failed");
    fixture.send(&second).await?;
    fixture.dealt_with(2).await?;
    let after = fixture.transaction(id).await?;
    let reasons: Vec<_> = after.cases.iter().map(|case| case.reason).collect();
    let expected = [
        CaseReason::ContradictingSuccess,
        CaseReason::SuccessContradicted,
    ];
    assert_eq!(reasons, expected);
    let charges = &after.attempts[0].charges;
    let taken_back: Vec<_> = charges.iter().map(|charge| charge.is_taken_back).collect();
    assert_eq!(taken_back, [false, true]);
    assert!(after.success_stands());
    Ok(())
}

/// Neither attempt is proven to be paid, so both keep their state. Only a signed callback opens
/// cases: one about each attempt, and about a succeeded one another with the second charge.
#[tokio::test(flavor = "multi_thread")]
async fn a_reference_with_the_id_of_another_attempt_settles_nothing_and_opens_a_case()
-> anyhow::Result<()> {
    use CaseReason::{AmbiguousProviderId, ContradictingSuccess};
    let of_paid = [ContradictingSuccess, AmbiguousProviderId];
    for (is_signed, number, about_it, about_other) in [
        (true, STAYS_PENDING, &[AmbiguousProviderId][..], 1),
        (true, PAYS, &of_paid, 1),
        (false, STAYS_PENDING, &[], 0),
        (false, PAYS, &[], 0),
    ] {
        let fixture = match is_signed {
            true => Fixture::signed().await?,
            false => Fixture::unsigned().await?,
        };
        let other = fixture.paying(STAYS_PENDING).await?;
        let id = fixture.paying(number).await?;
        let before = fixture.transaction(id).await?;
        let mut news = fixture.news(id, "success").await?;
        news["id"] = fixture.news(other, "success").await?["id"].clone();
        fixture.send(&news).await?;
        fixture.send(&news).await?;
        fixture.dealt_with(2).await?;
        let after = fixture.transaction(id).await?;
        assert_eq!(after.status(), before.status());
        let reasons: Vec<_> = after.cases.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, about_it, "{number} {is_signed}");
        if let Some(case) = after.cases.first()
            && case.reason == ContradictingSuccess
        {
            assert_eq!(case.amount, Some(after.amount));
        }
        let other = fixture.transaction(other).await?;
        assert_eq!(other.status(), Status::Pending);
        assert_eq!(other.cases.len(), about_other);
    }
    Ok(())
}

/// A success with the reference of a declined attempt and the id of another one may be of either.
#[tokio::test(flavor = "multi_thread")]
async fn a_declined_attempt_with_a_success_under_the_id_of_another_one_is_not_paid_again()
-> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    allow_three_attempts(&fixture).await?;
    let other = fixture.paying(STAYS_PENDING).await?;
    let id = fixture.paying(DECLINES).await?;
    let mut news = fixture.news(id, "success").await?;
    news["id"] = fixture.news(other, "success").await?["id"].clone();
    for number in 1..=2 {
        fixture.send(&news).await?;
        fixture.dealt_with(number).await?;
        let payment = fixture.transaction(id).await?;
        assert_eq!(payment.status(), Status::Pending);
        let attention = payment.attention();
        assert_eq!(attention, Some(CaseReason::AmbiguousProviderId));
        asks_for_nothing(&wait_page(&fixture, id).await?);
        let again = fixture.merchant.pay(&id.to_string(), PAYS).await;
        assert!(again.is_err(), "a second attempt was taken");
    }
    // The id alone now names both, so that a decline under it settles neither.
    let nameless = json!({ "id": news["id"], "status": "failed" });
    fixture.send(&nameless).await?;
    fixture.dealt_with(3).await?;
    let other = fixture.transaction(other).await?;
    assert_eq!(other.status(), Status::Pending);
    assert_eq!(other.attempts[0].decline, None);
    Ok(())
}

pub async fn allow_three_attempts(fixture: &Fixture) -> anyhow::Result<()> {
    let app = fixture.merchant.bench.caller().app.clone();
    let change = AppChange {
        settings: Some(AppSettings {
            checkout_attempts: 3,
            ..app.settings.clone()
        }),
        ..AppChange::default()
    };
    let access = fixture.merchant.bench.engine.access();
    access.update_app(app.id, change).await?;
    Ok(())
}

fn asks_for_nothing(page: &str) {
    assert!(page.contains("do not pay again"), "{page}");
    assert!(!page.contains("Nothing was taken"), "{page}");
    for invitation in ["<form", "/choose", "/details", "/again"] {
        assert!(!page.contains(invitation), "{invitation} in {page}");
    }
}

/// Neither attempt is proven to be paid: each is queried by our own reference.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_two_attempts_alone_settles_neither_and_opens_a_case_about_each()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let payments = [
        fixture.confirmed("pending ch_shared").await?,
        fixture.confirmed("pending ch_shared").await?,
    ];
    for id in payments {
        eventually("the provider has named its id", SOON, async || {
            let attempt = &fixture.transaction(id).await?.attempts[0];
            let is_named = attempt.provider_id.as_deref() == Some("ch_shared");
            Ok(is_named.then_some(()))
        })
        .await?;
    }
    let by_id = json!({ "id": "ch_shared", "status": "succeeded", "minor": 2_500 });
    fixture.send_raw(by_id.to_string(), Some(KEY)).await?;
    let callback = fixture.dealt_with(1).await?.remove(0);
    assert_eq!(callback.trusted, Some(true));
    assert_eq!(callback.transaction, None, "it is about neither");
    let note = callback.note.unwrap_or_default();
    assert!(note.contains("queried by our reference"), "{note}");
    // Time for the answers of the queries.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for id in payments {
        let payment = fixture.transaction(id).await?;
        assert_eq!(payment.status(), Status::Pending);
        assert_eq!(payment.attempts[0].captured, None);
        let reasons: Vec<_> = payment.cases.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, [CaseReason::AmbiguousProviderId]);
        assert_eq!(payment.cases[0].reference, payment.attempts[0].reference);
        // The gateway would report the charge of that id for both: it was asked by reference only.
        assert!(fixture.asked(id).await? >= 1, "its provider is asked");
    }
    Ok(())
}

/// Both payments succeed, for the provider reported that of each, and a person looks at both.
#[tokio::test(flavor = "multi_thread")]
async fn two_payments_that_succeed_at_once_under_one_id_open_a_case_about_each()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let (one, other) = tokio::try_join!(
        fixture.confirmed("succeed ch_shared"),
        fixture.confirmed("succeed ch_shared"),
    )?;
    for id in [one, other] {
        let cases = eventually("a case about the id", SOON, async || {
            let payment = fixture.transaction(id).await?;
            Ok(Some(payment.cases.clone()).filter(|cases| !cases.is_empty()))
        })
        .await?;
        let reasons: Vec<_> = cases.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, [CaseReason::AmbiguousProviderId]);
        assert_eq!(cases[0].provider_id.as_deref(), Some("ch_shared"));
        let payment = fixture.transaction(id).await?;
        assert_eq!(payment.status(), Status::Success);
    }
    Ok(())
}

/// The page of a payment whose provider counts in another unit asks for no more money.
#[tokio::test(flavor = "multi_thread")]
async fn money_received_so_far_in_another_unit_opens_a_case_and_nobody_is_asked_to_pay()
-> anyhow::Result<()> {
    let fixture = Fixture::misbehaving().await?;
    let id = fixture.confirmed("receive in another unit").await?;
    let payment = eventually("a case about the amount", SOON, async || {
        let payment = fixture.transaction(id).await?;
        Ok(Some(payment).filter(|payment| !payment.cases.is_empty()))
    })
    .await?;
    assert_eq!(payment.status(), Status::Pending);
    assert!(!payment.surely_moved_no_money());
    assert_eq!(payment.cases[0].reason, CaseReason::AmountDiffers);
    assert_eq!(payment.cases[0].amount, None);
    let page = wait_page(&fixture, id).await?;
    asks_for_nothing(&page);
    Ok(())
}

/// The wait page of a payment: its text.
async fn wait_page(fixture: &Fixture, id: TransactionId) -> anyhow::Result<String> {
    let (status, _, text) = checkout_page(fixture, id, "/wait", None).await?;
    anyhow::ensure!(status == 200, "{status}");
    Ok(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_first_attempt_is_paid_late_asks_for_no_more_money() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    allow_three_attempts(&fixture).await?;
    let id = fixture.paying(DECLINES).await?;
    fixture.merchant.pay(&id.to_string(), STAYS_PENDING).await?;
    let references = fixture.transaction(id).await?;
    let references = references.attempts.iter();
    let references: Vec<_> = references
        .map(|attempt| attempt.reference.to_string())
        .collect();
    assert_eq!(references.len(), 2);
    let verified = async || {
        let path = format!("/v1/payments/{id}/verify");
        let verified = fixture.merchant.get(&path).await?;
        anyhow::Ok(verified.body["data"].clone())
    };
    assert_eq!(verified().await?["amount_received"], json!(null));

    fixture.send(&news(&references[0], "success")).await?;
    fixture.dealt_with(1).await?;
    let held = verified().await?;
    assert_eq!(held["status"], "pending");
    assert_eq!(held["attention"], "money_after_the_end");
    assert_eq!(held["amount_received"], json!(25));
    assert_eq!(held["currency_received"], "USD");
    let page = wait_page(&fixture, id).await?;
    assert!(page.contains("We have received money"), "{page}");
    asks_for_nothing(&page);
    let again = fixture.merchant.pay(&id.to_string(), PAYS).await;
    assert!(again.is_err(), "a third attempt was taken");

    fixture.send(&news(&references[1], "success")).await?;
    fixture.dealt_with(2).await?;
    let twice = verified().await?;
    assert_eq!(twice["status"], "success");
    assert_eq!(twice["attention"], "paid_twice");
    assert_eq!(twice["amount_received"], json!(50));
    let paid = fixture.transaction(id).await?;
    assert_eq!(paid.attempts.len(), 2);
    Ok(())
}

/// Nor is money whose amount is not named, and it is not forgotten either.
#[tokio::test(flavor = "multi_thread")]
async fn money_without_an_amount_opens_a_case_also_after_the_end() -> anyhow::Result<()> {
    let fixture = Fixture::signed().await?;
    for number in [STAYS_PENDING, DECLINES] {
        let id = fixture.paying(number).await?;
        let before = fixture.callbacks(None).await?.len();
        let mut unnamed = fixture.news(id, "success").await?;
        unnamed["amount"] = json!(-1);
        fixture.send(&unnamed).await?;
        fixture.dealt_with(before + 1).await?;
        let transaction = fixture.transaction(id).await?;
        assert_ne!(transaction.status(), Status::Success);
        assert!(!transaction.surely_moved_no_money());
        assert_eq!(transaction.cases.len(), 1, "{:?}", transaction.cases);
        assert_eq!(transaction.cases[0].amount, None);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_has_the_provider_asked_and_counts_for_nothing_itself() -> anyhow::Result<()> {
    let fixture = Fixture::unsigned().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    fixture.send(&fixture.news(id, "success").await?).await?;
    let callbacks = fixture.dealt_with(1).await?;
    assert_eq!(callbacks[0].state, CallbackState::Matched);
    assert_eq!(callbacks[0].trusted, Some(false));
    assert_eq!(fixture.asked(id).await?, 1);
    assert_eq!(fixture.transaction(id).await?.status(), Status::Pending);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_hints_at_once_are_one_question() -> anyhow::Result<()> {
    let fixture = Fixture::unsigned().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let hint = fixture.news(id, "success").await?;
    for _ in 0..30 {
        fixture.send(&hint).await?;
    }
    fixture.dealt_with(30).await?;
    let asked = fixture.asked(id).await?;
    assert!((1..=2).contains(&asked), "{asked} times");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_hints_about_one_payment_are_neither_kept_nor_asked_about() -> anyhow::Result<()>
{
    let fixture = Fixture::unsigned().await?;
    let id = fixture.paying(STAYS_PENDING).await?;
    let hint = fixture.news(id, "success").await?;
    let kept = switchyard_core::limits::CALLBACKS_PER_TRANSACTION;
    for _ in 0..kept {
        fixture.send(&hint).await?;
    }
    fixture.dealt_with(kept).await?;
    let asked = fixture.asked(id).await?;
    for _ in 0..50 {
        fixture.send(&hint).await?;
    }
    fixture.dealt_with(kept).await?;
    assert_eq!(fixture.asked(id).await?, asked);
    Ok(())
}
