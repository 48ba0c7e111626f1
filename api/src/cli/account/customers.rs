//! Commands about customers and their personal data.

use std::fmt::Display;

use anyhow::bail;
use clap::{Args, Subcommand};
use switchyard_core::ids::CustomerId;

use super::Session;
use crate::account::contract::customers::CustomerFilter;
use crate::cli::client::query;
use crate::cli::output::{Column, cell};
use crate::cli::transactions::write_all;
use crate::operator::contract::Nothing;
use crate::operator::contract::customers::{CustomerErasure, CustomerPage, KnownCustomer};

#[derive(Subcommand)]
pub enum Customers {
    /// List customers, newest first
    List(List),
    /// Show a customer
    Show { customer: CustomerId },
    /// Write the personal data of a customer as JSON to standard output
    Export { customer: CustomerId },
    /// Erase the personal data of a customer
    Erase {
        customer: CustomerId,
        /// Confirm that it cannot be undone
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args)]
pub struct List {
    /// Only the customer with this e-mail address
    #[arg(long)]
    email: Option<String>,
    /// Continue where the last page ended
    #[arg(long)]
    before: Option<CustomerId>,
    /// Page size
    #[arg(long, default_value_t = 20)]
    limit: usize,
}

impl Customers {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List(list) => {
                let filter = query(&list.filter());
                let path = session.in_scope(&format!("customers?{filter}")).await?;
                let answer = client.get::<CustomerPage>(&path).await?;
                let found = &answer.data;
                let more = found.more.as_ref().map(|more| more as &dyn Display);
                out.page(&answer, (&found.customers, "--before", more), COLUMNS)?;
            }
            Self::Show { customer } => {
                let path = session.in_scope(&format!("customers/{customer}")).await?;
                out.fields::<KnownCustomer>(&client.get(&path).await?)?;
            }
            Self::Export { customer } => {
                let path = format!("customers/{customer}/export");
                let file = client.stream(&session.in_scope(&path).await?).await?;
                write_all(file, None).await?;
            }
            Self::Erase { yes: false, .. } => {
                bail!("this cannot be undone: export the data if it is asked for, then add --yes")
            }
            Self::Erase { customer, .. } => {
                let path = format!("customers/{customer}/erase");
                let path = session.in_scope(&path).await?;
                out.fields::<CustomerErasure>(&client.post(&path, &Nothing {}).await?)?;
            }
        }
        Ok(())
    }
}

impl List {
    fn filter(self) -> CustomerFilter {
        CustomerFilter {
            email: self.email,
            before: self.before,
            limit: Some(self.limit),
        }
    }
}

const COLUMNS: &[Column<KnownCustomer>] = &[
    ("id", |one| cell(&one.customer.id)),
    ("e-mail", |one| one.customer.email.clone()),
    ("first name", |one| one.customer.first_name.clone()),
    ("last name", |one| one.customer.last_name.clone()),
    ("last seen", |one| cell(&one.seen_at)),
];
