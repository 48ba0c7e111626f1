//! `cargo xtask docs`: builds the documentation as a book.

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
    must(typos.args(DOCUMENTS))?;
    if !tools::has_mdbook() {
        println!("NOT BUILT: the book. `cargo xtask docs` installs mdbook and builds it.");
        return Ok(());
    }
    build()
}

/// Files and folders of documentation. Tests and locales have words of other languages.
const DOCUMENTS: [&str; 9] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "examples",
    "ops",
    "book.toml",
];

fn build() -> anyhow::Result<()> {
    let mut book = program(tools::mdbook()?);
    book.arg("build").arg(root());
    must(book.arg("--dest-dir").arg(target().join("book")))
}
