//! A store whose process is killed at any moment has every acknowledged commit, and no commit in
//! part.

use switchyard_store::{Backend, Store};
use switchyard_tests::store::process::{Kill, run_and_kill};
use switchyard_tests::store::rows::{check, lost, settings};

const CHILD: &str = env!("CARGO_BIN_EXE_store_child");

/// Kills a child that writes, in rounds over the same store, and checks the rows after each.
fn kill_and_check(backend: Backend, rounds: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        // Spread over the first of all commits, a full load, and the opening after the crash
        // before.
        let kill = match round % 4 {
            0 => Kill::AfterCommits(1 + (round as usize * 7) % 50),
            1 => Kill::AfterCommits(300 + (round as usize * 131) % 900),
            2 => Kill::AfterMillis(5 + (round * 11) % 90),
            _ => Kill::AfterMillis(100 + (round * 37) % 150),
        };
        let said =
            run_and_kill(CHILD, backend, directory.path(), &[], kill).expect("the child runs");
        assert_eq!(
            said.status.code(),
            None,
            "round {round}: the child ended by itself, its last words are above"
        );
        acknowledged.extend(said.acknowledged);
        runtime.block_on(async {
            let store = Store::open(&settings(backend, directory.path()))
                .expect("the store opens after a kill");
            let heads = check(&store)
                .await
                .unwrap_or_else(|wrong| panic!("round {round}, {kill:?}: {wrong}"));
            assert_eq!(
                lost(&acknowledged, &heads),
                [],
                "round {round}, {kill:?}: acknowledged and lost"
            );
            let restored = store.restored().await;
            assert_eq!(restored, Ok(None), "round {round}: held, and lacks nothing");
            store.close().await;
        });
    }
    assert!(
        acknowledged.len() > 1_000,
        "only {} commits were put to the test",
        acknowledged.len()
    );
}

#[test]
fn sqlite_keeps_what_it_acknowledged_when_it_is_killed() {
    kill_and_check(Backend::Sqlite, 24);
}

#[test]
fn sled_keeps_what_it_acknowledged_when_it_is_killed() {
    kill_and_check(Backend::Sled, 8);
}
