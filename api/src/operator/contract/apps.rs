//! Apps and their settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, AppId};
use switchyard_core::money::Correction;
use switchyard_engine::{access, quota};
use utoipa::{IntoParams, ToSchema};

use super::nullable;
use crate::iso_timestamp::IsoTimestamp;

/// App: the integration of a merchant. Apps cannot be deleted, since transactions refer to them.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct App {
    #[schema(value_type = String)]
    pub id: AppId,
    #[schema(value_type = String)]
    pub account: AccountId,
    /// Name that payers and merchants see.
    pub name: String,
    /// URL of its icon in API responses.
    pub icon_url: Option<String>,
    pub website_url: Option<String>,
    /// Whether its API keys are accepted.
    pub is_enabled: bool,
    pub settings: AppSettings,
    pub created_at: IsoTimestamp,
    pub updated_at: IsoTimestamp,
}

/// Settings of an app.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct AppSettings {
    /// Address of mails to the merchant; null: no mails.
    pub merchant_email: Option<String>,
    /// Whether the merchant gets a mail about each ended transaction.
    pub notify_merchant: bool,
    /// Whether the customer gets mails about a successful payment and about money under review.
    pub notify_customer: bool,
    /// Attempts that a payer has on the checkout page, 1 to 5.
    pub checkout_attempts: u8,
    /// Language of payers whose own is unknown: `en` or `fr`.
    pub locale: Option<String>,
    /// Correction in percent, such as `"1.5"`: payers may pay in other currencies at the rate of
    /// the day with this correction. Null: they may not.
    #[schema(value_type = Option<String>)]
    pub conversion: Option<Correction>,
    /// Whether payouts are accepted with a public key. Everyone who reads the public key in a page
    /// or an app can then spend the merchant's float.
    pub unsafe_payouts_with_public_key: bool,
    /// Path of the logo on the server, which changes with the picture. `PUT /apps/{app}/logo`
    /// uploads it.
    pub logo: Option<String>,
    /// Colour of buttons and links on the checkout page, `#rrggbb`. White text on it must have a
    /// contrast of at least 4.5 to 1.
    pub accent_colour: Option<String>,
    /// E-mail address for customers. Replies to mails go there.
    pub support_email: Option<String>,
    /// Phone number for customers.
    pub support_phone: Option<String>,
    /// Help page for customers, an https URL.
    pub support_url: Option<String>,
    pub payout_limits: PayoutLimits,
    pub second_person: SecondPerson,
}

/// Changes in live that one person of the account orders in the console and another one approves.
#[derive(Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecondPerson {
    /// Largest payout that one person orders alone, by currency, in major units:
    /// `{"XOF": "250000"}`. `"0"`: none. Empty: one person orders all payouts. Otherwise each
    /// payout in a currency that is not named needs two people. Payouts over the API are not
    /// affected.
    pub payouts_above: BTreeMap<String, String>,
    /// Whether new routing rules need two people. Tokens then replace no rules of the app in live.
    pub routing: bool,
}

/// Limits of payouts within 24 hours that replace those of the installation, each one that is
/// given. 0 means no limit.
#[derive(Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PayoutLimits {
    /// Payouts to one recipient.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 4_294_967_295_i64)]
    pub per_recipient: Option<u32>,
    /// Payouts in total.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 4_294_967_295_i64)]
    pub per_day: Option<u32>,
    /// Amount in total by currency, in major units: `{"XOF": "500000"}`.
    pub amount_per_day: BTreeMap<String, String>,
}

/// Filter of the list of apps.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AppFilter {
    /// Only apps of this account.
    #[param(value_type = Option<String>)]
    pub account: Option<AccountId>,
}

/// New app.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApp {
    #[schema(value_type = String)]
    pub account: AccountId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    #[serde(default)]
    pub settings: SettingsChange,
}

/// Change of an app. Omitted fields are unchanged; `null` removes a value.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub icon_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub website_url: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsChange>,
}

/// Change of the settings of an app. Omitted fields are unchanged; `null` removes a value.
#[derive(Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsChange {
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub merchant_email: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_merchant: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_customer: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 5)]
    pub checkout_attempts: Option<u8>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub locale: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub conversion: Option<Option<Correction>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsafe_payouts_with_public_key: Option<bool>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payout_limits: Option<PayoutLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_person: Option<SecondPerson>,
}

impl From<&access::App> for App {
    fn from(app: &access::App) -> Self {
        Self {
            id: app.id,
            account: app.account,
            name: app.name.clone(),
            icon_url: app.icon_url.clone(),
            website_url: app.website_url.clone(),
            is_enabled: app.is_enabled,
            settings: AppSettings::of(app),
            created_at: app.created_at.into(),
            updated_at: app.updated_at.into(),
        }
    }
}

impl AppSettings {
    fn of(app: &access::App) -> Self {
        let settings = &app.settings;
        let logo = settings.logo.as_ref();
        Self {
            merchant_email: settings.merchant_email.clone(),
            notify_merchant: settings.notify_merchant,
            notify_customer: settings.notify_customer,
            checkout_attempts: settings.checkout_attempts,
            locale: settings.locale.clone(),
            conversion: settings.conversion,
            unsafe_payouts_with_public_key: settings.unsafe_payouts_with_public_key,
            logo: logo.map(|logo| logo.path(app.id)),
            accent_colour: settings.accent_colour.clone(),
            support_email: settings.support_email.clone(),
            support_phone: settings.support_phone.clone(),
            support_url: settings.support_url.clone(),
            payout_limits: (&settings.payout_limits).into(),
            second_person: (&settings.second_person).into(),
        }
    }
}

impl From<&quota::PayoutLimits> for PayoutLimits {
    fn from(limits: &quota::PayoutLimits) -> Self {
        Self {
            per_recipient: limits.per_recipient,
            per_day: limits.per_day,
            amount_per_day: limits.amount_per_day.clone(),
        }
    }
}

impl From<PayoutLimits> for quota::PayoutLimits {
    fn from(limits: PayoutLimits) -> Self {
        Self {
            per_recipient: limits.per_recipient,
            per_day: limits.per_day,
            amount_per_day: limits.amount_per_day,
        }
    }
}

impl From<&access::SecondPerson> for SecondPerson {
    fn from(settings: &access::SecondPerson) -> Self {
        Self {
            payouts_above: settings.payouts_above.clone(),
            routing: settings.routing,
        }
    }
}

impl From<SecondPerson> for access::SecondPerson {
    fn from(settings: SecondPerson) -> Self {
        Self {
            payouts_above: settings.payouts_above,
            routing: settings.routing,
        }
    }
}

impl From<NewApp> for access::NewApp {
    fn from(new: NewApp) -> Self {
        Self {
            account: new.account,
            name: new.name,
            icon_url: new.icon_url,
            website_url: new.website_url,
            settings: new.settings.of(&access::AppSettings::default()),
        }
    }
}

impl AppChange {
    /// The change of an app as it is now.
    pub fn of(self, app: &access::App) -> access::AppChange {
        access::AppChange {
            name: self.name,
            icon_url: self.icon_url,
            website_url: self.website_url,
            is_enabled: self.is_enabled,
            settings: self.settings.map(|settings| settings.of(&app.settings)),
        }
    }
}

impl SettingsChange {
    fn of(self, now: &access::AppSettings) -> access::AppSettings {
        let text = |change: Option<Option<String>>, now: &Option<String>| {
            change.unwrap_or_else(|| now.clone())
        };
        access::AppSettings {
            merchant_email: text(self.merchant_email, &now.merchant_email),
            notify_merchant: self.notify_merchant.unwrap_or(now.notify_merchant),
            notify_customer: self.notify_customer.unwrap_or(now.notify_customer),
            checkout_attempts: self.checkout_attempts.unwrap_or(now.checkout_attempts),
            locale: text(self.locale, &now.locale),
            conversion: self.conversion.unwrap_or(now.conversion),
            unsafe_payouts_with_public_key: self
                .unsafe_payouts_with_public_key
                .unwrap_or(now.unsafe_payouts_with_public_key),
            logo: now.logo.clone(),
            accent_colour: text(self.accent_colour, &now.accent_colour),
            support_email: text(self.support_email, &now.support_email),
            support_phone: text(self.support_phone, &now.support_phone),
            support_url: text(self.support_url, &now.support_url),
            payout_limits: self
                .payout_limits
                .map_or_else(|| now.payout_limits.clone(), Into::into),
            second_person: self
                .second_person
                .map_or_else(|| now.second_person.clone(), Into::into),
        }
    }
}
