//! `switchyard release`.

mod lists;

use clap::Args;
use serde_json::{Value, json};
use switchyard_engine::ids::AppId;

use super::client::Client;
use super::output::{Column, aligned, print, visible};

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
    let to_send = data["payouts_to_send"].take();
    let lists = data["provider_lists"].take();
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
    print(&payouts_to_send(&to_send))?;
    print(&lists::tables(&lists))?;
    Ok(())
}

/// The payouts that the release sends, by their ids: those that must not leave can be cancelled.
fn payouts_to_send(to_send: &Value) -> String {
    let rows = to_send["payouts"].as_array().map(Vec::as_slice);
    let rows = rows.unwrap_or_default();
    let mut text = "\nPayouts that the release sends\n".to_owned();
    if rows.is_empty() {
        text.push_str("none\n");
        return text;
    }
    text.push_str(&aligned(rows, TO_SEND));
    text.push_str("Stop one with `switchyard transactions cancel <id>`.\n");
    let left_out = to_send["left_out"].as_u64().unwrap_or_default();
    if left_out > 0 {
        text.push_str(&format!(
            "{left_out} more are not listed. These commands list all:\n"
        ));
        let commands = to_send["commands"].as_array().into_iter().flatten();
        for command in commands.filter_map(Value::as_str) {
            text.push_str(&format!("  {}\n", visible(command)));
        }
    }
    text
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
const TO_SEND: &[Column] = &[
    ("payout", "id"),
    ("reason", "reason"),
    ("app", "app"),
    ("environment", "environment"),
    ("amount", "amount"),
    ("currency", "currency"),
    ("created at", "created_at"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payouts_that_the_release_sends_are_shown_by_id_with_the_commands_that_list_the_others() {
        let payout = json!({
            "id": "po_1", "reason": "made_while_held", "app": "app_1", "environment": "live",
            "amount": "$ 25.00", "currency": "USD", "created_at": "2026-11-27T08:00:00.000000Z",
        });
        let command = "switchyard transactions list --app app_1 --kind payout";
        let few = json!({
            "count": 1, "payouts": [payout], "left_out": 0, "commands": [command],
        });
        let text = payouts_to_send(&few);
        let row = "po_1    made_while_held  app_1  live         $ 25.00  USD       2026-11-27";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("transactions cancel <id>"), "{text}");
        assert!(!text.contains("transactions list"), "{text}");
        let many = json!({
            "count": 8, "payouts": [payout], "left_out": 7, "commands": [command],
        });
        let text = payouts_to_send(&many);
        let more = format!("7 more are not listed. These commands list all:\n  {command}\n");
        assert!(text.ends_with(&more), "{text}");
        let none = payouts_to_send(&json!({ "count": 0, "payouts": [], "left_out": 0 }));
        assert_eq!(none, "\nPayouts that the release sends\nnone\n");
    }
}
