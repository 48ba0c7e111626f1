//! `switchyard rates`.

use clap::Subcommand;
use serde_json::json;

use super::client::{Client, query};
use super::output::Column;

#[derive(Subcommand)]
pub enum Rates {
    /// Show all exchange rates: of the table, of the feed, and the fixed ones
    List,
    /// Set a rate: so many units of TO for one unit of FROM
    Set {
        from: String,
        to: String,
        /// A decimal with at most 12 digits that count, as in 655.957
        rate: String,
        /// From then on it is no longer used: a date or a time
        #[arg(long)]
        valid_until: Option<String>,
    },
    /// Take a rate out of the table
    Remove { from: String, to: String },
    /// Fetch the rates from exchange.url now
    Fetch,
    /// List implausible fetched rates that are not used until you accept them
    Held,
    /// Use a held rate from now on
    Accept {
        from: String,
        to: String,
        /// The rate as `rates held` shows it
        rate: String,
    },
    /// Leave a held rate unused
    Reject {
        from: String,
        to: String,
        /// The rate as `rates held` shows it
        rate: String,
    },
    /// Show what an amount costs in another currency now
    Quote {
        amount: String,
        from: String,
        to: String,
        /// In percent, on top of the rate
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
