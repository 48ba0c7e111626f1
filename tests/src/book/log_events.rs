//! Page of the events of the log, read from the calls in the sources that write them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};

use super::cell;
use super::log_advice::ADVICE;
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
            true => advice(name)
                .unwrap_or_else(|| panic!("`{name}` has no advice in book/log_advice.rs")),
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
        for (level, name, fields) in calls(file).unwrap_or_else(|error| panic!("{error}")) {
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
///
/// # Errors
/// When a message is no literal, or a call is written in another way.
fn calls(file: &Source) -> anyhow::Result<Vec<(usize, String, Vec<String>)>> {
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
        for other in [format!("{name}!("), "event!(".to_owned()] {
            let mut others = before_tests.match_indices(&other);
            let is_call = |(at, _): (usize, &str)| {
                let before = &before_tests[..at];
                // `compile_error!` writes no event.
                let is_longer = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
                !is_longer && (other.starts_with("event") || !before.ends_with("tracing::"))
            };
            ensure!(
                !others.any(is_call),
                "{}: `{other}` is not found for the page: write `tracing::{name}!`",
                file.path
            );
        }
        for (at, _) in before_tests.match_indices(&call) {
            let start = before_tests[..at].chars().count() + call.chars().count();
            let parts = arguments(&code, start);
            let of = |part: &(usize, usize)| text[part.0..part.1].iter().collect::<String>();
            let Some(message) = parts.last().map(of) else {
                continue;
            };
            let message = message.trim();
            let literal = message
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            let message = literal.with_context(|| {
                format!("{}: `{message}` is no fixed name of an event", file.path)
            })?;
            let fields = parts[..parts.len() - 1].iter().map(of);
            let fields = fields.filter_map(|part| field(&part)).collect();
            found.push((level, message.to_owned(), fields));
        }
    }
    Ok(found)
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

/// Advice about a warning or an error.
fn advice(name: &str) -> Option<&'static str> {
    let found = ADVICE.iter().find(|(_, names)| names.contains(&name));
    found.map(|(advice, _)| *advice)
}

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
    fn each_warning_and_error_has_one_advice_and_no_other_event_has_one() {
        let events = events(&repository_files().expect("git lists the files"));
        assert!(events.len() > 100, "calls are found");
        let alarming = events.iter().filter(|(_, event)| is_alarming(event));
        let alarming: Vec<&str> = alarming.map(|(name, _)| name.as_str()).collect();
        let names = ADVICE.iter().flat_map(|(_, names)| names.iter().copied());
        let mut advised: Vec<&str> = names.collect();
        advised.sort_unstable();
        assert_eq!(advised, alarming, "left: book/log_advice.rs, right: calls");
    }

    #[test]
    fn a_call_has_its_level_its_name_and_the_names_of_its_fields() {
        let source =
            "fn a() {\n    tracing::warn!(target: B, a.id = %f(1, 2), ?why, \"it broke\");\n}\n";
        let found = calls(&Source::new("engine/src/a.rs", source)).unwrap();
        let fields = vec!["a.id".to_owned(), "why".to_owned()];
        assert_eq!(found, [(1, "it broke".to_owned(), fields)]);
    }

    #[test]
    fn a_message_that_is_no_literal_is_refused() {
        for last in ["message", "concat!(\"a\", B)", "\"{} broke\", name", "NAME"] {
            let source = format!("fn a() {{\n    tracing::warn!(%error, {last});\n}}\n");
            let source = Source::new("engine/src/a.rs", &source);
            let refused = calls(&source).unwrap_err().to_string();
            assert!(refused.starts_with("engine/src/a.rs: `"), "{refused}");
        }
        for call in [
            "warn!(\"it broke\")",
            "tracing::event!(LEVEL, \"it broke\")",
        ] {
            let source = format!("fn a() {{\n    {call};\n}}\n");
            assert!(
                calls(&Source::new("engine/src/a.rs", &source)).is_err(),
                "{call}"
            );
        }
    }
}
