//! Views over the rows of a store, for reports. The shell has them, and a backup carries them for
//! any program that reads SQLite.
//!
//! `<table>_rows` shows a table as it is stored and changes with the program. The views whose names
//! begin with `reporting_` keep their columns: a change that is no addition raises [`VERSION`].

use super::cluster;
use crate::kv::checksum::SUM_BYTES;
use crate::table::Table;

/// A view for reports.
struct Reporting {
    name: &'static str,
    /// Names of columns and their expressions.
    columns: &'static [(&'static str, Value)],
    from: &'static str,
}

/// The value of a column.
enum Value {
    Sql(&'static str),
    /// Microseconds since 1970, shown as ISO 8601 in UTC.
    Time(&'static str),
    /// A ULID: these bytes of a key, shown behind the prefix of its kind.
    Ulid(&'static str, &'static str),
}

/// The views, each before those that read it.
pub(super) fn views(keyword: &str) -> impl Iterator<Item = String> {
    let rows = Table::ALL.into_iter().map(rows_of);
    let version = format!("\"reporting_version\" AS SELECT {VERSION} AS version");
    let reporting = REPORTING.iter().map(Reporting::definition);
    let all = rows.chain([version]).chain(reporting);
    all.map(move |view| format!("{keyword} {view}"))
}

/// Names of the views.
pub(super) fn names() -> impl Iterator<Item = String> {
    let rows = Table::ALL.into_iter().map(name_of);
    let reporting = REPORTING.iter().map(|view| view.name.to_owned());
    rows.chain(["reporting_version".to_owned()])
        .chain(reporting)
}

/// A table as it is stored. A versioned row begins with eight bytes of its version, the first of
/// which is zero and cannot begin JSON.
fn rows_of(table: Table) -> String {
    let (name, cluster, kind) = (name_of(table), cluster(table), table.number());
    format!(
        "\"{name}\" AS SELECT key, \
         iif(substr(stored, 1, 1) = x'00' AND substr(stored, 9, 1) = x'7b', \
             CAST(substr(stored, 9) AS TEXT), \
             iif(substr(stored, 1, 1) = x'7b', CAST(stored AS TEXT), stored)) AS value \
         FROM (SELECT key, substr(value, 1, length(value) - {SUM_BYTES}) AS stored \
               FROM \"{cluster}\" WHERE kind = {kind})"
    )
}

fn name_of(table: Table) -> String {
    format!("{}_rows", table.name())
}

impl Reporting {
    fn definition(&self) -> String {
        let columns = self.columns.iter();
        let columns: Vec<_> = columns
            .map(|(name, value)| format!("{} AS {name}", value.sql()))
            .collect();
        let (name, from) = (self.name, self.from);
        format!("\"{name}\" AS SELECT {} FROM {from}", columns.join(", "))
    }
}

impl Value {
    fn sql(&self) -> String {
        match self {
            Self::Sql(sql) => (*sql).to_owned(),
            Self::Time(sql) => format!(
                "strftime('%Y-%m-%dT%H:%M:%S', ({sql}) / 1000000, 'unixepoch') \
                 || printf('.%06dZ', ({sql}) % 1000000)"
            ),
            Self::Ulid(prefix, bytes) => ulid(prefix, bytes),
        }
    }
}

/// The text of a ULID: 26 digits of five bits. Its 128 bits begin with the third bit of the first
/// digit.
fn ulid(prefix: &str, bytes: &str) -> String {
    let nibble = |at: usize| match at {
        0 => "0".to_owned(),
        at => format!("(instr('0123456789ABCDEF', substr(hex({bytes}), {at}, 1)) - 1)"),
    };
    let digit = |digit: usize| {
        let end = 5 * (digit + 1) - 2;
        let (last, behind) = (end.div_ceil(4), (4 - end % 4) % 4);
        let (high, low) = (nibble(last - 1), nibble(last));
        format!(
            "substr('0123456789abcdefghjkmnpqrstvwxyz', \
             1 + ((({high} * 16 + {low}) >> {behind}) & 31), 1)"
        )
    };
    let digits: Vec<_> = (0..26).map(digit).collect();
    format!("'{prefix}' || {}", digits.join(" || "))
}

/// The version of the views for reports.
pub(super) const VERSION: u32 = 1;

use Value::{Sql, Time, Ulid};

const REPORTING: [Reporting; 7] = [
    Reporting {
        name: "reporting_payments",
        columns: &[
            ("id", Sql("value->>'id'")),
            ("app", Sql("value->>'app'")),
            ("environment", Sql("value->>'environment'")),
            ("status", Sql(STATUS)),
            ("amount_minor", Sql("value->>'$.amount.minor'")),
            ("currency", Sql("value->>'$.amount.currency'")),
            ("description", Sql("value->>'description'")),
            ("customer_id", Sql("value->>'$.customer.id'")),
            ("metadata", Sql("value->'metadata'")),
            ("last_method", Sql("value->>'$.attempts[#-1].method'")),
            (
                "last_gateway",
                Sql("value->>'$.attempts[#-1].candidate.gateway'"),
            ),
            (
                "last_connection",
                Sql("value->>'$.attempts[#-1].candidate.connection'"),
            ),
            ("attempts", Sql("json_array_length(value, '$.attempts')")),
            ("open_cases", Sql(OPEN_CASES)),
            ("failure_reason", Sql("value->>'$.state.reason'")),
            ("failure_message", Sql(FAILURE_MESSAGE)),
            ("created_at", Time("value->>'created_at'")),
            ("updated_at", Time("value->>'updated_at'")),
            ("success_at", Time("value->>'success_at'")),
            ("failed_at", Time("value->>'failed_at'")),
            ("cancelled_at", Time("value->>'cancelled_at'")),
            ("expires_at", Time("value->>'$.details.expires_at'")),
        ],
        from: "transaction_rows WHERE key >= x'70' AND key < x'71'",
    },
    Reporting {
        name: "reporting_payouts",
        columns: &[
            ("id", Sql("value->>'id'")),
            ("app", Sql("value->>'app'")),
            ("environment", Sql("value->>'environment'")),
            ("status", Sql(STATUS)),
            ("amount_minor", Sql("value->>'$.amount.minor'")),
            ("currency", Sql("value->>'$.amount.currency'")),
            ("description", Sql("value->>'description'")),
            ("customer_id", Sql("value->>'$.customer.id'")),
            ("metadata", Sql("value->'metadata'")),
            ("method", Sql("value->>'$.details.method'")),
            (
                "last_gateway",
                Sql("value->>'$.attempts[#-1].candidate.gateway'"),
            ),
            (
                "last_connection",
                Sql("value->>'$.attempts[#-1].candidate.connection'"),
            ),
            ("attempts", Sql("json_array_length(value, '$.attempts')")),
            ("open_cases", Sql(OPEN_CASES)),
            ("failure_reason", Sql("value->>'$.state.reason'")),
            ("failure_message", Sql(FAILURE_MESSAGE)),
            ("created_at", Time("value->>'created_at'")),
            ("updated_at", Time("value->>'updated_at'")),
            ("success_at", Time("value->>'success_at'")),
            ("failed_at", Time("value->>'failed_at'")),
        ],
        from: "transaction_rows WHERE key >= x'6f' AND key < x'70'",
    },
    Reporting {
        name: "reporting_attempts",
        columns: &[
            ("id", Sql("a.value->>'id'")),
            ("transaction_id", Sql("t.value->>'id'")),
            ("number", Sql("a.key + 1")),
            ("reference", Sql("a.value->>'reference'")),
            ("gateway", Sql("a.value->>'$.candidate.gateway'")),
            ("connection", Sql("a.value->>'$.candidate.connection'")),
            ("method", Sql("a.value->>'method'")),
            ("country", Sql("a.value->>'country'")),
            ("state", Sql("a.value->>'state'")),
            ("amount_minor", Sql("a.value->>'$.amount.minor'")),
            ("currency", Sql("a.value->>'$.amount.currency'")),
            ("captured_minor", Sql("a.value->>'$.captured.minor'")),
            ("captured_currency", Sql("a.value->>'$.captured.currency'")),
            ("fees_minor", Sql("a.value->>'$.fees.minor'")),
            ("fees_currency", Sql("a.value->>'$.fees.currency'")),
            ("provider_id", Sql("a.value->>'provider_id'")),
            ("decline_reason", Sql("a.value->>'$.decline.reason'")),
            ("queries", Sql("a.value->>'queries'")),
            ("started_at", Time("a.value->>'started_at'")),
            ("ended_at", Time("a.value->>'ended_at'")),
        ],
        from: "transaction_rows t, json_each(t.value, '$.attempts') a",
    },
    Reporting {
        name: "reporting_events",
        columns: &[
            ("transaction_id", Sql("t.value->>'id'")),
            ("version", Sql("e.value->>'version'")),
            ("type", Sql("e.value->>'$.event.type'")),
            ("event", Sql("e.value->'event'")),
            ("at", Time("e.value->>'at'")),
        ],
        from: "event_rows e JOIN transaction_rows t ON t.key = substr(e.key, 1, 17)",
    },
    Reporting {
        name: "reporting_customers",
        columns: &[
            ("id", Sql("value->>'id'")),
            ("app", Ulid("app_", "substr(key, 1, 16)")),
            (
                "environment",
                Sql("iif(substr(key, 17, 1) = x'6c', 'live', 'sandbox')"),
            ),
            ("first_name", Sql("value->>'first_name'")),
            ("last_name", Sql("value->>'last_name'")),
            ("email", Sql("value->>'email'")),
            ("phone", Sql("value->>'phone'")),
            ("created_at", Time("value->>'created_at'")),
            ("updated_at", Time("value->>'updated_at'")),
        ],
        from: "customer_rows",
    },
    Reporting {
        name: "reporting_deliveries",
        columns: &[
            ("id", Sql("coalesce(value->>'id', value->>'$.letter.id')")),
            ("kind", Sql("iif(value->>'id' IS NULL, 'mail', 'webhook')")),
            (
                "app",
                Sql("coalesce(value->>'app', value->>'$.letter.app')"),
            ),
            (
                "environment",
                Sql("coalesce(value->>'environment', value->>'$.letter.environment')"),
            ),
            (
                "transaction_id",
                Sql("coalesce(value->>'transaction', value->>'$.letter.transaction')"),
            ),
            ("webhook_id", Sql("value->>'webhook'")),
            ("event", Sql("value->>'name'")),
            ("recipient", Sql("value->>'$.letter.to'")),
            ("status", Sql(DELIVERY_STATUS)),
            (
                "attempts",
                Sql("coalesce(value->>'attempts', value->>'$.letter.attempts')"),
            ),
            ("reason", Sql("value->>'why'")),
            (
                "enqueued_at",
                Time("coalesce(value->>'enqueued_at', value->>'$.letter.enqueued_at')"),
            ),
            ("next_attempt_at", Time("value->>'next_attempt_at'")),
            (
                "ended_at",
                Time("coalesce(value->>'ended_at', value->>'at')"),
            ),
        ],
        // An attempt names its delivery, an index of failures has no value.
        from: "delivery_rows WHERE typeof(value) = 'text' AND value->>'delivery' IS NULL",
    },
    Reporting {
        name: "reporting_cases",
        columns: &[
            ("id", Sql("c.value->>'id'")),
            ("transaction_id", Sql("t.value->>'id'")),
            ("app", Sql("t.value->>'app'")),
            ("environment", Sql("t.value->>'environment'")),
            ("reason", Sql("c.value->>'reason'")),
            (
                "state",
                Sql("iif(c.value->>'closed' IS NULL, 'open', 'closed')"),
            ),
            ("amount_minor", Sql("c.value->>'$.amount.minor'")),
            ("currency", Sql("c.value->>'$.amount.currency'")),
            ("provider_id", Sql("c.value->>'provider_id'")),
            ("reference", Sql("c.value->>'reference'")),
            ("detail", Sql("c.value->>'detail'")),
            ("closed_by", Sql("c.value->>'$.closed.by.name'")),
            ("note", Sql("c.value->>'$.closed.note'")),
            ("opened_at", Time("c.value->>'opened_at'")),
            ("closed_at", Time("c.value->>'$.closed.at'")),
        ],
        from: "transaction_rows t, json_each(t.value, '$.cases') c",
    },
];

/// The status that the API answers. An attempt that a restore presumed and that was not made does
/// not count. A bare `value` in the arguments of `json_each` would be its own column.
const STATUS: &str = "CASE value->>'$.state.state' \
     WHEN 'succeeded' THEN 'success' WHEN 'failed' THEN 'failed' \
     WHEN 'cancelled' THEN 'cancelled' \
     ELSE iif(value->>'$.state.state' IN ('awaiting_customer', 'awaiting_dispatch') \
              AND NOT EXISTS (SELECT 1 FROM json_each(transaction_rows.value, '$.attempts') AS a \
                              WHERE a.value->>'state' <> 'not_sent' \
                              OR NOT coalesce(a.value->>'presumed', 0)), \
              'initiated', 'pending') END";
const OPEN_CASES: &str = "(SELECT count(*) FROM json_each(transaction_rows.value, '$.cases') AS c \
     WHERE c.value->>'closed' IS NULL)";
/// The reason of a failure, or that money was reported after it: the texts of the API.
const FAILURE_MESSAGE: &str = "iif(value->>'$.state.state' = 'failed' AND EXISTS \
     (SELECT 1 FROM json_each(transaction_rows.value, '$.cases') AS c \
      WHERE c.value->>'reason' = 'money_after_the_end' \
      AND c.value->>'opened_at' >= transaction_rows.value->>'failed_at'), \
     iif(value->>'$.details.kind' = 'payment', \
         'Money was reported for this payment after it had failed.', \
         'Money was reported as sent for this payout after it had failed.'), \
     value->>'$.state.message')";
const DELIVERY_STATUS: &str = "coalesce(value->>'status', \
     iif(value->>'is_sent', 'delivered', 'failed'))";
