//! SIGHUP: reopens the log file and reads the settings that can change in a running server. The
//! others need a restart, and the log lists those of them that have changed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use tokio::signal::unix::Signal;

use super::supervisor;
use crate::config::{self, Overrides, Settings};
use crate::operations::logging::Log;

/// Sources of the settings.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The settings file.
    pub file: Option<PathBuf>,
    /// Options of the command line that replace settings.
    pub overrides: Overrides,
}

/// Reloads at each signal. `started_with`: the settings as they were read at the start.
pub async fn at_each(mut hangups: Signal, source: Source, started_with: Settings, log: Log) {
    while hangups.recv().await.is_some() {
        supervisor::reloading();
        reload(&source, &started_with, &log);
        supervisor::ready();
    }
}

fn reload(source: &Source, started_with: &Settings, log: &Log) {
    let settings = match read(source) {
        Ok(settings) => settings,
        Err(why) => {
            tracing::error!(error = why, "failed to reload settings");
            return;
        }
    };
    if let Err(why) = log.reload(&settings) {
        tracing::error!(error = format!("{why:#}"), "failed to reopen log");
    }
    let changed = changed(started_with, &settings);
    let waiting: Vec<_> = changed
        .iter()
        .filter(|name| !RELOADED.contains(&name.as_str()))
        .collect();
    if !waiting.is_empty() {
        tracing::warn!(settings.changed = ?waiting, "changed settings need a restart");
    }
    tracing::info!(log.level = settings.log.level, "settings reloaded");
}

fn read(source: &Source) -> Result<Settings, String> {
    let examined = config::examine(source.file.as_deref(), &source.overrides);
    let refusals: Vec<String> = examined.refusals().map(ToString::to_string).collect();
    match refusals.is_empty() {
        true => Ok(examined.settings),
        false => Err(refusals.join("; ")),
    }
}

/// Paths of the settings that differ. Secrets are compared by whether they are set, since they are
/// never written out.
fn changed(before: &Settings, after: &Settings) -> BTreeSet<String> {
    let (before, after) = (flat(before), flat(after));
    before
        .difference(&after)
        .map(|(name, _)| name.clone())
        .collect()
}

fn flat(settings: &Settings) -> BTreeSet<(String, String)> {
    let all = serde_json::to_value(settings).unwrap_or_default();
    let mut flat = BTreeSet::new();
    for (section, value) in all.as_object().into_iter().flatten() {
        match value {
            Value::Object(fields) => flat.extend(
                fields
                    .iter()
                    .map(|(name, value)| (format!("{section}.{name}"), value.to_string())),
            ),
            value => {
                flat.insert((section.clone(), value.to_string()));
            }
        }
    }
    flat
}

/// Settings that a running server takes over.
const RELOADED: [&str; 2] = ["log.level", "log.requests"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_setting_is_named_once() {
        let (before, mut after) = (Settings::default(), Settings::default());
        assert_eq!(changed(&before, &after), BTreeSet::new());
        after.log.level = "debug".to_owned();
        after.rate_limit.per_minute = 7;
        after.development = true;
        let named: Vec<_> = changed(&before, &after).into_iter().collect();
        assert_eq!(named, ["development", "log.level", "rate_limit.per_minute"]);
        for name in RELOADED {
            assert!(
                flat(&before).iter().any(|(known, _)| known == name),
                "{name}"
            );
        }
    }
}
