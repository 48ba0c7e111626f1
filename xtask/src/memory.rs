//! The step `memory`: the SDK's side of the C surface, the only unsafe code in a gateway, under
//! tools that find memory errors.
//!
//! AddressSanitizer needs no further tool. Miri finds more (the rules of references, the provenance
//! of pointers, uninitialized reads), and no stable toolchain has it: it runs where it is
//! installed, and the step reports where it is not.

use std::process::Command;

use crate::run::{self, cargo, must, program};

/// The toolchain that is asked for Miri. `rustup component add miri --toolchain nightly` puts it
/// there.
const TOOLCHAIN: &str = "nightly";
/// Names another one.
const VARIABLE: &str = "SWITCHYARD_MIRI_TOOLCHAIN";

pub fn test() -> anyhow::Result<()> {
    must(&mut sanitized())?;
    if !run::succeeds(miri().arg("--version")) {
        println!(
            "Miri is not installed, so AddressSanitizer alone has judged: `rustup component add miri --toolchain nightly` adds it."
        );
        return Ok(());
    }
    let mut tests = miri();
    // The messages' golden files are read, and the panics of the tests leak on purpose, as below.
    tests.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
    tests.args(["test", "--quiet", "--package", SDK, "--tests"]);
    tests.arg("--target-dir").arg(run::target().join("miri"));
    must(&mut tests)
}

const SDK: &str = "switchyard-gateway";

/// Leaks are not looked for: the payload of a caught panic is leaked on purpose, since its drop may
/// panic again. A target that is named keeps the sanitizer out of build scripts and macros.
fn sanitized() -> Command {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut tests = cargo();
    // A stable compiler keeps this switch shut.
    tests
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("ASAN_OPTIONS", "detect_leaks=0");
    tests.args(["test", "--quiet", "--package", SDK, "--tests"]);
    tests.args(["--target", &target, "--target-dir"]);
    tests.arg(run::target().join("asan"));
    tests
}

/// `cargo miri` of that toolchain, through rustup's own cargo: the one that runs us belongs to
/// ours.
fn miri() -> Command {
    let mut miri = program("cargo");
    let toolchain = std::env::var(VARIABLE).unwrap_or_else(|_| TOOLCHAIN.to_owned());
    miri.env("RUSTUP_TOOLCHAIN", toolchain);
    // What ours has set for the program that it runs would find its way into theirs.
    for ours in ["CARGO", "RUSTC", "RUSTDOC", "LD_LIBRARY_PATH"] {
        miri.env_remove(ours);
    }
    miri.arg("miri");
    miri
}
