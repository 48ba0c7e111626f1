//! `cargo xtask model --coverage`: lines of the core that no history of the model checker reaches.
//!
//! `tests/model/unreached.txt` lists them with reasons. An entry is a file, a function and the text
//! of a line, without its number. `«»` marks the rest of a line that is reached in part. A line
//! that follows belongs to the entry before it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::run::{self, cargo, must, program, root};
use crate::tools;

const LIST: &str = "tests/model/unreached.txt";
const CORE: [&str; 2] = ["engine/core/src/transaction/", "engine/core/src/journal.rs"];
const NEVER_CALLED: &str = "is not called";

/// Runs the histories of two attempts, and fails where the list is not the truth.
pub fn check() -> anyhow::Result<()> {
    let found = unreached(&measured()?)?;
    let listed = std::fs::read_to_string(root().join(LIST)).context(LIST)?;
    let listed = listed_entries(&listed)?;
    let (mut unlisted, mut reached) = (0, 0);
    let entries: BTreeSet<_> = found.keys().chain(listed.keys()).collect();
    for entry in entries {
        let times = |entries: &Entries| entries.get(entry).copied().unwrap_or(0);
        let (found, listed) = (times(&found), times(&listed));
        for _ in listed..found {
            unlisted += 1;
            println!("no history reaches {entry}");
        }
        for _ in found..listed {
            reached += 1;
            println!("reached, or gone: {entry}");
        }
    }
    if unlisted + reached > 0 {
        bail!("{unlisted} entries are missing in {LIST}, and {reached} are to be removed");
    }
    let total: usize = found.values().sum();
    println!("{total} entries of {LIST} are not reached, and nothing else");
    Ok(())
}

/// The step of `cargo xtask test`: without llvm-cov it says that nothing was checked.
pub fn test() -> anyhow::Result<()> {
    if let Err(error) = tools::llvm() {
        println!("NOT CHECKED which lines of the core are reached: {error:#}");
        return Ok(());
    }
    check()
}

/// How often each entry occurs.
type Entries = BTreeMap<String, usize>;

/// Each entry stands below its reason, a paragraph of lines that begin with `#`.
fn listed_entries(list: &str) -> anyhow::Result<Entries> {
    let mut entries = Entries::new();
    let mut has_reason = false;
    for line in list.lines() {
        if line.is_empty() {
            has_reason = false;
        } else if line.starts_with('#') {
            has_reason = true;
        } else if has_reason {
            *entries.entry(line.to_owned()).or_default() += 1;
        } else {
            bail!("{LIST} gives no reason for {line}");
        }
    }
    Ok(entries)
}

/// Explores every scope of the tests, and returns llvm-cov's report. One thread: counters are not
/// atomic.
fn measured() -> anyhow::Result<Value> {
    let tools = tools::llvm()?;
    let folder = run::target().join("coverage");
    // A target that is named keeps the counters out of build scripts and macros.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut build = cargo();
    build.env("RUSTFLAGS", "-Cinstrument-coverage");
    // An incremental build leaves some functions that nothing calls out of the report.
    build.env("CARGO_INCREMENTAL", "0");
    build.args(["build", "--package", "switchyard-model"]);
    build.args(run::quiet());
    build.args(["--bin", "model", "--target", &target, "--target-dir"]);
    must(build.arg(&folder))?;
    let model = folder.join(target).join("debug/model");
    let [raw, data] = ["model.profraw", "model.profdata"].map(|file| folder.join(file));
    let mut explore = program(&model);
    must(
        explore
            .args(["--threads", "1"])
            .env("LLVM_PROFILE_FILE", &raw),
    )?;
    let mut merge = program(tools.join("llvm-profdata"));
    must(merge.arg("merge").arg(raw).arg("-o").arg(&data))?;
    let mut export = program(tools.join("llvm-cov"));
    export.arg("export").arg(model);
    export.arg("--instr-profile").arg(data);
    let output = export.output()?;
    if !output.status.success() {
        bail!("llvm-cov: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A piece of code: line, column, and the column of its end where it ends on the same line.
type Piece = (usize, usize, Option<usize>);

/// How often each piece of each file of the core ran, in all instances of its function.
fn counts(report: &Value) -> Option<BTreeMap<String, BTreeMap<Piece, u64>>> {
    let mut files: BTreeMap<String, BTreeMap<Piece, u64>> = BTreeMap::new();
    for function in report["data"][0]["functions"].as_array()? {
        for region in function["regions"].as_array()? {
            let number = |at: usize| region[at].as_u64();
            let index = |at: usize| usize::try_from(number(at)?).ok();
            let file = function["filenames"][index(5)?].as_str()?;
            let Some(at) = file.find("engine/core/src/") else {
                continue;
            };
            let file = &file[at..];
            // Kind 0 is code.
            if number(7)? != 0 || !CORE.iter().any(|core| file.starts_with(core)) {
                continue;
            }
            let end = (number(0) == number(2)).then(|| index(3)).flatten();
            let pieces = files.entry(file.to_owned()).or_default();
            *pieces.entry((index(0)?, index(1)?, end)).or_default() += number(4)?;
        }
    }
    Some(files)
}

fn unreached(report: &Value) -> anyhow::Result<Entries> {
    let mut entries = Entries::new();
    for (file, pieces) in counts(report).context("llvm-cov's report has another form")? {
        let text = std::fs::read_to_string(root().join(&file))?;
        let text: Vec<&str> = text.lines().collect();
        let mut functions: BTreeMap<_, BTreeMap<usize, Vec<(Piece, u64)>>> = BTreeMap::new();
        for (piece, count) in pieces {
            let lines = functions.entry(function(&text, piece.0)).or_default();
            lines.entry(piece.0).or_default().push((piece, count));
        }
        let name = file.trim_start_matches("engine/core/src/");
        for ((_, function), lines) in functions {
            let mut add = |what: &str| {
                let entry = format!("{name} {function}: {what}");
                *entries.entry(entry).or_default() += 1;
            };
            if lines.values().flatten().all(|(_, count)| *count == 0) {
                add(NEVER_CALLED);
                continue;
            }
            let mut follows = false;
            for (line, pieces) in lines {
                let is_whole = pieces.iter().all(|(_, count)| *count == 0);
                let is_reached = pieces.iter().all(|(_, count)| *count > 0);
                let is_next = follows && is_whole;
                if !is_reached && !is_next {
                    add(&shown(&text, line, &pieces, is_whole));
                }
                follows = !is_reached;
            }
        }
    }
    Ok(entries)
}

/// The function around a line: the number of its first line, and its name.
fn function(text: &[&str], line: usize) -> (usize, String) {
    let name = |line: &str| {
        let (before, after) = line.split_once("fn ")?;
        let mut words = before.split_whitespace();
        let is_first = words.all(|word| word.starts_with("pub") || word == "const");
        let name = after.split(['(', '<']).next()?;
        is_first.then(|| name.to_owned())
    };
    let above = text.iter().enumerate().take(line).rev();
    let mut found = above.filter_map(|(at, line)| Some((at, name(line)?)));
    found.next().unwrap_or_default()
}

/// A line, with marks around its part that is not reached. A `return` with the condition above it.
fn shown(text: &[&str], line: usize, pieces: &[(Piece, u64)], is_whole: bool) -> String {
    let own = text[line - 1];
    if !is_whole {
        let unreached = || pieces.iter().filter(|(_, count)| *count == 0);
        let ends = unreached().map(|((_, _, end), _)| end.unwrap_or(own.len() + 1));
        let start = unreached().map(|((_, start, _), _)| *start).min();
        let start = start.unwrap_or(1) - 1;
        let end = ends.max().unwrap_or(1) - 1;
        let marked = format!("{}«{}»{}", &own[..start], &own[start..end], &own[end..]);
        return marked.trim().to_owned();
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let opens = |above: &&&str| indent(above) < indent(own) && above.trim() != "{";
    let above = text[..line - 1].iter().rev().find(opens);
    match above {
        Some(above) if own.trim().starts_with("return") => {
            format!("{} {}", above.trim(), own.trim())
        }
        _ => own.trim().to_owned(),
    }
}
