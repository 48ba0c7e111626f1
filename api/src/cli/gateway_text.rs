//! Gateways as text for the terminal.

use serde_json::Value;

use super::output::{Column, aligned, visible};

/// Formats all gateways, one per line.
pub fn gateways(list: &Value) -> String {
    let rows: Vec<Value> = items(list).iter().map(line).collect();
    match rows.is_empty() {
        true => "No gateway is installed yet: `switchyard gateway add FILE.so`.\n".to_owned(),
        false => aligned(&rows, GATEWAYS),
    }
}

/// Formats the files of the folder that are incomplete, missing, refused or awaiting consent.
pub fn files(list: &Value) -> String {
    let lines: Vec<String> = items(list).iter().filter_map(file).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nIn the folder:\n{}", lines.concat()),
    }
}

fn file(file: &Value) -> Option<String> {
    let (name, sha256) = (word(file, "file"), word(file, "sha256"));
    let said = match file["status"].as_str()? {
        "settling" => "is still being copied".to_owned(),
        "gone" => "is gone; its gateway goes on from the engine's own copy".to_owned(),
        "refused" => format!("is refused: {}", word(file, "why")),
        "awaiting_consent" => {
            let (proposal, mut hosts) = (&file["proposal"], String::new());
            for environment in ["live", "sandbox"] {
                let named = joined(&proposal["hosts"][environment]);
                hosts.push_str(&format!("\n    {environment:<8}{named}"));
            }
            format!(
                "{} {} awaits consent; it would talk to{hosts}\n    switchyard gateway add {sha256}",
                word(proposal, "name"),
                word(proposal, "version")
            )
        }
        _ => return None,
    };
    Some(format!("  {name}  {said}\n"))
}

/// Formats one gateway: its state, versions and history.
pub fn gateway(gateway: &Value) -> String {
    let mut text = format!("{}: {}\n", word(gateway, "name"), word(gateway, "title"));
    let state = word(gateway, "state");
    text.push_str(&match gateway["version"].as_str() {
        Some(version) => format!("{state} at {}, {}\n", visible(version), left(gateway)),
        None => format!("{state}, {}\n", left(gateway)),
    });
    if let Some(reason) = gateway["quarantine"]["reason"].as_str() {
        let (by, at) = (
            word(&gateway["quarantine"], "by"),
            moment(&gateway["quarantine"]),
        );
        text.push_str(&format!(
            "In quarantine since {at} by {by}: {}\nTo bring it back: switchyard gateway restore {}\n",
            visible(reason),
            word(gateway, "name")
        ));
    }
    text.push_str(&awaiting(gateway));
    if ["draining", "drained", "removed"].contains(&state.as_str()) {
        text.push_str(&format!(
            "To have it serve again: switchyard gateway restore {}\n",
            word(gateway, "name")
        ));
    }
    let versions: Vec<Value> = items(&gateway["versions"])
        .iter()
        .map(side_by_side)
        .collect();
    text.push_str(&format!("\n{}", aligned(&versions, VERSIONS)));
    for version in items(&gateway["versions"]) {
        if let Some(why) = version["last_worker_death"].as_str() {
            let (version, why) = (word(version, "version"), visible(why));
            text.push_str(&format!("last worker of {version} that died: {why}\n"));
        }
    }
    for environment in ["live", "sandbox"] {
        let hosts = &gateway["hosts"][environment];
        if !items(hosts).is_empty() {
            text.push_str(&format!("\nhosts in {environment:<8} {}", joined(hosts)));
        }
    }
    if !items(&gateway["hosts"]["live"]).is_empty()
        || !items(&gateway["hosts"]["sandbox"]).is_empty()
    {
        text.push('\n');
    }
    text.push_str(&credentials(&gateway["config"]));
    let changes = items(&gateway["changes"]);
    text.push_str("\nHistory, the latest first\n");
    for change in changes.iter().take(HISTORY) {
        let why = match change["why"].as_str() {
            Some(why) => format!(": {}", visible(why)),
            None => String::new(),
        };
        let what = word(change, "what").replace('_', " ");
        text.push_str(&format!(
            "  {}  {what:<12} {:<10} {:<12}  by {}{why}\n",
            moment(change),
            word(change, "version"),
            short(change),
            word(change, "by")
        ));
    }
    if changes.len() > HISTORY {
        text.push_str(&format!("  and {} before\n", changes.len() - HISTORY));
    }
    text
}

/// Formats an upgrade that awaits a second operator, with its additional hosts and its source.
fn awaiting(gateway: &Value) -> String {
    let waiting = &gateway["awaiting_approval"];
    if !waiting.is_object() {
        return String::new();
    }
    let (sha256, consent) = (word(waiting, "sha256"), &waiting["consent"]);
    let mut text = format!(
        "\nNot in use yet: {} ({}) awaits the approval of a second operator since {}, added by {}\n",
        word(waiting, "version"),
        short(waiting),
        moment(consent),
        word(consent, "by")
    );
    text.push_str(&widened(&waiting["widens"], &word(consent, "source")));
    text.push_str(&format!(
        "  switchyard gateway approve {} {sha256}\n",
        word(gateway, "name")
    ));
    text
}

/// Formats the hosts, source and isolation of an upgrade that differ from those of the current
/// version.
fn widened(widens: &Value, source: &str) -> String {
    let mut text = String::new();
    for environment in ["live", "sandbox"] {
        let hosts = &widens["hosts"][environment];
        if !items(hosts).is_empty() {
            text.push_str(&format!(
                "  new hosts in {environment:<8} {}\n",
                joined(hosts)
            ));
        }
    }
    if widens["in_process"] == true {
        text.push_str("  runs inside the server's process, where every secret can be read\n");
    }
    if let Some(used) = widens["source_in_use"].as_str() {
        text.push_str(&format!("  source {source}, the version in use: {used}\n"));
    }
    text
}

/// Formats the credentials that a connection needs, as `--credential NAME=VALUE`.
fn credentials(schema: &Value) -> String {
    let Some(fields) = schema["properties"]
        .as_object()
        .filter(|all| !all.is_empty())
    else {
        return String::new();
    };
    let mut text = "\nA connection gives it\n".to_owned();
    for (name, field) in fields {
        let is_required = items(&schema["required"]).iter().any(|other| other == name);
        let mut marks = vec![if is_required { "required" } else { "optional" }];
        if field["writeOnly"] == true {
            marks.push("secret");
        }
        let (title, marks) = (field["title"].as_str().unwrap_or(name), marks.join(", "));
        let (name, title) = (visible(name), visible(title));
        text.push_str(&format!("  {name:<18} {title} ({marks})\n"));
    }
    text
}

/// Formats the running calls and open attempts: `2 calls running, 14 attempts open`.
pub fn left(gateway: &Value) -> String {
    let open = &gateway["open_attempts"];
    let calls = gateway["running_calls"].as_u64().unwrap_or(0);
    format!(
        "{calls} {} running, {} {} open",
        if calls == 1 { "call" } else { "calls" },
        counted(open),
        if open["count"] == 1 {
            "attempt"
        } else {
            "attempts"
        }
    )
}

/// Formats the manifest of a file and the changes of its installation.
pub fn proposal(proposal: &Value) -> String {
    let count = |name: &str| proposal[name].as_u64().unwrap_or(0);
    let mut methods = format!(
        "{} for payments, {} for payouts",
        count("payment_methods"),
        count("payout_methods")
    );
    if proposal["serves_any_method"] == true {
        methods.push_str(", and every other: it is a test gateway");
    }
    let mut text = format!(
        "{} {}: {}\n",
        word(proposal, "name"),
        word(proposal, "version"),
        word(proposal, "title")
    );
    if let Some(said) = proposal["description"]
        .as_str()
        .filter(|said| !said.is_empty())
    {
        text.push_str(&format!("{}\n", visible(said)));
    }
    let mut row = |name: &str, value: &str| text.push_str(&format!("\n  {name:<15}{value}"));
    row("SHA-256", &word(proposal, "sha256"));
    row("size", &size(count("bytes")));
    row("methods", &methods);
    row("operations", &joined(&proposal["operations"]));
    row("runs", place(proposal));
    row("live hosts", &joined(&proposal["hosts"]["live"]));
    row("sandbox hosts", &joined(&proposal["hosts"]["sandbox"]));
    let replaced = &proposal["replaces"];
    let is_current = replaced["sha256"].is_string() && replaced["sha256"] == proposal["sha256"];
    match (is_current, proposal["is_known"] == true) {
        (true, _) => row("known", "it is this gateway's current version"),
        (false, true) => row("known", "it is one of this gateway's versions already"),
        (false, false) => {}
    }
    if replaced.is_object() && !is_current {
        row(
            "replaces",
            &format!("{} ({})", word(replaced, "version"), short(replaced)),
        );
        let mut hosts: Vec<Value> = items(&replaced["new_hosts"]["live"]).to_vec();
        hosts.extend_from_slice(items(&replaced["new_hosts"]["sandbox"]));
        if !hosts.is_empty() {
            row("new hosts", &joined(&Value::Array(hosts)));
        }
    }
    let consent = match proposal["needs_consent"].as_bool() {
        Some(false) => "not needed: the hash is pinned, or this is development mode",
        _ => "needed",
    };
    row("consent", consent);
    let approval = match proposal["needs_approval"].is_object() {
        true => "needed: a second operator has to approve it (`switchyard gateway approve`)",
        false => "not needed",
    };
    row("approval", approval);
    text.push('\n');
    text
}

/// Describes where the code of a file would run.
pub fn place(proposal: &Value) -> &'static str {
    match proposal["isolation"].as_str() {
        Some("process") => "in a process of its own, without network and files",
        _ => "inside the server's process: trusted code",
    }
}

fn line(gateway: &Value) -> Value {
    let mut line = gateway.clone();
    line["open"] = counted(&gateway["open_attempts"]).into();
    line["short"] = short(gateway).into();
    line["why"] = gateway["quarantine"]["reason"].clone();
    let waiting = &gateway["awaiting_approval"];
    if waiting.is_object() {
        let awaits = format!("{} ({})", word(waiting, "version"), short(waiting));
        line["awaits"] = awaits.into();
    }
    line
}

fn side_by_side(version: &Value) -> Value {
    let mut row = version.clone();
    row["mark"] = if version["is_current"] == true {
        "current"
    } else {
        ""
    }
    .into();
    row["open"] = counted(&version["open_attempts"]).into();
    row["short"] = short(version).into();
    row["size"] = size(version["bytes"].as_u64().unwrap_or(0)).into();
    row["consent"] = format!(
        "{} by {}",
        word(&version["consent"], "how"),
        word(&version["consent"], "by")
    )
    .into();
    row["why"] = version["quarantine"]["reason"].clone();
    row
}

fn counted(count: &Value) -> String {
    let number = count["count"].as_u64().unwrap_or(0);
    match count["is_at_least"].as_bool() {
        Some(true) => format!("{number}+"),
        _ => number.to_string(),
    }
}

/// First 12 digits of a hash, enough to identify a version.
fn short(thing: &Value) -> String {
    word(thing, "sha256").chars().take(12).collect()
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=99_999 => format!("{:>3} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Time with a precision of seconds.
fn moment(thing: &Value) -> String {
    word(thing, "at")
        .chars()
        .take(19)
        .collect::<String>()
        .replace('T', " ")
}

fn joined(list: &Value) -> String {
    let words: Vec<String> = items(list)
        .iter()
        .filter_map(Value::as_str)
        .map(visible)
        .collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(thing: &Value, name: &str) -> String {
    thing[name].as_str().map_or_else(|| "-".to_owned(), visible)
}

const GATEWAYS: &[Column] = &[
    ("name", "name"),
    ("version", "version"),
    ("state", "state"),
    ("calls", "running_calls"),
    ("open", "open"),
    ("versions", "version_count"),
    ("sha256", "short"),
    ("quarantine", "why"),
    ("awaits approval", "awaits"),
];

const VERSIONS: &[Column] = &[
    ("", "mark"),
    ("version", "version"),
    ("sha256", "short"),
    ("calls", "running_calls"),
    ("open", "open"),
    ("size", "size"),
    ("runs", "isolation"),
    ("consent", "consent"),
    ("quarantine", "why"),
];

/// Number of changes shown; `--json` prints all.
const HISTORY: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_upgrade_that_waits_is_told_with_what_it_would_get_more() {
        let waiting = json!({
            "name": "acme", "version": "1.0.0", "awaiting_approval": {
                "sha256": "b".repeat(64), "version": "1.0.1",
                "consent": {"by": "ada", "at": "2026-11-20T10:00:00.000000Z", "source": "upload"},
                "widens": {
                    "hosts": {"live": ["evil.example"], "sandbox": []}, "source_in_use": "listed",
                },
            },
        });
        let told = gateway(&waiting);
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
        let list = gateways(&json!([waiting]));
        assert!(list.contains("1.0.1 (bbbbbbbbbbbb)"), "{list}");
    }

    #[test]
    fn a_gateway_is_told_with_its_versions_side_by_side_and_what_was_done_to_it() {
        let version = |version: &str, hash: char, is_current: bool, open: u64| {
            json!({
                "version": version, "sha256": hash.to_string().repeat(64), "bytes": 1_234_567, "is_current": is_current,
                "running_calls": 0, "open_attempts": {"count": open, "is_at_least": false}, "isolation": "process",
                "consent": {"how": "asked", "by": "ada", "at": "2026-11-20T10:00:00.000000Z"}, "quarantine": null,
            })
        };
        let shown = gateway(&json!({
            "name": "acme", "title": "Acme", "state": "serving", "version": "2.0.0", "running_calls": 1,
            "open_attempts": {"count": 3, "is_at_least": false}, "quarantine": null,
            "hosts": {"live": ["api.acme.example"], "sandbox": []},
            "config": {"required": ["api_key"], "properties": {
                "api_key": {"type": "string", "title": "API key", "writeOnly": true}, "region": {"type": "string"}}},
            "versions": [version("2.0.0", 'b', true, 1), version("1.0.0", 'a', false, 2)],
            "changes": [{"at": "2026-11-20T10:00:00.000042Z", "what": "rolled_back", "version": "1.0.0", "sha256": "a".repeat(64),
                         "by": "ada", "why": "slow"}],
        }));
        let expected = "\
acme: Acme
serving at 2.0.0, 1 call running, 3 attempts open

         VERSION  SHA256        CALLS  OPEN  SIZE    RUNS     CONSENT       QUARANTINE
current  2.0.0    bbbbbbbbbbbb  0      1     1.2 MB  process  asked by ada  -
         1.0.0    aaaaaaaaaaaa  0      2     1.2 MB  process  asked by ada  -

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
        let told = proposal(&json!({
            "name": "acme", "version": "2.0.0", "title": "Acme", "description": "", "sha256": "c".repeat(64), "bytes": 9_000,
            "hosts": {"live": ["api.acme.example", "new.acme.example"], "sandbox": []}, "operations": ["collect"],
            "payment_methods": 2, "payout_methods": 0, "serves_any_method": false, "is_known": false,
            "needs_consent": true, "isolation": "process",
            "replaces": {"version": "1.0.0", "sha256": "a".repeat(64), "new_hosts": {"live": ["new.acme.example"], "sandbox": []}},
        }));
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
        let waiting = json!([
            {"file": "a.so", "status": "taken", "sha256": "a"},
            {"file": "b.so", "status": "refused", "why": "it is no gateway"},
            {"file": "c.so", "status": "awaiting_consent", "sha256": "cc",
             "proposal": {"name": "acme", "version": "1.0.0", "hosts": {"live": ["api.acme.example"], "sandbox": []}}},
        ]);
        let told = files(&waiting);
        assert!(!told.contains("a.so") && told.contains("b.so  is refused: it is no gateway"));
        assert!(
            told.contains("live    api.acme.example") && told.contains("switchyard gateway add cc")
        );
        assert_eq!(files(&json!([])), "");
    }
}
