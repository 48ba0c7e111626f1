//! Readiness of a server while an operator holds back the only gateway of its live connections.

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::operations::{Draining, Operations, Surroundings};
use switchyard_core::environment::Environment;
use switchyard_engine::access::NewConnection;
use switchyard_gateway_host::ChangeAuthor;
use switchyard_tests::merchant::Merchant;
use switchyard_tests::programmable_gateway;
use switchyard_tests::provider::NOWHERE;
use tower::ServiceExt as _;

const ADA: ChangeAuthor<'_> = ChangeAuthor::new("ada");
const GATEWAY: &str = "programmable";

/// Status of `/readyz`, and its line about the gateways.
async fn readiness(operations: &Operations) -> anyhow::Result<(u16, String)> {
    let router: Router = operations.health();
    let request = Request::get("/readyz").body(Body::empty())?;
    let answer = router.oneshot(request).await?;
    let status = answer.status().as_u16();
    let body: Value = serde_json::from_slice(&to_bytes(answer.into_body(), 1 << 16).await?)?;
    let said = body["checks"]["gateways"].as_str().context("a check")?;
    Ok((status, said.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_only_live_gateway_is_drained_or_in_quarantine_is_not_ready()
-> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let engine = merchant.bench.engine.clone();
    let gateways = engine.gateways();
    gateways.keep_in(engine.store()).await?;
    gateways.add(&programmable_gateway()).await?;
    let live = NewConnection {
        app: merchant.bench.caller().app.id,
        environment: Environment::Live,
        gateway: GATEWAY.to_owned(),
        account_name: "Main".to_owned(),
        methods: None,
        config: json!({ "url": NOWHERE, "nowhere": NOWHERE, "slot": 0 }),
    };
    engine.access().create_connection(live).await?;
    let surroundings = Surroundings {
        requires_live_gateway: true,
        ..Surroundings::default()
    };
    let draining = Draining::default();
    let operations = Operations::new(engine.clone(), None, false, draining, surroundings);
    let ready = (200, "ok".to_owned());
    let none = "no gateway of a live connection can serve".to_owned();
    assert_eq!(readiness(&operations).await?, ready);
    for what in ["drain", "quarantine"] {
        match what {
            "drain" => gateways.drain(GATEWAY, &ADA).await?,
            _ => gateways.quarantine(GATEWAY, None, &ADA).await?,
        };
        assert_eq!(readiness(&operations).await?, (503, none.clone()), "{what}");
        gateways.restore(GATEWAY, None, &ADA).await?;
        assert_eq!(readiness(&operations).await?, ready, "after the {what}");
    }
    Ok(())
}
