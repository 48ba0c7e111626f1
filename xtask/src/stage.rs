//! Builds the program and the bundled gateways, and lays them side by side:
//!
//! ```text
//! target/stage/debug/switchyard
//! target/stage/debug/gateways/*.so
//! ```
//!
//! A bundled gateway is a folder of `plugins/` with a `gateway.json`. To add one is to add the
//! folder: nothing here lists them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::revision::Revision;
use crate::run;
use crate::tools;

/// Build the program and the bundled gateways, and print the folder that holds them
#[derive(Args)]
pub struct Stage {
    /// Optimised, as it is deployed
    #[arg(long)]
    pub release: bool,
    /// With the list of their dependencies in program and gateways, by cargo-auditable
    #[arg(long, requires = "release")]
    pub auditable: bool,
    /// Whether `--version` names the commit, as it does with `--release`.
    #[arg(skip)]
    pub names_commit: bool,
}

/// The program and its gateways, ready to start.
pub struct Staged {
    pub folder: PathBuf,
}

impl Staged {
    pub fn program(&self) -> PathBuf {
        self.folder.join("switchyard")
    }

    pub fn gateways(&self) -> PathBuf {
        self.folder.join("gateways")
    }
}

impl Stage {
    /// The build of the tests.
    pub fn debug() -> Self {
        Self {
            release: false,
            auditable: false,
            names_commit: false,
        }
    }

    pub fn run(&self) -> anyhow::Result<Staged> {
        let gateways = bundled_gateways()?;
        let mut build = if self.auditable {
            let mut auditable = run::as_cargo(tools::cargo_auditable()?);
            auditable.arg("auditable");
            auditable
        } else {
            run::cargo()
        };
        build.arg("build");
        // Outside git, as in a container build, the variables are passed on as they are.
        if (self.release || self.names_commit)
            && let Some(revision) = Revision::of_tree()?
        {
            build.envs(revision.variables());
        }
        if self.release {
            // As it is deployed: the program and its gateways, with their own features alone.
            build.args(["--release", "--package", "switchyard"]);
            for name in &gateways {
                build.args(["--package", name]);
            }
        } else {
            // The whole workspace, so that `serve` and `test` share one build: cargo would compile
            // the dependencies of a part of it again, with that part's features.
            build.arg("--workspace");
        }
        run::must(&mut build)?;

        let profile = if self.release { "release" } else { "debug" };
        let built = run::target().join(profile);
        let staged = Staged {
            folder: run::target().join("stage").join(profile),
        };
        std::fs::create_dir_all(staged.gateways())?;
        place(&built.join("switchyard"), &staged.program())?;
        let mut expected = Vec::new();
        for name in &gateways {
            let file = format!("lib{}.so", name.replace('-', "_"));
            place(&built.join(&file), &staged.gateways().join(&file))?;
            expected.push(file);
        }
        remove_others(&staged.gateways(), &expected)?;
        Ok(staged)
    }
}

/// The packages of `plugins/*/gateway.json`, in order of their names.
pub fn bundled_gateways() -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(run::root().join("plugins"))? {
        let folder = entry?.path();
        if folder.join("gateway.json").exists() {
            names.push(package_name(&folder.join("Cargo.toml"))?);
        }
    }
    names.sort();
    Ok(names)
}

fn package_name(manifest: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(manifest)
        .with_context(|| format!("{} is missing", manifest.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("name = "));
    let name = line.with_context(|| format!("{} has no `name = `", manifest.display()))?;
    Ok(name.trim_matches('"').to_owned())
}

/// Puts a file in place whole or not at all: a server or a test may hold the old one open.
fn place(from: &Path, to: &Path) -> anyhow::Result<()> {
    let new = to.with_extension(format!("new-{}", std::process::id()));
    let _ = std::fs::remove_file(&new);
    let placed = std::fs::hard_link(from, &new).or_else(|_| std::fs::copy(from, &new).map(drop));
    placed.with_context(|| format!("cannot place {}", from.display()))?;
    std::fs::rename(&new, to)?;
    // Two names of one file: then the renaming leaves both.
    let _ = std::fs::remove_file(&new);
    Ok(())
}

/// A gateway that is not bundled any more must not be served from an old build.
fn remove_others(folder: &Path, expected: &[String]) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !expected
            .iter()
            .any(|name| entry.file_name() == name.as_str())
        {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
