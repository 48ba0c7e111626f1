//! A store whose machine loses power has every acknowledged commit, and no commit in part:
//! acknowledged means synced.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use switchyard_store::{Backend, Store};
use switchyard_tests::store::power_cut::{Before, Survives, build_shim, cut};
use switchyard_tests::store::process::{Kill, run_and_kill};
use switchyard_tests::store::rows::{check, lost, settings};

/// Fate of the writes that were not synced, in each round.
const SURVIVES: [Survives; 4] = [
    Survives::Nothing,
    Survives::Pages,
    Survives::Prefix,
    Survives::Pages,
];
const CHILD: &str = env!("CARGO_BIN_EXE_store_child");

fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        build_shim(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the shim is built")
    })
}

/// A machine with a store on it, whose power fails.
struct Machine {
    backend: Backend,
    /// A sync that promises and does not keep, or none.
    lying: &'static str,
    directory: tempfile::TempDir,
    root: PathBuf,
    acknowledged: Vec<(u64, u64)>,
    /// Bytes that were written and not synced when the power failed.
    at_stake: usize,
}

impl Machine {
    fn new(backend: Backend, lying: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory
            .path()
            .canonicalize()
            .expect("it is there")
            .join("store");
        fs::create_dir(&root).expect("a directory");
        Self {
            backend,
            lying,
            directory,
            root,
            acknowledged: Vec::new(),
            at_stake: 0,
        }
    }

    /// Lets the child write until the power fails, then looks at what is left. Says what is wrong
    /// with it.
    fn run(&mut self, kill: Kill, survives: Survives, seed: u64) -> Result<(), String> {
        let context = |wrong: String| {
            format!(
                "{:?}, {kill:?}, {survives:?}, seed {seed}: {wrong}",
                self.backend
            )
        };
        let log = self.directory.path().join("log");
        fs::write(&log, "").expect("a file");
        let before = Before::of(&self.root).expect("the files are read");
        let environment = [
            ("LD_PRELOAD", shim()),
            ("SWITCHYARD_CUT_ROOT", &self.root),
            ("SWITCHYARD_CUT_LOG", &log),
            ("SWITCHYARD_CUT_LYING", Path::new(self.lying)),
        ];
        let said = run_and_kill(CHILD, self.backend, &self.root, &environment, kill)
            .expect("the child runs");
        if said.status.code().is_some() {
            return Err(context(
                "the child ended by itself, its last words are above".to_owned(),
            ));
        }
        self.acknowledged.extend(said.acknowledged);
        let written = fs::read(&log).expect("the shim has logged");
        self.at_stake += cut(before, &self.root, &written, survives, seed).map_err(context)?;
        self.look().map_err(context)
    }

    #[tokio::main]
    async fn look(&self) -> Result<(), String> {
        let store =
            Store::open(&settings(self.backend, &self.root)).map_err(|error| error.to_string())?;
        let heads = check(&store).await?;
        let restored = store.restored().await;
        if let Some(record) = restored.map_err(|error| error.to_string())? {
            return Err(format!("the store is held, and lacks nothing: {record:?}"));
        }
        store.close().await;
        match lost(&self.acknowledged, &heads).len() {
            0 => Ok(()),
            lost => Err(format!("{lost} acknowledged commits are lost")),
        }
    }
}

/// Cuts the power in rounds over the same store. Says what is wrong after one of them, if anything
/// ever is.
fn cut_and_check(backend: Backend, rounds: u64, lying: &'static str) -> Result<(), String> {
    let mut machine = Machine::new(backend, lying);
    for round in 0..rounds {
        let kill = match round % 5 {
            0 => Kill::AfterMillis(20 + round * 3),
            n => Kill::AfterCommits(50 + (n * 271 + round * 97) as usize % 1200),
        };
        let survives = SURVIVES[round as usize % SURVIVES.len()];
        machine.run(kill, survives, round * 7919 + 1)?;
    }
    let tested = machine.acknowledged.len();
    assert!(tested > 1_000, "only {tested} commits were put to the test");
    assert!(
        machine.at_stake > 0,
        "never was anything unsynced: the cuts took nothing away"
    );
    Ok(())
}

/// Cuts the power while the store is made, each time a new one.
fn cut_the_making(backend: Backend, rounds: u64) {
    for round in 0..rounds {
        let kill = Kill::AfterMillis(2 + round * 60 / rounds);
        let survives = SURVIVES[round as usize % SURVIVES.len()];
        let made = Machine::new(backend, "").run(kill, survives, round * 104_729 + 1);
        made.unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// The kill may fall between the creation of a file and the shim's note of it: then the log still
/// names the file that had its inode before.
#[test]
fn a_file_that_was_created_and_not_noted_is_not_taken_for_the_one_whose_inode_it_got() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    let nothing = || Before::of(tempfile::tempdir()?.path());
    let found = root.join("found");
    fs::write(&found, "").expect("a file");
    let inode = fs::metadata(&found).expect("it is there").ino();
    let record = |kind: u8, bytes: &[u8]| {
        let numbers = [inode, 0, bytes.len() as u64].map(u64::to_ne_bytes);
        [&[kind], numbers.as_flattened(), bytes].concat()
    };
    let cut_after_creating = |path: &Path| {
        let log = [
            record(b'C', path.as_os_str().as_encoded_bytes()),
            record(b'W', b"written"),
            record(b'W', b"completely"),
        ];
        let before = nothing().expect("the files are read");
        cut(before, root, &log.concat(), Survives::Nothing, 1)
    };
    assert_eq!(cut_after_creating(&root.join("removed")), Ok(0));
    cut_after_creating(&found).expect_err("what was written to this very file is missing");
}

#[test]
fn sqlite_keeps_what_it_acknowledged_when_the_power_fails() {
    cut_and_check(Backend::Sqlite, 22, "").unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn sled_keeps_what_it_acknowledged_when_the_power_fails() {
    cut_and_check(Backend::Sled, 12, "").unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// Without the sync that its adapter adds, sled has only `sync_file_range` between an
/// acknowledgment and a loss.
#[test]
fn the_cut_shows_that_sled_would_lose_commits_without_the_added_sync() {
    let wrong = cut_and_check(Backend::Sled, 12, "fdatasync").expect_err("the loss is found");
    eprintln!("as it should be: {wrong}");
}

/// The loss also shows that SQLite was compiled to flush with `fdatasync`.
#[test]
fn the_cut_shows_that_sqlite_would_lose_commits_without_its_sync() {
    let wrong = cut_and_check(Backend::Sqlite, 12, "fdatasync").expect_err("the loss is found");
    eprintln!("as it should be: {wrong}");
}

#[test]
fn sqlite_is_made_anew_when_the_power_fails_while_it_is_made() {
    cut_the_making(Backend::Sqlite, 14);
}

#[test]
fn sled_is_made_anew_when_the_power_fails_while_it_is_made() {
    cut_the_making(Backend::Sled, 24);
}
