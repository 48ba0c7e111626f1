//! The configurations of nginx and Caddy in `ops/proxy`.
//!
//! `cargo xtask test` installs both programs. Elsewhere a program that is not there reads nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::ensure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
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

/// Checks a configuration as a part of `nginx.conf`, with the certificate of the tests. All else
/// that nginx writes is in the folder.
fn check_with_nginx(nginx: &Path, configuration: &str) -> anyhow::Result<Output> {
    let folder = TempDir::new()?;
    let at = folder.path().display();
    fs::write(
        folder.path().join("fullchain.pem"),
        pem("CERTIFICATE", CERTIFICATE),
    )?;
    fs::write(folder.path().join("privkey.pem"), pem("PRIVATE KEY", KEY))?;
    let writes = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let writes: String = writes
        .iter()
        .map(|name| format!("{name}_temp_path {at}/{name};\n"))
        .collect();
    let mut part = configuration.replace(CERTIFICATES, &at.to_string());
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        // nginx refuses an address of a protocol that the machine does not have.
        let lines = part.lines().filter(|line| !line.contains("listen [::]"));
        part = lines.collect::<Vec<_>>().join("\n");
    }
    let whole = folder.path().join("nginx.conf");
    fs::write(
        &whole,
        format!(
            "pid {at}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{writes}{part}}}\n"
        ),
    )?;
    Ok(Command::new(nginx)
        .arg("-t")
        .arg("-c")
        .arg(whole)
        .output()?)
}

fn check_with_caddy(caddy: &Path, configuration: &str) -> anyhow::Result<Output> {
    let folder = TempDir::new()?;
    let file = folder.path().join("Caddyfile");
    fs::write(&file, configuration)?;
    let mut validate = Command::new(caddy);
    validate.args(["validate", "--adapter", "caddyfile", "--config"]);
    validate.arg(file);
    for place in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        validate.env(place, folder.path());
    }
    Ok(validate.output()?)
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
