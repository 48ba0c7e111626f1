//! Requests that a program generates from the OpenAPI documents: each response is as its document
//! says, and none is an internal error.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;
use serde_json::json;
use switchyard_tests::tidy::root;
use switchyard_tests::{PAYS, Server, Setup, client};
use tokio::process::Command;

/// No fault of ours, and nothing that the document does not mention: statuses, content types,
/// headers, bodies.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,ignored_auth,unsupported_method";
/// Check that invalid data is refused. The operator API also reads objects inside a body from
/// arrays, so it does not pass.
const STRICT: &str = "negative_data_rejection";

/// One of the APIs, as the generator gets to know it.
struct Api<'a> {
    document: &'a str,
    token: &'a str,
    /// Values of parameters of the paths, by name. Made-up ids only ever get a 404.
    parameters: Vec<(&'a str, String)>,
    examples: &'a str,
    is_strict: bool,
}

#[tokio::test]
#[ignore = "needs schemathesis: `cargo xtask test contract` installs it"]
async fn generated_requests_of_merchants_meet_no_fault_and_no_undocumented_response()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (payment, payout) = transactions(&server).await?;
    let api = Api {
        document: "/openapi.json",
        token: &server.dev().sandbox_secret_key,
        parameters: vec![("paymentId", payment), ("payoutId", payout)],
        examples: "25",
        is_strict: true,
    };
    println!("{}", generate(&server, &api).await?);
    Ok(())
}

#[tokio::test]
#[ignore = "needs schemathesis: `cargo xtask test contract` installs it"]
async fn generated_requests_of_operators_meet_no_fault_and_no_undocumented_response()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let app = server.dev().app_id.clone();
    let api = Api {
        document: "/operator/openapi.json",
        token: &server.dev().operator_token,
        parameters: vec![("app", app), ("gateway", "switchyard_demo".to_owned())],
        examples: "10",
        is_strict: false,
    };
    println!("{}", generate(&server, &api).await?);
    Ok(())
}

#[tokio::test]
#[ignore = "needs schemathesis: `cargo xtask test contract` installs it"]
async fn generated_requests_of_users_meet_no_fault_and_no_undocumented_response()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (payment, _) = transactions(&server).await?;
    let (account, token) = account_token(&server).await?;
    let api = Api {
        document: "/account/openapi.json",
        token: &token,
        parameters: vec![
            ("account", account),
            ("app", server.dev().app_id.clone()),
            ("environment", "sandbox".to_owned()),
            ("transaction", payment),
        ],
        examples: "10",
        is_strict: false,
    };
    println!("{}", generate(&server, &api).await?);
    Ok(())
}

/// Account of the development server's owner, and a token with all actions that a token may have.
async fn account_token(server: &Server) -> anyhow::Result<(String, String)> {
    let owner = json!({ "email": "owner@example.com", "password": "violet-teapots-locally" });
    let stranger = server.stranger();
    let signed_in = stranger.post("/account/v1/sign-in", &owner).await?;
    let signed_in = signed_in.expect(201)?;
    let owner = server.stranger().with_key(signed_in.data("token")?);
    let apps = owner.get("/account/v1/apps").await?.expect(200)?;
    let account = apps.body["data"][0]["account"].as_str().context("an app")?;
    let path = format!("/account/v1/accounts/{account}/actions");
    let actions = owner.get(&path).await?.expect(200)?;
    let actions = actions.body["data"].as_array().context("actions")?.iter();
    let of_tokens = actions.filter(|one| one["needs_person"] == false);
    let names: Vec<_> = of_tokens.map(|one| one["action"].clone()).collect();
    let new = json!({ "name": "CI", "account": account, "actions": names, "days": 1 });
    let made = owner.post("/account/v1/tokens", &new).await?.expect(201)?;
    Ok((account.to_owned(), made.data("token")?.to_owned()))
}

/// Runs the generator, and returns its summary.
async fn generate(server: &Server, api: &Api<'_>) -> anyhow::Result<String> {
    let bin = std::env::var_os("SWITCHYARD_PYTHON")
        .map_or_else(|| root().join("target/tools/python/bin"), PathBuf::from);
    let folder = tempfile::tempdir()?;
    let settings = folder.path().join("schemathesis.toml");
    let lines = api
        .parameters
        .iter()
        .map(|(name, value)| format!("{name} = \"{value}\"\n"));
    std::fs::write(
        &settings,
        format!("[parameters]\n{}", lines.collect::<String>()),
    )?;
    let url = server.admin_url();
    let mut schemathesis = Command::new(bin.join("schemathesis"));
    schemathesis
        .args(["--no-color", "--config-file"])
        .arg(settings);
    schemathesis.args(["run", &format!("{url}{}", api.document), "--url", &url]);
    let checks = match api.is_strict {
        true => format!("{CHECKS},{STRICT}"),
        false => CHECKS.to_owned(),
    };
    schemathesis.args(["--checks", &checks]);
    schemathesis.args(["--header", &format!("Authorization: Bearer {}", api.token)]);
    // One seed: a failure is the same for everyone who runs it.
    schemathesis.args(["--seed", "1", "--max-examples", api.examples]);
    schemathesis.args(["--phases", "examples,coverage,fuzzing"]);
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
    Ok(tail(&said, 12))
}

/// Ids of a payment and a payout.
async fn transactions(server: &Server) -> anyhow::Result<(String, String)> {
    let merchant = server.merchant();
    let payment = merchant
        .post("/v1/payments/initialize", &client::payment("A teapot"))
        .await?
        .expect(201)?;
    let payout = merchant
        .post("/v1/payouts/initialize", &client::payout("Salary", PAYS))
        .await?
        .expect(201)?;
    Ok((
        payment.data("id")?.to_owned(),
        payout.data("id")?.to_owned(),
    ))
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
