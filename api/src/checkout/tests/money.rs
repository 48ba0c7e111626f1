//! Statements of the pages about open cases, cancellations and transfers.

use switchyard_core::ids::CaseId;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{
    AttemptState, CaseReason, Closed, DeclineReason, Failure, Operator, PayerAction, Refusal,
    State, Transaction,
};
use switchyard_system::ids::Ids;

use super::{gallery, samples};
use crate::checkout::{cancel, error_page, receipt, result, wait};
use switchyard_core::language::Language;

async fn html(page: axum::response::Response) -> String {
    let body = axum::body::to_bytes(page.into_body(), usize::MAX)
        .await
        .unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

async fn waiting(tx: Transaction) -> String {
    html(wait::page(&samples::context(tx, Language::En), None, None)).await
}

#[tokio::test]
async fn a_success_with_an_open_case_says_what_is_wrong_and_does_not_leave_by_itself() {
    let twice = "We have received more than one payment";
    let more = "We have received more than was asked";
    let contradicted = "The provider has reported different amounts for this payment";
    for (reason, sentence) in [
        (CaseReason::PaidTwice, twice),
        (CaseReason::MoneyAfterTheEnd, "is being reviewed"),
        (CaseReason::AmountDiffers, "is being reviewed"),
        (CaseReason::Surplus, more),
        (CaseReason::ContradictingSuccess, contradicted),
        (CaseReason::SuccessContradicted, "and later that it failed"),
        (CaseReason::AmbiguousProviderId, "is being reviewed"),
        (CaseReason::LateSuccess, "is being reviewed"),
        (CaseReason::FoundAfterNotSent, "is being reviewed"),
        (CaseReason::NoFinalAnswer, "is being reviewed"),
    ] {
        let tx = samples::with_case(samples::ended(State::Succeeded), reason);
        let context = samples::context(tx, Language::En);
        let result = html(result::page(&context)).await;
        let receipt = html(receipt::page(&context)).await;
        for page in [&result, &receipt] {
            assert!(page.contains(sentence), "{reason:?}: {sentence}");
            assert!(page.contains("do not pay again") && page.contains("Café Zola"));
        }
        assert!(!result.contains("data-leave="), "{reason:?}");
    }
}

/// After a restore a provider may know an attempt that the store does not: nothing is certain then.
#[tokio::test]
async fn a_paused_page_says_that_no_money_moved_only_when_all_attempts_are_known() {
    let nothing = "Nothing was taken from your account";
    let unknown = "It is not certain yet whether money was taken";
    for (tx, knows_all_attempts, said, unsaid) in [
        (samples::payment(), true, "Payments are paused", nothing),
        (samples::payment(), false, unknown, nothing),
        (samples::declined_once(), true, nothing, unknown),
        (samples::declined_once(), false, unknown, nothing),
    ] {
        let context = samples::context(tx, Language::En);
        let page = html(error_page::paused(&context, knows_all_attempts)).await;
        assert!(page.contains(said), "{said}");
        assert!(!page.contains(unsaid), "{unsaid}");
    }
}

/// A payment whose first attempt was declined and had `reason` opened about its amount; then the
/// provider took that money back if `is_back`.
pub fn money_of_the_first(
    state: State,
    second: AttemptState,
    reason: CaseReason,
    is_back: bool,
) -> Transaction {
    let mut tx = samples::twice_tried(AttemptState::Declined, reason);
    tx.state = state;
    tx.attempts[0].captured = None;
    tx.attempts[1].state = second;
    let is_paid = second == AttemptState::Succeeded;
    tx.attempts[1].captured = is_paid.then_some(tx.amount);
    tx.cases[0].amount = Some(tx.amount);
    if is_back {
        let mut reversal =
            samples::twice_tried(AttemptState::Declined, CaseReason::SuccessContradicted);
        reversal.cases[0].id = CaseId::new(Ids::seeded(13).ulid(reversal.created_at));
        tx.cases.append(&mut reversal.cases);
    }
    tx
}

#[tokio::test]
async fn a_second_payment_that_was_taken_back_is_not_received_any_more() {
    let more = "We have received more than one payment";
    let back = "another payment for this order, and later that it failed";
    for (is_back, says, never) in [(false, more, back), (true, back, more)] {
        let (done, reason) = (AttemptState::Succeeded, CaseReason::PaidTwice);
        let tx = money_of_the_first(State::Succeeded, done, reason, is_back);
        let context = samples::context(tx, Language::En);
        for page in [
            html(result::page(&context)).await,
            html(receipt::page(&context)).await,
        ] {
            assert!(page.contains(says) && !page.contains(never), "{page}");
            assert_eq!(page.contains("Sum of the provider’s reports"), is_back);
        }
    }
}

#[tokio::test]
async fn money_that_was_taken_back_is_not_called_received() {
    for (is_back, says, never) in [
        (false, "We have received", "as failed"),
        (
            true,
            "and later reported the payment as failed",
            "We have received",
        ),
    ] {
        let (second, reason) = (AttemptState::Declined, CaseReason::MoneyAfterTheEnd);
        let tx = money_of_the_first(State::Cancelled, second, reason, is_back);
        let page = html(result::page(&samples::context(tx, Language::En))).await;
        assert!(page.contains(says) && !page.contains(never), "{page}");
    }
}

#[tokio::test]
async fn several_open_cases_are_told_in_one_text() {
    let twice = samples::with_case(samples::ended(State::Succeeded), CaseReason::PaidTwice);
    let context = samples::context(samples::with_case(twice, CaseReason::Surplus), Language::En);
    let page = html(result::page(&context)).await;
    assert!(page.contains("more than one payment") && page.contains("more than was asked"));
    for once in ["do not pay again", "give the reference"] {
        assert_eq!(page.matches(once).count(), 1, "{once}");
    }
}

#[tokio::test]
async fn a_success_that_was_taken_back_is_no_receipt_of_money() {
    let tx = samples::with_case(
        samples::ended(State::Succeeded),
        CaseReason::SuccessContradicted,
    );
    let context = samples::context(tx, Language::En);
    let result = html(result::page(&context)).await;
    assert!(!result.contains("Payment successful") && !result.contains("was received. Thank you"));
    let receipt = html(receipt::page(&context)).await;
    assert!(!receipt.contains("has received your payment"));
    for page in [result, receipt] {
        assert!(!page.contains("Amount paid"), "{page}");
    }
}

#[tokio::test]
async fn a_cancelled_attempt_asks_for_no_payment_and_names_what_was_done_about_it() {
    for (name, done) in [
        ("wait-called-off", "We have asked the provider to cancel it"),
        (
            "wait-called-off-ends",
            "The provider cannot cancel this attempt; it ends in about 16 min",
        ),
    ] {
        let pages = gallery::pages(Language::En, &|_| {}).await;
        let page = &pages.iter().find(|(shown, _)| shown == name).unwrap().1;
        assert!(page.contains("We are cancelling this payment") && page.contains(done));
        for asking in [
            "*126#",
            "tel:",
            "Amount to pay",
            "Dial this code",
            "/cancel",
        ] {
            assert!(!page.contains(asking), "{name}: {asking}");
        }
    }
    let action = samples::transfer("2026-11-20 11:30 UTC");
    let page = waiting(samples::called_off(action, |_| {})).await;
    assert!(!page.contains("7821 0045 19"));
    let url = "https://cards.example/pay/8f2k".to_owned();
    let page = waiting(samples::called_off(PayerAction::Redirect { url }, |_| {})).await;
    assert!(!page.contains("cards.example"));
}

#[test]
fn a_payment_for_which_money_came_is_not_cancelled_but_shown() {
    let location = |response: axum::response::Response| {
        let location = response.headers()["location"].to_str().unwrap();
        location.split_once('?').unwrap().0.to_owned()
    };
    for state in [State::OnHold, State::AwaitingProvider] {
        let mut held = samples::partly_paid(state);
        held.attempts[0].candidate.can_cancel = true;
        let held = samples::context(held, Language::En);
        let wait = format!("/checkout/{}/wait", held.tx.id);
        let question = cancel::question(&held);
        assert!(!question.status().is_success(), "it cannot be cancelled");
        assert_eq!(location(question), wait);
        for refusal in [
            Refusal::Held,
            Refusal::AttemptUnderWay,
            Refusal::CannotCallOff,
            Refusal::NothingOpen,
        ] {
            assert_eq!(location(cancel::refused(&held, &refusal)), wait);
        }
    }
}

#[tokio::test]
async fn a_payment_that_was_seen_is_not_asked_for_again() {
    for (language, seen) in [
        (Language::En, "please do not pay again"),
        (Language::Fr, "ne payez pas une seconde fois"),
    ] {
        let asked = samples::waiting(Some(samples::crypto(Some("2026-11-20 10:30 UTC"))));
        let mut paid = asked.clone();
        let attempt = &mut paid.attempts[0];
        attempt.payer_action = Some(PayerAction::Wait);
        attempt.candidate.can_cancel = true;
        attempt.started_at = samples::NOW.minus(std::time::Duration::from_secs(3_600));
        let page = async |tx| html(wait::page(&samples::context(tx, language), None, None)).await;
        let (asked, paid) = (page(asked).await, page(paid).await);
        assert!(paid.contains(seen), "{language:?}");
        let due = samples::context(samples::waiting(None), language).say("amount-due");
        for asking in [
            &due,
            "12.5",
            "0x71C7",
            "class=\"qrs\"",
            "data-left=\"",
            "/give-up",
            "/cancel",
        ] {
            assert!(!paid.contains(asking), "{language:?}: {asking}");
        }
        for asking in [&due, "12.5", "0x71C7", "class=\"qrs\""] {
            assert!(asked.contains(asking), "{language:?}: {asking}");
        }
    }
}

#[tokio::test]
async fn a_part_that_came_is_named_while_the_rest_is_asked_for_and_after_a_failure() {
    let failure = || {
        State::Failed(Failure {
            reason: DeclineReason::Other,
            message: "It was recorded as failed after a review.".to_owned(),
        })
    };
    let part = |language: Language| match language {
        Language::En => "Part of it arrived: XOF\u{a0}5,000 of XOF\u{a0}12,500.",
        Language::Fr => "Une partie est arrivée\u{a0}: 5\u{202f}000\u{a0}F",
    };
    for language in [Language::En, Language::Fr] {
        let mut tx = samples::waiting(Some(samples::crypto_of("7.5", 7_500, None)));
        let attempt = &mut tx.attempts[0];
        attempt.received = Some(Amount::from_minor(5_000, attempt.amount.currency()));
        attempt.candidate.can_cancel = true;
        let context = |tx| samples::context(tx, language);
        let waiting = html(wait::page(&context(tx.clone()), None, None)).await;
        assert!(waiting.contains(part(language)), "{language:?}: {waiting}");
        assert!(waiting.contains("7.5"), "the rest is asked for");
        let due = context(tx.clone()).say("amount-due");
        assert!(!waiting.contains(&due) && !waiting.contains("/cancel"));
        tx.attempts[0].state = AttemptState::Declined;
        tx.state = failure();
        tx.cases = samples::partly_paid(failure()).cases;
        let failed = html(result::page(&context(tx))).await;
        let nothing = context(samples::waiting(None)).say("money-nothing");
        assert!(
            failed.contains(part(language).trim_end_matches('.')),
            "{failed}"
        );
        assert!(!failed.contains(&nothing));
    }
}

#[tokio::test]
async fn an_expired_account_takes_no_transfer_any_more_and_its_details_stay_readable() {
    for (language, nothing_more, amount) in [
        (
            Language::En,
            "Do not send anything any more. We keep checking",
            "XOF\u{a0}12,600",
        ),
        (
            Language::Fr,
            "N’envoyez plus rien. Nous continuons",
            "12\u{202f}600\u{a0}F CFA",
        ),
    ] {
        let transfer = samples::transfer("2026-11-20 10:00 UTC");
        let context = samples::context(samples::waiting(Some(transfer)), language);
        let page = html(wait::page(&context, None, None)).await;
        assert!(page.contains(nothing_more), "{page}");
        for kept in ["7821 0045 19", "Wema Bank", "SWY-8F2K-11"] {
            assert!(page.contains(kept), "{kept}");
        }
        assert_eq!(page.matches(amount).count(), 2, "in the header, too");
        let due = [context.say("amount-due"), context.say("row-transfer")];
        for asking in due.iter().map(String::as_str).chain(["data-copy="]) {
            let body = page.split_once("<script").unwrap().0;
            assert!(!body.contains(asking), "{asking}");
        }
    }
    let transfer = samples::transfer("2026-11-20T10:00:30Z");
    let page = waiting(samples::waiting(Some(transfer))).await;
    assert!(page.contains("7821 0045 19") && page.contains("data-changes=\"31\""));
}

#[tokio::test]
async fn a_transfer_names_one_amount_and_its_fee_in_the_language_of_the_reader() {
    for (language, amount, fee, label, asked) in [
        (
            Language::En,
            "XOF\u{a0}12,600",
            "XOF\u{a0}100",
            "Provider’s fee, included",
            "XOF\u{a0}12,500",
        ),
        (
            Language::Fr,
            "12\u{202f}600\u{a0}F CFA",
            "100\u{a0}F CFA",
            "Frais du prestataire, inclus",
            "12\u{202f}500\u{a0}F CFA",
        ),
    ] {
        let action = samples::transfer("2026-11-20 11:30 UTC");
        let context = samples::context(samples::waiting(Some(action)), language);
        let page = html(wait::page(&context, None, None)).await;
        assert_eq!(
            page.matches(amount).count(),
            2,
            "in the header, too: {page}"
        );
        assert!(page.contains(fee) && page.contains(label), "{fee}");
        assert!(!page.contains(asked), "{asked}");
    }
    let mut context = samples::context(
        samples::waiting(Some(samples::transfer("2026-11-20 11:30 UTC"))),
        Language::En,
    );
    let tx = std::sync::Arc::make_mut(&mut context.tx);
    if let Some(PayerAction::Transfer { fee, .. }) = &mut tx.attempts[0].payer_action {
        *fee = None;
    }
    let page = html(wait::page(&context, None, None)).await;
    assert!(!page.contains("Provider’s fee"), "there is none");
}

#[tokio::test]
async fn a_surplus_is_named_beside_the_amount_that_was_asked() {
    let more = |tx: &mut Transaction, minor: i64| {
        let attempt = &mut tx.attempts[0];
        attempt.captured = Some(Amount::from_minor(minor, attempt.amount.currency()));
    };
    let mut plain = samples::with_case(samples::ended(State::Succeeded), CaseReason::Surplus);
    more(&mut plain, 15_000);
    let mut converted =
        samples::with_case(samples::converted(State::Succeeded), CaseReason::Surplus);
    let due = converted.attempts[0].amount;
    more(&mut converted, due.minor() + 3_000);
    for tx in [plain, converted] {
        let due = tx.attempts[0].amount.written(Language::En);
        let paid = tx.attempts[0].captured.unwrap();
        let paid = paid.written(Language::En);
        let has_rate = tx.attempts[0].conversion.is_some();
        let context = samples::context(tx, Language::En);
        for page in [
            html(result::page(&context)).await,
            html(receipt::page(&context)).await,
        ] {
            let asked = page.find("Amount asked").expect("a row of what was asked");
            let amount = asked + page[asked..].find(&due).expect("the amount that was asked");
            let received = amount + page[amount..].find(&paid).expect("the amount paid");
            assert!(page[received..].find("Exchange rate").is_none());
            assert_eq!(page[asked..received].contains("Exchange rate"), has_rate);
            assert!(page.contains(&format!("{due} was asked")), "{page}");
        }
    }
}

#[tokio::test]
async fn a_failure_to_which_money_came_is_no_failure_to_its_payer() {
    let failed = samples::failed(DeclineReason::InsufficientFunds).state;
    let tx = samples::partly_paid(failed);
    let page = html(result::page(&samples::context(tx, Language::En))).await;
    assert!(page.contains("This payment is being reviewed"));
    assert!(page.contains("Received") && page.contains("Part of it arrived"));
    for untrue in [
        "The payment did not work",
        "The provider says",
        "role=\"alert\"",
    ] {
        assert!(!page.contains(untrue), "{untrue}");
    }
    // A person has returned the money.
    let page = html(result::page(&samples::context(
        samples::returned(),
        Language::En,
    )))
    .await;
    assert!(page.contains("This payment was closed") && page.contains("nor your money back"));
    for untrue in [
        "is being reviewed",
        "do not pay again",
        "Contact Café Zola and",
    ] {
        assert!(!page.contains(untrue), "{untrue}");
    }
}

#[tokio::test]
async fn a_failure_whose_case_is_closed_is_reviewed_no_longer() {
    let failed = samples::failed(DeclineReason::InsufficientFunds);
    let mut tx = samples::with_case(failed, CaseReason::FoundAfterNotSent);
    tx.attempts[0].captured = None;
    let shown = async |tx: &Transaction| {
        html(result::page(&samples::context(tx.clone(), Language::En))).await
    };
    assert!(shown(&tx).await.contains("This payment is being reviewed"));
    tx.cases[0].closed = Some(Closed {
        at: samples::NOW,
        by: Operator {
            name: "ada".to_owned(),
            token: None,
        },
        note: None,
    });
    let page = shown(&tx).await;
    assert!(page.contains("This payment was closed"), "{page}");
    assert!(page.contains("If money is missing from your account"));
    for untrue in ["is being reviewed", "do not pay again", "Nothing was taken"] {
        assert!(!page.contains(untrue), "{untrue}");
    }
}

#[tokio::test]
async fn money_that_was_returned_stands_once_in_the_rows_of_its_page() {
    for (minor, sum) in [(5_000, "XOF\u{a0}5,000"), (12_500, "XOF\u{a0}12,500")] {
        let mut tx = samples::returned();
        let currency = tx.attempts[0].amount.currency();
        tx.attempts[0].captured = Some(Amount::from_minor(minor, currency));
        let page = html(result::page(&samples::context(tx, Language::En))).await;
        let (_, rows) = page.split_once("<dl class=\"summary\">").unwrap();
        let (rows, _) = rows.split_once("</dl>").unwrap();
        assert_eq!(rows.matches(sum).count(), 1, "{rows}");
        assert!(rows.contains("Received"), "{rows}");
    }
}

#[tokio::test]
async fn a_page_promises_only_what_goes_on_without_the_payer() {
    let confirm = PayerAction::ConfirmOnPhone {
        auto: true,
        steps: Vec::new(),
        ussd: None,
    };
    let dial = PayerAction::Dial {
        ussd: "*880#".to_owned(),
    };
    for (action, goes_on) in [(None, true), (Some(confirm), true), (Some(dial), false)] {
        let page = waiting(samples::waiting(action.clone())).await;
        assert_eq!(
            page.contains("Your payment goes on without this page"),
            goes_on,
            "{action:?}"
        );
    }
}
