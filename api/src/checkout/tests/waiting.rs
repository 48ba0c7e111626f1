//! Waiting pages without instructions, of coins that are not confirmed, and words of the script.

use switchyard_core::directory::country;
use switchyard_core::money::Amount;
use switchyard_core::transaction::PayerAction;

use super::{gallery, samples};
use crate::checkout::assets::SCRIPT;
use crate::checkout::form_fields::{Values, needs};
use crate::checkout::menu::Menu;
use crate::checkout::request::Selection;
use crate::checkout::{cancel, choose, details, wait};
use switchyard_core::language::Language;

async fn html(page: axum::response::Response) -> String {
    let body = axum::body::to_bytes(page.into_body(), usize::MAX)
        .await
        .unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

/// Body of a page of the gallery, without its script.
async fn page(name: &str, language: Language) -> String {
    let pages = gallery::pages(language, &|_| {}).await;
    let (_, html) = pages.into_iter().find(|(shown, _)| shown == name).unwrap();
    let body = html.split_once("<script").unwrap().0;
    body.split_once("<body>").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_lost_answer_is_named_with_the_longest_wait_and_the_way_out() {
    let never = [
        "has the payment request; its result",
        "Pay another way",
        "Dial this code",
    ];
    for (name, said) in [
        (
            "wait-lost",
            [
                "If MTN MoMo asks you on your phone to confirm this payment, you can do so.",
                "We ask the provider for up to three days.",
                "Café Zola has to look into it",
                "contact Café Zola and give the reference",
            ],
        ),
        (
            "wait-lost-cancels",
            [
                "If MTN MoMo asks you on your phone",
                "We ask the provider for up to three days.",
                "you can ask for another way to pay here in about 2 min",
                "/cancel",
            ],
        ),
        (
            "wait-lost-dial",
            [
                "so we cannot show you how to pay",
                "The attempt ends in about 16 min at the latest.",
                "you can ask for another way to pay here in about 2 min",
                "/cancel",
            ],
        ),
    ] {
        let html = page(name, Language::En).await;
        for said in said {
            assert!(html.contains(said), "{name}: {said}");
        }
        assert!(
            html.contains("The provider’s answer did not arrive"),
            "{name}"
        );
        assert!(html.contains("Please do not pay a second time."), "{name}");
        for untrue in never {
            assert!(!html.contains(untrue), "{name}: {untrue}");
        }
    }
    let html = page("wait-lost-out", Language::En).await;
    assert!(html.contains("Pay another way") && html.contains("/give-up"));
    assert_eq!(html.matches("ends in about 14 min").count(), 1, "{html}");
    let html = page("wait-lost-dial", Language::Fr).await;
    assert!(html.contains("La réponse du prestataire n’est pas arrivée"));
}

#[tokio::test]
async fn a_page_whose_answer_came_says_nothing_of_a_lost_one() {
    let shown = |action, change: &dyn Fn(&mut crate::checkout::page_context::PageContext)| {
        let mut context = samples::context(samples::waiting(action), Language::En);
        context.is_answer_lost = true;
        change(&mut context);
        html(wait::page(&context, None, None))
    };
    let dial = PayerAction::Dial {
        ussd: "*126#".to_owned(),
    };
    let answered = shown(Some(dial), &|_| {}).await;
    let known = shown(None, &|context| context.is_answer_lost = false).await;
    for page in [answered, known] {
        assert!(!page.contains("answer did not arrive"), "{page}");
    }
}

#[tokio::test]
async fn coins_that_are_seen_and_not_confirmed_are_named_with_what_remains() {
    let seen = "Coins worth XOF\u{a0}4,500 were seen on the chain. They are not confirmed yet";
    let html = page("wait-seen-part", Language::En).await;
    for said in [
        seen,
        "8\u{a0}USDC remain to be sent, to the same address.",
        "Please do not send again what was seen.",
        "Still to send, exactly",
    ] {
        assert!(html.contains(said), "{said}");
    }
    for untrue in ["Part of it arrived", "Amount to pay", "Exactly this amount"] {
        assert!(!html.contains(untrue), "{untrue}");
    }
    let html = page("wait-seen-more", Language::En).await;
    assert!(html.contains("Part of it arrived: XOF\u{a0}3,000 of XOF\u{a0}12,500."));
    assert!(html.contains("In all, coins worth XOF\u{a0}4,500 were seen on the chain"));
    let html = page("wait-seen-late", Language::En).await;
    assert!(html.contains(seen) && html.contains("Do not send anything any more."));
    assert!(!html.contains("remain to be sent"), "{html}");
    let html = page("wait-seen-part", Language::Fr).await;
    assert!(html.contains("L’équivalent de 4\u{202f}500\u{a0}F CFA a été vu sur la chaîne."));
    assert!(html.contains("Il reste 8\u{a0}USDC à envoyer"));
}

#[tokio::test]
async fn an_attempt_whose_coins_were_seen_is_neither_cancelled_nor_given_up() {
    for (is_seen, cancel_status) in [(true, 303), (false, 200)] {
        let mut tx = samples::waited(1_000, |attempt| {
            let worth = if is_seen { 8_000 } else { 12_500 };
            attempt.payer_action = Some(samples::crypto_of("8", worth, None));
            attempt.candidate.can_cancel = true;
        });
        tx.attempts[0].received = Some(Amount::from_minor(0, tx.amount.currency()));
        let context = samples::context(tx, Language::En);
        let page = html(wait::page(&context, None, None)).await;
        for offered in ["/cancel", "/give-up"] {
            assert_eq!(page.contains(offered), !is_seen, "{offered}");
        }
        assert_eq!(page.contains("Coins for this payment were seen"), is_seen);
        assert_eq!(page.contains("We have not seen the rest yet"), is_seen);
        assert_eq!(cancel::question(&context).status().as_u16(), cancel_status);
    }
}

#[tokio::test]
async fn another_method_keeps_what_was_typed_and_what_was_selected() {
    let mut context = samples::context(samples::declined_once(), Language::En);
    context.visitor.query = vec![("a".into(), "v1.sealed".into())];
    let menu = Menu::new(&context.tx, samples::all_ways());
    let list = html(choose::page(&context, &menu, Some("BJ"), None, None)).await;
    assert!(
        list.contains("method=moov_bj&#38;a=v1.sealed"),
        "each method takes them along"
    );
    assert!(list.contains("<input type=\"hidden\" name=\"a\" value=\"v1.sealed\">"));

    let mut way = samples::way("ussd_ngn", false);
    let mut city = samples::bank();
    city.name = "city".to_owned();
    city.options.clear();
    way.asks = vec![samples::bank(), city];
    let chosen = Selection {
        way,
        country: country("NG").unwrap(),
    };
    let given = [
        ("account_bank", "058"),
        ("city", "Lagos"),
        ("msisdn", "0197000000"),
    ];
    let earlier = crate::checkout::answers::FormState {
        payment: context.tx.id,
        method: "mtn_bj".to_owned(),
        country: "BJ".to_owned(),
        given: Values::from(given.map(|(name, value)| (name.to_owned(), value.to_owned()))),
        attempts: 1,
        sent: true,
        agreed: None,
    };
    let answers = details::for_another_method(earlier, &context, &chosen);
    assert_eq!(
        (answers.method.as_str(), answers.country.as_str()),
        ("ussd_ngn", "NG")
    );
    assert!(!answers.sent && answers.agreed.is_none());
    assert!(
        !answers.given.contains_key("msisdn"),
        "the number stays hidden"
    );
    let needs = needs(&context, &chosen.way, chosen.country);
    let form = html(details::page(&context, &chosen, &needs, Some(&answers))).await;
    assert!(
        form.contains("<option value=\"058\" selected>GTBank</option>"),
        "{form}"
    );
    assert_eq!(form.matches(" selected").count(), 1);
    assert!(form.contains("value=\"Lagos\""));
}

#[tokio::test]
async fn a_countdown_ends_at_once_with_the_words_for_its_end() {
    for (name, over) in [
        ("choose", "The time to pay has run out"),
        ("wait-crypto", "The time to send is over"),
    ] {
        let html = page(name, Language::En).await;
        assert!(html.contains(&format!("data-over=\"{over}\"")), "{name}");
    }
    assert!(SCRIPT.contains("left.textContent = left.dataset.over"));
    assert!(!SCRIPT.contains("setTimeout(() => location.reload()"));
    // The last fraction of a second belongs to the time that is left.
    let mut context = samples::context(samples::payment(), Language::En);
    context.now = context.now.plus(std::time::Duration::from_millis(300));
    assert_eq!(
        context.frame("choose-title").time_left.unwrap().seconds,
        1_790
    );
}

#[test]
fn moments_are_written_by_script_with_their_zone_and_the_readers_region() {
    for part in [
        "timeZoneName: 'short'",
        "month: 'long'",
        "navigator.languages",
        "'en-GB'",
    ] {
        assert!(SCRIPT.contains(part), "{part}");
    }
}

#[tokio::test]
async fn the_statement_of_an_operator_is_not_shown_as_one_of_the_provider() {
    const WORDS: &str = "Refunded by hand";
    let settled = |mut tx: switchyard_core::transaction::Transaction| {
        tx.environment = switchyard_core::environment::Environment::Sandbox;
        let attempt = &mut tx.attempts[0];
        attempt.settled = Some(WORDS.to_owned());
        if let Some(decline) = &mut attempt.decline {
            decline.reason = switchyard_core::transaction::DeclineReason::Other;
            decline.provider_message = attempt.settled.clone();
        }
        if let switchyard_core::transaction::State::Failed(failure) = &mut tx.state {
            WORDS.clone_into(&mut failure.message);
        }
        tx
    };
    let other = switchyard_core::transaction::DeclineReason::Other;
    let (open, ended) = (
        settled(samples::declined_once()),
        settled(samples::failed(other)),
    );
    for (language, recorded) in [
        (Language::En, "checked by a person and recorded as failed"),
        (
            Language::Fr,
            "vérifié par une personne et enregistré comme échoué",
        ),
    ] {
        let context = samples::context(open.clone(), language);
        let attempt = &context.tx.attempts[0];
        let again = html(crate::checkout::again::page(&context, attempt, "v1.sealed")).await;
        let context = samples::context(ended.clone(), language);
        let result = html(crate::checkout::result::page(&context)).await;
        for page in [again, result] {
            assert!(page.contains(recorded), "{page}");
            for false_words in ["provider says", "provider did not", "prestataire", WORDS] {
                assert!(!page.contains(false_words), "{false_words}: {page}");
            }
        }
    }
}
