//! Apps and their settings.

use axum::extract::State;
use serde::Deserialize;
use switchyard_engine::access::{App, AppChange, AppSettings, NewApp};
use switchyard_engine::ids::{AccountId, AppId};
use switchyard_engine::money::Correction;
use switchyard_engine::quota::PayoutLimits;

use super::error::{Answer, not_found};
use super::input::{Asked, Body, Id, created, nullable, ok};
use super::view::AppView;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    account: Option<AccountId>,
}

/// Omitted fields are unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    icon_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    website_url: Option<Option<String>>,
    is_enabled: Option<bool>,
    settings: Option<SettingsChange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsChange {
    #[serde(default, deserialize_with = "nullable")]
    merchant_email: Option<Option<String>>,
    notify_merchant: Option<bool>,
    notify_customer: Option<bool>,
    checkout_attempts: Option<u8>,
    #[serde(default, deserialize_with = "nullable")]
    locale: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    conversion: Option<Option<Correction>>,
    unsafe_payouts_with_public_key: Option<bool>,
    #[serde(default, deserialize_with = "nullable")]
    logo: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    accent_colour: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    support_email: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    support_phone: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    support_url: Option<Option<String>>,
    payout_limits: Option<PayoutLimits>,
}

impl SettingsChange {
    fn of(self, settings: &AppSettings) -> AppSettings {
        AppSettings {
            merchant_email: self
                .merchant_email
                .unwrap_or_else(|| settings.merchant_email.clone()),
            notify_merchant: self.notify_merchant.unwrap_or(settings.notify_merchant),
            notify_customer: self.notify_customer.unwrap_or(settings.notify_customer),
            checkout_attempts: self.checkout_attempts.unwrap_or(settings.checkout_attempts),
            locale: self.locale.unwrap_or_else(|| settings.locale.clone()),
            conversion: self.conversion.unwrap_or(settings.conversion),
            unsafe_payouts_with_public_key: self
                .unsafe_payouts_with_public_key
                .unwrap_or(settings.unsafe_payouts_with_public_key),
            logo: self.logo.unwrap_or_else(|| settings.logo.clone()),
            accent_colour: self
                .accent_colour
                .unwrap_or_else(|| settings.accent_colour.clone()),
            support_email: self
                .support_email
                .unwrap_or_else(|| settings.support_email.clone()),
            support_phone: self
                .support_phone
                .unwrap_or_else(|| settings.support_phone.clone()),
            support_url: self
                .support_url
                .unwrap_or_else(|| settings.support_url.clone()),
            payout_limits: self
                .payout_limits
                .unwrap_or_else(|| settings.payout_limits.clone()),
        }
    }
}

pub async fn list(State(state): State<ApiState>, Asked(filter): Asked<Filter>) -> Answer {
    let apps = state.engine.access.apps(filter.account);
    let views: Vec<_> = apps.iter().map(|app| AppView::from(&**app)).collect();
    ok("Apps fetched successfully", &views)
}

pub async fn create(State(state): State<ApiState>, Body(new): Body<NewApp>) -> Answer {
    let app = state.engine.access.create_app(new).await?;
    created("App created successfully", &AppView::from(&*app))
}

pub async fn show(State(state): State<ApiState>, Id(id): Id<AppId>) -> Answer {
    let app = state
        .engine
        .access
        .app(id)
        .ok_or_else(|| not_found("app"))?;
    ok("App fetched successfully", &AppView::from(&*app))
}

pub async fn update(
    State(state): State<ApiState>,
    Id(id): Id<AppId>,
    Body(change): Body<Change>,
) -> Answer {
    let change = |app: &App| AppChange {
        name: change.name,
        icon_url: change.icon_url,
        website_url: change.website_url,
        is_enabled: change.is_enabled,
        settings: change.settings.map(|settings| settings.of(&app.settings)),
    };
    let app = state.engine.access.update_app_as(id, change).await?;
    ok("App changed successfully", &AppView::from(&*app))
}
