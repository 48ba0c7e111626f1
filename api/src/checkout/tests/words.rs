//! Texts of the pages.

use std::sync::Arc;

use switchyard_core::transaction::DeclineReason;

use super::gallery;
use crate::checkout::page_context::PageContext;
use crate::checkout::result::reason;
use switchyard_core::language::Language;

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
    let pages = gallery::pages(Language::En, &|_| {}).await;
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
    let amount = super::samples::payment_in("XOF")
        .amount
        .written(switchyard_core::language::Language::En);
    for said in [
        amount.as_str(),
        "Café Zola",
        "MTN MoMo",
        "••••\u{a0}8161",
        "Order 1047: two blue teapots",
        "a•••@example.com",
    ] {
        assert!(html.contains(said), "{said}");
    }
    assert!(
        !html.contains("4149518161"),
        "a guess of the merchant's number looks like any other"
    );
}

#[tokio::test]
async fn no_page_shows_the_customers_address_or_number_in_full() {
    let with_number = |context: &mut PageContext| {
        Arc::make_mut(&mut context.tx).customer.phone = Some("+2290197000000".to_owned());
    };
    for (name, html) in gallery::pages(Language::En, &with_number).await {
        let shown = ["ada@example.com", "0197000000"].map(|text| html.contains(text));
        assert_eq!(shown, [false, false], "{name}");
    }
}

#[tokio::test]
async fn a_page_says_that_nothing_was_taken_only_where_that_is_certain() {
    let nothing = "Nothing was taken";
    for name in ["result-failed", "result-cancelled", "result-expired"] {
        assert!(page(name).await.contains(nothing), "{name}");
    }
    let part = "Part of it arrived: XOF\u{a0}5,000 of XOF\u{a0}12,500. Please do not pay again.";
    for name in ["wait-held", "result-held"] {
        let html = page(name).await;
        assert!(!html.contains(nothing) && html.contains(part), "{name}");
        assert!(html.contains("Café Zola sees this too"), "{name}");
        assert!(!html.contains("*126#"), "{name} asks for the full amount");
    }
    let html = page("result-unknown").await;
    assert!(!html.contains(nothing) && html.contains("not certain yet"));
}

#[tokio::test]
async fn after_a_conversion_every_page_names_what_was_paid_and_how_it_came_about() {
    for name in ["receipt-converted", "result-converted"] {
        let html = page(name).await;
        let facts = [
            "XOF\u{a0}84,045",
            "€125.00",
            "1\u{a0}EUR ≈ 672.356\u{a0}XOF",
            "2.5%",
        ];
        for fact in facts {
            assert!(html.contains(fact), "{name}: {fact}");
        }
        // The order's amount is beside the rate and in its own row, never labelled as the amount
        // paid.
        assert_eq!(html.matches("€125.00").count(), 2, "{name}");
    }
}

#[tokio::test]
async fn the_sandbox_says_so_and_names_its_numbers() {
    let html = page("details").await;
    assert!(html.contains("Sandbox") && html.contains("No money moves"));
    for number in crate::checkout::form_fields::TEST_NUMBERS {
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
async fn without_script_a_waiting_page_updates_every_20_seconds_until_the_payer_stops_it() {
    let html = page("wait-plain").await;
    assert!(
        html.contains("<noscript><meta http-equiv=\"refresh\" content=\"20;url=/checkout/"),
        "{html}"
    );
    assert!(html.contains("still=1") && html.contains("Stop updating"));
    let stopped = gallery::pages(Language::En, &|context| {
        context.visitor.query = vec![("still".to_owned(), "1".to_owned())];
    });
    for (name, html) in stopped.await {
        assert!(!html.contains("http-equiv=\"refresh\""), "{name}");
    }
}

#[tokio::test]
async fn no_page_leaves_by_itself_in_under_20_seconds_and_only_a_success_leaves_at_all() {
    let is_success =
        |name: &str| matches!(name, "result-success" | "result-converted" | "result-fee");
    for (name, html) in gallery::pages(Language::En, &|_| {}).await {
        let after = html.split_once("data-leave=\"").map(|(_, rest)| {
            let (seconds, _) = rest.split_once('"').unwrap();
            seconds.parse::<u64>().unwrap()
        });
        match after {
            Some(seconds) => {
                assert!(is_success(&name), "{name} leaves by itself");
                assert!(seconds >= 20, "{name} leaves after {seconds} s");
                assert!(html.contains("data-stay") && html.contains("Stay on this page"));
            }
            None => assert!(!is_success(&name), "{name} stays"),
        }
        for refresh in html.split("http-equiv=\"refresh\" content=\"").skip(1) {
            let seconds = refresh.split(';').next().unwrap().parse::<u64>().unwrap();
            assert!(seconds >= 20, "{name} loads itself again after {seconds} s");
            assert!(refresh.contains("still=1"), "{name} can be stopped");
        }
    }
}

#[tokio::test]
async fn a_failed_attempt_offers_the_same_method_and_another_one() {
    let html = page("again").await;
    assert!(html.contains("/confirm?a=v1.sealed") && html.contains(">Try again</a>"));
    assert!(html.contains("country=BJ&#38;other=1") && html.contains(">Another method</a>"));
    assert!(html.contains("You can try 2 more times"));
    assert!(html.contains("••••\u{a0}1234") && html.contains("<div role=\"alert\">"));
}

#[tokio::test]
async fn an_attempt_that_its_payer_gave_up_has_ended_and_shows_no_failure() {
    for (name, title) in [
        ("again-given-up", "The earlier attempt has ended"),
        ("result-given-up", "This payment has ended"),
    ] {
        let html = page(name).await;
        assert!(html.contains(title), "{name}");
        assert!(html.contains("<div role=\"status\">"), "{name}");
        assert!(html.contains("Nothing was taken"), "{name}");
        let body = html.split_once("<script").unwrap().0;
        let body = body.split_once("<body>").unwrap().1;
        for failure in ["did not work", "provider says", "m16 16 16 16", "failed\">"] {
            assert!(!body.contains(failure), "{name}: {failure}");
        }
    }
    let html = page("result-given-up").await;
    assert!(html.contains("Ask Café Zola for a new payment link"));
}

#[tokio::test]
async fn the_words_before_the_provider_page_name_its_host() {
    let html = page("wait-redirect").await;
    for said in [
        "Continue with the provider",
        "come back here afterwards",
        ">Continue to cards.example</a>",
        "You can come back to this page by the same link.",
    ] {
        assert!(html.contains(said), "{said}");
    }
    let html = page("confirm-card").await;
    assert!(html.contains("You will then finish on the page of the payment provider."));
}

#[tokio::test]
async fn a_payment_in_doubt_is_neither_paid_nor_failed_and_not_to_be_paid_again() {
    for (language, said) in [
        (
            Language::En,
            [
                "We are checking with the provider",
                "do not pay a second time",
                "We ask the provider for up to three days.",
            ],
        ),
        (
            Language::Fr,
            [
                "Nous vérifions auprès du prestataire",
                "Ne payez pas une seconde fois",
                "Nous interrogeons le prestataire pendant trois jours au plus.",
            ],
        ),
    ] {
        let pages = gallery::pages(language, &|_| {}).await;
        let (_, html) = pages.iter().find(|(name, _)| name == "wait-doubt").unwrap();
        let failed = super::samples::context(super::samples::payment(), language);
        for said in said {
            assert!(html.contains(said), "{said}");
        }
        for untrue in ["result-failed-title", "money-nothing", "amount-due"] {
            assert!(!html.contains(&failed.say(untrue)), "{untrue}");
        }
    }
}

#[tokio::test]
async fn the_words_of_the_waiting_page_depend_on_the_time_that_has_passed() {
    let minute = "usually takes less than a minute";
    let html = page("wait-auto").await;
    assert!(html.contains(minute) && html.contains("data-changes=\"61\""));
    assert!(!html.contains("No message?") && !html.contains("Pay another way"));
    let html = page("wait-late").await;
    assert!(!html.contains(minute) && html.contains("longer than usual"));
    assert!(html.contains("Dial *880# and choose Approvals."));
    assert!(
        !html.contains("Pay another way"),
        "not before twice the usual time"
    );
    let html = page("wait-out").await;
    assert!(html.contains(">I got no message<") && html.contains(">Pay another way<"));
    assert!(html.contains("/give-up") && html.contains("ask the provider to cancel"));
    assert!(!html.contains(minute) && !html.contains("data-changes="));
    assert!(
        page("wait-out-ends")
            .await
            .contains("it ends in about 14 min")
    );
}

#[tokio::test]
async fn an_attempt_without_a_way_out_names_the_merchant_and_the_reference() {
    let html = page("wait-stuck").await;
    let reference = super::samples::payment_in("XOF").id.to_string();
    assert!(html.contains("contact Café Zola") && !html.contains("Pay another way"));
    assert!(html.contains(&format!("give the reference {reference}")));
    let html = page("wait-given-up").await;
    assert!(html.contains("We are ending this attempt") && !html.contains("Confirm on your phone"));
    assert!(!html.contains("Pay another way<"));
}

fn closed(context: &mut PageContext) {
    Arc::make_mut(&mut context.app).is_enabled = false;
}

async fn html_of(page: axum::response::Response) -> String {
    let body = axum::body::to_bytes(page.into_body(), usize::MAX);
    let html = String::from_utf8(body.await.unwrap().to_vec()).unwrap();
    html.split_once("<script").unwrap().0.to_owned()
}

#[tokio::test]
async fn a_closed_app_offers_nothing_to_choose_and_says_what_became_of_the_last_attempt() {
    let pages = gallery::pages(Language::En, &closed).await;
    let shown = |name: &str| &pages.iter().find(|(shown, _)| shown == name).unwrap().1;
    for name in ["choose-empty", "choose-notice"] {
        let html = shown(name);
        gallery::keep(&format!("closed-{name}.en"), html);
        assert!(html.contains("Payments are closed for now"), "{name}");
        for untrue in [
            "How would you like to pay?",
            "Time left to pay",
            ">Try again<",
            "aria-label=\"Steps\"",
            "Please choose another one",
        ] {
            assert!(!html.contains(untrue), "{name}: {untrue}");
        }
    }
    for name in ["wait-out", "wait-out-ends"] {
        let html = shown(name);
        gallery::keep(&format!("closed-{name}.en"), html);
        assert!(html.contains("is not taking other payments"), "{name}");
        assert!(!html.contains(">Pay another way<"), "{name}");
    }
    let mut context = super::samples::context(super::samples::declined_once(), Language::En);
    closed(&mut context);
    let menu = crate::checkout::menu::Menu::default();
    let html = html_of(crate::checkout::choose::page(
        &context, &menu, None, None, None,
    ))
    .await;
    assert!(html.contains("There is not enough money in the account. Nothing was taken"));
    assert!(!html.contains("pay in another way"), "{html}");
}

#[tokio::test]
async fn after_days_without_an_answer_the_page_names_the_merchant() {
    let silent = |action| {
        let mut tx = super::samples::waiting(action);
        let reason = switchyard_core::transaction::CaseReason::NoFinalAnswer;
        tx.cases = super::samples::with_case(tx.clone(), reason).cases;
        let context = super::samples::context(tx, Language::En);
        html_of(crate::checkout::wait::page(&context, None, None))
    };
    let html = silent(None).await;
    assert!(html.contains("no final answer for days. Café Zola has to look into it"));
    let seen = switchyard_core::transaction::PayerAction::Wait;
    let html = silent(Some(seen)).await;
    assert!(html.contains("We have seen your payment") && html.contains("has not come yet"));
    assert!(
        !html.contains("not certain yet"),
        "the full amount was seen"
    );
}

#[tokio::test]
async fn a_payment_that_was_reported_as_failed_has_no_receipt() {
    use switchyard_core::transaction::{CaseReason, State};
    let paid = super::samples::ended(State::Succeeded);
    let back = super::samples::with_case(paid.clone(), CaseReason::SuccessContradicted);
    for (tx, title) in [
        (paid, "<h1>Receipt</h1>"),
        (back, "<h1>This payment is being reviewed</h1>"),
    ] {
        let context = super::samples::context(tx, Language::En);
        let html = html_of(crate::checkout::receipt::page(&context)).await;
        assert!(html.contains(title), "{title}");
    }
}

#[tokio::test]
async fn a_cancelled_payment_says_how_to_pay_after_all() {
    let html = page("result-cancelled").await;
    assert!(html.contains("Ask Café Zola for a new payment link if you still want to pay."));
}
