//! The checkout page with the test gateway behind it, by a payer who has nothing but forms and
//! links. What browsers add is in `tests/browser`.

use std::time::Duration;

use anyhow::Context;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard_core::environment::Environment;
use switchyard_engine::access::NewConnection;
use switchyard_system::clock::Clock;
use switchyard_tests::merchant::{Merchant, Reply};
use tower::ServiceExt;

const PAYS: &str = "4149518161";
const STAYS_PENDING: &str = "4149518162";
const FAILS: &str = "4149518163";

async fn open() -> anyhow::Result<Merchant> {
    open_with(1).await
}

/// With so many attempts for a payer.
async fn open_with(checkout_attempts: u8) -> anyhow::Result<Merchant> {
    let mut merchant = Merchant::with(|wanted| {
        wanted.clock = Clock::wall();
        wanted.checkout_attempts = checkout_attempts;
    })
    .await?;
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

async fn status(merchant: &Merchant, id: &str) -> anyhow::Result<Value> {
    Ok(merchant.get(&format!("/v1/payments/{id}")).await?.body["data"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_with_nothing_but_forms_pays_by_a_method_of_their_country() -> anyhow::Result<()> {
    let merchant = open().await?;
    let id = payment(&merchant, json!({})).await?;
    let first = get(&merchant, &format!("/checkout/{id}?country=BJ")).await?;
    assert_eq!(first.status, 200);
    let link = format!("/checkout/{id}/details?country=BJ&#38;method=mtn_bj");
    assert!(first.text.contains(&link), "{}", first.text);
    let details = get(&merchant, &link.replace("&#38;", "&")).await?;
    assert!(details.text.contains("name=\"msisdn\"") && details.text.contains(PAYS));

    let form = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let (confirm, pay) = confirm_form(&merchant, &id, &form).await?;
    assert!(!confirm.contains(PAYS), "no number in an address");
    let page = get(&merchant, &confirm).await?;
    assert!(page.text.contains("MTN MoMo") && page.text.contains("••••\u{a0}8161"));
    let before = status(&merchant, &id).await?;
    assert_eq!(before["status"], "initiated");
    assert_eq!(before["context"]["country"], "", "a string always");

    let end = send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    assert_eq!(end, format!("/checkout/{id}/result"));
    assert!(
        get(&merchant, &end)
            .await?
            .text
            .contains("Payment successful")
    );
    let paid = status(&merchant, &id).await?;
    assert_eq!(
        (&paid["status"], &paid["method"]["code"]),
        (&json!("success"), &json!("mtn_bj"))
    );
    assert_eq!(paid["context"]["country"], "BJ", "as the payer said");
    assert_eq!(
        send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?,
        end,
        "and once more changes nothing"
    );
    Ok(())
}

/// The address of the link with these words.
fn link(page: &str, words: &str) -> anyhow::Result<String> {
    let (before, _) = page
        .split_once(&format!(">{words}</a>"))
        .with_context(|| format!("no link {words} in {page}"))?;
    let (_, href) = before.rsplit_once("href=\"").context("an address")?;
    let (href, _) = href.split_once('"').context("its end")?;
    Ok(href.replace("&#38;", "&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_payer_tries_again_with_what_they_typed_until_the_attempts_are_used_up()
-> anyhow::Result<()> {
    let merchant = open_with(3).await?;
    let id = payment(&merchant, json!({})).await?;
    let form = format!("country=BJ&method=mtn_bj&msisdn={FAILS}");
    let (_, mut pay) = confirm_form(&merchant, &id, &form).await?;
    for left in ["2 more times", "once more"] {
        let end = send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
        assert_eq!(end, format!("/checkout/{id}"));
        let page = get(&merchant, &end).await?.text;
        assert!(page.contains("The payment did not work") && page.contains(left));
        assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("data-leave="));
        assert_eq!(status(&merchant, &id).await?["status"], "pending");
        let other = get(&merchant, &link(&page, "Another method")?).await?.text;
        assert!(other.contains("How would you like to pay?") && other.contains("method=moov_bj"));
        let details = format!("/checkout/{id}/details?country=BJ&method=moov_bj");
        let moov = get(&merchant, &details).await?.text;
        assert!(
            moov.contains(FAILS),
            "the number is kept for another method"
        );
        let same = link(&page, "Try again")?;
        let (place, answers) = same.split_once("?a=").context("answers")?;
        assert_eq!(place, format!("/checkout/{id}/confirm"));
        assert!(get(&merchant, &same).await?.text.contains("••••\u{a0}8163"));
        pay = format!("a={answers}");
    }
    let end = send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    assert_eq!(
        end,
        format!("/checkout/{id}/result"),
        "the third was the last"
    );
    assert_eq!(status(&merchant, &id).await?["status"], "failed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_the_provider_refuses_comes_back_with_its_message_and_costs_no_attempt()
-> anyhow::Result<()> {
    let merchant = open().await?;
    let id = payment(&merchant, json!({})).await?;
    for _ in 0..2 {
        let form = "country=BJ&method=mtn_bj&msisdn=4149518199";
        let (_, pay) = confirm_form(&merchant, &id, form).await?;
        let field = send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
        assert!(
            field.starts_with(&format!("/checkout/{id}/details?a=")),
            "{field}"
        );
        let page = get(&merchant, &field).await?.text;
        let error = page.split_once("id=\"e-msisdn\">").context("an error")?.1;
        assert!(error.contains("no number of the test gateway"), "{error}");
        assert!(page.contains("value=\"4149518199\"") && page.contains("autofocus"));
        let home = get(&merchant, &format!("/checkout/{id}")).await?;
        let led = home.header("location").context("the field again")?;
        assert!(
            led.starts_with(&format!("/checkout/{id}/details?a=")),
            "{led}"
        );
        assert_eq!(status(&merchant, &id).await?["status"], "pending");
    }
    let form = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let (_, pay) = confirm_form(&merchant, &id, &form).await?;
    send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    assert_eq!(status(&merchant, &id).await?["status"], "success");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_waits_is_told_how_long_and_where_no_way_out_exists_whom_to_ask()
-> anyhow::Result<()> {
    let mut merchant = Merchant::with(|_| {}).await?;
    let pages = checkout::router(merchant.state.clone(), Draining::default());
    merchant.router = merchant.router.merge(pages);
    let id = payment(&merchant, json!({})).await?;
    let form = format!("country=BJ&method=mtn_bj&msisdn={STAYS_PENDING}");
    let (_, pay) = confirm_form(&merchant, &id, &form).await?;
    let wait = send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    assert!(
        !get(&merchant, &wait)
            .await?
            .text
            .contains("longer than usual")
    );
    merchant.bench.clock.advance(Duration::from_secs(70));
    let page = get(&merchant, &wait).await?.text;
    assert!(page.contains("longer than usual") && page.contains("cannot cancel an attempt"));
    merchant.bench.clock.advance(Duration::from_secs(60));
    let page = get(&merchant, &wait).await?.text;
    let reference = format!("give the reference {id}");
    assert!(
        page.contains(&reference),
        "the test gateway cannot cancel: {page}"
    );
    let tx = merchant.bench.engine.transaction(id.parse()?).await?;
    let attempt = tx.context("it")?.current_attempt().context("one")?.id;
    let give_up = format!("attempt={attempt}&why=other_way");
    let back = send(&merchant, &format!("/checkout/{id}/give-up"), &give_up).await?;
    assert_eq!(
        back, wait,
        "an attempt that may still take money stays open"
    );
    assert_eq!(status(&merchant, &id).await?["status"], "pending");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_typed_wrong_once_then_right_and_is_written_down_nowhere() -> anyhow::Result<()> {
    let merchant = open().await?;
    let engine = &merchant.bench.engine;
    let connection = NewConnection {
        app: merchant.bench.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "switchyard_demo".into(),
        account_name: "With a code".into(),
        methods: None,
        config: json!({ "ask_code": true }),
    };
    engine.access().create_connection(connection).await?;
    let id = payment(&merchant, json!({})).await?;
    let form = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let (_, pay) = confirm_form(&merchant, &id, &form).await?;
    let wait = send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    assert_eq!(wait, format!("/checkout/{id}/wait"));
    let page = get(&merchant, &wait).await?.text;
    assert!(page.contains("one-time-code") && page.contains("the code is 123456"));
    assert!(
        !page.contains("http-equiv=\"refresh\""),
        "a page that loads itself again would take away what is being typed"
    );
    let attempt = engine.transaction(id.parse()?).await?.context("it")?;
    let attempt = attempt.current_attempt().context("an attempt")?.id;
    let code = format!("/checkout/{id}/code");
    let typed = |tried, code| format!("attempt={attempt}&tried={tried}&code={code}");

    let short = send(&merchant, &code, &typed(0, "987")).await?;
    assert!(short.ends_with("notice=code-length"), "{short}");
    for _ in 0..2 {
        assert_eq!(send(&merchant, &code, &typed(0, "987654")).await?, wait);
    }
    let page = get(&merchant, &wait).await?.text;
    assert!(page.contains("not accepted") && page.contains("takes 123456 only"));
    let french = get(&merchant, &format!("{wait}?lang=fr")).await?.text;
    assert!(french.contains("Envoyer le code") && french.contains("pas été accepté"));
    let end = send(&merchant, &code, &typed(1, "123+456")).await?;
    assert_eq!(end, format!("/checkout/{id}/result"));
    assert_eq!(status(&merchant, &id).await?["status"], "success");

    let timeline = engine.timeline(id.parse()?).await?;
    let written = serde_json::to_string(&(timeline, engine.transaction(id.parse()?).await?))?;
    assert!(!written.contains("987654"), "a code is a secret");
    assert_eq!(written.matches("code_submitted").count(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restriction_holds_whatever_a_form_says() -> anyhow::Result<()> {
    let merchant = open().await?;
    let id = payment(&merchant, json!({"restrict_country_code": "CI"})).await?;
    let page = get(&merchant, &format!("/checkout/{id}?country=BJ")).await?;
    assert!(page.text.contains("method=mtn_ci") && !page.text.contains("method=mtn_bj"));
    let elsewhere = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let back = send(&merchant, &format!("/checkout/{id}/details"), &elsewhere).await?;
    assert_eq!(back, format!("/checkout/{id}?notice=method"));

    let phone = json!({"number": format!("+1{FAILS}"), "country_code": "US"});
    let changes = json!({"currency": "USD", "amount": 25, "restricted_phone": phone});
    let id = payment(&merchant, changes).await?;
    let form = format!("country=US&method=switchyard_payment_demo&msisdn={PAYS}");
    let (_, pay) = confirm_form(&merchant, &id, &form).await?;
    send(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    let failed = status(&merchant, &id).await?;
    assert_eq!(
        failed["status"], "failed",
        "the number that the merchant gave was asked, not the form's"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_has_a_badge_and_its_gateway_never_serves_live() -> anyhow::Result<()> {
    let merchant = open().await?;
    let sandbox = payment(&merchant, json!({})).await?;
    let page = get(&merchant, &format!("/checkout/{sandbox}")).await?;
    assert!(page.text.contains("class=\"badge\""));
    let live = format!("Bearer {}", merchant.live());
    let body = json!({
        "amount": 1, "currency": "USD", "description": "x", "return_url": "https://shop.example",
        "customer": {"email": "a@example.com", "first_name": "A", "last_name": "B"},
    });
    let refused = merchant
        .post_with(
            "/v1/payments/initialize",
            &body,
            &[("authorization", &live)],
        )
        .await?;
    assert_eq!(refused.status, 400, "sandbox's gateway never serves live");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_goes_away_before_the_last_step_costs_nothing() -> anyhow::Result<()> {
    let merchant = open().await?;
    let id = payment(&merchant, json!({})).await?;
    let form = format!("country=BJ&method=mtn_bj&msisdn={PAYS}");
    let (_, pay) = confirm_form(&merchant, &id, &form).await?;
    merchant.bench.engine.store().close().await;
    let reply = post(&merchant, &format!("/checkout/{id}/confirm"), &pay).await?;
    assert_eq!(reply.status, 503);
    assert!(reply.text.contains("do not pay again") && reply.text.contains("Try again"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_travel_compressed_and_fit_the_first_flight() -> anyhow::Result<()> {
    let merchant = open().await?;
    let id = payment(&merchant, json!({"currency": "NGN"})).await?;
    for encoding in ["gzip", "br"] {
        let request =
            Request::get(format!("/checkout/{id}?lang=fr")).header("accept-encoding", encoding);
        let response = merchant
            .router
            .clone()
            .oneshot(request.body(Body::empty())?)
            .await?;
        assert_eq!(response.headers()["content-encoding"], encoding);
        let bytes = to_bytes(response.into_body(), 1 << 20).await?.len();
        assert!(bytes <= 14 * 1024, "{bytes} bytes by {encoding}");
    }
    Ok(())
}
