//! How things look in answers: ids, texts, ISO times; never a secret.

use serde::Serialize;
use serde_json::Value;
use switchyard_engine::access::{
    Access, Account, App, AppSettings, Connection, ConnectionLimits, ListedKey, OperatorToken,
    RetryProfile, Webhook,
};
use switchyard_engine::clock::Timestamp;
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{AccountId, AppId, ConnectionId, KeyId, OperatorTokenId, WebhookId};

/// A time as answers show it.
pub fn iso(at: Timestamp) -> String {
    at.to_string()
}

#[derive(Serialize)]
pub struct AccountView<'a> {
    id: AccountId,
    name: &'a str,
    created_at: String,
}

impl<'a> From<&'a Account> for AccountView<'a> {
    fn from(account: &'a Account) -> Self {
        Self {
            id: account.id,
            name: &account.name,
            created_at: iso(account.created_at),
        }
    }
}

#[derive(Serialize)]
pub struct AppView<'a> {
    id: AppId,
    account: AccountId,
    name: &'a str,
    icon_url: Option<&'a str>,
    website_url: Option<&'a str>,
    is_enabled: bool,
    settings: &'a AppSettings,
    created_at: String,
    updated_at: String,
}

impl<'a> From<&'a App> for AppView<'a> {
    fn from(app: &'a App) -> Self {
        Self {
            id: app.id,
            account: app.account,
            name: &app.name,
            icon_url: app.icon_url.as_deref(),
            website_url: app.website_url.as_deref(),
            is_enabled: app.is_enabled,
            settings: &app.settings,
            created_at: iso(app.created_at),
            updated_at: iso(app.updated_at),
        }
    }
}

#[derive(Serialize)]
pub struct KeyView<'a> {
    id: KeyId,
    app: AppId,
    name: Option<&'a str>,
    environment: Environment,
    kind: &'static str,
    /// Prefix and last four characters: enough to recognise a key, useless to anyone else.
    shown_as: String,
    created_at: String,
    last_used_at: Option<String>,
    expires_at: Option<String>,
    /// The key itself, once: in the answer to the request that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl<'a> KeyView<'a> {
    pub fn listed(listed: &'a ListedKey) -> Self {
        let key = &listed.key;
        Self {
            id: key.id,
            app: key.app,
            name: key.name.as_deref(),
            environment: key.environment,
            kind: key.kind.as_str(),
            shown_as: format!("{}…{}", key.prefix, key.last_four),
            created_at: iso(key.created_at),
            last_used_at: listed.last_used_at.map(iso),
            expires_at: key.expires_at.map(iso),
            key: None,
        }
    }

    pub fn with_key(self, key: &'a str) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }
}

#[derive(Serialize)]
pub struct TokenView<'a> {
    id: OperatorTokenId,
    name: &'a str,
    shown_as: String,
    /// Name of the token that created it; null: the engine did, in development mode.
    made_by: Option<&'a str>,
    /// Whether that token still exists; null without one.
    maker_exists: Option<bool>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

impl<'a> TokenView<'a> {
    pub fn new(access: &Access, token: &'a OperatorToken, secret: Option<&'a str>) -> Self {
        let maker = token.made_by.as_ref();
        Self {
            id: token.id,
            name: &token.name,
            shown_as: format!("{}…{}", token.prefix, token.last_four),
            made_by: maker.map(|maker| maker.name.as_str()),
            maker_exists: maker.map(|_| !access.has_lost_its_maker(token)),
            created_at: iso(token.created_at),
            token: secret,
        }
    }
}

#[derive(Serialize)]
pub struct WebhookView<'a> {
    id: WebhookId,
    app: AppId,
    url: &'a str,
    is_enabled: bool,
    /// While it is off: since when, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<DisabledView<'a>>,
    events: &'a [String],
    retry: &'a RetryProfile,
    per_second: Option<u32>,
    concurrency: Option<u16>,
    created_at: String,
}

#[derive(Serialize)]
struct DisabledView<'a> {
    at: String,
    why: &'a str,
}

impl<'a> From<&'a Webhook> for WebhookView<'a> {
    fn from(webhook: &'a Webhook) -> Self {
        Self {
            id: webhook.id,
            app: webhook.app,
            url: &webhook.url,
            is_enabled: webhook.is_enabled,
            disabled: webhook.disabled.as_ref().map(|disabled| DisabledView {
                at: iso(disabled.at),
                why: &disabled.why,
            }),
            events: webhook.options.events.patterns(),
            retry: &webhook.options.retry,
            per_second: webhook.options.per_second,
            concurrency: webhook.options.concurrency,
            created_at: iso(webhook.created_at),
        }
    }
}

#[derive(Serialize)]
pub struct ConnectionView<'a> {
    id: ConnectionId,
    app: AppId,
    environment: Environment,
    gateway: &'a str,
    account_name: &'a str,
    /// `null`: all that the gateway has.
    methods: Option<&'a [String]>,
    limits: &'a ConnectionLimits,
    /// Where the provider sends its news: what is entered in its dashboard.
    callback_url: String,
    is_enabled: bool,
    created_at: String,
    /// What the provider said of the credentials, in the answer to the request that gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Value>,
}

impl<'a> ConnectionView<'a> {
    pub fn new(connection: &'a Connection, public_url: &str) -> Self {
        Self {
            id: connection.id,
            app: connection.app,
            environment: connection.environment,
            gateway: &connection.gateway,
            account_name: &connection.account_name,
            methods: connection.methods.as_deref(),
            limits: &connection.limits,
            callback_url: format!("{public_url}/callbacks/{}", connection.id),
            is_enabled: connection.is_enabled,
            created_at: iso(connection.created_at),
            check: None,
        }
    }

    pub fn with_check(self, check: Value) -> Self {
        Self {
            check: Some(check),
            ..self
        }
    }
}

/// A stored value as an operator may see it: moments as ISO times, and without what a gateway keeps for itself, which may hold tokens.
pub fn shown(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or(Value::Null);
    show(&mut value);
    value
}

fn show(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("gateway_state");
            for (name, field) in fields.iter_mut() {
                match field.as_i64().filter(|_| is_moment(name)) {
                    Some(micros) => *field = Value::String(iso(Timestamp::from_micros(micros))),
                    None => show(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show),
        _ => {}
    }
}

fn is_moment(name: &str) -> bool {
    matches!(name, "at" | "as_of") || name.ends_with("_at") || name.ends_with("_since")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_moments_are_shown_as_times_and_a_gateways_own_state_is_not_shown() {
        let attempt = |ended_at: Value| json!({ "ended_at": ended_at, "gateway": "g" });
        let mut stored = json!({ "at": 1_763_640_000_000_042_i64, "attempts": [attempt(0.into())], "amount": 5 });
        stored["conversion"] = json!({ "as_of": 0 });
        stored["attempts"][0]["gateway_state"] = json!({ "token": "secret" });
        let ended = attempt("1970-01-01T00:00:00.000000Z".into());
        let expected = json!({ "at": "2025-11-20T12:00:00.000042Z", "attempts": [ended], "amount": 5,
                    "conversion": { "as_of": "1970-01-01T00:00:00.000000Z" } });
        assert_eq!(shown(&stored), expected);
    }
}
