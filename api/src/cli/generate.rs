//! `switchyard completions` and `switchyard man-pages`: files for packages, made from the
//! definition of the command line.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

use super::output::print;

/// Arguments of `switchyard completions`.
#[derive(Args)]
pub struct Completions {
    /// Shell that completes the commands
    shell: Shell,
}

impl Completions {
    pub fn run(&self, mut line: Command) -> anyhow::Result<()> {
        let name = line.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut line, name, &mut script);
        Ok(print(&String::from_utf8(script)?)?)
    }
}

/// Arguments of `switchyard man-pages`.
#[derive(Args)]
pub struct ManPages {
    /// Folder for the pages; it is made if it does not exist
    folder: PathBuf,
}

impl ManPages {
    pub fn run(&self, line: Command) -> anyhow::Result<()> {
        let folder = &self.folder;
        fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(line, folder))
            .with_context(|| format!("failed to write man pages to {}", folder.display()))
    }
}
