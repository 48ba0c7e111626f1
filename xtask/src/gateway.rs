//! `cargo xtask gateway`: creation and check of a gateway in a clone. `switchyard gateway new` and
//! `switchyard gateway check` do the same without one.

use clap::{Args, Subcommand};
use switchyard_gateway_template::{Created, NewGateway};

use crate::run::{self, must};

/// Begin a gateway, or check one that is built
#[derive(Subcommand)]
pub enum Gateway {
    New(NewGateway),
    Check(Check),
}

/// Check a built gateway: its file, its imports, and its handling of every kind of response
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Check {
    /// Arguments of `switchyard gateway check`: FILE [--samples FILE] [--json]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Gateway {
    pub fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::New(new) => create(new),
            Self::Check(check) => check.run(),
        }
    }
}

/// Outside of the clone, the new gateway builds against the SDK of the clone.
fn create(new: &NewGateway) -> anyhow::Result<()> {
    let mut new = new.clone();
    let sdk = run::root().join("plugins/sdk");
    new.sdk.get_or_insert(sdk);
    let created = new.create(Some(run::root()))?;
    println!("{}", next_steps(&new.name, &created));
    Ok(())
}

/// Text about a new gateway: its folder, and the commands for it.
fn next_steps(name: &str, created: &Created) -> String {
    let file = format!("libgateway_{name}.so");
    let folder = created.folder.display();
    let (test, library) = match created.is_inside {
        true => {
            let package = format!("gateway-{}", name.replace('_', "-"));
            (
                format!("cargo test -p {package} && cargo build -p {package}"),
                format!("target/debug/{file}"),
            )
        }
        false => (
            format!("(cd {folder} && cargo test && cargo build)"),
            format!("{folder}/target/debug/{file}"),
        ),
    };
    format!(
        "{folder} is a gateway for an imaginary provider. Next:\n  {test}\n  \
         cargo xtask gateway check {library}\nThen make it yours: docs/for-integrators.md."
    )
}

impl Check {
    /// The kit is built when it is needed, so that all else in here stays quick to build.
    fn run(&self) -> anyhow::Result<()> {
        let mut build = run::cargo();
        // With the features of the whole workspace, so that it shares its dependencies with what
        // `serve` builds.
        build.args(["build", "--workspace", "--bin", PACKAGE]);
        must(build.args(run::quiet()))?;
        let mut check = std::process::Command::new(run::target().join("debug").join(PACKAGE));
        let status = check.args(&self.arguments).status()?;
        std::process::exit(status.code().unwrap_or(2))
    }
}

const PACKAGE: &str = "switchyard-gateway-check";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use clap::Parser as _;

    use super::*;
    use crate::Task;

    /// Files below a folder, by their paths in it.
    fn files(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => files(&entry.path(), &format!("{name}/"), found),
                false => assert!(found.insert(name)),
            }
        }
    }

    #[test]
    fn the_tutorial_has_the_files_and_the_commands_of_a_new_gateway() {
        let page =
            std::fs::read_to_string(run::root().join("docs/tutorials/integrator.md")).unwrap();
        let of_page = |start: &str| {
            let mut lines = page.lines().filter(|line| line.starts_with(start));
            lines
                .next()
                .unwrap_or_else(|| panic!("no line begins with {start}"))
        };
        // The folder of the page is made in another one.
        let command = of_page("cargo xtask gateway new ");
        let parsed = Task::try_parse_from(command.split_whitespace().skip(1)).unwrap();
        let Task::Gateway(Gateway::New(mut new)) = parsed else {
            panic!("{command} makes no gateway");
        };
        let folder = new.dir.take().unwrap();
        let temporary = tempfile::tempdir().unwrap();
        new.dir = Some(temporary.path().join("gateway"));
        new.sdk = Some(run::root().join("plugins/sdk"));
        let created = new.create(Some(run::root())).unwrap();

        let mut made = BTreeSet::new();
        files(&created.folder, "", &mut made);
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let listed = rows
            .filter_map(|row| row.split('`').next())
            .map(str::to_owned);
        assert_eq!(listed.collect::<BTreeSet<_>>(), made);

        let said = next_steps(&new.name, &created);
        let [here, there] = [&created.folder, &folder].map(|path| path.display().to_string());
        let commands: Vec<_> = said
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .collect();
        assert_eq!(commands.len(), 2, "{said}");
        for command in commands {
            let moved = command.replace(&here, &there);
            assert!(
                page.contains(&format!("\n{moved}\n")),
                "the page lacks: {moved}"
            );
        }
    }
}
