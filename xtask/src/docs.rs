//! `cargo xtask docs`: builds the documentation as a book.

use anyhow::ensure;
use clap::Args;

use crate::run::{must, program, root, target};
use crate::tools;

/// Build the documentation as a book, into target/book
#[derive(Args)]
pub struct Docs {
    /// Open it in a browser
    #[arg(long)]
    open: bool,
}

impl Docs {
    pub fn run(&self) -> anyhow::Result<()> {
        build()?;
        let first = target().join("book/index.html");
        println!("{}", first.display());
        if self.open {
            must(program("xdg-open").arg(first))?;
        }
        Ok(())
    }
}

/// Checks the spelling of all documents, and builds the book where mdbook is installed: to compile
/// it takes minutes. Links, chapters and generated pages are a matter of the tests.
pub fn test() -> anyhow::Result<()> {
    let mut typos = program(tools::python_packages()?.join("typos"));
    typos.args(["--config", "typos.toml", "--format", "brief"]);
    must(typos.args(documents()?))?;
    if !tools::has_mdbook() {
        println!("NOT BUILT: the book. `cargo xtask docs` installs mdbook and builds it.");
        return Ok(());
    }
    build()
}

/// Every Markdown file of the repository, and the other files whose words people read. Tests and
/// locales have words of other languages. Pictures are left out: the spell check reads every file
/// that it is given.
fn documents() -> anyhow::Result<Vec<String>> {
    let mut list = program("git");
    list.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = list.arg("--").args(DOCUMENTS).output()?;
    ensure!(listed.status.success(), "git ls-files: {listed:?}");
    let listed = String::from_utf8(listed.stdout)?;
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    // One that was deleted and not committed is still listed.
    let paths = paths.filter(|path| root().join(path).exists());
    Ok(paths.map(str::to_owned).collect())
}

const DOCUMENTS: [&str; 7] = [
    "*.md",
    ".github",
    "docs",
    "examples",
    "ops",
    "book.toml",
    ":!*.png",
];

fn build() -> anyhow::Result<()> {
    let mut book = program(tools::mdbook()?);
    book.arg("build").arg(root());
    must(book.arg("--dest-dir").arg(target().join("book")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spell_check_reads_the_readme_of_every_crate_and_folder() {
        let documents = documents().unwrap();
        for path in [
            "README.md",
            "CODE_OF_CONDUCT.md",
            ".github/pull_request_template.md",
            "docs/README.md",
            "ops/prometheus/alerts.yml",
            "plugins/sdk/README.md",
            "plugins/stripe/README.md",
        ] {
            assert!(documents.iter().any(|one| one == path), "{path}");
        }
        let mut foreign = documents.iter().filter(|path| path.starts_with("target/"));
        assert_eq!(foreign.next(), None);
    }
}
