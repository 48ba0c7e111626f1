//! `switchyard rates`.

use clap::Subcommand;

use super::client::{Client, query};
use super::output::{Column, cell};
use crate::operator::contract::Nothing;
use crate::operator::contract::rates::{
    Fetched, HeldRate, NewRate, Quote, QuoteRequest, Rate, RateDecision, RateSet,
};

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
                let new = NewRate {
                    from,
                    to,
                    rate,
                    valid_until,
                };
                out.fields::<RateSet>(&client.put("/rates", &new).await?)?;
            }
            Self::Remove { from, to } => {
                out.done(&client.delete(&format!("/rates/{from}/{to}")).await?)?;
            }
            Self::Fetch => {
                let fetched = client.post::<Fetched>("/rates/fetch", &Nothing {}).await?;
                out.done(&fetched)?;
            }
            Self::Held => out.table(&client.get("/rates/held").await?, HELD_COLUMNS)?,
            Self::Accept { from, to, rate } => {
                let path = format!("/rates/held/{from}/{to}/accept");
                let accepted = client.post::<Rate>(&path, &RateDecision { rate }).await?;
                out.done(&accepted)?;
            }
            Self::Reject { from, to, rate } => {
                let path = format!("/rates/held/{from}/{to}/reject");
                let rejected = client
                    .post::<HeldRate>(&path, &RateDecision { rate })
                    .await?;
                out.done(&rejected)?;
            }
            Self::Quote {
                amount,
                from,
                to,
                correction,
            } => {
                let asked = QuoteRequest {
                    from,
                    to,
                    amount: Some(amount),
                    correction: Some(correction),
                };
                let path = format!("/rates/quote?{}", query(&asked));
                out.fields::<Quote>(&client.get(&path).await?)?;
            }
        }
        Ok(())
    }
}

const HELD_COLUMNS: &[Column<HeldRate>] = &[
    ("from", |one| cell(&one.from)),
    ("to", |one| cell(&one.to)),
    ("fetched rate", |one| cell(&one.rate)),
    ("expected", |one| cell(&one.expected)),
    ("reason", |one| cell(&one.reason)),
    ("pegged to", |one| cell(&one.pegged_to)),
    ("state", |one| cell(&one.state)),
    ("fetched at", |one| cell(&one.fetched_at)),
];
const COLUMNS: &[Column<Rate>] = &[
    ("from", |one| cell(&one.from)),
    ("to", |one| cell(&one.to)),
    ("rate", |one| cell(&one.rate)),
    ("source", |one| cell(&one.source)),
    ("as of", |one| cell(&one.at)),
    ("valid until", |one| cell(&one.valid_until)),
];
