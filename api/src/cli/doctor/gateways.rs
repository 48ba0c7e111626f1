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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::report::Level;

    fn found(gateway: Value) -> Finding {
        let mut server = Server::with_metrics("");
        server.gateways = Ok(vec![serde_json::from_value(gateway).unwrap()]);
        let mut findings = check(&server);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    fn summary() -> Value {
        json!({
            "name": "acme", "state": "serving", "running_calls": 0, "version_count": 1,
            "open_attempts": { "count": 0, "is_at_least": false }, "serves_any_method": false,
        })
    }

    #[test]
    fn a_gateway_in_quarantine_is_a_problem_and_a_waiting_upgrade_a_warning() {
        assert_eq!(found(summary()).level, Level::Ok);
        let at = "2026-03-01T12:00:00.000Z";
        let mut ill = summary();
        ill["state"] = json!("quarantined");
        ill["quarantine"] =
            json!({ "reason": "It panicked five times.", "at": at, "by": "engine" });
        let ill = found(ill);
        assert_eq!(ill.level, Level::Problem);
        assert_eq!(
            ill.message,
            "acme is in quarantine: It panicked five times."
        );
        let mut waits = summary();
        waits["awaiting_approval"] = json!({
            "sha256": "ab", "version": "1.1.0", "title": "Acme",
            "consent": { "how": "asked", "by": "ada", "at": at, "source": "upload" },
            "widens": { "hosts": { "sandbox": [], "live": ["api.acme.example"] } },
        });
        assert_eq!(found(waits).level, Level::Warning);
    }

    #[test]
    fn without_a_gateway_no_payment_can_be_made() {
        let findings = check(&Server::with_metrics(""));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].level, Level::Warning);
    }
}
