//! Request for a payment, and the page that the payer sees.

use crate::*;

#[test]
fn a_card_is_paid_on_flutterwaves_page_under_our_reference() {
    let link = "https://checkout.flutterwave.com/v3/hosted/pay/1";
    let end = collect("card_ghs", 2_550, || success(json!({ "link": link }))).unwrap();
    let request = &end.requests[0];
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.flutterwave.com/v3/payments")
    );
    assert!(request.can_mutate());
    assert!(
        request
            .headers
            .contains(&("authorization".into(), "Bearer FLWSECK_TEST-k-X".into()))
    );
    assert!(
        text(request).starts_with(r#"{"amount":25.50,"#),
        "{}",
        text(request)
    );
    let mut sent = body(request);
    sent.as_object_mut().unwrap().remove("amount");
    assert_eq!(
        sent,
        json!({
            "tx_ref": REFERENCE, "currency": "GHS", "payment_options": "card",
            "redirect_url": "https://pay.example.com/checkout/py_01jd4v3z6q8k9m2n5p7r1s3t4v",
            "customer": { "email": "ada@example.com", "name": "Ada Lovelace" },
            "meta": { "transaction": "py_01jd4v3z6q8k9m2n5p7r1s3t4v" }, "customizations": { "title": "A sample" },
            "session_duration": 20, "max_retry_attempt": 3,
        })
    );
    assert_eq!(
        end.outcome,
        Outcome::awaiting(PayerAction::Redirect { url: link.into() })
    );
    assert_eq!(end.state["is_shown"], true);
}

/// Method, type of charge, its additional fields, `data` and `meta.authorization` of the response,
/// the payer's action.
type Row = (&'static str, &'static str, Value, Value, Value, PayerAction);

fn page() -> (Value, PayerAction) {
    let url = "https://ravemodal.example/captcha";
    let action = PayerAction::Redirect { url: url.into() };
    (json!({ "mode": "redirect", "redirect": url }), action)
}

fn phone() -> PayerAction {
    PayerAction::ConfirmOnPhone {
        prompt: Prompt::Auto,
        steps: Default::default(),
        ussd: None,
    }
}

fn pending() -> Value {
    json!({ "id": 7, "tx_ref": REFERENCE, "status": "pending" })
}

#[rustfmt::skip]
fn wallets() -> Vec<Row> {
    let none = || Value::Null;
    let (shown, page) = page();
    let callback = json!({ "mode": "callback", "redirect_url": null });
    vec![
        ("mtn_gh", "mobile_money_ghana", json!({ "network": "MTN", "phone_number": "233551234987" }), none(), shown.clone(), page.clone()),
        ("tigo_gh", "mobile_money_ghana", json!({ "network": "AIRTELTIGO" }), none(), shown.clone(), page.clone()),
        ("airtel_ug", "mobile_money_uganda", json!({ "network": "AIRTEL" }), none(), shown.clone(), page.clone()),
        ("mtn_rw", "mobile_money_rwanda", json!({ "order_id": REFERENCE, "network": "MTN" }), none(), shown.clone(), page.clone()),
        ("zamtel_zm", "mobile_money_zambia", json!({ "order_id": REFERENCE, "network": "ZAMTEL" }), none(), shown, page),
        ("halopesa_tz", "mobile_money_tanzania", json!({ "network": "HALOPESA" }), pending(), none(), phone()),
        ("orange_cm", "mobile_money_franco", json!({ "country": "CM", "network": "ORANGEMONEY" }), pending(), callback.clone(), phone()),
        ("moov_bf", "mobile_money_franco", json!({ "country": "BF", "network": null }), pending(), callback, phone()),
        ("mpesa_ke", "mpesa", json!({ "network": null }), pending(), none(), phone()),
    ]
}

fn banks() -> Vec<Row> {
    let note = "Please make a bank transfer to Simulated Ltd";
    let account = json!({
        "mode": "banktransfer", "transfer_reference": "MockFLWRef-1", "transfer_account": "0067100155", "transfer_amount": 26.40,
        "transfer_bank": "Mock Bank", "account_expiration": 1_795_170_600_000_i64, "transfer_note": note,
    });
    let transfer = PayerAction::Transfer {
        bank: "Mock Bank".into(),
        account: "0067100155".into(),
        name: "Simulated Ltd".into(),
        amount: Amount::decimal("26.4", "NGN"),
        fees: Some(Box::new(Amount::minor(140, "NGN"))),
        reference: Some("MockFLWRef-1".into()),
        expires: Some("2026-11-20 10:30 UTC".into()),
    };
    let ussd = "*566*002*4517159#";
    let dial = PayerAction::Dial { ussd: ussd.into() };
    let code = "data:image/png;base64,iVBORw0KGgo=";
    let qr = PayerAction::ShowQr {
        text: String::new(),
        image: Some(code.into()),
    };
    let expires = json!({ "expires": 1_800, "is_permanent": false });
    let of_bank = json!({ "account_bank": "058" });
    let dialled = json!({ "mode": "ussd", "note": ussd });
    let scanned = json!({ "mode": "qr", "image": code });
    vec![
        (
            "bank_transfer_ng",
            "bank_transfer",
            expires,
            Value::Null,
            account,
            transfer,
        ),
        ("ussd_ngn", "ussd", of_bank, pending(), dialled, dial),
        (
            "qr_ngn",
            "qr",
            json!({ "is_nqr": "1" }),
            Value::Null,
            scanned,
            qr,
        ),
    ]
}

#[test]
fn each_kind_of_charge_says_what_it_needs_and_shows_the_payer_what_to_do() {
    for (method, kind, extra, data, authorization, action) in wallets().into_iter().chain(banks()) {
        let end = collect(method, 2_500, || {
            let meta = json!({ "authorization": authorization });
            let answered = json!({ "status": "success", "message": "Charge initiated", "data": data, "meta": meta });
            answer(200, answered)
        })
        .unwrap();
        let request = &end.requests[0];
        assert_eq!(
            request.url,
            format!("{URL}/charges?type={kind}"),
            "{method}"
        );
        let sent = body(request);
        assert_eq!(sent["tx_ref"], REFERENCE);
        assert_eq!(sent["email"], "ada@example.com");
        for (name, value) in extra.as_object().unwrap() {
            assert_eq!(&sent[name], value, "{method}: {name}");
        }
        let wanted = Outcome::Pending {
            provider_id: (!data.is_null()).then(|| "7".into()),
            payer_action: Some(action),
            poll_after: None,
            received: None,
        };
        assert_eq!(end.outcome, wanted, "{method}");
    }
}

#[test]
fn a_refusal_at_once_is_a_decline_with_flutterwaves_words() {
    for (status, message, reason, elsewhere) in [
        (
            400,
            "currency is not supported",
            DeclineReason::Misconfigured,
            true,
        ),
        (
            400,
            "Insufficient Funds",
            DeclineReason::InsufficientFunds,
            false,
        ),
        (400, "Because.", DeclineReason::Other, false),
        (
            401,
            "Invalid authorization key",
            DeclineReason::Misconfigured,
            true,
        ),
        (403, "Because.", DeclineReason::Misconfigured, true),
        (429, "Slow down", DeclineReason::ProviderUnavailable, true),
    ] {
        let end = collect("mtn_gh", 2_550, || error(status, message)).unwrap();
        let Outcome::Declined {
            reason: said,
            retryable,
            provider_code,
            ..
        } = end.outcome
        else {
            panic!("{status} {message}");
        };
        assert_eq!((said, retryable), (reason, elsewhere), "{status} {message}");
        assert_eq!(provider_code, Some(status.to_string()));
    }
}

#[test]
fn what_lacks_a_number_an_email_or_a_bank_never_leaves() {
    let ask = testing::collect("mtn_gh", 100, "GHS", 2);
    let end = call(Operation::Collect)
        .input(&ask)
        .run::<Flutterwave>(no_provider);
    assert!(matches!(
        end.unwrap().outcome,
        Outcome::Declined {
            reason: DeclineReason::InvalidAccount,
            ..
        }
    ));
    let mut ask = testing::collect("ussd_ngn", 100, "NGN", 2);
    ask.fields = [("account_bank", "Bank of Nowhere")].into();
    let end = call(Operation::Collect)
        .input(&ask)
        .run::<Flutterwave>(no_provider);
    assert!(matches!(
        end.unwrap().outcome,
        Outcome::Declined {
            reason: DeclineReason::InvalidAccount,
            ..
        }
    ));
    let mut ask = testing::collect("card_usd", 100, "USD", 2);
    ask.payer.email = None;
    let end = call(Operation::Collect)
        .input(&ask)
        .run::<Flutterwave>(no_provider);
    assert_eq!(end.unwrap_err().kind, FaultKind::Config);
}
