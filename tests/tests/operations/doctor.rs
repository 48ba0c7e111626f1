//! `switchyard doctor` on an installation as it should be, and on one with faults.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use switchyard_tests::eventually;
use switchyard_tests::surroundings::is_root;

use super::installation::Installation;

/// Expired since April 2025.
const LEAF: &[u8] = include_bytes!("../../tls/leaf.der");
const KEY: &[u8] = include_bytes!("../../tls/leaf.key.der");

/// A report, and whether the exit code says that there is a problem.
struct Report {
    findings: Vec<Value>,
    is_ill: bool,
}

impl Report {
    /// The findings of a check, as `level: message`.
    fn of(&self, check: &str) -> Vec<String> {
        let found = self.findings.iter().filter(|found| found["check"] == check);
        let text = |found: &Value, name: &str| found[name].as_str().unwrap_or_default().to_owned();
        found
            .map(|found| format!("{}: {}", text(found, "level"), text(found, "message")))
            .collect()
    }

    /// Whether a finding of the check begins so.
    fn has(&self, check: &str, beginning: &str) -> bool {
        self.of(check)
            .iter()
            .any(|found| found.starts_with(beginning))
    }
}

/// Runs doctor as the user of the installation.
fn doctor(
    installation: &Installation,
    token: Option<&str>,
    arguments: &[&str],
) -> anyhow::Result<Report> {
    let mut command = installation.as_user(&installation.program());
    command.envs(installation.variables());
    report(command, installation, token, arguments)
}

/// Runs doctor by a command that already names the program.
fn report(
    mut command: Command,
    installation: &Installation,
    token: Option<&str>,
    arguments: &[&str],
) -> anyhow::Result<Report> {
    command
        .args(["doctor", "--json", "--config"])
        .arg(installation.config())
        .args(arguments)
        .env_remove("SWITCHYARD_TOKEN")
        .current_dir("/")
        .stdin(Stdio::null());
    if let Some(token) = token {
        command.env("SWITCHYARD_TOKEN", token);
    }
    let said = command.output()?;
    let code = said.status.code().context("it was killed")?;
    let errors = String::from_utf8_lossy(&said.stderr).into_owned();
    let report: Value = serde_json::from_slice(&said.stdout).context(errors)?;
    let findings = report["findings"].as_array().context("findings")?.clone();
    let is_ill = findings.iter().any(|found| found["level"] == "problem");
    assert_eq!(code, i32::from(is_ill), "{findings:#?}");
    for found in &findings {
        let has_advice = found["advice"].is_string();
        assert!(found["level"] == "ok" || has_advice, "{found}");
    }
    Ok(Report { findings, is_ill })
}

/// Runs doctor as a user without any right on the installation.
fn of_stranger(
    installation: &Installation,
    variables: Vec<(String, String)>,
) -> anyhow::Result<Report> {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", "54321", "--regid", "54321", "--clear-groups"])
        .arg(installation.program());
    command.envs(variables);
    report(command, installation, Some(&installation.token), &[])
}

/// A server whose responses have this `Date`.
fn server_with_date(date: &'static str) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request);
            let answer = format!("HTTP/1.1 204 No Content\r\nDate: {date}\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Ok(url)
}

/// A TLS server for `localhost` with an expired certificate.
fn server_with_expired_certificate() -> anyhow::Result<String> {
    let key = PrivateKeyDer::try_from(KEY).map_err(anyhow::Error::msg)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(LEAF)], key.clone_key())?;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("https://localhost:{}", listener.local_addr()?.port());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let Ok(mut tls) = rustls::ServerConnection::new(config.clone()) else {
                return;
            };
            while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
        }
    });
    Ok(url)
}

/// A port on which nothing listens.
fn closed_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn set(installation: &mut Installation, name: &str, value: impl Into<String>) {
    let variable = format!("SWITCHYARD_{name}");
    installation.environment.push((variable, value.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_is_examined_with_and_without_a_token_and_a_server() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let url = format!("http://localhost:{}", installation.port);
    set(&mut installation, "SERVER__PUBLIC_URL", url);
    let stopped = doctor(&installation, None, &[])?;
    assert!(stopped.is_ill);
    assert!(
        stopped.has("server", "problem: No server answers"),
        "{:?}",
        stopped.of("server")
    );
    for check in [
        "queues",
        "cases",
        "hold",
        "gateways",
        "files",
        "public api",
        "clock",
    ] {
        assert!(
            stopped.has(check, "unknown: Not seen"),
            "{check}: {:?}",
            stopped.of(check)
        );
    }
    assert!(
        stopped.has("settings", "ok"),
        "{:?}",
        stopped.of("settings")
    );

    installation.up().await?;
    let token = installation.token.clone();
    let seen = doctor(&installation, Some(&token), &[])?;
    for (check, beginning) in [
        ("settings", "ok"),
        ("server", "ok: It answers at http://127.0.0.1:"),
        ("queues", "ok: 0 webhooks and 0 mails wait"),
        ("cases", "ok: No case is open"),
        ("hold", "ok"),
        (
            "gateways",
            "warning: 5 files wait for consent: libgateway_crypto_evm.so, libgateway_demo.so, ",
        ),
        ("files", "ok"),
        ("dns", "ok: localhost is"),
        ("public api", "ok"),
        ("backup", "warning: No scheduled backup"),
        ("mail", "warning: mail.smtp_url is not set"),
        ("clock", "unknown: Not seen: localhost: it is this machine"),
    ] {
        assert!(seen.has(check, beginning), "{check}: {:?}", seen.of(check));
    }
    assert!(!seen.of("kernel").is_empty() && !seen.of("disk").is_empty());

    let without_token = doctor(&installation, None, &[])?;
    for (check, beginning) in [
        ("server", "ok"),
        ("hold", "ok"),
        ("queues", "unknown: Not seen: no operator token"),
        ("gateways", "unknown: Not seen: no operator token"),
    ] {
        let found = without_token.of(check);
        assert!(without_token.has(check, beginning), "{check}: {found:?}");
    }
    let wrong = doctor(&installation, Some("switchyard_op_nonsense"), &[])?;
    assert!(wrong.has("queues", "unknown: Not seen: the server refuses the token"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_around_a_running_server_are_problems_with_advice() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let backups = installation
        .folder
        .path()
        .join("var/lib/switchyard/backups");
    set(
        &mut installation,
        "STORE__BACKUP_TO",
        backups.display().to_string(),
    );
    set(&mut installation, "STORE__RESERVE", "1000000GiB");
    set(&mut installation, "STORE__PUBLIC_KEY_RESERVE", "1000000GiB");
    set(
        &mut installation,
        "SERVER__PUBLIC_URL",
        server_with_expired_certificate()?,
    );
    let smtp = format!("smtp://127.0.0.1:{}", closed_port()?);
    set(&mut installation, "MAIL__SMTP_URL", smtp);
    installation.up().await?;
    let backup = eventually("the first backup", Duration::from_secs(60), async || {
        Ok(first_backup(&backups))
    })
    .await?;
    // As if the server had made none since.
    fs::rename(&backup, backups.join("2025-01-02T03-04-05Z"))?;
    let time = server_with_date("Sun, 06 Nov 2033 08:49:37 GMT")?;
    let token = installation.token.clone();
    let seen = doctor(&installation, Some(&token), &["--time-source", &time])?;
    assert!(seen.is_ill);
    for (check, beginning) in [
        ("disk", "problem: "),
        (
            "server",
            "warning: The server says of its disk: less than store.reserve is free",
        ),
        (
            "certificate",
            "problem: The certificate of localhost: it expired ",
        ),
        ("mail", "problem: 127.0.0.1 takes no mails: "),
        ("clock", "problem: The clock is "),
        ("backup", "problem: The last backup is "),
    ] {
        assert!(seen.has(check, beginning), "{check}: {:?}", seen.of(check));
    }
    assert!(
        seen.of("clock")[0].contains("behind"),
        "{:?}",
        seen.of("clock")
    );
    Ok(())
}

/// The only backup in a folder, once it is whole.
fn first_backup(folder: &Path) -> Option<std::path::PathBuf> {
    let mut entries = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    entries.find(|path| path.extension().is_none() && path.join("backup.json").exists())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_rights_the_server_is_examined_and_the_rest_is_unknown() -> anyhow::Result<()> {
    if !is_root() {
        // Another user takes root to become.
        return Ok(());
    }
    let mut installation = Installation::follow()?;
    installation.up().await?;
    let seen = of_stranger(&installation, installation.variables())?;
    let file = seen.of("settings");
    assert!(
        file[0].starts_with("unknown: ") && file[0].contains("cannot be read: Permission denied"),
        "{file:?}"
    );
    assert!(seen.has("server", "ok"), "{:?}", seen.of("server"));
    assert!(seen.has("queues", "ok"), "{:?}", seen.of("queues"));
    for check in ["disk", "backup", "clock", "mail"] {
        assert!(seen.has(check, "unknown: Not seen"), "{check}");
    }

    // The address is in the file that this user may not read. At the default one nobody listens,
    // or a server that is none of ours.
    let blind = of_stranger(&installation, Vec::new())?;
    let server = blind.of("server");
    assert!(
        !blind.has("server", "problem: No server answers"),
        "{server:?}"
    );
    assert!(blind.has("settings", "unknown: Not seen"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_api_on_the_public_listener_is_a_problem() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    installation.admin_port = installation.port;
    let url = format!("http://localhost:{}", installation.port);
    set(&mut installation, "SERVER__PUBLIC_URL", url);
    installation.up().await?;
    let token = installation.token.clone();
    let seen = doctor(&installation, Some(&token), &[])?;
    assert!(
        seen.has("public api", "problem: http://127.0.0.1:"),
        "{:?}",
        seen.of("public api")
    );
    Ok(())
}
