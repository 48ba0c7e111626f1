//! The configurations of nginx and Caddy in `ops/proxy`.
//!
//! `cargo xtask test` installs both programs. Elsewhere one that is not there is left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::Router;
use axum::http::{HeaderMap, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use switchyard_tests::eventually;
use switchyard_tests::server::free_port;
use tempfile::TempDir;

const NGINX: &str = include_str!("../../../ops/proxy/nginx.conf");
const CADDY: &str = include_str!("../../../ops/proxy/Caddyfile");
const CERTIFICATE: &[u8] = include_bytes!("../../tls/leaf.der");
const KEY: &[u8] = include_bytes!("../../tls/leaf.key.der");
/// Folder of the certificate in the configuration of nginx.
const CERTIFICATES: &str = "/etc/letsencrypt/live/pay.example.com";

/// A program: that of the environment variable, or one of `PATH`.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(set) = std::env::var_os(variable) {
        return Some(set.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = BASE64.encode(der);
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

/// Writes a configuration as a part of `nginx.conf`, with the certificate of the tests. All else that
/// nginx writes is in the folder, too.
fn for_nginx(folder: &Path, configuration: &str) -> anyhow::Result<PathBuf> {
    let at = folder.display();
    fs::write(
        folder.join("fullchain.pem"),
        pem("CERTIFICATE", CERTIFICATE),
    )?;
    fs::write(folder.join("privkey.pem"), pem("PRIVATE KEY", KEY))?;
    let writes = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let writes = writes.map(|name| format!("{name}_temp_path {at}/{name};\n"));
    let part = configuration.replace(CERTIFICATES, &at.to_string());
    let whole = folder.join("nginx.conf");
    fs::write(
        &whole,
        format!(
            "daemon off;\nmaster_process off;\npid {at}/pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\n{}{part}}}\n",
            writes.concat()
        ),
    )?;
    Ok(whole)
}

fn check_with_nginx(nginx: &Path, configuration: &str) -> anyhow::Result<Output> {
    let folder = TempDir::new()?;
    let mut part = configuration.to_owned();
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        // nginx refuses an address of a protocol that the machine does not have.
        part = without_ipv6(&part);
    }
    let whole = for_nginx(folder.path(), &part)?;
    Ok(Command::new(nginx)
        .arg("-t")
        .arg("-c")
        .arg(whole)
        .output()?)
}

fn without_ipv6(configuration: &str) -> String {
    let lines = configuration.lines();
    let lines = lines.filter(|line| !line.contains("listen [::]"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Caddy, which keeps its own files in the folder.
fn caddy_in(caddy: &Path, folder: &Path, command: &str) -> Command {
    let mut caddy = Command::new(caddy);
    caddy.args([command, "--adapter", "caddyfile", "--config"]);
    caddy.arg(folder.join("Caddyfile"));
    for place in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        caddy.env(place, folder);
    }
    caddy
}

fn check_with_caddy(caddy: &Path, configuration: &str) -> anyhow::Result<Output> {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("Caddyfile"), configuration)?;
    Ok(caddy_in(caddy, folder.path(), "validate").output()?)
}

type Check = fn(&Path, &str) -> anyhow::Result<Output>;

#[test]
fn nginx_and_caddy_take_their_configurations() -> anyhow::Result<()> {
    let proxies: [(_, _, _, _, Check); 2] = [
        (
            "SWITCHYARD_NGINX",
            "nginx",
            NGINX,
            "proxy_pass",
            check_with_nginx,
        ),
        (
            "SWITCHYARD_CADDY",
            "caddy",
            CADDY,
            "reverse_proxy",
            check_with_caddy,
        ),
    ];
    for (variable, name, configuration, word, check) in proxies {
        let Some(program) = program(variable, name) else {
            continue;
        };
        let taken = check(&program, configuration)?;
        ensure!(taken.status.success(), "{name}: {taken:?}");
        let refused = check(&program, &configuration.replace(word, "no_such_word"))?;
        ensure!(
            !refused.status.success(),
            "{name} takes any word: {refused:?}"
        );
    }
    Ok(())
}

/// A proxy that runs, on ports of its own and without TLS.
struct Proxy {
    process: Child,
    /// The port for requests in clear text, and that of the public URL.
    ports: [u16; 2],
    _folder: TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Replaces each text once.
fn moved(configuration: &str, changes: &[(&str, String)]) -> anyhow::Result<String> {
    let mut text = configuration.to_owned();
    for (from, to) in changes {
        ensure!(text.contains(from), "the configuration has no {from}");
        text = text.replacen(from, to, 1);
    }
    Ok(text)
}

fn start_nginx(nginx: &Path, upstream: u16) -> anyhow::Result<Proxy> {
    let ports = [free_port()?, free_port()?];
    let configuration = moved(
        &without_ipv6(NGINX),
        &[
            ("listen 80;", format!("listen 127.0.0.1:{};", ports[0])),
            (
                "listen 443 ssl http2;",
                format!("listen 127.0.0.1:{};", ports[1]),
            ),
            ("127.0.0.1:8080", format!("127.0.0.1:{upstream}")),
        ],
    )?;
    let folder = TempDir::new()?;
    let whole = for_nginx(folder.path(), &configuration)?;
    let process = Command::new(nginx).arg("-c").arg(whole).spawn()?;
    Ok(Proxy {
        process,
        ports,
        _folder: folder,
    })
}

fn start_caddy(caddy: &Path, upstream: u16) -> anyhow::Result<Proxy> {
    let ports = [free_port()?, free_port()?];
    let site = |port: u16| format!("\nhttp://127.0.0.1:{port} {{");
    let configuration = moved(
        CADDY,
        &[
            ("\nhttp://pay.example.com {", site(ports[0])),
            ("\npay.example.com {", site(ports[1])),
            ("127.0.0.1:8080", format!("127.0.0.1:{upstream}")),
        ],
    )?;
    let folder = TempDir::new()?;
    let text = format!("{{\n\tadmin off\n}}\n{configuration}");
    fs::write(folder.path().join("Caddyfile"), text)?;
    let mut run = caddy_in(caddy, folder.path(), "run");
    let process = run.stderr(Stdio::null()).spawn()?;
    Ok(Proxy {
        process,
        ports,
        _folder: folder,
    })
}

/// A server that answers with the path and the client's address, as the proxy names it.
async fn upstream() -> anyhow::Result<u16> {
    let echo = async |uri: Uri, headers: HeaderMap| {
        let client = headers.get("x-forwarded-for");
        let client = client.and_then(|value| value.to_str().ok());
        format!("{} for {}", uri.path(), client.unwrap_or("nobody"))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(echo)).await });
    Ok(port)
}

/// Status and body of a request whose header claims another client's address.
async fn ask(port: u16, path: &str) -> anyhow::Result<(u16, String)> {
    // The clients of reqwest take the provider of the process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let request = client.get(format!("http://127.0.0.1:{port}{path}"));
    let answer = request
        .header("X-Forwarded-For", "203.0.113.7")
        .send()
        .await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

type StartProxy = fn(&Path, u16) -> anyhow::Result<Proxy>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_nginx_and_caddy_the_public_paths_are_served_and_the_operators_are_not()
-> anyhow::Result<()> {
    let proxies: [(_, _, StartProxy); 2] = [
        ("SWITCHYARD_NGINX", "nginx", start_nginx),
        ("SWITCHYARD_CADDY", "caddy", start_caddy),
    ];
    for (variable, name, start) in proxies {
        let Some(program) = program(variable, name) else {
            continue;
        };
        let proxy = start(&program, upstream().await?)?;
        let [clear, public] = proxy.ports;
        eventually("the proxy answers", Duration::from_secs(30), async || {
            Ok(ask(public, "/").await.ok())
        })
        .await
        .context(name)?;
        for path in ["/v1/payments", "/checkout/py_1", "/checkout/py_1/events"] {
            let served = ask(public, path).await?;
            assert_eq!(served, (200, format!("{path} for 127.0.0.1")), "{name}");
        }
        for path in ["/operator/v1/tokens", "/operator", "/metrics", "/readyz"] {
            assert_eq!(ask(public, path).await?.0, 404, "{name}: {path}");
        }
        // A key that was sent in clear text is refused, so that the mistake is noticed.
        assert_eq!(ask(clear, "/v1/payments").await?.0, 403, "{name}");
        assert_eq!(ask(clear, "/checkout/py_1").await?.0, 301, "{name}");
    }
    Ok(())
}

#[test]
fn the_proxies_lead_to_the_public_listener_and_close_the_operator_api() {
    for (name, configuration, closed) in [
        (
            "nginx",
            NGINX,
            "location ~ ^/(operator|metrics|readyz)(/|$) {\n        return 404;",
        ),
        (
            "Caddy",
            CADDY,
            "@closed path /operator /operator/* /metrics /metrics/* /readyz\n\
             \trespond @closed 404",
        ),
    ] {
        let lines = configuration.lines().map(str::trim);
        let code: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
        let targets: Vec<&&str> = code
            .iter()
            .filter(|line| line.contains("127.0.0.1"))
            .collect();
        assert_eq!(targets.len(), 1, "{name}: {targets:?}");
        assert!(targets[0].contains("127.0.0.1:8080"), "{name}: {targets:?}");
        assert!(configuration.contains(closed), "{name}");
    }
}
