//! Notices about the form that led to a page, which its address names.

use super::frame::StatusMessage;
use super::text::Text;

/// The notice of this name. `None`: there is none.
pub fn of(done: &str, text: Text) -> Option<StatusMessage> {
    let known = NOTICES.iter().find(|(name, _)| *name == done);
    known.map(|(name, is_error)| StatusMessage {
        text: text.say(&format!("console-done-{name}")),
        is_error: *is_error,
    })
}

/// Results of forms, and whether each is an error.
const NOTICES: &[(&str, bool)] = &[
    ("key-deleted", false),
    ("webhook-made", false),
    ("webhook-saved", false),
    ("webhook-deleted", false),
    ("event-triggered", false),
    ("event-missed", true),
    ("resent", false),
    ("resent-failed", false),
    ("resent-more", false),
    ("resend-disabled", true),
    ("resend-too-often", true),
    ("resend-moving", true),
    ("payout-made", false),
    ("batch-confirmed", false),
    ("batch-approved", false),
    ("batch-discarded", false),
    ("link-made", false),
    ("link-disabled", false),
    ("link-enabled", false),
    ("asked", false),
    ("asked-recently", true),
    ("asked-waiting", true),
    ("cancelled", false),
    ("cancel-asked", false),
    ("not-possible", true),
    ("erased", false),
    ("withdrawn", false),
    ("removed", false),
    ("user-disabled", false),
    ("user-enabled", false),
    ("factor-removed", false),
    ("sessions-ended", false),
    ("role-saved", false),
    ("settings-saved", false),
    ("logo-saved", false),
    ("logo-removed", false),
    ("profile-saved", false),
    ("token-deleted", false),
    ("password-saved", false),
    ("own-factor-removed", false),
    ("connection-saved", false),
    ("connection-deleted", false),
    ("routing-saved", false),
    ("gateway-added", false),
    ("gateway-awaits", false),
    ("gateway-discarded", false),
    ("gateway-changed", false),
    ("case-closed", false),
    ("resolved", false),
    ("proposed", false),
    ("approved", false),
    ("payout-approved", false),
    ("routing-approved", false),
    ("rejected", false),
    ("proposal-withdrawn", false),
    ("account-made", false),
    ("app-made", false),
    ("rate-accepted", false),
    ("rate-rejected", false),
];
