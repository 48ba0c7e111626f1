//! Sources of settings: defaults, file, environment, command line. A later one wins.
//!
//! Each value is read alone, so that all problems are found at once: syntax errors, unknown names,
//! values of a wrong type, and what [`check`] refuses.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Value};

use super::check::check;
use super::names;
use super::problem::{Fault, Origin, Origins, Problem, Weight};
use super::settings::Settings;
use super::sources::Sources;

/// Options of the command line that replace settings.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub development: bool,
    pub listen: Option<SocketAddr>,
    pub port: Option<u16>,
    pub data: Option<PathBuf>,
    pub gateways: Option<PathBuf>,
    pub rate_limit: Option<u32>,
}

/// Settings from all sources, with what is wrong with them.
#[derive(Debug)]
pub struct Examined {
    /// The settings. A setting that cannot be read has its default.
    pub settings: Settings,
    pub problems: Vec<Problem>,
    /// Number of settings that a source has set.
    pub count: usize,
    origins: Origins,
    /// Settings whose values have a wrong type.
    unreadable: BTreeSet<String>,
    is_complete: bool,
}

/// Problems for which the settings are refused, at least one.
#[derive(Debug, thiserror::Error)]
pub struct LoadError(pub Vec<Problem>);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

/// Reads the settings without checking their values against each other. Without a file, everything
/// that the environment and the command line leave open is a default.
///
/// # Errors
/// When a source cannot be read.
pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Settings, LoadError> {
    let read = read(file, environment(), overrides);
    match read.problems.is_empty() {
        true => Ok(read.settings),
        false => Err(LoadError(read.problems)),
    }
}

/// Reads and checks the settings, and finds all their problems.
pub fn examine(file: Option<&Path>, overrides: &Overrides) -> Examined {
    examine_with(file, environment(), overrides)
}

pub(super) fn examine_with(
    file: Option<&Path>,
    environment: Vec<(String, String)>,
    overrides: &Overrides,
) -> Examined {
    let mut examined = read(file, environment, overrides);
    let faults = check(&examined.settings);
    examined.add(faults);
    examined
}

/// Settings in the environment. A name or a value that is not UTF-8 is none.
fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

impl Examined {
    /// Adds faults that other checks have found.
    ///
    /// A setting whose value has a wrong type has no second problem. If the file could not be read
    /// completely, faults of settings without a source are left out: the file may have them.
    pub fn add(&mut self, faults: Vec<Fault>) {
        if self.unreadable.contains("development") {
            return;
        }
        let problems = faults.into_iter().map(|fault| fault.at(&self.origins));
        let (unreadable, is_complete) = (&self.unreadable, self.is_complete);
        self.problems.extend(problems.filter(|problem| {
            let is_readable = |name: &String| !unreadable.contains(name);
            let is_known = is_complete || problem.origin != Origin::Nowhere;
            is_known && problem.setting.as_ref().is_none_or(is_readable)
        }));
        self.problems.sort_by(|a, b| a.origin.cmp(&b.origin));
    }

    /// Whether every source could be read completely.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether this user may not read the settings file.
    pub fn is_closed(&self) -> bool {
        let mut problems = self.problems.iter();
        problems.any(|problem| problem.setting.is_none() && problem.weight == Weight::Unseen)
    }

    /// Problems for which the server does not start.
    pub fn refusals(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.is_refused())
    }
}

fn read(
    file: Option<&Path>,
    environment: Vec<(String, String)>,
    overrides: &Overrides,
) -> Examined {
    let mut sources = Sources::default();
    if let Some(file) = file {
        match text_of(file) {
            Ok(text) => sources.add_file(file, &text),
            Err((weight, text)) => sources.problems.push(Problem {
                weight,
                ..Problem::of_file(Origin::Nowhere, text)
            }),
        }
    }
    let is_complete = sources
        .problems
        .iter()
        .all(|problem| problem.setting.is_some());
    let of_file: BTreeSet<String> = sources.values.keys().cloned().collect();
    let password = sources
        .values
        .get("mail.smtp_url")
        .is_some_and(has_password);
    sources.add_environment(environment);
    let (mut settings, unreadable) = extract(&mut sources);
    overrides.apply(&mut settings, &mut sources.origins);
    let mut examined = Examined {
        settings,
        count: sources
            .origins
            .keys()
            .filter(|path| !path.contains('['))
            .count(),
        problems: sources.problems,
        origins: sources.origins,
        unreadable,
        is_complete,
    };
    if let Some(file) = file {
        let whole = [
            "openid.client_secret",
            "secrets.master_key",
            "telemetry.authorization",
        ];
        let secret = whole.into_iter().find(|name| of_file.contains(*name));
        let secret = secret.map(|name| (name, name));
        let password = password.then_some(("mail.smtp_url", "the password of mail.smtp_url"));
        let secret = secret.or(password);
        examined.add(open_to_others(file, secret).into_iter().collect());
        if !examined.settings.development {
            examined.problems.extend(writable_by_others(file));
        }
    }
    examined
}

/// The text of the settings file.
///
/// # Errors
/// One sentence with what to do, and its weight: another user may have the right that this one
/// lacks.
fn text_of(path: &Path) -> Result<String, (Weight, String)> {
    let is_file = fs::metadata(path).map(|file| file.is_file());
    let text = match is_file {
        Ok(false) => Err(io::Error::other("it is not a regular file")),
        _ => fs::read_to_string(path),
    };
    let path = path.display();
    text.map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => (
            Weight::Problem,
            format!(
                "the settings file {path} does not exist: make one with `switchyard init`, or name \
                 another with --config"
            ),
        ),
        io::ErrorKind::PermissionDenied => (
            Weight::Unseen,
            format!(
                "the settings file {path} cannot be read: {why}. The user that runs the server has \
                 to be able to read the file and to enter every folder above it: change their \
                 owner or mode, or run this command as that user"
            ),
        ),
        _ => (
            Weight::Problem,
            format!("the settings file {path} cannot be read: {why}"),
        ),
    })
}

/// Reads each value alone. A value of a wrong type is a problem, and its setting keeps its default.
fn extract(sources: &mut Sources) -> (Settings, BTreeSet<String>) {
    let mut unreadable = BTreeSet::new();
    for (setting, value) in &sources.values {
        let alone = figment::util::nest(setting, value.clone());
        let Err(error) = alone.deserialize::<Settings>() else {
            continue;
        };
        let why = match SECRET_SETTINGS.contains(&setting.as_str()) {
            true => "its value is not a text".to_owned(),
            false => error.kind.to_string(),
        };
        let example = names::example(setting);
        let example = example.map_or(String::new(), |line| format!(". Write it as in {line}"));
        sources.problems.push(Problem {
            setting: Some(setting.clone()),
            weight: Weight::Problem,
            origin: sources.origins.get(setting).cloned().unwrap_or_default(),
            text: format!("{setting} cannot be read: {why}{example}"),
        });
        unreadable.insert(setting.clone());
    }
    sources
        .values
        .retain(|setting, _| !unreadable.contains(setting));
    let mut all = Dict::new();
    for (setting, value) in &sources.values {
        match setting.split_once('.') {
            Some((section, name)) => {
                let fields = all
                    .entry(section.to_owned())
                    .or_insert_with(|| Value::from(Dict::new()));
                if let Value::Dict(_, fields) = fields {
                    fields.insert(name.to_owned(), value.clone());
                }
            }
            None => {
                all.insert(setting.clone(), value.clone());
            }
        }
    }
    match Value::from(all).deserialize::<Settings>() {
        Ok(settings) => (settings, unreadable),
        Err(error) => {
            let text = format!("the settings cannot be read: {error}");
            sources
                .problems
                .push(Problem::of_file(Origin::Nowhere, text));
            (Settings::default(), unreadable)
        }
    }
}

/// Settings whose values are never shown.
const SECRET_SETTINGS: [&str; 4] = [
    "mail.smtp_url",
    "openid.client_secret",
    "secrets.master_key",
    "telemetry.authorization",
];

fn has_password(url: &Value) -> bool {
    let url = url.as_str().and_then(|url| url::Url::parse(url).ok());
    url.is_some_and(|url| url.password().is_some())
}

/// The fault of a file that others can read and that has a secret: its setting and its name.
fn open_to_others(file: &Path, secret: Option<(&str, &str)>) -> Option<Fault> {
    let (setting, name) = secret?;
    let mode = fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (mode & 0o007 != 0).then(|| Fault {
        setting: setting.to_owned(),
        weight: Weight::Problem,
        text: format!(
            "the settings file {path} holds {name} and can be read by others (mode {mode:o}): run \
             `chmod 600 {path}`, or give the setting by the environment",
            path = file.display()
        ),
    })
}

/// The problem of a file that others can write, whatever is in it: they could add the hash of a
/// gateway to `gateways.pinned`, or a token to `operator.tokens`.
fn writable_by_others(file: &Path) -> Option<Problem> {
    let mode = fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let text = format!(
        "the settings file {path} can be written by others than its owner (mode {mode:o}): whoever \
         writes it can add operators and gateways, so run `chmod go-w {path}`",
        path = file.display()
    );
    (mode & 0o022 != 0).then(|| Problem::of_file(Origin::Nowhere, text))
}

impl Overrides {
    fn apply(&self, settings: &mut Settings, origins: &mut Origins) {
        let mut note = |setting: &str, option| {
            origins.insert(setting.to_owned(), Origin::Option(option));
        };
        if self.development {
            settings.development = true;
            note("development", "--development");
        }
        if let Some(listen) = self.listen {
            settings.server.listen = listen;
            note("server.listen", "--listen");
        }
        if let Some(port) = self.port {
            settings.server.listen.set_port(port);
            note("server.listen", "--port");
        }
        if let Some(data) = &self.data {
            settings.data.dir.clone_from(data);
            note("data.dir", "--data");
        }
        if let Some(gateways) = &self.gateways {
            settings.gateways.dir.clone_from(gateways);
            note("gateways.dir", "--gateways");
        }
        if let Some(limit) = self.rate_limit {
            settings.rate_limit.per_minute = limit;
            note("rate_limit.per_minute", "--rate-limit");
        }
    }
}
