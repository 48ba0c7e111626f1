//! Statements of the pages while an attempt has received a part of the money or all of it, and
//! about the fee that a payer adds to a transfer.

use switchyard_core::limits::CODES_PER_ATTEMPT;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{PayerAction, Transaction};

use super::samples;
use crate::checkout::{receipt, result, wait};
use switchyard_core::language::Language;

const ARRIVED: &str = "We have received money for this payment";
const NO_CODE: &str = "The code can come late. Check that your";
const STOP: &str = "Please do not pay again";

async fn html(page: axum::response::Response) -> String {
    let body = axum::body::to_bytes(page.into_body(), usize::MAX).await;
    String::from_utf8(body.unwrap().to_vec()).unwrap()
}

fn xof(minor: i64) -> Amount {
    Amount::from_minor(minor, Currency::from_code("XOF").unwrap())
}

async fn waiting(tx: Transaction) -> String {
    let page = html(wait::page(&samples::context(tx, Language::En), None, None)).await;
    page.split_once("<script")
        .map_or(page.clone(), |(body, _)| body.to_owned())
}

fn dial() -> PayerAction {
    PayerAction::Dial {
        ussd: "*737*000*1234#".to_owned(),
    }
}

fn transfer(minor: i64, fee: Option<i64>) -> PayerAction {
    samples::transfer_of(minor, fee, "2026-11-20 11:30 UTC")
}

#[tokio::test]
async fn instructions_for_more_than_the_rest_are_not_shown() {
    let usd = Amount::from_minor(400, Currency::from_code("USD").unwrap());
    let part = "Part of it arrived: XOF\u{a0}5,000 of XOF\u{a0}12,500.";
    let all = "We have received XOF\u{a0}12,500.";
    for (action, sum, says, hidden) in [
        (dial(), xof(5_000), part, "*737"),
        (dial(), xof(12_500), all, "*737"),
        (
            dial(),
            xof(13_000),
            "We have received XOF\u{a0}13,000.",
            "*737",
        ),
        (dial(), usd, "We have received $4.00.", "*737"),
        (
            PayerAction::Wait,
            xof(5_000),
            part,
            "The full amount was seen",
        ),
        (
            PayerAction::Wait,
            xof(12_500),
            all,
            "The full amount was seen",
        ),
        (transfer(12_500, None), xof(5_000), part, "7821 0045 19"),
        (
            transfer(12_600, Some(100)),
            xof(5_000),
            part,
            "7821 0045 19",
        ),
        (transfer(7_501, None), xof(5_000), part, "7821 0045 19"),
        (samples::crypto(None), xof(5_000), part, "0x71C7"),
    ] {
        let page = waiting(samples::received(action.clone(), sum)).await;
        for shown in [ARRIVED, says, STOP] {
            assert!(page.contains(shown), "{action:?} {sum:?}: {shown}: {page}");
        }
        assert!(!page.contains(hidden), "{action:?} {sum:?}: {hidden}");
        assert!(!page.contains("/cancel"), "{action:?}");
    }
}

#[tokio::test]
async fn a_transfer_of_exactly_the_rest_is_shown_beside_what_was_received() {
    for (action, sum) in [
        (transfer(7_500, None), "XOF\u{a0}7,500"),
        (transfer(7_600, Some(100)), "XOF\u{a0}7,600"),
    ] {
        let page = waiting(samples::received(action, xof(5_000))).await;
        let part = "Part of it arrived: XOF\u{a0}5,000 of XOF\u{a0}12,500.";
        for shown in [part, sum, "Rest to transfer", "7821 0045 19", "Received"] {
            assert!(page.contains(shown), "{sum}: {shown}: {page}");
        }
        for wrong in [STOP, "Amount to transfer"] {
            assert!(!page.contains(wrong), "{sum}: {wrong}");
        }
    }
    let page = waiting(samples::received(
        samples::crypto_of("7.5", 7_500, None),
        xof(5_000),
    ))
    .await;
    assert!(page.contains("Still to send, exactly") && page.contains("0x71C7"));
}

#[tokio::test]
async fn a_payer_who_has_done_everything_is_not_told_how_to_approve() {
    for (action, is_told) in [(PayerAction::Wait, false), (dial(), true)] {
        let tx = samples::waited(150, |attempt| attempt.payer_action = Some(action));
        let context = samples::context(tx, Language::En);
        let wake = Some("Dial *880# and choose Approvals".to_owned());
        let page = html(wait::page(&context, None, wake)).await;
        assert_eq!(page.contains("choose Approvals"), is_told);
    }
}

#[tokio::test]
async fn a_payer_without_a_try_for_the_code_is_asked_for_none() {
    for (codes, is_asked) in [(CODES_PER_ATTEMPT - 1, true), (CODES_PER_ATTEMPT, false)] {
        let page = waiting(samples::waited(150, |attempt| {
            attempt.codes = codes;
            attempt.payer_action = Some(PayerAction::EnterCode {
                label: "OTP".to_owned(),
                length: None,
                how: Vec::new(),
            });
        }))
        .await;
        for asking in [
            "Enter the code",
            "The provider has sent you a code",
            NO_CODE,
        ] {
            assert_eq!(page.contains(asking), is_asked, "{codes}: {asking}: {page}");
        }
        let is_over = page.contains("All tries for the code are used up");
        assert_eq!(is_over, !is_asked, "{codes}");
    }
}

#[tokio::test]
async fn a_success_names_what_the_payer_paid_with_the_fee_that_was_added() {
    for captured in [12_500, 12_600] {
        let tx = samples::with_payer_fee(captured);
        let context = samples::context(tx, Language::En);
        for page in [
            html(result::page(&context)).await,
            html(receipt::page(&context)).await,
        ] {
            for shown in [
                "XOF\u{a0}12,600",
                "Provider’s fee, included",
                "XOF\u{a0}100",
            ] {
                assert!(page.contains(shown), "{captured}: {shown}: {page}");
            }
            for wrong in ["XOF\u{a0}12,500", "more than was asked"] {
                assert!(!page.contains(wrong), "{captured}: {wrong}: {page}");
            }
        }
    }
}
