//! The program as an operator starts and stops it.

use std::process::Stdio;

use switchyard_tests::{Server, Setup, server::stage};
use tokio::process::Command;

#[tokio::test]
async fn it_serves_ends_in_order_and_comes_back_with_the_same_keys() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let before = server.dev().clone();
    server.stranger().get("/healthz").await?.expect(200)?;
    server.stop().await?;
    server.up().await?;
    assert_eq!(server.dev(), &before);
    server.kill().await?;
    server.up().await?;
    assert_eq!(server.dev(), &before);
    Ok(())
}

#[tokio::test]
async fn secrets_of_development_are_for_their_owner_only() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(Setup::default()).await?;
    for name in ["dev.json", "master.key"] {
        let mode = std::fs::metadata(server.data().join(name))?
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o600, "{name} is {mode:o}");
    }
    Ok(())
}

#[tokio::test]
async fn an_unsafe_setting_stops_the_start_with_a_sentence_that_says_which() -> anyhow::Result<()> {
    for (settings, sentence) in [
        (
            vec![("SWITCHYARD_SERVER__LISTEN", "0.0.0.0:0")],
            "server.listen",
        ),
        (vec![("SWITCHYARD_WEBHOOK__RETRYS", "3")], "retrys"),
        (vec![("SWITCHYARD_STORE__CACHE", "1B")], "store.cache"),
    ] {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(stage()?.join("switchyard"));
        command
            .args(["serve", "--development", "--data"])
            .arg(folder.path())
            .envs(settings);
        let output = command.stdin(Stdio::null()).output().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "{said}");
    }
    Ok(())
}
