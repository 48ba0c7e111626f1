//! Findings about names, certificates, mail and the public listener.

use std::time::Duration;

use reqwest::StatusCode;
use switchyard_core::time::Timestamp;
use switchyard_engine::mail;
use switchyard_system::clock::Clock;
use switchyard_system::egress;
use switchyard_system::ids::Ids;
use url::Url;

use super::Finding;
use super::certificate::{CertificateFault, valid_until};
use super::server;
use crate::cli::init::reachable;
use crate::config::Settings;
use crate::serve::openid_provider;

/// The public URL: its name, its certificate, and whether it shows what is for operators only.
pub async fn public(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(url) = &settings.server.public_url else {
        findings.push(Finding::warning(
            "dns",
            "server.public_url is not set: payers are sent to the listen address.",
            "Set server.public_url to the https:// address of the proxy.",
        ));
        findings.push(closed(settings, None).await);
        return findings;
    };
    let host = host(url);
    let port = url.port_or_known_default().unwrap_or(443);
    let resolved = resolved(&host, port).await;
    let has_address = resolved.is_ok();
    findings.push(name("the public URL", &host, resolved));
    findings.push(match (url.scheme(), has_address) {
        ("https", true) => certificate(host, port).await,
        ("https", false) => Finding::unknown(
            "certificate",
            format!("Not seen: {host} has no address."),
            "Make a DNS record first.",
        ),
        _ => Finding::ok("certificate", format!("{url} needs none.")),
    });
    findings.push(closed(settings, has_address.then_some(url)).await);
    findings
}

/// The mail server: its name, and a connection without a mail.
pub async fn smtp(settings: &Settings) -> Vec<Finding> {
    let Some(smtp) = &settings.mail.smtp_url else {
        return match settings.development {
            true => vec![Finding::ok(
                "mail",
                "Development mode writes mails to files.",
            )],
            false => vec![Finding::warning(
                "mail",
                "mail.smtp_url is not set: no mails are sent.",
                "Set mail.smtp_url to your mail server.",
            )],
        };
    };
    let Ok(url) = Url::parse(smtp.expose()) else {
        return Vec::new(); // a problem of the settings, which are checked before
    };
    let host = host(&url);
    let port = url.port().unwrap_or(25);
    let resolved = resolved(&host, port).await;
    let has_address = resolved.is_ok();
    let mut findings = vec![name("mail.smtp_url", &host, resolved)];
    if !has_address {
        return findings;
    }
    findings.push(match mail::test_connection(smtp).await {
        Ok(()) => Finding::ok("mail", format!("{host} takes mails.")),
        Err(why) => Finding::problem(
            "mail",
            format!("{host} takes no mails: {}.", why.trim_end_matches('.')),
            "Check host, port, TLS and password of mail.smtp_url, and the firewall. Mails wait \
             until it works.",
        ),
    });
    findings
}

/// The OpenID Connect provider: its metadata and keys.
pub async fn openid(settings: &Settings) -> Option<Finding> {
    let check = "openid";
    let issuer = settings.openid.issuer.as_ref()?;
    // A fault of the settings or of the secret's file is a problem of theirs.
    let provider = openid_provider(settings, &Clock::wall(), &Ids::system());
    let provider = provider.ok().flatten()?;
    Some(match provider.check().await {
        Ok(()) => Finding::ok(check, format!("{issuer} answers with metadata and keys.")),
        Err(why) => Finding::problem(
            check,
            format!(
                "{issuer} cannot be used to sign in: {}.",
                why.trim_end_matches('.')
            ),
            "Compare openid.issuer with the issuer in the provider's metadata, and check the \
             firewall. Users sign in with their passwords until it works.",
        ),
    })
}

async fn resolved(host: &str, port: u16) -> Result<Vec<String>, String> {
    let lookup = tokio::time::timeout(LOOKUP_TIMEOUT, tokio::net::lookup_host((host, port)));
    let addresses = lookup.await.map_err(|_| "the name servers do not answer")?;
    let addresses = addresses.map_err(|error| error.to_string())?;
    let addresses: Vec<String> = addresses.map(|address| address.ip().to_string()).collect();
    match addresses.is_empty() {
        true => Err("it has no address".to_owned()),
        false => Ok(addresses),
    }
}

fn name(of: &str, host: &str, resolved: Result<Vec<String>, String>) -> Finding {
    match resolved {
        Ok(addresses) => Finding::ok("dns", format!("{host} is {}.", addresses.join(", "))),
        Err(why) => Finding::problem(
            "dns",
            format!("{host}, the host of {of}, cannot be resolved: {why}."),
            "Make a DNS record for it, or correct the setting; check /etc/resolv.conf.",
        ),
    }
}

async fn certificate(host: String, port: u16) -> Finding {
    let check = "certificate";
    let now = Clock::wall().now();
    let asked = host.clone();
    let verified =
        tokio::task::spawn_blocking(move || valid_until(&asked, port, egress::roots(), now)).await;
    match verified {
        Ok(Ok(until)) => validity(&host, until, now),
        Ok(Err(CertificateFault::Connect(error))) => Finding::problem(
            check,
            format!("{host}:{port} takes no TLS connection: {error}."),
            "Start the proxy, and let it terminate TLS for this name.",
        ),
        Ok(Err(fault)) => {
            Finding::problem(check, format!("The certificate of {host}: {fault}."), RENEW)
        }
        Err(error) => Finding::unknown(check, format!("Not seen: {error}."), RENEW),
    }
}

/// A certificate that clients trust now, by the time that is left.
fn validity(host: &str, until: Timestamp, now: Timestamp) -> Finding {
    let check = "certificate";
    let days = until.since(now).as_secs() / 86_400;
    let message = format!("The certificate of {host} is valid for {days} more days.");
    match days {
        0..3 => Finding::problem(check, message, RENEW),
        3..14 => Finding::warning(check, message, RENEW),
        _ => Finding::ok(check, message),
    }
}

/// Whether the public listener shows the operator API or the metrics, directly or by its URL.
async fn closed(settings: &Settings, url: Option<&Url>) -> Finding {
    let check = "public api";
    if settings.development {
        return Finding::ok(check, "Development mode serves everything on loopback.");
    }
    let listener = format!("http://{}", reachable(settings.server.listen));
    let public = url.map(|url| url.as_str().trim_end_matches('/').to_owned());
    let bases: Vec<String> = [Some(listener), public].into_iter().flatten().collect();
    let mut seen = 0;
    for base in &bases {
        for path in ["/operator/v1/tokens", "/metrics"] {
            match is_open(&format!("{base}{path}")).await {
                Ok(true) => {
                    return Finding::problem(
                        check,
                        format!("{base}{path} is reachable: it is for operators only."),
                        "Let the proxy lead to server.listen only, and give server.admin_listen \
                         an address that is not public. ops/proxy has configurations.",
                    );
                }
                Ok(false) => seen += 1,
                Err(_) => {}
            }
        }
    }
    match seen {
        0 => Finding::unknown(
            check,
            format!("Not seen: {} does not answer.", bases.join(" and ")),
            "Start the server and the proxy.",
        ),
        _ => Finding::ok(
            check,
            "The operator API and the metrics are closed to the public.",
        ),
    }
}

/// Whether this server's operator API or metrics answer at a URL, if only to ask for a token. The
/// response of a proxy with a page or a password of its own is none of them.
async fn is_open(url: &str) -> Result<bool, String> {
    let answer = server::http()?.get(url).send().await;
    let answer = answer.map_err(|error| server::reason(&error))?;
    let status = answer.status();
    let body = answer
        .text()
        .await
        .map_err(|error| server::reason(&error))?;
    // A refusal of this server has a list of errors.
    #[derive(serde::Deserialize)]
    struct Refusal {
        #[serde(rename = "errors")]
        _errors: Vec<serde::de::IgnoredAny>,
    }
    let is_refusal = serde_json::from_str::<Refusal>(&body).is_ok();
    Ok(match status {
        StatusCode::UNAUTHORIZED => is_refusal || body.contains("metrics.tokens"),
        StatusCode::OK => body.contains("switchyard_build_info"),
        _ => false,
    })
}

/// The host of a URL, without the brackets of an IPv6 address.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    host.trim_matches(['[', ']']).to_owned()
}

const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
const RENEW: &str = "Renew it, and check that the proxy reloads it (`certbot renew`, Caddy's log).";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::Level;

    #[test]
    fn a_certificate_that_ends_soon_is_a_warning_and_in_the_last_days_a_problem() {
        let now = Timestamp::parse("2026-03-01T12:00:00Z").unwrap();
        for (until, level) in [
            ("2026-03-01T13:00:00Z", Level::Problem),
            ("2026-03-04T11:59:59Z", Level::Problem),
            ("2026-03-04T12:00:00Z", Level::Warning),
            ("2026-03-15T11:59:59Z", Level::Warning),
            ("2026-03-15T12:00:00Z", Level::Ok),
        ] {
            let found = validity("pay.example.com", Timestamp::parse(until).unwrap(), now);
            assert_eq!(found.level, level, "{until}: {found:?}");
            assert!(found.message.contains("pay.example.com"), "{found:?}");
        }
    }

    #[tokio::test]
    async fn a_name_without_an_address_is_a_problem_that_names_the_setting() {
        // No name under .invalid has an address (RFC 6761).
        let host = "pay.switchyard.invalid";
        let found = name("mail.smtp_url", host, resolved(host, 25).await);
        assert_eq!(found.level, Level::Problem, "{found:?}");
        let beginning = format!("{host}, the host of mail.smtp_url, cannot be resolved: ");
        assert!(found.message.starts_with(&beginning), "{found:?}");
        let found = name(
            "mail.smtp_url",
            "localhost",
            resolved("localhost", 25).await,
        );
        assert_eq!(found.level, Level::Ok, "{found:?}");
    }
}
