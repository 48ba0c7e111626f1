//! Gateways as text for the terminal.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::output::{Column, aligned, cell, visible};
use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::gateways::{
    Awaiting, CandidateFile, CandidateStatus, Count, Gateway, GatewayChange, GatewayState,
    GatewaySummary, GatewayVersion, Hosts, Proposal, Quarantine, Replaced, Widening,
};

#[cfg(test)]
pub mod tests;

/// Formats all gateways, one per line.
pub fn gateways(list: &[GatewaySummary]) -> String {
    match list.is_empty() {
        true => "No gateway is installed yet: `switchyard gateway add FILE.so`.\n".to_owned(),
        false => aligned(list, GATEWAYS),
    }
}

/// Formats the files of the folder that are incomplete, missing, refused or awaiting consent.
pub fn files(list: &[CandidateFile]) -> String {
    let lines: Vec<String> = list.iter().filter_map(file).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nIn the folder:\n{}", lines.concat()),
    }
}

fn file(file: &CandidateFile) -> Option<String> {
    let state = match file.status {
        CandidateStatus::Settling => "is still being copied".to_owned(),
        CandidateStatus::Gone => {
            "is gone; its gateway goes on from the engine's own copy".to_owned()
        }
        CandidateStatus::Refused => format!("is refused: {}", cell(&file.why)),
        CandidateStatus::AwaitingConsent => {
            let proposal = file.proposal.as_ref()?;
            let hosts: Vec<String> = by_environment(&proposal.hosts)
                .map(|(environment, hosts)| format!("\n    {environment:<8}{}", joined(hosts)))
                .collect();
            format!(
                "{} {} awaits consent; it would talk to{}\n    switchyard gateway add {}",
                visible(&proposal.name),
                visible(&proposal.version),
                hosts.concat(),
                cell(&file.sha256)
            )
        }
        CandidateStatus::Taken => return None,
    };
    Some(format!("  {}  {state}\n", visible(&file.file)))
}

/// Formats one gateway: its state, versions and history.
pub fn gateway(gateway: &Gateway) -> String {
    let summary = &gateway.summary;
    let name = visible(&summary.name);
    let mut text = format!("{name}: {}\n", cell(&summary.title));
    let (state, left) = (cell(&summary.state), left(summary));
    text.push_str(&match &summary.version {
        Some(version) => format!("{state} at {}, {left}\n", visible(version)),
        None => format!("{state}, {left}\n"),
    });
    if let Some(Quarantine { reason, at, by }) = &summary.quarantine {
        text.push_str(&format!(
            "In quarantine since {} by {}: {}\n\
             To bring it back: switchyard gateway restore {name}\n",
            moment(*at),
            visible(by),
            visible(reason)
        ));
    }
    if let Some(waiting) = &summary.awaiting_approval {
        text.push_str(&awaiting(&name, waiting));
    }
    if let GatewayState::Draining | GatewayState::Drained | GatewayState::Removed = summary.state {
        text.push_str(&format!(
            "To have it serve again: switchyard gateway restore {name}\n"
        ));
    }
    text.push_str(&format!("\n{}", aligned(&gateway.versions, VERSIONS)));
    for version in &gateway.versions {
        if let Some(why) = &version.last_worker_death {
            let (version, why) = (visible(&version.version), visible(why));
            text.push_str(&format!("last worker of {version} that died: {why}\n"));
        }
    }
    if let Some(granted) = &summary.hosts {
        text.push_str(&hosts(granted));
    }
    text.push_str(&credentials(summary.config.as_ref()));
    text.push_str(&history(&gateway.changes));
    text
}

fn hosts(hosts: &Hosts) -> String {
    let mut text = String::new();
    for (environment, hosts) in by_environment(hosts) {
        if !hosts.is_empty() {
            text.push_str(&format!("\nhosts in {environment:<8} {}", joined(hosts)));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn history(changes: &[GatewayChange]) -> String {
    let mut text = "\nHistory, the latest first\n".to_owned();
    for change in changes.iter().take(HISTORY) {
        let why = match &change.why {
            Some(why) => format!(": {}", visible(why)),
            None => String::new(),
        };
        text.push_str(&format!(
            "  {}  {:<12} {:<10} {:<12}  by {}{why}\n",
            moment(change.at),
            change.what.as_str(),
            cell(&change.version),
            short(change.sha256.as_deref()),
            visible(&change.by)
        ));
    }
    if changes.len() > HISTORY {
        text.push_str(&format!("  and {} before\n", changes.len() - HISTORY));
    }
    text
}

/// Formats an upgrade that awaits a second operator, with its additional hosts and its source.
fn awaiting(gateway: &str, waiting: &Awaiting) -> String {
    let consent = &waiting.consent;
    let mut text = format!(
        "\nNot in use yet: {} ({}) awaits the approval of a second operator since {}, added by {}\n",
        visible(&waiting.version),
        short(Some(&waiting.sha256)),
        moment(consent.at),
        visible(&consent.by)
    );
    text.push_str(&widened(&waiting.widens, consent.source.as_str()));
    text.push_str(&format!(
        "  switchyard gateway approve {gateway} {}\n",
        visible(&waiting.sha256)
    ));
    text
}

/// Formats the hosts and the source of an upgrade that differ from those of the current version.
fn widened(widens: &Widening, source: &str) -> String {
    let mut text = String::new();
    for (environment, hosts) in by_environment(&widens.hosts) {
        if !hosts.is_empty() {
            let hosts = joined(hosts);
            text.push_str(&format!("  new hosts in {environment:<8} {hosts}\n"));
        }
    }
    if let Some(used) = widens.source_in_use {
        let used = used.as_str();
        text.push_str(&format!("  source {source}, the version in use: {used}\n"));
    }
    text
}

/// Formats the credentials that a connection needs, as `--credential NAME=VALUE`.
fn credentials(schema: Option<&Value>) -> String {
    let schema: Schema = schema
        .map(Schema::deserialize)
        .and_then(Result::ok)
        .unwrap_or_default();
    if schema.properties.is_empty() {
        return String::new();
    }
    let mut text = "\nA connection gives it\n".to_owned();
    for (name, field) in &schema.properties {
        let mut marks = vec![match schema.required.contains(name) {
            true => "required",
            false => "optional",
        }];
        if field.write_only {
            marks.push("secret");
        }
        let (title, marks) = (field.title.as_ref().unwrap_or(name), marks.join(", "));
        let (name, title) = (visible(name), visible(title));
        text.push_str(&format!("  {name:<18} {title} ({marks})\n"));
    }
    text
}

/// Part of the JSON schema of a connection's configuration.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    required: Vec<String>,
    properties: BTreeMap<String, Property>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Property {
    title: Option<String>,
    write_only: bool,
}

/// Formats the running calls and open attempts: `2 calls running, 14 attempts open`.
pub fn left(gateway: &GatewaySummary) -> String {
    let (calls, open) = (gateway.running_calls, gateway.open_attempts);
    format!(
        "{calls} {} running, {} {} open",
        if calls == 1 { "call" } else { "calls" },
        counted(open),
        if open.count == 1 {
            "attempt"
        } else {
            "attempts"
        }
    )
}

/// Formats the manifest of a file and the changes of its installation.
pub fn proposal(proposal: &Proposal) -> String {
    let mut text = format!(
        "{} {}: {}\n",
        visible(&proposal.name),
        visible(&proposal.version),
        visible(&proposal.title)
    );
    if !proposal.description.is_empty() {
        text.push_str(&format!("{}\n", visible(&proposal.description)));
    }
    let mut row = |name: &str, value: &str| text.push_str(&format!("\n  {name:<15}{value}"));
    row("SHA-256", &visible(&proposal.sha256));
    row("size", &size(proposal.bytes as u64));
    row("methods", &methods(proposal));
    let operations = proposal
        .operations
        .iter()
        .map(|one| one.as_str().to_owned());
    row("operations", &joined(&operations.collect::<Vec<_>>()));
    row("runs", "in a process of its own, without network and files");
    row("live hosts", &joined(&proposal.hosts.live));
    row("sandbox hosts", &joined(&proposal.hosts.sandbox));
    let is_current = |replaced: &&Replaced| replaced.sha256 == proposal.sha256;
    let replaced = proposal.replaces.as_ref();
    match (replaced.filter(is_current), proposal.is_known) {
        (Some(_), _) => row("known", "it is this gateway's current version"),
        (None, true) => row("known", "it is one of this gateway's versions already"),
        (None, false) => {}
    }
    if let Some(replaced) = replaced.filter(|replaced| !is_current(replaced)) {
        let (version, hash) = (visible(&replaced.version), short(Some(&replaced.sha256)));
        row("replaces", &format!("{version} ({hash})"));
        let new = &replaced.new_hosts;
        let hosts = [new.live.as_slice(), new.sandbox.as_slice()].concat();
        if !hosts.is_empty() {
            row("new hosts", &joined(&hosts));
        }
    }
    let consent = match proposal.needs_consent {
        false => "not needed: the hash is pinned, or this is development mode",
        true => "needed",
    };
    row("consent", consent);
    let approval = match &proposal.needs_approval {
        Some(_) => "needed: a second operator has to approve it (`switchyard gateway approve`)",
        None => "not needed",
    };
    row("approval", approval);
    text.push('\n');
    text
}

fn methods(proposal: &Proposal) -> String {
    let more = match proposal.serves_any_method {
        true => ", and every other: it is a test gateway",
        false => "",
    };
    let (payments, payouts) = (proposal.payment_methods, proposal.payout_methods);
    format!("{payments} for payments, {payouts} for payouts{more}")
}

fn consent(version: &GatewayVersion) -> String {
    let consent = &version.consent.consent;
    format!("{} by {}", visible(&consent.how), visible(&consent.by))
}

fn quarantine(quarantine: Option<&Quarantine>) -> String {
    cell(&quarantine.map(|quarantine| &quarantine.reason))
}

fn awaited(waiting: Option<&Awaiting>) -> String {
    let text = waiting.map(|waiting| {
        let (version, hash) = (visible(&waiting.version), short(Some(&waiting.sha256)));
        format!("{version} ({hash})")
    });
    cell(&text)
}

fn counted(Count { count, is_at_least }: Count) -> String {
    match is_at_least {
        true => format!("{count}+"),
        false => count.to_string(),
    }
}

/// First 12 digits of a hash, enough to identify a version.
fn short(sha256: Option<&str>) -> String {
    cell(&sha256).chars().take(12).collect()
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=99_999 => format!("{:>3} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Time with a precision of seconds.
fn moment(at: IsoTimestamp) -> String {
    let text: String = at.to_string().chars().take(19).collect();
    text.replace('T', " ")
}

fn joined(list: &[String]) -> String {
    match list.is_empty() {
        true => "none".to_owned(),
        false => cell(&list),
    }
}

fn by_environment(hosts: &Hosts) -> impl Iterator<Item = (&'static str, &[String])> {
    [("live", &*hosts.live), ("sandbox", &*hosts.sandbox)].into_iter()
}

const GATEWAYS: &[Column<GatewaySummary>] = &[
    ("name", |one| cell(&one.name)),
    ("version", |one| cell(&one.version)),
    ("state", |one| cell(&one.state)),
    ("calls", |one| cell(&one.running_calls)),
    ("open", |one| counted(one.open_attempts)),
    ("versions", |one| cell(&one.version_count)),
    ("sha256", |one| short(one.sha256.as_deref())),
    ("quarantine", |one| quarantine(one.quarantine.as_ref())),
    ("awaits approval", |one| {
        awaited(one.awaiting_approval.as_ref())
    }),
];

const VERSIONS: &[Column<GatewayVersion>] = &[
    ("", |one| {
        if one.is_current { "current" } else { "" }.to_owned()
    }),
    ("version", |one| cell(&one.version)),
    ("sha256", |one| short(Some(&one.sha256))),
    ("calls", |one| cell(&one.running_calls)),
    ("open", |one| counted(one.open_attempts)),
    ("size", |one| size(one.bytes)),
    ("consent", consent),
    ("quarantine", |one| quarantine(one.quarantine.as_ref())),
];

/// Number of changes shown; `--json` prints all.
const HISTORY: usize = 20;
