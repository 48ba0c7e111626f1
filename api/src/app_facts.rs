//! Settings of an app that its account changes, as the audit log names them before and after.

use serde_json::{Value, json};
use switchyard_engine::access::App;

/// The logo of an app for the audit log.
pub fn logo(app: &App) -> Value {
    json!({ "logo": app.settings.logo.as_ref().map(|logo| logo.path(app.id)) })
}

/// Settings of an app for the audit log.
pub fn of(app: &App) -> Value {
    let settings = &app.settings;
    json!({
        "name": app.name,
        "website_url": app.website_url,
        "merchant_email": settings.merchant_email,
        "notify_merchant": settings.notify_merchant,
        "notify_customer": settings.notify_customer,
        "checkout_attempts": settings.checkout_attempts,
        "locale": settings.locale,
        "conversion": settings.conversion,
        "accent_colour": settings.accent_colour,
        "support_email": settings.support_email,
        "support_phone": settings.support_phone,
        "support_url": settings.support_url,
    })
}
