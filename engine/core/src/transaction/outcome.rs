//! Outcomes of an attempt. There are five, and *unknown is never failed*: only [`Outcome::NotSent`]
//! and a retryable [`Outcome::Declined`] let another gateway try.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::money::Amount;

/// Outcome of a gateway's operation, as the host understood it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider says that the money moved.
    Succeeded {
        provider_id: Option<String>,
        amount: Captured,
        fees: Option<Amount>,
        /// The provider's own word for the status.
        provider_status: Option<String>,
    },
    /// The provider says that the money will not move.
    Declined(Decline),
    /// No request that could move money has left this machine.
    NotSent { why: String },
    /// The provider has it, and has not finished.
    Pending {
        provider_id: Option<String>,
        payer_action: Option<PayerAction>,
        /// When to ask again; `None`: as the query schedule says.
        poll_after: Option<Duration>,
        provider_status: Option<String>,
        /// Money that the provider has received so far. `None`: it does not say.
        received: Option<Amount>,
    },
    /// The request may have reached the provider, and the result is not known. Only a query settles
    /// that.
    Unknown {
        why: String,
        /// When a query will know more. `None`: query as the schedule says.
        poll_after: Option<Duration>,
    },
}

/// The captured amount of a success, as far as the provider names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    Named(Amount),
    /// The provider cannot name it, and the gateway's manifest states why: the amount asked for.
    AsAsked,
    /// Money moved, and the amount is missing or cannot be read.
    Unreadable,
}

impl Outcome {
    /// Whether the provider reports that money moved, all of it or a part.
    pub fn reports_money(&self) -> bool {
        match self {
            Self::Succeeded { .. } => true,
            Self::Pending { received, .. } => received.is_some_and(|sum| sum.minor() > 0),
            Self::Declined(_) | Self::NotSent { .. } | Self::Unknown { .. } => false,
        }
    }

    /// The provider's id that it names. `None`: it names none.
    pub fn provider_id(&self) -> Option<&str> {
        match self {
            Self::Succeeded { provider_id, .. } | Self::Pending { provider_id, .. } => {
                provider_id.as_deref()
            }
            Self::Declined(decline) => decline.provider_id.as_deref(),
            Self::NotSent { .. } | Self::Unknown { .. } => None,
        }
    }

    /// An unknown outcome that is queried as the schedule says.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown {
            why: why.into(),
            poll_after: None,
        }
    }
}

impl Outcome {
    /// The outcome under `id`, if it can have one and names none.
    pub fn with_id_of(mut self, id: Option<String>) -> Self {
        match &mut self {
            Self::Succeeded { provider_id, .. }
            | Self::Pending { provider_id, .. }
            | Self::Declined(Decline { provider_id, .. }) => {
                *provider_id = provider_id.take().or(id)
            }
            Self::NotSent { .. } | Self::Unknown { .. } => {}
        }
        self
    }

    /// Keeps the field that a decline names only if `nothing_sent`: nothing that could move money
    /// has left. Otherwise the decline counts as any other.
    pub fn with_field_if(mut self, nothing_sent: bool) -> Self {
        if let Self::Declined(decline) = &mut self
            && !nothing_sent
        {
            decline.field = None;
        }
        self
    }
}

/// A provider's refusal, with its own words beside ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decline {
    pub reason: DeclineReason,
    /// Whether another gateway may try what this one declined.
    pub retryable: bool,
    pub provider_id: Option<String>,
    pub provider_code: Option<String>,
    pub provider_message: Option<String>,
    /// Name of the payer's field that was refused before anything was sent. Such a decline uses up
    /// none of the payer's attempts, and the page asks for that field again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// Reason of a decline: a dozen words onto which all providers' codes are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    MerchantFunds,
    ProviderUnavailable,
    Misconfigured,
    Other,
}

impl DeclineReason {
    /// The stable word of the API (`failure_error_code`).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InsufficientFunds => "insufficient_funds",
            Self::PayerDeclined => "payer_declined",
            Self::PayerTimeout => "payer_timeout",
            Self::PayerBusy => "payer_busy",
            Self::InvalidAccount => "invalid_account",
            Self::LimitExceeded => "limit_exceeded",
            Self::AmountOutOfRange => "amount_out_of_range",
            Self::Expired => "expired",
            Self::NotPermitted => "not_permitted",
            Self::MerchantFunds => "merchant_funds",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::Misconfigured => "misconfigured",
            Self::Other => "other",
        }
    }

    /// Party that can correct the cause (`failure_error_type`).
    pub const fn fault_of(self) -> &'static str {
        match self {
            Self::InsufficientFunds
            | Self::PayerDeclined
            | Self::PayerTimeout
            | Self::PayerBusy
            | Self::Expired => "payer",
            Self::InvalidAccount
            | Self::LimitExceeded
            | Self::AmountOutOfRange
            | Self::NotPermitted => "request",
            Self::MerchantFunds | Self::Misconfigured => "merchant",
            Self::ProviderUnavailable | Self::Other => "provider",
        }
    }
}

/// Action of the payer that the provider waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PayerAction {
    /// Go to the provider's own page.
    Redirect { url: String },
    /// The provider's page cannot be opened, for the reason in `why`. The payer was not sent there.
    UnusablePage { why: String },
    /// Confirm on the phone. `auto`: the prompt appears automatically; otherwise the payer opens
    /// it, by `ussd` when there is one.
    ConfirmOnPhone {
        auto: bool,
        steps: Vec<LocalizedText>,
        ussd: Option<String>,
    },
    /// Type a code that the provider sent.
    EnterCode {
        label: String,
        length: Option<u8>,
        how: Vec<LocalizedText>,
    },
    /// Dial a USSD string.
    Dial { ussd: String },
    /// Make a bank transfer.
    Transfer {
        bank: String,
        account: String,
        name: String,
        /// Amount of the attempt and the fee that the provider adds to it.
        amount: Amount,
        /// The fee in it. `None`: there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fee: Option<Amount>,
        reference: String,
        expires: Option<String>,
    },
    /// Scan a QR code.
    ShowQr { text: String, image: Option<String> },
    /// Send crypto currency to an address.
    SendCrypto {
        address: String,
        chain: String,
        token: Option<String>,
        amount: String,
        /// Part of the attempt's amount that these coins settle. When it is less than the unpaid
        /// rest, other coins were seen and are not confirmed yet.
        worth: Amount,
        uri: String,
        expires: Option<String>,
    },
    /// Wait: the payer has done everything, and the provider has to confirm the payment.
    Wait,
}

impl PayerAction {
    /// The provider's fee in the amount of a transfer.
    pub fn fee(&self) -> Option<Amount> {
        match self {
            Self::Transfer { fee, .. } => *fee,
            _ => None,
        }
    }
}

/// A sentence in one language (`en`, `fr`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalizedText {
    pub lang: String,
    pub text: String,
}
