//! Commands for payment links.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use switchyard_core::ids::{PaymentId, PaymentLinkId};

use super::{Session, read};
use crate::account::contract::payment_links::{
    LinkPage, LinkPaymentPage, LinkPayments, LinkRequest, PaymentLinkView, PaymentLinks,
};
use crate::cli::client::query;
use crate::cli::output::{Column, cell};
use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::transactions::TransactionSummary;
use crate::operator::contract::{Nothing, NumberOrText};

#[derive(Subcommand)]
pub enum Links {
    /// Create a payment link
    Create(Box<Create>),
    /// List payment links, newest first
    List {
        /// Show links older than this id
        #[arg(long)]
        before: Option<PaymentLinkId>,
        /// Page size
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Show a payment link with the sums of its payments
    Show { link: PaymentLinkId },
    /// List the payments of a link, newest first
    Payments {
        link: PaymentLinkId,
        /// Show payments older than this id
        #[arg(long)]
        before: Option<PaymentId>,
        /// Page size
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Disable a payment link: it takes no more payments
    Disable { link: PaymentLinkId },
    /// Enable a payment link
    Enable { link: PaymentLinkId },
}

/// Terms of a new link. Without an amount the payer chooses.
#[derive(Args)]
pub struct Create {
    /// Goods or purpose
    #[arg(required_unless_present = "file")]
    title: Option<String>,
    /// File with the request of the account API, `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "title")]
    file: Option<PathBuf>,
    /// Code of the currency
    #[arg(long, required_unless_present = "file")]
    currency: Option<String>,
    /// Fixed amount
    #[arg(long, conflicts_with_all = ["min_amount", "max_amount"])]
    amount: Option<String>,
    /// Least amount
    #[arg(long, requires = "max_amount")]
    min_amount: Option<String>,
    /// Largest amount
    #[arg(long, requires = "min_amount")]
    max_amount: Option<String>,
    /// Description of the payments [default: the title]
    #[arg(long)]
    description: Option<String>,
    /// Ask for the payer's phone number
    #[arg(long)]
    ask_phone: bool,
    /// Offered methods, with commas between [default: all]
    #[arg(long, value_delimiter = ',')]
    methods: Vec<String>,
    /// Largest number of successful payments
    #[arg(long)]
    max_uses: Option<u32>,
    /// Time from which it takes no payment, such as 2026-12-24T18:00:00Z
    #[arg(long, value_parser = moment)]
    expires_at: Option<IsoTimestamp>,
    /// Address to which payers return
    #[arg(long)]
    return_url: Option<String>,
}

fn moment(text: &str) -> Result<IsoTimestamp, &'static str> {
    let parsed = switchyard_core::time::Timestamp::parse(text);
    parsed
        .map(IsoTimestamp)
        .ok_or("not a time in ISO 8601, such as 2026-12-24T18:00:00Z")
}

impl Create {
    fn request(self) -> anyhow::Result<LinkRequest> {
        if let Some(file) = self.file {
            let text = read(&file)?;
            return serde_json::from_str(text.expose())
                .with_context(|| format!("{} is not the request of a link", file.display()));
        }
        Ok(LinkRequest {
            title: self.title.unwrap_or_default(),
            amount: self.amount.map(NumberOrText::Text),
            min_amount: self.min_amount.map(NumberOrText::Text),
            max_amount: self.max_amount.map(NumberOrText::Text),
            currency: self.currency.unwrap_or_default(),
            description: self.description,
            asks_phone: self.ask_phone,
            methods: self.methods,
            max_uses: self.max_uses,
            expires_at: self.expires_at,
            return_url: self.return_url,
            ..LinkRequest::default()
        })
    }
}

impl Links {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let all = session.in_scope("payment-links").await?;
        match self {
            Self::Create(create) => {
                let made = client.post(&all, &create.request()?).await?;
                out.fields::<PaymentLinkView>(&made)?;
            }
            Self::List { before, limit } => {
                let path = format!("{all}?{}", query(&LinkPage { before, limit }));
                let answer = client.get::<PaymentLinks>(&path).await?;
                let more = answer.data.more;
                let more = more.as_ref().map(|id| id as &dyn std::fmt::Display);
                out.page(&answer, (&answer.data.links, "--before", more), LINKS)?;
            }
            Self::Show { link } => {
                let answer = client.get(&format!("{all}/{link}")).await?;
                out.fields::<PaymentLinkView>(&answer)?;
            }
            Self::Payments {
                link,
                before,
                limit,
            } => {
                let page = query(&LinkPaymentPage { before, limit });
                let path = format!("{all}/{link}/payments?{page}");
                let answer = client.get::<LinkPayments>(&path).await?;
                let more = answer.data.more;
                let more = more.as_ref().map(|id| id as &dyn std::fmt::Display);
                let page = (&*answer.data.transactions, "--before", more);
                out.page(&answer, page, PAYMENTS)?;
            }
            Self::Disable { link } => {
                let path = format!("{all}/{link}/disable");
                out.done::<PaymentLinkView>(&client.post(&path, &Nothing {}).await?)?;
            }
            Self::Enable { link } => {
                let path = format!("{all}/{link}/enable");
                out.done::<PaymentLinkView>(&client.post(&path, &Nothing {}).await?)?;
            }
        }
        Ok(())
    }
}

const LINKS: &[Column<PaymentLinkView>] = &[
    ("id", |one| cell(&one.id)),
    ("title", |one| cell(&one.title)),
    ("state", |one| cell(&one.state)),
    ("paid", |one| cell(&one.paid)),
    ("created", |one| cell(&one.created_at)),
    ("address", |one| cell(&one.url)),
];
const PAYMENTS: &[Column<TransactionSummary>] = &[
    ("id", |one| cell(&one.facts.id)),
    ("status", |one| cell(&one.facts.status)),
    ("created", |one| cell(&one.facts.created_at)),
    ("customer", |one| cell(&one.customer)),
];
