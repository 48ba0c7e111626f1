//! The views for reports agree with the API.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::client::payment;
use switchyard_tests::server::{Server, Setup, stage};
use tokio::process::Command;

/// Runs `switchyard store` with these arguments; answers its JSON.
async fn store(arguments: &[&str], place: (&str, &Path)) -> anyhow::Result<Value> {
    let done = Command::new(stage()?.join("switchyard"))
        .arg("store")
        .args(arguments)
        .args(["--json", place.0])
        .arg(place.1)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(done.status.success(), "store {arguments:?}: {said}");
    serde_json::from_slice(&done.stdout).context(said)
}

/// The answer to a query, a list of rows.
async fn rows(place: (&str, &Path), sql: &str) -> anyhow::Result<Vec<Value>> {
    let answer = store(&["shell", sql], place).await?;
    let rows = answer["rows"].as_array().context("rows")?;
    Ok(rows.clone())
}

/// Members of an answer of the API as the shell prints them: text, or null.
fn members(of: &Value, names: &[(&str, &str)]) -> Value {
    let text = |value: &Value| match value {
        Value::Null => Value::Null,
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    };
    let members = names.iter().map(|(column, path)| {
        (
            (*column).to_owned(),
            text(of.pointer(path).unwrap_or(&Value::Null)),
        )
    });
    Value::Object(members.collect())
}

const SUMMARY: [(&str, &str); 10] = [
    ("id", "/id"),
    ("app", "/app"),
    ("environment", "/environment"),
    ("status", "/status"),
    ("currency", "/currency"),
    ("description", "/description"),
    ("open_cases", "/open_cases"),
    ("failure_reason", "/failure_reason"),
    ("created_at", "/created_at"),
    ("updated_at", "/updated_at"),
];
const ATTEMPT: [(&str, &str); 8] = [
    ("id", "/id"),
    ("reference", "/reference"),
    ("gateway", "/candidate/gateway"),
    ("connection", "/candidate/connection"),
    ("method", "/method"),
    ("state", "/state"),
    ("provider_id", "/provider_id"),
    ("amount_minor", "/amount/minor"),
];

fn columns(of: &[(&str, &str)]) -> String {
    let names: Vec<&str> = of.iter().map(|(column, _)| *column).collect();
    names.join(", ")
}

#[tokio::test]
async fn the_views_for_reports_agree_with_the_api_beside_a_server_and_in_a_backup()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (merchant, operator) = (server.merchant(), server.operator());
    let app = server.dev().app_id.clone();
    let made = merchant
        .post("/v1/payments/initialize", &payment("open"))
        .await?;
    made.expect(201)?;
    for event in [
        "payment.success",
        "payment.failed",
        "payment.cancelled",
        "payout.success",
        "payout.failed",
    ] {
        let path = format!("/operator/v1/apps/{app}/trigger");
        operator
            .post(&path, &json!({ "event": event }))
            .await?
            .expect(201)?;
    }
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let folder = server.data().join("../backup");
    let name = folder.to_str().context("its name is text")?;
    let data = server.data();
    store(&["backup", name], ("--data", &data)).await?;

    let mut seen = 0;
    for place in [("--data", data.as_path()), ("--backup", folder.as_path())] {
        let version = rows(place, "SELECT version FROM reporting_version").await?;
        ensure!(version == [json!({ "version": "1" })], "{version:?}");
        for kind in ["payment", "payout"] {
            let path = format!("/operator/v1/apps/{app}/transactions?kind={kind}");
            let listed = operator.get(&path).await?.expect(200)?;
            let listed = listed.body["data"].as_array().context("a list")?.clone();
            let expected: Vec<Value> = listed
                .iter()
                .map(|listed| members(listed, &SUMMARY))
                .collect();
            let sql = format!(
                "SELECT {} FROM reporting_{kind}s ORDER BY id DESC",
                columns(&SUMMARY)
            );
            let found = rows(place, &sql).await?;
            ensure!(found == expected, "{found:#?} and not {expected:#?}");
            seen += found.len();
            for transaction in &listed {
                let id = transaction["id"].as_str().context("an id")?;
                let path = format!("/operator/v1/transactions/{id}");
                let whole = operator.get(&path).await?.expect(200)?.body["data"].clone();
                agree_on_one(place, id, &whole).await?;
            }
        }
        customers_and_deliveries(place, &app).await?;
        columns_are_documented(place).await?;
    }
    ensure!(seen == 12, "{seen}");
    Ok(())
}

/// Attempts, events and cases of a transaction.
async fn agree_on_one(place: (&str, &Path), id: &str, whole: &Value) -> anyhow::Result<()> {
    let attempts = whole["attempts"].as_array().context("attempts")?;
    let expected: Vec<Value> = attempts.iter().map(|one| members(one, &ATTEMPT)).collect();
    let sql = format!(
        "SELECT {} FROM reporting_attempts WHERE transaction_id = '{id}' ORDER BY number",
        columns(&ATTEMPT)
    );
    let found = rows(place, &sql).await?;
    ensure!(found == expected, "{found:#?} and not {expected:#?}");
    let sql = format!(
        "SELECT count(*) AS n, max(at) AS last, max(version) AS version FROM reporting_events \
         WHERE transaction_id = '{id}'"
    );
    let events = &rows(place, &sql).await?[0];
    ensure!(events["n"] == events["version"], "{events}");
    ensure!(
        events["last"] == whole["updated_at"],
        "{events} and not {whole}"
    );
    let sql = format!("SELECT id FROM reporting_cases WHERE transaction_id = '{id}'");
    let cases = whole["cases"].as_array().context("cases")?;
    ensure!(rows(place, &sql).await?.len() == cases.len(), "{whole}");
    Ok(())
}

async fn customers_and_deliveries(place: (&str, &Path), app: &str) -> anyhow::Result<()> {
    let sql = "SELECT DISTINCT c.app, p.app AS of_payment, c.environment, c.email IS NOT NULL AS has_email \
               FROM reporting_customers c JOIN reporting_payments p ON p.customer_id = c.id";
    let found = rows(place, sql).await?;
    let expected = json!({
        "app": app, "of_payment": app, "environment": "sandbox", "has_email": "1",
    });
    ensure!(found == [expected], "{found:?}");
    let sql = "SELECT kind, status, count(DISTINCT transaction_id) AS n FROM reporting_deliveries \
               GROUP BY kind, status";
    let found = rows(place, sql).await?;
    // Three payments and two payouts ended with a mail to the merchant.
    let mails = json!({ "kind": "mail", "status": "delivered", "n": "5" });
    ensure!(found.contains(&mails), "{found:?}");
    Ok(())
}

async fn columns_are_documented(place: (&str, &Path)) -> anyhow::Result<()> {
    let page = std::fs::read_to_string(switchyard_tests::tidy::root().join("docs/reporting.md"))?;
    for view in [
        "payments",
        "payouts",
        "attempts",
        "events",
        "customers",
        "deliveries",
        "cases",
    ] {
        let sql = format!(
            "SELECT group_concat('`' || name || '`', ', ') AS columns \
             FROM pragma_table_info('reporting_{view}')"
        );
        let found = rows(place, &sql).await?;
        let columns = found[0]["columns"].as_str().context("columns")?;
        let row = format!("| `reporting_{view}` | {columns} |");
        ensure!(page.contains(&row), "docs/reporting.md lacks {row}");
    }
    Ok(())
}
