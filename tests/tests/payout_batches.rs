//! Batches of payouts over a running server: the dry run, a confirmation that is sent again, kills
//! in the middle, and the decision of two people.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::server::{Server, Setup};
use switchyard_tests::{Client, FAILS, PAYS, STAYS_PENDING, eventually};

const OWNER: &str = "owner@example.com";
const PASSWORD: &str = "violet-teapots-locally";
const HEADING: &str =
    "amount,currency,method,description,first_name,last_name,email,account_number,reference";

/// A line with this reference.
fn line(amount: &str, number: &str, reference: &str) -> String {
    format!(
        "{amount},USD,switchyard_payout_demo,Wages,Awa,Diop,awa@example.com,{number},{reference}"
    )
}

fn file(lines: &[String]) -> Vec<u8> {
    format!("{HEADING}\n{}\n", lines.join("\n")).into_bytes()
}

/// A client with the session of a user.
async fn signed_in(server: &Server, email: &str) -> anyhow::Result<Client> {
    let body = json!({ "email": email, "password": PASSWORD });
    let signed_in = server.stranger().post("/account/v1/sign-in", &body).await?;
    let session = signed_in.expect(201)?;
    Ok(server.stranger().with_key(session.data("token")?))
}

fn path(server: &Server, environment: &str) -> String {
    let app = &server.dev().app_id;
    format!("/account/v1/apps/{app}/{environment}/payout-batches")
}

async fn payouts(client: &Client) -> anyhow::Result<Vec<Value>> {
    let listed = client.get("/v1/payouts?limit=100").await?.expect(200)?;
    Ok(listed.body["data"].as_array().context("a list")?.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_names_every_problem_by_its_line_and_orders_nothing() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let owner = signed_in(&server, OWNER).await?;
    let path = path(&server, "sandbox");
    let first = owner
        .upload(&path, file(&[line("25", PAYS, "may-1")]))
        .await?;
    let first = first.expect(201)?.data("id")?.to_owned();
    let confirm = format!("{path}/{first}/confirm");
    owner.post(&confirm, &json!({})).await?.expect(200)?;
    let merchant = server.merchant();
    eventually("the payout", Duration::from_secs(20), async || {
        Ok((payouts(&merchant).await?.len() == 1).then_some(()))
    })
    .await?;

    let bad = [
        line("many", PAYS, "a"),
        line("25.005", PAYS, "b"),
        line("25", PAYS, "c").replace("USD", "XXX"),
        line("25", "", "d"),
        line("25", PAYS, "e").replace("switchyard_payout_demo", "no_such_method"),
        line("25", PAYS, "a"),
        line("25", PAYS, "may-1"),
        line("25", PAYS, "f").replace("switchyard_payout_demo", "mtn_bj"),
        line("25", PAYS, "g"),
    ];
    let refused = owner.upload(&path, file(&bad)).await?;
    ensure!(
        refused.status == 422 || refused.status == 400,
        "{refused:?}"
    );
    each_line_has_its_problem(refused.body["errors"].as_array().context("errors")?)?;
    let listed = owner.get(&path).await?.expect(200)?;
    ensure!(
        listed.body["data"]
            .as_array()
            .is_some_and(|all| all.len() == 1)
    );
    let draft = owner.upload(&path, file(&[line("25", PAYS, "x")])).await?;
    let draft = draft.expect(201)?;
    ensure!(draft.data("state")? == "draft" && draft.body["data"]["counts"]["waiting"] == 1);
    ensure!(
        payouts(&merchant).await?.len() == 1,
        "nothing before the confirmation"
    );
    let one = format!("{path}/{}", draft.data("id")?);
    owner.delete(&one).await?.expect(200)?;
    ensure!(owner.get(&one).await?.status == 404);
    let kept = owner.delete(&format!("{path}/{first}")).await?;
    ensure!(kept.status == 409, "a confirmed batch stays: {kept:?}");
    Ok(())
}

/// The bad lines have one problem each, the good one has none.
fn each_line_has_its_problem(errors: &[Value]) -> anyhow::Result<()> {
    let at = |field: &str, code: &str| {
        errors
            .iter()
            .any(|one| one["field"] == field && one["code"] == code)
    };
    for (field, code) in [
        ("lines.2.amount", "amount_not_number"),
        ("lines.3.amount", "amount_too_many_decimals"),
        ("lines.4.currency", "currency_unknown"),
        ("lines.6.method", "method_unknown"),
        ("lines.7.reference", "field_duplicated"),
        ("lines.8.reference", "field_duplicated"),
        ("lines.9.method", "method_currency_mismatch"),
    ] {
        ensure!(at(field, code), "{field} {code}: {errors:?}");
    }
    let of_line = |line: &str| {
        let start = format!("lines.{line}");
        let fields = errors.iter().filter_map(|one| one["field"].as_str());
        fields.filter(|field| field.starts_with(&start)).count()
    };
    ensure!(of_line("5.recipient") == 1, "{errors:?}");
    ensure!(of_line("10") == 0, "the last line is good: {errors:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_confirmed_again_and_killed_orders_each_line_once() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let owner = signed_in(&server, OWNER).await?;
    let path = path(&server, "sandbox");
    let numbers = [PAYS, FAILS, STAYS_PENDING];
    let lines: Vec<_> = (0..90)
        .map(|at| line(&(at + 2).to_string(), numbers[at % 3], &format!("may-{at}")))
        .collect();
    let draft = owner.upload(&path, file(&lines)).await?.expect(201)?;
    let one = format!("{path}/{}", draft.data("id")?);
    let confirm = format!("{one}/confirm");
    let (first, second) = (owner.clone(), owner.clone());
    let nothing = json!({});
    let both = tokio::join!(
        first.post(&confirm, &nothing),
        second.post(&confirm, &nothing)
    );
    both.0?.expect(200)?;
    both.1?.expect(200)?;
    // Kills in the middle; each start goes on.
    let mut waiting = Vec::new();
    for pause in [0, 40, 150] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let shown = owner.get(&one).await?.expect(200)?;
        waiting.push(shown.body["data"]["counts"]["waiting"].as_u64());
        server.kill().await?;
        server.up().await?;
    }
    ensure!(
        waiting[0] > Some(0),
        "a kill before the last line: {waiting:?}"
    );
    owner.post(&confirm, &nothing).await?.expect(200)?;
    eventually("all lines", Duration::from_secs(60), async || {
        let shown = owner.get(&one).await?.expect(200)?;
        let counts = &shown.body["data"]["counts"];
        let is_done = shown.data("state")? == "done" && counts["refused"] == 0;
        let [succeeded, failed, sent] = ["succeeded", "failed", "sent"].map(|name| &counts[name]);
        let are_counted = succeeded == 30 && failed == 30 && sent == 30;
        Ok((is_done && are_counted).then_some(()))
    })
    .await?;
    let made = payouts(&server.merchant()).await?;
    for one in &made {
        let line = one["metadata"]["batch_line"].as_str();
        let amount = one["amount"].to_string();
        ensure!(line == Some(amount.trim_matches('"')), "{one:?}");
    }
    let lines: BTreeSet<_> = made
        .iter()
        .map(|one| one["metadata"]["batch_line"].to_string())
        .collect();
    ensure!(
        (made.len(), lines.len()) == (90, 90),
        "{} {}",
        made.len(),
        lines.len()
    );
    let again = owner.post(&confirm, &nothing).await?;
    ensure!(again.status == 200);
    tokio::time::sleep(Duration::from_millis(500)).await;
    ensure!(payouts(&server.merchant()).await?.len() == 90);
    Ok(())
}

/// A colleague of the owner, who may approve payouts.
async fn colleague(server: &Server, owner: &Client, name: &str) -> anyhow::Result<Client> {
    let email = format!("{}@example.com", name.to_lowercase());
    let apps = owner.get("/account/v1/apps").await?.expect(200)?;
    let account = apps.body["data"][0]["account"].as_str().context("an app")?;
    let team = format!("/account/v1/accounts/{account}/team");
    let new = json!({ "email": email, "name": name, "role": "finance" });
    let invited = owner.post(&team, &new).await?.expect(201)?;
    let link = invited.data("url")?.to_owned();
    let page = &link[link.find("/console/").context("a path")?..];
    let fields = [("password", PASSWORD), ("name", name)];
    server.stranger().post_form(page, &fields).await?;
    signed_in(server, &email).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_decide_about_a_batch_as_a_whole() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let app = server.dev().app_id.clone();
    let operator = server.operator();
    let live = json!({ "environment": "live", "gateway": "switchyard_demo", "account_name": "A" });
    let connections = format!("/operator/v1/apps/{app}/connections");
    operator.post(&connections, &live).await?.expect(201)?;
    let second = json!({ "settings": { "second_person": { "payouts_above": { "USD": "30" } } } });
    let of_app = format!("/operator/v1/apps/{app}");
    operator.patch(&of_app, &second).await?.expect(200)?;
    let owner = signed_in(&server, OWNER).await?;
    let grace = colleague(&server, &owner, "Grace").await?;
    let alan = colleague(&server, &owner, "Alan").await?;
    let path = path(&server, "live");
    let lines = [line("25", PAYS, "a"), line("31", PAYS, "b")];
    let draft = owner.upload(&path, file(&lines)).await?.expect(201)?;
    let one = format!("{path}/{}", draft.data("id")?);
    let confirm = format!("{one}/confirm");
    let nothing = json!({});
    let proposed = owner.post(&confirm, &nothing).await?.expect(202)?;
    let approval = proposed.data("approval")?.to_owned();
    let again = owner.post(&confirm, &nothing).await?.expect(202)?;
    ensure!(again.data("approval")? == approval, "one proposal");
    let merchant = server.stranger().with_key(&server.dev().live_secret_key);
    let approve = path.replace("payout-batches", &format!("approvals/{approval}/approve"));
    let own = owner.post(&approve, &nothing).await?;
    ensure!(own.status == 409, "{own:?}");
    ensure!(
        payouts(&merchant).await?.is_empty(),
        "nothing before the approval"
    );
    let (first, second) = tokio::join!(
        grace.post(&approve, &nothing),
        alan.post(&approve, &nothing)
    );
    let mut both = [(first?.status, "Grace"), (second?.status, "Alan")];
    both.sort_unstable();
    ensure!(both[0].0 == 200, "one approves it: {both:?}");
    ensure!(
        [404, 409].contains(&both[1].0),
        "the other does not: {both:?}"
    );
    eventually("both payouts", Duration::from_secs(20), async || {
        Ok((payouts(&merchant).await?.len() == 2).then_some(()))
    })
    .await?;
    let twice = grace.post(&approve, &nothing).await?;
    ensure!(twice.status == 409, "{twice:?}");
    ensure!(payouts(&merchant).await?.len() == 2);
    let shown = owner.get(&one).await?.expect(200)?;
    ensure!(shown.data("confirmed_by")? == both[0].1, "{shown:?}");
    // A discarded batch takes its proposal with it.
    let draft = owner.upload(&path, file(&[line("31", PAYS, "c")])).await?;
    let one = format!("{path}/{}", draft.expect(201)?.data("id")?);
    let proposed = owner.post(&format!("{one}/confirm"), &nothing).await?;
    let approval = proposed.expect(202)?.data("approval")?.to_owned();
    let by_other = grace.delete(&one).await?;
    ensure!(by_other.status == 409, "{by_other:?}");
    owner.delete(&one).await?.expect(200)?;
    let proposal = path.replace("payout-batches", &format!("approvals/{approval}"));
    let shown = owner.get(&proposal).await?.expect(200)?;
    ensure!(shown.data("state")? == "withdrawn", "{shown:?}");
    let late = grace.post(&format!("{proposal}/approve"), &nothing).await?;
    ensure!([404, 409].contains(&late.status), "{late:?}");
    ensure!(payouts(&merchant).await?.len() == 2);
    Ok(())
}
