//! The views for reports agree with the API.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use switchyard_tests::client::{payment, payout};
use switchyard_tests::eventually;
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

const SUMMARY: [(&str, &str); 12] = [
    ("id", "/id"),
    ("app", "/app"),
    ("environment", "/environment"),
    ("status", "/status"),
    ("currency", "/currency"),
    ("description", "/description"),
    ("open_cases", "/open_cases"),
    ("failure_reason", "/failure_reason"),
    ("failure_message", "/failure_message"),
    ("last_gateway", "/gateway"),
    ("created_at", "/created_at"),
    ("updated_at", "/updated_at"),
];
const ATTEMPT: [(&str, &str); 18] = [
    ("id", "/id"),
    ("reference", "/reference"),
    ("gateway", "/candidate/gateway"),
    ("connection", "/candidate/connection"),
    ("method", "/method"),
    ("state", "/state"),
    ("provider_id", "/provider_id"),
    ("amount_minor", "/amount/minor"),
    ("captured_minor", "/captured/minor"),
    ("fees_minor", "/fees/minor"),
    ("queries", "/queries"),
    ("country", "/country"),
    ("currency", "/amount/currency"),
    ("captured_currency", "/captured/currency"),
    ("fees_currency", "/fees/currency"),
    ("decline_reason", "/decline/reason"),
    ("started_at", "/started_at"),
    ("ended_at", "/ended_at"),
];
const CASE: [(&str, &str); 11] = [
    ("id", "/id"),
    ("reason", "/reason"),
    ("reference", "/reference"),
    ("amount_minor", "/amount/minor"),
    ("currency", "/amount/currency"),
    ("provider_id", "/provider_id"),
    ("detail", "/detail"),
    ("closed_by", "/closed/by/name"),
    ("note", "/closed/note"),
    ("opened_at", "/opened_at"),
    ("closed_at", "/closed/at"),
];
const CUSTOMER: [(&str, &str); 7] = [
    ("id", "/id"),
    ("first_name", "/first_name"),
    ("last_name", "/last_name"),
    ("email", "/email"),
    ("phone", "/phone"),
    ("created_at", "/created_at"),
    ("updated_at", "/updated_at"),
];
const DELIVERY: [(&str, &str); 14] = [
    ("id", "/id"),
    ("kind", "/kind"),
    ("app", "/app"),
    ("environment", "/environment"),
    ("transaction_id", "/transaction"),
    ("webhook_id", "/webhook"),
    ("event", "/name"),
    ("recipient", "/recipient"),
    ("status", "/status"),
    ("attempts", "/attempts"),
    ("reason", "/why"),
    ("enqueued_at", "/enqueued_at"),
    ("next_attempt_at", "/next_attempt_at"),
    ("ended_at", "/ended_at"),
];
const EVENT: [(&str, &str); 3] = [
    ("version", "/version"),
    ("type", "/event/type"),
    ("at", "/at"),
];
/// Columns of payments and payouts that the API shows of one transaction only.
const WHOLE: [(&str, &str); 3] = [
    ("customer_id", "/customer/id"),
    ("success_at", "/success_at"),
    ("failed_at", "/failed_at"),
];
const OF_PAYMENTS: [(&str, &str); 2] = [
    ("cancelled_at", "/cancelled_at"),
    ("expires_at", "/details/expires_at"),
];
const OF_PAYOUTS: [(&str, &str); 1] = [("method", "/details/method")];
/// The columns of version 1. Columns are only added to it: another change is another version.
const VERSION_1: &str = include_str!("../snapshots/reporting_1.txt");
/// Key of the connection's callbacks.
const SECRET: &str = "a secret of the provider";
/// A payout to this number fails.
const FAILS: &str = "4149518162";
const SOON: Duration = Duration::from_secs(40);

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
    let path = format!("/operator/v1/apps/{app}/webhooks");
    let hook = json!({ "url": "http://127.0.0.1:9/nobody" });
    let hook = operator.post(&path, &hook).await?.expect(201)?;
    let hook = hook.data("id")?.to_owned();
    let mut order = payment("open");
    order["metadata"] = json!({ "order": "7", "shop": "Dakar" });
    let made = merchant.post("/v1/payments/initialize", &order).await?;
    made.expect(201)?;
    trigger_each_end(&server).await?;
    let connection = connect(&server).await?;
    let held = payout_with_a_case(&server, &connection).await?;
    let closed = payout_with_a_case(&server, &connection).await?;
    close_the_case(&server, &closed).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let folder = server.data().join("../backup");
    let name = folder.to_str().context("its name is text")?;
    let data = server.data();
    store(&["backup", name], ("--data", &data)).await?;

    let mut seen = 0;
    for place in [("--data", data.as_path()), ("--backup", folder.as_path())] {
        let version = rows(place, "SELECT version FROM reporting_version").await?;
        ensure!(version == [json!({ "version": "1" })], "{version:?}");
        let mut wholes = Vec::new();
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
                agree_on_events(place, id, &whole).await?;
                wholes.push(whole);
            }
        }
        agree_on_customers(place, &wholes).await?;
        for (id, state) in [(&held, "open"), (&closed, "closed")] {
            let sql =
                format!("SELECT reason, state FROM reporting_cases WHERE transaction_id = '{id}'");
            let case = json!({ "reason": "money_after_the_end", "state": state });
            ensure!(rows(place, &sql).await? == [case], "the case of {id}");
        }
        customers_and_deliveries(place, &app).await?;
        columns_are_documented(place).await?;
    }
    ensure!(seen == 16, "{seen}");
    deliveries_of(("--data", &data), &server, &hook).await?;
    Ok(())
}

/// Makes a transaction for each end that merchants are notified of.
async fn trigger_each_end(server: &Server) -> anyhow::Result<()> {
    let operator = server.operator();
    let path = format!("/operator/v1/apps/{}/trigger", server.dev().app_id);
    for event in [
        "payment.success",
        "payment.failed",
        "payment.cancelled",
        "payout.success",
        "payout.failed",
    ] {
        let triggered = operator.post(&path, &json!({ "event": event })).await?;
        triggered.expect(201)?;
    }
    Ok(())
}

/// A connection whose callbacks are signed.
async fn connect(server: &Server) -> anyhow::Result<String> {
    let operator = server.operator();
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let new = json!({
        "environment": "sandbox", "gateway": "switchyard_demo", "account_name": "Signed",
        "config": { "callback_secret": SECRET },
    });
    let made = operator.post(&path, &new).await?.expect(201)?;
    Ok(made.data("id")?.to_owned())
}

/// Closes the only case of a transaction.
async fn close_the_case(server: &Server, id: &str) -> anyhow::Result<()> {
    let operator = server.operator();
    let path = format!("/operator/v1/transactions/{id}");
    let shown = operator.get(&path).await?.expect(200)?.body;
    let case = shown["data"]["cases"][0]["id"].as_str().context("a case")?;
    let path = format!("/operator/v1/cases/{case}/close");
    let note = json!({ "note": "the provider has it back" });
    operator.post(&path, &note).await?.expect(200)?;
    Ok(())
}

/// The id of a payout that the provider reports as sent after it has failed: nothing changes it
/// any more.
async fn payout_with_a_case(server: &Server, connection: &str) -> anyhow::Result<String> {
    let operator = server.operator();
    let (merchant, order) = (server.merchant(), payout("Salary", FAILS));
    let made = merchant.post("/v1/payouts/initialize", &order);
    let id = made.await?.expect(201)?.data("id")?.to_owned();
    let path = format!("/operator/v1/transactions/{id}");
    let reference = eventually("it has failed", SOON, async || {
        let shown = operator.get(&path).await?.expect(200)?.body;
        let attempt = &shown["data"]["attempts"][0];
        let reference = attempt["reference"].as_str().map(str::to_owned);
        Ok(reference.filter(|_| attempt["state"] == "declined"))
    });
    let news = json!({
        "reference": reference.await?, "id": format!("demo-late-{id}"), "status": "success", "amount": 2_500,
        "currency": "USD",
    });
    let body = news.to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())?;
    mac.update(body.as_bytes());
    let signature = base16ct::lower::encode_string(&mac.finalize().into_bytes());
    let url = format!("{}/callbacks/{connection}", server.dev().base_url);
    let client = reqwest::Client::builder().no_proxy().build()?;
    let request = client.post(url).header("x-demo-signature", signature);
    request.body(body).send().await?.error_for_status()?;
    eventually("it has a case", SOON, async || {
        let shown = operator.get(&path).await?.expect(200)?.body;
        Ok((shown["data"]["open_cases"] == 1).then_some(()))
    })
    .await?;
    let verified = merchant.get(&format!("/v1/payouts/{id}/verify")).await?;
    let verified = verified.expect(200)?.body["data"].clone();
    let late = "Money was reported as sent for this payout after it had failed.";
    ensure!(
        verified["status"] == "failed" && verified["amount_sent"] == 25.0,
        "{verified}"
    );
    ensure!(
        verified["disburse"]["failure_message"] == late,
        "{verified}"
    );
    Ok(id)
}

/// Deliveries of a webhook whose receiver cannot be reached, once all were tried.
async fn deliveries_of(place: (&str, &Path), server: &Server, hook: &str) -> anyhow::Result<()> {
    let path = format!("/operator/v1/webhooks/{hook}/deliveries");
    let sql = format!(
        "SELECT {} FROM reporting_deliveries WHERE webhook_id = '{hook}' ORDER BY id DESC",
        columns(&DELIVERY)
    );
    // A delivery that is tried in between differs.
    eventually("the view has what the API lists", SOON, async || {
        let listed = server.operator().get(&path).await?.expect(200)?.body;
        let mut expected = Vec::new();
        for one in listed["data"].as_array().context("a list")? {
            let mut one = one.clone();
            one["kind"] = json!("webhook");
            expected.push(members(&one, &DELIVERY));
        }
        let found = rows(place, &sql).await?;
        let is_tried = found.iter().all(|row| row["attempts"] != "0");
        Ok((found.len() > 5 && is_tried && found == expected).then_some(()))
    })
    .await
}

/// The events of a transaction, and its customer as the API shows them with it.
async fn agree_on_events(place: (&str, &Path), id: &str, whole: &Value) -> anyhow::Result<()> {
    let timeline = whole["timeline"].as_array().context("a timeline")?;
    let events: Vec<&Value> = timeline
        .iter()
        .filter(|entry| entry["event"].is_object())
        .collect();
    let expected: Vec<Value> = events.iter().map(|one| members(one, &EVENT)).collect();
    let sql = format!(
        "SELECT {}, event FROM reporting_events WHERE transaction_id = '{id}' ORDER BY version",
        columns(&EVENT)
    );
    let mut found = rows(place, &sql).await?;
    ensure!(
        found.len() == events.len(),
        "{found:#?} and not {events:#?}"
    );
    for (row, shown) in found.iter_mut().zip(&events) {
        let event = row.as_object_mut().and_then(|row| row.remove("event"));
        let event = event.context("an event")?;
        let event: Value = serde_json::from_str(event.as_str().context("JSON")?)?;
        let shown = &shown["event"];
        for (name, value) in shown.as_object().into_iter().flatten() {
            // Times and amounts have another form in the API.
            let is_same = match value {
                Value::Bool(_) => event[name] == *value,
                Value::String(text) if !text.ends_with('Z') => event[name] == *value,
                Value::Null => event[name].is_null(),
                _ => !event[name].is_null(),
            };
            ensure!(is_same, "{name}: {event} and not {shown}");
        }
    }
    ensure!(found == expected, "{found:#?} and not {expected:#?}");
    Ok(())
}

/// The customers of these transactions. The view has their latest state.
async fn agree_on_customers(place: (&str, &Path), wholes: &[Value]) -> anyhow::Result<()> {
    let mut latest: BTreeMap<&str, &Value> = BTreeMap::new();
    for whole in wholes {
        let customer = &whole["customer"];
        let id = customer["id"].as_str().context("a customer")?;
        let updated = customer["updated_at"].as_str().context("a time")?;
        let is_older = |known: &Value| {
            let known = known["customer"]["updated_at"].as_str();
            known < Some(updated)
        };
        if latest.get(id).is_none_or(|known| is_older(known)) {
            latest.insert(id, whole);
        }
    }
    for (id, whole) in &latest {
        let sql = format!(
            "SELECT {}, app, environment FROM reporting_customers WHERE id = '{id}'",
            columns(&CUSTOMER)
        );
        let mut expected = members(&whole["customer"], &CUSTOMER);
        expected["app"] = whole["app"].clone();
        expected["environment"] = whole["environment"].clone();
        let found = rows(place, &sql).await?;
        ensure!(
            found == [expected.clone()],
            "{found:#?} and not {expected:#?}"
        );
    }
    ensure!(!latest.is_empty(), "no transaction has a customer");
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
    let cases = whole["cases"].as_array().context("cases")?;
    let expected: Vec<Value> = cases.iter().map(|one| members(one, &CASE)).collect();
    let sql = format!(
        "SELECT {} FROM reporting_cases WHERE transaction_id = '{id}' ORDER BY opened_at",
        columns(&CASE)
    );
    let found = rows(place, &sql).await?;
    ensure!(found == expected, "{found:#?} and not {expected:#?}");
    agree_on_the_row(place, id, whole).await
}

/// The row of a transaction, without the columns that lists of the API show.
async fn agree_on_the_row(place: (&str, &Path), id: &str, whole: &Value) -> anyhow::Result<()> {
    let kind = whole["kind"].as_str().context("a kind")?;
    let sql = format!("SELECT * FROM reporting_{kind}s WHERE id = '{id}'");
    let found = &rows(place, &sql).await?[0];
    let minor = whole["amount"].as_u64().context("whole dollars")? * 100;
    let attempts = whole["attempts"].as_array().context("attempts")?;
    let last = attempts.last().unwrap_or(&Value::Null);
    let metadata = found["metadata"].as_str().context("metadata")?;
    let metadata: Value = serde_json::from_str(metadata)?;
    ensure!(metadata == whole["metadata"], "{found} and not {whole}");
    let mut expected = members(
        whole,
        &[
            &WHOLE[..],
            if kind == "payment" {
                &OF_PAYMENTS
            } else {
                &OF_PAYOUTS
            },
        ]
        .concat(),
    );
    expected["amount_minor"] = json!(minor.to_string());
    expected["attempts"] = json!(attempts.len().to_string());
    expected["last_connection"] = last["candidate"]["connection"].clone();
    if kind == "payment" {
        expected["last_method"] = last["method"].clone();
    }
    for (column, value) in expected.as_object().into_iter().flatten() {
        ensure!(found[column] == *value, "{column}: {found} and not {whole}");
    }
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
    // Three payments and two payouts ended with a mail to the merchant, and two have a case.
    let mails = json!({ "kind": "mail", "status": "delivered", "n": "7" });
    ensure!(found.contains(&mails), "{found:?}");
    Ok(())
}

async fn columns_are_documented(place: (&str, &Path)) -> anyhow::Result<()> {
    let page = std::fs::read_to_string(switchyard_tests::tidy::root().join("docs/reporting.md"))?;
    let views: Vec<&str> = VERSION_1.lines().collect();
    ensure!(views.len() == 7, "the views of version 1: {views:?}");
    for line in views {
        let (view, columns_of_version) = line.split_once(": ").context("a view")?;
        let sql = format!(
            "SELECT group_concat('`' || name || '`', ', ') AS columns \
             FROM pragma_table_info('{view}')"
        );
        let found = rows(place, &sql).await?;
        let columns = found[0]["columns"].as_str().context("columns")?;
        let row = format!("| `{view}` | {columns} |");
        ensure!(page.contains(&row), "docs/reporting.md lacks {row}");
        let columns = columns.replace('`', "");
        let present: Vec<&str> = columns.split(", ").collect();
        let missing = columns_of_version
            .split(", ")
            .find(|column| !present.contains(column));
        ensure!(
            missing.is_none(),
            "{view} lost {missing:?}: raise the version"
        );
    }
    Ok(())
}
