//! The repository's own lint rules, as functions from a file to its findings.
//!
//! `tests/tests/tidy.rs` runs every rule over every file of the repository. A rule that the
//! compiler or clippy can hold lives there; these are the others: sizes, words, which room may know
//! which.

mod arrows;
mod crates;
mod documents;
mod locks;
mod module_tables;
mod modules;
pub mod monitoring;
mod rules;
mod script;
mod source;
mod tour;

pub use crates::crate_metadata;
pub use documents::{dead_links, named_paths_missing};
pub use locks::drift;
pub use modules::unused_dependencies;
pub use rules::{BANS, Ban, RULES};
pub use source::Source;
pub use tour::tour_problems;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of a function, in any language.
const FUNCTION_LINES: usize = 70;

/// One thing that is wrong, with what to do instead.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub says: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.says)
    }
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests crate stands in the workspace")
        .to_path_buf()
}

/// Every text file that is, or is about to be, in the repository.
pub fn repository_files() -> anyhow::Result<Vec<Source>> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ])
        .current_dir(root())
        .output()?;
    anyhow::ensure!(
        listed.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let mut files = Vec::new();
    for path in String::from_utf8(listed.stdout)?
        .split('\0')
        .filter(|path| !path.is_empty())
    {
        // A file that git knows and that is gone from the disk is being deleted; one that is not
        // UTF-8 is a picture.
        if let Ok(text) = std::fs::read_to_string(root().join(path)) {
            files.push(Source::new(path, &text));
        }
    }
    let test_modules: Vec<String> = files.iter().flat_map(Source::test_modules).collect();
    let is_in = |path: &str, module: &String| {
        path.strip_prefix(module)
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    for file in &mut files {
        file.is_test |= test_modules.iter().any(|module| is_in(&file.path, module));
    }
    Ok(files)
}
