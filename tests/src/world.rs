//! The machine around one server, which a test changes while it runs: its clock, its resolver, its
//! disk, its sleep.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::gateways::cc;
use crate::server::Setup;
use crate::tidy::root;

/// Environment of the server that is started with its settings.
pub struct World {
    /// Four numbers, which the shim has mapped.
    file: File,
    settings: [(&'static str, &'static str); 2],
    /// Microseconds.
    slept: AtomicI64,
}

impl World {
    /// In `folder`, which must outlive the server. Nothing is changed yet.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let source = root().join("tests/world/shim.c");
        // The shim is all about the symbols that it shows.
        let shim = cc(&source, folder, "world", &["-fvisibility=default"])?;
        let path = folder.join("world");
        let file = File::create(&path)?;
        file.set_len(32)?;
        let text = |path: &Path| -> &'static str { path.display().to_string().leak() };
        Ok(Self {
            file,
            settings: [
                ("LD_PRELOAD", text(&shim)),
                ("SWITCHYARD_WORLD", text(&path)),
            ],
            slept: AtomicI64::new(0),
        })
    }

    /// Has a server live in this world.
    pub fn surround(&self, setup: &mut Setup) {
        setup.settings.extend(self.settings);
    }

    /// The clock on the wall shows so many seconds more than the machine's.
    pub fn set_clock(&self, seconds: i64) -> anyhow::Result<()> {
        self.write(0, seconds * 1_000_000)
    }

    /// No name is found any more, or all are again.
    pub fn fail_names(&self, fail: bool) -> anyhow::Result<()> {
        self.write(8, i64::from(fail))
    }

    /// Each flush of a file takes so much longer.
    pub fn slow_flushes(&self, by: Duration) -> anyhow::Result<()> {
        self.write(16, i64::try_from(by.as_micros())?)
    }

    /// Suspends the machine for this time: timers of that time are overdue afterwards.
    pub fn sleep(&self, by: Duration) -> anyhow::Result<()> {
        let by = i64::try_from(by.as_micros())?;
        let slept = self.slept.fetch_add(by, Ordering::SeqCst) + by;
        self.write(24, slept)
    }

    /// For how long it was suspended in all.
    pub fn slept(&self) -> Duration {
        let slept = self.slept.load(Ordering::SeqCst);
        Duration::from_micros(slept.unsigned_abs())
    }

    fn write(&self, at: u64, number: i64) -> anyhow::Result<()> {
        Ok(self.file.write_all_at(&number.to_ne_bytes(), at)?)
    }
}
