//! `switchyard config`: commands for the settings.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::output::{print, visible};
use super::report::{Level, ReportLine, Style, blocks, sum};
use super::store::Installation;
use crate::config::{Examined, Problem, Weight};
use crate::serve::examine;

/// Commands of `switchyard config`.
#[derive(Subcommand)]
pub enum Config {
    /// Check the settings and report every problem at once
    #[command(after_help = CHECK_EXAMPLE)]
    Check(Check),
}

/// Arguments of `switchyard config check`.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    installation: Installation,
    /// Exit with code 2 also for what this user may not read: for the user that runs the server
    #[arg(long)]
    strict: bool,
}

const CHECK_EXAMPLE: &str = "\
Example:
  switchyard config check --config /etc/switchyard/switchyard.toml

The checks are those of a start; nothing is started or changed. Exit code 0: no problem, perhaps
warnings. Exit code 2: the server would refuse these settings. A finding `unknown` names what this
user may not read: another user may, so it is no problem unless --strict is given.";

impl Config {
    pub fn run(self, json: bool) -> ExitCode {
        match self {
            Self::Check(check) => check.run(json),
        }
    }
}

impl Check {
    fn run(&self, json: bool) -> ExitCode {
        let source = self.installation.source();
        let examined = examine(&source);
        let file = source.file.as_ref().map(|file| file.display().to_string());
        let shown = match json {
            true => as_json(&examined, file.as_deref()),
            false => as_text(&examined, file.as_deref(), Style::of_stdout()),
        };
        let is_refused = match self.strict {
            true => examined.refusals().next().is_some(),
            false => examined.problems.iter().any(is_problem),
        };
        match print(&shown) {
            Ok(()) if !is_refused => ExitCode::SUCCESS,
            Ok(()) => ExitCode::from(2),
            Err(error) => super::failed(&error.into()),
        }
    }
}

fn is_problem(problem: &Problem) -> bool {
    problem.weight == Weight::Problem
}

fn level(weight: Weight) -> Level {
    match weight {
        Weight::Problem => Level::Problem,
        Weight::Warning => Level::Warning,
        Weight::Unseen => Level::Unknown,
    }
}

fn as_text(examined: &Examined, file: Option<&str>, style: Style) -> String {
    let problems = &examined.problems;
    let titles: Vec<String> = problems
        .iter()
        .map(|found| found.origin.to_string())
        .collect();
    let texts: Vec<String> = problems.iter().map(|found| visible(&found.text)).collect();
    let mut lines: Vec<ReportLine> = problems
        .iter()
        .zip(titles.iter().zip(&texts))
        .map(|(found, (title, text))| ReportLine {
            level: level(found.weight),
            title,
            text,
            advice: None,
        })
        .collect();
    let read = read(examined, file);
    let no_problem = format!("{read}, no problem");
    if lines.is_empty() {
        lines.push(ReportLine {
            level: Level::Ok,
            title: "",
            text: &no_problem,
            advice: None,
        });
        return blocks(&lines, style);
    }
    let sum = sum(lines.iter().map(|line| line.level));
    let rest = match examined.is_complete() {
        true => "",
        false => "\nThe rest is checked when the file can be read.",
    };
    format!("{}\n{read}: {sum}{rest}\n", blocks(&lines, style))
}

/// Name of the file and number of its settings.
fn read(examined: &Examined, file: Option<&str>) -> String {
    let mode = match examined.settings.development {
        true => "development mode",
        false => "production mode",
    };
    let plural = if examined.count == 1 { "" } else { "s" };
    let count = format!("{} setting{plural}, {mode}", examined.count);
    match file {
        Some(file) => format!("{file}: {count}"),
        None => format!("no settings file (name one with --config): {count}"),
    }
}

fn as_json(examined: &Examined, file: Option<&str>) -> String {
    let findings: Vec<_> = examined.problems.iter().map(Problem::as_json).collect();
    let count = |weight| {
        let found = examined.problems.iter();
        found.filter(|problem| problem.weight == weight).count()
    };
    let report = json!({
        "file": file,
        "settings": examined.count,
        "development": examined.settings.development,
        "is_complete": examined.is_complete(),
        "problems": count(Weight::Problem),
        "warnings": count(Weight::Warning),
        "unknown": count(Weight::Unseen),
        "findings": findings,
    });
    format!("{report:#}\n")
}
