//! Webhooks of an app: list, creation, settings, signing secret, test events.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_core::ids::WebhookId;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::EventName;
use switchyard_engine::access::{
    AccessError, EventFilter, NewWebhook, Webhook, WebhookChange, WebhookOptions,
};
use switchyard_system::egress::read_url;
use switchyard_users::Action;

use super::super::form::{FieldError, Fields, Sent};
use super::super::frame::Frame;
use super::super::page::{Failed, Page, Scoped};
use super::super::refusals;
use super::super::{answer, shown};
use super::deliveries::{self, DeliveryRow};
use super::field_error;
use crate::operator::trigger::trigger_event;
use crate::reason;

#[derive(Template)]
#[template(path = "console/webhooks.html")]
struct WebhookList {
    frame: Frame,
    new: Option<String>,
    keys: String,
    webhooks: Vec<WebhookRow>,
}

struct WebhookRow {
    href: String,
    url: String,
    is_enabled: bool,
    events: String,
    why: Option<String>,
}

/// Fields of the form of a webhook.
struct Draft {
    url: String,
    events: Vec<EventChoice>,
    is_enabled: bool,
}

/// Check box of an event.
struct EventChoice {
    name: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "console/webhook_new.html")]
struct NewWebhookPage {
    frame: Frame,
    list: String,
    draft: Draft,
    error: Option<FieldError>,
}

#[derive(Template)]
#[template(path = "console/webhook.html")]
struct WebhookPage {
    frame: Frame,
    list: String,
    here: String,
    url: String,
    webhook: WebhookRow,
    draft: Draft,
    error: Option<FieldError>,
    secret: Option<Secret<String>>,
    may_change: bool,
    may_reveal: bool,
    may_resend: bool,
    tests: Vec<&'static str>,
    deliveries: Vec<DeliveryRow>,
    has_failed: bool,
    older: Option<String>,
}

/// App, environment and webhook in the address of a webhook's page.
type WebhookPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/webhooks`
pub async fn list(Scoped(page): Scoped) -> Response {
    answer(&page, show_list(&page))
}

fn show_list(page: &Page) -> Result<Response, Failed> {
    page.permit(Action::ViewWebhooks)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let webhooks = page.state.engine().access().webhooks(scope.app.id);
    let webhooks = webhooks.map_err(|_| Failed::NotFound)?;
    let list = WebhookList {
        frame: page.frame("console-webhooks", "webhooks"),
        new: page
            .may(Action::ManageWebhooks)
            .then(|| page.in_scope("webhooks/new")),
        keys: page.in_scope("keys"),
        webhooks: webhooks.iter().map(|webhook| row(page, webhook)).collect(),
    };
    Ok(shown(page, &list))
}

/// `GET /console/apps/{app}/{environment}/webhooks/new`
pub async fn new(Scoped(page): Scoped) -> Response {
    let permitted = page.permit(Action::ManageWebhooks);
    let draft = Draft::new("", true, |_| true);
    let form = permitted.map(|_| new_page(&page, StatusCode::OK, draft, None));
    answer(&page, form)
}

/// `POST /console/apps/{app}/{environment}/webhooks/new`
pub async fn create(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let created = create_webhook(&page, &mut fields).await;
    answer(&page, created)
}

async fn create_webhook(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageWebhooks)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let draft = Draft::of_form(fields, true);
    let refused = |error, draft| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Ok(new_page(page, status, draft, Some(error)))
    };
    let events = match checked(page, &draft) {
        Ok(events) => events,
        Err(error) => return refused(error, draft),
    };
    let new = NewWebhook {
        app: scope.app.id,
        url: draft.url.clone(),
        secret: None,
        options: WebhookOptions {
            events,
            ..WebhookOptions::default()
        },
    };
    match page.state.engine().access().create_webhook(new).await {
        Ok(webhook) => {
            fields.took_effect();
            page.audit(permit.entry(webhook.id)).await?;
            Ok(page.go(&page.in_scope(&format!("webhooks/{}?done=webhook-made", webhook.id))))
        }
        Err(error) => refused(field_error(error, page.text())?, draft),
    }
}

fn new_page(page: &Page, status: StatusCode, draft: Draft, error: Option<FieldError>) -> Response {
    let form = NewWebhookPage {
        frame: page.frame("console-webhook-new", "webhooks"),
        list: page.in_scope("webhooks"),
        draft,
        error,
    };
    page.show(status, &form)
}

/// `GET /console/apps/{app}/{environment}/webhooks/{webhook}`
pub async fn get(Scoped(page): Scoped, Path((.., id)): WebhookPath) -> Response {
    let one = async {
        page.permit(Action::ViewWebhooks)?;
        let webhook = one_of_app(&page, &id)?;
        let draft = Draft::of_webhook(&webhook);
        webhook_page(&page, StatusCode::OK, &webhook, draft, Extra::default()).await
    };
    answer(&page, one.await)
}

/// Parts of a webhook's page that only some requests have.
#[derive(Default)]
struct Extra {
    error: Option<FieldError>,
    secret: Option<Secret<String>>,
}

/// `POST /console/apps/{app}/{environment}/webhooks/{webhook}`
///
/// The field `do` names the change.
pub async fn change(
    Path((.., id)): WebhookPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let what = fields.text("do").to_owned();
    let changed = match what.as_str() {
        "reveal" => reveal(&page, &id).await,
        "delete" => delete(&page, &id, &mut fields).await,
        "test" => test(&page, &id, &mut fields).await,
        "resend-failed" => resend_failed(&page, &id, &mut fields).await,
        _ => update(&page, &id, &mut fields).await,
    };
    answer(&page, changed)
}

async fn update(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageWebhooks)?;
    let webhook = one_of_app(page, id)?;
    let draft = Draft::of_form(fields, fields.text("enabled") == "on");
    let events = match checked(page, &draft) {
        Ok(events) => events,
        Err(error) => return refused(page, &webhook, draft, error).await,
    };
    let change = WebhookChange {
        url: Some(draft.url.clone()),
        is_enabled: Some(draft.is_enabled),
        events: Some(events),
        ..WebhookChange::default()
    };
    let access = page.state.engine().access();
    match access.update_webhook(webhook.id, change).await {
        Ok(after) => {
            fields.took_effect();
            let entry = permit.entry(webhook.id);
            page.audit(entry.changing(facts(&webhook), facts(&after)))
                .await?;
            Ok(to_webhook(page, &webhook, "webhook-saved"))
        }
        Err(error) => {
            let error = field_error(error, page.text())?;
            refused(page, &webhook, draft, error).await
        }
    }
}

async fn refused(
    page: &Page,
    webhook: &Webhook,
    draft: Draft,
    error: FieldError,
) -> Result<Response, Failed> {
    let extra = Extra {
        error: Some(error),
        ..Extra::default()
    };
    webhook_page(
        page,
        StatusCode::UNPROCESSABLE_ENTITY,
        webhook,
        draft,
        extra,
    )
    .await
}

async fn delete(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageWebhooks)?;
    let webhook = one_of_app(page, id)?;
    let access = page.state.engine().access();
    if let Err(error) = access.delete_webhook(webhook.id).await {
        field_error(error, page.text())?;
    }
    fields.took_effect();
    let entry = permit.entry(webhook.id);
    page.audit(entry.changing(facts(&webhook), serde_json::Value::Null))
        .await?;
    Ok(page.go(&page.in_scope("webhooks?done=webhook-deleted")))
}

/// Shows the signing secret, after an entry of the audit log.
async fn reveal(page: &Page, id: &str) -> Result<Response, Failed> {
    let permit = page.permit(Action::RevealSecret)?;
    let webhook = one_of_app(page, id)?;
    page.audit(permit.entry(webhook.id)).await?;
    let secret = page.state.engine().access().webhook_secret(&webhook);
    let secret = secret.map_err(|_| Failed::Unavailable)?;
    let draft = Draft::of_webhook(&webhook);
    let extra = Extra {
        secret: Some(secret),
        ..Extra::default()
    };
    webhook_page(page, StatusCode::OK, &webhook, draft, extra).await
}

/// Makes a sandbox transaction that ends with the chosen event.
async fn test(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::TriggerTestEvents)?;
    let webhook = one_of_app(page, id)?;
    let chosen = fields.text("event");
    let event = EventName::ALL
        .into_iter()
        .find(|name| name.as_str() == chosen);
    let event = event.ok_or(Failed::NotFound)?;
    fields.took_effect();
    let made = trigger_event(page.state.engine(), webhook.app, event).await;
    let (transaction, missed) = made.map_err(|_| Failed::Unavailable)?;
    page.audit(permit.entry(transaction.id)).await?;
    let notice = match missed {
        None => "event-triggered",
        Some(_) => "event-missed",
    };
    Ok(to_webhook(page, &webhook, notice))
}

async fn resend_failed(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ResendWebhook)?;
    let webhook = one_of_app(page, id)?;
    let webhooks = page.state.engine().webhooks();
    let since = Timestamp::default();
    let notice = match webhooks.replay_failed(webhook.id, since).await {
        Ok(done) => {
            fields.took_effect();
            page.audit(permit.entry(webhook.id)).await?;
            match done.has_more {
                true => "resent-more",
                false => "resent-failed",
            }
        }
        Err(error) => deliveries::notice_of(&error)?,
    };
    Ok(to_webhook(page, &webhook, notice))
}

/// Leads to a webhook's page with a notice.
fn to_webhook(page: &Page, webhook: &Webhook, notice: &str) -> Response {
    page.go(&page.in_scope(&format!("webhooks/{}?done={notice}", webhook.id)))
}

async fn webhook_page(
    page: &Page,
    status: StatusCode,
    webhook: &Webhook,
    draft: Draft,
    extra: Extra,
) -> Result<Response, Failed> {
    let (rows, older) = deliveries::rows(page, webhook).await?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let is_sandbox = scope.environment == Environment::Sandbox;
    let may_test = is_sandbox && page.may(Action::TriggerTestEvents) && webhook.is_enabled;
    let tests = EventName::ALL.map(EventName::as_str);
    let one = WebhookPage {
        frame: page.frame("console-webhook", "webhooks"),
        list: page.in_scope("webhooks"),
        here: page.in_scope(&format!("webhooks/{}", webhook.id)),
        url: webhook.url.clone(),
        webhook: row(page, webhook),
        draft,
        error: extra.error,
        secret: extra.secret,
        may_change: page.may(Action::ManageWebhooks),
        may_reveal: page.may(Action::RevealSecret),
        may_resend: page.may(Action::ResendWebhook),
        tests: if may_test { tests.into() } else { Vec::new() },
        has_failed: rows.iter().any(|row| row.is_failed),
        deliveries: rows,
        older,
    };
    Ok(page.show(status, &one))
}

/// The webhook, if it belongs to the page's app.
pub fn one_of_app(page: &Page, id: &str) -> Result<std::sync::Arc<Webhook>, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let id: WebhookId = id.parse().map_err(|_| Failed::NotFound)?;
    let webhook = page.state.engine().access().webhook(id);
    webhook
        .filter(|webhook| webhook.app == scope.app.id)
        .ok_or(Failed::NotFound)
}

fn row(page: &Page, webhook: &Webhook) -> WebhookRow {
    let text = page.text();
    let patterns = webhook.options.events.patterns();
    let is_all = patterns.iter().any(|pattern| pattern == "*");
    WebhookRow {
        href: page.in_scope(&format!("webhooks/{}", webhook.id)),
        url: webhook.url.clone(),
        is_enabled: webhook.is_enabled,
        events: match is_all {
            true => text.say("console-events-all"),
            false => patterns.join(", "),
        },
        why: webhook.disabled.as_ref().map(|disabled| {
            let at = text.language().date(disabled.at);
            text.with(
                "console-webhook-disabled",
                &[("at", &at), ("why", &disabled.why)],
            )
        }),
    }
}

impl Draft {
    fn new(url: &str, is_enabled: bool, is_chosen: impl Fn(EventName) -> bool) -> Self {
        let choice = |name: EventName| EventChoice {
            name: name.as_str(),
            is_chosen: is_chosen(name),
        };
        Self {
            url: url.to_owned(),
            events: EventName::ALL.map(choice).into(),
            is_enabled,
        }
    }

    fn of_webhook(webhook: &Webhook) -> Self {
        let events = &webhook.options.events;
        Self::new(&webhook.url, webhook.is_enabled, |name| {
            events.matches(name)
        })
    }

    fn of_form(fields: &Fields, is_enabled: bool) -> Self {
        Self::new(fields.text("url"), is_enabled, |name| {
            fields.all("event").any(|chosen| chosen == name.as_str())
        })
    }
}

/// Settings of a webhook for the audit log.
fn facts(webhook: &Webhook) -> serde_json::Value {
    let events = webhook.options.events.patterns();
    serde_json::json!({ "url": webhook.url, "enabled": webhook.is_enabled, "events": events })
}

/// The event filter of a form whose URL may be called. All events: also future ones.
fn checked(page: &Page, draft: &Draft) -> Result<EventFilter, FieldError> {
    let policy = page.state.engine().settings().webhook.egress();
    let allowed = read_url(&draft.url).and_then(|url| policy.check_url(&url));
    if let Err(why) = allowed {
        let because = reason::of_address(&why);
        let text = refusals::because_sentence(&because, page.text());
        return Err(FieldError::new("url", text));
    }
    let chosen = draft.events.iter().filter(|event| event.is_chosen);
    let chosen: Vec<String> = chosen.map(|event| event.name.to_owned()).collect();
    if chosen.len() == draft.events.len() {
        return Ok(EventFilter::default());
    }
    EventFilter::new(chosen)
        .map_err(|_: AccessError| FieldError::new("events", page.text().say("console-events-none")))
}
