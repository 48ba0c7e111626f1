//! The account API of a running server, for programs and for people at the command line.

use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::server::{Server, Setup, stage};
use switchyard_tests::{Client, PAYS, client};

const OWNER: &str = "owner@example.com";
const PASSWORD: &str = "violet-teapots-locally";

/// A client with the session of the owner, and their account.
async fn owner(server: &Server) -> anyhow::Result<(Client, String, String)> {
    let body = json!({ "email": OWNER, "password": PASSWORD });
    let signed_in = server.stranger().post("/account/v1/sign-in", &body).await?;
    let session = signed_in.expect(201)?.data("token")?.to_owned();
    let owner = server.stranger().with_key(&session);
    let apps = owner.get("/account/v1/apps").await?.expect(200)?;
    let account = apps.body["data"][0]["account"].as_str().context("an app")?;
    Ok((owner, account.to_owned(), session))
}

/// A token of the owner with these actions.
async fn token(owner: &Client, account: &str, actions: &[&str]) -> anyhow::Result<String> {
    let new = json!({ "name": "CI", "account": account, "actions": actions, "days": 1 });
    let made = owner.post("/account/v1/tokens", &new).await?.expect(201)?;
    Ok(made.data("token")?.to_owned())
}

fn command(server: &Server, token: &str, arguments: &[&str]) -> anyhow::Result<Output> {
    let output = Command::new(stage()?.join("switchyard"))
        .args(["account", "--json"])
        .args(arguments)
        .env("SWITCHYARD_URL", &server.dev().base_url)
        .env("SWITCHYARD_ACCOUNT_TOKEN", token)
        .output()?;
    Ok(output)
}

/// Data of a command that succeeds.
fn data(server: &Server, token: &str, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = command(server, token, arguments)?;
    ensure!(output.status.success(), "{arguments:?}: {output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    Ok(answer["data"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_with_one_key_makes_one_payout_also_in_the_merchant_api() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let (owner, account, _) = owner(&server).await?;
    let token = token(&owner, &account, &["create_payout", "view_payments"]).await?;
    let program = server.stranger().with_key(&token);
    let path = format!("/account/v1/apps/{}/sandbox/payouts", server.dev().app_id);
    let order = client::payout("Wages", PAYS);
    let without = program.post(&path, &order).await?;
    ensure!(without.status == 422, "a key is required: {without:?}");
    let made = program
        .post_keyed(&path, &order, "order-1")
        .await?
        .expect(201)?;
    let id = made.data("payout")?.to_owned();
    let again = program
        .post_keyed(&path, &order, "order-1")
        .await?
        .expect(200)?;
    ensure!(again.data("payout")? == id);
    server.kill().await?;
    server.up().await?;
    let again = program
        .post_keyed(&path, &order, "order-1")
        .await?
        .expect(200)?;
    ensure!(
        again.data("payout")? == id,
        "the token and the key survive a kill"
    );
    let merchant = server.merchant();
    let same = merchant.post_keyed("/v1/payouts/initialize", &order, "order-1");
    ensure!(same.await?.expect(201)?.data("id")? == id);
    let listed = merchant.get("/v1/payouts").await?.expect(200)?;
    let listed = listed.body["data"].as_array().context("a list")?.len();
    ensure!(listed == 1, "{listed}");
    Ok(())
}

/// A person with the role finance, who was invited and has signed in.
async fn invited(server: &Server, owner: &Client, account: &str) -> anyhow::Result<Client> {
    let team = format!("/account/v1/accounts/{account}/team");
    let new = json!({ "email": "grace@example.com", "name": "Grace", "role": "finance" });
    let invited = owner.post(&team, &new).await?.expect(201)?;
    let link = invited.data("url")?.to_owned();
    let page = &link[link.find("/console/").context("a path")?..];
    let fields = [("password", PASSWORD), ("name", "Grace Hopper")];
    server.stranger().post_form(page, &fields).await?;
    let body = json!({ "email": "grace@example.com", "password": PASSWORD });
    let signed_in = server.stranger().post("/account/v1/sign-in", &body).await?;
    let signed_in = signed_in.expect(201)?;
    Ok(server.stranger().with_key(signed_in.data("token")?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_decide_about_a_payout_and_a_token_is_none() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, account, _) = owner(&server).await?;
    let app = server.dev().app_id.clone();
    let operator = server.operator();
    let live = json!({ "environment": "live", "gateway": "switchyard_demo", "account_name": "A" });
    let connections = format!("/operator/v1/apps/{app}/connections");
    operator.post(&connections, &live).await?.expect(201)?;
    let second = json!({ "settings": { "second_person": { "payouts_above": { "USD": "10" } } } });
    let path = format!("/operator/v1/apps/{app}");
    operator.patch(&path, &second).await?.expect(200)?;
    let grace = invited(&server, &owner, &account).await?;
    let token = token(&owner, &account, &["create_payout"]).await?;
    let scope = format!("/account/v1/apps/{app}/live");
    let (path, order) = (format!("{scope}/payouts"), client::payout("Wages", PAYS));
    let by_token = server.stranger().with_key(&token);
    let refused = by_token.post_keyed(&path, &order, "order-1").await?;
    ensure!(refused.status == 403, "{refused:?}");
    let proposed = owner
        .post_keyed(&path, &order, "order-1")
        .await?
        .expect(202)?;
    let id = proposed.data("approval")?.to_owned();
    let again = owner
        .post_keyed(&path, &order, "order-1")
        .await?
        .expect(202)?;
    ensure!(
        again.data("approval")? == id,
        "the same order is the same proposal"
    );
    let other = client::payout("Other wages", PAYS);
    let changed = owner.post_keyed(&path, &other, "order-1").await?;
    ensure!(changed.status == 422, "{changed:?}");
    let approve = format!("{scope}/approvals/{id}/approve");
    let own = owner.post(&approve, &json!({})).await?;
    ensure!(own.status == 409, "the proposer decides nothing: {own:?}");
    let shown = grace
        .get(&format!("{scope}/approvals/{id}"))
        .await?
        .expect(200)?;
    ensure!(
        shown.body["data"]["payout"]["recipient"]["account_number"] == PAYS,
        "{shown:?}"
    );
    let approved = grace.post(&approve, &json!({})).await?.expect(200)?;
    let payout = approved.data("payout")?.to_owned();
    let list = format!("{scope}/transactions?kind=payout");
    let listed = owner.get(&list).await?.expect(200)?;
    ensure!(listed.body["data"][0]["id"] == payout, "{listed:?}");
    ensure!(
        listed.body["data"]
            .as_array()
            .is_some_and(|all| all.len() == 1)
    );
    let twice = grace.post(&approve, &json!({})).await?;
    ensure!(twice.status == 404, "{twice:?}");
    let log = format!("/account/v1/accounts/{account}/audit?action=approve_payout");
    let log = owner.get(&log).await?.expect(200)?;
    let entry = &log.body["data"]["entries"][0];
    ensure!(
        entry["actor"] == "Grace Hopper" && entry["channel"] == "api",
        "{entry}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_does_what_its_token_includes() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (owner, account, session) = owner(&server).await?;
    let actions = [
        "view_payments",
        "query_provider",
        "view_keys",
        "manage_keys",
    ];
    let token = token(&owner, &account, &actions).await?;
    let merchant = server.merchant();
    let payment = merchant
        .post("/v1/payments/initialize", &client::payment("A teapot"))
        .await?
        .expect(201)?;
    let id = payment.data("id")?.to_owned();
    let me = data(&server, &token, &["me"])?;
    ensure!(me["email"] == OWNER && me["token"]["name"] == "CI", "{me}");
    let apps = data(&server, &token, &["apps"])?;
    ensure!(apps[0]["id"] == server.dev().app_id, "{apps}");
    let found = data(&server, &token, &["transactions", "search", "teapot"]);
    let listed = data(&server, &token, &["transactions", "list"])?;
    ensure!(found.is_ok() && listed[0]["id"] == id, "{listed}");
    let shown = data(&server, &token, &["transactions", "show", &id])?;
    ensure!(
        shown["timeline"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let made = data(
        &server,
        &token,
        &["keys", "create", "--kind", "public", "--name", "shop"],
    )?;
    let key = made["id"].as_str().context("a key")?;
    let keys = data(&server, &token, &["keys", "list"])?;
    ensure!(
        keys.as_array()
            .is_some_and(|all| all.iter().any(|one| one["id"] == key))
    );
    data(&server, &token, &["keys", "delete", key])?;
    let sum = data(&server, &token, &["statistics"])?;
    ensure!(sum["all"]["total"] == 1, "{sum}");
    let refused = command(&server, &token, &["team", "list"])?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success(), "{said}");
    ensure!(
        said.contains("does not include the action view_team"),
        "{said}"
    );
    let nobody = command(&server, "", &["me"])?;
    let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
    ensure!(said.contains("SWITCHYARD_ACCOUNT_TOKEN"), "{said}");
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), format!("{session}\n"))?;
    let path = file.path().display().to_string();
    let team = data(&server, "", &["team", "list", "--token-file", &path])?;
    ensure!(team["members"][0]["role"] == "owner", "{team}");
    Ok(())
}
