//! Checkout pages beside the payment itself: the country it begins with, the merchant's look,
//! receipts, and pages for lost visitors.

use anyhow::Context;
use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard_engine::access::{AppChange, AppSettings, Logo};
use switchyard_tests::merchant::{Merchant, Reply};

const PAYS: &str = "4149518161";
/// A PNG of 2 by 2 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mPgjl8KRAwQCgAbSgQ9/meWtAAAAABJRU5ErkJggg==";

async fn open() -> anyhow::Result<Merchant> {
    let mut merchant = Merchant::open().await?;
    let pages = checkout::router(merchant.state.clone(), Draining::default());
    merchant.router = merchant.router.merge(pages);
    Ok(merchant)
}

async fn payment(merchant: &Merchant, changes: Value) -> anyhow::Result<String> {
    let mut body = json!({
        "amount": 12500, "currency": "XOF", "description": "Two blue teapots", "return_url": "https://shop.example/done?order=7",
        "customer": {"email": "awa@example.com", "first_name": "Awa", "last_name": "Diop"},
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let made = merchant.post("/v1/payments/initialize", &body).await?;
    Ok(made.body["data"]["id"]
        .as_str()
        .context("an id")?
        .to_owned())
}

async fn get(merchant: &Merchant, path: &str) -> anyhow::Result<Reply> {
    merchant.ask(Request::get(path).body(Body::empty())?).await
}

/// Sends a form, and answers where it leads.
async fn send(merchant: &Merchant, path: &str, form: &str) -> anyhow::Result<String> {
    let reply = post(merchant, path, form).await?;
    anyhow::ensure!(reply.status == 303, "{path} answered {}", reply.status);
    Ok(reply.header("location").context("a location")?.to_owned())
}

async fn post(merchant: &Merchant, path: &str, form: &str) -> anyhow::Result<Reply> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    merchant
        .ask(request.body(Body::from(form.to_owned()))?)
        .await
}

/// From the details to the confirm step: its address, and the form that it sends.
async fn confirm_form(
    merchant: &Merchant,
    id: &str,
    form: &str,
) -> anyhow::Result<(String, String)> {
    let confirm = send(merchant, &format!("/checkout/{id}/details"), form).await?;
    anyhow::ensure!(
        confirm.starts_with(&format!("/checkout/{id}/confirm?a=")),
        "{confirm}"
    );
    let answers = confirm.split_once("?a=").context("answers")?.1.to_owned();
    Ok((confirm, format!("a={answers}")))
}

async fn asked_by_a_browser(merchant: &Merchant, path: &str) -> anyhow::Result<Reply> {
    let request = Request::get(path)
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        .header("accept-language", "en-GB,en;q=0.9");
    merchant.ask(request.body(Body::empty())?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_gets_a_page_where_a_program_gets_json() -> anyhow::Result<()> {
    let merchant = open().await?;
    let front = asked_by_a_browser(&merchant, "/").await?;
    assert_eq!(front.status, 200);
    assert!(front.text.contains("open the payment link") && front.text.contains("href=\"/docs\""));
    let nowhere = asked_by_a_browser(&merchant, "/no/such/page").await?;
    assert_eq!(nowhere.status, 404);
    assert!(
        nowhere.text.contains("There is no page here"),
        "{}",
        nowhere.text
    );
    for path in ["/", "/no/such/page"] {
        let program = get(&merchant, path).await?;
        assert_eq!(program.status, 404);
        assert_eq!(program.body["errors"][0]["code"], "route_not_found");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_country_comes_from_the_customers_number_and_never_from_the_browsers_language()
-> anyhow::Result<()> {
    let merchant = open().await?;
    let selected = |page: &Reply| {
        let (before, _) = page.text.split_once("\" selected>")?;
        before.get(before.len() - 2..).map(str::to_owned)
    };
    let id = payment(&merchant, json!({ "currency": "USD", "amount": 10 })).await?;
    let page = asked_by_a_browser(&merchant, &format!("/checkout/{id}")).await?;
    assert_eq!(selected(&page), None, "en-GB says nothing of a country");
    let customer = json!({
        "email": "awa@example.com", "first_name": "Awa", "last_name": "Diop",
        "phone": "+2290197808080",
    });
    let id = payment(&merchant, json!({ "customer": customer })).await?;
    let page = asked_by_a_browser(&merchant, &format!("/checkout/{id}")).await?;
    assert_eq!(selected(&page).as_deref(), Some("BJ"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_merchants_logo_colour_and_contact_are_on_the_page_and_a_receipt_follows_a_success()
-> anyhow::Result<()> {
    let merchant = open().await?;
    let access = merchant.state.engine().access();
    let app = access.apps(None).remove(0);
    let logo = Logo::from_file(STANDARD.decode(PNG)?).await?;
    let settings = AppSettings {
        logo: Some(logo),
        accent_colour: Some("#0b5fa5".to_owned()),
        support_email: Some("help@shop.example".to_owned()),
        ..app.settings.clone()
    };
    let change = AppChange {
        settings: Some(settings),
        ..AppChange::default()
    };
    access.update_app(app.id, change).await?;
    let id = payment(&merchant, json!({})).await?;
    let page = get(&merchant, &format!("/checkout/{id}?country=BJ")).await?;
    assert!(
        page.text.contains("--accent:#0b5fa5;") && page.text.contains("mailto:help@shop.example")
    );
    let logo = page
        .text
        .split_once("class=\"logo\" src=\"")
        .context("a logo")?
        .1;
    let address = logo.split_once('"').context("its end")?.0;
    let logo = get(&merchant, address).await?;
    for (name, value) in [
        ("content-type", "image/png"),
        ("cache-control", "public, max-age=31536000, immutable"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(logo.header(name), Some(value));
    }
    access.change_logo(app.id, None).await?;
    let gone = get(&merchant, address).await?;
    assert_eq!(gone.status, 404, "its address is that of one picture");

    let receipt = format!("/checkout/{id}/receipt");
    let early = get(&merchant, &receipt).await?;
    assert_eq!(early.status, 303, "nothing was paid yet");
    let form = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let (_, pay) = confirm_form(&merchant, &id, &form).await?;
    send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    let page = get(&merchant, &format!("{receipt}?lang=fr")).await?;
    assert!(
        page.text.contains("12\u{202f}500\u{a0}F CFA") && page.text.contains("Reçu"),
        "{}",
        page.text
    );
    Ok(())
}
