//! Values of settings with their origins: from a settings file and from the environment.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use figment::value::Value;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::names;
use super::problem::{Origin, Origins, Problem, Weight};

/// Values by the paths of their settings, with their origins and the problems of their sources.
#[derive(Default)]
pub struct Sources {
    pub values: BTreeMap<String, Value>,
    pub origins: Origins,
    pub problems: Vec<Problem>,
}

impl Sources {
    /// Adds the values of a settings file. Every syntax error is a problem; the lines without one
    /// are read.
    pub fn add_file(&mut self, path: &Path, text: &str) {
        let position = |offset: usize| origin(path, text, offset);
        let (table, errors) = DeTable::parse_recoverable(text);
        let broken: Vec<Range<usize>> = errors.iter().filter_map(toml::de::Error::span).collect();
        for error in &errors {
            let offset = error.span().map_or(0, |span| span.start);
            let text = syntax_error(error.message());
            self.problems.push(Problem::of_file(position(offset), text));
        }
        // A line that the parser repaired has another value than its author wrote.
        let is_whole = |span: &Range<usize>| {
            let line = line_of(text, span);
            !broken
                .iter()
                .any(|error| error.start <= line.end && error.end >= line.start)
        };
        for (name, value) in table.into_inner() {
            let span = name.span();
            match value.get_ref() {
                _ if !is_whole(&span) => {}
                DeValue::Table(section) if names::sections().contains(&**name.get_ref()) => {
                    for (field, value) in
                        section.iter().filter(|(field, _)| is_whole(&field.span()))
                    {
                        let setting = format!("{}.{}", name.get_ref(), field.get_ref());
                        self.add_from_file(&setting, field.span(), value, &position);
                    }
                }
                _ => self.add_from_file(name.get_ref(), span, &value, &position),
            }
        }
    }

    fn add_from_file(
        &mut self,
        setting: &str,
        name: Range<usize>,
        value: &Spanned<DeValue<'_>>,
        position: &dyn Fn(usize) -> Origin,
    ) {
        if !names::all().contains(setting) {
            let is_section = matches!(value.get_ref(), DeValue::Table(_));
            return self.unknown(setting, is_section, position(name.start));
        }
        if let DeValue::Array(entries) = value.get_ref() {
            for (index, entry) in entries.iter().enumerate() {
                let path = format!("{setting}[{index}]");
                self.origins.insert(path, position(entry.span().start));
            }
        }
        let read = toml::Value::deserialize(value.clone().into_deserializer());
        let read = read.map_err(|error| error.message().to_owned());
        let read = read.and_then(|value| Value::serialize(value).map_err(|why| why.to_string()));
        let origin = position(value.span().start);
        match read {
            Ok(value) => self.set(setting, value, origin),
            Err(why) => self.problems.push(Problem {
                setting: Some(setting.to_owned()),
                weight: Weight::Problem,
                origin,
                text: format!("{setting} cannot be read: {why}"),
            }),
        }
    }

    /// Adds the settings among environment variables: `SWITCHYARD_SERVER__LISTEN`. They replace
    /// those of the file.
    pub fn add_environment(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (variable, text) in variables {
            let name = variable.to_ascii_lowercase();
            let Some(name) = name.strip_prefix(PREFIX) else {
                continue;
            };
            // SWITCHYARD_URL, SWITCHYARD_TOKEN and SWITCHYARD_CONFIG are options of commands.
            if name != "development" && !name.contains("__") {
                continue;
            }
            let setting = name.replace("__", ".");
            let origin = Origin::Environment(variable);
            match (names::all().contains(&setting), text.parse::<Value>()) {
                (false, _) => self.unknown(&setting, false, origin),
                (true, Ok(value)) => self.set(&setting, value, origin),
            }
        }
    }

    fn set(&mut self, setting: &str, value: Value, origin: Origin) {
        if matches!(origin, Origin::Environment(_)) {
            // Entries of a list in the file are replaced with it.
            let entries = format!("{setting}[");
            self.origins.retain(|path, _| !path.starts_with(&entries));
        }
        self.values.insert(setting.to_owned(), value);
        self.origins.insert(setting.to_owned(), origin);
    }

    fn unknown(&mut self, name: &str, is_section: bool, origin: Origin) {
        let (what, near) = match is_section {
            true => ("section", names::nearest_section(name)),
            false => ("setting", names::nearest_setting(name)),
        };
        let advice = match (near, is_section) {
            (Some(near), true) => format!("did you mean [{near}]?"),
            (Some(near), false) => match &origin {
                Origin::Environment(_) => format!("did you mean {}?", variable(&near)),
                _ => format!("did you mean {near}?"),
            },
            (None, true) => format!(
                "the sections are {}",
                names::sections().into_iter().collect::<Vec<_>>().join(", ")
            ),
            (None, false) => "examples/switchyard.toml has all settings".to_owned(),
        };
        self.problems.push(Problem {
            setting: Some(name.to_owned()),
            weight: Weight::Problem,
            origin,
            text: format!("there is no {what} {name}: {advice}"),
        });
    }
}

/// The environment variable of a setting.
fn variable(setting: &str) -> String {
    format!("{PREFIX}{}", setting.replace('.', "__")).to_ascii_uppercase()
}

fn syntax_error(message: &str) -> String {
    let advice = match message {
        text if text.contains("duplicate key") => {
            ". A section and a setting may stand in the file once: put all settings of a section \
             under one line"
        }
        text if text.contains("must be quoted") => ": write it as name = \"value\"",
        _ => ". The file is TOML: name = value, with texts in quotes",
    };
    format!("{message}{advice}")
}

fn origin(path: &Path, text: &str, offset: usize) -> Origin {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Origin::File {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// The range of the lines of a span.
fn line_of(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.get(..span.start).and_then(|before| before.rfind('\n'));
    let end = text.get(span.end..).and_then(|rest| rest.find('\n'));
    start.map_or(0, |at| at + 1)..end.map_or(text.len(), |at| span.end + at)
}

const PREFIX: &str = "switchyard_";
