//! Every target over its corpus, and over mutations of it. `cargo xtask fuzz` continues with the
//! same corpus under libFuzzer.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::fs;
use std::path::{Path, PathBuf};

use switchyard_engine::callback::CallbackState;
use switchyard_fuzz::mutate::Mutator;
use switchyard_fuzz::{TARGETS, Target, comes_of};

#[test]
fn no_sample_and_no_mutation_of_one_breaks_any_parser() {
    let only = std::env::var("FUZZ_TARGET").ok();
    let times: u32 = std::env::var("FUZZ_TIMES")
        .ok()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1);
    for target in TARGETS {
        if only.as_ref().is_none_or(|only| only == target.name) {
            try_all(target, times);
        }
    }
}

fn try_all(target: &Target, times: u32) {
    let samples = samples(target.name);
    for sample in &samples {
        tried(target, sample, "a sample");
    }
    let mutator = Mutator::new(SEED);
    for number in 0..target.mutations * times {
        tried(
            target,
            &mutator.mutate(&samples),
            &format!("mutation {number} of seed {SEED}"),
        );
    }
}

/// Runs the target, and keeps what broke it where libFuzzer keeps it, too.
fn tried(target: &Target, bytes: &[u8], which: &str) {
    let run = std::panic::AssertUnwindSafe(|| (target.run)(bytes));
    if std::panic::catch_unwind(run).is_err() {
        let kept = std::env::temp_dir().join(format!("fuzz-{}", target.name));
        let _ = fs::write(&kept, bytes);
        panic!(
            "{}: {which} broke it; it is kept in {}. Put it into tests/fuzz/corpus/{} with the mend.",
            target.name,
            kept.display(),
            target.name
        );
    }
}

#[test]
fn every_target_has_a_corpus_and_a_program_for_libfuzzer() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(listed(&root().join("corpus")), names, "tests/fuzz/corpus");
    let programs = listed(&root().join("libfuzzer/targets"));
    let programs: Vec<_> = programs
        .iter()
        .filter_map(|name| name.strip_suffix(".rs"))
        .collect();
    assert_eq!(programs, names, "tests/fuzz/libfuzzer/targets");
    let manifest = fs::read_to_string(root().join("libfuzzer/Cargo.toml")).unwrap();
    for name in &names {
        assert!(
            manifest.contains(&format!("path = \"targets/{name}.rs\"")),
            "{name}"
        );
        let program =
            fs::read_to_string(root().join(format!("libfuzzer/targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("run(\"{name}\", ")), "{name}");
    }
    let bytes: usize = names
        .iter()
        .flat_map(|name| samples(name))
        .map(|sample| sample.len())
        .sum();
    assert!(
        bytes < LARGEST_CORPUS,
        "the corpus has {bytes} bytes: minimize it"
    );
}

#[test]
fn samples_get_as_far_as_the_gateway() {
    let folder = root().join("corpus/http_public");
    let send = |sample: &str| comes_of(&fs::read(folder.join(sample)).unwrap());
    for (sample, state) in [
        ("callback_forged", CallbackState::Refused),
        ("callback_about_nothing", CallbackState::Ignored),
        ("callback_early", CallbackState::Unmatched),
        ("callback_signed", CallbackState::Matched),
        ("callback_success", CallbackState::Matched),
        ("callback_failed", CallbackState::Matched),
    ] {
        assert_eq!(send(sample).0, Some(state), "{sample}");
    }
    assert_eq!(send("confirm_page").1, 0);
    assert_eq!(send("confirm_ready").1, 1);
}

fn samples(name: &str) -> Vec<Vec<u8>> {
    let folder = root().join("corpus").join(name);
    let samples: Vec<_> = listed(&folder)
        .iter()
        .map(|file| fs::read(folder.join(file)).unwrap())
        .collect();
    assert!(!samples.is_empty(), "{} is empty", folder.display());
    samples
}

fn listed(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

const SEED: u64 = 1;
const LARGEST_CORPUS: usize = 2 * 1024 * 1024;
