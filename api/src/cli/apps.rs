//! `switchyard apps`.

use std::path::PathBuf;

use anyhow::Context as _;
use base64::Engine as _;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use switchyard_engine::access::Picture;

use super::client::Client;
use super::output::Column;

#[derive(Subcommand)]
pub enum Apps {
    /// Show the apps of one account, or all
    List {
        /// The account's id
        #[arg(long)]
        account: Option<String>,
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
        account: String,
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
    /// File with the logo of the checkout page: PNG, JPEG or WebP, at most 20 KiB
    #[arg(long)]
    logo: Option<PathBuf>,
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
}

impl Change {
    fn into_body(self) -> anyhow::Result<Map<String, Value>> {
        let mut settings = Map::new();
        put(
            &mut settings,
            "merchant_email",
            self.merchant_email.map(or_null),
        );
        put(
            &mut settings,
            "notify_merchant",
            self.notify_merchant.map(Value::Bool),
        );
        put(
            &mut settings,
            "notify_customer",
            self.notify_customer.map(Value::Bool),
        );
        put(
            &mut settings,
            "checkout_attempts",
            self.checkout_attempts.map(Value::from),
        );
        put(&mut settings, "locale", self.locale.map(or_null));
        put(&mut settings, "conversion", self.conversion.map(or_null));
        put(
            &mut settings,
            "unsafe_payouts_with_public_key",
            self.unsafe_payouts_with_public_key.map(Value::Bool),
        );
        put(&mut settings, "logo", self.logo.map(data_url).transpose()?);
        for (name, value) in [
            ("accent_colour", self.accent_colour),
            ("support_email", self.support_email),
            ("support_phone", self.support_phone),
            ("support_url", self.support_url),
        ] {
            put(&mut settings, name, value.map(or_null));
        }
        if let Some(text) = self.payout_limits {
            let text = if text.is_empty() { "{}" } else { &text };
            let limits = serde_json::from_str(text).context("--payout-limits is not JSON")?;
            settings.insert("payout_limits".to_owned(), limits);
        }
        let mut body = Map::new();
        put(&mut body, "icon_url", self.icon_url.map(or_null));
        put(&mut body, "website_url", self.website_url.map(or_null));
        put(
            &mut body,
            "settings",
            (!settings.is_empty()).then_some(Value::Object(settings)),
        );
        Ok(body)
    }
}

impl Apps {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List { account } => {
                let query =
                    account.map_or_else(String::new, |account| format!("?account={account}"));
                out.table(&client.get(&format!("/apps{query}")).await?, COLUMNS)?;
            }
            Self::Show { app } => out.fields(&client.get(&path(client, app.as_deref())?).await?)?,
            Self::Create {
                account,
                name,
                change,
            } => {
                let mut body = change.into_body()?;
                body.insert("account".to_owned(), account.into());
                body.insert("name".to_owned(), name.into());
                out.fields(&client.post("/apps", &Value::Object(body)).await?)?;
            }
            Self::Update { app, name, change } => {
                let mut body = change.into_body()?;
                put(&mut body, "name", name.map(Value::String));
                out.fields(
                    &client
                        .patch(&path(client, app.as_deref())?, &Value::Object(body))
                        .await?,
                )?;
            }
            Self::Enable { app } => out.fields(&switch(client, app.as_deref(), true).await?)?,
            Self::Disable { app } => out.fields(&switch(client, app.as_deref(), false).await?)?,
        }
        Ok(())
    }
}

async fn switch(client: &Client, app: Option<&str>, on: bool) -> anyhow::Result<Value> {
    client
        .patch(&path(client, app)?, &json!({ "is_enabled": on }))
        .await
}

fn path(client: &Client, app: Option<&str>) -> anyhow::Result<String> {
    Ok(format!("/apps/{}", client.app(app)?))
}

fn put(body: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value);
    }
}

/// Reads a picture file as the data URL in the settings of an app. An empty path removes the logo.
fn data_url(path: PathBuf) -> anyhow::Result<Value> {
    if path.as_os_str().is_empty() {
        return Ok(Value::Null);
    }
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let picture = Picture::from_bytes(bytes)
        .with_context(|| format!("{} is not a PNG, JPEG or WebP", path.display()))?;
    let data = base64::engine::general_purpose::STANDARD.encode(&picture.bytes);
    Ok(format!("data:{};base64,{data}", picture.media_type).into())
}

fn or_null(text: String) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        Value::String(text)
    }
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("name", "name"),
    ("account", "account"),
    ("enabled", "is_enabled"),
    ("created", "created_at"),
];

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        change: Change,
    }

    fn body(limits: &str) -> anyhow::Result<Value> {
        let line = Line::try_parse_from(["update", "--payout-limits", limits])?;
        Ok(Value::Object(line.change.into_body()?))
    }

    #[test]
    fn payout_limits_are_sent_as_they_are_given_and_an_empty_text_takes_them_away() {
        let given = r#"{"per_recipient": 5, "amount_per_day": {"XOF": "500000"}}"#;
        let expected = json!({ "per_recipient": 5, "amount_per_day": { "XOF": "500000" } });
        assert_eq!(body(given).unwrap()["settings"]["payout_limits"], expected);
        assert_eq!(body("").unwrap()["settings"]["payout_limits"], json!({}));
        let refused = body("5 a day").unwrap_err().to_string();
        assert!(refused.contains("--payout-limits"), "{refused}");
    }
}
