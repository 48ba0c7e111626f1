//! Gateways as files: the bundled and the misbehaving one, built by cargo; the one in C and crafted
//! ones, built by `cc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, ensure};
use switchyard_gateway_host::WorkerSettings;

use crate::server::stage;
use crate::tidy::root;

/// Settings of the processes in which gateways run: the program of the stage.
///
/// # Panics
/// When the program cannot be built.
pub fn workers() -> WorkerSettings {
    WorkerSettings {
        program: stage().expect("the program builds").join("switchyard"),
        ..WorkerSettings::default()
    }
}

/// The test gateway, as a shared library.
///
/// # Panics
/// When it cannot be built: then no test that needs it can go on.
pub fn demo_gateway() -> PathBuf {
    built("gateway-demo").expect("the test gateway builds")
}

/// The gateway that does on request what none should.
///
/// # Panics
/// When it cannot be built.
pub fn misbehaving_gateway() -> PathBuf {
    built("gateway-misbehaving").expect("the misbehaving gateway builds")
}

/// pawaPay's gateway.
///
/// # Panics
/// When it cannot be built.
pub fn pawapay_gateway() -> PathBuf {
    built("gateway-pawapay").expect("pawaPay's gateway builds")
}

/// The gateway to the merchant's own wallet on an EVM chain.
///
/// # Panics
/// When it cannot be built.
pub fn crypto_gateway() -> PathBuf {
    built("gateway-crypto-evm").expect("the crypto gateway builds")
}

/// Flutterwave's gateway.
///
/// # Panics
/// When it cannot be built.
pub fn flutterwave_gateway() -> PathBuf {
    built("gateway-flutterwave").expect("Flutterwave's gateway builds")
}

/// Stripe's gateway.
///
/// # Panics
/// When it cannot be built.
pub fn stripe_gateway() -> PathBuf {
    built("gateway-stripe").expect("Stripe's gateway builds")
}

/// The gateway whose provider does what the payment says.
///
/// # Panics
/// When it cannot be built.
pub fn programmable_gateway() -> PathBuf {
    built("gateway-programmable").expect("the programmable gateway builds")
}

/// The gateway in C, built into `folder`.
///
/// # Panics
/// When it cannot be built.
pub fn c_gateway(folder: &Path) -> PathBuf {
    let source = root().join("examples/gateway-c/gateway.c");
    cc(&source, folder, "gateway_c", &[]).expect("the gateway in C builds")
}

/// The test gateway under `name` (as long as its own) in version `1.0.<patch>`: a file of its own
/// hash, without what a debugger needs.
///
/// # Errors
/// When `strip` is not there, or the manifest is not as this expects it.
pub fn demo_as(folder: &Path, name: &str, patch: u8) -> anyhow::Result<PathBuf> {
    ensure!(name.len() == DEMO.len() && patch < 10);
    let mut bytes = stripped(folder, &demo_gateway())?;
    let version = format!("\"version\": \"1.0.{patch}\"");
    for (old, new) in [(DEMO, name), (DEMO_VERSION, version.as_str())] {
        ensure!(
            replace(&mut bytes, old.as_bytes(), new.as_bytes()) > 0,
            "no {old}"
        );
    }
    let library = folder.join(format!("{name}-{patch}.so"));
    std::fs::write(&library, bytes)?;
    Ok(library)
}

/// A library without what only a debugger needs.
fn stripped(folder: &Path, library: &Path) -> anyhow::Result<Vec<u8>> {
    let stripped = folder.join("stripped.so");
    let done = Command::new("strip")
        .args(["--strip-debug", "-o"])
        .args([&stripped, library])
        .status()
        .context("strip is needed: install binutils")?;
    ensure!(done.success(), "strip: {done}");
    Ok(std::fs::read(&stripped)?)
}

/// Stripe's gateway in version `1.0.<patch>`, for a host with a name as long as its own.
///
/// # Errors
/// When it cannot be written, or the manifest is not as this expects it.
pub fn stripe_as(folder: &Path, host: &str, patch: u8) -> anyhow::Result<PathBuf> {
    let mut bytes = stripped(folder, &stripe_gateway())?;
    let version = format!("\"version\": \"1.0.{patch}\"");
    ensure!(host.len() == STRIPE_HOST.len() && patch < 10);
    for (old, new) in [(STRIPE_HOST, host), (DEMO_VERSION, version.as_str())] {
        let found = replace(&mut bytes, old.as_bytes(), new.as_bytes());
        ensure!(found > 0, "no {old}");
    }
    let library = folder.join(format!("stripe-{host}-{patch}.so"));
    std::fs::write(&library, bytes)?;
    Ok(library)
}

/// The programmable gateway in version `1.0.<patch>`: a file of its own hash.
///
/// # Errors
/// When the manifest is not as this expects it.
pub fn programmable_as(folder: &Path, patch: u8) -> anyhow::Result<PathBuf> {
    let mut bytes = std::fs::read(programmable_gateway())?;
    let version = format!("\"version\": \"1.0.{patch}\"");
    let found = replace(&mut bytes, DEMO_VERSION.as_bytes(), version.as_bytes());
    ensure!(found > 0 && patch < 10, "no {DEMO_VERSION}");
    let library = folder.join(format!("programmable-{patch}.so"));
    std::fs::write(&library, bytes)?;
    Ok(library)
}

const DEMO: &str = "switchyard_demo";
const STRIPE_HOST: &str = "api.stripe.com";
const DEMO_VERSION: &str = "\"version\": \"1.0.0\"";

/// Puts `new`, which is as long, wherever `old` is; how often that was.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) -> usize {
    let mut count = 0;
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(old.len()).position(|part| part == old) {
        bytes[at + found..at + found + old.len()].copy_from_slice(new);
        (at, count) = (at + found + old.len(), count + 1);
    }
    count
}

/// Builds one file of C as a shared library in `folder`, where what it includes is looked for
/// beside it.
pub fn cc(source: &Path, folder: &Path, name: &str, more: &[&str]) -> anyhow::Result<PathBuf> {
    let library = folder.join(format!("lib{name}.so"));
    let output = Command::new("cc")
        .args([
            "-std=c11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
        ])
        .args(more)
        .arg("-o")
        .args([&library, source])
        .current_dir(source.parent().context("the source lies in a folder")?)
        .output()
        .context("cc is needed: install a C compiler (Debian: gcc)")?;
    ensure!(
        output.status.success(),
        "cc: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(library)
}

/// Builds a package of this workspace with the profile and the target folder of the running test,
/// once a process.
fn built(package: &str) -> anyhow::Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT
        .lock()
        .map_err(|_| anyhow::anyhow!("an earlier build panicked"))?;
    if let Some(library) = built.get(package) {
        return Ok(library.clone());
    }
    // target/<profile>/deps/<this test>
    let test = std::env::current_exe()?;
    let folder = test
        .ancestors()
        .nth(2)
        .context("the test lies in a target folder")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--package", package, "--target-dir"])
        .arg(
            folder
                .parent()
                .context("the profile lies in a target folder")?,
        )
        .current_dir(root());
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let output = cargo.output()?;
    ensure!(
        output.status.success(),
        "cargo build: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let library = folder.join(format!("lib{}.so", package.replace('-', "_")));
    ensure!(library.is_file(), "{} was not built", library.display());
    built.insert(package.to_owned(), library.clone());
    Ok(library)
}
