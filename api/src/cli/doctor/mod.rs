//! `switchyard doctor`: examines an installation, running or stopped, and changes nothing.
//!
//! Every check gives a finding. A check that this user, or this machine, cannot make is `unknown`
//! with the reason, and stops no other check.

mod certificate;
mod clock;
mod gateways;
mod local;
mod metrics;
mod network;
mod server;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use switchyard_core::secret::Secret;
use switchyard_progress::Progress;
use url::Url;

use self::server::{Address, Server};
use super::client::{Development, Target};
use super::init::reachable;
use super::output::{print, visible};
use super::report::{Level, ReportLine, Style, rows, sum};
use super::store::Installation;
use crate::config::{Examined, Settings};
use crate::serve::examine;

/// Arguments of `switchyard doctor`.
#[derive(Args)]
pub struct Doctor {
    #[command(flatten)]
    installation: Installation,
    /// URL of a server whose clock is right, to compare this machine's with [default: hosts of
    /// gateways, the rate feed, the public URL]
    #[arg(long, value_name = "URL")]
    time_source: Option<Url>,
}

pub const EXAMPLE: &str = "\
Example:
  switchyard doctor --config /etc/switchyard/switchyard.toml --token <operator token>

--url is the operators' listener of the settings unless you name another. Without a token, without
rights or without a running server the checks that need them are `unknown`. Exit code 1: there is a
problem.";

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    check: &'static str,
    level: Level,
    /// One sentence.
    message: String,
    /// Advice to the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            level: Level::Ok,
            message: message.into(),
            advice: None,
        }
    }

    fn new(
        level: Level,
        check: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            check,
            level,
            message: message.into(),
            advice: Some(advice.into()),
        }
    }

    fn warning(check: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Level::Warning, check, message, advice)
    }

    fn problem(check: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Level::Problem, check, message, advice)
    }

    fn unknown(check: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Level::Unknown, check, message, advice)
    }
}

impl Doctor {
    pub async fn run(self, target: &Target) -> ExitCode {
        let source = self.installation.source();
        let examined = examine(&source);
        let file = source.file.as_ref().map(|file| file.display().to_string());
        let mut findings = vec![local::settings(&examined, file.as_deref())];
        let progress = Progress::waiting("examine the server");
        let settings = &examined.settings;
        let address = address(&examined, target);
        let server = Server::observe(address, token(settings, target)).await;
        findings.extend(self.of_server(&server));
        findings.push(local::kernel(settings).await);
        progress.name("examine the disk, the clock, names and mail");
        match examined.is_complete() {
            true => findings.extend(self.of_settings(settings, &server).await),
            false => findings.extend(OF_SETTINGS.map(|check| {
                let message = "Not seen: the settings cannot be read completely.";
                let advice = match examined.is_closed() {
                    true => AS_SERVER,
                    false => "Correct the problem of the settings first.",
                };
                Finding::unknown(check, message, advice)
            })),
        }
        drop(progress);
        let is_ill = findings
            .iter()
            .any(|finding| finding.level == Level::Problem);
        let shown = match target.json {
            true => as_json(&findings),
            false => as_text(&findings, Style::of_stdout()),
        };
        match print(&shown) {
            Ok(()) if is_ill => ExitCode::FAILURE,
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => super::failed(&error.into()),
        }
    }

    /// Checks of a running server.
    fn of_server(&self, server: &Server) -> Vec<Finding> {
        let mut findings = server.readiness();
        findings.push(server.hold());
        findings.extend(server.queues());
        findings.push(server.cases());
        findings.push(server.descriptors());
        findings.extend(gateways::check(server));
        findings
    }

    /// Checks of what the settings name.
    async fn of_settings(&self, settings: &Settings, server: &Server) -> Vec<Finding> {
        let mut findings = local::disk(settings, server);
        findings.extend(local::backups(settings, server));
        let hosts = gateways::hosts(server);
        let (clock, public, smtp, openid) = tokio::join!(
            clock::check(self.time_source.as_ref(), settings, &hosts),
            network::public(settings),
            network::smtp(settings),
            network::openid(settings),
        );
        findings.push(clock);
        findings.extend(public);
        findings.extend(smtp);
        findings.extend(openid);
        findings
    }
}

/// Advice on what this user may not read.
const AS_SERVER: &str = "Run doctor as the user that runs the server.";
/// Checks that need complete settings.
const OF_SETTINGS: [&str; 7] = [
    "disk",
    "backup",
    "clock",
    "dns",
    "public api",
    "mail",
    "openid",
];

/// Address of the operators' listener: that of the command line, or of the settings. Settings that
/// this user may not read may have another one than the default.
fn address(examined: &Examined, target: &Target) -> Address {
    if let Some(url) = target.url() {
        return Address::known(url);
    }
    let settings = &examined.settings;
    let address = settings.admin_listen().unwrap_or(settings.server.listen);
    Address {
        url: format!("http://{}", reachable(address)),
        is_assumed: examined.is_closed() && settings.server.admin_listen.is_none(),
    }
}

/// The operator token: that of the command line, or of a development server on this machine.
fn token(settings: &Settings, target: &Target) -> Option<Secret<String>> {
    let of_development = || {
        let text = std::fs::read(settings.data.dir.join("dev.json")).ok()?;
        let known: Development = serde_json::from_slice(&text).ok()?;
        Some(known.operator_token)
    };
    match settings.development {
        true => target.token().or_else(of_development),
        false => target.token(),
    }
}

fn as_text(findings: &[Finding], style: Style) -> String {
    let texts: Vec<(String, Option<String>)> = findings
        .iter()
        .map(|found| {
            (
                visible(&found.message),
                found.advice.as_deref().map(visible),
            )
        })
        .collect();
    let mut last_advice = None;
    let lines: Vec<ReportLine> = findings
        .iter()
        .zip(&texts)
        .map(|(found, (text, advice))| {
            // The same advice for one check after another is shown once.
            let is_repeated = advice.is_some() && last_advice.replace(advice) == Some(advice);
            ReportLine {
                level: found.level,
                title: found.check,
                text,
                advice: advice.as_deref().filter(|_| !is_repeated),
            }
        })
        .collect();
    let sum = sum(findings.iter().map(|found| found.level));
    format!(
        "{}\n{} checks: {sum}\n",
        rows(&lines, style),
        findings.len()
    )
}

fn as_json(findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|found| found.level == level).count();
    let report = json!({
        "problems": count(Level::Problem),
        "warnings": count(Level::Warning),
        "unknown": count(Level::Unknown),
        "findings": findings,
    });
    format!("{report:#}\n")
}
