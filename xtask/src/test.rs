//! `cargo xtask test`: every test there is, one step after another, all of them even when one
//! fails.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use switchyard_progress::{Progress, Unit};

use crate::dist::Dist;
use crate::revision::Revision;
use crate::run::{self, cargo, must, program};
use crate::stage::Stage;
use crate::step_times::StepTimes;
use crate::tools;

/// Install what the tests need, where that can be done, and run every test there is
#[derive(Args)]
pub struct Test {
    /// Only these steps, by name
    #[arg(value_name = "STEP")]
    only: Vec<String>,
    /// List the steps and stop
    #[arg(long)]
    list: bool,
}

struct Step {
    name: &'static str,
    does: &'static str,
    run: fn() -> anyhow::Result<()>,
}

/// Cheap ones first: errors are known early. `stage` is before all steps that start the real
/// program.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        does: "rustfmt changes nothing",
        run: format,
    },
    Step {
        name: "lints",
        does: "clippy, warnings denied",
        run: lints,
    },
    Step {
        name: "docs",
        does: "the documentation builds, of the code and as a book; its words are spelled right",
        run: docs,
    },
    Step {
        name: "machete",
        does: "every dependency in a Cargo.toml is used",
        run: machete,
    },
    Step {
        name: "stage",
        does: "the program and its gateways build",
        run: stage,
    },
    Step {
        name: "lines",
        does: "lines of the product, printed",
        run: lines,
    },
    Step {
        name: "rust",
        does: "unit, store, HTTP, tidy and crash tests",
        run: rust_tests,
    },
    Step {
        name: "simulation",
        does: "10,000 histories, or a minute of them, in a world that lies and kills",
        run: crate::simulate::test,
    },
    Step {
        name: "coverage",
        does: "histories of the model checker reach each line of the core that is not listed",
        run: crate::coverage::test,
    },
    Step {
        name: "examples",
        does: "the examples in the documentation of the code",
        run: doc_tests,
    },
    Step {
        name: "memory",
        does: "the gateway SDK under AddressSanitizer, and under Miri where it is installed",
        run: crate::memory::test,
    },
    Step {
        name: "contract",
        does: "generated requests against /openapi.json",
        run: contract,
    },
    Step {
        name: "doubles",
        does: "gateways against implementations that are not ours",
        run: doubles,
    },
    Step {
        name: "chain",
        does: "payments in coins and tokens on a local chain",
        run: chain,
    },
    Step {
        name: "browser",
        does: "the checkout page in Chromium",
        run: browser,
    },
    Step {
        name: "alerts",
        does: "promtool parses the alert rules, and each alert fires for its fault",
        run: alerts,
    },
    Step {
        name: "packages",
        does: "the Debian package installs, upgrades and purges; the steps of the Dockerfile work",
        run: packages,
    },
    Step {
        name: "licences",
        does: "licences and sources of what we depend on",
        run: licences,
    },
    Step {
        name: "advisories",
        does: "known holes in what we depend on, when their list can be had",
        run: advisories,
    },
];

impl Test {
    pub fn run(&self) -> anyhow::Result<()> {
        if self.list {
            STEPS
                .iter()
                .for_each(|step| println!("{:<10} {}", step.name, step.does));
            return Ok(());
        }
        if let Some(unknown) = self
            .only
            .iter()
            .find(|name| STEPS.iter().all(|step| step.name != *name))
        {
            anyhow::bail!("there is no step `{unknown}`; `cargo xtask test --list` shows them");
        }
        let wanted =
            |step: &&Step| self.only.is_empty() || self.only.iter().any(|name| name == step.name);
        let list = not_looked_at();
        if list.exists() {
            std::fs::remove_file(&list)?;
        }
        let steps: Vec<_> = STEPS.iter().filter(wanted).collect();
        let results = all(&steps);
        summarize(&results, &std::fs::read_to_string(list).unwrap_or_default());
        if results.iter().any(|(_, _, result)| result.is_err()) {
            std::process::exit(1);
        }
        Ok(())
    }
}

type Timed = (&'static Step, Duration, anyhow::Result<()>);

/// Runs the steps, and shows before each of them how far the run is.
fn all(steps: &[&'static Step]) -> Vec<Timed> {
    let mut times = StepTimes::read();
    let mut results = Vec::new();
    for (done, step) in steps.iter().enumerate() {
        println!();
        let left = times.of_steps(steps[done..].iter().map(|step| step.name));
        let stage = match left {
            Some(left) => format!("test, some {} left", shown(left)),
            None => "test".to_owned(),
        };
        let total = steps.len() as u64;
        Progress::mark(&stage, done as u64, total, Unit::Things("steps"));
        let timed = timed(step);
        if timed.2.is_ok() {
            times.keep(step.name, timed.1);
        }
        results.push(timed);
    }
    results
}

fn shown(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a step takes is shown to a person; nothing depends on it"
)]
fn timed(step: &'static Step) -> Timed {
    println!("==> {}: {}", step.name, step.does);
    let start = Instant::now();
    let result = (step.run)();
    if let Err(error) = &result {
        println!("==> {} failed: {error:#}", step.name);
    }
    (step, start.elapsed(), result)
}

/// File in which a test is listed, a line each, that passes without checks because this machine
/// lacks a prerequisite. None does as root.
fn not_looked_at() -> PathBuf {
    run::target().join("not-looked-at.txt")
}

/// The last line is separate, for programs that read the log. `blind`: the tests without checks, a
/// line each.
fn summarize(results: &[Timed], blind: &str) {
    println!("\n{:<10} {:>7}  result", "step", "time");
    for (step, time, result) in results {
        let shown = match result {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        println!("{:<10} {:>6}s  {shown}", step.name, time.as_secs());
    }
    let failed = results
        .iter()
        .filter(|(_, _, result)| result.is_err())
        .count();
    if !blind.is_empty() {
        println!("\nNOT LOOKED AT:\n{}", blind.trim_end());
    }
    let blind = match blind.lines().count() {
        0 => String::new(),
        tests => format!(", {tests} tests had nothing to look at"),
    };
    println!(
        "\n{} passed, {failed} failed{blind}",
        results.len() - failed
    );
}

fn format() -> anyhow::Result<()> {
    must(cargo().args(["fmt", "--all", "--", "--check"]))
}

fn lints() -> anyhow::Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets"]);
    clippy.args(run::quiet());
    must(clippy.args(["--", "--deny", "warnings"]))
}

/// Everything is documented for those who read the code, so a public item may point to a private
/// one.
fn docs() -> anyhow::Result<()> {
    let mut doc = cargo();
    doc.env(
        "RUSTDOCFLAGS",
        "--deny warnings --allow rustdoc::private_intra_doc_links",
    );
    doc.args([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    must(doc.args(run::quiet()))?;
    crate::docs::test()
}

fn stage() -> anyhow::Result<()> {
    Stage::debug().run().map(drop)
}

/// `ignored`: the tests that need more than cargo, which a plain `cargo test` leaves out.
fn tests(package: &[&str], ignored: bool, more: &[(&str, PathBuf)]) -> anyhow::Result<()> {
    let mut tests = cargo();
    // Staged once, in the step of that name: the tests need not build again.
    tests
        .env("SWITCHYARD_STAGED", "1")
        .env("SWITCHYARD_NOT_LOOKED_AT", not_looked_at())
        .envs(more.iter().map(|(name, path)| (*name, path)));
    if run::has("cargo-nextest", &["--version"]) {
        tests
            .args(["nextest", "run", "--no-fail-fast"])
            .args(package);
        tests.args(
            ignored
                .then_some(["--run-ignored", "only"])
                .iter()
                .flatten(),
        );
    } else {
        tests
            .args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"])
            .args(package);
        tests.args(ignored.then_some(["--", "--ignored"]).iter().flatten());
    }
    must(&mut tests)
}

fn rust_tests() -> anyhow::Result<()> {
    let python = ("SWITCHYARD_PYTHON", tools::python_packages()?);
    let mut more = vec![python];
    match tools::oldest_rust() {
        Ok(rust) => more.push(("SWITCHYARD_OLDEST_RUST", rust)),
        Err(why) => println!("NOT CHECKED: the SDK with its oldest Rust: {why:#}"),
    }
    for (variable, proxy) in [
        ("SWITCHYARD_NGINX", tools::nginx()),
        ("SWITCHYARD_CADDY", tools::caddy()),
    ] {
        match proxy {
            Ok(program) => more.push((variable, program)),
            Err(why) => println!("NOT CHECKED: a configuration of ops/proxy: {why:#}"),
        }
    }
    tests(&["--workspace"], false, &more)
}

fn doc_tests() -> anyhow::Result<()> {
    must(cargo().args(["test", "--quiet", "--workspace", "--doc"]))
}

fn contract() -> anyhow::Result<()> {
    let python = ("SWITCHYARD_PYTHON", tools::python_packages()?);
    tests(
        &["--package", "switchyard-tests", "--test", "contract"],
        true,
        &[python],
    )
}

fn doubles() -> anyhow::Result<()> {
    let mut tests = cargo();
    tests.env("SWITCHYARD_NPM_PACKAGES", tools::npm_packages()?);
    tests.args(["test", "--package", "gateway-pawapay"]);
    tests.args(["--package", "gateway-stripe"]);
    tests.args(["--package", "gateway-flutterwave"]);
    must(tests.args(["--test", "independent", "--", "--ignored"]))
}

fn chain() -> anyhow::Result<()> {
    let anvil = [("SWITCHYARD_ANVIL", tools::anvil()?)];
    tests(&["--package", "gateway-crypto-evm"], true, &anvil)?;
    tests(
        &["--package", "switchyard-tests", "--test", "gateway_crypto"],
        true,
        &anvil,
    )
}

fn browser() -> anyhow::Result<()> {
    let mut node = program("node");
    node.env("SWITCHYARD_CHROMIUM", tools::chromium()?);
    node.env("SWITCHYARD_NPM_PACKAGES", tools::npm_packages()?);
    node.env("SWITCHYARD_STAGE", Stage::debug().run()?.folder);
    // One file at a time: each starts a server and a browser, and there may be two cores.
    node.args(["--test", "--test-concurrency=1"]);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(run::root().join("tests/browser"))? {
        files.push(entry?.path());
    }
    files.sort();
    node.args(
        files
            .iter()
            .filter(|file| file.to_string_lossy().ends_with(".test.mjs")),
    );
    must(&mut node)
}

/// Names in the rules, the dashboard and the runbook are a matter of the tidy test.
fn alerts() -> anyhow::Result<()> {
    let promtool = tools::promtool()?;
    let rules = run::root().join("ops/prometheus");
    let mut check = program(&promtool);
    check.args(["check", "rules", "alerts.yml"]);
    must(check.current_dir(&rules))?;
    let mut test = program(&promtool);
    test.args([
        "test",
        "rules",
        "alerts.test.yml",
        "alerts-of-days.test.yml",
    ]);
    must(test.current_dir(&rules))
}

/// The package is installed on copies of this system. Where none can be made, this says so, and is
/// no failure.
fn packages() -> anyhow::Result<()> {
    let needs = [
        ("dpkg of Debian or Ubuntu", run::has("dpkg", &["--version"])),
        (
            "root, with the right to mount",
            run::has("unshare", &["--mount", "true"]),
        ),
    ];
    if let Some((needed, _)) = needs.iter().find(|(_, is_there)| !is_there) {
        println!("NOT CHECKED: installing the package takes {needed}");
        return Ok(());
    }
    let folder = run::target().join("dist-of-tests");
    Dist::of_tests(&folder).run()?;
    let mut variables = vec![("SWITCHYARD_PACKAGES", folder)];
    if let Some(revision) = Revision::of_tree()? {
        variables.push(("SWITCHYARD_PACKAGED_COMMIT", revision.commit.into()));
    }
    tests(
        &["--package", "switchyard-tests", "--test", "packages"],
        true,
        &variables,
    )
}

fn machete() -> anyhow::Result<()> {
    must(&mut program(tools::cargo_machete()?))
}

fn lines() -> anyhow::Result<()> {
    must(&mut program(run::target().join("debug/lines"))) // built with the stage
}

fn licences() -> anyhow::Result<()> {
    must(program(tools::cargo_deny()?).args([
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// The list of known holes is on the network. Without one this says so, and is no failure: a step
/// that looked at nothing must not read like one that found nothing, and no commit is at fault for
/// a machine without a network.
fn advisories() -> anyhow::Result<()> {
    let deny = tools::cargo_deny()?;
    let mut fetch = program(&deny);
    fetch.args(["fetch", "db"]).env("GIT_TERMINAL_PROMPT", "0");
    // A download below a kilobyte a second for this time is aborted.
    let patience = [
        ("GIT_HTTP_LOW_SPEED_LIMIT", "1000"),
        ("GIT_HTTP_LOW_SPEED_TIME", "20"),
    ];
    let is_fetched = fetch.envs(patience).output()?.status.success();
    if !is_fetched && !has_kept_advisories() {
        println!(
            "NOT CHECKED for known holes: the list of RustSec cannot be fetched, and none is kept from before. \
             Run `cargo xtask test advisories` where there is a network."
        );
        return Ok(());
    }
    if !is_fetched {
        println!(
            "the list of known holes cannot be fetched: the one of the last time is looked through"
        );
    }
    must(program(deny).args(["--offline", "check", "--hide-inclusion-graph", "advisories"]))
}

/// Whether cargo-deny has a stored list of advisories.
fn has_kept_advisories() -> bool {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let lists = cargo.and_then(|cargo| std::fs::read_dir(cargo.join("advisory-dbs")).ok());
    let mut lists = lists.into_iter().flatten().flatten();
    lists.any(|list| list.path().join(".git").exists())
}
