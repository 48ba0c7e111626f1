//! `switchyard apps`.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde::de::DeserializeOwned;
use switchyard_core::ids::AccountId;
use switchyard_core::limits::LOGO_FILE_BYTES;
use switchyard_core::money::Correction;

use super::client::{Answer, Client, query};
use super::output::{Column, cell};
use crate::operator::contract::apps::{App, AppChange, AppFilter, NewApp, SettingsChange};

#[derive(Subcommand)]
pub enum Apps {
    /// Show the apps of one account, or all
    List {
        /// The account's id
        #[arg(long)]
        account: Option<AccountId>,
    },
    /// Show one app with its settings
    Show {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Create an app
    Create {
        /// The account's id, as `accounts list` shows it
        #[arg(long)]
        account: AccountId,
        /// Name that payers and merchants see
        name: String,
        #[command(flatten)]
        change: Change,
    },
    /// Change an app or its settings; other settings stay unchanged
    Update {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        /// Name that payers and merchants see
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        change: Change,
    },
    /// Set or remove the logo of an app's checkout pages and mails
    Logo {
        /// PNG, JPEG or WebP file of at most 1 MiB and 2,500 pixels in width and height
        #[arg(required_unless_present = "remove")]
        file: Option<PathBuf>,
        /// Remove the logo
        #[arg(long, conflicts_with = "file")]
        remove: bool,
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Enable an app
    Enable {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Disable an app and reject its API keys
    Disable {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
}

/// Settings of an app. An empty text removes a value.
#[derive(Args)]
pub struct Change {
    /// URL of its icon in API responses [default: a drawn icon]
    #[arg(long)]
    icon_url: Option<String>,
    /// URL of its website
    #[arg(long)]
    website_url: Option<String>,
    /// E-mail address of the merchant
    #[arg(long)]
    merchant_email: Option<String>,
    /// Whether the merchant gets a mail for each ended transaction
    #[arg(long)]
    notify_merchant: Option<bool>,
    /// Whether the customer gets mails about a successful payment and about money under review
    #[arg(long)]
    notify_customer: Option<bool>,
    /// Attempts that a payer has on the checkout page, 1 to 5
    #[arg(long)]
    checkout_attempts: Option<u8>,
    /// Language of payers whose own is unknown: en or fr
    #[arg(long)]
    locale: Option<String>,
    /// Correction of the day's rate in percent for payments in other currencies; empty: not offered
    #[arg(long, allow_hyphen_values = true)]
    conversion: Option<String>,
    /// DANGER: whether anybody who has read the public key in a page or an app may order payouts
    /// with it
    #[arg(long)]
    unsafe_payouts_with_public_key: Option<bool>,
    /// Colour of buttons and links on the checkout page, as #rrggbb
    #[arg(long)]
    accent_colour: Option<String>,
    /// E-mail address for customers, on pages and in mails; replies to mails go there
    #[arg(long)]
    support_email: Option<String>,
    /// Phone number for customers, on pages and in mails
    #[arg(long)]
    support_phone: Option<String>,
    /// https address of a help page for customers
    #[arg(long)]
    support_url: Option<String>,
    /// Payout limits in 24 hours that replace the installation's, as JSON: {"per_recipient": 5,
    /// "per_day": 100, "amount_per_day": {"XOF": "500000"}}; empty: the installation's
    #[arg(long, value_name = "JSON")]
    payout_limits: Option<String>,
    /// Changes in live that one person orders in the console and another one approves, as JSON:
    /// {"payouts_above": {"XOF": "250000"}, "routing": true}; empty: one person is enough
    #[arg(long, value_name = "JSON")]
    second_person: Option<String>,
}

impl Change {
    fn into_settings(self) -> anyhow::Result<SettingsChange> {
        let conversion = self.conversion.map(or_null).map(|text| {
            let correction = text.as_deref().map(Correction::parse);
            correction.transpose()
        });
        let limits = self
            .payout_limits
            .map(|text| json("--payout-limits", &text));
        let second_person = self
            .second_person
            .map(|text| json("--second-person", &text));
        Ok(SettingsChange {
            merchant_email: self.merchant_email.map(or_null),
            notify_merchant: self.notify_merchant,
            notify_customer: self.notify_customer,
            checkout_attempts: self.checkout_attempts,
            locale: self.locale.map(or_null),
            conversion: conversion.transpose().context("--conversion")?,
            unsafe_payouts_with_public_key: self.unsafe_payouts_with_public_key,
            accent_colour: self.accent_colour.map(or_null),
            support_email: self.support_email.map(or_null),
            support_phone: self.support_phone.map(or_null),
            support_url: self.support_url.map(or_null),
            payout_limits: limits.transpose()?,
            second_person: second_person.transpose()?,
        })
    }

    fn into_change(mut self, name: Option<String>) -> anyhow::Result<AppChange> {
        let (icon_url, website_url) = (self.icon_url.take(), self.website_url.take());
        let settings = self.into_settings()?;
        let is_given = settings != SettingsChange::default();
        Ok(AppChange {
            name,
            icon_url: icon_url.map(or_null),
            website_url: website_url.map(or_null),
            is_enabled: None,
            settings: is_given.then_some(settings),
        })
    }
}

impl Apps {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List { account } => {
                let path = format!("/apps?{}", query(&AppFilter { account }));
                out.table(&client.get(&path).await?, COLUMNS)?;
            }
            Self::Show { app } => {
                out.fields::<App>(&client.get(&path(client, app.as_deref())?).await?)?;
            }
            Self::Create {
                account,
                name,
                mut change,
            } => {
                let new = NewApp {
                    account,
                    name,
                    icon_url: change.icon_url.take().and_then(or_null),
                    website_url: change.website_url.take().and_then(or_null),
                    settings: change.into_settings()?,
                };
                out.fields::<App>(&client.post("/apps", &new).await?)?;
            }
            Self::Update { app, name, change } => {
                let path = path(client, app.as_deref())?;
                let change = change.into_change(name)?;
                out.fields::<App>(&client.patch(&path, &change).await?)?;
            }
            Self::Logo { file, app, .. } => {
                let path = format!("{}/logo", path(client, app.as_deref())?);
                let Some(file) = file else {
                    out.done(&client.delete(&path).await?)?;
                    return Ok(());
                };
                let mut read = Vec::new();
                // One byte more than is allowed: the server names the limit.
                std::fs::File::open(&file)
                    .and_then(|open| open.take(LOGO_FILE_BYTES as u64 + 1).read_to_end(&mut read))
                    .with_context(|| format!("cannot read {}", file.display()))?;
                out.fields::<App>(&client.upload(Method::PUT, &path, read).await?)?;
            }
            Self::Enable { app } => out.fields(&switch(client, app.as_deref(), true).await?)?,
            Self::Disable { app } => out.fields(&switch(client, app.as_deref(), false).await?)?,
        }
        Ok(())
    }
}

async fn switch(client: &Client, app: Option<&str>, on: bool) -> anyhow::Result<Answer<App>> {
    let change = AppChange {
        is_enabled: Some(on),
        ..AppChange::default()
    };
    client.patch(&path(client, app)?, &change).await
}

fn path(client: &Client, app: Option<&str>) -> anyhow::Result<String> {
    Ok(format!("/apps/{}", client.app(app)?))
}

/// Reads the JSON of an option. An empty text is an empty object.
fn json<T: DeserializeOwned>(option: &str, text: &str) -> anyhow::Result<T> {
    let text = if text.is_empty() { "{}" } else { text };
    serde_json::from_str(text).with_context(|| format!("{option} is not JSON of the expected form"))
}

fn or_null(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

const COLUMNS: &[Column<App>] = &[
    ("id", |one| cell(&one.id)),
    ("name", |one| cell(&one.name)),
    ("account", |one| cell(&one.account)),
    ("enabled", |one| cell(&one.is_enabled)),
    ("created", |one| cell(&one.created_at)),
];

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        change: Change,
    }

    fn body(option: &str, text: &str) -> anyhow::Result<Value> {
        let line = Cli::try_parse_from(["update", option, text])?;
        Ok(serde_json::to_value(line.change.into_change(None)?)?)
    }

    #[test]
    fn payout_limits_are_sent_as_they_are_given_and_an_empty_text_takes_them_away() {
        let given = r#"{"per_recipient": 5, "amount_per_day": {"XOF": "500000"}}"#;
        let limits = |per_recipient: Value, amounts: Value| {
            json!({
                "per_recipient": per_recipient, "per_day": null, "amount_per_day": amounts,
            })
        };
        let settings = |limits: Value| json!({ "settings": { "payout_limits": limits } });
        let expected = limits(json!(5), json!({ "XOF": "500000" }));
        let body = |text: &str| body("--payout-limits", text);
        assert_eq!(body(given).unwrap(), settings(expected));
        let none = limits(Value::Null, json!({}));
        assert_eq!(body("").unwrap(), settings(none));
        let refused = body("5 a day").unwrap_err().to_string();
        assert!(refused.contains("--payout-limits"), "{refused}");
    }

    #[test]
    fn the_changes_for_two_people_are_sent_and_an_empty_text_takes_them_away() {
        let sent = |text: &str| body("--second-person", text);
        let settings = |amounts: Value, routing: bool| {
            let both = json!({ "payouts_above": amounts, "routing": routing });
            json!({ "settings": { "second_person": both } })
        };
        let given = r#"{"payouts_above": {"XOF": "250000"}, "routing": true}"#;
        let expected = settings(json!({ "XOF": "250000" }), true);
        assert_eq!(sent(given).unwrap(), expected);
        assert_eq!(sent("").unwrap(), settings(json!({}), false));
        let refused = sent(r#"{"refunds": true}"#).unwrap_err().to_string();
        assert!(refused.contains("--second-person"), "{refused}");
    }
}
