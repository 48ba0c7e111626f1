//! Mapping of Flutterwave's messages to the engine's words. Version 3 has no codes, only text, and
//! not one text for one thing: so each row is a part of a text, in lower case, and the first row
//! that fits decides. The text itself is always kept beside the reason.

use switchyard_gateway::{DeclineReason, Outcome};

use DeclineReason::{
    AmountOutOfRange, Expired, InsufficientFunds, InvalidAccount, LimitExceeded, MerchantFunds,
    Misconfigured, NotPermitted, Other, PayerDeclined, PayerTimeout, ProviderUnavailable,
};

/// May another gateway be tried at once? Only when Flutterwave, and not the payer or recipient, was
/// the reason.
const ELSEWHERE: bool = true;
const NOWHERE: bool = false;

/// Part of the text, reason, retryable.
pub type Row = (&'static str, DeclineReason, bool);

/// Of payments. A text that is not here means [`Other`].
#[rustfmt::skip]
pub const PAYMENTS: &[Row] = &[
    ("insufficient fund", InsufficientFunds, NOWHERE),
    ("insufficient balance", InsufficientFunds, NOWHERE),
    ("not sufficient fund", InsufficientFunds, NOWHERE),
    ("expired card", InvalidAccount, NOWHERE),
    ("card expired", InvalidAccount, NOWHERE),
    ("invalid card", InvalidAccount, NOWHERE),
    ("invalid phone", InvalidAccount, NOWHERE),
    ("subscriber not found", InvalidAccount, NOWHERE),
    ("incorrect pin", PayerDeclined, NOWHERE),
    ("invalid token", PayerDeclined, NOWHERE),
    ("invalid otp", PayerDeclined, NOWHERE),
    ("do not hono", PayerDeclined, NOWHERE),
    ("rejected by customer", PayerDeclined, NOWHERE),
    ("cancelled", PayerDeclined, NOWHERE),
    ("fraudulent", NotPermitted, NOWHERE),
    ("not permitted", NotPermitted, NOWHERE),
    ("restricted", NotPermitted, NOWHERE),
    ("declined", PayerDeclined, NOWHERE),
    ("timed out", PayerTimeout, NOWHERE),
    ("timeout", PayerTimeout, NOWHERE),
    ("pending redirect", PayerTimeout, NOWHERE),
    ("expired", Expired, NOWHERE),
    ("limit", LimitExceeded, NOWHERE),
    ("amount", AmountOutOfRange, ELSEWHERE),
    ("system error", ProviderUnavailable, ELSEWHERE),
    ("unavailable", ProviderUnavailable, ELSEWHERE),
    ("inoperative", ProviderUnavailable, ELSEWHERE),
    // The merchant's account, or what this gateway wrote.
    ("authorization", Misconfigured, ELSEWHERE),
    ("not enabled", Misconfigured, ELSEWHERE),
    ("not supported", Misconfigured, ELSEWHERE),
    ("currency", Misconfigured, ELSEWHERE),
    ("is required", Misconfigured, ELSEWHERE),
];

/// Of payouts: money that is missing is the merchant's here.
#[rustfmt::skip]
pub const PAYOUTS: &[Row] = &[
    ("insufficient", MerchantFunds, ELSEWHERE),
    ("fund your", MerchantFunds, ELSEWHERE),
    ("invalid phone", InvalidAccount, NOWHERE),
    ("invalid account", InvalidAccount, NOWHERE),
    ("subscriber not found", InvalidAccount, NOWHERE),
    ("account resolve failed", InvalidAccount, NOWHERE),
    ("not registered", InvalidAccount, NOWHERE),
    ("not permitted", NotPermitted, NOWHERE),
    ("limit", LimitExceeded, NOWHERE),
    ("amount", AmountOutOfRange, ELSEWHERE),
    ("system error", ProviderUnavailable, ELSEWHERE),
    ("unavailable", ProviderUnavailable, ELSEWHERE),
    ("ip whitelist", Misconfigured, ELSEWHERE),
    ("whitelisting", Misconfigured, ELSEWHERE),
    ("authorization", Misconfigured, ELSEWHERE),
    ("not enabled", Misconfigured, ELSEWHERE),
    ("not supported", Misconfigured, ELSEWHERE),
    ("currency", Misconfigured, ELSEWHERE),
    ("is required", Misconfigured, ELSEWHERE),
];

/// Messages of refunds, which no other connection can make.
#[rustfmt::skip]
pub const REFUNDS: &[Row] = &[
    ("insufficient", MerchantFunds, NOWHERE),
    ("fully refunded", NotPermitted, NOWHERE),
    ("already", NotPermitted, NOWHERE),
    ("amount", AmountOutOfRange, NOWHERE),
    ("no transaction", NotPermitted, NOWHERE),
    ("authorization", Misconfigured, NOWHERE),
];

/// A final no. `code` is what there is of one: a status of Flutterwave's, or of HTTP.
pub fn outcome(rows: &[Row], code: &str, text: &str) -> Outcome {
    let lower = text.to_lowercase();
    let row = rows.iter().find(|(part, ..)| lower.contains(part));
    let (reason, retryable) = row.map_or((Other, NOWHERE), |(_, reason, retryable)| {
        (*reason, *retryable)
    });
    let declined = Outcome::declined(reason, text).with_provider_code(code);
    if retryable {
        declined.and_retryable()
    } else {
        declined
    }
}
