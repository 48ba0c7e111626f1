//! What is in the engine's memory stays there, even when it dies.

use std::fs;
use std::io::ErrorKind;

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
    // Nobody but root may look into it, although the process is ours. Root may look into everything.
    let mine = fs::read("/proc/self/environ").is_ok();
    let theirs = fs::read(format!("/proc/{process}/environ"));
    let is_root = fs::read("/proc/1/environ").is_ok();
    if mine && !is_root {
        let refused = theirs.map(|_| ()).unwrap_err().kind();
        assert_eq!(refused, ErrorKind::PermissionDenied);
    }
    Ok(())
}
