//! Redirect, answer, poll and callback come in any order, and twice, and contradict each other.

use serde_json::json;
use switchyard_core::ids::ConnectionId;
use switchyard_core::transaction::{CaseReason, Status, Transaction};
use switchyard_engine::access::{NewApp, NewConnection};
use switchyard_engine::callback::CallbackState;

use crate::bench::{Bench, DECLINES, PAYS, SECRET, STAYS_PENDING, connection, news};

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_success_ends_a_payment_that_waits() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    bench.send(&bench.news(id, "success").await?).await?;
    let callbacks = bench.dealt_with(1).await?;
    assert_eq!(
        callbacks[0].state,
        CallbackState::Matched,
        "{:?}",
        callbacks[0]
    );
    assert_eq!(callbacks[0].trusted, Some(true));
    let paid = bench.transaction(id).await?;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(paid.attempts[0].captured, Some(paid.amount));
    assert_eq!(bench.asked(id).await?, 0, "nobody had to be asked");
    let about = bench.merchant.bench.engine.callbacks_about(id).await?;
    assert_eq!(about.len(), 1, "it is on the timeline");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_callback_many_times_counts_once() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let news = bench.news(id, "success").await?;
    for _ in 0..20 {
        bench.send(&news).await?;
    }
    bench.dealt_with(20).await?;
    let paid = bench.transaction(id).await?;
    assert_eq!((paid.status(), paid.attempts.len()), (Status::Success, 1));
    assert!(paid.cases.is_empty());
    let timeline = bench.merchant.bench.engine.timeline(id).await?;
    bench.send(&news).await?;
    bench.dealt_with(21).await?;
    assert_eq!(bench.merchant.bench.engine.timeline(id).await?, timeline);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_that_comes_after_the_end_changes_nothing() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    bench.send(&bench.news(id, "success").await?).await?;
    bench.dealt_with(1).await?;
    bench.send(&bench.news(id, "pending").await?).await?;
    bench.dealt_with(2).await?;
    let paid = bench.transaction(id).await?;
    assert_eq!(paid.status(), Status::Success);
    assert!(paid.cases.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contradiction_of_the_end_opens_a_case_and_changes_nothing() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let paid = bench.paying(PAYS).await?;
    let declined = bench.paying(DECLINES).await?;
    bench.send(&bench.news(paid, "failed").await?).await?;
    bench.send(&bench.news(declined, "success").await?).await?;
    bench.dealt_with(2).await?;
    for (id, status, reason) in [
        (paid, Status::Success, CaseReason::SuccessContradicted),
        (declined, Status::Failed, CaseReason::MoneyAfterTheEnd),
    ] {
        let found = bench.transaction(id).await?;
        assert_eq!(found.status(), status);
        let reasons: Vec<_> = found.cases.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, [reason]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_callback_changes_nothing_and_is_kept() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let before = bench.transaction(id).await?;
    let news = bench.news(id, "success").await?.to_string();
    bench.send_raw(news.clone(), None).await?;
    bench.send_raw(news.clone(), Some("another key")).await?;
    bench.send_raw("{".to_owned(), Some(SECRET)).await?;
    let callbacks = bench.dealt_with(3).await?;
    for forged in &callbacks {
        assert_eq!(forged.state, CallbackState::Refused, "{forged:?}");
        assert_eq!(forged.transaction, None);
    }
    assert_eq!(bench.transaction(id).await?, before);
    assert_eq!(
        bench.callbacks(Some(CallbackState::Refused)).await?.len(),
        3
    );
    Ok(())
}

/// A connection of another app to the same gateway, whose callbacks are signed with `secret`.
async fn strangers(bench: &Bench, secret: &str) -> anyhow::Result<ConnectionId> {
    let access = bench.merchant.bench.engine.access();
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
        ..connection(&bench.merchant)
    };
    Ok(access.create_connection(new).await?.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_signs_at_a_connection_of_their_own_is_about_nothing_of_ours()
-> anyhow::Result<()> {
    let theirs = "a secret of a stranger's";
    let mut bench = Bench::signed().await?;
    let foreign = strangers(&bench, theirs).await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let before = bench.transaction(id).await?;
    let paid = bench.news(id, "success").await?;
    let provider_id = before.attempts[0].provider_id.clone();
    assert_eq!(provider_id.as_deref(), paid["id"].as_str());
    let mut by_reference = paid.clone();
    by_reference["id"] = json!(null);
    let mut by_id = paid.clone();
    by_id["reference"] = json!(null);
    let declined = bench.news(id, "failed").await?;
    let all = [&paid, &by_reference, &by_id, &declined];

    let own = std::mem::replace(&mut bench.connection, foreign);
    for news in all {
        bench.send_raw(news.to_string(), Some(theirs)).await?;
    }
    let heard = bench.dealt_with(all.len()).await?;
    for callback in &heard {
        let stands = (callback.state, callback.trusted, callback.transaction);
        let nobody = (CallbackState::Unmatched, Some(true), None);
        assert_eq!(stands, nobody, "{callback:?}");
        assert_eq!(callback.connection, foreign);
    }
    bench.connection = own;
    assert!(bench.callbacks(None).await?.is_empty());
    // Nor does their secret open our door.
    bench.send_raw(paid.to_string(), Some(theirs)).await?;
    assert_eq!(bench.dealt_with(1).await?[0].state, CallbackState::Refused);
    let engine = &bench.merchant.bench.engine;
    assert!(engine.callbacks_about(id).await?.is_empty());
    // The engine may have queried in between: the clock was advanced.
    let after = bench.transaction(id).await?;
    let stands = |tx: &Transaction| (tx.status(), tx.attempts.len(), tx.attempts[0].captured);
    assert_eq!(stands(&after), stands(&before));
    assert_eq!(after.cases, []);
    assert_eq!(bench.asked(id).await?, 0);
    // A callback to our own connection counts.
    bench.send(&paid).await?;
    bench.dealt_with(2).await?;
    assert_eq!(bench.transaction(id).await?.status(), Status::Success);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn less_money_or_other_money_is_no_success() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let reference = bench.reference(id).await?;
    let mut other_currency = news(&reference, "success");
    other_currency["currency"] = json!("XOF");
    bench.send(&other_currency).await?;
    bench.dealt_with(1).await?;
    assert_eq!(bench.transaction(id).await?.status(), Status::Pending);
    let mut too_little = news(&reference, "success");
    too_little["amount"] = json!(2_499);
    bench.send(&too_little).await?;
    bench.dealt_with(2).await?;
    let waits = bench.transaction(id).await?;
    assert_eq!(waits.status(), Status::Pending);
    assert_eq!(waits.cases[0].reason, CaseReason::AmountDiffers);
    Ok(())
}

/// A provider may make a new charge for each try of a payer on its page, all under our reference.
#[tokio::test(flavor = "multi_thread")]
async fn another_charge_under_our_reference_is_a_success_but_its_decline_only_a_hint()
-> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let reference = bench.reference(id).await?;
    let of_another_charge = |status: &str| {
        let mut news = news(&reference, status);
        news["id"] = json!("demo-second-try");
        news
    };
    bench.send(&of_another_charge("failed")).await?;
    bench.dealt_with(1).await?;
    assert_eq!(bench.transaction(id).await?.status(), Status::Pending);
    assert!(bench.asked(id).await? >= 1, "the provider is asked instead");
    bench.send(&of_another_charge("success")).await?;
    bench.dealt_with(2).await?;
    let paid = bench.transaction(id).await?;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(
        paid.attempts[0].provider_id.as_deref(),
        Some("demo-second-try")
    );
    assert!(paid.cases.is_empty(), "{:?}", paid.cases);
    Ok(())
}

/// Neither attempt is proven to be paid, so both keep their state. Only a signed callback opens
/// cases, and about a succeeded attempt one with the amount of the second charge.
#[tokio::test(flavor = "multi_thread")]
async fn a_reference_with_the_id_of_another_attempt_settles_nothing_and_opens_a_case()
-> anyhow::Result<()> {
    for (is_signed, number, about_it, about_other) in [
        (
            true,
            STAYS_PENDING,
            Some(CaseReason::AmbiguousProviderId),
            1,
        ),
        (true, PAYS, Some(CaseReason::ContradictingSuccess), 0),
        (false, STAYS_PENDING, None, 0),
        (false, PAYS, None, 0),
    ] {
        let bench = match is_signed {
            true => Bench::signed().await?,
            false => Bench::unsigned().await?,
        };
        let other = bench.paying(STAYS_PENDING).await?;
        let id = bench.paying(number).await?;
        let before = bench.transaction(id).await?;
        let mut news = bench.news(id, "success").await?;
        news["id"] = bench.news(other, "success").await?["id"].clone();
        bench.send(&news).await?;
        bench.send(&news).await?;
        bench.dealt_with(2).await?;
        let after = bench.transaction(id).await?;
        assert_eq!(after.status(), before.status());
        let reasons: Vec<_> = after.cases.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, Vec::from_iter(about_it), "{number} {is_signed}");
        if let Some(case) = after.cases.first()
            && case.reason == CaseReason::ContradictingSuccess
        {
            assert_eq!(case.amount, Some(after.amount));
        }
        let other = bench.transaction(other).await?;
        assert_eq!(other.status(), Status::Pending);
        assert_eq!(other.cases.len(), about_other);
    }
    Ok(())
}

/// Nor is money whose amount is not named, and it is not forgotten either.
#[tokio::test(flavor = "multi_thread")]
async fn money_without_an_amount_opens_a_case_also_after_the_end() -> anyhow::Result<()> {
    let bench = Bench::signed().await?;
    for number in [STAYS_PENDING, DECLINES] {
        let id = bench.paying(number).await?;
        let before = bench.callbacks(None).await?.len();
        let mut unnamed = bench.news(id, "success").await?;
        unnamed["amount"] = json!(-1);
        bench.send(&unnamed).await?;
        bench.dealt_with(before + 1).await?;
        let transaction = bench.transaction(id).await?;
        assert_ne!(transaction.status(), Status::Success);
        assert!(!transaction.surely_moved_no_money());
        assert_eq!(transaction.cases.len(), 1, "{:?}", transaction.cases);
        assert_eq!(transaction.cases[0].amount, None);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_has_the_provider_asked_and_counts_for_nothing_itself() -> anyhow::Result<()> {
    let bench = Bench::unsigned().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    bench.send(&bench.news(id, "success").await?).await?;
    let callbacks = bench.dealt_with(1).await?;
    assert_eq!(callbacks[0].state, CallbackState::Matched);
    assert_eq!(callbacks[0].trusted, Some(false));
    assert_eq!(bench.asked(id).await?, 1);
    assert_eq!(bench.transaction(id).await?.status(), Status::Pending);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_hints_at_once_are_one_question() -> anyhow::Result<()> {
    let bench = Bench::unsigned().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let hint = bench.news(id, "success").await?;
    for _ in 0..30 {
        bench.send(&hint).await?;
    }
    bench.dealt_with(30).await?;
    let asked = bench.asked(id).await?;
    assert!((1..=2).contains(&asked), "{asked} times");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_hints_about_one_payment_are_neither_kept_nor_asked_about() -> anyhow::Result<()>
{
    let bench = Bench::unsigned().await?;
    let id = bench.paying(STAYS_PENDING).await?;
    let hint = bench.news(id, "success").await?;
    let kept = switchyard_core::limits::CALLBACKS_PER_TRANSACTION;
    for _ in 0..kept {
        bench.send(&hint).await?;
    }
    bench.dealt_with(kept).await?;
    let asked = bench.asked(id).await?;
    for _ in 0..50 {
        bench.send(&hint).await?;
    }
    bench.dealt_with(kept).await?;
    assert_eq!(bench.asked(id).await?, asked);
    Ok(())
}
