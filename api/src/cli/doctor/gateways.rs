//! Findings about gateways: files that wait for consent, upgrades that wait for approval,
//! quarantine.

use super::Finding;
use super::server::Server;
use crate::operator::contract::gateways::{CandidateFile, CandidateStatus, GatewayState};

pub fn check(server: &Server) -> Vec<Finding> {
    let check = "gateways";
    let (gateways, files) = match (&server.gateways, &server.candidates) {
        (Ok(gateways), Ok(files)) => (gateways, files),
        (Err(why), _) | (_, Err(why)) => return vec![Server::unseen(check, why)],
    };
    let mut findings = Vec::new();
    for gateway in gateways {
        let name = &gateway.name;
        if let Some(quarantine) = &gateway.quarantine {
            let reason = quarantine.reason.trim_end_matches('.');
            findings.push(Finding::problem(
                check,
                format!("{name} is in quarantine: {reason}."),
                format!("Find the cause, then `switchyard gateway restore {name}`."),
            ));
        }
        if gateway.awaiting_approval.is_some() {
            findings.push(Finding::warning(
                check,
                format!("An upgrade of {name} waits for a second operator."),
                format!("`switchyard gateway show {name}` shows it."),
            ));
        }
    }
    let waiting = of_status(files, CandidateStatus::AwaitingConsent);
    if !waiting.is_empty() {
        findings.push(Finding::warning(
            check,
            format!(
                "{} for consent: {}.",
                wait(waiting.len()),
                waiting.join(", ")
            ),
            "Read `switchyard gateway list`, then install one: `switchyard gateway add <SHA256>`.",
        ));
    }
    for file in of_status(files, CandidateStatus::Refused) {
        findings.push(Finding::warning(
            check,
            format!("The file {file} is refused."),
            "`switchyard gateway list` says why. Replace the file in gateways.dir.",
        ));
    }
    let serving = gateways
        .iter()
        .filter(|gateway| gateway.state == GatewayState::Serving)
        .count();
    match (findings.is_empty(), gateways.is_empty()) {
        (true, true) => findings.push(Finding::warning(
            check,
            "No gateway is installed: no payment can be made.",
            "Put one into gateways.dir, or use `switchyard gateway add FILE.so`.",
        )),
        (true, false) => findings.push(Finding::ok(
            check,
            format!(
                "{serving} of {} serve, none waits for consent.",
                gateways.len()
            ),
        )),
        _ => {}
    }
    findings
}

/// Names of the files with a status.
fn of_status(files: &[CandidateFile], status: CandidateStatus) -> Vec<&str> {
    let files = files.iter().filter(|file| file.status == status);
    files.map(|file| file.file.as_str()).collect()
}

fn wait(files: usize) -> String {
    match files {
        1 => "1 file waits".to_owned(),
        files => format!("{files} files wait"),
    }
}

/// Hosts to which gateways talk. A host that stands for several ones is left out.
pub fn hosts(server: &Server) -> Vec<String> {
    let gateways = server.gateways.as_deref().unwrap_or_default();
    let hosts = gateways.iter().flat_map(|gateway| &gateway.hosts);
    let hosts = hosts.flat_map(|hosts| hosts.live.iter().chain(&hosts.sandbox));
    let mut hosts: Vec<String> = hosts.filter(|host| !host.contains('*')).cloned().collect();
    hosts.dedup();
    hosts
}
