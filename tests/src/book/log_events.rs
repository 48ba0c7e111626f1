//! Page of the events of the log, read from the calls in the sources that write them.

use std::collections::{BTreeMap, BTreeSet};

use super::cell;
use crate::tidy::{Source, repository_files};

/// Levels, the most severe first.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
/// Longest name of an event.
const NAME_CHARACTERS: usize = 72;

/// An event, over all calls that write it.
#[derive(Default)]
struct Event {
    levels: BTreeSet<usize>,
    fields: BTreeSet<String>,
}

pub fn page() -> String {
    let files = repository_files().expect("git lists the files");
    let events = events(&files);
    let mut text = TOP.to_owned();
    for (name, event) in &events {
        let levels: Vec<_> = event.levels.iter().map(|level| LEVELS[*level]).collect();
        let fields: Vec<_> = event.fields.iter().map(|f| format!("`{f}`")).collect();
        let advice = match is_alarming(event) {
            true => advice(name).unwrap_or_else(|| panic!("`{name}` has no advice")),
            false => "",
        };
        let cells = [levels.join(", "), fields.join(", "), cell(advice)];
        text.push_str(&format!("| `{name}` | {} |\n", cells.join(" | ")));
    }
    text
}

/// Events that the product's sources write, by name.
fn events(files: &[Source]) -> BTreeMap<String, Event> {
    let mut events: BTreeMap<String, Event> = BTreeMap::new();
    let is_product = |file: &&Source| {
        let places = ["api/", "engine/"];
        !file.is_test && places.iter().any(|place| file.path.starts_with(place))
    };
    for file in files.iter().filter(is_product) {
        for (level, name, fields) in calls(file) {
            let is_name = !name.contains(['{', '\\', ':']) && !name.ends_with('.');
            let is_short = name.chars().count() <= NAME_CHARACTERS;
            assert!(
                is_name && is_short,
                "{}: `{name}` is no short, fixed name",
                file.path
            );
            let event = events.entry(name).or_default();
            event.levels.insert(level);
            event.fields.extend(fields);
        }
    }
    events
}

fn is_alarming(event: &Event) -> bool {
    event
        .levels
        .iter()
        .any(|level| LEVELS[*level] == "error" || LEVELS[*level] == "warn")
}

/// The calls in a file: place of the level in [`LEVELS`], name, and fields.
fn calls(file: &Source) -> Vec<(usize, String, Vec<String>)> {
    // The code has a character for each of the text.
    let (code, text): (Vec<char>, Vec<char>) =
        (file.code.chars().collect(), file.text.chars().collect());
    let before_tests: String = file
        .code
        .split_inclusive('\n')
        .take(file.tests_begin() - 1)
        .collect();
    let mut found = Vec::new();
    for (level, name) in LEVELS.iter().enumerate() {
        let call = format!("tracing::{name}!(");
        for (at, _) in before_tests.match_indices(&call) {
            let start = before_tests[..at].chars().count() + call.chars().count();
            let parts = arguments(&code, start);
            let of = |part: &(usize, usize)| text[part.0..part.1].iter().collect::<String>();
            let Some(message) = parts.last().map(of) else {
                continue;
            };
            let message = message.trim().trim_matches('"').to_owned();
            let fields = parts[..parts.len() - 1].iter().map(of);
            let fields = fields.filter_map(|part| field(&part)).collect();
            found.push((level, message, fields));
        }
    }
    found
}

/// Ranges of the arguments of a call whose parenthesis opens before `start`. Braces around fields
/// are skipped.
fn arguments(code: &[char], start: usize) -> Vec<(usize, usize)> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, start);
    let mut end = start;
    while end < code.len() {
        match code[end] {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ')' => break,
            ',' if depth == 0 => {
                parts.push((begin, end));
                begin = end + 1;
            }
            _ => {}
        }
        end += 1;
    }
    if code[begin..end].iter().any(|c| !c.is_whitespace()) {
        parts.push((begin, end));
    }
    parts
}

/// Name of the field of an argument; `None` for the target.
fn field(part: &str) -> Option<String> {
    let part = part.trim().trim_start_matches('{').trim();
    if part.starts_with("target:") {
        return None;
    }
    let name = part.split([' ', '=']).next()?;
    let name = name.trim_start_matches(['%', '?']);
    (!name.is_empty() && name != "}").then(|| name.to_owned())
}

/// Advice about a warning or an error: the first whose beginning fits the name.
fn advice(name: &str) -> Option<&'static str> {
    let found = ADVICE.iter().find(|(begins, _)| name.starts_with(begins));
    found.map(|(_, advice)| *advice)
}

const STORE: &str = "Run `switchyard doctor`; `switchyard store check` examines every row. A \
                     damaged store is restored from a backup";
const RETRIED: &str = "Committed changes are kept; background work is repeated, and a refused \
                       request can be sent again. When it goes on, run `switchyard doctor`";
const GATEWAY: &str = "Look at `switchyard gateway list`; roll the gateway back or replace it, and \
                       report it to its author";
const HELD: &str = "Follow [the restore](../restore.md): read `switchyard release --report`";
const PANIC: &str = "A defect of the engine: report it with the lines before it. The stored state \
                     is whole";
const COPY: &str = "Examine the folder of `store.copy_to`: space, rights, mount";
const CLOCK: &str = "Repair the machine's time service, then restart";

/// Beginnings of names, and what to do.
const ADVICE: &[(&str, &str)] = &[
    ("a damaged row", STORE),
    ("a row is damaged", STORE),
    (
        "a gateway was left out",
        "Add the gateway's file again, then back up again",
    ),
    ("a generation", COPY),
    (
        "a reader of the database",
        "End the programs that hold the database open",
    ),
    (
        "a test gateway",
        "Disable or delete the connection: it moves no money",
    ),
    (
        "actor does not",
        "The service manager restarts the server. Look at CPU and disk",
    ),
    (
        "audit log",
        "Somebody or a fault changed it: keep a copy, compare it with a backup",
    ),
    (
        "breaker opened",
        "Contact the provider; other connections are preferred until it recovers",
    ),
    ("changed settings", "Restart when it suits"),
    (
        "checkout page timed out",
        "Look at disk and CPU; the payment continues",
    ),
    ("command panicked", PANIC),
    (
        "connection refused",
        "Raise the named setting if the client is legitimate",
    ),
    ("count would fall", STORE),
    (
        "demo data",
        "Use an empty data folder for the demonstration",
    ),
    ("engine failed", PANIC),
    ("execution of a queued row", PANIC),
    ("failed to accept", "Look at the limit on open files"),
    ("failed to adopt", GATEWAY),
    ("failed to load", GATEWAY),
    ("failed to fetch options", GATEWAY),
    ("failed to inspect", GATEWAY),
    (
        "failed to read the gateway folder",
        "Examine rights and mount of `gateways.dir`",
    ),
    (
        "failed to back up",
        "Examine the folder of `store.backup_to`: space, rights, mount",
    ),
    (
        "failed to list backups",
        "Examine the folder of `store.backup_to`: rights, mount",
    ),
    (
        "failed to remove the draft",
        "Delete the draft in the folder of the backups",
    ),
    ("failed to copy", COPY),
    ("failed to check the store", STORE),
    (
        "failed to decrypt",
        "The master key is not the one of the store: restore the right one",
    ),
    (
        "failed to disable core dumps",
        "Forbid core dumps in the unit: they may contain secrets",
    ),
    (
        "failed to fetch exchange",
        "Examine the feed of the rates; they are used until too old",
    ),
    (
        "failed to notify service",
        "Examine `NotifyAccess` of the unit",
    ),
    (
        "failed to queue a mail",
        "The user gets no mail: send the link again",
    ),
    (
        "failed to raise",
        "Raise the limit on open files of the unit",
    ),
    ("failed to read a stored response", STORE),
    (
        "failed to reload",
        "Correct the settings that `error` names; the old ones stay in use",
    ),
    ("failed to render", "A defect of the engine: report it"),
    ("failed to reopen log", "Examine the path of `log.file`"),
    (
        "failed to send mail",
        "Examine `mail.smtp_url`; mails are sent again for a while",
    ),
    (
        "failed to send traces",
        "Examine the collector of `telemetry.otlp_url`",
    ),
    ("failed to stop", PANIC),
    ("failed to start", PANIC),
    ("failed to", RETRIED),
    (
        "free disk space",
        "Free space on the disk of the data folder",
    ),
    ("gateway call panicked", PANIC),
    (
        "gateway file awaits",
        "Look at `switchyard gateway list`, then approve or delete the file",
    ),
    (
        "gateway sandbox",
        "Use a kernel with the named restrictions",
    ),
    ("gateway", GATEWAY),
    ("housekeeping", PANIC),
    ("ignored a backup", CLOCK),
    (
        "implausible exchange",
        "Look at `switchyard rates held`, then accept or discard them",
    ),
    (
        "made a new",
        "Expected at the first start only: otherwise stop, and mount the data folder",
    ),
    ("mails about", "Look for abuse of the app's keys"),
    ("mails are disabled", "Set `mail.smtp_url`"),
    ("no gateway", "Approve a gateway: `switchyard gateway list`"),
    ("operator request failed", PANIC),
    ("operator tokens", "Revoke unused tokens"),
    ("pages of the log", STORE),
    ("queue actor", PANIC),
    (
        "request failed",
        "The lines with the same `request.id` say why",
    ),
    (
        "request refused",
        "The store or the disk does not answer: run `switchyard doctor`",
    ),
    ("rewriting", STORE),
    (
        "second signal",
        "Acknowledged requests are stored; nothing to do",
    ),
    ("setting is unusual", "Follow `advice`"),
    (
        "shutdown timeout",
        "Raise `server.shutdown_timeout` if clients need longer",
    ),
    ("skipped", STORE),
    ("store damage", STORE),
    ("store is held", HELD),
    ("store unavailable", RETRIED),
    ("stored gateway state", STORE),
    (
        "submission interrupted",
        "None: the provider is asked before anything is sent again",
    ),
    ("the continuous copy cannot", HELD),
    ("the continuous copy lacks", COPY),
    ("the loss is accepted", HELD),
    ("the machine's clock", CLOCK),
    ("the mark", "Examine rights and space of the data folder"),
    (
        "the operator token",
        "Delete it with `switchyard tokens delete`",
    ),
    (
        "the store cannot write",
        "Free space on the disk, or replace it; requests are refused",
    ),
    ("the store has no", HELD),
    ("the store is not compared", COPY),
    ("the store is older", HELD),
    (
        "the store was not closed",
        "None: acknowledged commits are on disk",
    ),
    ("the worker", GATEWAY),
    (
        "webhook disabled",
        "Tell the merchant: the receiver answered that it is gone",
    ),
];

const TOP: &str = "\
# Log events

The name of an event is the message of its line: `message` with `log.format = \"json\"`. Names are
stable; what differs from line to line is in fields. Each line of a request also has `request.id`,
and `transaction.id` and `trace.id` where they are known.

| event | level | fields | what to do |
|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_advice_is_about_a_warning_or_an_error() {
        let events = events(&repository_files().expect("git lists the files"));
        assert!(events.len() > 100, "calls are found");
        for (begins, _) in ADVICE {
            let fits = |(name, event): (&String, &Event)| {
                let first = ADVICE.iter().find(|(begins, _)| name.starts_with(begins));
                is_alarming(event) && first.is_some_and(|first| first.0 == *begins)
            };
            assert!(events.iter().any(fits), "no event begins with `{begins}`");
        }
    }

    #[test]
    fn a_call_has_its_level_its_name_and_the_names_of_its_fields() {
        let source =
            "fn a() {\n    tracing::warn!(target: B, a.id = %f(1, 2), ?why, \"it broke\");\n}\n";
        let found = calls(&Source::new("engine/src/a.rs", source));
        let fields = vec!["a.id".to_owned(), "why".to_owned()];
        assert_eq!(found, [(1, "it broke".to_owned(), fields)]);
    }
}
