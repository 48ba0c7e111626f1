//! Lists of the providers in the report on the hold: one line for each connection, then what the
//! store does not know, by connection.

use serde_json::Value;

use crate::cli::output::{Column, aligned, visible};

/// All tables; nothing when the report has no lists.
pub(super) fn tables(lists: &Value) -> String {
    let lists = lists.as_array().map(Vec::as_slice).unwrap_or_default();
    if lists.is_empty() {
        return String::new();
    }
    let mut text = "\nTransactions at the providers in the lost span\n".to_owned();
    text.push_str(&aligned(lists, CONNECTIONS));
    let is_fetching = |list: &Value| list["status"] == "in_progress";
    if lists.iter().any(is_fetching) {
        text.push_str("Some lists are being fetched. Read the report again in a minute.\n");
    }
    for list in lists {
        text.push_str(&unknown(list));
    }
    text
}

/// The transactions of one connection that the store does not know.
fn unknown(list: &Value) -> String {
    let rows = |name: &str| list[name].as_array().map(Vec::as_slice).unwrap_or_default();
    if rows("sums").is_empty() {
        return String::new();
    }
    let word = |name: &str| visible(list[name].as_str().unwrap_or_default());
    let mut text = format!(
        "\nUnknown here: {} at {}\n",
        word("connection"),
        word("gateway")
    );
    text.push_str(&aligned(rows("sums"), SUMS));
    text.push('\n');
    text.push_str(&aligned(rows("transactions"), TRANSACTIONS));
    let left_out = list["left_out"].as_u64().unwrap_or_default();
    if left_out > 0 {
        text.push_str(&format!("{left_out} more are not listed.\n"));
    }
    text
}

const CONNECTIONS: &[Column] = &[
    ("connection", "connection"),
    ("app", "app"),
    ("environment", "environment"),
    ("gateway", "gateway"),
    ("status", "status"),
    ("listed", "listed"),
    ("unknown here", "unknown"),
    ("fetched at", "fetched_at"),
    ("reason", "reason"),
];
const SUMS: &[Column] = &[
    ("kind", "kind"),
    ("state", "state"),
    ("currency", "currency"),
    ("count", "count"),
    ("amount", "amount"),
];
const TRANSACTIONS: &[Column] = &[
    ("kind", "kind"),
    ("state", "state"),
    ("reference", "reference"),
    ("provider's id", "provider_id"),
    ("amount", "amount"),
    ("currency", "currency"),
    ("created at", "created_at"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(change: Value) -> Value {
        let mut list = json!({
            "connection": "con_1", "app": "app_1", "environment": "live", "gateway": "stripe",
            "status": "complete", "reason": null, "fetched_at": "2026-11-27T08:00:00.000000Z",
            "listed": 3, "unknown": 0, "sums": [], "transactions": [], "left_out": 0,
        });
        let fields = list.as_object_mut().unwrap();
        fields.extend(change.as_object().unwrap().clone());
        list
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
        let waits = json!({ "connection": "con_2", "status": "in_progress", "fetched_at": null });
        let failed = json!({ "status": "failed", "reason": "down\u{1b}[2J" });
        let text = tables(&json!([list(unknown), list(waits), list(failed)]));
        for part in [
            "\nTransactions at the providers in the lost span\nCONNECTION  APP ",
            "con_2       app_1  live         stripe   in_progress  3       0             -",
            "down\u{fffd}[2J\n",
            "Read the report again in a minute.\n",
            "\nUnknown here: con_1 at stripe\nKIND     STATE      CURRENCY  COUNT  AMOUNT\n",
            "payment  succeeded  USD       102    $ 25.00\n",
            "payment  succeeded  r-1        cs_1           $ 25.00  USD       2026-11-27T07",
            "\n101 more are not listed.\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
        assert_eq!(text.matches("Unknown here").count(), 1);
    }

    #[test]
    fn a_report_without_lists_has_no_table_of_them() {
        for none in [json!([]), Value::Null] {
            assert_eq!(tables(&none), "");
        }
    }
}
