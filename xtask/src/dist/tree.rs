//! Files of an installation, as the archive and the package hold them:
//!
//! ```text
//! bin/switchyard
//! lib/switchyard/gateways/*.so
//! lib/systemd/system/switchyard.service
//! share/bash-completion/completions/switchyard, and for fish and zsh
//! share/doc/switchyard
//! share/man/man1/*.1.gz
//! ```

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::run::{self, must, program};
use crate::stage::{Staged, bundled_gateways};

/// Completions: the shell, and the file below `share`.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "bash-completion/completions/switchyard"),
    ("fish", "fish/vendor_completions.d/switchyard.fish"),
    ("zsh", "zsh/vendor-completions/_switchyard"),
];

/// Documents beside the book: the file, and the file below `share/doc/switchyard`.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", "README.md"),
    ("LICENSE", "LICENSE"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("examples/switchyard.toml", "examples/switchyard.toml"),
    ("ops/proxy/nginx.conf", "examples/nginx.conf"),
    ("ops/proxy/Caddyfile", "examples/Caddyfile"),
    ("ops/prometheus/alerts.yml", "examples/alerts.yml"),
    ("ops/prometheus/prometheus.yml", "examples/prometheus.yml"),
    ("ops/grafana/switchyard.json", "examples/grafana.json"),
];

/// Table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Files of the book: its table of contents, the pages that it lists, and the images of these pages
/// and of the README.
///
/// # Errors
/// When a page cannot be read.
fn book() -> anyhow::Result<Vec<String>> {
    let read = |path: &str| fs::read_to_string(run::root().join(path)).context(path.to_owned());
    let summary = read(SUMMARY)?;
    let mut files = vec![SUMMARY.to_owned()];
    files.extend(targets(&summary).map(|page| format!("docs/{page}")));
    let mut images = Vec::new();
    for page in files[1..].iter().map(String::as_str).chain(["README.md"]) {
        let folder = page.rfind('/').map_or("", |at| &page[..=at]);
        for line in read(page)?.lines().filter(|line| line.starts_with("![")) {
            images.extend(targets(line).map(|image| format!("{folder}{image}")));
        }
    }
    files.extend(images);
    Ok(files)
}

const PROGRAM: &str = "bin/switchyard";
const GATEWAYS: &str = "lib/switchyard/gateways";

/// Unit of systemd in the repository. It names the paths of an installation by hand.
const UNIT: &str = "ops/systemd/switchyard.service";

/// Targets of the links of a text.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let rests = text.split("](").skip(1);
    rests.filter_map(|rest| rest.split(')').next())
}

/// Folder with the files of an installation.
pub struct Tree {
    pub folder: PathBuf,
}

impl Tree {
    /// Makes the tree anew in `folder`. `staged`: the program and its gateways, which are stripped.
    pub fn make(folder: &Path, staged: &Staged) -> anyhow::Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let tree = Self {
            folder: folder.to_owned(),
        };
        tree.strip(&staged.program(), PROGRAM, 0o755)?;
        for name in bundled_gateways()? {
            let file = format!("lib{}.so", name.replace('-', "_"));
            let gateway = staged.gateways().join(&file);
            tree.strip(&gateway, &format!("{GATEWAYS}/{file}"), 0o644)?;
        }
        let unit = fs::read_to_string(run::root().join(UNIT))?;
        tree.write("lib/systemd/system/switchyard.service", unit.as_bytes())?;
        for (from, to) in DOCUMENTS {
            tree.document(from, to)?;
        }
        for page in book()? {
            tree.document(&page, &page)?;
        }
        tree.generate()?;
        Ok(tree)
    }

    /// Files of the program and of the gateways.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn programs(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = vec![self.folder.join(PROGRAM)];
        for entry in fs::read_dir(self.folder.join(GATEWAYS))? {
            files.push(entry?.path());
        }
        Ok(files)
    }

    /// Moves the paths of the unit to those of a package.
    pub fn for_package(&self) -> anyhow::Result<()> {
        let path = self.folder.join("lib/systemd/system/switchyard.service");
        let unit = fs::read_to_string(&path)?;
        let moved = unit.replace("/usr/local/bin/", "/usr/bin/");
        ensure!(moved != unit, "{UNIT} names no program in /usr/local/bin");
        Ok(fs::write(path, moved)?)
    }

    /// Completions and man pages, from the program.
    fn generate(&self) -> anyhow::Result<()> {
        let switchyard = self.folder.join(PROGRAM);
        for (shell, to) in COMPLETIONS {
            let output = program(&switchyard).args(["completions", shell]).output()?;
            ensure!(output.status.success(), "completions {shell}: {output:?}");
            self.write(&format!("share/{to}"), &output.stdout)?;
        }
        let pages = self.folder.join("share/man/man1");
        must(program(&switchyard).arg("man-pages").arg(&pages))?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&pages)? {
            files.push(entry?.path());
        }
        ensure!(!files.is_empty(), "the program wrote no man page");
        must(program("gzip").args(["-9", "--no-name"]).args(&files))
    }

    fn strip(&self, from: &Path, to: &str, mode: u32) -> anyhow::Result<()> {
        let to = self.place(to)?;
        fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        must(program("strip").arg("--strip-unneeded").arg(&to))?;
        Ok(fs::set_permissions(&to, fs::Permissions::from_mode(mode))?)
    }

    fn document(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let text = fs::read(run::root().join(from)).with_context(|| from.to_owned())?;
        self.write(&format!("share/doc/switchyard/{to}"), &text)
    }

    fn write(&self, to: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let to = self.place(to)?;
        fs::write(&to, bytes)?;
        Ok(fs::set_permissions(&to, fs::Permissions::from_mode(0o644))?)
    }

    fn place(&self, to: &str) -> anyhow::Result<PathBuf> {
        let to = self.folder.join(to);
        fs::create_dir_all(to.parent().context("a file in the tree")?)?;
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files below a folder, by their paths from the root.
    fn files(folder: &str) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(run::root().join(folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => found.extend(files(&path)?),
                false => found.push(path),
            }
        }
        Ok(found)
    }

    #[test]
    fn the_book_has_every_page_of_the_documentation_and_their_images() -> anyhow::Result<()> {
        let book = book()?;
        let mut pages = files("docs")?;
        pages.retain(|path| path.ends_with(".md"));
        assert!(pages.len() > 100, "pages are found");
        let missing: Vec<_> = pages.iter().filter(|page| !book.contains(page)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        for image in [
            "docs/images/checkout.png",
            "docs/images/recovery.svg",
            "docs/images/benchmarks/throughput.svg",
        ] {
            assert!(book.contains(&image.to_owned()), "{image}: {book:?}");
        }
        for file in &book {
            assert!(run::root().join(file).is_file(), "{file}");
        }
        Ok(())
    }

    #[test]
    fn the_targets_of_a_text_are_those_of_its_links() {
        let text = "- [A](a.md)\n  - [B](b/c.md)\n# Title\n";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["a.md", "b/c.md"]);
    }
}
