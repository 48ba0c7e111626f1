//! `switchyard rates`.

use clap::Subcommand;
use serde_json::json;

use super::client::{Client, query};
use super::output::Column;

#[derive(Subcommand)]
pub enum Rates {
    /// List exchange rates: of the table, of the feed, and fixed ones
    List,
    /// Set a rate: units of TO for one unit of FROM
    Set {
        from: String,
        to: String,
        /// Decimal with at most 12 significant digits, such as 655.957
        rate: String,
        /// Date or time at which the rate expires
        #[arg(long)]
        valid_until: Option<String>,
    },
    /// Delete a rate from the table
    Remove { from: String, to: String },
    /// Fetch the rates from exchange.url now
    Fetch,
    /// List implausible fetched rates, which are unused until accepted
    Held,
    /// Accept a held rate
    Accept {
        from: String,
        to: String,
        /// Rate as `rates held` shows it
        rate: String,
    },
    /// Reject a held rate
    Reject {
        from: String,
        to: String,
        /// Rate as `rates held` shows it
        rate: String,
    },
    /// Convert an amount at the present rate
    Quote {
        amount: String,
        from: String,
        to: String,
        /// Percentage added to the rate
        #[arg(long, default_value = "0", allow_hyphen_values = true)]
        correction: String,
    },
}

impl Rates {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List => out.table(&client.get("/rates").await?, COLUMNS)?,
            Self::Set {
                from,
                to,
                rate,
                valid_until,
            } => {
                let body =
                    json!({"from": from, "to": to, "rate": rate, "valid_until": valid_until});
                out.fields(&client.put("/rates", &body).await?)?;
            }
            Self::Remove { from, to } => {
                out.done(&client.delete(&format!("/rates/{from}/{to}")).await?)?;
            }
            Self::Fetch => out.done(&client.post("/rates/fetch", &json!({})).await?)?,
            Self::Held => out.table(&client.get("/rates/held").await?, HELD_COLUMNS)?,
            Self::Accept { from, to, rate } => {
                let path = format!("/rates/held/{from}/{to}/accept");
                out.done(&client.post(&path, &json!({ "rate": rate })).await?)?;
            }
            Self::Reject { from, to, rate } => {
                let path = format!("/rates/held/{from}/{to}/reject");
                out.done(&client.post(&path, &json!({ "rate": rate })).await?)?;
            }
            Self::Quote {
                amount,
                from,
                to,
                correction,
            } => {
                let (from, to, amount) = (Some(from), Some(to), Some(amount));
                let correction = Some(correction);
                let asked = query(&[
                    ("from", &from),
                    ("to", &to),
                    ("amount", &amount),
                    ("correction", &correction),
                ]);
                out.fields(&client.get(&format!("/rates/quote?{asked}")).await?)?;
            }
        }
        Ok(())
    }
}

const HELD_COLUMNS: &[Column] = &[
    ("from", "from"),
    ("to", "to"),
    ("fetched rate", "rate"),
    ("expected", "expected"),
    ("reason", "reason"),
    ("pegged to", "pegged_to"),
    ("state", "state"),
    ("fetched at", "fetched_at"),
];
const COLUMNS: &[Column] = &[
    ("from", "from"),
    ("to", "to"),
    ("rate", "rate"),
    ("source", "source"),
    ("as of", "at"),
    ("valid until", "valid_until"),
];
