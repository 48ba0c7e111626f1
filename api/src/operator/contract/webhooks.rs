//! Webhooks, their deliveries and replays.

use serde::{Deserialize, Serialize, Serializer};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, DeliveryId, EventId, TransactionId, WebhookId};
use switchyard_core::secret::Secret;
use switchyard_core::transaction::EventName;
use switchyard_engine::access;
use switchyard_engine::webhook::{self, DeliveryStatus};
use switchyard_system::egress;
use utoipa::{IntoParams, ToSchema};

use super::{nullable, schemas};
use crate::iso_timestamp::IsoTimestamp;

/// URL that receives the events of an app.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    #[schema(value_type = String)]
    pub id: WebhookId,
    #[schema(value_type = String)]
    pub app: AppId,
    pub url: String,
    pub is_enabled: bool,
    /// Time and reason, while it is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// Names (`payment.success`), kinds (`payment.*`, `payout.*`) or `*`.
    pub events: Vec<String>,
    pub retry: RetryProfile,
    /// Maximum requests per second; null: no limit.
    pub per_second: Option<u32>,
    /// Maximum concurrent requests; null: the default of the installation.
    pub concurrency: Option<u16>,
    pub created_at: IsoTimestamp,
}

/// Time and reason at which a webhook was disabled.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Disabled {
    pub at: IsoTimestamp,
    pub why: String,
}

/// Retry schedule. `spec`: the schedule of the installation, by default three retries ten minutes
/// apart. `standard`: ten attempts within 75 hours. `custom`: your own pauses. The last two honour
/// `Retry-After` with 429 and 503, up to a day, and a receiver that answers 410 disables the
/// webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "profile", rename_all = "snake_case", deny_unknown_fields)]
pub enum RetryProfile {
    #[default]
    Spec,
    Standard,
    Custom {
        /// Pauses in seconds, at most 20 of at most a day.
        delays: Vec<u32>,
    },
}

/// New webhook, at most 15 per app.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// `https://` or `http://`, at a public address and port 443 or 80 unless the settings allow
    /// others.
    pub url: String,
    /// Signing secret. Default: a generated one.
    #[serde(serialize_with = "exposed", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub secret: Option<Secret<String>>,
    /// Default: all events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    #[serde(default)]
    pub retry: RetryProfile,
    /// 1 to 1000.
    pub per_second: Option<u32>,
    /// 1 to 64.
    pub concurrency: Option<u16>,
}

/// Change of a webhook. Omitted fields are unchanged; `null` removes a limit. The filter applies to
/// new events; queued deliveries are still sent.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(serialize_with = "exposed", skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub secret: Option<Secret<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryProfile>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub per_second: Option<Option<u32>>,
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u16>)]
    pub concurrency: Option<Option<u16>>,
}

/// Signing secret of a webhook.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    #[schema(value_type = String)]
    pub id: WebhookId,
    pub secret: String,
}

/// Page of deliveries.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryFilter {
    /// Deliveries older than this id.
    pub before: Option<String>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Page of attempts.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AttemptFilter {
    /// Attempts before this time.
    pub before: Option<String>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Delivery of an event that was tried at least once, or abandoned.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    #[schema(value_type = String)]
    pub id: DeliveryId,
    #[schema(value_type = String)]
    pub webhook: WebhookId,
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = String)]
    pub event: EventId,
    #[schema(value_type = schemas::EventName)]
    pub name: EventName,
    #[schema(value_type = String)]
    pub transaction: TransactionId,
    #[schema(value_type = schemas::DeliveryStatus)]
    pub status: DeliveryStatus,
    /// Attempts in the current round.
    pub attempts: u16,
    pub enqueued_at: IsoTimestamp,
    pub initiated_at: IsoTimestamp,
    pub first_attempt_at: Option<IsoTimestamp>,
    pub last_attempt_at: Option<IsoTimestamp>,
    /// Due time of the next attempt, while the delivery waits.
    pub next_attempt_at: Option<IsoTimestamp>,
    pub ended_at: Option<IsoTimestamp>,
    /// Reason why the delivery was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Request body, byte for byte.
    pub body: String,
}

/// Request to a receiver, which was sent or could not be sent.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct DeliveryAttempt {
    #[schema(value_type = String)]
    pub webhook: WebhookId,
    #[schema(value_type = String)]
    pub delivery: DeliveryId,
    #[schema(value_type = String)]
    pub event: EventId,
    #[schema(value_type = schemas::EventName)]
    pub name: EventName,
    #[schema(value_type = String)]
    pub transaction: TransactionId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    /// Number of the attempt in its round, from 1.
    pub number: u16,
    pub at: IsoTimestamp,
    pub url: String,
    pub request_headers: Vec<(String, String)>,
    pub acknowledged: bool,
    /// Class of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::DeliveryFailure>)]
    pub failure: Option<egress::Failure>,
    /// Error as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<DeliveryResponse>,
    pub timing: DeliveryTiming,
    /// Address of the connection, or all addresses that were tried.
    pub addresses: Vec<String>,
    /// The same on each attempt of a delivery; null if the delivery is gone.
    pub request_body: Option<String>,
}

/// Response of a receiver.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct DeliveryResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// First 20 kB of the body, as text.
    pub body: String,
    pub is_cut: bool,
}

/// Duration of each phase of a request, in microseconds.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct DeliveryTiming {
    /// Name resolution; null for an IP address or an open connection.
    pub dns: Option<u64>,
    /// Connecting, without name resolution and TLS; null for an open connection.
    pub connect: Option<u64>,
    /// TLS handshake; null without TLS and for an open connection.
    pub tls: Option<u64>,
    /// Time from the start to the head of the response.
    pub answer: Option<u64>,
    pub total: u64,
}

/// Replay of failed deliveries.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayFailed {
    /// Failures since this time. Default: all.
    pub since: Option<String>,
}

/// Replay of events that the receiver has not acknowledged.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayMissing {
    /// Events since this time.
    pub since: String,
    /// `after` of the last response.
    #[schema(value_type = Option<String>)]
    pub after: Option<TransactionId>,
}

/// Result of a replay of failed deliveries.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Replayed {
    pub replayed: usize,
    /// Whether failed deliveries are left: repeat the request.
    pub has_more: bool,
}

/// Result of a replay of missing deliveries.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct MissingReplayed {
    pub replayed: usize,
    /// Transactions that were examined.
    pub examined: usize,
    /// Whether transactions are left: repeat the request with `after`.
    pub has_more: bool,
    #[schema(value_type = Option<String>)]
    pub after: Option<TransactionId>,
}

/// Serializes a secret for the request that sets it.
fn exposed<S: Serializer>(
    secret: &Option<Secret<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = secret.as_ref().map(Secret::expose);
    text.serialize(serializer)
}

impl From<&access::Webhook> for Webhook {
    fn from(webhook: &access::Webhook) -> Self {
        let options = &webhook.options;
        Self {
            id: webhook.id,
            app: webhook.app,
            url: webhook.url.clone(),
            is_enabled: webhook.is_enabled,
            disabled: webhook.disabled.as_ref().map(|disabled| Disabled {
                at: disabled.at.into(),
                why: disabled.why.clone(),
            }),
            events: options.events.patterns().to_vec(),
            retry: (&options.retry).into(),
            per_second: options.per_second,
            concurrency: options.concurrency,
            created_at: webhook.created_at.into(),
        }
    }
}

impl From<&access::RetryProfile> for RetryProfile {
    fn from(profile: &access::RetryProfile) -> Self {
        match profile {
            access::RetryProfile::Spec => Self::Spec,
            access::RetryProfile::Standard => Self::Standard,
            access::RetryProfile::Custom { delays } => Self::Custom {
                delays: delays.clone(),
            },
        }
    }
}

impl From<RetryProfile> for access::RetryProfile {
    fn from(profile: RetryProfile) -> Self {
        match profile {
            RetryProfile::Spec => Self::Spec,
            RetryProfile::Standard => Self::Standard,
            RetryProfile::Custom { delays } => Self::Custom { delays },
        }
    }
}

impl From<webhook::Delivery> for Delivery {
    fn from(delivery: webhook::Delivery) -> Self {
        Self {
            id: delivery.id,
            webhook: delivery.webhook,
            app: delivery.app,
            environment: delivery.environment,
            event: delivery.event,
            name: delivery.name,
            transaction: delivery.transaction,
            status: delivery.status,
            attempts: delivery.attempts,
            enqueued_at: delivery.enqueued_at.into(),
            initiated_at: delivery.initiated_at.into(),
            first_attempt_at: delivery.first_attempt_at.map(IsoTimestamp),
            last_attempt_at: delivery.last_attempt_at.map(IsoTimestamp),
            next_attempt_at: delivery.next_attempt_at.map(IsoTimestamp),
            ended_at: delivery.ended_at.map(IsoTimestamp),
            why: delivery.why,
            body: delivery.body,
        }
    }
}

impl DeliveryAttempt {
    pub fn new(attempt: webhook::Attempt, request_body: Option<String>) -> Self {
        let timing = attempt.timing;
        Self {
            webhook: attempt.webhook,
            delivery: attempt.delivery,
            event: attempt.event,
            name: attempt.name,
            transaction: attempt.transaction,
            environment: attempt.environment,
            number: attempt.number,
            at: attempt.at.into(),
            url: attempt.url,
            request_headers: attempt.request_headers,
            acknowledged: attempt.acknowledged,
            failure: attempt.failure,
            detail: attempt.detail,
            response: attempt.response.map(|response| DeliveryResponse {
                status: response.status,
                headers: response.headers,
                body: response.body,
                is_cut: response.is_cut,
            }),
            timing: DeliveryTiming {
                dns: timing.dns,
                connect: timing.connect,
                tls: timing.tls,
                answer: timing.answer,
                total: timing.total,
            },
            addresses: attempt.addresses,
            request_body,
        }
    }
}
