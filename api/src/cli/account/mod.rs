//! `switchyard account`: what a user of an account does, over the account API.
//!
//! The token is that of a user or of a session. It comes from the environment or from a file, and
//! never from an argument, which other users of the machine could read.

mod approvals;
mod customers;
mod keys;
mod own;
mod payment_links;
mod payouts;
mod profile;
mod routing;
mod settings;
mod team;
mod transactions;
mod webhooks;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId};
use switchyard_core::secret::Secret;

use super::client::{Client, Target};
use crate::account::contract::own::OwnApp;

/// Command `account`.
#[derive(Args)]
pub struct Account {
    #[command(flatten)]
    of: Of,
    #[command(subcommand)]
    command: Command,
}

/// Token and place of the commands.
#[derive(Args)]
struct Of {
    /// File with the token of a user or of a session, `-` for standard input [default:
    /// SWITCHYARD_ACCOUNT_TOKEN]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    /// The app's id [default: the only one of the token]
    #[arg(long, global = true)]
    app: Option<AppId>,
    /// sandbox or live
    #[arg(long, global = true, default_value = "sandbox")]
    environment: Environment,
}

#[derive(Subcommand)]
enum Command {
    /// Show whose token it is
    Me,
    /// Change your name and language
    Profile(profile::Profile),
    /// Change your password, and end your other sessions
    Password(profile::Password),
    /// Set up, replace and remove your second factor
    #[command(subcommand)]
    SecondFactor(profile::SecondFactor),
    /// List the apps that the token enters, with the actions that it may perform
    Apps,
    /// Open a session, for what needs a person
    SignIn(own::SignIn),
    /// List and end sessions
    #[command(subcommand)]
    Sessions(own::Sessions),
    /// Manage your API tokens
    #[command(subcommand)]
    Tokens(own::Tokens),
    /// Show, check and cancel payments and payouts
    #[command(subcommand)]
    Transactions(transactions::Transactions),
    /// Show numbers, rates and sums of payments or payouts
    Statistics(transactions::Statistics),
    /// Show, export and erase what is stored about customers
    #[command(subcommand)]
    Customers(customers::Customers),
    /// Order payouts
    #[command(subcommand)]
    Payouts(payouts::Payouts),
    /// Manage payment links
    #[command(subcommand)]
    PaymentLinks(payment_links::Links),
    /// Show and decide proposals
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// Manage API keys
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Show connections
    #[command(subcommand)]
    Connections(routing::Connections),
    /// Show the routing rules
    Routing(routing::Routing),
    /// Manage webhooks, and send events again
    #[command(subcommand)]
    Webhooks(webhooks::Webhooks),
    /// Show and change the settings of the app
    #[command(subcommand)]
    Settings(settings::Settings),
    /// Manage the team of the account
    #[command(subcommand)]
    Team(team::Team),
    /// Show the audit log of the account
    Audit(team::Audit),
}

/// Client with the place of a command.
struct Session {
    client: Client,
    app: Option<AppId>,
    environment: Environment,
}

impl Account {
    pub async fn run(self, target: &Target) -> anyhow::Result<()> {
        if let Command::SignIn(sign_in) = self.command {
            return sign_in
                .run(&Client::of_account(target, Secret::new(String::new()))?)
                .await;
        }
        let session = Session {
            client: Client::of_account(target, self.of.token()?)?,
            app: self.of.app,
            environment: self.of.environment,
        };
        let session = &session;
        match self.command {
            Command::Me => own::me(session).await,
            Command::Profile(profile) => profile.run(session).await,
            Command::Password(password) => password.run(session).await,
            Command::SecondFactor(factor) => factor.run(session).await,
            Command::Apps => own::apps(session).await,
            Command::SignIn(_) => Ok(()),
            Command::Sessions(sessions) => sessions.run(session).await,
            Command::Tokens(tokens) => tokens.run(session).await,
            Command::Transactions(transactions) => transactions.run(session).await,
            Command::Statistics(statistics) => statistics.run(session).await,
            Command::Customers(customers) => customers.run(session).await,
            Command::Payouts(payouts) => payouts.run(session).await,
            Command::PaymentLinks(links) => links.run(session).await,
            Command::Approvals(approvals) => approvals.run(session).await,
            Command::Keys(keys) => keys.run(session).await,
            Command::Connections(connections) => connections.run(session).await,
            Command::Routing(routing) => routing.run(session).await,
            Command::Webhooks(webhooks) => webhooks.run(session).await,
            Command::Settings(settings) => settings.run(session).await,
            Command::Team(team) => team.run(session).await,
            Command::Audit(audit) => audit.run(session).await,
        }
    }
}

impl Of {
    fn token(&self) -> anyhow::Result<Secret<String>> {
        let token = match &self.token_file {
            Some(file) => secret_of(file)?,
            None => {
                let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
                let token = token.with_context(|| {
                    format!("put a token into {TOKEN}, or name its file with --token-file")
                })?;
                Secret::new(token)
            }
        };
        match token.expose().trim() {
            "" => bail!("the token is empty"),
            trimmed => Ok(Secret::new(trimmed.to_owned())),
        }
    }
}

/// The first line of a file, or of standard input for `-`.
fn secret_of(file: &Path) -> anyhow::Result<Secret<String>> {
    let text = read(file)?;
    let line = text.expose().lines().next().unwrap_or_default();
    Ok(Secret::new(line.to_owned()))
}

/// The text of a file, or of standard input for `-`.
fn read(file: &Path) -> anyhow::Result<Secret<String>> {
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(Secret::new(text))
}

impl Session {
    /// The app of the command: the named one, or the only one of the token.
    async fn own_app(&self) -> anyhow::Result<OwnApp> {
        let apps = self.client.get::<Vec<OwnApp>>("/apps").await?.data;
        let mut found = apps
            .into_iter()
            .filter(|app| self.app.is_none_or(|id| app.id == id));
        match (found.next(), found.next()) {
            (Some(app), None) => Ok(app),
            (None, _) => bail!("there is no such app: `switchyard account apps` lists yours"),
            (Some(_), Some(_)) => {
                bail!("say which app with --app: `switchyard account apps` lists yours")
            }
        }
    }

    async fn app(&self) -> anyhow::Result<AppId> {
        match self.app {
            Some(app) => Ok(app),
            None => Ok(self.own_app().await?.id),
        }
    }

    async fn account(&self) -> anyhow::Result<AccountId> {
        Ok(self.own_app().await?.account)
    }

    /// Path below the app.
    async fn in_app(&self, rest: &str) -> anyhow::Result<String> {
        Ok(format!("/apps/{}{rest}", self.app().await?))
    }

    /// Path below the app and the environment.
    async fn in_scope(&self, rest: &str) -> anyhow::Result<String> {
        self.in_app(&format!("/{}/{rest}", self.environment)).await
    }

    /// Path below the account.
    async fn in_account(&self, rest: &str) -> anyhow::Result<String> {
        Ok(format!("/accounts/{}/{rest}", self.account().await?))
    }
}

const TOKEN: &str = "SWITCHYARD_ACCOUNT_TOKEN";
