//! What the pages say.

use switchyard_engine::transaction::DeclineReason;

use super::gallery;
use crate::checkout::language::Language;
use crate::checkout::result::reason;

const REASONS: [DeclineReason; 13] = [
    DeclineReason::InsufficientFunds,
    DeclineReason::PayerDeclined,
    DeclineReason::PayerTimeout,
    DeclineReason::PayerBusy,
    DeclineReason::InvalidAccount,
    DeclineReason::LimitExceeded,
    DeclineReason::AmountOutOfRange,
    DeclineReason::Expired,
    DeclineReason::NotPermitted,
    DeclineReason::MerchantFunds,
    DeclineReason::ProviderUnavailable,
    DeclineReason::Misconfigured,
    DeclineReason::Other,
];

async fn page(name: &str) -> String {
    let pages = gallery::pages(Language::English, &|_| {}).await;
    pages
        .into_iter()
        .find(|(shown, _)| shown == name)
        .unwrap()
        .1
}

#[test]
fn every_reason_has_its_own_sentence_in_both_languages() {
    for language in Language::ALL {
        let mut sentences: Vec<_> = REASONS
            .iter()
            .map(|why| reason(language, Some(*why)))
            .collect();
        assert!(sentences.iter().all(|sentence| sentence.ends_with('.')));
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), REASONS.len());
    }
}

#[tokio::test]
async fn the_confirm_step_shows_amount_merchant_method_and_number() {
    let html = page("confirm").await;
    let amount = super::samples::payment_in("XOF").amount.format();
    for said in [
        amount.as_str(),
        "Café Zola",
        "MTN MoMo Benin",
        "+14149518161",
        "Order 1047: two blue teapots",
        "ada@example.com",
    ] {
        assert!(html.contains(said), "{said}");
    }
}

#[tokio::test]
async fn the_sandbox_says_so_and_names_its_numbers() {
    let html = page("details").await;
    assert!(html.contains("Sandbox") && html.contains("No money moves"));
    for number in crate::checkout::needs::TEST_NUMBERS {
        assert!(html.contains(number));
    }
    assert!(
        !page("details-wrong").await.contains("4149518161"),
        "only where the test gateway answers"
    );
}

#[tokio::test]
async fn errors_stand_beside_their_fields() {
    let html = page("details-wrong").await;
    assert!(
        html.contains("id=\"e-msisdn\"") && html.contains("aria-describedby=\"e-msisdn h-msisdn\"")
    );
    assert!(html.contains("id=\"e-city\"") && !html.contains("id=\"e-address\""));
    assert!(html.contains("autocomplete=\"address-level2\"") && html.contains("value=\"12\""));
}

#[tokio::test]
async fn waiting_and_success_are_statuses_and_failure_is_an_alert() {
    assert!(page("wait-plain").await.contains("<div role=\"status\">"));
    assert!(
        page("result-success")
            .await
            .contains("<div role=\"status\">")
    );
    assert!(page("result-failed").await.contains("<div role=\"alert\">"));
}

#[tokio::test]
async fn without_script_a_waiting_page_asks_again_and_a_result_goes_back() {
    assert!(
        page("wait-plain")
            .await
            .contains("<noscript><meta http-equiv=\"refresh\" content=\"8;url=/checkout/")
    );
    let html = page("result-success").await;
    assert!(html.contains("<noscript><meta http-equiv=\"refresh\" content=\"6;url=https://shop.example/done?paymentId=py_"));
    assert!(
        html.contains("paymentStatus=success") && html.contains("shop.example in a few seconds")
    );
}
