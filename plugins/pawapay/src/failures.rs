//! Mapping of pawaPay's failure codes to the engine's words.

use switchyard_gateway::{DeclineReason, Outcome};

use DeclineReason::{
    AmountOutOfRange, InsufficientFunds, InvalidAccount, LimitExceeded, MerchantFunds,
    Misconfigured, NotPermitted, Other, PayerBusy, PayerDeclined, ProviderUnavailable,
};

/// May another gateway be tried at once? Only when pawaPay, and not the payer or recipient, was the
/// reason.
const ELSEWHERE: bool = true;
const NOWHERE: bool = false;

/// Code, reason, retryable. A code that is not here means [`Other`]; the code itself is always kept
/// beside the reason.
#[rustfmt::skip]
pub const FAILURES: &[(&str, DeclineReason, bool)] = &[
    // The payer or the recipient.
    ("INSUFFICIENT_BALANCE", InsufficientFunds, NOWHERE),
    // Declined, or no PIN in time: pawaPay cannot tell the two apart.
    ("PAYMENT_NOT_APPROVED", PayerDeclined, NOWHERE),
    ("PAYMENT_IN_PROGRESS", PayerBusy, NOWHERE),
    ("TRANSACTION_ALREADY_IN_PROCESS", PayerBusy, NOWHERE),
    ("PAYER_NOT_FOUND", InvalidAccount, NOWHERE),
    ("RECIPIENT_NOT_FOUND", InvalidAccount, NOWHERE),
    ("INVALID_PHONE_NUMBER", InvalidAccount, NOWHERE),
    ("RECIPIENT_NOT_ALLOWED_TO_RECEIVE", NotPermitted, NOWHERE),
    ("PAYER_LIMIT_REACHED", LimitExceeded, NOWHERE),
    ("RECIPIENT_LIMIT_REACHED", LimitExceeded, NOWHERE),
    ("WALLET_LIMIT_REACHED", LimitExceeded, NOWHERE),
    ("UNSPECIFIED_FAILURE", Other, NOWHERE),
    ("OTHER_ERROR", Other, NOWHERE),
    ("MANUALLY_CANCELLED", Other, NOWHERE),
    // pawaPay or the operator.
    ("PAWAPAY_WALLET_OUT_OF_FUNDS", MerchantFunds, ELSEWHERE),
    ("PROVIDER_TEMPORARILY_UNAVAILABLE", ProviderUnavailable, ELSEWHERE),
    ("AMOUNT_OUT_OF_BOUNDS", AmountOutOfRange, ELSEWHERE),
    ("INVALID_AMOUNT", AmountOutOfRange, ELSEWHERE),
    // The merchant's account at pawaPay.
    ("INVALID_PROVIDER", Misconfigured, ELSEWHERE),
    ("INVALID_CURRENCY", Misconfigured, ELSEWHERE),
    ("NO_AUTHENTICATION", Misconfigured, ELSEWHERE),
    ("AUTHENTICATION_ERROR", Misconfigured, ELSEWHERE),
    ("AUTHORISATION_ERROR", Misconfigured, ELSEWHERE),
    ("HTTP_SIGNATURE_ERROR", Misconfigured, ELSEWHERE),
    ("DEPOSITS_NOT_ALLOWED", Misconfigured, ELSEWHERE),
    ("PAYOUTS_NOT_ALLOWED", Misconfigured, ELSEWHERE),
    ("REFUNDS_NOT_ALLOWED", Misconfigured, ELSEWHERE),
    ("REMITTANCES_NOT_ALLOWED", Misconfigured, ELSEWHERE),
    // This gateway wrote something that pawaPay does not take.
    ("INVALID_INPUT", Misconfigured, ELSEWHERE),
    ("MISSING_PARAMETER", Misconfigured, ELSEWHERE),
    ("UNSUPPORTED_PARAMETER", Misconfigured, ELSEWHERE),
    ("INVALID_PARAMETER", Misconfigured, ELSEWHERE),
    ("DUPLICATE_METADATA_FIELD", Misconfigured, ELSEWHERE),
    // Refunds.
    ("AMOUNT_TOO_LARGE", AmountOutOfRange, NOWHERE),
    ("DEPOSIT_ALREADY_REFUNDED", NotPermitted, NOWHERE),
    ("REFUND_IN_PROGRESS", NotPermitted, NOWHERE),
    ("INVALID_STATE", NotPermitted, NOWHERE),
    ("NOT_FOUND", NotPermitted, NOWHERE),
];

/// A final refusal. `UNKNOWN_ERROR` is none, whatever other fields it has: pawaPay itself does not
/// know the outcome.
pub fn outcome(code: &str, message: &str) -> Outcome {
    if code == UNKNOWN {
        return Outcome::unknown(format!("pawaPay does not know the outcome: {message}"));
    }
    let row = FAILURES.iter().find(|(listed, ..)| *listed == code);
    let (reason, retryable) = row.map_or((Other, NOWHERE), |(_, reason, retryable)| {
        (*reason, *retryable)
    });
    let declined = Outcome::declined(reason, message).with_provider_code(code);
    if retryable {
        declined.and_retryable()
    } else {
        declined
    }
}

const UNKNOWN: &str = "UNKNOWN_ERROR";
