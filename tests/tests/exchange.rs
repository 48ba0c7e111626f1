//! A payment in one currency, paid by a method of another: the price, the page, the rate in the
//! answer.

use anyhow::Context;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard_core::money::{Correction, Currency, Rate};
use switchyard_engine::access::{AppChange, AppSettings};
use switchyard_tests::merchant::{Merchant, Reply};

const PAYS: &str = "4149518161";

/// A merchant whose app converts with this correction, or does not convert.
async fn merchant(correction: Option<&str>) -> anyhow::Result<Merchant> {
    let mut merchant = Merchant::open().await?;
    let pages = checkout::router(merchant.state.clone(), Draining::default());
    merchant.router = merchant.router.merge(pages);
    let caller = merchant.bench.caller();
    let settings = AppSettings {
        conversion: correction.map(Correction::parse).transpose()?,
        ..caller.app.settings.clone()
    };
    let change = AppChange {
        settings: Some(settings),
        ..AppChange::default()
    };
    let access = merchant.bench.engine.access();
    access.update_app(caller.app.id, change).await?;
    Ok(merchant)
}

async fn initialize(merchant: &Merchant, currency: &str) -> anyhow::Result<Reply> {
    let body = json!({
        "amount": 10, "currency": currency, "description": "A teapot", "return_url": "https://shop.example/done",
        "customer": {"email": "awa@example.com", "first_name": "Awa", "last_name": "Diop"}, "methods": ["mtn_bj"],
    });
    merchant.post("/v1/payments/initialize", &body).await
}

async fn set(merchant: &Merchant, from: &str, to: &str, rate: &str) -> anyhow::Result<()> {
    let currency = |code: &str| Currency::from_code(code).context("a currency");
    let exchange_rates = merchant.bench.engine.exchange_rates();
    let rate = Rate::parse(rate)?;
    exchange_rates
        .set(currency(from)?, currency(to)?, rate, None)
        .await?;
    Ok(())
}

async fn get(merchant: &Merchant, path: &str) -> anyhow::Result<Reply> {
    merchant.ask(Request::get(path).body(Body::empty())?).await
}

async fn send(merchant: &Merchant, path: &str, form: &str) -> anyhow::Result<String> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let reply = merchant
        .ask(request.body(Body::from(form.to_owned()))?)
        .await?;
    Ok(reply.header("location").context("a location")?.to_owned())
}

/// The confirm page of a payment, and the form on it.
async fn confirm_page(merchant: &Merchant, id: &str) -> anyhow::Result<(String, String)> {
    let form = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let path = send(merchant, &format!("/checkout/{id}/details"), &form).await?;
    form_on(merchant, &path).await
}

async fn form_on(merchant: &Merchant, path: &str) -> anyhow::Result<(String, String)> {
    let page = get(merchant, path).await?.text;
    let sealed = page.split_once("name=\"a\" value=\"").context("a form")?.1;
    let sealed = sealed.split('"').next().context("its value")?.to_owned();
    // Amounts and rates are written with spaces at which no line breaks.
    Ok((page.replace('\u{a0}', " "), format!("a={sealed}")))
}

fn id(reply: &Reply) -> anyhow::Result<String> {
    let id = reply.body["data"]["id"].as_str();
    Ok(id.with_context(|| reply.text.clone())?.to_owned())
}

async fn verified(merchant: &Merchant, id: &str) -> anyhow::Result<Value> {
    let reply = merchant.get(&format!("/v1/payments/{id}/verify")).await?;
    Ok(reply.body["data"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_euros_is_paid_in_cfa_francs_at_the_rate_that_the_payer_saw()
-> anyhow::Result<()> {
    let merchant = merchant(Some("1.5")).await?;
    let id = id(&initialize(&merchant, "EUR").await?)?;
    let (page, form) = confirm_page(&merchant, &id).await?;
    assert!(page.contains("Pay XOF 6,658"), "{page}");
    assert!(page.contains("1 EUR ≈ 665.796 XOF"), "{page}");
    let end = send(&merchant, &format!("/checkout/{id}/confirm"), &form).await?;
    assert_eq!(end, format!("/checkout/{id}/result"));
    let payment = verified(&merchant, &id).await?;
    assert_eq!(payment["status"], "success");
    assert_eq!(
        (&payment["amount"], &payment["currency"]["code"]),
        (&json!(10), &json!("EUR"))
    );
    let capture = &payment["capture"];
    assert_eq!(capture["amount"], json!(6658));
    assert_eq!(capture["currency"]["code"], "XOF");
    assert_eq!(capture["rate"], json!(665.796355));
    assert_eq!(capture["rate_formatted"], "1 EUR = 665.796 XOF");
    assert_eq!(capture["correction_rate"], json!(1.5));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_moves_before_the_button_is_pressed_is_shown_again_and_nothing_is_begun()
-> anyhow::Result<()> {
    let merchant = merchant(Some("0")).await?;
    set(&merchant, "USD", "XOF", "600").await?;
    let id = id(&initialize(&merchant, "USD").await?)?;
    let (page, form) = confirm_page(&merchant, &id).await?;
    assert!(page.contains("1 USD = 600 XOF"), "{page}");
    set(&merchant, "USD", "XOF", "610").await?;
    let again = send(&merchant, &format!("/checkout/{id}/confirm"), &form).await?;
    assert!(
        again.contains("/confirm?") && again.contains("notice=price"),
        "{again}"
    );
    assert_eq!(verified(&merchant, &id).await?["status"], "initiated");
    let (page, form) = form_on(&merchant, &again).await?;
    assert!(page.contains("The exchange rate has changed"), "{page}");
    send(&merchant, &format!("/checkout/{id}/confirm"), &form).await?;
    let payment = verified(&merchant, &id).await?;
    assert_eq!(
        (&payment["status"], &payment["capture"]["amount"]),
        (&json!("success"), &json!(6100))
    );
    assert_eq!(payment["capture"]["correction_rate"], Value::Null);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_does_not_convert_and_a_currency_without_a_rate_offer_no_foreign_method()
-> anyhow::Result<()> {
    let strict = merchant(None).await?;
    assert_eq!(initialize(&strict, "EUR").await?.status, 422);
    let converting = merchant(Some("0")).await?;
    assert_eq!(initialize(&converting, "EUR").await?.status, 201);
    assert_eq!(initialize(&converting, "GHS").await?.status, 400);
    set(&converting, "EUR", "GHS", "12.5").await?;
    assert_eq!(initialize(&converting, "GHS").await?.status, 201);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_the_methods_own_currency_has_no_rate() -> anyhow::Result<()> {
    let merchant = merchant(Some("5")).await?;
    let id = id(&initialize(&merchant, "XOF").await?)?;
    let (_, form) = confirm_page(&merchant, &id).await?;
    send(&merchant, &format!("/checkout/{id}/confirm"), &form).await?;
    let capture = verified(&merchant, &id).await?["capture"].clone();
    assert_eq!(
        (&capture["amount"], &capture["rate"]),
        (&json!(10), &Value::Null)
    );
    assert_eq!(capture["rate_formatted"], Value::Null);
    Ok(())
}
