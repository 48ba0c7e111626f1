//! Settings of the engine. The `api` crate reads them from the settings file.

use std::time::Duration;

use crate::mail::MailSettings;
use crate::quota::LimitSettings;
use crate::webhook::WebhookSettings;

/// Settings of the engine. Modules with settings of their own declare them beside their code.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Names the demo methods and begins every key: `switchyard`.
    pub service_code: String,
    /// Name of the service for people: `Switchyard`.
    pub service_name: String,
    /// Address at which payers and providers reach this service, without a slash at the end.
    pub public_url: String,
    /// Time that a payment waits for its payer.
    pub expires_after: Duration,
    /// How long an actor without work stays up.
    pub idle_after: Duration,
    /// Transaction actors in memory at once.
    pub live_actors: usize,
    /// How long sandbox data is kept.
    pub sandbox_retention: Duration,
    /// The gateway that serves sandbox apps which have no connection for a method.
    pub sandbox_gateway: String,
    /// Whether test gateways serve live connections too: in development mode.
    pub live_test_gateways: bool,
    pub webhook: WebhookSettings,
    pub mail: MailSettings,
    /// Limits of prompts and payouts.
    pub limits: LimitSettings,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            service_code: "switchyard".to_owned(),
            service_name: "Switchyard".to_owned(),
            public_url: "http://127.0.0.1:8080".to_owned(),
            expires_after: Duration::from_secs(30 * 60),
            idle_after: Duration::from_secs(10),
            live_actors: switchyard_core::limits::LIVE_ACTORS,
            sandbox_retention: switchyard_core::limits::SANDBOX_RETENTION,
            sandbox_gateway: "switchyard_demo".to_owned(),
            live_test_gateways: true,
            webhook: WebhookSettings::default(),
            mail: MailSettings::default(),
            limits: LimitSettings::default(),
        }
    }
}
