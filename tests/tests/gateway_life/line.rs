//! `switchyard gateway …` against a real server, and the state after a restart.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use switchyard_tests::client::payout;
use switchyard_tests::{PAYS, Server, Setup, demo_as, eventually};
use tempfile::TempDir;
use tokio::process::Command;

pub async fn run(server: &Server, words: &[&str]) -> anyhow::Result<Output> {
    switchyard(server, &[&["gateway"], words].concat()).await
}

async fn switchyard(server: &Server, words: &[&str]) -> anyhow::Result<Output> {
    let (url, token) = (server.admin_url(), &server.dev().operator_token);
    let mut command = Command::new(switchyard_tests::server::stage()?.join("switchyard"));
    command.args(["--url", &url, "--token", token]);
    Ok(command.args(words).output().await?)
}

/// Output of a command that succeeds.
pub async fn output_of(server: &Server, words: &[&str]) -> anyhow::Result<String> {
    let output = run(server, words).await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_takes_a_gateway_through_its_life_and_a_restart_finds_it_where_it_was()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let mut server = Server::start(Setup::default()).await?;
    let next = demo_as(folder.path(), "switchyard_demo", 7)?;
    let next = text(&next);

    let list = output_of(&server, &["list"]).await?;
    assert!(
        list.starts_with("NAME") && list.contains("switchyard_demo  1.0.0    serving"),
        "{list}"
    );
    let seen = output_of(&server, &["inspect", next]).await?;
    for line in [
        "switchyard_demo 1.0.7: ",
        "replaces       1.0.0 (",
        "consent        not needed",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    let upgraded = output_of(&server, &["upgrade", next, "--why", "new and shiny"]).await?;
    assert!(
        upgraded.contains("serving at 1.0.7, 0 calls running, 0 attempts open"),
        "{upgraded}"
    );
    for line in ["upgraded     1.0.7 ", "  by development: new and shiny"] {
        assert!(upgraded.contains(line), "{line}: {upgraded}");
    }

    let back = output_of(
        &server,
        &["rollback", "switchyard_demo", "--why", "too shiny"],
    )
    .await?;
    assert!(back.contains("serving at 1.0.0"), "{back}");
    server.stop().await?;
    server.up().await?;
    let shown = output_of(&server, &["show", "switchyard_demo"]).await?;
    assert!(
        shown.contains("serving at 1.0.0") && shown.contains("too shiny"),
        "{shown}"
    );
    let forward: Value = {
        let shown: Value = serde_json::from_str(
            &output_of(&server, &["show", "switchyard_demo", "--json"]).await?,
        )?;
        let hash = shown["data"]["versions"][0]["sha256"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let words = ["rollback", "switchyard_demo", "--to", &hash[..12], "--json"];
        serde_json::from_str(&output_of(&server, &words).await?)?
    };
    assert_eq!(forward["data"]["version"], "1.0.7");
    held_and_out(&mut server).await
}

async fn held_and_out(server: &mut Server) -> anyhow::Result<()> {
    // Killed, not stopped: acknowledged changes are there.
    server.kill().await?;
    server.up().await?;
    assert!(
        output_of(server, &["list"])
            .await?
            .contains("1.0.7    serving")
    );

    let held = output_of(
        server,
        &["quarantine", "switchyard_demo", "--why", "a bad day"],
    )
    .await?;
    assert!(
        held.contains("To bring it back: switchyard gateway restore switchyard_demo"),
        "{held}"
    );
    server.kill().await?;
    server.up().await?;
    let list = output_of(server, &["list"]).await?;
    assert!(
        list.contains("quarantined") && list.contains("a bad day"),
        "{list}"
    );
    output_of(server, &["restore", "switchyard_demo"]).await?;
    let drained = output_of(server, &["drain", "switchyard_demo", "--wait"]).await?;
    assert!(drained.contains("drained at 1.0.7"), "{drained}");
    let back = "To have it serve again: switchyard gateway restore switchyard_demo";
    assert!(drained.contains(back), "{drained}");
    output_of(server, &["remove", "switchyard_demo"]).await?;
    let failed = run(server, &["remove", "switchyard_demo"]).await?;
    let errors = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(
        !failed.status.success() && errors.contains("was removed"),
        "{errors}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_put_into_the_folder_is_taken_while_the_server_runs() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let watched = folder.path().join("watched");
    std::fs::create_dir(&watched)?;
    let setup = Setup {
        gateways: Some(watched.clone()),
        ..Setup::default()
    };
    let server = Server::start(setup).await?;
    assert!(
        output_of(&server, &["list"])
            .await?
            .contains("No gateway is installed yet")
    );
    std::fs::write(watched.join("broken.so"), b"no gateway")?;
    std::fs::copy(
        demo_as(folder.path(), "switchyard_demo", 1)?,
        watched.join("demo.so"),
    )?;
    let within = Duration::from_secs(60);
    let list = eventually("both files are dealt with", within, || async {
        let list = output_of(&server, &["list"]).await?;
        Ok((list.contains("1.0.1") && list.contains("refused")).then_some(list))
    });
    let list = list.await?;
    assert!(list.contains("broken.so  is refused: "), "{list}");
    std::fs::copy(
        demo_as(folder.path(), "switchyard_demo", 2)?,
        watched.join("demo.so"),
    )?;
    eventually("the changed file is an upgrade", within, || async {
        Ok(output_of(&server, &["list"])
            .await?
            .contains("1.0.2")
            .then_some(()))
    })
    .await?;
    std::fs::remove_file(watched.join("demo.so"))?;
    eventually("the vanished file is told of", within, || async {
        let list = output_of(&server, &["list"]).await?;
        Ok((list.contains("demo.so  is gone") && list.contains("serving")).then_some(()))
    })
    .await?;
    let refusals = server.log().matches("gateway skipped").count();
    assert_eq!(refusals, 1, "said once, not at every look");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_lists_what_the_provider_calls_the_attempts_of_a_connection()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let operator = server.operator();
    let connections = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let new =
        json!({ "environment": "sandbox", "gateway": "switchyard_demo", "account_name": "A" });
    let made = operator.post(&connections, &new).await?.expect(201)?;
    let connection = made.data("id")?.to_owned();
    let ids = format!("/operator/v1/connections/{connection}/provider-ids");
    let (merchant, mut paid) = (server.merchant(), Vec::new());
    for _ in 0..3 {
        let new = payout("Salary", PAYS);
        let made = merchant.post("/v1/payouts/initialize", &new).await?;
        paid.push(made.expect(201)?.data("id")?.to_owned());
    }
    let all = eventually("three names", Duration::from_secs(60), || async {
        let all = operator.get(&ids).await?.expect(200)?;
        let count = all.body["data"]["provider_ids"].as_array().map(Vec::len);
        Ok((count == Some(3)).then_some(all.body))
    });
    let all = all.await?;
    assert_eq!(all["data"]["more"], Value::Null);
    let all = all["data"]["provider_ids"].as_array().cloned();
    let all = all.unwrap_or_default();
    for id in &paid {
        assert!(all.iter().any(|row| row["transaction"] == *id), "{all:?}");
    }

    let first = operator.get(&format!("{ids}?limit=2")).await?.expect(200)?;
    assert_eq!(first.body["data"]["provider_ids"], json!(all[..2]));
    let more = first.data("more")?;
    assert_eq!(all[1]["provider_id"], more);
    let next = operator.get(&format!("{ids}?limit=2&after={more}")).await?;
    assert_eq!(
        next.expect(200)?.body["data"]["provider_ids"],
        json!(all[2..])
    );
    let nobodys = ids.replace(&connection, "con_01jd4v3z6q8k9m2n5p7r1s3t4v");
    operator.get(&nobodys).await?.expect(404)?;

    let words = ["connections", "provider-ids", &connection, "--limit", "2"];
    let page = switchyard(&server, &words).await?;
    let (table, note) = (
        String::from_utf8(page.stdout)?,
        String::from_utf8(page.stderr)?,
    );
    let lines: Vec<_> = table.lines().collect();
    assert!(
        lines.len() == 3 && lines[0].starts_with("PROVIDER ID"),
        "{table}"
    );
    assert!(note.contains(&format!("--after {more}")), "{note}");
    let rest = switchyard(&server, &[&words[..], &["--after", more]].concat()).await?;
    let rest = String::from_utf8(rest.stdout)?;
    let last = all[2]["provider_id"].as_str().unwrap_or_default();
    assert!(rest.lines().count() == 2 && rest.contains(last), "{rest}");
    Ok(())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}
