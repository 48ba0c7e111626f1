//! A merchant's integration: what its keys, webhooks, connections and transactions belong to.
//!
//! An app is never deleted, since its transactions name it for good: it is disabled, and its keys
//! then open nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::logo::Logo;
use super::rows::{self, Kind};
use super::second_person::SecondPerson;
use super::{Access, WriteGuard, branding, text};
use crate::quota::PayoutLimits;
use switchyard_core::ids::{AccountId, AppId};
use switchyard_core::money::Correction;
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    pub id: AppId,
    pub account: AccountId,
    pub name: String,
    pub icon_url: Option<String>,
    pub website_url: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub is_enabled: bool,
    pub settings: AppSettings,
}

/// Settings of an app that its merchant chooses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppSettings {
    /// Address of mails to the merchant. `None`: no mails.
    pub merchant_email: Option<String>,
    /// Whether the merchant gets a mail about every transaction that ended.
    pub notify_merchant: bool,
    /// Whether the customer gets mails about a successful payment, and about money that a person
    /// has to settle: a part, late money, a second payment, a reversal.
    pub notify_customer: bool,
    /// How many attempts a payer has on the checkout page before the payment fails: 1 to 5. Three
    /// by default: a mistyped PIN or a missed prompt does not lose the order.
    pub checkout_attempts: u8,
    /// The language of the checkout page and of mails when the payer's own is not known: `en` or
    /// `fr`.
    pub locale: Option<String>,
    /// Whether payers may pay in other currencies than the payment's, at the rate of the day with
    /// this correction in percent. `null`: no.
    pub conversion: Option<Correction>,
    /// Whether payouts may be ordered with a public key. Off by default: a public key is visible in
    /// each page and app that has it, so every reader could send the merchant's float to an account
    /// of their own.
    pub unsafe_payouts_with_public_key: bool,
    /// Logo on checkout pages and in mails.
    pub logo: Option<Logo>,
    /// Colour of buttons and links on the checkout page, `#rrggbb`; white text on it must have a
    /// contrast of 4.5 to 1.
    pub accent_colour: Option<String>,
    /// Address for customers, on pages and as reply-to of mails.
    pub support_email: Option<String>,
    pub support_phone: Option<String>,
    /// An https address.
    pub support_url: Option<String>,
    /// Velocity limits of payouts that take the place of the installation's.
    pub payout_limits: PayoutLimits,
    /// Changes in live that one person orders in the console and another one approves.
    pub second_person: SecondPerson,
}

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            merchant_email: None,
            notify_merchant: true,
            notify_customer: true,
            checkout_attempts: 3,
            locale: None,
            conversion: None,
            unsafe_payouts_with_public_key: false,
            logo: None,
            accent_colour: None,
            support_email: None,
            support_phone: None,
            support_url: None,
            payout_limits: PayoutLimits::default(),
            second_person: SecondPerson::default(),
        }
    }
}

impl AppSettings {
    pub fn check(&self) -> Result<(), AccessError> {
        if !(1..=5).contains(&self.checkout_attempts) {
            return Err(AccessError::invalid(
                "settings.checkout_attempts",
                "is a number from 1 to 5",
            ));
        }
        if let Some(locale) = &self.locale
            && !LOCALES.contains(&locale.as_str())
        {
            return Err(AccessError::invalid("settings.locale", "is `en` or `fr`"));
        }
        if let Err(problem) = self.payout_limits.check() {
            return Err(AccessError::invalid("settings.payout_limits", problem));
        }
        if let Err(problem) = self.second_person.check() {
            return Err(AccessError::invalid("settings.second_person", problem));
        }
        type Check = fn(&'static str, &str) -> Result<(), AccessError>;
        let texts: [(&Option<String>, &'static str, Check); 5] = [
            (&self.merchant_email, "settings.merchant_email", text::email),
            (
                &self.accent_colour,
                "settings.accent_colour",
                branding::accent,
            ),
            (&self.support_email, "settings.support_email", text::email),
            (
                &self.support_phone,
                "settings.support_phone",
                branding::support_phone,
            ),
            (
                &self.support_url,
                "settings.support_url",
                branding::support_url,
            ),
        ];
        for (value, field, check) in texts {
            if let Some(value) = value {
                check(field, value)?;
            }
        }
        Ok(())
    }

    /// The support contact, one line: `help@shop.example · +229 01 97 80 80 80`. `None` where the
    /// merchant gave none.
    pub fn support(&self) -> Option<String> {
        let given = [&self.support_email, &self.support_phone, &self.support_url];
        let given: Vec<&str> = given.into_iter().flatten().map(String::as_str).collect();
        (!given.is_empty()).then(|| given.join(" · "))
    }
}

/// Fields of a new app.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewApp {
    pub account: AccountId,
    pub name: String,
    #[serde(default)]
    pub icon_url: Option<String>,
    #[serde(default)]
    pub website_url: Option<String>,
    #[serde(default)]
    pub settings: AppSettings,
}

impl NewApp {
    pub(super) fn check(&self) -> Result<(), AccessError> {
        text::name("name", &self.name)?;
        text::optional_url("icon_url", self.icon_url.as_deref())?;
        text::optional_url("website_url", self.website_url.as_deref())?;
        self.settings.check()
    }
}

/// Change of an app. `None` leaves a field unchanged, `Some(None)` removes a URL.
#[derive(Clone, Debug, Default)]
pub struct AppChange {
    pub name: Option<String>,
    pub icon_url: Option<Option<String>>,
    pub website_url: Option<Option<String>>,
    pub is_enabled: Option<bool>,
    pub settings: Option<AppSettings>,
}

impl AppChange {
    /// The app after this change, if it may be so.
    pub(super) fn of(self, app: &App, now: Timestamp) -> Result<App, AccessError> {
        let changed = App {
            name: self.name.unwrap_or_else(|| app.name.clone()),
            icon_url: self.icon_url.unwrap_or_else(|| app.icon_url.clone()),
            website_url: self.website_url.unwrap_or_else(|| app.website_url.clone()),
            is_enabled: self.is_enabled.unwrap_or(app.is_enabled),
            settings: self.settings.unwrap_or_else(|| app.settings.clone()),
            updated_at: now,
            ..app.clone()
        };
        text::name("name", &changed.name)?;
        text::optional_url("icon_url", changed.icon_url.as_deref())?;
        text::optional_url("website_url", changed.website_url.as_deref())?;
        changed.settings.check()?;
        Ok(changed)
    }
}

impl Access {
    pub fn app(&self, id: AppId) -> Option<Arc<App>> {
        self.set().app(id).map(|owner| owner.app.clone())
    }

    /// The apps of one account, or all, oldest first.
    pub fn apps(&self, account: Option<AccountId>) -> Vec<Arc<App>> {
        let set = self.set();
        let wanted = set
            .apps()
            .filter(|owner| account.is_none_or(|account| owner.app.account == account));
        wanted.map(|owner| owner.app.clone()).collect()
    }

    pub async fn create_app(&self, new: NewApp) -> Result<Arc<App>, AccessError> {
        new.check()?;
        let gate = self.gate().await;
        if self.account(new.account).is_none() {
            return Err(AccessError::not_found("account", new.account));
        }
        let now = self.0.clock.now();
        let app = App {
            id: AppId::new(self.0.ids.ulid(now)),
            account: new.account,
            name: new.name,
            icon_url: new.icon_url,
            website_url: new.website_url,
            created_at: now,
            updated_at: now,
            is_enabled: true,
            settings: new.settings,
        };
        put(gate, app).await
    }

    pub async fn update_app(&self, id: AppId, change: AppChange) -> Result<Arc<App>, AccessError> {
        self.update_app_as(id, |_| Ok(change)).await
    }

    /// The same for a change of a part of the settings. `change` sees the app as it is stored,
    /// after all changes before this one, and may refuse.
    pub async fn update_app_as<E: From<AccessError>>(
        &self,
        id: AppId,
        change: impl FnOnce(&App) -> Result<AppChange, E>,
    ) -> Result<Arc<App>, E> {
        let gate = self.gate().await;
        let app = self
            .app(id)
            .ok_or_else(|| AccessError::not_found("app", id))?;
        let changed = change(&app)?.of(&app, self.0.clock.now())?;
        Ok(put(gate, changed).await?)
    }

    /// Changes the logo of an app. `None` removes it.
    pub async fn change_logo(
        &self,
        id: AppId,
        logo: Option<Logo>,
    ) -> Result<Arc<App>, AccessError> {
        let change = |app: &App| {
            let settings = AppSettings {
                logo,
                ..app.settings.clone()
            };
            Ok(AppChange {
                settings: Some(settings),
                ..AppChange::default()
            })
        };
        self.update_app_as(id, change).await
    }
}

async fn put(gate: WriteGuard, app: App) -> Result<Arc<App>, AccessError> {
    let mut batch = Batch::new();
    rows::put(&mut batch, Kind::App, app.id, &app)?;
    let app = Arc::new(app);
    let row = app.clone();
    gate.commit(batch, move |set| set.put_app(row)).await?;
    Ok(app)
}

/// The languages that the checkout page and the mails speak.
const LOCALES: [&str; 2] = ["en", "fr"];
