//! Payment links over a running server: a link from its creation to a paid payment, uses under
//! concurrency, forms that are sent again, and links that take no payment.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_core::time::Timestamp;
use switchyard_tests::client::pays;
use switchyard_tests::server::{Server, Setup};
use switchyard_tests::{Client, PAYS, eventually};

const OWNER: &str = "owner@example.com";
const PASSWORD: &str = "violet-teapots-locally";

/// A client with the session of the owner.
async fn owner(server: &Server) -> anyhow::Result<Client> {
    let body = json!({ "email": OWNER, "password": PASSWORD });
    let signed_in = server.stranger().post("/account/v1/sign-in", &body).await?;
    let session = signed_in.expect(201)?;
    Ok(server.stranger().with_key(session.data("token")?))
}

fn path(server: &Server) -> String {
    let app = &server.dev().app_id;
    format!("/account/v1/apps/{app}/sandbox/payment-links")
}

/// Request for a link with some fields changed.
fn request(changes: Value) -> Value {
    let mut request = json!({
        "title": "A blue teapot", "amount": 25, "currency": "USD",
        "methods": ["switchyard_payment_demo"], "metadata": { "order": "7" },
    });
    for (name, value) in changes.as_object().cloned().unwrap_or_default() {
        request[name] = value;
    }
    request
}

/// A link that was created.
struct Link {
    /// Address in the account API.
    api: String,
    /// Path of the page.
    page: String,
}

async fn create(server: &Server, owner: &Client, changes: Value) -> anyhow::Result<Link> {
    let path = path(server);
    let made = owner.post(&path, &request(changes)).await?.expect(201)?;
    let url = made.data("url")?;
    let page = url.strip_prefix(&server.dev().base_url);
    Ok(Link {
        api: format!("{path}/{}", made.data("id")?),
        page: page.context("an address of the server")?.to_owned(),
    })
}

/// Token of the form of a page.
fn token(page: &str) -> anyhow::Result<String> {
    let (_, rest) = page
        .split_once("name=\"form\" value=\"")
        .context("a form")?;
    let (token, _) = rest.split_once('"').context("the end of a value")?;
    Ok(token.to_owned())
}

fn form<'a>(token: &'a str, amount: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("form", token),
        ("amount", amount),
        ("email", "ada@example.com"),
        ("first_name", "Ada"),
        ("last_name", "Lovelace"),
    ]
}

/// Result of a form: status, and where it leads.
async fn send(
    payer: &Client,
    page: &str,
    fields: &[(&str, &str)],
) -> anyhow::Result<(u16, String)> {
    let answer = payer.post_form(page, fields).await?;
    let to = answer.headers().get("location");
    let to = to
        .map_or("", |to| to.to_str().unwrap_or_default())
        .to_owned();
    Ok((answer.status().as_u16(), to))
}

/// Begins a payment on the page of a link. Returns its id.
async fn begin(payer: &Client, link: &Link, amount: &str) -> anyhow::Result<String> {
    let token = token(&payer.page(&link.page).await?)?;
    let (status, to) = send(payer, &link.page, &form(&token, amount)).await?;
    ensure!(status == 303, "{status}");
    let id = to.strip_prefix("/checkout/").context("the checkout")?;
    Ok(id.to_owned())
}

/// Disables or enables a link. Returns its state.
async fn set(owner: &Client, link: &Link, change: &str) -> anyhow::Result<String> {
    let path = format!("{}/{change}", link.api);
    let changed = owner.post(&path, &json!({})).await?.expect(200)?;
    Ok(changed.data("state")?.to_owned())
}

async fn text(payer: &Client, page: &str) -> anyhow::Result<(u16, String)> {
    let answer = payer.raw_page(page).await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

/// The link as the account API shows it, once `is_shown` holds.
async fn shown(owner: &Client, link: &Link, is_shown: fn(&Value) -> bool) -> anyhow::Result<Value> {
    eventually(
        "the uses of the link",
        Duration::from_secs(20),
        async || {
            let answer = owner.get(&link.api).await?.expect(200)?;
            let data = answer.body["data"].clone();
            Ok(is_shown(&data).then_some(data))
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_paid_and_shows_what_it_received() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, payer) = (owner(&server).await?, server.stranger());
    let link = create(&server, &owner, json!({})).await?;
    let page = payer.page(&link.page).await?;
    ensure!(
        page.contains("A blue teapot") && page.contains("$25.00"),
        "{page}"
    );
    ensure!(!page.contains("name=\"amount\""), "the amount is fixed");
    let id = begin(&payer, &link, "").await?;
    ensure!(pays(&payer, &id, PAYS).await?);
    let uses = shown(&owner, &link, |it| it["paid"] == 1).await?;
    ensure!(
        uses["received"] == json!([{ "minor": 2500, "currency": "USD" }]) && uses["open"] == 0,
        "{uses}"
    );
    let failed = begin(&payer, &link, "").await?;
    let listed = owner.get(&format!("{}/payments", link.api)).await?;
    let listed = listed.expect(200)?.body["data"]["transactions"].clone();
    let ids: Vec<_> = listed.as_array().context("a list")?.iter().collect();
    ensure!(ids[0]["id"] == failed && ids[1]["id"] == id, "{listed}");
    let payment = server.merchant().get(&format!("/v1/payments/{id}")).await?;
    let payment = payment.expect(200)?.body["data"].clone();
    ensure!(payment["metadata"]["order"] == "7", "{payment}");
    ensure!(
        link.api.ends_with(
            payment["metadata"]["payment_link"]
                .as_str()
                .context("the link")?
        )
    );
    let found = owner
        .get(
            &link
                .api
                .replace("payment-links/", "search?text=payment_link:"),
        )
        .await?
        .expect(200)?;
    let found = found.body["data"]["transactions"].as_array().map(Vec::len);
    ensure!(found == Some(2), "{found:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payer_chooses_the_amount_within_the_limits_of_the_link() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, payer) = (owner(&server).await?, server.stranger());
    let limits = json!({ "amount": null, "min_amount": "5.50", "max_amount": 1500 });
    let between = create(&server, &owner, limits).await?;
    let open = create(&server, &owner, json!({ "amount": null })).await?;
    for (link, amount, status) in [
        (&between, "", 422),
        (&between, "many", 422),
        (&between, "1,250", 422),
        (&between, "5.49", 422),
        (&between, "1500.01", 422),
        (&between, "12.345", 422),
        (&between, "-5", 422),
        (&between, "5,50", 303),
        (&between, "1 500", 303),
        (&open, "0", 422),
        (&open, "0.01", 303),
    ] {
        let token = token(&payer.page(&link.page).await?)?;
        let sent = payer.post_form(&link.page, &form(&token, amount)).await?;
        let found = sent.status().as_u16();
        ensure!(found == status, "{amount:?}: {found}");
        if status == 422 {
            let page = sent.text().await?;
            ensure!(page.contains("id=\"e-amount\""), "{amount:?}: {page}");
            ensure!(page.contains(&format!("value=\"{amount}\"")), "{amount:?}");
            ensure!(page.contains("value=\"Lovelace\"") && page.contains(&token));
        }
    }
    let blank = [("form", "x"), ("amount", "6"), ("email", "ada")];
    let refused = payer.post_form(&between.page, &blank).await?.text().await?;
    ensure!(!refused.contains("/checkout/py_"), "nothing was begun");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_eight_payers_at_once_as_many_pay_as_the_link_allows() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, payer) = (owner(&server).await?, server.stranger());
    let link = create(&server, &owner, json!({ "max_uses": 3 })).await?;
    let mut tokens = Vec::new();
    for _ in 0..8 {
        tokens.push(token(&payer.page(&link.page).await?)?);
    }
    let mut payers = tokio::task::JoinSet::new();
    for token in tokens {
        let (payer, page) = (payer.clone(), link.page.clone());
        payers.spawn(async move { send(&payer, &page, &form(&token, "")).await });
    }
    let mut begun = Vec::new();
    while let Some(result) = payers.join_next().await {
        let (status, to) = result??;
        match status {
            303 => begun.push(to.trim_start_matches("/checkout/").to_owned()),
            other => ensure!(other == 409, "{other}"),
        }
    }
    ensure!(begun.len() == 3, "{begun:?}");
    let (status, page) = text(&payer, &link.page).await?;
    ensure!(
        status == 409 && page.contains("All uses of this link are taken"),
        "{status}"
    );
    // A use whose payment does not succeed is free again.
    let id = &begun[0];
    let cancelled = payer
        .post_form(&format!("/checkout/{id}/cancel"), &[])
        .await?;
    ensure!(cancelled.status().as_u16() == 303);
    shown(&owner, &link, |it| it["open"] == 2).await?;
    let last = begin(&payer, &link, "").await?;
    for id in [&begun[1], &begun[2], &last] {
        ensure!(pays(&payer, id, PAYS).await?, "{id}");
    }
    let uses = shown(&owner, &link, |it| it["paid"] == 3).await?;
    ensure!(uses["state"] == "used_up", "{uses}");
    let (status, page) = text(&payer, &link.page).await?;
    ensure!(
        status == 410 && page.contains("was used already"),
        "{status}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_is_sent_again_leads_to_its_payment() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, payer) = (owner(&server).await?, server.stranger());
    let changes = json!({ "amount": null, "max_uses": 1 });
    let link = create(&server, &owner, changes).await?;
    let token = token(&payer.page(&link.page).await?)?;
    let fields = form(&token, "6");
    let both = tokio::join!(
        send(&payer, &link.page, &fields),
        send(&payer, &link.page, &fields)
    );
    let (first, second) = (both.0?, both.1?);
    ensure!(first.0 == 303 && first == second, "{first:?} {second:?}");
    ensure!(send(&payer, &link.page, &fields).await? == first);
    // Another amount in the same form is not paid in its place.
    let other = payer.post_form(&link.page, &form(&token, "7")).await?;
    ensure!(other.status().as_u16() == 409);
    ensure!(!other.text().await?.contains(&token), "a new form");
    set(&owner, &link, "disable").await?;
    ensure!(send(&payer, &link.page, &fields).await? == first);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_takes_no_payment_says_so_in_both_languages() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, payer) = (owner(&server).await?, server.stranger());
    let link = create(&server, &owner, json!({})).await?;
    let token = token(&payer.page(&link.page).await?)?;
    ensure!(set(&owner, &link, "disable").await? == "disabled");
    for (language, words) in [("en", "is closed"), ("fr", "est fermé")] {
        let page = format!("{}?lang={language}", link.page);
        let (status, page) = text(&payer, &page).await?;
        ensure!(status == 410 && page.contains(words), "{status}: {page}");
        ensure!(!page.contains("<form"), "no form");
    }
    ensure!(send(&payer, &link.page, &form(&token, "")).await?.0 == 410);
    ensure!(set(&owner, &link, "enable").await? == "active");
    begin(&payer, &link, "").await?;

    let now = owner.get(&link.api).await?.expect(200)?;
    let now = Timestamp::parse(now.data("created_at")?).context("a time")?;
    let end = now.plus(Duration::from_secs(6)).to_string();
    let changes = json!({ "expires_at": end });
    let short = create(&server, &owner, changes).await?;
    eventually("the end of the link", Duration::from_secs(20), async || {
        let (status, page) = text(&payer, &short.page).await?;
        Ok((status == 410 && page.contains("has expired")).then_some(()))
    })
    .await?;
    let unserved = json!({ "currency": "XOF", "amount": 500, "methods": ["mtn_bj"] });
    let unserved = create(&server, &owner, unserved).await?;
    let (status, _) = text(&payer, &unserved.page).await?;
    ensure!([200, 404].contains(&status), "{status}");
    let (status, page) = text(&payer, "/l/0000000000000000").await?;
    ensure!(status == 404 && page.contains("There is no such payment"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_link_has_all_its_problems_named() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let owner = owner(&server).await?;
    let path = path(&server);
    for (changes, field, code) in [
        (json!({ "title": " " }), "title", "field_invalid"),
        (json!({ "amount": "many" }), "amount", "amount_not_number"),
        (
            json!({ "amount": 25.005 }),
            "amount",
            "amount_too_many_decimals",
        ),
        (json!({ "min_amount": 1 }), "amount", "field_invalid"),
        (
            json!({ "amount": null, "min_amount": 1 }),
            "max_amount",
            "field_invalid",
        ),
        (
            json!({ "amount": null, "min_amount": 2, "max_amount": 1 }),
            "max_amount",
            "field_invalid",
        ),
        (
            json!({ "amount": null, "min_amount": 0, "max_amount": 1 }),
            "min_amount",
            "amount_not_positive",
        ),
        (json!({ "currency": "XXX" }), "currency", "currency_unknown"),
        (
            json!({ "methods": ["none"] }),
            "methods.0",
            "method_unknown",
        ),
        (json!({ "max_uses": 0 }), "max_uses", "field_invalid"),
        (json!({ "max_uses": 10_001 }), "max_uses", "field_invalid"),
        (
            json!({ "expires_at": "2020-01-01T00:00:00Z" }),
            "expires_at",
            "field_invalid",
        ),
        (json!({ "return_url": "shop" }), "return_url", "url_invalid"),
        (
            json!({ "metadata": { "payment_link": "x" } }),
            "metadata",
            "field_invalid",
        ),
    ] {
        let refused = owner.post(&path, &request(changes.clone())).await?;
        let errors = refused.body["errors"].as_array().context("errors")?;
        let found = errors
            .iter()
            .any(|one| one["field"] == field && one["code"] == code);
        ensure!(found && refused.status == 422, "{changes}: {errors:?}");
    }
    let many = json!({ "title": "", "max_uses": 0, "currency": "X" });
    let refused = owner.post(&path, &request(many)).await?;
    let errors = refused.body["errors"].as_array().map(Vec::len);
    ensure!(errors == Some(3), "{refused:?}");
    ensure!(owner.get(&path).await?.expect(200)?.body["data"]["links"] == json!([]));
    Ok(())
}
