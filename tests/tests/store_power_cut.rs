//! A store whose machine loses power has every acknowledged commit, and no commit in part: acknowledged means synced.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use switchyard_engine::store::{Engine, Store};
use switchyard_tests::store::power_cut::{Before, Survives, build_shim, cut};
use switchyard_tests::store::process::{Kill, run_and_kill};
use switchyard_tests::store::rows::{check, lost, settings};

const CHILD: &str = env!("CARGO_BIN_EXE_store_child");

fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        build_shim(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the shim is built")
    })
}

/// Cuts the power in rounds over the same store. Says what is wrong after one of them, if anything ever is.
fn cut_and_check(engine: Engine, rounds: u64, lying: &str) -> Result<(), String> {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory
        .path()
        .canonicalize()
        .expect("it is there")
        .join("store");
    fs::create_dir(&root).expect("a directory");
    let log = directory.path().join("log");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (mut acknowledged, mut at_stake) = (Vec::new(), 0);
    for round in 0..rounds {
        let survives = [Survives::Nothing, Survives::Prefix, Survives::Pages][round as usize % 3];
        let kill = match round % 5 {
            0 => Kill::AfterMillis(20 + round * 3),
            n => Kill::AfterCommits(50 + (n * 271 + round * 97) as usize % 1200),
        };
        let context = format!("{engine:?}, round {round}, {kill:?}, {survives:?}");
        let before = Before::of(&root).expect("the files are read");
        let environment = [
            ("LD_PRELOAD", shim()),
            ("SWITCHYARD_CUT_ROOT", &root),
            ("SWITCHYARD_CUT_LOG", &log),
            ("SWITCHYARD_CUT_LYING", Path::new(lying)),
        ];
        let said = run_and_kill(CHILD, engine, &root, &environment, kill).expect("the child runs");
        assert_eq!(
            said.status.code(),
            None,
            "{context}: the child ended by itself, its last words are above"
        );
        acknowledged.extend(said.acknowledged);
        let written = fs::read(&log).expect("the shim has logged");
        at_stake += cut(before, &root, &written, survives, round * 7919 + 1)
            .unwrap_or_else(|wrong| panic!("{context}: {wrong}"));
        runtime.block_on(async {
            let store = Store::open(&settings(engine, &root))
                .map_err(|error| format!("{context}: {error}"))?;
            let heads = check(&store)
                .await
                .map_err(|wrong| format!("{context}: {wrong}"))?;
            store.close().await;
            match lost(&acknowledged, &heads) {
                lost if lost.is_empty() => Ok(()),
                lost => Err(format!(
                    "{context}: {} acknowledged commits are lost",
                    lost.len()
                )),
            }
        })?;
    }
    assert!(
        acknowledged.len() > 1_000,
        "only {} commits were put to the test",
        acknowledged.len()
    );
    assert!(
        at_stake > 0,
        "never was anything unsynced: the cuts took nothing away"
    );
    Ok(())
}

#[test]
fn fjall_keeps_what_it_acknowledged_when_the_power_fails() {
    cut_and_check(Engine::Fjall, 24, "").unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn sled_keeps_what_it_acknowledged_when_the_power_fails() {
    cut_and_check(Engine::Sled, 12, "").unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// Without the sync that its adapter adds, sled has only `sync_file_range` between an acknowledgment and a loss.
#[test]
fn the_cut_shows_that_sled_would_lose_commits_without_the_added_sync() {
    let wrong = cut_and_check(Engine::Sled, 12, "fdatasync").expect_err("the loss is found");
    eprintln!("as it should be: {wrong}");
}

#[test]
fn the_cut_shows_that_fjall_would_lose_commits_without_its_sync() {
    let wrong = cut_and_check(Engine::Fjall, 12, "fdatasync").expect_err("the loss is found");
    eprintln!("as it should be: {wrong}");
}
