//! Results of calls: the outcome of an attempt, the payer's next step, and the content of a
//! callback.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::input::Money;
use crate::manifest::FieldOption;

/// Values of a field, in the order in which people see them: at most 200.
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
    pub fn succeeded(amount: impl Into<Amount>) -> Self {
        Self::Succeeded {
            provider_id: None,
            amount: Some(amount.into()),
            fees: None,
            provider_status: None,
        }
    }

    /// Final refusal with the provider's message.
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
    /// # let _ = open;
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
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }

    /// The same outcome with the provider's own id. An `Unknown` has none.
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
    /// # let _ = short;
    /// ```
    pub fn about_field(mut self, name: impl Into<String>) -> Self {
        if let Self::Declined { field, .. } = &mut self {
            *field = Some(name.into());
        }
        self
    }

    /// The same decline, and another gateway may be tried at once: the provider was the reason, not
    /// the payer.
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
    pub fn decimal(decimal: impl Into<String>, currency: impl Into<String>) -> Self {
        Self {
            currency: currency.into(),
            minor: None,
            decimal: Some(decimal.into()),
        }
    }

    /// An amount in the currency's smallest unit.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    Auto,
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

/// Content of a callback. `trusted` only when this call has verified its signature; any other
/// callback is a hint, after which the engine queries. A constant in each callback is no signature:
/// everybody who has seen one callback can forge the next.
///
/// ```
/// use switchyard_gateway::{Amount, CallbackResult, Outcome};
///
/// let paid = Outcome::succeeded(Amount::minor(1_000, "XOF"));
/// let signed = CallbackResult::trusted(paid).about("7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d");
/// let unsigned = CallbackResult::hint().about_provider_id("ch_1");
/// let forged = CallbackResult::refused("the signature is wrong");
/// # let _ = (signed, unsigned, forged, CallbackResult::nothing());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub trusted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Reason for which it does not come from the provider. The other fields are ignored then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl CallbackResult {
    /// Callback with a valid signature. Name the attempt with [`Self::about`] or
    /// [`Self::about_provider_id`].
    pub fn trusted(outcome: Outcome) -> Self {
        Self {
            trusted: true,
            outcome: Some(outcome),
            ..Self::default()
        }
    }

    /// Callback that anybody may have sent: the engine queries the provider about its attempt.
    pub fn hint() -> Self {
        Self::default()
    }

    /// From the provider, and about nothing that the engine has to know: a test call, an event of
    /// another kind.
    pub fn nothing() -> Self {
        Self {
            trusted: true,
            ..Self::default()
        }
    }

    /// Forged: the signature does not fit. Changes nothing, and is kept for the operator to see.
    pub fn refused(why: impl Into<String>) -> Self {
        Self {
            refused: Some(why.into()),
            ..Self::default()
        }
    }

    /// Names the attempt by our reference.
    pub fn about(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Names the attempt by the provider's id.
    pub fn about_provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = Some(id.into());
        self
    }
}
