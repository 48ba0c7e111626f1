//! Tools of the tests beside cargo: a browser, a local chain, npm and Python packages,
//! cargo-auditable, cargo-deb, cargo-deny, mdbook, promtool, nginx, Caddy.
//!
//! Each is searched first and installed where possible: Debian's packages into the system (as
//! root), all others under `target/tools`, never into the tree. A tool that cannot be installed is
//! an error with the name of the missing package.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::run::{self, must, program};

const CHROMIUM: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
];
const CARGO_AUDITABLE: &str = "0.7.7";
const CARGO_DEB: &str = "3.8.0";
const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
const CARGO_MACHETE: &str = "0.9.2";
const CARGO_MUTANTS: &str = "27.1.0";
const MDBOOK: &str = "0.5.4";
/// `rust-version` of `plugins/sdk`.
const OLDEST_RUST: &str = "1.85";

/// A Chromium to drive: `$SWITCHYARD_CHROMIUM`, the system's, or Debian's package.
pub fn chromium() -> anyhow::Result<PathBuf> {
    if let Some(set) = std::env::var_os("SWITCHYARD_CHROMIUM") {
        return Ok(set.into());
    }
    let find = || {
        CHROMIUM
            .iter()
            .map(PathBuf::from)
            .find(|path| path.exists())
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    if !is_root() || !run::has("apt-get", &["--version"]) {
        bail!(
            "no Chromium: install it (Debian: `apt-get install chromium`) or set SWITCHYARD_CHROMIUM to its path"
        );
    }
    must(apt().arg("update"))?;
    must(apt().args(["install", "--yes", "--no-install-recommends", "chromium"]))?;
    find().context("Debian's chromium is installed and /usr/bin/chromium is not there")
}

/// promtool, which checks and tests alert rules: the system's, or that of Debian's package. The
/// package is unpacked and not installed, because the installation starts a server.
pub fn promtool() -> anyhow::Result<PathBuf> {
    of_debian("usr/bin/promtool", &["--version"], "prometheus")
}

/// nginx, which checks its configuration in `ops/proxy`; unpacked like [`promtool`].
pub fn nginx() -> anyhow::Result<PathBuf> {
    of_debian("usr/sbin/nginx", &["-v"], "nginx")
}

/// Caddy, which checks its configuration in `ops/proxy`; unpacked like [`promtool`].
pub fn caddy() -> anyhow::Result<PathBuf> {
    of_debian("usr/bin/caddy", &["version"], "caddy")
}

/// A program: the system's, or `file` of a package of Debian, which is unpacked.
fn of_debian(file: &str, version: &[&str], package: &str) -> anyhow::Result<PathBuf> {
    let name = Path::new(file).file_name().context("a program")?;
    if run::has(name, version) {
        return Ok(name.into());
    }
    let folder = tools().join(package);
    let unpacked = folder.join(file);
    if !unpacked.exists() {
        unpack(&folder, &[package]).with_context(|| {
            format!("no {file}: install {package} (Debian: `apt-get install {package}`)")
        })?;
    }
    ensure!(unpacked.exists(), "Debian's {package} has no {file}");
    Ok(unpacked)
}

/// The folder of rustc in the minimum version of the SDK of gateways, a toolchain of rustup.
pub fn oldest_rust() -> anyhow::Result<PathBuf> {
    let which = || {
        let mut which = program("rustup");
        which.args(["which", "--toolchain", OLDEST_RUST, "rustc"]);
        which.output().ok().filter(|found| found.status.success())
    };
    if which().is_none() {
        let mut install = program("rustup");
        install.args(["toolchain", "install", OLDEST_RUST, "--profile", "minimal"]);
        must(&mut install)?;
    }
    let found = which().context("rustup has no such toolchain")?;
    let rustc = PathBuf::from(String::from_utf8(found.stdout)?.trim());
    let bin = rustc.parent().context("a program is in a folder")?;
    Ok(bin.to_owned())
}

/// Downloads packages of Debian and unpacks them into `folder`.
fn unpack(folder: &Path, packages: &[&str]) -> anyhow::Result<()> {
    for tool in ["apt-get", "dpkg-deb"] {
        ensure!(run::has(tool, &["--version"]), "no {tool}");
    }
    std::fs::create_dir_all(folder)?;
    if is_root() {
        must(apt().arg("update"))?;
    }
    must(apt().arg("download").args(packages).current_dir(folder))?;
    for entry in std::fs::read_dir(folder)? {
        let package = entry?.path();
        if package.extension().is_some_and(|end| end == "deb") {
            must(
                program("dpkg-deb")
                    .arg("--extract")
                    .arg(&package)
                    .arg(folder),
            )?;
            std::fs::remove_file(package)?;
        }
    }
    Ok(())
}

/// apt-get, which asks no questions and prints errors only.
fn apt() -> Command {
    let mut apt = program("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive")
        .arg("--quiet=2");
    apt
}

/// The folder of the npm packages of the tests that run in Node.js.
pub fn npm_packages() -> anyhow::Result<PathBuf> {
    npm("browser", "tests/browser")
}

/// anvil, a local chain, which the tests of the gateway `crypto_evm` pay on.
pub fn anvil() -> anyhow::Result<PathBuf> {
    if let Some(set) = std::env::var_os("SWITCHYARD_ANVIL") {
        return Ok(set.into());
    }
    if std::env::consts::ARCH != "x86_64" {
        bail!(
            "the tests' package is for x86_64: install anvil and set SWITCHYARD_ANVIL to its path"
        );
    }
    let anvil = npm("anvil", "plugins/crypto_evm/tests/chain")?
        .join("node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil");
    if !anvil.exists() {
        bail!("npm brought no anvil for this machine: set SWITCHYARD_ANVIL to its path");
    }
    Ok(anvil)
}

/// Installs the npm packages that `source` lists, and gives their folder.
fn npm(name: &str, source: &str) -> anyhow::Result<PathBuf> {
    if !run::has("node", &["--version"]) || !run::has("npm", &["--version"]) {
        bail!("no Node.js: install Node 20 or newer with npm");
    }
    let listed = run::root().join(source);
    let folder = tools().join(name);
    once(&folder, &[listed.join("package-lock.json")], || {
        for file in ["package.json", "package-lock.json", ".npmrc"] {
            std::fs::copy(listed.join(file), folder.join(file))
                .with_context(|| format!("{source}/{file}"))?;
        }
        must(program("npm").arg("ci").current_dir(&folder))
    })?;
    Ok(folder)
}

/// The `bin` folder of a Python environment with what `tests/python/requirements.txt` lists.
pub fn python_packages() -> anyhow::Result<PathBuf> {
    if !run::has("python3", &["-c", "import venv, ensurepip"]) {
        bail!("no Python 3 with venv: install it (Debian: `apt-get install python3 python3-venv`)");
    }
    let requirements = run::root().join("tests/python/requirements.txt");
    let folder = tools().join("python");
    once(&folder, std::slice::from_ref(&requirements), || {
        must(
            program("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        )?;
        let mut pip = program(folder.join("bin/pip"));
        must(
            pip.args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(&requirements),
        )
    })?;
    Ok(folder.join("bin"))
}

/// cargo-auditable, which builds programs that carry the list of their dependencies.
pub fn cargo_auditable() -> anyhow::Result<PathBuf> {
    // It answers only as a subcommand of cargo.
    if run::has("cargo-auditable", &["auditable", "--version"]) {
        return Ok("cargo-auditable".into());
    }
    cargo_tool("cargo-auditable", CARGO_AUDITABLE)
        .context("no cargo-auditable, which puts the list of dependencies into a release")
}

/// cargo-deb, which makes Debian packages.
pub fn cargo_deb() -> anyhow::Result<PathBuf> {
    cargo_tool("cargo-deb", CARGO_DEB)
}

/// cargo-deny, which checks a few hundred licences.
pub fn cargo_deny() -> anyhow::Result<PathBuf> {
    cargo_tool("cargo-deny", CARGO_DENY)
}

/// cargo-fuzz, which builds and starts libFuzzer.
pub fn cargo_fuzz() -> anyhow::Result<PathBuf> {
    cargo_tool("cargo-fuzz", CARGO_FUZZ)
}

/// cargo-machete, which finds dependencies that no file names.
pub fn cargo_machete() -> anyhow::Result<PathBuf> {
    cargo_tool("cargo-machete", CARGO_MACHETE)
}

/// cargo-mutants, which changes functions and operators one at a time.
pub fn cargo_mutants() -> anyhow::Result<PathBuf> {
    cargo_tool("cargo-mutants", CARGO_MUTANTS)
}

/// mdbook, which makes the book of the documentation.
pub fn mdbook() -> anyhow::Result<PathBuf> {
    // Without its server, whose dependencies take most of the build.
    cargo_install(
        "mdbook",
        MDBOOK,
        &["--no-default-features", "--features", "search"],
    )
}

/// Whether mdbook is there without a build.
pub fn has_mdbook() -> bool {
    run::has("mdbook", &["--version"]) || built_tool("mdbook").exists()
}

/// The folder of llvm-cov and llvm-profdata, which rustup brings for the compiler that runs us.
pub fn llvm() -> anyhow::Result<PathBuf> {
    let output = program("rustc")
        .args(["--print", "target-libdir"])
        .output()?;
    let libraries = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    let folder = libraries.with_file_name("bin");
    if !folder.join("llvm-cov").exists() {
        must(program("rustup").args(["component", "add", "llvm-tools"]))
            .context("no llvm-cov: install it (`rustup component add llvm-tools`)")?;
    }
    Ok(folder)
}

/// A command of cargo, from the system or built here.
fn cargo_tool(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    cargo_install(name, version, &[])
}

/// A program from the package registry, from the system or built here without optimisation.
fn cargo_install(name: &str, version: &str, features: &[&str]) -> anyhow::Result<PathBuf> {
    if run::has(name, &["--version"]) {
        return Ok(name.into());
    }
    let folder = tools().join("cargo");
    let installed = built_tool(name);
    if !installed.exists() {
        let mut install = run::cargo();
        install.args(["install", "--locked", "--debug", name]);
        install.args(run::quiet());
        install.args(["--version", version]).args(features);
        install.arg("--root").arg(&folder);
        install.arg("--target-dir").arg(folder.join("build"));
        must(&mut install)
            .with_context(|| format!("install {name} by hand: `cargo install {name} --locked`"))?;
        let _ = std::fs::remove_dir_all(folder.join("build"));
    }
    Ok(installed)
}

/// File of a tool that is built here.
fn built_tool(name: &str) -> PathBuf {
    tools().join("cargo/bin").join(name)
}

fn tools() -> PathBuf {
    run::target().join("tools")
}

fn is_root() -> bool {
    let id = program("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Installs into `folder` unless what is there was installed from the same text of `sources`.
fn once(
    folder: &Path,
    sources: &[PathBuf],
    install: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut wanted = String::new();
    for source in sources {
        wanted += &std::fs::read_to_string(source)
            .with_context(|| format!("{} is missing", source.display()))?;
    }
    let stamp = folder.join("installed-from");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    install()?;
    Ok(std::fs::write(stamp, wanted)?)
}
