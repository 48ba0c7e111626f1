//! Callbacks over HTTP, with a real server: the provider's view, and the state after a kill.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchyard_core::limits::CALLBACK_BODY_BYTES;
use switchyard_tests::client::payout;
use switchyard_tests::{Server, Setup, eventually};

use crate::fixture::{SECRET, news, sign};

/// A payout to this number stays pending.
const STAYS_PENDING: &str = "4149518163";
const SOON: Duration = Duration::from_secs(40);

struct World {
    server: Server,
    connection: String,
}

impl World {
    async fn new() -> anyhow::Result<Self> {
        let server = Server::start(Setup::default()).await?;
        let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
        let wanted = json!({
            "environment": "sandbox", "gateway": "switchyard_demo", "account_name": "Signed",
            "config": { "callback_secret": SECRET },
        });
        let made = server.operator().post(&path, &wanted).await?.expect(201)?;
        assert_eq!(made.body["data"]["check"]["result"], "works");
        Ok(Self {
            connection: made.data("id")?.to_owned(),
            server,
        })
    }

    async fn send(
        &self,
        method: Method,
        rest: &str,
        body: String,
    ) -> anyhow::Result<reqwest::Response> {
        let base = &self.server.dev().base_url;
        let url = format!("{base}/callbacks/{}{rest}", self.connection);
        let request = reqwest::Client::builder().no_proxy().build()?;
        let request = request
            .request(method, url)
            .header("x-demo-signature", sign(SECRET, &body))
            .body(body);
        Ok(request.send().await?)
    }

    async fn pending_payout(&self) -> anyhow::Result<(String, String)> {
        let merchant = self.server.merchant();
        let body = payout("Salary", STAYS_PENDING);
        let made = merchant
            .post("/v1/payouts/initialize", &body)
            .await?
            .expect(201)?;
        let id = made.data("id")?.to_owned();
        let reference = eventually("it was sent", SOON, async || {
            let shown = self.shown(&id).await?;
            let attempt = &shown["data"]["attempts"][0];
            let is_pending = attempt["state"] == "pending";
            Ok(attempt["reference"]
                .as_str()
                .filter(|_| is_pending)
                .map(str::to_owned))
        });
        Ok((id.clone(), reference.await?))
    }

    async fn shown(&self, id: &str) -> anyhow::Result<Value> {
        let path = format!("/operator/v1/transactions/{id}");
        Ok(self.server.operator().get(&path).await?.expect(200)?.body)
    }

    async fn until_success(&self, id: &str) -> anyhow::Result<Value> {
        eventually("it succeeded", SOON, async || {
            let shown = self.shown(id).await?;
            Ok((shown["data"]["status"] == "success").then_some(shown))
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_is_answered_as_the_manifest_says_and_its_news_are_on_the_timeline()
-> anyhow::Result<()> {
    let world = World::new().await?;
    let (id, reference) = world.pending_payout().await?;
    let answer = world
        .send(Method::POST, "", news(&reference, "success").to_string())
        .await?;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.text().await?, r#"{"received":true}"#);
    world.until_success(&id).await?;
    let steps = eventually("the timeline has it", SOON, async || {
        let shown = world.shown(&id).await?;
        let steps = shown["data"]["timeline"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        Ok(steps.into_iter().find(|step| step["callback"].is_object()))
    });
    let callback = steps.await?["callback"].clone();
    assert_eq!(callback["trusted"], true);
    let text = callback["request"].to_string();
    assert!(text.contains(&reference), "{text}");
    let body = news(&reference, "success").to_string();
    assert!(
        !text.contains(&sign(SECRET, &body)),
        "the signature is not shown: {text}"
    );

    for method in [Method::GET, Method::PUT] {
        let answer = world.send(method, "/some/rest", String::new()).await?;
        assert_eq!(answer.status(), StatusCode::OK);
    }
    let large = world
        .send(Method::POST, "", "x".repeat(CALLBACK_BODY_BYTES + 1))
        .await?;
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let nobody = format!(
        "{}/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v",
        world.server.dev().base_url
    );
    let answer = reqwest::Client::builder()
        .no_proxy()
        .build()?
        .post(nobody)
        .send()
        .await?;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);

    let path = format!("/operator/v1/connections/{}/callbacks", world.connection);
    eventually("the two others are refused", SOON, async || {
        let listed = world
            .server
            .operator()
            .get(&format!("{path}?state=refused"))
            .await?;
        let listed = listed.body["data"]["callbacks"].as_array().cloned();
        let listed = listed.unwrap_or_default();
        Ok((listed.len() == 2).then_some(listed))
    })
    .await
    .map(drop)?;

    pages(&world, &path).await
}

/// Callbacks are listed page by page.
async fn pages(world: &World, path: &str) -> anyhow::Result<()> {
    let operator = world.server.operator();
    let page = async |asked: &str| {
        let page = operator
            .get(&format!("{path}?state=refused&{asked}"))
            .await?;
        anyhow::Ok(page.body["data"].clone())
    };
    let first = page("limit=1").await?;
    let more = first["more"].as_str().unwrap_or_default().to_owned();
    assert_eq!(first["callbacks"][0]["id"], json!(more), "{first}");
    let second = page(&format!("limit=2&before={more}")).await?;
    assert_eq!(second["callbacks"].as_array().map(Vec::len), Some(1));
    assert_eq!(second["more"], Value::Null);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_before_a_kill_is_dealt_with_after_it() -> anyhow::Result<()> {
    let mut world = World::new().await?;
    for round in 0..3_u64 {
        let mut sent = Vec::new();
        for _ in 0..4 {
            sent.push(world.pending_payout().await?);
        }
        for (_, reference) in &sent {
            let answer = world
                .send(Method::POST, "", news(reference, "success").to_string())
                .await?;
            assert_eq!(answer.status(), StatusCode::OK);
        }
        tokio::time::sleep(Duration::from_millis(round * 3)).await;
        world.server.kill().await?;
        world.server.up().await?;
        for (id, _) in &sent {
            let shown = world.until_success(id).await?;
            assert_eq!(shown["data"]["attempts"].as_array().map_or(0, Vec::len), 1);
            assert_eq!(shown["data"]["open_cases"], 0);
        }
    }
    Ok(())
}
