//! What is in the engine's memory stays there, even when it dies.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;

use anyhow::Context as _;
use switchyard_tests::{Server, Setup};

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_leaves_no_core_dump_and_cannot_be_looked_into() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let process = server.process().context("it runs")?;
    let limits = fs::read_to_string(format!("/proc/{process}/limits"))?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max core file size"))
        .context("the limit is listed")?;
    let values: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(values[..2], ["0", "0"], "soft and hard: {line}");
    // Nobody but root may look into it, although the process is ours.
    let is_root = fs::metadata("/proc/self")?.uid() == 0;
    let looked = fs::read(format!("/proc/{process}/environ"));
    assert!(
        is_root || looked.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied),
        "its environment can be read"
    );
    Ok(())
}
