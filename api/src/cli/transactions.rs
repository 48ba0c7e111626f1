//! `switchyard transactions`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchyard_engine::environment::Environment;

use super::client::{Client, query};
use super::output::{Column, Output, aligned, listed, print};

#[derive(Subcommand)]
pub enum Transactions {
    /// List an app's payments or payouts, newest first
    List(List),
    /// Show a transaction with its timeline
    Show { transaction: String },
    /// Query the provider about the open attempt
    Check { transaction: String },
    /// Resolve an attempt manually, by the provider's records
    Resolve(Resolve),
    /// Cancel a payment, or a payout before it is sent; the provider decides about an open attempt
    Cancel {
        transaction: String,
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Args)]
pub struct Resolve {
    transaction: String,
    #[arg(long, value_parser = ["succeeded", "failed", "never_sent"])]
    outcome: String,
    /// Evidence for the outcome, for the timeline
    #[arg(long)]
    note: String,
    /// Attempt to resolve; refused if another one is open
    #[arg(long)]
    attempt: Option<String>,
    /// Received amount, if the provider has reported another one: 25.00
    #[arg(long)]
    amount: Option<String>,
    /// Provider's id of the attempt, if the provider reported none
    #[arg(long)]
    provider_id: Option<String>,
    /// The id is of another charge than the reported one: both moved money
    #[arg(long, requires = "provider_id")]
    another_charge: bool,
    /// Reason of the failure, for the merchant
    #[arg(long)]
    message: Option<String>,
}

#[derive(Args)]
pub struct List {
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
    /// sandbox or live [default: live for an app with live transactions, otherwise sandbox]
    #[arg(long)]
    environment: Option<Environment>,
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    #[arg(long, value_parser = ["initiated", "pending", "success", "failed", "cancelled"])]
    status: Option<String>,
    /// Created since this day (2026-11-20) or time (2026-11-20T10:00:00Z)
    #[arg(long)]
    from_date: Option<String>,
    /// Created until this day or time
    #[arg(long)]
    to_date: Option<String>,
    #[arg(long, default_value_t = 20)]
    limit: u32,
    #[arg(long, default_value_t = 1)]
    page: u32,
}

impl Transactions {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List(list) => {
                let app = client.app(list.app.as_deref())?;
                let answer = client
                    .get(&format!("/apps/{app}/transactions?{}", list.query()))
                    .await?;
                out.table(&answer, COLUMNS)?;
                let meta = &answer["meta"];
                out.note(&format!(
                    "{}, page {} of {}, {} in all",
                    meta["environment"].as_str().unwrap_or_default(),
                    meta["current_page"],
                    meta["last_page"],
                    meta["total"]
                ));
            }
            Self::Show { transaction } => {
                let answer = client.get(&format!("/transactions/{transaction}")).await?;
                if out.json {
                    out.fields(&answer)?;
                } else {
                    print(&story(&answer["data"]))?;
                }
            }
            Self::Check { transaction } => {
                let path = format!("/transactions/{transaction}/check");
                state(out, &client.post(&path, &json!({})).await?)?;
            }
            Self::Resolve(resolve) => {
                let path = format!("/transactions/{}/resolve", resolve.transaction);
                state(out, &client.post(&path, &resolve.body()).await?)?;
            }
            Self::Cancel { transaction, note } => {
                let path = format!("/transactions/{transaction}/cancel");
                state(out, &client.post(&path, &json!({ "note": note })).await?)?;
            }
        }
        Ok(())
    }
}

/// Prints the message of a change, and the state of the transaction after it.
fn state(out: Output, answer: &Value) -> std::io::Result<()> {
    if out.json {
        return out.fields(answer);
    }
    let text = |name: &str| answer["data"][name].as_str().unwrap_or("-").to_owned();
    let said = answer["message"].as_str().unwrap_or("done");
    print(&format!(
        "{said}\n{}: {} ({})\n",
        text("id"),
        text("status"),
        text("state")
    ))
}

impl Resolve {
    fn body(&self) -> Value {
        json!({
            "outcome": self.outcome,
            "note": self.note,
            "attempt": self.attempt,
            "amount": self.amount,
            "provider_id": self.provider_id,
            "another_charge": self.another_charge,
            "message": self.message,
        })
    }
}

impl List {
    fn query(&self) -> String {
        query(&[
            (
                "environment",
                &self.environment.map(|chosen| chosen.to_string()),
            ),
            ("kind", &Some(self.kind.clone())),
            ("limit", &Some(self.limit.to_string())),
            ("page", &Some(self.page.to_string())),
            ("status", &self.status),
            ("from_date", &self.from_date),
            ("to_date", &self.to_date),
        ])
    }
}

/// Formats all fields, then the timeline as a table: time, event and details.
pub fn story(data: &Value) -> String {
    let mut rest = data.clone();
    let timeline = rest
        .as_object_mut()
        .and_then(|fields| fields.remove("timeline"));
    let events = timeline
        .as_ref()
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let rows: Vec<Value> = events.iter().map(told).collect();
    format!(
        "{}\n{}",
        listed(&rest),
        aligned(&rows, &[("when", "at"), ("what", "what"), ("more", "more")])
    )
}

fn told(recorded: &Value) -> Value {
    if let Some(exchange) = recorded.get("exchange") {
        let word = |name: &str| exchange[name].as_str().unwrap_or_default();
        let end = match (exchange["status"].as_u64(), exchange["error"].as_str()) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.to_owned(),
            (None, None) => word("stage").to_owned(),
        };
        let meaning = match exchange["meaning"].as_str() {
            Some(meaning) => format!("; {meaning}"),
            None => String::new(),
        };
        let more = format!("{} {} → {end}{meaning}", word("method"), word("url"));
        return serde_json::json!({ "at": recorded["at"], "what": format!("  {}", word("operation")), "more": more });
    }
    if let Some(callback) = recorded.get("callback") {
        let word = |name: &str| callback[name].as_str().unwrap_or_default();
        let more = format!("{}: {}", word("state"), word("note"));
        return serde_json::json!({ "at": recorded["at"], "what": "  callback", "more": more });
    }
    let event = &recorded["event"];
    let mut more = Vec::new();
    for name in ["why", "provider_status", "provider_id", "by", "act", "note"] {
        if let Some(text) = event[name].as_str() {
            more.push(format!("{name}: {text}"));
        }
    }
    for (name, path) in [
        ("gateway", "/attempt/candidate/gateway"),
        ("reference", "/attempt/reference"),
        ("reason", "/decline/reason"),
        ("said", "/decline/provider_message"),
        ("message", "/failure/message"),
        ("case", "/case/reason"),
        ("operator", "/operator/name"),
        ("operator", "/closed/by/name"),
        ("note", "/closed/note"),
    ] {
        if let Some(text) = event.pointer(path).and_then(Value::as_str) {
            more.push(format!("{name}: {text}"));
        }
    }
    more.extend(decided(&event["attempt"]["decision"]));
    more.extend(skipped(event));
    serde_json::json!({ "at": recorded["at"], "what": event["type"], "more": more.join(", ") })
}

/// Formats the reason for the chosen connection, and the other candidates.
fn decided(decision: &Value) -> Vec<String> {
    let list = |name: &str| decision[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut told = Vec::new();
    if let Some(because) = decision["chosen_because"].as_str() {
        told.push(format!("because: {because}"));
    }
    if let Some(version) = decision["rule"]["version"].as_u64() {
        told.push(format!("rules: version {version}"));
    }
    if let Some(roll) = decision["roll"].as_u64() {
        told.push(format!("drawn: {roll} of 10000"));
    }
    for one in list("considered").iter().skip(1) {
        let sick = match one["health"]["open"].as_bool() {
            Some(true) => ", breaker open",
            _ => "",
        };
        told.push(format!(
            "then: {} ({}{sick})",
            text(&one["gateway"]),
            text(&one["why"])
        ));
    }
    told.extend(skipped(decision));
    told
}

/// Formats the connections that were skipped, with the reasons.
fn skipped(by: &Value) -> Vec<String> {
    let list = by["skipped"].as_array().into_iter().flatten();
    list.map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        format!("not: {} ({})", text("connection"), text("because"))
    })
    .collect()
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("status", "status"),
    ("amount", "amount_formatted"),
    ("method", "method"),
    ("gateway", "gateway"),
    ("customer", "customer"),
    ("created", "created_at"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_timeline_tells_why_an_attempt_went_where_it_went() {
        let considered = json!([
            { "gateway": "a", "why": "drawn with weight 70 of 100" },
            { "gateway": "b", "why": "drawn with weight 30 of 30", "health": { "open": true } },
        ]);
        let decision = json!({
            "chosen_because": "rule 1, weighted: drawn with weight 70 of 100",
            "rule": { "version": 4, "number": 1 },
            "roll": 4711,
            "considered": considered,
            "skipped": [{ "connection": "con_x", "because": "the connection is switched off" }],
        });
        let event = json!({ "type": "attempt_started", "attempt": { "decision": decision } });
        assert_eq!(
            told(&json!({ "at": "T", "event": event }))["more"],
            "because: rule 1, weighted: drawn with weight 70 of 100, rules: version 4, drawn: 4711 of 10000, \
             then: b (drawn with weight 30 of 30, breaker open), not: con_x (the connection is switched off)"
        );
    }

    #[test]
    fn the_timeline_tells_whom_a_fail_over_stepped_over() {
        let skipped = json!([{ "connection": "con_x", "because": "its gateway is not loaded" }]);
        let event = json!({ "type": "stepped_over", "skipped": skipped });
        assert_eq!(
            told(&json!({ "at": "T", "event": event }))["more"],
            "not: con_x (its gateway is not loaded)"
        );
    }

    #[test]
    fn the_timeline_tells_what_a_callback_and_a_not_found_meant() {
        let note =
            "Verified: declined for attempt 1; the attempt has ended, so it changes nothing.";
        let callback = json!({ "state": "matched", "note": note });
        let row = told(&json!({ "at": "T", "callback": callback }));
        assert_eq!(row["what"], "  callback");
        assert_eq!(row["more"], format!("matched: {note}"));
        let exchange = json!({
            "operation": "query", "method": "GET", "url": "https://p.example/x", "status": 404,
            "meaning": "not found, and finally so: the attempt counts as not sent",
        });
        let row = told(&json!({ "at": "T", "exchange": exchange }));
        assert_eq!(
            row["more"],
            "GET https://p.example/x → 404; not found, and finally so: the attempt counts as not \
             sent"
        );
    }

    #[test]
    fn the_timeline_tells_when_what_and_what_it_said() {
        let exchange = json!({ "operation": "collect", "method": "POST", "url": "https://p.example/x", "status": 200 });
        let decline = json!({ "reason": "insufficient_funds", "provider_message": "no" });
        let data = json!({
            "id": "py_x",
            "timeline": [
                { "at": "T1", "event": { "type": "initiated" } },
                { "at": "T1", "exchange": exchange },
                { "at": "T2", "event": { "type": "attempt_declined", "decline": decline } },
            ],
        });
        let head = "id  py_x\n\nWHEN  WHAT              MORE\nT1    initiated\n\
                    T1      collect         POST https://p.example/x → 200\n";
        let end = "T2    attempt_declined  reason: insufficient_funds, said: no\n";
        let expected = format!("{head}{end}");
        assert_eq!(story(&data), expected);
    }
}
