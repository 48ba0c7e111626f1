//! Deliveries of a webhook: list, one delivery with its requests and responses, resending.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use switchyard_core::ids::DeliveryId;
use switchyard_engine::access::Webhook;
use switchyard_engine::webhook::{Attempt, Delivery, DeliveryStatus, LogError, ReplayError};
use switchyard_users::Action;

use super::super::form::{Fields, Sent};
use super::super::frame::Frame;
use super::super::labels::Badge;
use super::super::list::segment;
use super::super::page::{Failed, Page, Scoped};
use super::super::text::Text;
use super::super::{answer, shown};
use super::webhooks;
use switchyard_core::transaction::{EventName, Kind};

/// Line of the list.
pub struct DeliveryRow {
    pub href: String,
    pub event: &'static str,
    pub badge: Badge,
    pub is_failed: bool,
    pub attempts: String,
    pub iso: String,
    pub time: String,
}

#[derive(Template)]
#[template(path = "console/delivery.html")]
struct DeliveryPage {
    frame: Frame,
    list: String,
    webhook: String,
    url: String,
    event: &'static str,
    badge: Badge,
    why: Option<String>,
    next: Option<String>,
    transaction: String,
    transaction_id: String,
    body: Option<String>,
    attempts: Vec<AttemptRow>,
    may_resend: bool,
}

struct AttemptRow {
    number: u16,
    iso: String,
    time: String,
    is_acknowledged: bool,
    result: String,
    duration: String,
    request: String,
    response: Option<String>,
}

/// App, environment, webhook and delivery in the address of a delivery's page.
type DeliveryPath = Path<(String, String, String, String)>;

impl From<LogError> for Failed {
    fn from(error: LogError) -> Self {
        tracing::warn!(%error, "failed to read the delivery log for the console");
        Self::Unavailable
    }
}

/// The newest deliveries of a webhook in the page's environment, and the address of older ones.
pub async fn rows(
    page: &Page,
    webhook: &Webhook,
) -> Result<(Vec<DeliveryRow>, Option<String>), Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let webhooks = page.state.engine().webhooks();
    let before = page.query("before").and_then(|id| id.parse().ok());
    let found = webhooks.deliveries(webhook.id, before, PER_PAGE).await?;
    let last = found.last().map(|delivery| delivery.id);
    let older = last
        .filter(|_| found.len() == PER_PAGE)
        .map(|last| page.in_scope(&format!("webhooks/{}?before={last}", webhook.id)));
    let own = found
        .iter()
        .filter(|delivery| delivery.environment == scope.environment);
    let rows = own.map(|delivery| row(page, delivery)).collect();
    Ok((rows, older))
}

fn row(page: &Page, delivery: &Delivery) -> DeliveryRow {
    let text = page.text();
    let at = delivery.last_attempt_at.unwrap_or(delivery.enqueued_at);
    DeliveryRow {
        href: page.in_scope(&format!(
            "webhooks/{}/deliveries/{}",
            delivery.webhook, delivery.id
        )),
        event: delivery.name.as_str(),
        badge: badge(delivery.status, text),
        is_failed: delivery.status == DeliveryStatus::Failed,
        attempts: text.count("console-tries", "tries", u64::from(delivery.attempts)),
        iso: at.to_string(),
        time: text.language().date(at),
    }
}

fn badge(status: DeliveryStatus, text: Text) -> Badge {
    let (class, word, api) = match status {
        DeliveryStatus::Waiting => ("waiting", "console-delivery-waiting", "waiting"),
        DeliveryStatus::Delivered => ("paid", "console-delivery-delivered", "delivered"),
        DeliveryStatus::Failed => ("failed", "console-delivery-failed", "failed"),
    };
    Badge {
        class,
        word: text.say(word),
        api,
    }
}

/// `GET /console/apps/{app}/{environment}/webhooks/{webhook}/deliveries/{delivery}`
pub async fn get(Scoped(page): Scoped, Path((.., webhook, id)): DeliveryPath) -> Response {
    let found = show(&page, &webhook, &id).await;
    answer(&page, found)
}

async fn show(page: &Page, webhook: &str, id: &str) -> Result<Response, Failed> {
    page.permit(Action::ViewWebhooks)?;
    let webhook = webhooks::one_of_app(page, webhook)?;
    let delivery = one_of_scope(page, &webhook, id).await?;
    let may_see = page.may(Action::ViewPersonalData);
    let attempts = page
        .state
        .engine()
        .webhooks()
        .attempts_of(&delivery)
        .await?;
    let text = page.text();
    let kind = kind_of(delivery.name);
    let one = DeliveryPage {
        frame: page.frame("console-delivery", "webhooks"),
        list: page.in_scope("webhooks"),
        webhook: page.in_scope(&format!("webhooks/{}", webhook.id)),
        url: webhook.url.clone(),
        event: delivery.name.as_str(),
        badge: badge(delivery.status, text),
        why: delivery.why.clone(),
        next: delivery.next_attempt_at.map(|at| {
            let at = text.language().date(at);
            text.with("console-delivery-next", &[("at", &at)])
        }),
        transaction: page.in_scope(&format!("{}/{}", segment(kind), delivery.transaction)),
        transaction_id: delivery.transaction.to_string(),
        body: may_see.then(|| pretty(&delivery.body)),
        attempts: attempts
            .iter()
            .map(|attempt| attempt_row(attempt, text))
            .collect(),
        may_resend: page.may(Action::ResendWebhook) && webhook.is_enabled,
    };
    Ok(shown(page, &one))
}

/// `POST /console/apps/{app}/{environment}/webhooks/{webhook}/deliveries/{delivery}`
pub async fn resend(
    Path((.., webhook, id)): DeliveryPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let resent = resend_one(&page, &webhook, &id, &mut fields).await;
    answer(&page, resent)
}

async fn resend_one(
    page: &Page,
    webhook: &str,
    id: &str,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let permit = page.permit(Action::ResendWebhook)?;
    let webhook = webhooks::one_of_app(page, webhook)?;
    let delivery = one_of_scope(page, &webhook, id).await?;
    let webhooks = page.state.engine().webhooks();
    let notice = match webhooks.replay(webhook.id, delivery.id).await {
        Ok(_) => {
            fields.took_effect();
            page.audit(permit.entry(delivery.id)).await?;
            "resent"
        }
        Err(error) => notice_of(&error)?,
    };
    let path = format!(
        "webhooks/{}/deliveries/{}?done={notice}",
        webhook.id, delivery.id
    );
    Ok(page.go(&page.in_scope(&path)))
}

/// The notice about a resending that was refused.
pub fn notice_of(error: &ReplayError) -> Result<&'static str, Failed> {
    match error {
        ReplayError::NotFound | ReplayError::UnknownTransaction => Err(Failed::NotFound),
        ReplayError::Disabled => Ok("resend-disabled"),
        ReplayError::TooOften(_) => Ok("resend-too-often"),
        ReplayError::Moving => Ok("resend-moving"),
        error => {
            tracing::warn!(%error, "failed to resend deliveries from the console");
            Err(Failed::Unavailable)
        }
    }
}

/// The delivery, if it is one of the page's environment.
async fn one_of_scope(page: &Page, webhook: &Webhook, id: &str) -> Result<Delivery, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let id: DeliveryId = id.parse().map_err(|_| Failed::NotFound)?;
    let found = page.state.engine().webhooks().delivery(webhook.id, id);
    let found = found.await?;
    found
        .filter(|delivery| delivery.environment == scope.environment)
        .ok_or(Failed::NotFound)
}

fn attempt_row(attempt: &Attempt, text: Text) -> AttemptRow {
    let headers = |of: &[(String, String)]| {
        let lines = of.iter().map(|(name, value)| format!("{name}: {value}\n"));
        lines.collect::<String>()
    };
    let response = attempt.response.as_ref();
    let result = match (response, &attempt.detail) {
        (Some(response), _) => text.with(
            "console-delivery-status",
            &[("status", &response.status.to_string())],
        ),
        (None, Some(detail)) => detail.clone(),
        (None, None) => text.say("console-delivery-no-response"),
    };
    AttemptRow {
        number: attempt.number,
        iso: attempt.at.to_string(),
        time: text.language().date(attempt.at),
        is_acknowledged: attempt.acknowledged,
        result,
        duration: duration(attempt.timing.total),
        request: format!(
            "POST {}\n{}",
            attempt.url,
            headers(&attempt.request_headers)
        ),
        response: response.map(|response| {
            let cut = if response.is_cut { "\n…" } else { "" };
            format!(
                "{}\n{}\n{}{cut}",
                response.status,
                headers(&response.headers),
                response.body
            )
        }),
    }
}

/// A duration in microseconds as milliseconds or seconds.
fn duration(micros: u64) -> String {
    match micros / 1_000 {
        millis @ 0..=9_999 => format!("{millis} ms"),
        millis => format!("{} s", millis / 1_000),
    }
}

/// A JSON body with one field a line.
fn pretty(body: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(body);
    let written = parsed.and_then(|value| serde_json::to_string_pretty(&value));
    written.unwrap_or_else(|_| body.to_owned())
}

fn kind_of(event: EventName) -> Kind {
    match event.as_str().starts_with("payout.") {
        true => Kind::Payout,
        false => Kind::Payment,
    }
}

/// Deliveries that are read for a page.
const PER_PAGE: usize = 25;
