//! Pages for developers: API keys, webhooks and their deliveries.

pub mod deliveries;
pub mod keys;
pub mod webhooks;

use switchyard_engine::access::AccessError;

use super::form::FieldError;
use super::page::Failed;
use super::text::Text;

/// The error of a form, or the reason why the page cannot be shown.
fn field_error(error: AccessError, text: Text) -> Result<FieldError, Failed> {
    match error {
        AccessError::Invalid { field, problem } => {
            let message = match field {
                "name" => text.say("console-name-invalid"),
                _ => text.with("console-field-invalid", &[("problem", &problem)]),
            };
            Ok(FieldError::new(field, message))
        }
        AccessError::TooManyKeys(most) => {
            let message = text.with("console-too-many-keys", &[("most", &most.to_string())]);
            Ok(FieldError::new("name", message))
        }
        AccessError::TooManyWebhooks(most) => {
            let message = text.with("console-too-many-webhooks", &[("most", &most.to_string())]);
            Ok(FieldError::new("url", message))
        }
        AccessError::NotFound { .. } => Err(Failed::NotFound),
        error => {
            tracing::warn!(%error, "failed to change an app in the console");
            Err(Failed::Unavailable)
        }
    }
}
