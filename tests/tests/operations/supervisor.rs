//! Messages to the service manager: the unit has `Type=notify` and a watchdog.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use anyhow::Context as _;

use crate::installation::Installation;

/// Receives messages until one begins with `wanted`, and returns that one.
fn receive(messages: &UnixDatagram, wanted: &str) -> anyhow::Result<String> {
    let mut seen = BTreeSet::new();
    loop {
        let mut bytes = [0; 256];
        let length = messages
            .recv(&mut bytes)
            .with_context(|| format!("{wanted} does not arrive, only {seen:?}"))?;
        let message = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if message.starts_with(wanted) {
            return Ok(message);
        }
        seen.insert(message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_manager_is_notified_of_start_life_reload_and_stop() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let socket = installation.folder.path().join("notify");
    let messages = UnixDatagram::bind(&socket)?;
    fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
    messages.set_read_timeout(Some(Duration::from_secs(30)))?;
    installation.environment = vec![
        ("NOTIFY_SOCKET".to_owned(), socket.display().to_string()),
        ("WATCHDOG_USEC".to_owned(), "1500000".to_owned()),
    ];
    installation.up().await?;
    receive(&messages, "READY=1")?;
    for _ in 0..3 {
        receive(&messages, "WATCHDOG=1")?;
    }
    installation.signal("-HUP")?;
    let reloading = receive(&messages, "RELOADING=1")?;
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    receive(&messages, "READY=1")?;
    installation.signal("-TERM")?;
    receive(&messages, "STOPPING=1")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_server_sends_no_sign_of_life() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let socket = installation.folder.path().join("notify");
    let messages = UnixDatagram::bind(&socket)?;
    fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
    installation.environment = vec![
        ("NOTIFY_SOCKET".to_owned(), socket.display().to_string()),
        ("WATCHDOG_USEC".to_owned(), "900000".to_owned()),
    ];
    installation.up().await?;
    messages.set_read_timeout(Some(Duration::from_secs(30)))?;
    receive(&messages, "WATCHDOG=1")?;
    installation.signal("-STOP")?;
    // A message may be on its way.
    messages.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut late = 0;
    while messages.recv(&mut [0; 256]).is_ok() {
        late += 1;
    }
    assert!(late <= 1, "{late} signs of life of a stopped process");
    installation.signal("-CONT")?;
    messages.set_read_timeout(Some(Duration::from_secs(30)))?;
    receive(&messages, "WATCHDOG=1").map(drop)
}
