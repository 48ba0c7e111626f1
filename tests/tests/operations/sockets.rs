//! Bytes on a bare socket: requests that two parsers could understand in two ways, and headers that
//! no client may set.

use std::time::Duration;

use anyhow::ensure;
use switchyard_tests::{Server, Setup};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends these bytes on a connection of their own, and reads until the other end has closed it, or
/// has been silent for a while.
async fn answers(server: &Server, bytes: &[u8]) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(server.address()).await?;
    stream.write_all(bytes).await?;
    let mut read = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(Ok(count)) = tokio::time::timeout(SILENCE, stream.read(&mut buffer)).await {
        if count == 0 {
            break;
        }
        read.extend_from_slice(&buffer[..count]);
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

const SILENCE: Duration = Duration::from_secs(2);

/// The statuses of all answers, in order.
fn statuses(answers: &str) -> Vec<u16> {
    let heads = answers.split("HTTP/1.1 ").skip(1);
    heads
        .filter_map(|head| head.get(..3)?.parse().ok())
        .collect()
}

/// A request to initialize a payment, with these headers after the request line and `Host`.
fn initialize(server: &Server, headers: &str, body: &str) -> String {
    format!(
        "POST /v1/payments/initialize HTTP/1.1\r\nhost: pay.example\r\ncontent-type: application/json\r\nauthorization: Bearer {}\r\n\
         {headers}\r\n{body}",
        server.dev().sandbox_secret_key
    )
}

const BODY: &str = r#"{"amount":25,"currency":"USD","description":"Smuggled","return_url":"https://shop.example/",
"customer":{"email":"ada@example.com","first_name":"Ada","last_name":"Lovelace"}}"#;

async fn payments(server: &Server) -> anyhow::Result<u64> {
    let listed = server.merchant().get("/v1/payments").await?.expect(200)?;
    Ok(listed.body["meta"]["total"].as_u64().unwrap_or(u64::MAX))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_whose_length_is_told_in_two_ways_is_refused_and_changes_nothing()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let length = BODY.len();
    let chunked = format!("{length:x}\r\n{BODY}\r\n0\r\n\r\n");
    for (headers, body) in [
        (
            format!("content-length: {length}\r\ncontent-length: 5\r\n"),
            BODY,
        ),
        (format!("content-length: {length}, 5\r\n"), BODY),
        (format!("content-length: +{length}\r\n"), BODY),
        (format!("content-length: -{length}\r\n"), BODY),
        (format!("content-length: 0x{length:x}\r\n"), BODY),
        ("content-length: 18446744073709551616\r\n".to_owned(), BODY),
        ("content-length: \r\n".to_owned(), BODY),
        (format!("content-length : {length}\r\n"), BODY),
        (format!("content-length: {length}\r\n x: y\r\n"), BODY),
        ("transfer-encoding: identity\r\n".to_owned(), &chunked),
        (
            "transfer-encoding: chunked, identity\r\n".to_owned(),
            &chunked,
        ),
        ("transfer-encoding: xchunked\r\n".to_owned(), &chunked),
        ("transfer-encoding : chunked\r\n".to_owned(), &chunked),
        (
            "transfer-encoding: chunked\r\n".to_owned(),
            "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        ),
        (
            "transfer-encoding: chunked\r\n".to_owned(),
            "-2\r\n{}\r\n0\r\n\r\n",
        ),
        ("transfer-encoding: chunked\r\n".to_owned(), "2 \n{}\n0\n\n"),
        ("x: a\0b\r\n".to_owned(), ""),
        ("x: a\rb\r\n".to_owned(), ""),
        ("x y: z\r\n".to_owned(), ""),
    ] {
        let text = answers(&server, initialize(&server, &headers, body).as_bytes()).await?;
        let statuses = statuses(&text);
        ensure!(
            matches!(statuses.as_slice(), [] | [400]),
            "{headers:?} {body:?} was answered {text}"
        );
    }
    let old = initialize(&server, "transfer-encoding: chunked\r\n", &chunked);
    let text = answers(&server, old.replace("HTTP/1.1", "HTTP/1.0").as_bytes()).await?;
    ensure!(!text.contains(" 201 "), "{text}");
    assert_eq!(payments(&server).await?, 0);
    Ok(())
}

/// With both headers the chunks count (RFC 9112, 6.3), and whatever a reader who believed the
/// length would take for the rest of the body, or for another request, is never looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_after_a_chunked_body_is_taken_for_a_request() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let hidden = initialize(
        &server,
        &format!("content-length: {}\r\n", BODY.len()),
        BODY,
    );
    let smuggled = format!("0\r\n\r\n{hidden}");
    let length = smuggled.len();
    for headers in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
        "content-length: 5\r\ntransfer-encoding: chunked\r\n".to_owned(),
        "transfer-encoding: chunked\r\n".to_owned(),
    ] {
        let text = answers(&server, initialize(&server, &headers, &smuggled).as_bytes()).await?;
        assert_eq!(statuses(&text), [400], "{headers:?} was answered {text}");
        assert!(text.to_lowercase().contains("connection: close"), "{text}");
    }
    assert_eq!(payments(&server).await?, 0);
    // By itself the hidden request is a good one.
    let text = answers(&server, hidden.as_bytes()).await?;
    assert_eq!(statuses(&text), [201], "{text}");
    Ok(())
}

/// Bytes of a request, and the one permitted response instead of 400, or none. `{}` stands for a
/// request that would make a payment.
const OLD_AND_OTHER: &[(&str, &[u16])] = &[
    // `Host` is sent twice, or not at all: proxies choose by it.
    ("GET /healthz HTTP/1.1\r\n\r\n{}", &[400]),
    (
        "GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n{}",
        &[400],
    ),
    (
        "GET /healthz HTTP/1.1\r\nhost: a\r\nHOST: a\r\n\r\n{}",
        &[400],
    ),
    // HTTP/1.0 keeps no connection unless it is asked to, and is answered in its own way.
    ("GET /healthz HTTP/1.0\r\n\r\n{}", &[200]),
    (
        "GET /healthz HTTP/1.0\r\nconnection: close\r\n\r\n{}",
        &[200],
    ),
    ("GET /healthz HTTP/0.9\r\nhost: a\r\n\r\n{}", &[400]),
    ("GET /healthz\r\n{}", &[400]),
    // A target with a host in it is the same path on this one; a bare host is no path.
    (
        "GET http://evil.example/healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n{}",
        &[200],
    ),
    (
        "GET http://evil.example/nowhere HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n{}",
        &[404],
    ),
    (
        "GET //evil.example/healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n{}",
        &[404],
    ),
    (
        "CONNECT evil.example:443 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        &[404, 405, 400],
    ),
    (
        "OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        &[404, 405, 400],
    ),
    (
        "GET /../operator/v1/apps HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        &[404],
    ),
    (
        "GET /v1/..%2f..%2foperator/v1/apps HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        &[404],
    ),
    // Another protocol, or a change to one.
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{}", &[400, 505]),
    (
        "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\n\
          http2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n{}",
        &[200],
    ),
    ("\x16\x03\x01\x00\x05hello{}", &[400]),
    // Line ends by which two readers may see two ends of a head.
    (
        "GET /healthz HTTP/1.1\nhost: a\nx: {}\nconnection: close\n\n",
        &[200, 400],
    ),
    ("GET /healthz HTTP/1.1\r\nhost: a\r\n\r{}", &[400]),
    ("GET /heal\rthz HTTP/1.1\r\nhost: a\r\n\r\n{}", &[400]),
    (
        "GET /healthz HTTP/1.1\r\nhost: a\r\nx\r\n: y\r\n\r\n{}",
        &[400],
    ),
    ("GET /healthz HTTP/1.1\r\nhost: a\r\n: y\r\n\r\n{}", &[400]),
    // A body where none belongs is taken away with its own request.
    (
        "GET /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{}",
        &[200],
    ),
    (
        "HEAD /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{}",
        &[200],
    ),
];

/// The same bytes for a parser of another protocol, or an older one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_forms_of_a_request_and_other_protocols_lead_nowhere_else() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let hidden = initialize(
        &server,
        &format!("content-length: {}\r\n", BODY.len()),
        BODY,
    );
    for (sent, expected) in OLD_AND_OTHER {
        let bytes = sent.replace("{}", if sent.contains("x: {}") { "y" } else { &hidden });
        let text = answers(&server, bytes.as_bytes()).await;
        // The other end may close while we still write: that is a refusal, too.
        let text = text.unwrap_or_default().replace("HTTP/1.0 ", "HTTP/1.1 ");
        let statuses = statuses(&text);
        let is_expected = match statuses.as_slice() {
            [] => expected.contains(&400),
            [status] => expected.contains(status),
            _ => false,
        };
        ensure!(is_expected, "{sent:?} was answered {text}");
        ensure!(
            !text.contains("evil.example") || !text.to_lowercase().contains("location:"),
            "{text}"
        );
    }
    // Where it is asked for, an old connection is kept, and the next request is one of its own.
    let kept = "GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let text = answers(&server, format!("{kept}{kept}").as_bytes()).await?;
    let text = text.replace("HTTP/1.0 ", "HTTP/1.1 ");
    assert_eq!(statuses(&text), [200, 200], "{text}");
    assert_eq!(payments(&server).await?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_without_end_are_refused() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    for headers in [
        format!("x: {}\r\n", "a".repeat(1 << 20)),
        "x: a\r\n".repeat(1_000),
    ] {
        let text = answers(&server, initialize(&server, &headers, "").as_bytes()).await;
        // The other end may close while we still write: that is a refusal, too.
        if let Ok(text) = text {
            let statuses = statuses(&text);
            assert!(matches!(statuses.as_slice(), [] | [431]), "{text}");
        }
    }
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(30_000));
    let text = answers(&server, long.as_bytes()).await?;
    assert!(matches!(statuses(&text).as_slice(), [404 | 414]), "{text}");
    assert!(text.len() < 2_000, "a long path is not repeated in whole");
    server.stranger().get("/healthz").await?.expect(200)?;
    Ok(())
}

/// The name by which a client calls this server decides nothing: not where payers are sent, and not
/// where links lead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_host_or_forwarded_header_is_never_believed() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let lies = "x-forwarded-host: evil.example\r\nx-forwarded-proto: ftp\r\nforwarded: host=evil.example\r\nx-forwarded-for: 6.6.6.6\r\n\
                x-original-url: /operator/v1/apps\r\nx-rewrite-url: /operator/v1/apps\r\nx-http-method-override: DELETE\r\n\
                connection: close\r\n";
    let headers = format!("{lies}content-length: {}\r\n", BODY.len());
    let made = initialize(&server, &headers, BODY).replace("pay.example", "evil.example");
    let text = answers(&server, made.as_bytes()).await?;
    assert_eq!(statuses(&text), [201], "{text}");
    assert!(
        !text.contains("evil.example") && text.contains(&server.dev().base_url),
        "{text}"
    );
    let listed = server.merchant().get("/v1/payments").await?.expect(200)?;
    assert_eq!(listed.body["data"][0]["context"]["ip"], "127.0.0.1");
    let id = listed.body["data"][0]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for path in [
        format!("/checkout/{id}"),
        "/docs".to_owned(),
        "/nowhere".to_owned(),
    ] {
        let asked = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n{lies}\r\n");
        let text = answers(&server, asked.as_bytes()).await?;
        assert!(
            !statuses(&text).is_empty() && !text.contains("evil.example"),
            "{text}"
        );
    }
    Ok(())
}

/// Every kind of answer: what browsers must not guess, must not keep, and must not be given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_not_sniffed_not_kept_and_set_no_cookie() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let made = answers(
        &server,
        initialize(
            &server,
            &format!("connection: close\r\ncontent-length: {}\r\n", BODY.len()),
            BODY,
        )
        .as_bytes(),
    )
    .await?;
    let (_, id) = made.split_once("\"id\":\"py_").unwrap_or_default();
    let id = format!("py_{}", id.split('"').next().unwrap_or_default());
    let (merchant, operator) = (server.merchant(), server.operator());
    let private = [
        merchant.get(&format!("/v1/payments/{id}")).await?,
        merchant.get("/v1/payments").await?,
        merchant.get("/v1/payouts/po_nothing").await?,
        merchant.get("/nowhere").await?,
        server.stranger().get("/v1/payments").await?,
        server.stranger().get(&format!("/checkout/{id}")).await?,
        server.stranger().get("/checkout/py_nothing").await?,
        operator.get("/operator/v1/apps").await?,
        server.stranger().get("/operator/v1/apps").await?,
        operator.get("/metrics").await?,
        server.stranger().get("/readyz").await?,
    ];
    let public = [
        server.stranger().get("/docs").await?,
        server.stranger().get("/openapi.json").await?,
        server.stranger().get("/utils/payment/methods").await?,
    ];
    for (at, answer) in private.iter().enumerate() {
        let kept = answer
            .headers
            .get("cache-control")
            .map(|value| value.as_bytes());
        assert_eq!(kept, Some(&b"no-store"[..]), "{at}: {:?}", answer.headers);
    }
    for answer in private.iter().chain(&public) {
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(!answer.headers.contains_key("set-cookie"));
        assert!(!answer.headers.contains_key("server"));
        assert!(answer.headers.contains_key("x-request-id"));
    }
    Ok(())
}
