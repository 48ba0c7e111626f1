//! `cargo xtask dist`: the files of a release in `target/dist`.
//!
//! | file | contents |
//! |---|---|
//! | `switchyard-<version>-<machine>-linux.tar.gz` | program, gateways, unit, man pages, completions |
//! | `switchyard_<version>_<architecture>.deb` | the same as a package for Debian and Ubuntu |
//! | `switchyard-<version>.cdx.json` | bill of materials |
//! | `switchyard-gateway-<version>.crate` | SDK of gateways |
//! | `SHA256SUMS` | checksums of the other files |
//!
//! Program and gateways carry the list of their dependencies (`cargo audit bin` reads it).
//! The same program and gateways, of the same commit, give the same bytes: files are in a fixed
//! order, belong to root and have the time of the commit.

mod dependencies;
mod tree;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use sha2::{Digest as _, Sha256};

use self::tree::Tree;
use crate::revision::Revision;
use crate::run::{self, must, program};
use crate::stage::{Stage, Staged};
use crate::{sbom, tools};

/// Build the files of a release: archive, Debian package, bill of materials, checksums
#[derive(Args)]
pub struct Dist {
    /// Profile of the build; dev is for tests
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// Pack this finished program and its gateways (switchyard, gateways/*.so) and build nothing
    #[arg(long, value_name = "FOLDER", conflicts_with = "profile")]
    from: Option<PathBuf>,
    /// Output folder [default: target/dist]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Version of the files [default: that of the commit]
    #[arg(long, value_name = "VERSION")]
    package_version: Option<String>,
    /// Also pack a tree with uncommitted changes; the version then says so
    #[arg(long)]
    allow_dirty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    Release,
    Dev,
}

impl Dist {
    /// Packages of the debug build, also of a changed tree.
    pub fn of_tests(output: &Path) -> Self {
        Self {
            profile: Profile::Dev,
            from: None,
            output: Some(output.to_owned()),
            package_version: None,
            allow_dirty: true,
        }
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let revision = self.revision()?;
        let version = match (&self.package_version, &revision) {
            (Some(version), _) => version.clone(),
            (None, Some(revision)) => revision.package_version(),
            (None, None) => env!("CARGO_PKG_VERSION").to_owned(),
        };
        let cargo_deb = self.tools()?;
        let output = self.output.clone();
        let output = output.unwrap_or_else(|| run::target().join("dist"));
        println!("dist: program and gateways");
        let staged = self.staged()?;
        let release = Release {
            is_of_tests: self.profile == Profile::Dev,
            seconds: revision.map_or(0, |revision| revision.seconds),
            version,
            output,
        };
        release.make(&staged, &cargo_deb)
    }

    /// The commit of the tree.
    ///
    /// # Errors
    /// When files differ from the commit and the options do not permit that.
    fn revision(&self) -> anyhow::Result<Option<Revision>> {
        let revision = Revision::of_tree()?;
        if revision.as_ref().is_some_and(Revision::is_dirty) && !self.allow_dirty {
            bail!(
                "the tree has changes that are not committed, and a release names its commit: \
                 commit or stash them (`git status`), or pack them with --allow-dirty"
            );
        }
        if revision.is_none() {
            println!("dist: no git repository: the version names no commit");
        }
        Ok(revision)
    }

    /// Checks the tools and returns the path of cargo-deb.
    fn tools(&self) -> anyhow::Result<PathBuf> {
        for (tool, package) in [
            ("strip", "binutils"),
            ("tar", "tar"),
            ("gzip", "gzip"),
            // Finds the libraries that the package depends on.
            ("dpkg-shlibdeps", "dpkg-dev"),
        ] {
            ensure!(
                run::has(tool, &["--version"]),
                "no {tool}: install it (Debian: `apt-get install {package}`)"
            );
        }
        tools::cargo_deb()
    }

    fn staged(&self) -> anyhow::Result<Staged> {
        match &self.from {
            Some(folder) => Ok(Staged {
                folder: std::path::absolute(folder)?,
            }),
            None => {
                let is_release = self.profile == Profile::Release;
                let stage = Stage {
                    release: is_release,
                    auditable: is_release,
                    names_commit: true,
                };
                stage.run()
            }
        }
    }
}

/// Files of one version.
struct Release {
    version: String,
    /// Time of the packed files, in seconds since 1970.
    seconds: u64,
    output: PathBuf,
    /// Compress less, and take programs without the list of their dependencies.
    is_of_tests: bool,
}

impl Release {
    fn make(&self, staged: &Staged, cargo_deb: &Path) -> anyhow::Result<()> {
        if self.output.exists() {
            fs::remove_dir_all(&self.output)?;
        }
        fs::create_dir_all(&self.output)?;
        // Where `package.metadata.deb` in api/Cargo.toml finds it: cargo-deb moves paths below
        // `target/release` to the target folder in use.
        let tree = Tree::make(&run::target().join("release/dist"), staged)?;
        if !self.is_of_tests {
            dependencies::check(&tree.programs()?)?;
        }
        println!("dist: archive");
        let mut files = vec![self.archive(&tree)?];
        println!("dist: Debian package");
        tree.for_package()?;
        files.push(self.package(cargo_deb)?);
        println!("dist: bill of materials");
        let bill = self.output.join(format!("{}.cdx.json", self.name()));
        sbom::write(&bill)?;
        files.push(bill);
        println!("dist: SDK of gateways");
        files.push(self.sdk()?);
        self.checksums(&files)?;
        for file in &files {
            let size = fs::metadata(file)?.len();
            println!("{:>6} MB  {}", size.div_ceil(1_000_000), file.display());
        }
        println!("{:>10} {}", "", self.output.join(SUMS).display());
        Ok(())
    }

    fn name(&self) -> String {
        format!("switchyard-{}", self.version)
    }

    fn archive(&self, tree: &Tree) -> anyhow::Result<PathBuf> {
        let name = format!("{}-{}-linux", self.name(), std::env::consts::ARCH);
        let file = self.output.join(format!("{name}.tar"));
        let mut tar = program("tar");
        tar.args(["--create", "--sort=name", "--format=gnu"])
            .args(["--owner=root:0", "--group=root:0", "--mode=u+rw,go=rX"])
            .arg(format!("--mtime=@{}", self.seconds))
            .arg(format!("--transform=s,^[.],{name},"))
            .arg("--directory")
            .arg(&tree.folder)
            .arg("--file")
            .arg(&file);
        must(tar.arg("."))?;
        let level = if self.is_of_tests { "-1" } else { "-9" };
        must(program("gzip").args([level, "--no-name"]).arg(&file))?;
        Ok(file.with_extension("tar.gz"))
    }

    fn package(&self, cargo_deb: &Path) -> anyhow::Result<PathBuf> {
        let mut deb = program(cargo_deb);
        deb.args([
            "--package",
            "switchyard",
            "--no-build",
            "--no-strip",
            "--locked",
        ])
        .args(["--deb-version", &format!("{}-1", self.version)])
        .env("SOURCE_DATE_EPOCH", self.seconds.to_string())
        .arg("--output")
        .arg(&self.output);
        must(deb.args(self.is_of_tests.then_some("--fast")))?;
        let mut packages = Vec::new();
        for entry in fs::read_dir(&self.output)? {
            packages.push(entry?.path());
        }
        packages.retain(|path| path.extension() == Some(OsStr::new("deb")));
        packages.pop().context("cargo-deb made no package")
    }

    /// The SDK as a registry would have it.
    fn sdk(&self) -> anyhow::Result<PathBuf> {
        let package = sdk_package()?;
        let name = package.file_name().context("a file in the folder")?;
        let file = self.output.join(name);
        fs::copy(&package, &file)?;
        Ok(file)
    }

    /// Checksums in the format that `sha256sum --check` reads.
    fn checksums(&self, files: &[PathBuf]) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        for file in files {
            let name = file.file_name().context("a file in the folder")?;
            let sum = base16ct::lower::encode_string(&Sha256::digest(fs::read(file)?));
            lines.push(format!("{sum}  {}\n", name.display()));
        }
        Ok(fs::write(self.output.join(SUMS), lines.concat())?)
    }
}

/// Packs the SDK into `target/package`. Its build is a test of its own.
fn sdk_package() -> anyhow::Result<PathBuf> {
    const SDK: &str = "switchyard-gateway";
    let mut pack = run::cargo();
    pack.args(["package", "--quiet", "--package", SDK, "--no-verify"]);
    // A dirty tree was refused before, or is permitted.
    must(pack.arg("--allow-dirty"))?;
    let file = format!("package/{SDK}-{}.crate", env!("CARGO_PKG_VERSION"));
    Ok(run::target().join(file))
}

const SUMS: &str = "SHA256SUMS";
