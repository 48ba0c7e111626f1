//! A start with `--held`, and releases of single apps.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::client::{Client, payout};
use switchyard_tests::{PAYS, Server, Setup, eventually};

/// An app with a payout that waits for its release.
struct Waiting {
    app: String,
    merchant: Client,
    payout: String,
}

impl Waiting {
    async fn in_app(app: &str, merchant: Client) -> anyhow::Result<Self> {
        let order = payout("Salary", PAYS);
        let made = merchant.post("/v1/payouts/initialize", &order).await?;
        let payout = made.expect(201)?.data("id")?.to_owned();
        Ok(Self {
            app: app.to_owned(),
            merchant,
            payout,
        })
    }

    async fn status(&self) -> anyhow::Result<String> {
        let path = format!("/v1/payouts/{}", self.payout);
        let found = self.merchant.get(&path).await?.expect(200)?;
        Ok(found.data("status")?.to_owned())
    }

    async fn is_paid(&self) -> anyhow::Result<()> {
        let wanted = format!("{} is paid", self.payout);
        eventually(&wanted, SOON, async || {
            Ok((self.status().await? == "success").then_some(()))
        })
        .await
    }
}

/// Makes an app. Returns its id and a client with its sandbox key.
async fn make_app(server: &Server, account: &str, name: &str) -> anyhow::Result<(String, Client)> {
    let operator = server.operator();
    let app = json!({ "account": account, "name": name });
    let app = operator
        .post("/operator/v1/apps", &app)
        .await?
        .expect(201)?;
    let app = app.data("id")?.to_owned();
    let path = format!("/operator/v1/apps/{app}/keys");
    let key = json!({ "environment": "sandbox", "kind": "secret" });
    let key = operator.post(&path, &key).await?.expect(201)?;
    let merchant = server.stranger().with_key(key.data("key")?);
    Ok((app, merchant))
}

/// The hold as the command shows it.
async fn report(server: &Server) -> anyhow::Result<Value> {
    let mut shown = server.command(&["release", "--report"]).await?;
    Ok(shown["data"].take())
}

/// Ids of the payouts that the release sends.
fn to_send(report: &Value) -> anyhow::Result<Vec<String>> {
    let listed = report["payouts_to_send"]["payouts"].as_array();
    let ids = listed.context("a list")?.iter();
    let ids = ids.map(|payout| payout["id"].as_str().map(str::to_owned));
    ids.collect::<Option<_>>().context("each has an id")
}

#[tokio::test]
async fn an_app_is_released_for_itself_and_the_payouts_of_the_others_stay_unsent()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    server.stop().await?;
    server.hold(true);
    server.up().await?;
    let metrics = server.operator().page("/metrics").await?;
    ensure!(metrics.contains("\nswitchyard_held 1\n"), "{metrics}");
    let account = json!({ "name": "Two shops" });
    let operator = server.operator();
    let account = operator.post("/operator/v1/accounts", &account).await?;
    let account = account.expect(201)?.data("id")?.to_owned();
    let (second, its_merchant) = make_app(&server, &account, "Second").await?;
    let (idle, _) = make_app(&server, &account, "Idle").await?;
    let [first, second] = [
        Waiting::in_app(&server.dev().app_id, server.merchant()).await?,
        Waiting::in_app(&second, its_merchant).await?,
    ];
    let shown = report(&server).await?;
    ensure!(shown["payouts_to_send"]["count"] == 2, "{shown}");
    ensure!(
        to_send(&shown)? == [first.payout.clone(), second.payout.clone()],
        "{shown}"
    );

    // An app without payouts needs no consent, although others have some.
    server.command(&["release", "--app", &idle]).await?;
    let refused = server.command(&["release", "--app", &first.app]).await;
    let refused = refused.err().context("it would send a payout")?.to_string();
    ensure!(refused.contains("send 1 payouts"), "{refused}");
    let released = ["release", "--app", &first.app, "--yes"];
    server.command(&released).await?;
    first.is_paid().await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ensure!(second.status().await? == "initiated", "the other app waits");
    let shown = report(&server).await?;
    ensure!(to_send(&shown)? == [second.payout.clone()], "{shown}");
    let metrics = server.operator().page("/metrics").await?;
    ensure!(metrics.contains("\nswitchyard_held 1\n"), "{metrics}");

    server
        .command(&["release", "--app", &second.app, "--yes"])
        .await?;
    second.is_paid().await?;
    let metrics = server.operator().page("/metrics").await?;
    ensure!(metrics.contains("\nswitchyard_held 0\n"), "{metrics}");
    // Each start with the flag holds all apps again.
    server.stop().await?;
    server.up().await?;
    let shown = report(&server).await?;
    ensure!(shown["held"] == true, "{shown}");
    server.stop().await
}

const SOON: Duration = Duration::from_secs(40);
