//! `switchyard release`.

mod lists;

use clap::Args;
use serde::Serialize;
use switchyard_core::ids::AppId;

use super::client::Client;
use super::output::{Column, aligned, cell, listed, visible};
use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::hold::{
    HeldApp, HoldView, LostSpan, OpenTransactions, PayoutToSend, PayoutsToSend, Progress,
    ReleaseRequest, ReleaseView, Restored,
};

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
        let request = ReleaseRequest {
            app: self.app,
            note: self.note,
            send_new_payouts: self.yes,
        };
        let answer = client
            .post::<ReleaseView>("/hold/release", &request)
            .await?;
        client.output.done(&answer)?;
        Ok(())
    }
}

async fn report(client: &Client) -> anyhow::Result<()> {
    let answer = client.get("/hold").await?;
    client.output.text(&answer, text)?;
    Ok(())
}

/// Formats the report on the hold.
fn text(hold: &HoldView) -> String {
    #[derive(Serialize)]
    struct Head<'a> {
        held: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<IsoTimestamp>,
        #[serde(skip_serializing_if = "Option::is_none")]
        restored: Option<&'a Restored>,
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<&'a LostSpan>,
        not_followed: u64,
    }
    let mut text = listed(&Head {
        held: hold.held,
        since: hold.since,
        restored: hold.restored.as_ref(),
        lost: hold.lost.as_ref(),
        not_followed: hold.not_followed,
    });
    text.push_str(&table("Apps", &hold.apps, APPS));
    text.push_str(&table("Open when the hold began", &hold.open, OPEN));
    text.push_str(&table("Progress since", &hold.answers, ANSWERS));
    let new = "Payouts made while held: the release sends them";
    text.push_str(&table(new, &hold.new_payouts, OPEN));
    text.push_str(&payouts_to_send(&hold.payouts_to_send));
    text.push_str(&lists::tables(&hold.provider_lists));
    text
}

fn table<T>(title: &str, rows: &[T], columns: &[Column<T>]) -> String {
    let table = match rows.is_empty() {
        true => "none\n".to_owned(),
        false => aligned(rows, columns),
    };
    format!("\n{title}\n{table}")
}

/// The payouts that the release sends, by their ids: those that must not leave can be cancelled.
fn payouts_to_send(to_send: &PayoutsToSend) -> String {
    let mut text = table("Payouts that the release sends", &to_send.payouts, TO_SEND);
    if to_send.payouts.is_empty() {
        return text;
    }
    text.push_str("Stop one with `switchyard transactions cancel <id>`.\n");
    if to_send.left_out > 0 {
        text.push_str(&format!(
            "{} more are not listed. These commands list all:\n",
            to_send.left_out
        ));
        for command in &to_send.commands {
            text.push_str(&format!("  {}\n", visible(command)));
        }
    }
    text
}

const APPS: &[Column<HeldApp>] = &[
    ("app", |one| cell(&one.id)),
    ("name", |one| cell(&one.name)),
    ("held", |one| cell(&one.held)),
    ("released at", |one| {
        cell(&one.release.as_ref().map(|release| release.at))
    }),
    ("by", |one| {
        cell(&one.release.as_ref().map(|release| &release.by))
    }),
];
const OPEN: &[Column<OpenTransactions>] = &[
    ("app", |one| cell(&one.app)),
    ("environment", |one| cell(&one.environment)),
    ("kind", |one| cell(&one.kind)),
    ("state", |one| cell(&one.state)),
    ("count", |one| cell(&one.count)),
    ("amount", |one| cell(&one.amount)),
];
const TO_SEND: &[Column<PayoutToSend>] = &[
    ("payout", |one| cell(&one.id)),
    ("reason", |one| cell(&one.reason)),
    ("app", |one| cell(&one.app)),
    ("environment", |one| cell(&one.environment)),
    ("amount", |one| cell(&one.amount)),
    ("currency", |one| cell(&one.currency)),
    ("created at", |one| cell(&one.created_at)),
];
const ANSWERS: &[Column<Progress>] = &[
    ("app", |one| cell(&one.app)),
    ("environment", |one| cell(&one.environment)),
    ("kind", |one| cell(&one.kind)),
    ("was", |one| cell(&one.was)),
    ("now", |one| cell(&one.now)),
    ("count", |one| cell(&one.count)),
    ("amount", |one| cell(&one.amount)),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn to_send(left_out: u64) -> PayoutsToSend {
        let payout = json!({
            "id": "po_01jd2nq3v4k5m6n7p8q9r0s1t2", "reason": "made_while_held",
            "app": "app_01jd2nq3v4k5m6n7p8q9r0s1t2", "environment": "live", "amount": "$ 25.00",
            "currency": "USD", "created_at": "2026-11-27T08:00:00.000000Z",
        });
        let command = "switchyard transactions list --app app_1 --kind payout";
        let all = json!({
            "count": 1 + left_out, "payouts": [payout], "left_out": left_out,
            "commands": [command],
        });
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn payouts_that_the_release_sends_are_shown_by_id_with_the_commands_that_list_the_others() {
        let text = payouts_to_send(&to_send(0));
        let row = "live         $ 25.00  USD       2026-11-27";
        assert!(text.contains("po_01jd2nq3v4k5m6n7p8q9r0s1t2  made_while_held"));
        assert!(text.contains(row), "{text}");
        assert!(text.contains("transactions cancel <id>"), "{text}");
        assert!(!text.contains("transactions list"), "{text}");
        let text = payouts_to_send(&to_send(7));
        let command = "switchyard transactions list --app app_1 --kind payout";
        let more = format!("7 more are not listed. These commands list all:\n  {command}\n");
        assert!(text.ends_with(&more), "{text}");
        let none = PayoutsToSend {
            payouts: Vec::new(),
            ..to_send(0)
        };
        let none = payouts_to_send(&none);
        assert_eq!(none, "\nPayouts that the release sends\nnone\n");
    }
}
