//! `cargo xtask fuzz`: the targets of tests/fuzz under libFuzzer and AddressSanitizer, for any
//! time.
//!
//! Results stay below `target/fuzz`: the growing corpus, and under `artifacts` the inputs that
//! broke a target. The ordinary tests run the same targets over the corpus of the repository;
//! building with a sanitizer takes too long for them.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::Args;
use switchyard_progress::{Progress, Unit};

use crate::run::{self, must_below, program};
use crate::tools;

/// Run the fuzz targets under libFuzzer, one after the other
#[derive(Args)]
pub struct Fuzz {
    /// Only these targets
    #[arg(value_name = "TARGET")]
    only: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    seconds: u64,
    /// List the targets and stop
    #[arg(long)]
    list: bool,
}

impl Fuzz {
    pub fn run(&self) -> anyhow::Result<()> {
        let all = targets()?;
        if self.list {
            all.iter().for_each(|name| println!("{name}"));
            return Ok(());
        }
        if let Some(unknown) = self.only.iter().find(|name| !all.contains(name)) {
            bail!("there is no target `{unknown}`; `cargo xtask fuzz --list` shows them");
        }
        let wanted = if self.only.is_empty() {
            &all
        } else {
            &self.only
        };
        let fuzzer = tools::cargo_fuzz()?;
        let mut broken = Vec::new();
        let total = wanted.len() as u64;
        let progress = Progress::begin("fuzz", Some(total), Unit::Things("targets"));
        for name in wanted {
            progress.name(&format!("fuzz {name} for {} s", self.seconds));
            progress.without_bar(|| println!("\n==> {name}: {} s", self.seconds));
            if let Err(error) = must_below(&progress, &mut self.command(&fuzzer, name)?) {
                progress.without_bar(|| println!("==> {name}: {error:#}"));
                broken.push(name.as_str());
            }
            progress.add(1);
        }
        drop(progress);
        ensure!(
            broken.is_empty(),
            "broken: {}; what broke them is in {}",
            broken.join(", "),
            folder("artifacts").display()
        );
        Ok(())
    }

    fn command(&self, fuzzer: &Path, name: &str) -> anyhow::Result<std::process::Command> {
        // Results are kept apart: the repository's corpus stays small, and grows by hand.
        let (found, artifacts) = (folder("corpus").join(name), folder("artifacts").join(name));
        std::fs::create_dir_all(&found)?;
        std::fs::create_dir_all(&artifacts)?;
        let mut fuzz = program(fuzzer);
        // Sanitizers and coverage are switches that a stable compiler keeps shut.
        fuzz.env("RUSTC_BOOTSTRAP", "1");
        // The switch below is for the fuzzer; the sanitizer looks for leaks by itself at the end.
        fuzz.env("ASAN_OPTIONS", "detect_leaks=0");
        fuzz.args([
            "fuzz",
            "run",
            "--fuzz-dir",
            "tests/fuzz/libfuzzer",
            "--target-dir",
        ]);
        fuzz.arg(folder("build")).arg(name).arg(&found);
        fuzz.arg(run::root().join("tests/fuzz/corpus").join(name));
        fuzz.arg("--");
        fuzz.arg(format!("-max_total_time={}", self.seconds));
        fuzz.arg(format!("-artifact_prefix={}/", artifacts.display()));
        fuzz.args([
            "-rss_limit_mb=2048",
            // The document of the API is kept for as long as a program runs, once for each router;
            // the targets make several.
            "-detect_leaks=0",
            "-timeout=10",
            "-max_len=65536",
            "-print_final_stats=1",
        ]);
        Ok(fuzz)
    }
}

/// The names of all targets: each has a folder in the corpus, which a test holds.
fn targets() -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(run::root().join("tests/fuzz/corpus"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn folder(name: &str) -> PathBuf {
    run::target().join("fuzz").join(name)
}
