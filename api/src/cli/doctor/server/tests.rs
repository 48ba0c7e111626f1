//! Findings about a running server, by what it answers.

use super::*;

fn level_of(findings: &[Finding]) -> Level {
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings[0].level
}

#[test]
fn a_webhook_or_mail_that_is_due_for_more_than_an_hour_is_a_warning() {
    for kind in ["webhook", "mail"] {
        let queues = |seconds: u32| {
            let metrics = format!(
                "switchyard_outbox_depth{{kind=\"{kind}\"}} 3\n\
                 switchyard_outbox_oldest_seconds{{kind=\"{kind}\"}} {seconds}\n"
            );
            Server::with_metrics(&metrics).queues()
        };
        assert_eq!(level_of(&queues(3_600)), Level::Ok);
        let late = queues(7_200);
        assert_eq!(level_of(&late), Level::Warning);
        let message = format!("3 {kind}s wait; the oldest is due since 2 hours.");
        assert_eq!(late[0].message, message);
        assert!(late[0].advice.is_some());
    }
}

#[test]
fn commits_that_wait_for_the_store_are_a_problem_from_the_limit_of_the_alert_on() {
    let queues = |commits: u32| {
        Server::with_metrics(&format!("switchyard_store_queue {commits}\n")).queues()
    };
    assert_eq!(level_of(&queues(1_024)), Level::Ok);
    let long = queues(1_025);
    assert_eq!(level_of(&long), Level::Problem);
    assert_eq!(long[0].message, "1025 commits wait for the store.");
}

#[test]
fn open_files_are_judged_by_their_share_of_the_limit_and_a_low_limit_is_a_warning() {
    for (open, most, level) in [
        (8_000, 10_000, Level::Ok),
        (8_001, 10_000, Level::Warning),
        (9_501, 10_000, Level::Problem),
        (10, 8_192, Level::Ok),
        (10, 8_191, Level::Warning),
        (10, 0, Level::Ok),
    ] {
        let metrics = format!("process_open_fds {open}\nprocess_max_fds {most}\n");
        let found = Server::with_metrics(&metrics).descriptors();
        assert_eq!(found.level, level, "{found:?}");
    }
    let unseen = Server::with_metrics("process_open_fds 10\n").descriptors();
    assert_eq!(unseen.level, Level::Unknown, "{unseen:?}");
}

#[test]
fn open_cases_are_a_warning() {
    let cases =
        |open: u32| Server::with_metrics(&format!("switchyard_cases_open {open}\n")).cases();
    assert_eq!(cases(0).level, Level::Ok);
    assert_eq!(cases(2).level, Level::Warning);
    assert_eq!(cases(2).message, "2 open cases wait for a decision.");
    assert_eq!(Server::with_metrics("").cases().level, Level::Unknown);
}

#[test]
fn a_held_store_is_a_problem_and_unknown_without_a_server() {
    let mut server = Server::with_metrics("");
    assert_eq!(server.hold().level, Level::Ok);
    if let Ok(ready) = &mut server.ready {
        ready.held = true;
    }
    assert_eq!(server.hold().level, Level::Problem);
    let silent = Server::silent(Address::known("http://localhost"), "no answer");
    assert_eq!(silent.hold().level, Level::Unknown);
}

#[test]
fn a_failed_check_is_a_warning_while_the_server_is_ready_and_a_problem_otherwise() {
    for (status, level) in [("ready", Level::Warning), ("unready", Level::Problem)] {
        for (check, _) in CHECKS {
            let mut server = Server::with_metrics("");
            if let Ok(ready) = &mut server.ready {
                ready.status = status.to_owned();
                ready
                    .checks
                    .insert((*check).to_owned(), "it hangs".to_owned());
            }
            let found = server.readiness();
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!(found[1].level, level, "{found:?}");
            assert_eq!(
                found[1].message,
                format!("The server says of its {check}: it hangs.")
            );
        }
    }
}

#[test]
fn a_silent_server_is_a_problem_unless_its_address_is_only_assumed() {
    for (is_assumed, level) in [(false, Level::Problem), (true, Level::Unknown)] {
        let url = "http://127.0.0.1:8081".to_owned();
        let silent = Server::silent(Address { url, is_assumed }, "connection refused");
        let found = silent.readiness();
        assert_eq!(level_of(&found), level);
        assert!(found[0].message.contains("127.0.0.1:8081"), "{found:?}");
    }
}

/// Texts in back ticks that begin so.
fn named(source: &str, beginning: &str) -> Vec<String> {
    let quoted = source.split('`').skip(1).step_by(2);
    let quoted = quoted.filter(|text| text.starts_with(beginning));
    quoted.map(str::to_owned).collect()
}

#[test]
fn events_of_the_log_and_alerts_that_doctor_names_exist() {
    let events = include_str!("../../../../../docs/reference/log-events.md");
    let alerts = include_str!("../../../../../ops/prometheus/alerts.yml");
    let (mut event_count, mut alert_count) = (0, 0);
    for source in [include_str!("../server.rs"), include_str!("../local.rs")] {
        for event in named(source, "failed to ") {
            assert!(events.contains(&format!("| `{event}` |")), "{event}");
            event_count += 1;
        }
        for rest in source.split("the alert ").skip(1) {
            let alert = rest.split('.').next().unwrap_or_default();
            assert!(alerts.contains(&format!("alert: {alert}\n")), "{alert}");
            alert_count += 1;
        }
    }
    assert!(event_count >= 3 && alert_count >= 3, "the names are read");
}
