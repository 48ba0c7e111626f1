//! `switchyard transactions`.

use clap::{Args, Subcommand};
use serde_json::Value;
use switchyard_engine::environment::Environment;

use super::client::Client;
use super::output::{Column, aligned, listed, print};

#[derive(Subcommand)]
pub enum Transactions {
    /// Show an app's payments or payouts, newest first
    List(List),
    /// Show one with all that happened to it
    Show { transaction: String },
}

#[derive(Args)]
pub struct List {
    #[arg(long)]
    app: Option<String>,
    #[arg(long, default_value = "sandbox")]
    environment: Environment,
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    #[arg(long, value_parser = ["initiated", "pending", "success", "failed", "cancelled"])]
    status: Option<String>,
    /// Created on this day (2026-11-20), at this time (2026-11-20T10:00:00Z), or later
    #[arg(long)]
    from_date: Option<String>,
    /// … or earlier
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
                    "page {} of {}, {} in all",
                    meta["current_page"], meta["last_page"], meta["total"]
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
        }
        Ok(())
    }
}

impl List {
    fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("environment", self.environment.as_str());
        query.append_pair("kind", &self.kind);
        query.append_pair("limit", &self.limit.to_string());
        query.append_pair("page", &self.page.to_string());
        for (name, value) in [
            ("status", &self.status),
            ("from_date", &self.from_date),
            ("to_date", &self.to_date),
        ] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// Everything but the timeline as fields, then the timeline as a table: when, what, and what it said.
fn story(data: &Value) -> String {
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
        let more = format!("{} {} → {end}", word("method"), word("url"));
        return serde_json::json!({ "at": recorded["at"], "what": format!("  {}", word("operation")), "more": more });
    }
    let event = &recorded["event"];
    let mut more = Vec::new();
    for name in ["why", "provider_status", "provider_id", "by"] {
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
    ] {
        if let Some(text) = event.pointer(path).and_then(Value::as_str) {
            more.push(format!("{name}: {text}"));
        }
    }
    serde_json::json!({ "at": recorded["at"], "what": event["type"], "more": more.join(", ") })
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
