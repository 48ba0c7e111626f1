//! Webhooks of an app: URL, signing secret, switch. At most 15 per app (docs/contract/webhooks.md).
//!
//! Whether a URL may be reached at all (public addresses, ports) is decided when something is sent
//! to it, since names can be made to point elsewhere later; here only its form is checked.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize as _, Zeroizing};

use super::error::AccessError;
use super::rows::{self, Kind};
use super::vault::Sealed;
use super::webhook_options::{EventFilter, RetryProfile, WebhookOptions};
use super::{Access, WriteGuard, text};
use switchyard_core::ids::{AppId, WebhookId};
use switchyard_core::limits::WEBHOOKS_PER_APP;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;
use switchyard_system::ids::Ids;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    pub id: WebhookId,
    pub app: AppId,
    pub url: String,
    /// Opened by [`super::Access::webhook_secret`].
    pub secret: Sealed,
    pub is_enabled: bool,
    /// While it is off: since when, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    #[serde(default)]
    pub options: WebhookOptions,
    pub created_at: Timestamp,
}

/// Reason for which a webhook is disabled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    pub at: Timestamp,
    pub why: String,
}

/// Fields of a new webhook. Without a secret, one is generated.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    pub app: AppId,
    pub url: String,
    pub secret: Option<Secret<String>>,
    pub options: WebhookOptions,
}

/// Change of a webhook. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub url: Option<String>,
    pub secret: Option<Secret<String>>,
    pub is_enabled: Option<bool>,
    pub events: Option<EventFilter>,
    pub retry: Option<RetryProfile>,
    /// `Some(None)`: no limit.
    pub per_second: Option<Option<u32>>,
    /// `Some(None)`: the installation's limit.
    pub concurrency: Option<Option<u16>>,
}

impl WebhookChange {
    fn options(&self, before: &WebhookOptions) -> WebhookOptions {
        let before = before.clone();
        WebhookOptions {
            events: self.events.clone().unwrap_or(before.events),
            retry: self.retry.clone().unwrap_or(before.retry),
            per_second: self.per_second.unwrap_or(before.per_second),
            concurrency: self.concurrency.unwrap_or(before.concurrency),
        }
    }

    fn disabled(&self, before: &Webhook, now: Timestamp) -> Option<Disabled> {
        match self.is_enabled {
            Some(true) => None,
            Some(false) if before.is_enabled => Some(Disabled {
                at: now,
                why: "it was switched off by hand".to_owned(),
            }),
            Some(false) | None => before.disabled.clone(),
        }
    }
}

impl Access {
    /// The enabled webhooks of an app: where an event goes.
    pub fn enabled_webhooks(&self, app: AppId) -> Arc<[Arc<Webhook>]> {
        let set = self.set();
        set.app(app)
            .map(|owner| owner.enabled_webhooks.clone())
            .unwrap_or_default()
    }

    /// The webhooks of an app, oldest first.
    pub fn webhooks(&self, app: AppId) -> Result<Vec<Arc<Webhook>>, AccessError> {
        let set = self.set();
        let owner = set
            .app(app)
            .ok_or_else(|| AccessError::not_found("app", app))?;
        Ok(owner.webhooks.values().cloned().collect())
    }

    pub fn webhook(&self, id: WebhookId) -> Option<Arc<Webhook>> {
        self.set().webhook(id).cloned()
    }

    /// The secret that signs what is sent to this webhook.
    pub fn webhook_secret(&self, webhook: &Webhook) -> Result<Secret<String>, AccessError> {
        let app = self
            .app(webhook.app)
            .ok_or_else(|| AccessError::not_found("app", webhook.app))?;
        Ok(self
            .0
            .vault
            .open_text(app.account, SECRET, &webhook.secret)?)
    }

    pub async fn create_webhook(&self, new: NewWebhook) -> Result<Arc<Webhook>, AccessError> {
        text::url("url", &new.url)?;
        new.options.check()?;
        let secret = match new.secret {
            Some(chosen) => checked_webhook_secret(chosen)?,
            None => new_webhook_secret(&self.0.ids),
        };
        let gate = self.gate().await;
        let app = self
            .app(new.app)
            .ok_or_else(|| AccessError::not_found("app", new.app))?;
        if self.webhooks(app.id)?.len() >= WEBHOOKS_PER_APP {
            return Err(AccessError::TooManyWebhooks(WEBHOOKS_PER_APP));
        }
        let now = self.0.clock.now();
        let webhook = Webhook {
            id: WebhookId::new(self.0.ids.ulid(now)),
            app: app.id,
            url: new.url,
            secret: self
                .0
                .vault
                .seal(app.account, SECRET, secret.expose().as_bytes())?,
            is_enabled: true,
            disabled: None,
            options: new.options,
            created_at: now,
        };
        put(gate, webhook).await
    }

    pub async fn update_webhook(
        &self,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<Arc<Webhook>, AccessError> {
        if let Some(url) = &change.url {
            text::url("url", url)?;
        }
        let secret = change
            .secret
            .clone()
            .map(checked_webhook_secret)
            .transpose()?;
        let gate = self.gate().await;
        let webhook = self
            .webhook(id)
            .ok_or_else(|| AccessError::not_found("webhook", id))?;
        let app = self
            .app(webhook.app)
            .ok_or_else(|| AccessError::not_found("app", webhook.app))?;
        let secret = match secret {
            Some(secret) => self
                .0
                .vault
                .seal(app.account, SECRET, secret.expose().as_bytes())?,
            None => webhook.secret.clone(),
        };
        let options = change.options(&webhook.options);
        options.check()?;
        let changed = Webhook {
            disabled: change.disabled(&webhook, self.0.clock.now()),
            options,
            url: change.url.unwrap_or_else(|| webhook.url.clone()),
            secret,
            is_enabled: change.is_enabled.unwrap_or(webhook.is_enabled),
            ..(*webhook).clone()
        };
        put(gate, changed).await
    }

    /// Switches a webhook off because of what its receiver answered at `url`. Nothing happens when
    /// it is off already, or points elsewhere by now. Says whether it was this call that did it.
    pub async fn disable_webhook(
        &self,
        id: WebhookId,
        url: &str,
        why: String,
    ) -> Result<bool, AccessError> {
        let gate = self.gate().await;
        let Some(webhook) = self
            .webhook(id)
            .filter(|webhook| webhook.is_enabled && webhook.url == url)
        else {
            return Ok(false);
        };
        let at = self.0.clock.now();
        let changed = Webhook {
            is_enabled: false,
            disabled: Some(Disabled { at, why }),
            ..(*webhook).clone()
        };
        put(gate, changed).await?;
        Ok(true)
    }

    pub async fn delete_webhook(&self, id: WebhookId) -> Result<(), AccessError> {
        let gate = self.gate().await;
        let webhook = self
            .webhook(id)
            .ok_or_else(|| AccessError::not_found("webhook", id))?;
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::Webhook, id);
        gate.commit(batch, move |set| set.remove_webhook(&webhook))
            .await
    }
}

async fn put(gate: WriteGuard, webhook: Webhook) -> Result<Arc<Webhook>, AccessError> {
    let mut batch = Batch::new();
    rows::put(&mut batch, Kind::Webhook, webhook.id, &webhook)?;
    let webhook = Arc::new(webhook);
    let row = webhook.clone();
    gate.commit(batch, move |set| {
        set.put_webhook(row);
    })
    .await?;
    Ok(webhook)
}

/// A secret that the merchant chose: it keys an HMAC in whatever language the receiver is written
/// in, so it is plain text.
///
/// # Errors
/// When it is too short, too long, has other characters, or begins with `whsec_` without base64
/// behind it.
pub fn checked_webhook_secret(secret: Secret<String>) -> Result<Secret<String>, AccessError> {
    let text = secret.expose();
    // Libraries of Standard Webhooks decode the rest as base64, and cannot verify with another
    // secret.
    if let Some(rest) = text.strip_prefix(STANDARD_PREFIX)
        && BASE64.decode(rest).map(Zeroizing::new).is_err()
    {
        return Err(AccessError::invalid(
            "secret",
            "begins with `whsec_`, and what follows is not base64 (with its padding): leave the secret out to have one made",
        ));
    }
    if (8..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(secret);
    }
    Err(AccessError::invalid(
        "secret",
        "is 8 to 256 printable ASCII characters without spaces",
    ))
}

/// `whsec_` and the base64 of 32 random bytes, the form of Standard Webhooks.
pub fn new_webhook_secret(ids: &Ids) -> Secret<String> {
    let mut bytes = [0; 32];
    ids.fill(&mut bytes);
    let secret = Secret::new(format!("{STANDARD_PREFIX}{}", BASE64.encode(bytes)));
    bytes.zeroize();
    secret
}

/// Before the base64 of a key, in the form of Standard Webhooks.
const STANDARD_PREFIX: &str = "whsec_";
/// Purpose of a webhook's secret that the vault authenticates.
const SECRET: &str = "webhook secret";
