//! Findings about the settings: text, weight, and the origin of the setting.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The server does not start with it.
    Problem,
    /// The server starts, and the setting is seldom intended.
    Warning,
    /// This user may not read what the check needs. The server does not start without it.
    Unseen,
}

/// Source of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A position in the settings file; lines and columns begin with 1.
    File {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    /// An environment variable.
    Environment(String),
    /// An option of the command line.
    Option(&'static str),
    /// No source: a default, or a whole file.
    #[default]
    Nowhere,
}

/// A faulty setting, before its source is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the setting, as in `server.listen`; of an entry of a list, as in
    /// `operator.tokens[0]`.
    pub setting: String,
    pub weight: Weight,
    /// One sentence with what is wrong and what to do.
    pub text: String,
}

/// Collected faults.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

/// A finding about the settings, with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the setting; `None`: the finding is about the settings file as a whole.
    pub setting: Option<String>,
    pub weight: Weight,
    pub origin: Origin,
    /// One sentence with what is wrong and what to do.
    pub text: String,
}

/// Origins of all settings that have a source, by their paths.
pub type Origins = BTreeMap<String, Origin>;

impl Faults {
    pub fn push(&mut self, setting: impl Into<String>, text: impl Into<String>) {
        self.add(setting, Weight::Problem, text);
    }

    pub fn warn(&mut self, setting: impl Into<String>, text: impl Into<String>) {
        self.add(setting, Weight::Warning, text);
    }

    pub fn add(&mut self, setting: impl Into<String>, weight: Weight, text: impl Into<String>) {
        self.0.push(Fault {
            setting: setting.into(),
            weight,
            text: text.into(),
        });
    }
}

impl Fault {
    /// Adds the place of the setting.
    pub fn at(self, origins: &Origins) -> Problem {
        let path = setting_path(&self.setting).to_owned();
        let origin = origins.get(&self.setting).or_else(|| origins.get(&path));
        Problem {
            weight: self.weight,
            origin: origin.cloned().unwrap_or_default(),
            setting: Some(path),
            text: self.text,
        }
    }
}

/// Path of the setting of which `path` is an entry.
fn setting_path(path: &str) -> &str {
    path.split('[').next().unwrap_or(path)
}

impl Problem {
    /// A finding about a whole file.
    pub fn of_file(origin: Origin, text: String) -> Self {
        Self {
            setting: None,
            weight: Weight::Problem,
            origin,
            text,
        }
    }

    /// Whether the server does not start with it.
    pub fn is_refused(&self) -> bool {
        self.weight != Weight::Warning
    }

    pub fn as_json(&self) -> Value {
        let (mut file, mut line, mut column, mut variable, mut option) =
            (None, None, None, None, None);
        match &self.origin {
            Origin::File {
                path,
                line: at,
                column: offset,
            } => {
                file = Some(path.display().to_string());
                (line, column) = (Some(*at), Some(*offset));
            }
            Origin::Environment(name) => variable = Some(name.as_str()),
            Origin::Option(name) => option = Some(*name),
            Origin::Nowhere => {}
        }
        json!({
            "level": self.weight.as_str(),
            "setting": self.setting,
            "file": file,
            "line": line,
            "column": column,
            "variable": variable,
            "option": option,
            "message": self.text,
        })
    }
}

impl Weight {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Unseen => "unknown",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => {
                write!(f, "{}:{line}:{column}", path.display())
            }
            Self::Environment(name) => f.write_str(name),
            Self::Option(name) => f.write_str(name),
            Self::Nowhere => Ok(()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Nowhere => f.write_str(&self.text),
            origin => write!(f, "{origin}: {}", self.text),
        }
    }
}
