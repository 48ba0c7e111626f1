//! When the other end misbehaves, or our own does: broken bodies on a real socket, a store that is
//! gone, an engine that stops.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_engine::access::KeyKind;
use switchyard_engine::idempotency::{Begin, KeyedRequest, Route};
use switchyard_tests::merchant::{Merchant, payment};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn serve(merchant: &Merchant) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let routes = merchant
        .router
        .clone()
        .into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

/// Sends `raw` after the head of an initialize call, and reads until the other end closes.
async fn send(merchant: &Merchant, headers: &str, raw: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(serve(merchant).await?).await?;
    let head = format!(
        "POST /v1/payments/initialize HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         authorization: Bearer {}\r\n{headers}\r\n",
        merchant.secret()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(raw.as_bytes()).await?;
    let mut answer = String::new();
    // The other end may close before it has read all.
    let _ =
        tokio::time::timeout(Duration::from_secs(30), stream.read_to_string(&mut answer)).await?;
    Ok(answer)
}

#[tokio::test]
async fn a_request_over_a_socket_knows_where_it_came_from() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let body = payment().to_string();
    let answer = send(
        &merchant,
        &format!("content-length: {}\r\n", body.len()),
        &body,
    )
    .await?;
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    let listed = merchant.get("/v1/payments").await?;
    assert_eq!(listed.body["data"][0]["context"]["ip"], "127.0.0.1");
    Ok(())
}

#[tokio::test]
async fn a_body_without_an_announced_length_is_bounded_too() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
    let answer = send(
        &merchant,
        "transfer-encoding: chunked\r\n",
        &format!("{}0\r\n\r\n", chunk.repeat(3)),
    )
    .await?;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("body_too_large"));
    Ok(())
}

#[tokio::test]
async fn a_body_that_breaks_off_is_refused_and_changes_nothing() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let answer = send(
        &merchant,
        "transfer-encoding: chunked\r\n",
        "5\r\n{\"amo\r\nnonsense\r\n",
    )
    .await?;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("body_incomplete"));
    assert_eq!(merchant.get("/v1/payments").await?.body["meta"]["total"], 0);
    Ok(())
}

#[tokio::test]
async fn a_store_that_is_gone_is_a_503_that_says_when_to_come_back() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    merchant.bench.engine.store().close().await;
    let key = [("idempotency-key", "k")];
    for reply in [
        merchant.post("/v1/payments/initialize", &payment()).await?,
        merchant
            .post_with("/v1/payments/initialize", &payment(), &key)
            .await?,
        merchant.get(&format!("/v1/payments/{id}")).await?,
        merchant.get("/v1/payments").await?,
    ] {
        assert_eq!(
            reply.refusal(),
            (503, vec!["service_unavailable -".to_owned()])
        );
        assert_eq!(reply.header("retry-after"), Some("5"));
        assert_eq!(reply.body["data"], json!({}));
    }
    Ok(())
}

#[tokio::test]
async fn a_twin_of_a_request_that_takes_long_is_told_to_come_back() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let twin = KeyedRequest {
        kind: KeyKind::Secret,
        app: merchant.bench.keys.app,
        environment: Environment::Sandbox,
        route: Route::InitializePayment,
        key: "slow".to_owned(),
        fields: Vec::new(),
    };
    let Begin::First(under_way) = merchant.state.idempotency().begin(&twin).await? else {
        anyhow::bail!("nobody was before it");
    };
    let key = [("idempotency-key", "slow")];
    let reply = merchant
        .post_with("/v1/payments/initialize", &payment(), &key)
        .await?;
    assert_eq!(
        reply.refusal(),
        (409, vec!["idempotency_in_flight -".to_owned()])
    );
    assert_eq!(reply.header("retry-after"), Some("1"));
    drop(under_way);
    let reply = merchant
        .post_with("/v1/payments/initialize", &payment(), &key)
        .await?;
    assert_eq!(reply.status, 201, "{}", reply.text);
    Ok(())
}

#[tokio::test]
async fn the_reference_asks_no_other_host_and_explains_every_code() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let page = merchant.get("/docs").await?;
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'") && !policy.contains("http"),
        "{policy}"
    );
    assert!(!page.text.contains("://"));
    let local = page
        .text
        .split(['"', '\''])
        .filter(|part| part.starts_with('/'));
    for path in local.collect::<Vec<_>>() {
        assert_eq!(merchant.get(path).await?.status, 200, "{path}");
    }
    let licences = merchant
        .get("/docs/redoc.standalone.js.LICENSE.txt")
        .await?;
    assert!(licences.text.contains("The MIT License") && licences.text.contains("Redocly/redoc"));
    let refused = merchant.get("/docs/errors/nope").await?;
    let code = refused.body["errors"][0]["code"].as_str().unwrap();
    let explained = merchant.get(&format!("/docs/errors/{code}")).await?;
    assert!(explained.text.starts_with("# route_not_found"));
    let list = merchant.get("/docs/errors").await?;
    assert!(list.text.contains("route_not_found"));
    Ok(())
}
