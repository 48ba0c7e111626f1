//! Many connections of one client: other clients, operators and health checks are served all the
//! while.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use switchyard_core::limits::REQUEST_HEAD_BYTES;
use switchyard_tests::client::payment;
use switchyard_tests::{Client, Server, Setup, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Connections of the public listener, and of one address, in these tests.
const CONNECTIONS: usize = 300;
const OF_ADDRESS: usize = 100;
const STREAMS_OF_PAYMENT: usize = 3;
const WITHIN: Duration = Duration::from_secs(20);

/// A server that is not in development mode.
async fn server() -> anyhow::Result<Server> {
    let mut server = Server::start(Setup {
        settings: vec![
            ("SWITCHYARD_SERVER__MAX_CONNECTIONS", "300"),
            ("SWITCHYARD_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "100"),
            ("SWITCHYARD_SERVER__MAX_STREAMS_PER_PAYMENT", "3"),
        ],
        ..Setup::default()
    })
    .await?;
    server.stop().await?;
    server.leave_development()?;
    server.up().await?;
    Ok(server)
}

/// A connection to the public listener from 127.0.0.`last`.
async fn connect(server: &Server, last: u8) -> anyhow::Result<TcpStream> {
    let (host, port) = server.address();
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)))?;
    let connected = socket.connect(SocketAddr::new(host.parse()?, port));
    Ok(timeout(WITHIN, connected).await??)
}

/// First part of the response to a request for a path over this connection.
async fn ask(stream: &mut TcpStream, path: &str) -> anyhow::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut said = vec![0; 4_096];
    let length = timeout(WITHIN, stream.read(&mut said)).await??;
    Ok(String::from_utf8_lossy(&said[..length]).into_owned())
}

/// The value of one line of `/metrics`.
async fn metric(server: &Server, line: &str) -> anyhow::Result<f64> {
    let page = server.operator().page("/metrics").await?;
    let value = page
        .lines()
        .find_map(|text| text.strip_prefix(line)?.strip_prefix(' '));
    Ok(value
        .with_context(|| format!("no {line} in {page}"))?
        .parse()?)
}

async fn operators_are_served(server: &Server) -> anyhow::Result<()> {
    let operator = server.operator();
    for path in ["/healthz", "/readyz", "/operator/v1/apps"] {
        operator.get(path).await?.expect(200)?;
    }
    ensure!(
        operator
            .page("/metrics")
            .await?
            .contains("switchyard_connections")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_of_one_address_leave_room_for_others_and_for_operators()
-> anyhow::Result<()> {
    let server = server().await?;
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        idle.push(connect(&server, 2).await?);
    }
    let refused = CONNECTIONS - OF_ADDRESS;
    eventually("the rest is refused", WITHIN, async || {
        let line = r#"switchyard_connections_refused_total{listener="public"}"#;
        Ok((metric(&server, line).await? >= refused as f64).then_some(()))
    })
    .await?;
    let last = idle.last_mut().context("a connection")?;
    let mut said = String::new();
    // The other end may be gone before its answer is read.
    let _ = last.read_to_string(&mut said).await;
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 429"),
        "{said}"
    );

    server.merchant().get("/v1/payments").await?.expect(200)?;
    let said = ask(&mut connect(&server, 3).await?, "/healthz").await?;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    operators_are_served(&server).await?;
    assert!(
        server.log().contains("address has too many open"),
        "{}",
        server.log()
    );

    // Several addresses together can fill the public listener, and nothing else.
    for last in 3..=5 {
        for _ in 0..OF_ADDRESS {
            idle.push(connect(&server, last).await?);
        }
    }
    eventually("the public listener is full", WITHIN, async || {
        let open = metric(&server, r#"switchyard_connections{listener="public"}"#).await?;
        Ok((open >= CONNECTIONS as f64).then_some(()))
    })
    .await?;
    operators_are_served(&server).await?;
    drop(idle);
    eventually("places are free again", WITHIN, async || {
        let answer = timeout(
            Duration::from_secs(1),
            server.merchant().get("/v1/payments"),
        )
        .await;
        Ok(answer.is_ok_and(|answer| answer.is_ok()).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_payment_has_a_few_streams_and_others_have_theirs() -> anyhow::Result<()> {
    let server = server().await?;
    let merchant = server.merchant();
    let mut pages = Vec::new();
    for _ in 0..2 {
        let made = merchant
            .post("/v1/payments/initialize", &payment("A teapot"))
            .await?;
        pages.push(format!(
            "/checkout/{}/events",
            made.expect(201)?.data("id")?
        ));
    }
    let mut open = Vec::new();
    for _ in 0..STREAMS_OF_PAYMENT {
        let mut stream = connect(&server, 2).await?;
        let said = ask(&mut stream, &pages[0]).await?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
        open.push(stream);
    }
    let said = ask(&mut connect(&server, 3).await?, &pages[0]).await?;
    assert!(said.starts_with("HTTP/1.1 429"), "{said}");
    let refused = r#"switchyard_streams_refused_total{why="payment"}"#;
    assert!(metric(&server, refused).await? >= 1.0);
    let said = ask(&mut connect(&server, 2).await?, &pages[1]).await?;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    // A page without a stream asks for the status.
    let status = pages[0].replace("events", "status");
    let said = ask(&mut connect(&server, 3).await?, &status).await?;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_listener_serves_its_own() -> anyhow::Result<()> {
    let server = server().await?;
    let token = &server.dev().operator_token;
    let public = server.stranger().with_key(token);
    for path in ["/operator/v1/apps", "/metrics"] {
        public.get(path).await?.expect(404)?;
        server.operator().get(path).await?.expect(200)?;
    }
    for path in ["/healthz", "/readyz"] {
        public.get(path).await?.expect(200)?;
    }
    let admin = Client::new(&server.admin_url(), Some(&server.dev().sandbox_secret_key));
    admin.get("/v1/payments").await?.expect(404)?;
    // The command line says where operators are served.
    let said = tokio::process::Command::new(switchyard_tests::server::stage()?.join("switchyard"))
        .args([
            "--url",
            &server.dev().base_url,
            "--token",
            token,
            "apps",
            "list",
        ])
        .output()
        .await?;
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("server.admin_listen"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_is_bounded() -> anyhow::Result<()> {
    let server = server().await?;
    let padding = |bytes: usize| format!("/nothing HTTP/1.1\r\nx-padding: {}", "a".repeat(bytes));
    let said = ask(&mut connect(&server, 4).await?, &padding(30_000)).await?;
    assert!(said.starts_with("HTTP/1.1 404"), "{said}");
    let mut large = connect(&server, 4).await?;
    match ask(&mut large, &padding(4 * REQUEST_HEAD_BYTES)).await {
        Ok(said) => ensure!(
            said.is_empty() || said.starts_with("HTTP/1.1 431"),
            "{said}"
        ),
        // The other end may be gone before its answer is read.
        Err(error) => ensure!(error.is::<std::io::Error>(), "{error}"),
    }
    Ok(())
}
