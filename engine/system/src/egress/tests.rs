use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpListener;

use super::testing::FORBIDDEN;
use super::*;

/// Names and what they resolve to; every one of them must be refused.
const REBOUND: &[(&str, &str)] = &[
    ("localhost", "127.0.0.1"),
    ("localtest.example", "::1"),
    ("metadata.example", "169.254.169.254"),
    ("intranet.example", "10.1.2.3"),
    ("mapped.example", "::ffff:10.0.0.1"),
    ("mixed.example", "93.184.215.14 192.168.0.7"),
    ("nat64.example", "64:ff9b::10.0.0.1"),
    ("ula.example", "2606:4700::1111 fd00::1"),
    ("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "127.0.0.1"),
    ("xn--intrnet-9za.example", "192.168.1.1"),
];

#[tokio::test]
async fn what_is_not_public_is_refused_before_anything_is_sent() {
    assert!(FORBIDDEN.len() + REBOUND.len() >= 60);
    let names = Resolver::scripted(|_| vec!["93.184.215.14".parse().unwrap()]);
    for (target, gives_away) in FORBIDDEN {
        let refused = match read_url(target) {
            Ok(url) => vet(&url, &Policy::default(), &names)
                .await
                .unwrap_err()
                .to_string(),
            Err(refused) => refused.to_string(),
        };
        assert!(refused.contains(gives_away), "{target}: {refused}");
    }
}

#[tokio::test]
async fn a_name_is_refused_when_any_of_its_addresses_is() {
    for (name, addresses) in REBOUND {
        let found: Vec<IpAddr> = addresses.split(' ').map(|a| a.parse().unwrap()).collect();
        let names = Resolver::scripted(move |_| found.clone());
        let url = read_url(&format!("https://{name}/hook")).unwrap();
        let refused = vet(&url, &Policy::default(), &names).await;
        assert!(
            matches!(refused, Err(VetError::Forbidden(Forbidden::Address { .. }))),
            "{name}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn public_targets_are_allowed() {
    let names = Resolver::scripted(|_| vec!["93.184.215.14".parse().unwrap()]);
    let targets = [
        "https://shop.example/hook",
        "http://shop.example/hook?a=b#c",
        "http://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://[64:ff9b::8.8.8.8]/",
        "https://münchen.example/",
        "https://shop.example:443/",
        "https://shop.example:80/",
        "https://shop.example:8443/",
    ];
    let policy = Policy {
        extra_ports: [8443].into(),
        ..Policy::default()
    };
    for target in targets {
        let url = read_url(target).unwrap();
        assert_eq!(
            vet(&url, &policy, &names).await.unwrap().len(),
            1,
            "{target}"
        );
    }
}

#[test]
fn development_mode_allows_private_networks_and_any_port_but_never_metadata() {
    let policy = Policy {
        allow_private: true,
        ..Policy::default()
    };
    for allowed in [
        "127.0.0.1:4000",
        "10.0.0.1:8080",
        "[::1]:9",
        "[fd12::1]:80",
        "8.8.8.8:3000",
    ] {
        assert_eq!(policy.check(allowed.parse().unwrap()), Ok(()), "{allowed}");
    }
    for never in [
        "169.254.169.254:80",
        "[fd00:ec2::254]:80",
        "0.0.0.0:80",
        "224.0.0.1:80",
        "[::ffff:127.0.0.1]:80",
    ] {
        assert!(policy.check(never.parse().unwrap()).is_err(), "{never}");
    }
}

#[tokio::test]
async fn a_name_without_addresses_is_no_refusal_but_a_fault_of_dns() {
    let names = Resolver::scripted(|_| Vec::new());
    let url = read_url("https://nowhere.example/").unwrap();
    let unresolved = vet(&url, &Policy::default(), &names).await;
    assert!(matches!(unresolved, Err(VetError::Unresolved { .. })));
}

/// The classic attack: public when looked at, private when connected to.
#[tokio::test]
async fn a_name_that_turns_private_after_the_look_is_not_connected_to() {
    let trap = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = trap.local_addr().unwrap().port();
    let asked = std::sync::Arc::new(AtomicUsize::new(0));
    let names = Resolver::scripted({
        let asked = asked.clone();
        move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => vec!["93.184.215.14".parse().unwrap()],
            _ => vec!["127.0.0.1".parse().unwrap()],
        }
    });
    let policy = Policy {
        extra_ports: [port].into(),
        ..Policy::default()
    };
    let url = read_url(&format!("http://rebound.example:{port}/")).unwrap();
    assert!(vet(&url, &policy, &names).await.is_ok());

    let client = Client::new(policy, names).unwrap();
    let sent = client
        .request(reqwest::Method::POST, &url)
        .unwrap()
        .send()
        .await;
    assert_eq!(classify(&sent.unwrap_err()), Failure::ForbiddenTarget);
    let nobody = tokio::time::timeout(std::time::Duration::from_millis(100), trap.accept()).await;
    assert!(nobody.is_err(), "the trap was connected to");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// A socket on this machine, at every address that it has, which counts who comes.
struct Trap {
    port: u16,
    caught: std::sync::Arc<AtomicUsize>,
}

impl Trap {
    async fn set() -> Self {
        let caught = std::sync::Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut listeners = vec![listener];
        // A machine may have no IPv6.
        listeners.extend(TcpListener::bind(("::1", port)).await);
        for listener in listeners {
            let caught = caught.clone();
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    caught.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        Self { port, caught }
    }

    async fn caught(&self) -> usize {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        self.caught.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn no_target_makes_a_connection_to_this_machine() {
    let trap = Trap::set().await;
    let policy = Policy {
        extra_ports: [trap.port].into(),
        ..Policy::default()
    };
    // Public at every other look: a name whose answers are not to be kept.
    let looks = AtomicUsize::new(0);
    let names = Resolver::scripted(move |name| match name {
        "rebinding.example" if looks.fetch_add(1, Ordering::SeqCst) % 2 == 1 => {
            vec!["8.8.8.8".parse().unwrap()]
        }
        _ => vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
    });
    let client = Client::new(policy, names).unwrap();
    let rebound = REBOUND.iter().map(|(name, _)| format!("http://{name}/"));
    let targets = FORBIDDEN.iter().map(|(target, _)| (*target).to_owned());
    let rebinding = std::iter::once("http://rebinding.example/".to_owned());
    let mut tried = 0;
    for target in targets.chain(rebound).chain(rebinding) {
        tried += 1;
        let Ok(mut url) = Url::parse(&target) else {
            continue;
        };
        // A public address has nothing to do with this machine: its port is what is wrong with it.
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
            _ => None,
        };
        if !address.is_some_and(is_public) {
            let _ = url.set_port(Some(trap.port));
        }
        if let Ok(request) = client.request(reqwest::Method::POST, &url) {
            let sent = request.send().await;
            let refused = classify(&sent.expect_err(&target));
            assert_eq!(refused, Failure::ForbiddenTarget, "{target}");
        }
    }
    assert!(tried >= 60, "{tried} targets");
    assert_eq!(trap.caught().await, 0);
}

#[tokio::test]
async fn a_redirect_to_this_machine_is_not_followed() {
    let trap = Trap::set().await;
    for status in [301, 302, 303, 307, 308] {
        let answer = format!(
            "HTTP/1.1 {status} Moved\r\nlocation: http://127.0.0.1:{}/\r\ncontent-length: 0\r\n\r\n",
            trap.port
        );
        let url = answering(answer.leak()).await;
        let request = development_client().request(reqwest::Method::POST, &url);
        let response = request.unwrap().send().await.unwrap();
        assert_eq!(response.status(), status);
    }
    assert_eq!(trap.caught().await, 0);
}

#[tokio::test]
async fn connecting_and_encrypting_are_timed_apart() {
    let client = development_client();
    let plain = answering("HTTP/1.1 400 This speaks no TLS\r\n\r\n").await;
    let send = |url: Url| {
        let request = client.request(reqwest::Method::POST, &url).unwrap();
        async move { request.send().await.is_ok() }
    };
    let encrypted = Url::parse(&plain.as_str().replace("http:", "https:")).unwrap();
    let (is_sent, probe) = probed(send(encrypted)).await;
    assert!(!is_sent && probe.connect.is_some() && probe.tls.is_none());
    let (is_sent, probe) = probed(send(plain)).await;
    assert!(is_sent && probe.connect.is_some() && probe.tls.is_none());
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_a_command() {
    let answer =
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";
    let url = answering(answer).await;
    let client = development_client();
    let response = client
        .request(reqwest::Method::POST, &url)
        .unwrap()
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 302);
}

#[tokio::test]
async fn faults_are_sorted_by_their_cause() {
    let client = development_client();
    let send = |url: Url| {
        let request = client.request(reqwest::Method::POST, &url).unwrap();
        async move { classify(&request.send().await.unwrap_err()) }
    };
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    assert_eq!(
        send(read_url(&format!("http://{closed}/")).unwrap()).await,
        Failure::Connect
    );
    let plain = answering("HTTP/1.1 400 This speaks no TLS\r\n\r\n").await;
    let encrypted = Url::parse(&plain.as_str().replace("http:", "https:")).unwrap();
    assert_eq!(send(encrypted).await, Failure::Tls);
    assert_eq!(
        send(answering("SSH-2.0-server\r\n").await).await,
        Failure::Http
    );
    let nowhere = read_url("http://nowhere.example/").unwrap();
    assert_eq!(send(nowhere).await, Failure::Dns);
    let (_, probe) = probed(send(read_url("http://loop.example:1/").unwrap())).await;
    assert_eq!(probe.addresses, ["127.0.0.1".parse::<IpAddr>().unwrap()]);
    assert!(probe.dns.is_some());
}

fn development_client() -> Client {
    let policy = Policy {
        allow_private: true,
        ..Policy::default()
    };
    let names = Resolver::scripted(|name| match name {
        "loop.example" => vec!["127.0.0.1".parse().unwrap()],
        _ => Vec::new(),
    });
    Client::new(policy, names).unwrap()
}

/// A server on this machine that reads a little and says `answer` to everybody.
async fn answering(answer: &'static str) -> Url {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    read_url(&format!("http://{address}/")).unwrap()
}

#[test]
fn listed_private_networks_are_reached_and_plain_http_only_where_it_is_allowed() {
    let policy = Policy {
        private_networks: vec![
            "10.1.0.0/16".parse().unwrap(),
            "169.254.0.0/16".parse().unwrap(),
        ],
        https_only: true,
        ..Policy::default()
    };
    let check = |url: &str| policy.check_url(&url.parse().unwrap());
    assert_eq!(check("https://10.1.2.3/hook"), Ok(()));
    assert_eq!(check("http://10.1.2.3/hook"), Err(Forbidden::PlainHttp));
    assert_eq!(check("http://shop.example/hook"), Err(Forbidden::PlainHttp));
    for other in [
        "https://10.2.0.1/",
        "https://127.0.0.1/",
        "https://169.254.169.254/",
        "https://[::ffff:10.1.2.3]/",
    ] {
        let refused = check(other);
        assert!(
            matches!(refused, Err(Forbidden::Address { .. })),
            "{other}: {refused:?}"
        );
    }
}
