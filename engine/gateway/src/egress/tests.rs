use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use url::Host;

use super::*;

/// Forbidden addresses of the engine, requested by a gateway whose manifest lists them.
#[test]
fn a_manifest_opens_no_way_to_an_address_that_is_not_public() {
    let egress = Egress::new(false, &[]).unwrap();
    let mut tried = 0;
    for (target, _) in switchyard_system::egress::testing::FORBIDDEN {
        let Ok(mut url) = Url::parse(target) else {
            continue;
        };
        let is_address = url
            .host()
            .is_some_and(|host| !matches!(host, Host::Domain(_)));
        if !is_address {
            continue; // a name is checked when it is resolved
        }
        let _ = url.set_scheme("https");
        let port = url.port_or_known_default().unwrap();
        let is_listed_port = port == 443;
        let listed = format!("{}:{port}", url.host_str().unwrap());
        let refusal = egress.check_url(&url, &[Cow::Owned(listed)]);
        if is_listed_port {
            assert!(refusal.is_err(), "{target}");
            tried += 1;
        }
    }
    assert!(tried >= 60, "{tried} targets");
}

fn check(development: bool, url: &str) -> Result<(), String> {
    let hosts = [
        "api.acme.example",
        "*.acme.example",
        "acme.example:8443",
        "127.0.0.1",
        "*.1",
        "node.internal:8545",
        "10.0.0.5:8545",
        "10.0.0.6:8545",
    ];
    Egress::new(
        development,
        &["node.internal:8545".into(), "10.0.0.5:8545".into()],
    )
    .unwrap()
    .check_url(&Url::parse(url).unwrap(), &hosts.map(Cow::Borrowed))
    .map(drop)
    .map_err(|error| error.message)
}

#[test]
fn a_request_goes_to_listed_hosts_over_https_only() {
    for allowed in [
        "https://api.acme.example/charges",
        "https://API.acme.example:443/",
        "https://eu.acme.example/",
        "https://acme.example:8443/",
        "http://node.internal:8545/",
        "http://10.0.0.5:8545/",
    ] {
        assert_eq!(check(false, allowed), Ok(()), "{allowed}");
    }
    for (url, why) in [
        ("http://api.acme.example/", "without https"),
        ("https://api.acme.example:8080/", "not among the hosts"),
        ("https://acme.example/", "not among the hosts"),
        ("https://evilacme.example/", "not among the hosts"),
        (
            "https://api.acme.example.evil.example/",
            "not among the hosts",
        ),
        ("https://key@api.acme.example/", "credentials"),
        ("https://127.0.0.1/", "not a public address"),
        ("https://2130706433/", "not a public address"),
        ("https://0x7f.1/", "not a public address"),
        ("https://10.0.0.6:8545/", "not a public address"),
        ("http://10.0.0.6:8545/", "without https"),
        ("http://node.internal/", "without https"),
        ("ftp://api.acme.example/", "without https"),
    ] {
        let refusal = check(false, url).expect_err(url);
        assert!(refusal.contains(why), "{url}: {refusal}");
    }
}

#[test]
fn development_mode_allows_this_machine_and_no_other_host_that_is_not_listed() {
    assert_eq!(check(true, "http://127.0.0.1:4321/charges"), Ok(()));
    assert_eq!(check(true, "http://localhost:4321/"), Ok(()));
    assert_eq!(check(true, "http://[::1]:4321/"), Ok(()));
    assert!(check(true, "https://evil.example/").is_err());
    assert!(check(true, "http://192.168.1.2/").is_err());
}

#[test]
fn the_host_of_a_url_in_the_configuration_is_granted_and_nothing_else_of_it() {
    let config = json!({ "rpc": "https://node.example/v1/secret", "local": "http://10.0.0.5:8545", "chain": 1 });
    let hosts = [
        "api.acme.example",
        "{config.rpc}",
        "{config.local}",
        "{config.chain}",
        "{config.none}",
    ]
    .map(String::from);
    assert_eq!(
        granted(&hosts, &config),
        ["api.acme.example", "node.example:443", "10.0.0.5:8545"]
    );
}

#[tokio::test]
async fn a_name_of_a_private_address_is_not_reached_and_nothing_is_sent() {
    // Allowing this machine at another port allows only that port.
    let egress = Egress::new(false, &["localhost:1".into()]).unwrap();
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let host = format!("localhost:{}", trap.local_addr().unwrap().port());
    let request = HttpRequest {
        method: "POST".into(),
        url: format!("https://{host}/"),
        headers: Vec::new(),
        body: None,
        timeout_ms: None,
        mutates: None,
    };
    let checked = egress.check(&request, &[host.into()], Duration::from_secs(5));
    let Ok(checked) = checked else {
        panic!("the host is listed");
    };
    let error = egress.send(checked).await.unwrap_err();
    assert_eq!(
        (error.sent, error.kind),
        (Sent::No, EffectErrorKind::Connect)
    );
    assert!(
        error.message.contains("no public address"),
        "{}",
        error.message
    );
    assert!(trap.accept().is_err(), "the trap was connected to");
}

fn request(method: &str, url: String) -> HttpRequest {
    HttpRequest {
        method: method.into(),
        url,
        headers: Vec::new(),
        body: None,
        timeout_ms: None,
        mutates: None,
    }
}

fn trap() -> (std::net::TcpListener, u16) {
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    (trap, port)
}

/// A name is resolved once per connection, and the resolved address is checked and connected to.
/// DNS rebinding has no effect, neither for a host of a manifest nor for one of a connection's
/// configuration.
#[tokio::test]
async fn no_address_that_a_name_can_turn_into_makes_a_connection_to_it() {
    let (trap, port) = trap();
    let not_public = switchyard_system::egress::testing::FORBIDDEN.iter();
    let mut turns: Vec<IpAddr> = not_public
        .filter_map(|(target, _)| match Url::parse(target).ok()?.host()? {
            Host::Ipv4(address) => Some(IpAddr::from(address)),
            Host::Ipv6(address) => Some(IpAddr::from(address)),
            Host::Domain(_) => None,
        })
        .filter(|address| !is_public(*address))
        .collect();
    // This machine at every other resolution: the trap listens here.
    turns.extend(vec![IpAddr::from([127, 0, 0, 1]); turns.len()]);
    let (asked, count) = (Arc::new(AtomicUsize::new(0)), turns.len());
    assert!(count >= 120, "{count} turns");
    let names = Resolver::scripted({
        let asked = asked.clone();
        move |_| {
            let turn = asked.fetch_add(1, Ordering::SeqCst);
            vec![turns[turn % turns.len()], turns[(turn + 1) % turns.len()]]
        }
    });
    let egress = Egress::resolving(false, &[], &names).unwrap();
    let url = format!("https://rebinding.example:{port}/charges");
    let config = json!({ "rpc": url });
    let manifest = ["{config.rpc}".to_owned()];
    for _ in 0..count {
        let hosts = granted(&manifest, &config);
        let checked = egress.check(
            &request("POST", url.clone()),
            &hosts,
            Duration::from_secs(20),
        );
        let Ok(checked) = checked else {
            panic!("the host is listed");
        };
        let error = egress.send(checked).await.unwrap_err();
        assert_eq!(error.sent, Sent::No);
        assert!(
            error.message.contains("no public address"),
            "{}",
            error.message
        );
    }
    assert_eq!(asked.load(Ordering::SeqCst), count);
    assert!(trap.accept().is_err(), "the trap was connected to");
}

/// A redirect is not followed: it is a response like any other.
#[tokio::test]
async fn a_redirect_of_a_provider_is_an_answer_and_nobody_goes_there() {
    let (trap, port) = trap();
    let egress = Egress::new(true, &[]).unwrap();
    for status in [301, 302, 303, 307, 308] {
        for to in [
            format!("http://127.0.0.1:{port}/"),
            format!("http://localhost:{port}/"),
            format!("//127.0.0.1:{port}/"),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
        ] {
            let provider = pointing(status, &to).await;
            let checked = egress.check(&request("GET", provider), &[], Duration::from_secs(20));
            let Ok(checked) = checked else {
                panic!("this machine may be asked in development mode");
            };
            let answer = egress.send(checked).await.unwrap();
            assert_eq!(answer.status, status, "{to}");
        }
    }
    assert!(trap.accept().is_err(), "the trap was connected to");
}

/// Returns the address of a provider that answers one request with a redirect.
async fn pointing(status: u16, to: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = [0; 4_096];
        let read = stream.read(&mut asked).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        read
    });
    format!("http://{address}/")
}
