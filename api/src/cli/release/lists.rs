//! Lists of the providers in the report on the hold: one line for each connection, then what the
//! store does not know, by connection.

use crate::cli::output::{Column, aligned, cell, visible};
use crate::operator::contract::hold::{ListStatus, ProviderList, UnknownSum, UnknownTransaction};

/// All tables; nothing when the report has no lists.
pub(super) fn tables(lists: &[ProviderList]) -> String {
    if lists.is_empty() {
        return String::new();
    }
    let mut text = "\nTransactions at the providers in the lost span\n".to_owned();
    text.push_str(&aligned(lists, CONNECTIONS));
    if lists
        .iter()
        .any(|list| list.status == ListStatus::InProgress)
    {
        text.push_str("Some lists are being fetched. Read the report again in a minute.\n");
    }
    for list in lists {
        text.push_str(&unknown(list));
    }
    text
}

/// The transactions of one connection that the store does not know.
fn unknown(list: &ProviderList) -> String {
    if list.sums.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\nUnknown here: {} at {}\n",
        list.connection,
        visible(&list.gateway)
    );
    text.push_str(&aligned(&list.sums, SUMS));
    text.push('\n');
    text.push_str(&aligned(&list.transactions, TRANSACTIONS));
    if list.left_out > 0 {
        text.push_str(&format!("{} more are not listed.\n", list.left_out));
    }
    text
}

const CONNECTIONS: &[Column<ProviderList>] = &[
    ("connection", |one| cell(&one.connection)),
    ("app", |one| cell(&one.app)),
    ("environment", |one| cell(&one.environment)),
    ("gateway", |one| cell(&one.gateway)),
    ("status", |one| cell(&one.status)),
    ("listed", |one| cell(&one.listed)),
    ("unknown here", |one| cell(&one.unknown)),
    ("fetched at", |one| cell(&one.fetched_at)),
    ("reason", |one| cell(&one.reason)),
];
const SUMS: &[Column<UnknownSum>] = &[
    ("kind", |one| cell(&one.kind)),
    ("state", |one| cell(&one.state)),
    ("currency", |one| cell(&one.currency)),
    ("count", |one| cell(&one.count)),
    ("amount", |one| cell(&one.amount)),
];
const TRANSACTIONS: &[Column<UnknownTransaction>] = &[
    ("kind", |one| cell(&one.kind)),
    ("state", |one| cell(&one.state)),
    ("reference", |one| cell(&one.reference)),
    ("provider's id", |one| cell(&one.provider_id)),
    ("amount", |one| cell(&one.amount)),
    ("currency", |one| cell(&one.currency)),
    ("created at", |one| cell(&one.created_at)),
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CONNECTION: &str = "con_01aryz6s41tsv4rrffq69g5fav";
    const APP: &str = "app_01aryz6s41tsv4rrffq69g5fav";

    fn list(change: Value) -> ProviderList {
        let mut list = json!({
            "connection": CONNECTION, "account_name": "main", "app": APP, "environment": "live",
            "gateway": "stripe",
            "status": "complete", "reason": null, "fetched_at": "2026-11-27T08:00:00.000000Z",
            "listed": 3, "unknown": 0, "sums": [], "transactions": [], "left_out": 0,
        });
        let fields = list.as_object_mut().unwrap();
        fields.extend(change.as_object().unwrap().clone());
        serde_json::from_value(list).unwrap()
    }

    #[test]
    fn each_connection_has_a_line_and_its_unknown_transactions_follow_with_their_sums() {
        let sum = json!({
            "kind": "payment", "state": "succeeded", "currency": "USD", "count": 102,
            "amount": "$ 25.00",
        });
        let one = json!({
            "kind": "payment", "state": "succeeded", "reference": "r-1", "provider_id": "cs_1",
            "amount": "$ 25.00", "currency": "USD", "created_at": "2026-11-27T07:00:00.000000Z",
        });
        let unknown = json!({
            "unknown": 102, "sums": [sum], "transactions": [one], "left_out": 101,
        });
        let waits = json!({ "status": "in_progress", "fetched_at": null });
        let failed = json!({ "status": "failed", "reason": "down\u{1b}[2J" });
        let text = tables(&[list(unknown), list(waits), list(failed)]);
        for part in [
            "\nTransactions at the providers in the lost span\nCONNECTION   ",
            "  live         stripe   in_progress  3       0             -",
            "down\u{fffd}[2J\n",
            "Read the report again in a minute.\n",
            "fav at stripe\nKIND     STATE      CURRENCY  COUNT  AMOUNT\n",
            "payment  succeeded  USD       102    $ 25.00\n",
            "payment  succeeded  r-1        cs_1           $ 25.00  USD       2026-11-27T07",
            "\n101 more are not listed.\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
        assert_eq!(text.matches("Unknown here:").count(), 1);
        assert_eq!(tables(&[]), "");
    }
}
