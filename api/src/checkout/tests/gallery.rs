//! Every page in every state, as HTML. The tests look at them; so may a person, in
//! `target/checkout-pages`.

use std::path::PathBuf;
use std::sync::Arc;

use axum::response::Response;
use switchyard_core::directory::country;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{
    Attempt, CaseReason, DeclineReason, LocalizedText, PayerAction, State, Transaction,
};

use super::samples;
use crate::checkout::answers::FormState;
use crate::checkout::error_page::{self, ErrorPage};
use crate::checkout::form_fields::{Values, check, needs};
use crate::checkout::menu::{GatewayField, Menu};
use crate::checkout::page_context::PageContext;
use crate::checkout::request::Selection;
use crate::checkout::{again, cancel, choose, confirm, details, receipt, result, wait};
use switchyard_core::language::Language;

/// A page's name and its HTML.
pub type Shown = (String, String);

/// Every page there is, of payments that `change` made what a test wants them to be.
pub async fn pages(language: Language, change: &dyn Fn(&mut PageContext)) -> Vec<Shown> {
    let context = |tx: Transaction| {
        let mut context = samples::context(tx, language);
        change(&mut context);
        context
    };
    let mut pages = choosing(&context);
    pages.extend(answering(&context(samples::payment_in("XOF"))));
    for (name, action) in actions() {
        let page = wait::page(&context(samples::waiting(action)), None, None);
        pages.push((format!("wait-{name}"), page));
    }
    pages.extend(waiting_long(&context));
    pages.extend(uncertain(&context));
    pages.extend(ending(&context));
    let mut shown = Vec::new();
    for (name, page) in pages {
        let body = axum::body::to_bytes(page.into_body(), usize::MAX)
            .await
            .unwrap();
        shown.push((name, String::from_utf8(body.to_vec()).unwrap()));
    }
    shown
}

fn choosing(context: &dyn Fn(Transaction) -> PageContext) -> Vec<(String, Response)> {
    let menu = |context: &PageContext| Menu::new(&context.tx, samples::all_ways());
    let francs = context(samples::payment_in("XOF"));
    let naira = context(samples::payment_in("NGN"));
    let dollars = context(samples::payment());
    let again = |tx| {
        let failed = context(tx);
        let attempt = again::failed(&failed).unwrap();
        again::page(&failed, attempt, "v1.sealed")
    };
    let show = |context: &PageContext, country, notice| {
        choose::page(context, &menu(context), country, None, notice)
    };
    vec![
        ("choose-nowhere".to_owned(), show(&francs, None, None)),
        ("choose".to_owned(), show(&francs, Some("BJ"), None)),
        (
            "choose-notice".to_owned(),
            show(&francs, Some("CI"), Some("method")),
        ),
        ("choose-many".to_owned(), show(&naira, None, None)),
        ("choose-world".to_owned(), show(&dollars, Some("US"), None)),
        ("again".to_owned(), again(samples::declined_once())),
        ("again-given-up".to_owned(), again(samples::gave_up())),
        (
            "choose-empty".to_owned(),
            choose::page(&dollars, &Menu::default(), None, None, None),
        ),
    ]
}

fn answering(context: &PageContext) -> Vec<(String, Response)> {
    let details = |is_test, number| {
        let (chosen, answers) = chosen(context, is_test, number);
        let needs = needs(context, &chosen.way, chosen.country);
        details::page(context, &chosen, &needs, Some(&answers))
    };
    let bank = |given: &str| {
        let (mut chosen, mut answers) = chosen(context, false, "0197000000");
        chosen.way = samples::way("ussd_ngn", false);
        chosen.way.asks = vec![samples::bank()];
        answers.given = Values::from([("account_bank".to_owned(), given.to_owned())]);
        answers.sent = !given.is_empty();
        let needs = needs(context, &chosen.way, chosen.country);
        details::page(context, &chosen, &needs, Some(&answers))
    };
    let (chosen, answers) = chosen(context, true, "4149518161");
    let needs = needs(context, &chosen.way, chosen.country);
    let checked = check(context, &chosen.way, chosen.country, &needs, &answers.given);
    vec![
        ("details".to_owned(), details(true, "")),
        ("details-bank".to_owned(), bank("")),
        ("details-bank-wrong".to_owned(), bank("999")),
        ("details-wrong".to_owned(), details(false, "12")),
        (
            "confirm".to_owned(),
            confirm::page(context, &chosen, &checked, "v1.sealed", None),
        ),
        ("confirm-card".to_owned(), confirm_card(context)),
        ("cancel".to_owned(), cancel::page(context)),
    ]
}

fn confirm_card(context: &PageContext) -> Response {
    let (mut chosen, answers) = chosen(context, false, "0197000000");
    chosen.way = samples::way("card_usd", false);
    let needs = needs(context, &chosen.way, chosen.country);
    let checked = check(context, &chosen.way, chosen.country, &needs, &answers.given);
    confirm::page(context, &chosen, &checked, "v1.sealed", None)
}

/// Attempts whose payer has waited for a while.
fn waiting_long(context: &dyn Fn(Transaction) -> PageContext) -> Vec<(String, Response)> {
    let show = |name: &str, tx: Transaction, wake: Option<&str>| {
        let page = wait::page(&context(tx), None, wake.map(str::to_owned));
        (name.to_owned(), page)
    };
    let wake = Some("Dial *880# and choose Approvals.");
    let stuck = samples::waited(150, |_| {});
    let cancels = samples::waited(150, |attempt| attempt.candidate.can_cancel = true);
    let ends = samples::waited(150, |attempt| attempt.candidate.ends_after_s = Some(900));
    let dial = || PayerAction::Dial {
        ussd: "*126#".to_owned(),
    };
    let asked = samples::called_off(dial(), |attempt| attempt.candidate.can_cancel = true);
    let awaited = samples::called_off(dial(), |attempt| {
        attempt.candidate.ends_after_s = Some(900);
    });
    vec![
        show("wait-late", samples::waited(70, |_| {}), wake),
        show("wait-stuck", stuck, None),
        show("wait-out", cancels, wake),
        show("wait-out-ends", ends, wake),
        show("wait-given-up", samples::given_up(), None),
        show("wait-called-off", asked, None),
        show("wait-called-off-ends", awaited, None),
    ]
}

/// Attempts whose answer was lost, and coins that are not confirmed.
fn uncertain(context: &dyn Fn(Transaction) -> PageContext) -> Vec<(String, Response)> {
    let show = |name: &str, tx: Transaction, is_lost: bool| {
        let mut context = context(tx);
        context.is_answer_lost = is_lost;
        (name.to_owned(), wait::page(&context, None, None))
    };
    let lost = |seconds, change: &dyn Fn(&mut Attempt)| {
        samples::waited(seconds, |attempt| {
            attempt.payer_action = None;
            change(attempt);
        })
    };
    let dials = |attempt: &mut Attempt| {
        attempt.method = "ussd_ngn".to_owned();
        attempt.candidate.ends_after_s = Some(900);
    };
    let cancels = |attempt: &mut Attempt| attempt.candidate.can_cancel = true;
    let coins = |received: i64, until: &str| {
        let order = samples::crypto_of("8", 8_000, Some(until));
        let mut tx = samples::waiting(Some(order));
        let attempt = &mut tx.attempts[0];
        let part = Amount::from_minor(received, attempt.amount.currency());
        attempt.received = Some(part).filter(|part| part.minor() > 0);
        attempt.method = "crypto_xof".to_owned();
        tx
    };
    let francs = Currency::from_code("XOF").unwrap();
    let received = |action| samples::received(action, Amount::from_minor(5_000, francs));
    let (open, over) = ("2026-11-20 10:30 UTC", "2026-11-20 09:59 UTC");
    vec![
        show("wait-lost", lost(10, &|_| {}), true),
        show("wait-lost-cancels", lost(10, &cancels), true),
        show("wait-lost-dial", lost(10, &dials), true),
        show("wait-lost-out", lost(150, &dials), true),
        show("wait-seen-part", coins(0, open), false),
        show("wait-seen-more", coins(3_000, open), false),
        show("wait-seen-late", coins(0, over), false),
        show(
            "wait-part-rest",
            received(samples::transfer_of(7_600, Some(100), open)),
            false,
        ),
        show("wait-part-whole", received(samples::transfer(open)), false),
    ]
}

fn ending(context: &dyn Fn(Transaction) -> PageContext) -> Vec<(String, Response)> {
    let ended = |state| context(samples::ended(state));
    let failed = context(samples::failed(DeclineReason::PayerDeclined));
    let mut pages = vec![
        (
            "wait-starting".to_owned(),
            wait::page(&ended(State::AwaitingGateway), Some("under-way"), None),
        ),
        (
            "wait-doubt".to_owned(),
            wait::page(&ended(State::InDoubt), None, None),
        ),
        (
            "result-success".to_owned(),
            result::page(&ended(State::Succeeded)),
        ),
        (
            "receipt-converted".to_owned(),
            receipt::page(&context(samples::converted(State::Succeeded))),
        ),
        (
            "result-converted".to_owned(),
            result::page(&context(samples::converted(State::Succeeded))),
        ),
        (
            "wait-held".to_owned(),
            wait::page(
                &context(samples::partly_paid(State::AwaitingProvider)),
                None,
                None,
            ),
        ),
        (
            "result-held".to_owned(),
            result::page(&context(samples::partly_paid(State::Cancelled))),
        ),
        ("result-failed".to_owned(), result::page(&failed)),
        (
            "result-cancelled".to_owned(),
            result::page(&ended(State::Cancelled)),
        ),
    ];
    let ends = [
        ("result-given-up", samples::gave_up_the_last()),
        ("result-returned", samples::returned()),
        ("result-unknown", samples::unknown_end()),
        ("result-expired", samples::expired()),
        ("result-fee", samples::with_payer_fee(12_500)),
    ];
    pages.extend(ends.map(|(name, tx)| (name.to_owned(), result::page(&context(tx)))));
    for reason in CaseReason::ALL {
        let context = context(samples::with_case(samples::ended(State::Succeeded), reason));
        let name = reason.as_str();
        pages.push((format!("reviewed-result-{name}"), result::page(&context)));
        pages.push((format!("reviewed-receipt-{name}"), receipt::page(&context)));
    }
    pages.extend(errors(&failed, &context(samples::declined_once())));
    pages
}

/// Error pages, without a payment and about one.
fn errors(failed: &PageContext, open: &PageContext) -> Vec<(String, Response)> {
    let mut pages = Vec::new();
    for error_page in [
        ErrorPage::Missing,
        ErrorPage::Unavailable,
        ErrorPage::TooLarge,
        ErrorPage::WrongMethod,
    ] {
        let home = (error_page == ErrorPage::Unavailable).then(|| "/checkout/x".to_owned());
        pages.push((
            format!("trouble-{error_page:?}"),
            error_page::page(&failed.visitor, error_page, home),
        ));
    }
    for (name, error_page) in [
        ("trouble-limit", ErrorPage::TooMany(300)),
        ("trouble-closed", ErrorPage::Closed),
        ("trouble-paused", ErrorPage::Paused),
    ] {
        pages.push((name.to_owned(), error_page::about(open, error_page)));
    }
    pages
}

fn chosen(context: &PageContext, is_test: bool, number: &str) -> (Selection, FormState) {
    let mut way = samples::way("mtn_bj", is_test);
    if !is_test {
        let asked = |name: &str, required| GatewayField {
            name: name.to_owned(),
            label_en: None,
            label_fr: None,
            required,
            options: Vec::new(),
            pattern: None,
        };
        way.asks = vec![asked("city", true), asked("address", false)];
    }
    let answers = FormState {
        payment: context.tx.id,
        method: "mtn_bj".to_owned(),
        country: "BJ".to_owned(),
        given: Values::from([("msisdn".to_owned(), number.to_owned())]),
        attempts: 0,
        sent: !number.is_empty(),
        agreed: None,
    };
    let country = country("BJ").unwrap();
    (Selection { way, country }, answers)
}

fn steps() -> Vec<LocalizedText> {
    let text = |lang: &str, text: &str| LocalizedText {
        lang: lang.to_owned(),
        text: text.to_owned(),
    };
    vec![
        text("en", "Dial *126# and press call."),
        text("en", "Choose “Pending approvals” and then this payment."),
        text("en", "Enter your PIN."),
        text("fr", "Composez *126# et appelez."),
        text(
            "fr",
            "Choisissez « Approbations en attente », puis ce paiement.",
        ),
        text("fr", "Saisissez votre code secret."),
    ]
}

fn actions() -> Vec<(&'static str, Option<PayerAction>)> {
    let owned = str::to_owned;
    let phone = |auto, steps, ussd| Some(PayerAction::ConfirmOnPhone { auto, steps, ussd });
    let qr = owned("00020101021226580011NG.NIBSS.QR0113SWY8F2K11998520441115303566");
    vec![
        ("plain", None),
        ("auto", phone(true, Vec::new(), None)),
        ("manual", phone(false, steps(), Some(owned("*126#")))),
        (
            "unusable",
            Some(PayerAction::UnusablePage {
                why: "its address begins with http://".to_owned(),
            }),
        ),
        (
            "redirect",
            Some(PayerAction::Redirect {
                url: owned("https://cards.example/pay/8f2k"),
            }),
        ),
        (
            "code",
            Some(PayerAction::EnterCode {
                label: owned("OTP"),
                length: Some(6),
                how: steps(),
            }),
        ),
        (
            "dial",
            Some(PayerAction::Dial {
                ussd: owned("*737*000*8271#"),
            }),
        ),
        ("transfer", Some(samples::transfer("2026-11-20 11:30 UTC"))),
        (
            "transfer-late",
            Some(samples::transfer("2026-11-20 09:59 UTC")),
        ),
        (
            "qr",
            Some(PayerAction::ShowQr {
                text: qr,
                image: None,
            }),
        ),
        (
            "crypto",
            Some(samples::crypto(Some("2026-11-20 10:30 UTC"))),
        ),
        (
            "crypto-late",
            Some(samples::crypto(Some("2026-11-20 09:59 UTC"))),
        ),
        ("seen", Some(PayerAction::Wait)),
    ]
}

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/checkout-pages");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes the page to the folder, under `name` with its language.
pub fn keep(name: &str, html: &str) {
    std::fs::write(folder().join(format!("{name}.html")), html).unwrap();
}

#[tokio::test]
async fn every_page_is_whole_in_both_languages() {
    for language in Language::ALL {
        for (name, html) in pages(language, &|_| {}).await {
            keep(&format!("{name}.{}", language.code()), &html);
            assert!(html.ends_with("</html>"), "{name}");
            assert!(
                html.contains(&format!("<html lang=\"{}\">", language.code())),
                "{name}"
            );
            assert!(
                !html.contains("Unknown localization"),
                "{name}: a message is missing"
            );
            assert!(
                !html.contains(" style=") && !html.contains(" onclick="),
                "{name}: the policy forbids inline style and script"
            );
            assert_eq!(html.matches("<h1").count(), 1, "{name}");
            assert!(
                html.contains("hreflang=\"fr\"") && html.contains("hreflang=\"en\""),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn what_merchants_and_payers_wrote_is_never_markup() {
    let hostile = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'`{{7*7}}\u{202e}";
    let pages = pages(Language::En, &|context| {
        let tx = Arc::make_mut(&mut context.tx);
        tx.description = hostile.to_owned();
        tx.customer.email = hostile.to_owned();
        tx.customer.phone = Some(hostile.to_owned());
        tx.metadata = [(hostile.to_owned(), hostile.to_owned())].into();
        if let switchyard_core::transaction::Details::Payment(payment) = &mut tx.details {
            payment.return_url = "javascript:alert(1)//https://shop.example".to_owned();
        }
        if let State::Failed(failure) = &mut tx.state {
            failure.message = hostile.to_owned();
        }
        if let Some(attempt) = tx.attempts.first_mut() {
            attempt.method = hostile.to_owned();
            attempt.phone = Some(hostile.to_owned());
        }
        Arc::make_mut(&mut context.app).name = hostile.to_owned();
        context.visitor.query = vec![(hostile.to_owned(), hostile.to_owned())];
        context.visitor.service = hostile.to_owned();
    })
    .await;
    for (name, html) in pages {
        assert!(
            !html.contains("<script>alert") && !html.contains("<img src=x"),
            "{name}"
        );
        assert!(!html.contains("javascript:"), "{name}");
        assert!(
            !html.contains('\u{202e}'),
            "{name}: the text behind it is reversed"
        );
        assert_eq!(
            html.matches("<script").count(),
            1,
            "{name}: our own script and no other"
        );
        if !name.starts_with("trouble") {
            assert!(
                html.contains("&lt;script&gt;alert(1)")
                    || html.contains("&#60;script&#62;alert(1)"),
                "{name}"
            );
        }
    }
}
