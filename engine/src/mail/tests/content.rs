//! Amounts and recipients of mails.

use super::*;
use crate::access::{Logo, NewApp};
use switchyard_core::ids::{AttemptId, CaseId, ConnectionId};
use switchyard_core::money::Amount;
use switchyard_core::transaction::{
    Attempt, AttemptState, Case, CaseReason, Charge, Decision, Decline, State,
};

/// Success of 16,321 XOF for 25.50 USD, at a rate with a markup of 2.5 %.
pub(super) fn converted_attempt() -> Attempt {
    let ids = Ids::seeded(5);
    serde_json::from_value(serde_json::json!({
        "id": AttemptId::new(ids.ulid(START)), "reference": ids.uuid(), "follows": null,
        "candidate": {
            "connection": ConnectionId::new(ids.ulid(START)), "gateway": "g", "gateway_title": "G",
            "gateway_hash": "", "account_name": "",
        },
        "method": "mtn_bj", "country": "BJ", "phone": null, "fields": {},
        "amount": amount(16_321, "XOF"), "captured": amount(16_321, "XOF"), "fees": null,
        "conversion": {
            "rate": "640.0426123", "correction": "2.5", "way": ["USD", "XOF"], "as_of": null,
        },
        "state": "succeeded", "decision": Decision::default(), "started_at": START,
        "ended_at": START, "provider_id": null, "provider_status": null, "payer_action": null,
        "decline": null, "why": null, "queries": 0, "last_query_at": null, "next_query_at": null,
        "gateway_state": null, "remaining": [],
    }))
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn in_sandbox_the_merchant_gets_the_customers_mail_as_a_preview() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let tx = succeeded(Environment::Sandbox, Kind::Payment);
    let app = app(AppSettings {
        support_email: Some("help@shop.example".to_owned()),
        support_phone: Some("+229 01 97 80 80 80".to_owned()),
        ..AppSettings::default()
    });
    room.send(&app, &tx, MailTo::Customer).await;
    let received = server.received(1).await;
    assert_eq!(received[0].to, ["shop@merchant.example"]);
    let mail = decoded(&received[0].content);
    assert_eq!(
        mail["subject"],
        "[BAC À SABLE] [Aperçu du message au client] Votre paiement de 25,50\u{a0}$ à Café <Zoé> & Co"
    );
    assert_eq!(mail["reply-to"], "help@shop.example");
    let text = mail["text"].as_str().unwrap();
    assert!(
        text.contains("help@shop.example · +229 01 97 80 80 80"),
        "{text}"
    );
    assert!(text.contains("Voici ce que votre client reçoit"), "{text}");
    links_to_its_receipt(&mail, &tx, "fr");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_has_the_logo_of_its_app_in_itself() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let account = room.access.create_account("Shops").await.unwrap().id;
    let new = NewApp {
        account,
        name: "Café".to_owned(),
        icon_url: None,
        website_url: None,
        settings: AppSettings::default(),
    };
    let app = room.access.create_app(new).await.unwrap().id;
    let picture = image::DynamicImage::new_rgb8(20, 10);
    let mut file = std::io::Cursor::new(Vec::new());
    picture
        .write_to(&mut file, image::ImageFormat::Png)
        .unwrap();
    let logo = Logo::from_file(file.into_inner()).await.unwrap();
    let tx = succeeded(Environment::Live, Kind::Payment);
    let mut mails = Vec::new();
    for logo in [Some(logo.clone()), None] {
        let app = room.access.change_logo(app, logo).await.unwrap();
        room.send(&app, &tx, MailTo::Customer).await;
        let received = server.received(mails.len() + 1).await;
        mails.push(decoded(&received.last().unwrap().content));
    }
    let [with, without] = mails.try_into().unwrap();
    let page = with["page"].as_str().unwrap();
    assert!(
        page.contains("src=\"cid:logo@switchyard\" alt=\"\""),
        "{page}"
    );
    let sent = with["pictures"]["<logo@switchyard>"].as_str();
    let expected = base16ct::lower::encode_string(logo.bytes());
    assert_eq!(sent, Some(expected.as_str()));
    assert!(!without["page"].as_str().unwrap().contains("<img"));
    assert_eq!(without["pictures"], serde_json::json!({}));
    assert!(!page.contains("http://"), "no external content");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_names_what_was_paid_with_its_rate_and_mark_up_and_not_what_was_not_paid() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut tx = succeeded(Environment::Live, Kind::Payment);
    tx.attempts.push(converted_attempt());
    room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
        .await;
    room.send(&app(AppSettings::default()), &tx, MailTo::Customer)
        .await;
    for mail in server.received(2).await {
        let mail = decoded(&mail.content);
        let (subject, text) = (
            mail["subject"].as_str().unwrap(),
            mail["text"].as_str().unwrap(),
        );
        let is_french = mail["page"].as_str().unwrap().contains("lang=\"fr\"");
        let facts = match is_french {
            true => [
                "16\u{202f}321\u{a0}F CFA",
                "25,50\u{a0}$",
                "640,043",
                "2,5\u{202f}%",
            ],
            false => ["XOF\u{a0}16,321", "$25.50", "640.043", "2.5%"],
        };
        assert!(subject.contains(facts[0]), "{subject}");
        for fact in facts {
            assert!(text.contains(fact), "{fact} is not in: {text}");
        }
        // The requested amount is only in its own row.
        assert_eq!(text.matches(facts[1]).count(), 1, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_names_the_fee_that_a_payer_added_to_a_transfer_whatever_the_provider_captured() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    for (mails, captured) in [(1, 16_321), (2, 16_421)] {
        let mut tx = succeeded(Environment::Live, Kind::Payment);
        let mut attempt = converted_attempt();
        attempt.payer_fee = Some(amount(100, "XOF"));
        attempt.captured = Some(amount(captured, "XOF"));
        attempt.charges.push(Charge {
            id: None,
            amount: attempt.captured,
            is_part: false,
            is_recorded: true,
            is_unclear: false,
            contradicting: Vec::new(),
            decided: Vec::new(),
            replaced: Vec::new(),
            replaced_parts: Vec::new(),
            is_taken_back: false,
        });
        tx.attempts.push(attempt);
        room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
            .await;
        let received = server.received(mails).await;
        let mail = decoded(&received.last().unwrap().content);
        let text = mail["text"].as_str().unwrap();
        for fact in [
            "XOF\u{a0}16,421",
            "Provider’s fee, included",
            "XOF\u{a0}100",
        ] {
            assert!(text.contains(fact), "{captured}: {fact} is not in: {text}");
        }
        for wrong in ["XOF\u{a0}16,321", "Received"] {
            assert!(!text.contains(wrong), "{captured}: {wrong} is in: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_case_is_described_in_the_words_of_its_kind_of_transaction() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut expected = 0;
    for reason in CaseReason::ALL {
        for kind in Kind::ALL {
            let tx = succeeded(Environment::Live, kind);
            let to = MailTo::MerchantAboutCase(reason);
            room.send(&app(AppSettings::default()), &tx, to).await;
            expected += 1;
            let mails = server.received(expected).await;
            let mail = decoded(&mails.last().unwrap().content);
            let text = mail["text"].as_str().unwrap();
            let wrong = match kind {
                Kind::Payment => ["recipient was paid", "payout", "Payout"],
                Kind::Payout => ["customer paid", "payment", "Payment"],
            };
            for word in wrong {
                assert!(!text.contains(word), "{reason:?}, {word}: {text}");
            }
        }
    }
}

/// Case about the converted attempt, for which the provider reported `reported`.
pub(super) fn case(reason: CaseReason, attempt: &Attempt, reported: Option<Amount>) -> Case {
    Case {
        id: CaseId::new(Ids::seeded(6).ulid(START)),
        opened_at: START,
        reason,
        reference: attempt.reference,
        detail: String::new(),
        amount: reported,
        provider_id: None,
        closed: None,
    }
}

/// Declined attempt, with a case for each of `reasons` about its money.
pub(super) fn with_cases(mut tx: Transaction, reasons: &[CaseReason]) -> Transaction {
    let mut attempt = converted_attempt();
    attempt.state = AttemptState::Declined;
    attempt.captured = None;
    let reported = Some(amount(16_321, "XOF"));
    let cases = reasons
        .iter()
        .map(|reason| case(*reason, &attempt, reported));
    tx.cases.extend(cases);
    attempt
        .charges
        .extend((!reasons.is_empty()).then(|| Charge {
            id: attempt.provider_id.clone(),
            amount: reported,
            is_part: false,
            is_recorded: false,
            is_unclear: false,
            contradicting: Vec::new(),
            decided: Vec::new(),
            replaced: Vec::new(),
            replaced_parts: Vec::new(),
            is_taken_back: reasons.contains(&CaseReason::SuccessContradicted),
        }));
    tx.attempts.push(attempt);
    tx
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_is_asked_to_return_late_money_unless_the_provider_took_it_back() {
    use CaseReason::{MoneyAfterTheEnd, SuccessContradicted};
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut expected = 0;
    for (kind, advice) in [
        (
            Kind::Payment,
            "Return it to the customer: XOF\u{a0}16,321 in all, less what you have returned already.",
        ),
        (
            Kind::Payout,
            "Ask for it back before you send another payout: XOF\u{a0}16,321 in all.",
        ),
    ] {
        for (reasons, is_asked, is_taken_back) in [
            (&[][..], false, false),
            (&[MoneyAfterTheEnd][..], true, false),
            (&[MoneyAfterTheEnd, SuccessContradicted][..], false, true),
        ] {
            let tx = with_cases(failed(kind), reasons);
            room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
                .await;
            expected += 1;
            let mails = server.received(expected).await;
            let mail = decoded(&mails.last().unwrap().content);
            let text = mail["text"].as_str().unwrap();
            assert_eq!(text.contains(advice), is_asked, "{reasons:?}: {text}");
            let is_said = text.contains("and later reported the pay");
            assert_eq!(is_said, is_taken_back, "{reasons:?}: {text}");
            let is_reason_named = text.contains("Not enough money");
            assert_eq!(is_reason_named, reasons.is_empty(), "{reasons:?}: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_with_an_open_case_is_told_not_to_pay_again() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut expected = 0;
    for (reason, sentence) in [
        (None, "bien été reçu"),
        (
            Some(CaseReason::PaidTwice),
            "Demandez à Café <Zoé> & Co de vous rendre le paiement en trop",
        ),
        (
            Some(CaseReason::Surplus),
            "Demandez à Café <Zoé> & Co de vous rendre la différence",
        ),
        (
            Some(CaseReason::SuccessContradicted),
            "Ce paiement est en cours de vérification.",
        ),
    ] {
        let reasons: Vec<_> = reason.into_iter().collect();
        let tx = with_cases(succeeded(Environment::Live, Kind::Payment), &reasons);
        room.send(&app(AppSettings::default()), &tx, MailTo::Customer)
            .await;
        expected += 1;
        let mails = server.received(expected).await;
        let mail = decoded(&mails.last().unwrap().content);
        let text = mail["text"].as_str().unwrap();
        assert!(text.contains(sentence), "{sentence}: {text}");
        let is_warned = text.contains("Ne payez pas à nouveau.");
        assert_eq!(is_warned, reason.is_some(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_is_told_of_the_open_case_with_the_success_and_not_to_deliver_before() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut expected = 0;
    for (kind, warning) in [
        (Kind::Payment, "read the mail about that before you deliver"),
        (
            Kind::Payout,
            "read the mail about that before you send anything",
        ),
    ] {
        for reasons in [&[][..], &[CaseReason::LateSuccess][..]] {
            let tx = with_cases(succeeded(Environment::Live, kind), reasons);
            room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
                .await;
            expected += 1;
            let mails = server.received(expected).await;
            let mail = decoded(&mails.last().unwrap().content);
            let text = mail["text"].as_str().unwrap();
            assert_eq!(text.contains(warning), !reasons.is_empty(), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_customer_wrote_reverses_no_other_text_of_a_mail() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut tx = succeeded(Environment::Live, Kind::Payment);
    tx.description = "Order\u{202e} 7".to_owned();
    tx.customer.first_name = "\u{2066}Ada".to_owned();
    room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
        .await;
    let mails = server.received(1).await;
    let mail = decoded(&mails[0].content);
    for part in ["text", "page"] {
        let part = mail[part].as_str().unwrap();
        assert!(part.contains("Order 7") && part.contains("Ada"), "{part}");
        assert!(!part.contains(['\u{202e}', '\u{2066}']), "{part}");
    }
}

/// "No money was received" is said exactly when no provider reported any and no attempt is open.
#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_reads_that_no_money_moved_only_when_that_is_certain() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut expected = 0;
    for kind in Kind::ALL {
        let nothing = match kind {
            Kind::Payment => "No money was received.",
            Kind::Payout => "The recipient was not paid.",
        };
        let declined = with_cases(failed(kind), &[]);
        let mut open = declined.clone();
        open.attempts[0].state = AttemptState::InDoubt;
        for reason in CaseReason::ALL {
            let reported = with_cases(failed(kind), &[reason]);
            // A case whose evidence is no charge.
            let mut suspected = reported.clone();
            suspected.attempts[0].charges.clear();
            let is_harmless = !reason.reports_money() && !reason.holds();
            for (state, tx, is_certain) in [
                ("declined", &declined, true),
                ("open", &open, false),
                ("reported", &reported, false),
                ("suspected", &suspected, is_harmless),
            ] {
                let to = MailTo::MerchantAboutCase(reason);
                // The customer may get a mail about the same case.
                let count = room.enqueue(&app(AppSettings::default()), tx, to).await;
                let before = expected;
                expected += count;
                let mails = server.received(expected).await;
                let says_so = mails[before..].iter().any(|mail| {
                    let mail = decoded(&mail.content);
                    mail["text"].as_str().unwrap().contains(nothing)
                });
                assert_eq!(says_so, is_certain, "{kind:?}, {reason:?}, {state}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_about_another_amount_says_how_it_differs() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut expected = 0;
    for (reported, payment, payout) in [
        (
            Some(amount(16_320, "XOF")),
            "For one attempt, less was received than was asked.",
            "For one attempt, less was sent than was ordered.",
        ),
        (
            Some(amount(16_321, "XOF")),
            "The provider reported the full amount, but did not confirm it as final.",
            "The provider reported the full amount, but did not confirm it as final.",
        ),
        (
            Some(amount(16_322, "XOF")),
            "For one attempt, more was received than was asked.",
            "For one attempt, more was sent than was ordered.",
        ),
        (
            Some(amount(16_321, "XAF")),
            "Money was received in another currency than was asked.",
            "Money was sent in another currency than was ordered.",
        ),
        (
            None,
            "The provider reported money without an amount that can be read.",
            "The provider reported money without an amount that can be read.",
        ),
    ] {
        for (kind, sentence) in [(Kind::Payment, payment), (Kind::Payout, payout)] {
            let mut tx = succeeded(Environment::Live, kind);
            let attempt = converted_attempt();
            tx.cases
                .push(case(CaseReason::AmountDiffers, &attempt, reported));
            tx.attempts.push(attempt);
            let to = MailTo::MerchantAboutCase(CaseReason::AmountDiffers);
            room.send(&app(AppSettings::default()), &tx, to).await;
            expected += 1;
            let mails = server.received(expected).await;
            let mail = decoded(&mails.last().unwrap().content);
            let text = mail["text"].as_str().unwrap();
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
    }
}

/// The text of the merchant's mail about `tx`, in the language of `locale`.
async fn merchants_text(locale: &str, tx: &Transaction, to: MailTo) -> String {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let settings = AppSettings {
        locale: Some(locale.to_owned()),
        ..AppSettings::default()
    };
    room.send(&app(settings), tx, to).await;
    let mails = server.received(1).await;
    let mail = decoded(&mails[0].content);
    mail["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_of_a_failure_is_in_the_language_of_its_reader() {
    let mut tx = failed(Kind::Payment);
    let fail = |tx: &mut Transaction, reason, message: &str| {
        let message = message.to_owned();
        tx.state = State::Failed(Failure { reason, message });
    };
    fail(&mut tx, DeclineReason::Expired, "The time to pay was up.");
    let to = MailTo::Merchant;
    let said = "Motif\u{a0}: Le délai s’est écoulé avant la confirmation.";
    let text = merchants_text("fr", &tx, to).await;
    assert!(text.contains(said) && !text.contains("time"), "{text}");
    let text = merchants_text("en", &tx, to).await;
    let said = "Reason: The time was up before it was confirmed.";
    assert!(text.contains(said), "{text}");
    assert!(!text.contains("before you deliver"), "{text}");
    // A payout that an operator stopped was refused by no provider.
    fail(&mut tx, DeclineReason::NotPermitted, "It was stopped.");
    let text = merchants_text("fr", &tx, to).await;
    assert!(text.contains("arrêté avant l’envoi"), "{text}");
    // The provider's own words stay as they are.
    let mut attempt = converted_attempt();
    attempt.state = AttemptState::Declined;
    attempt.captured = None;
    attempt.decline = Some(Decline {
        reason: DeclineReason::PayerDeclined,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: Some("Declined by issuer: 51".to_owned()),
        field: None,
    });
    tx.attempts.push(attempt);
    fail(
        &mut tx,
        DeclineReason::PayerDeclined,
        "Declined by issuer: 51",
    );
    let text = merchants_text("fr", &tx, to).await;
    let said = "son prestataire. Message du prestataire : Declined by issuer: 51";
    assert!(text.contains(said), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_merchant_is_told_which_of_two_payments_to_return() {
    let mut tx = with_cases(
        succeeded(Environment::Live, Kind::Payment),
        &[CaseReason::PaidTwice],
    );
    let mut done = converted_attempt();
    done.reference = uuid::Uuid::from_u128(7);
    done.charges.push(Charge {
        id: None,
        amount: done.captured,
        is_part: false,
        is_recorded: true,
        is_unclear: false,
        contradicting: Vec::new(),
        decided: Vec::new(),
        replaced: Vec::new(),
        replaced_parts: Vec::new(),
        is_taken_back: false,
    });
    let second = tx.attempts.last_mut().unwrap();
    second.phone = Some("+2290197001234".to_owned());
    tx.attempts.push(done);
    let to = MailTo::MerchantAboutCase(CaseReason::PaidTwice);
    for (locale, line) in [
        ("en", "To return: MTN MoMo, XOF\u{a0}16,321, ••••\u{a0}1234"),
        (
            "fr",
            "À rendre\u{a0}: MTN MoMo, 16\u{202f}321\u{a0}F CFA, ••••\u{a0}1234",
        ),
    ] {
        let text = merchants_text(locale, &tx, to).await;
        assert!(text.contains(line), "{text}");
    }
}
