//! Requests that a program generates from `/openapi.json`: each response is as the document says,
//! and none is an internal error.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;
use switchyard_tests::tidy::root;
use switchyard_tests::{PAYS, Server, Setup, client};
use tokio::process::Command;

/// No fault of ours, nothing that the document does not mention (statuses, content types, headers,
/// bodies), and nothing accepted that the document rules out.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,negative_data_rejection,ignored_auth,unsupported_method";

#[tokio::test]
#[ignore = "needs schemathesis: `cargo xtask test contract` installs it"]
async fn generated_requests_meet_no_fault_and_no_undocumented_answer() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let dev = server.dev();
    let bin = std::env::var_os("SWITCHYARD_PYTHON")
        .map_or_else(|| root().join("target/tools/python/bin"), PathBuf::from);
    // Ids that exist: made-up ones only ever meet a 404.
    let folder = tempfile::tempdir()?;
    let settings = folder.path().join("schemathesis.toml");
    let made = made(&server).await?;
    std::fs::write(&settings, made)?;
    let mut schemathesis = Command::new(bin.join("schemathesis"));
    schemathesis
        .args(["--no-color", "--config-file"])
        .arg(settings);
    schemathesis.args([
        "run",
        &format!("{}/openapi.json", dev.base_url),
        "--url",
        &dev.base_url,
        "--checks",
        CHECKS,
    ]);
    schemathesis.args([
        "--header",
        &format!("Authorization: Bearer {}", dev.sandbox_secret_key),
    ]);
    // One seed: a failure is the same for everyone who runs it.
    schemathesis.args([
        "--seed",
        "1",
        "--max-examples",
        "40",
        "--phases",
        "examples,coverage,fuzzing",
    ]);
    // It keeps what it finds beside where it runs.
    let output = schemathesis
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .await
        .context("run `cargo xtask test contract`")?;
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    anyhow::ensure!(
        output.status.success(),
        "{said}\nthe server's log ends:\n{}",
        tail(&server.log(), 40)
    );
    println!("{}", tail(&said, 12));
    Ok(())
}

/// A payment and a payout, for the parameters of the paths.
async fn made(server: &Server) -> anyhow::Result<String> {
    let merchant = server.merchant();
    let payment = merchant
        .post("/v1/payments/initialize", &client::payment("A teapot"))
        .await?
        .expect(201)?;
    let payout = merchant
        .post("/v1/payouts/initialize", &client::payout("Salary", PAYS))
        .await?
        .expect(201)?;
    Ok(format!(
        "[parameters]\npaymentId = \"{}\"\npayoutId = \"{}\"\n",
        payment.data("id")?,
        payout.data("id")?
    ))
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
