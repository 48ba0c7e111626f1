//! Results of calls: the outcome of an attempt, the payer's next step, a list of options, and the
//! check of a configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::input::Money;
use crate::manifest::FieldOption;

/// Values of a field, in the order in which people see them: at most 200.
///
/// ```
/// use switchyard_gateway::manifest::FieldOption;
/// use switchyard_gateway::{OptionList, Texts};
///
/// let label = [("en", "Savings"), ("fr", "Épargne")];
/// let label = Texts::from(label.map(|(language, text)| (language.to_owned(), text.to_owned())));
/// let accounts = OptionList { options: vec![FieldOption { value: "S".into(), label }] };
/// assert_eq!(accounts.options[0].label("fr"), "Épargne");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionList {
    pub options: Vec<FieldOption>,
}

impl OptionList {
    /// Options whose label is the same text in every language, such as the names of banks.
    ///
    /// ```
    /// use switchyard_gateway::OptionList;
    ///
    /// let banks = OptionList::named([("058".to_owned(), "GTBank".to_owned())]);
    /// assert_eq!(banks.options[0].label("fr"), "GTBank");
    /// ```
    pub fn named(options: impl IntoIterator<Item = (String, String)>) -> Self {
        let option = |(value, name): (String, String)| FieldOption {
            value,
            label: Texts::from([("en".to_owned(), name)]),
        };
        Self {
            options: options.into_iter().map(option).collect(),
        }
    }
}

/// Outcome of an attempt as the provider reports it.
///
/// On the wire an object with one key: `{"succeeded":{…}}`.
///
/// ```
/// use switchyard_gateway::{Amount, DeclineReason, Outcome, PayerAction};
///
/// let paid = Outcome::succeeded(Amount::decimal("25.00", "USD")).with_provider_id("ch_1");
/// let refused = Outcome::declined(DeclineReason::InsufficientFunds, "Not enough money")
///     .with_provider_code("no_funds");
/// let busy = Outcome::declined(DeclineReason::ProviderUnavailable, "Try later").and_retryable();
/// let unclear = Outcome::unknown("Acme has a status that is not known");
/// # let _ = (paid, refused, busy, unclear, Outcome::pending());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The money moved. `amount` is that of the *provider*: the engine compares it with the
    /// requested one.
    Succeeded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amount: Option<Amount>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fees: Option<Amount>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_status: Option<String>,
    },
    /// Final refusal by the provider. `retryable`: another gateway may be tried at once.
    Declined {
        reason: DeclineReason,
        #[serde(default)]
        retryable: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_code: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_message: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_id: Option<String>,
        /// Name of the payer's field that cannot be used. The checkout page asks for it again, with
        /// `provider_message` beside it, and the payer loses no attempt. The engine ignores it
        /// when the call has sent a request that could move money.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
    },
    /// Accepted by the provider; the outcome follows by callback or `query`.
    Pending {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_id: Option<String>,
        /// Next step of the payer. Absent: the same as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payer_action: Option<PayerAction>,
        /// Seconds until the next query. Absent: the engine's own schedule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_after: Option<u32>,
        /// Total that the provider has received so far, where a payer can pay in parts. Absent: the
        /// same as before. Zero takes an earlier report back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received: Option<Amount>,
    },
    /// Unknown outcome: a timeout after the write, a 5xx, an ignored duplicate.
    Unknown { why: String },
    /// Only from `query`: the provider does not know our reference. The engine decides by the
    /// manifest's `not_found_is_final_after_s` whether that is final.
    NotFound { why: String },
}

impl Outcome {
    /// Success in full. `amount` is that of the provider.
    ///
    /// ```
    /// use switchyard_gateway::{Amount, Fault, Outcome};
    ///
    /// // The amount that the provider's answer names, not the requested one.
    /// let charge = serde_json::json!({ "status": "paid", "amount": 2500, "currency": "USD" });
    /// let minor = charge["amount"].as_i64().ok_or_else(|| Fault::provider("no amount"))?;
    /// let paid = Outcome::succeeded(Amount::minor(minor, "USD"));
    /// assert!(matches!(paid, Outcome::Succeeded { amount: Some(_), .. }));
    /// # Ok::<(), Fault>(())
    /// ```
    pub fn succeeded(amount: impl Into<Amount>) -> Self {
        Self::Succeeded {
            provider_id: None,
            amount: Some(amount.into()),
            fees: None,
            provider_status: None,
        }
    }

    /// Final refusal with the provider's message.
    ///
    /// ```
    /// use switchyard_gateway::{DeclineReason, Outcome};
    ///
    /// let refused = Outcome::declined(DeclineReason::PayerDeclined, "The payer pressed Cancel");
    /// assert!(matches!(refused, Outcome::Declined { retryable: false, .. }));
    /// ```
    pub fn declined(reason: DeclineReason, provider_message: impl Into<String>) -> Self {
        Self::Declined {
            reason,
            retryable: false,
            provider_code: None,
            provider_message: Some(provider_message.into()),
            provider_id: None,
            field: None,
        }
    }

    /// Accepted; the outcome follows.
    ///
    /// ```
    /// use switchyard_gateway::Outcome;
    ///
    /// let outcome = |status: &str| match status {
    ///     "ACCEPTED" | "ENQUEUED" => Outcome::pending(),
    ///     other => Outcome::unknown(format!("Acme has the status `{other}`")),
    /// };
    /// assert_eq!(outcome("ACCEPTED"), Outcome::pending());
    /// ```
    pub fn pending() -> Self {
        Self::Pending {
            provider_id: None,
            payer_action: None,
            poll_after: None,
            received: None,
        }
    }

    /// Accepted; the payer has to act.
    ///
    /// ```
    /// use switchyard_gateway::{Outcome, PayerAction};
    ///
    /// let url = "https://pay.acme.example/ch_1".to_owned();
    /// let open = Outcome::awaiting(PayerAction::Redirect { url }).with_provider_id("ch_1");
    /// assert!(matches!(open, Outcome::Pending { payer_action: Some(_), .. }));
    /// ```
    pub fn awaiting(action: PayerAction) -> Self {
        Self::Pending {
            provider_id: None,
            payer_action: Some(action),
            poll_after: None,
            received: None,
        }
    }

    /// The outcome is not known: the engine queries.
    ///
    /// ```
    /// use switchyard_gateway::Outcome;
    ///
    /// // The status 500 after a charge: the money may have moved.
    /// let outcome = |status: u16| Outcome::unknown(format!("Acme answered {status}"));
    /// assert_eq!(outcome(500), Outcome::Unknown { why: "Acme answered 500".into() });
    /// ```
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }

    /// The same outcome with the provider's own id. An `Unknown` has none.
    ///
    /// ```
    /// use switchyard_gateway::Outcome;
    ///
    /// let open = Outcome::pending().with_provider_id("ch_1");
    /// assert!(matches!(open, Outcome::Pending { provider_id: Some(id), .. } if id == "ch_1"));
    /// ```
    pub fn with_provider_id(mut self, id: impl Into<String>) -> Self {
        match &mut self {
            Self::Succeeded { provider_id, .. }
            | Self::Declined { provider_id, .. }
            | Self::Pending { provider_id, .. } => *provider_id = Some(id.into()),
            Self::Unknown { .. } | Self::NotFound { .. } => {}
        }
        self
    }

    /// The same decline with the provider's own code. Other outcomes have none.
    ///
    /// ```
    /// use switchyard_gateway::{DeclineReason, Outcome};
    ///
    /// // Operators see the code beside the reason.
    /// let refused = Outcome::declined(DeclineReason::InsufficientFunds, "Balance too low");
    /// let refused = refused.with_provider_code("PAYER_BALANCE_LOW");
    /// assert!(matches!(refused, Outcome::Declined { provider_code: Some(_), .. }));
    /// ```
    pub fn with_provider_code(mut self, code: impl Into<String>) -> Self {
        if let Self::Declined { provider_code, .. } = &mut self {
            *provider_code = Some(code.into());
        }
        self
    }

    /// The same decline, because of the payer's value of the field `name`, which they can correct.
    /// Only before a request was sent.
    ///
    /// ```
    /// use switchyard_gateway::{DeclineReason, Outcome};
    ///
    /// let short = Outcome::declined(DeclineReason::InvalidAccount, "The number has nine digits");
    /// let short = short.about_field("msisdn");
    /// assert!(matches!(short, Outcome::Declined { field: Some(name), .. } if name == "msisdn"));
    /// ```
    pub fn about_field(mut self, name: impl Into<String>) -> Self {
        if let Self::Declined { field, .. } = &mut self {
            *field = Some(name.into());
        }
        self
    }

    /// The same decline, and another gateway may be tried at once: the provider was the reason, not
    /// the payer.
    ///
    /// ```
    /// use switchyard_gateway::{DeclineReason, Outcome};
    ///
    /// let closed = Outcome::declined(DeclineReason::ProviderUnavailable, "Closed until 06:00");
    /// assert!(matches!(closed.and_retryable(), Outcome::Declined { retryable: true, .. }));
    /// ```
    pub fn and_retryable(mut self) -> Self {
        if let Self::Declined { retryable, .. } = &mut self {
            *retryable = true;
        }
        self
    }
}

/// Reason of a decline, one of the engine's list.
///
/// ```
/// use switchyard_gateway::DeclineReason;
///
/// let reason = |code: &str| match code {
///     "no_funds" => DeclineReason::InsufficientFunds,
///     "cancelled" => DeclineReason::PayerDeclined,
///     _ => DeclineReason::Other,
/// };
/// assert_eq!(reason("no_funds"), DeclineReason::InsufficientFunds);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeclineReason {
    InsufficientFunds,
    PayerDeclined,
    PayerTimeout,
    PayerBusy,
    InvalidAccount,
    LimitExceeded,
    AmountOutOfRange,
    Expired,
    NotPermitted,
    /// The merchant's own float at the provider is empty: not the payer's fault.
    MerchantFunds,
    ProviderUnavailable,
    Misconfigured,
    #[serde(other)]
    Other,
}

/// Amount as a provider reports it: currency, and minor units or a decimal or both. The engine
/// refuses an amount whose two forms differ.
///
/// ```
/// use switchyard_gateway::{Amount, Money};
///
/// let decimal = Amount::decimal("25.00", "USD");
/// let minor = Amount::minor(25_00, "USD");
/// assert_eq!(Amount::from(Money::from_minor(25_00, "USD", 2)), minor);
/// # let _ = decimal;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub currency: String,
    /// Units of the smallest coin. A value that is no whole number in the range is read as an end
    /// of the range, which the engine rejects as an amount: the outcome stays readable.
    #[serde(
        default,
        deserialize_with = "minor_units",
        skip_serializing_if = "Option::is_none"
    )]
    pub minor: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<String>,
}

fn minor_units<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(value.map(|value| {
        let end = match value.to_string().starts_with('-') {
            true => i64::MIN,
            false => i64::MAX,
        };
        value.as_i64().unwrap_or(end)
    }))
}

impl Amount {
    /// An amount in major units, as most providers write it: `Amount::decimal("25.00", "USD")`.
    ///
    /// ```
    /// use switchyard_gateway::Amount;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Charge {
    ///     amount: String,
    ///     currency: String,
    /// }
    /// let charge: Charge = serde_json::from_str(r#"{ "amount": "1000.00", "currency": "KES" }"#)?;
    /// let amount = Amount::decimal(charge.amount, charge.currency);
    /// assert_eq!((amount.decimal.as_deref(), amount.minor), (Some("1000.00"), None));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn decimal(decimal: impl Into<String>, currency: impl Into<String>) -> Self {
        Self {
            currency: currency.into(),
            minor: None,
            decimal: Some(decimal.into()),
        }
    }

    /// An amount in the currency's smallest unit.
    ///
    /// ```
    /// use switchyard_gateway::Amount;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Charge {
    ///     amount: i64,
    ///     currency: String,
    /// }
    /// // 25.00 USD, as Stripe writes it: 2500 cents, in small letters.
    /// let charge: Charge = serde_json::from_str(r#"{ "amount": 2500, "currency": "usd" }"#)?;
    /// let amount = Amount::minor(charge.amount, charge.currency.to_ascii_uppercase());
    /// assert_eq!(amount, Amount::minor(25_00, "USD"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn minor(minor: i64, currency: impl Into<String>) -> Self {
        Self {
            currency: currency.into(),
            minor: Some(minor),
            decimal: None,
        }
    }
}

impl From<&Money> for Amount {
    fn from(money: &Money) -> Self {
        Self::minor(money.minor, &money.currency)
    }
}

impl From<Money> for Amount {
    fn from(money: Money) -> Self {
        Self::minor(money.minor, money.currency)
    }
}

/// A text in each language it exists in: `{"en": "…", "fr": "…"}`.
///
/// ```
/// use switchyard_gateway::Texts;
///
/// let how = Texts::from([("en".to_owned(), "See the text message".to_owned())]);
/// assert_eq!(how["en"], "See the text message");
/// ```
pub type Texts = BTreeMap<String, String>;

/// Next step of the payer.
///
/// ```
/// use switchyard_gateway::{PayerAction, Prompt, Texts};
///
/// let confirm = PayerAction::ConfirmOnPhone {
///     prompt: Prompt::Auto,
///     steps: Default::default(),
///     ussd: Some("*880#".into()),
/// };
/// let code = PayerAction::EnterCode {
///     label: "Code".into(),
///     length: Some(6),
///     how: Texts::from([("en".to_owned(), "See the text message".to_owned())]),
/// };
/// # let _ = (confirm, code);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayerAction {
    /// Continue at the provider's page.
    Redirect { url: String },
    /// Confirm on the phone: `auto` when the phone shows a prompt, `manual` when the payer opens a
    /// menu.
    ConfirmOnPhone {
        prompt: Prompt,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        steps: BTreeMap<String, Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ussd: Option<String>,
    },
    /// Type a code; it comes back through `submit_input`.
    EnterCode {
        label: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<u8>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        how: Texts,
    },
    /// Dial a USSD string.
    Dial { ussd: String },
    /// Send a bank transfer. `amount` is the total that the payer sends: the requested amount, plus
    /// `fees` when the provider charges the payer. The engine shows no action with another amount.
    Transfer {
        bank: String,
        account: String,
        name: String,
        amount: Amount,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fees: Option<Box<Amount>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<String>,
    },
    /// Scan a QR code: its text, or an image as a URL or a data URL.
    ShowQr {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<String>,
    },
    /// Send coins to an address. `amount` is in the coin's own decimal notation, and `worth` is
    /// the part of the requested amount that it pays: all, or the missing part. The engine shows no
    /// action without `worth`, or with one above the requested amount.
    SendCrypto {
        address: String,
        chain: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        amount: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worth: Option<Box<Amount>>,
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<String>,
    },
    /// Wait: the payer has done everything, and the provider has to confirm the payment. It
    /// replaces the action before it, so that the page asks for no second payment. List `progress`
    /// in the manifest's `needs`.
    Wait {},
}

/// Way in which a payer reaches the prompt on the phone.
///
/// ```
/// use switchyard_gateway::{PayerAction, Prompt};
///
/// // One provider, two networks: MTN sends the prompt, and payers of Moov dial for it.
/// let confirm = |network: &str| {
///     let (prompt, ussd) = match network {
///         "MTN" => (Prompt::Auto, None),
///         _ => (Prompt::Manual, Some("*155#".to_owned())),
///     };
///     PayerAction::ConfirmOnPhone { prompt, steps: Default::default(), ussd }
/// };
/// assert!(matches!(confirm("MTN"), PayerAction::ConfirmOnPhone { prompt: Prompt::Auto, .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// The provider sends the prompt to the phone.
    Auto,
    /// The payer dials or opens a menu.
    Manual,
}

/// Result of a check of the credentials, one harmless call to the provider.
///
/// ```
/// use switchyard_gateway::{ConfigCheck, Context, Fault};
///
/// async fn check_config(cx: &Context) -> Result<ConfigCheck, Fault> {
///     let answer = cx.get("https://api.acme.example/account").send().await?;
///     Ok(match answer.status {
///         200 => ConfigCheck::Works { account: Some(answer.text()?.to_owned()) },
///         401 => ConfigCheck::Refused {
///             message: "Acme does not know this key".into(),
///             field: Some("api_key".into()),
///         },
///         other => return Err(Fault::provider(format!("Acme answered {other}"))),
///     })
/// }
/// # let _ = check_config;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigCheck {
    /// Valid credentials; `account` is the provider's name of their account.
    Works {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<String>,
    },
    /// Refused by the provider; `field` is the wrong one.
    Refused {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
    },
}
