//! Settings of an app that its account changes, and new keys.

use serde::{Deserialize, Serialize};
use switchyard_core::money::Correction;
use switchyard_engine::access::KeyKind;
use utoipa::ToSchema;

use crate::operator::contract::apps::{AppChange, SettingsChange};
use crate::operator::contract::{nullable, schemas};

/// Change of an app. Omitted fields are unchanged; `null` removes a value. Payout limits, payouts
/// with a public key and changes that need a second person protect the account from its own users:
/// operators change them.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnAppChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub website_url: Option<Option<String>>,
    /// Address of mails to the merchant; null: no mails.
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub merchant_email: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_merchant: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_customer: Option<bool>,
    /// Attempts that a payer has on the checkout page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 5)]
    pub checkout_attempts: Option<u8>,
    /// Language of payers whose own is unknown: `en` or `fr`.
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub locale: Option<Option<String>>,
    /// Correction in percent, such as `"1.5"`; null: payers pay in the currency of the payment.
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub conversion: Option<Option<Correction>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub accent_colour: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub support_email: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub support_phone: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub support_url: Option<Option<String>>,
}

/// New API key in the environment of the path.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    #[schema(value_type = schemas::KeyKind)]
    pub kind: KeyKind,
    pub name: Option<String>,
}

impl From<OwnAppChange> for AppChange {
    fn from(change: OwnAppChange) -> Self {
        Self {
            name: change.name,
            website_url: change.website_url,
            settings: Some(SettingsChange {
                merchant_email: change.merchant_email,
                notify_merchant: change.notify_merchant,
                notify_customer: change.notify_customer,
                checkout_attempts: change.checkout_attempts,
                locale: change.locale,
                conversion: change.conversion,
                accent_colour: change.accent_colour,
                support_email: change.support_email,
                support_phone: change.support_phone,
                support_url: change.support_url,
                ..SettingsChange::default()
            }),
            ..Self::default()
        }
    }
}
