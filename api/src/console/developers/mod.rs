//! Pages for developers: API keys, webhooks and their deliveries.

pub mod deliveries;
pub mod keys;
pub mod webhooks;

use switchyard_engine::access::AccessError;

use super::form::FieldError;
use super::page::Failed;
use super::refusals;
use super::text::Text;
use crate::reason::Reason;

/// The error of a form, or the reason why the page cannot be shown.
fn field_error(error: AccessError, text: Text) -> Result<FieldError, Failed> {
    match error {
        AccessError::Invalid { field, problem } => {
            let message = match field {
                "name" => text.say("console-name-invalid"),
                field => refusals::field_sentence(field, &problem, text),
            };
            Ok(FieldError::new(field, message))
        }
        AccessError::TooManyKeys(_) => {
            let message = refusals::because_sentence(&Reason::TooManyKeys.into(), text);
            Ok(FieldError::new("name", message))
        }
        AccessError::TooManyWebhooks(_) => {
            let message = refusals::because_sentence(&Reason::TooManyWebhooks.into(), text);
            Ok(FieldError::new("url", message))
        }
        AccessError::NotFound { .. } => Err(Failed::NotFound),
        error => {
            tracing::warn!(%error, "failed to change an app in the console");
            Err(Failed::Unavailable)
        }
    }
}
