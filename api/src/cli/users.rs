//! `switchyard users`.

use clap::Subcommand;
use switchyard_core::ids::AccountId;

use super::client::Client;
use super::output::{Column, cell};
use crate::operator::contract::users::{FirstUser, PasswordReset, User, UserLink};

#[derive(Subcommand)]
pub enum Users {
    /// List the users of the console
    List,
    /// Invite the first operator, or the first owner of an account; shows their link once
    Invite {
        #[arg(long)]
        email: String,
        #[arg(long)]
        name: String,
        /// Account whose owner the user becomes [default: an operator of the installation]
        #[arg(long)]
        account: Option<AccountId>,
        /// Language of the console for the user
        #[arg(long, value_parser = ["en", "fr"])]
        language: Option<String>,
    },
    /// Make a link with which a user sets a new password; shows it once
    Reset {
        #[arg(long)]
        email: String,
    },
}

impl Users {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List => out.table(&client.get("/users").await?, COLUMNS)?,
            Self::Invite {
                email,
                name,
                account,
                language,
            } => {
                let new = FirstUser {
                    email,
                    name,
                    account,
                    language,
                };
                let made = client.post("/users", &new).await?;
                out.fields::<UserLink>(&made)?;
            }
            Self::Reset { email } => {
                let made = client
                    .post("/users/reset", &PasswordReset { email })
                    .await?;
                out.fields::<UserLink>(&made)?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &[Column<User>] = &[
    ("id", |one| cell(&one.id)),
    ("email", |one| one.email.clone()),
    ("name", |one| one.name.clone()),
    ("state", |one| cell(&one.state)),
    ("roles", |one| {
        let roles = one.roles.iter().map(|of| match of.account {
            Some(account) => format!("{} of {account}", of.role),
            None => of.role.to_string(),
        });
        roles.collect::<Vec<_>>().join(", ")
    }),
    ("last sign-in", |one| cell(&one.last_sign_in_at)),
];
