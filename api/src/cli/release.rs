//! `switchyard release`.

use clap::Args;
use serde_json::json;
use switchyard_engine::ids::AppId;

use super::client::Client;
use super::output::{Column, print};

#[derive(Args)]
pub struct Release {
    /// Release only this app [default: all apps]
    #[arg(long)]
    app: Option<AppId>,
    /// Reason, for the record
    #[arg(long)]
    note: Option<String>,
    /// Also send payouts that were created in the hold
    #[arg(long)]
    yes: bool,
    /// Report the open transactions and the providers' answers; release nothing
    #[arg(long, conflicts_with_all = ["app", "note", "yes"])]
    report: bool,
}

impl Release {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        if self.report {
            return report(client).await;
        }
        let body = json!({
            "app": self.app,
            "note": self.note,
            "send_new_payouts": self.yes,
        });
        let answer = client.post("/hold/release", &body).await?;
        client.output.done(&answer)?;
        Ok(())
    }
}

async fn report(client: &Client) -> anyhow::Result<()> {
    let out = client.output;
    let mut answer = client.get("/hold").await?;
    if out.json {
        out.fields(&answer)?;
        return Ok(());
    }
    let data = &mut answer["data"];
    let tables = [
        ("Apps", data["apps"].take(), APPS),
        ("Open when the hold began", data["open"].take(), OPEN),
        ("Progress since", data["answers"].take(), ANSWERS),
        (
            "Payouts made while held: the release sends them",
            data["new_payouts"].take(),
            OPEN,
        ),
    ];
    if let Some(fields) = data.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    out.fields(&answer)?;
    for (title, rows, columns) in tables {
        print(&format!("\n{title}\n"))?;
        out.table(&json!({ "data": rows }), columns)?;
    }
    Ok(())
}

const APPS: &[Column] = &[
    ("app", "id"),
    ("name", "name"),
    ("held", "held"),
    ("released at", "release.at"),
    ("by", "release.by"),
];
const OPEN: &[Column] = &[
    ("app", "app"),
    ("environment", "environment"),
    ("kind", "kind"),
    ("state", "state"),
    ("count", "count"),
    ("amount", "amount"),
];
const ANSWERS: &[Column] = &[
    ("app", "app"),
    ("environment", "environment"),
    ("kind", "kind"),
    ("was", "was"),
    ("now", "now"),
    ("count", "count"),
    ("amount", "amount"),
];
