//! Memory of the engine and of its workers is not readable from outside, even when the process
//! crashes.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use switchyard_tests::surroundings::{Right, once_more};
use switchyard_tests::{Server, Setup};

const NAME: &str = "dumps::the_engine_and_its_workers_leave_no_core_dump_and_cannot_be_looked_into";

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_and_its_workers_leave_no_core_dump_and_cannot_be_looked_into()
-> anyhow::Result<()> {
    // Root may read everything, which proves nothing: then without that right, for this test and
    // all its subprocesses.
    if Right::LookIntoAll.is_ours()? {
        let without = ["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"];
        return once_more("setpriv", &without, NAME);
    }
    let server = Server::start(Setup::default()).await?;
    let engine = server.process().context("it runs")?;
    let workers = children(engine)?;
    anyhow::ensure!(!workers.is_empty(), "no gateway has a worker");
    // A similar process without protection: there, the search below finds the secret.
    let open = Idle::start()?;
    let looked = fs::read_link(format!("/proc/{}/exe", open.0.id()));
    assert!(looked.is_ok(), "the look finds nothing: {looked:?}");
    for process in workers.into_iter().chain([engine]) {
        let limits = fs::read_to_string(format!("/proc/{process}/limits"))?;
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max core file size"))
            .context("the limit is listed")?;
        let values: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(values[..2], ["0", "0"], "soft and hard: {line}");
        // The kernel demands here the same right as of a debugger, and no other right of root.
        let looked = fs::read_link(format!("/proc/{process}/exe"));
        let is_shut = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
        assert!(
            looked.as_ref().is_err_and(is_shut),
            "{process} can be looked into: {looked:?}"
        );
    }
    Ok(())
}

fn children(parent: u32) -> anyhow::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let folder = entry?.path();
        if let Some(process) = number(&folder) {
            // A process that has ended by now has no status, and does not count.
            let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
            if status.contains(&format!("\nPPid:\t{parent}\n")) {
                found.push(process);
            }
        }
    }
    Ok(found)
}

fn number(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.parse().ok()
}

/// Does nothing until it is dropped.
struct Idle(Child);

impl Idle {
    fn start() -> anyhow::Result<Self> {
        Ok(Self(Command::new("cat").stdin(Stdio::piped()).spawn()?))
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
