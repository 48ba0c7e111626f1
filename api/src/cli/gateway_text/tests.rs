//! Tests of the texts.

use serde_json::{Value, json};

use super::*;

const AT: &str = "2026-11-20T10:00:00.000042Z";

fn merged(mut one: Value, other: Value) -> Value {
    let fields = one.as_object_mut().unwrap();
    fields.extend(other.as_object().unwrap().clone());
    one
}

fn summary(more: Value) -> Value {
    let plain = json!({
        "name": "acme", "title": "Acme", "description": null, "state": "serving",
        "version": "2.0.0", "sha256": null, "quarantine": null, "awaiting_approval": null,
        "running_calls": 1, "open_attempts": { "count": 3, "is_at_least": false },
        "version_count": 0, "serves_any_method": false, "methods": null, "operations": null,
        "hosts": null, "config": null, "versions": [], "changes": [],
    });
    merged(plain, more)
}

fn read(more: Value) -> Gateway {
    serde_json::from_value(summary(more)).unwrap()
}

fn proposed(more: Value) -> Value {
    let plain = json!({
        "name": "acme", "version": "2.0.0", "title": "Acme", "description": "",
        "sha256": "c".repeat(64), "bytes": 9_000, "operations": ["collect"], "imports": 0,
        "hosts": { "live": ["api.acme.example", "new.acme.example"], "sandbox": [] },
        "payment_methods": 2, "payout_methods": 0, "serves_any_method": false,
        "is_known": false, "needs_consent": true, "needs_approval": null,
        "replaces": null,
    });
    merged(plain, more)
}

/// Gateway without versions.
pub fn gateway() -> Gateway {
    read(json!({}))
}

/// Upgrade that awaits approval.
pub fn awaiting(sha256: &str) -> Awaiting {
    let consent = json!({ "how": "asked", "by": "ada", "at": AT, "source": "upload" });
    let hosts = json!({ "live": ["evil.example"], "sandbox": [] });
    let widens = json!({ "hosts": hosts, "source_in_use": "listed" });
    let waiting = json!({
        "sha256": sha256, "version": "1.0.1", "title": "Acme", "consent": consent,
        "widens": widens,
    });
    serde_json::from_value(waiting).unwrap()
}

#[test]
fn an_upgrade_that_waits_is_told_with_what_it_would_get_more() {
    let mut waiting = gateway();
    waiting.summary.awaiting_approval = Some(awaiting(&"b".repeat(64)));
    let told = super::gateway(&waiting);
    let approve = format!("switchyard gateway approve acme {}", "b".repeat(64));
    for said in [
        "1.0.1 (bbbbbbbbbbbb) awaits the approval of a second operator",
        "added by ada",
        "new hosts in live     evil.example",
        "source upload, the version in use: listed",
        &approve,
    ] {
        assert!(told.contains(said), "{said}\n{told}");
    }
    let list = gateways(&[waiting.summary]);
    assert!(list.contains("1.0.1 (bbbbbbbbbbbb)"), "{list}");
}

#[test]
fn a_gateway_is_told_with_its_versions_side_by_side_and_what_was_done_to_it() {
    let version = |version: &str, hash: char, is_current: bool, open: u64| {
        json!({
            "version": version, "sha256": hash.to_string().repeat(64), "bytes": 1_234_567,
            "is_current": is_current, "is_loaded": true,
            "last_worker_death": null, "running_calls": 0,
            "open_attempts": { "count": open, "is_at_least": false },
            "hosts": { "live": [], "sandbox": [] }, "quarantine": null,
            "consent": {
                "how": "asked", "by": "ada", "at": AT, "source": "upload", "approved_by": null,
            },
        })
    };
    let properties = json!({
        "api_key": { "type": "string", "title": "API key", "writeOnly": true },
        "region": { "type": "string" },
    });
    let shown = super::gateway(&read(json!({
        "hosts": { "live": ["api.acme.example"], "sandbox": [] },
        "config": { "required": ["api_key"], "properties": properties },
        "versions": [version("2.0.0", 'b', true, 1), version("1.0.0", 'a', false, 2)],
        "changes": [{
            "at": AT, "what": "rolled_back", "version": "1.0.0", "sha256": "a".repeat(64),
            "by": "ada", "why": "slow",
        }],
    })));
    let expected = "\
acme: Acme
serving at 2.0.0, 1 call running, 3 attempts open

         VERSION  SHA256        CALLS  OPEN  SIZE    CONSENT       QUARANTINE
current  2.0.0    bbbbbbbbbbbb  0      1     1.2 MB  asked by ada  -
         1.0.0    aaaaaaaaaaaa  0      2     1.2 MB  asked by ada  -

hosts in live     api.acme.example

A connection gives it
  api_key            API key (required, secret)
  region             region (optional)

History, the latest first
  2026-11-20 10:00:00  rolled back  1.0.0      aaaaaaaaaaaa  by ada: slow
";
    assert_eq!(shown, expected);
}

#[test]
fn a_proposal_says_what_would_be_reached_anew() {
    let new_hosts = json!({ "live": ["new.acme.example"], "sandbox": [] });
    let replaced = json!({
        "version": "1.0.0", "sha256": "a".repeat(64), "new_hosts": new_hosts,
    });
    let read = serde_json::from_value(proposed(json!({ "replaces": replaced }))).unwrap();
    let told = proposal(&read);
    for said in [
        "2 for payments, 0 for payouts",
        "1.0.0 (aaaaaaaaaaaa)",
        "runs           in a process of its own",
        "new hosts      new.acme.example",
        "  9 kB",
    ] {
        assert!(told.contains(said), "{said}\n{told}");
    }
}

#[test]
fn the_list_tells_what_waits_in_the_folder_and_how_to_take_it() {
    let hosts = json!({ "live": ["api.acme.example"], "sandbox": [] });
    let proposal = proposed(json!({ "hosts": hosts }));
    let waiting = json!([
        { "file": "a.so", "status": "taken", "sha256": "a" },
        { "file": "b.so", "status": "refused", "sha256": null, "why": "it is no gateway" },
        { "file": "c.so", "status": "awaiting_consent", "sha256": "cc", "proposal": proposal },
    ]);
    let waiting: Vec<CandidateFile> = serde_json::from_value(waiting).unwrap();
    let told = files(&waiting);
    assert!(!told.contains("a.so") && told.contains("b.so  is refused: it is no gateway"));
    let (host, add) = ("live    api.acme.example", "switchyard gateway add cc");
    assert!(told.contains(host) && told.contains(add), "{told}");
    assert_eq!(files(&[]), "");
}
