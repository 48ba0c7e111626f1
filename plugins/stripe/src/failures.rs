//! Mapping of Stripe's errors and the banks' decline codes to the engine's words.

use serde::Deserialize;
use switchyard_gateway::{DeclineReason, Outcome};

use DeclineReason::{
    AmountOutOfRange, Expired, InsufficientFunds, InvalidAccount, LimitExceeded, Misconfigured,
    NotPermitted, Other, PayerDeclined, ProviderUnavailable,
};

/// May another gateway be tried at once? Only when Stripe or the account, and not the card, was the
/// reason.
const ELSEWHERE: bool = true;
const NOWHERE: bool = false;

/// `decline_code` or else `code`, reason, retryable. A code that is not here means [`Other`]; the
/// code itself is always kept beside.
#[rustfmt::skip]
pub const FAILURES: &[(&str, DeclineReason, bool)] = &[
    // The card has too little.
    ("insufficient_funds", InsufficientFunds, NOWHERE),
    ("card_velocity_exceeded", LimitExceeded, NOWHERE),
    ("withdrawal_count_limit_exceeded", LimitExceeded, NOWHERE),
    ("approve_with_id", LimitExceeded, NOWHERE),
    // The bank says no, and mostly not why.
    ("generic_decline", NotPermitted, NOWHERE),
    ("card_declined", NotPermitted, NOWHERE),
    ("do_not_honor", NotPermitted, NOWHERE),
    ("do_not_try_again", NotPermitted, NOWHERE),
    ("no_action_taken", NotPermitted, NOWHERE),
    ("call_issuer", NotPermitted, NOWHERE),
    ("fraudulent", NotPermitted, NOWHERE),
    ("merchant_blacklist", NotPermitted, NOWHERE),
    ("lost_card", NotPermitted, NOWHERE),
    ("stolen_card", NotPermitted, NOWHERE),
    ("pickup_card", NotPermitted, NOWHERE),
    ("restricted_card", NotPermitted, NOWHERE),
    ("security_violation", NotPermitted, NOWHERE),
    ("service_not_allowed", NotPermitted, NOWHERE),
    ("stop_payment_order", NotPermitted, NOWHERE),
    ("transaction_not_allowed", NotPermitted, NOWHERE),
    ("card_not_supported", NotPermitted, NOWHERE),
    ("currency_not_supported", NotPermitted, NOWHERE),
    ("revocation_of_authorization", NotPermitted, NOWHERE),
    ("revocation_of_all_authorizations", NotPermitted, NOWHERE),
    // The card's data.
    ("expired_card", InvalidAccount, NOWHERE),
    ("incorrect_number", InvalidAccount, NOWHERE),
    ("invalid_number", InvalidAccount, NOWHERE),
    ("incorrect_cvc", InvalidAccount, NOWHERE),
    ("invalid_cvc", InvalidAccount, NOWHERE),
    ("incorrect_zip", InvalidAccount, NOWHERE),
    ("incorrect_address", InvalidAccount, NOWHERE),
    ("invalid_expiry_month", InvalidAccount, NOWHERE),
    ("invalid_expiry_year", InvalidAccount, NOWHERE),
    ("invalid_account", InvalidAccount, NOWHERE),
    ("new_account_information_available", InvalidAccount, NOWHERE),
    ("testmode_decline", InvalidAccount, NOWHERE),
    ("incorrect_pin", InvalidAccount, NOWHERE),
    ("invalid_pin", InvalidAccount, NOWHERE),
    ("pin_try_exceeded", LimitExceeded, NOWHERE),
    // The payer did not prove to be the card's owner.
    ("authentication_required", PayerDeclined, NOWHERE),
    ("authentication_not_handled", PayerDeclined, NOWHERE),
    ("payment_intent_authentication_failure", PayerDeclined, NOWHERE),
    // The way there.
    ("processing_error", ProviderUnavailable, NOWHERE),
    ("issuer_not_available", ProviderUnavailable, NOWHERE),
    ("reenter_transaction", ProviderUnavailable, NOWHERE),
    ("try_again_later", ProviderUnavailable, NOWHERE),
    // The payer went away; the word is this gateway's.
    (SESSION_EXPIRED, Expired, NOWHERE),
    // The amount.
    ("amount_too_small", AmountOutOfRange, ELSEWHERE),
    ("amount_too_large", AmountOutOfRange, ELSEWHERE),
    ("invalid_charge_amount", AmountOutOfRange, ELSEWHERE),
    // The account at Stripe, or what this gateway wrote.
    ("api_key_expired", Misconfigured, ELSEWHERE),
    ("account_invalid", Misconfigured, ELSEWHERE),
    ("account_country_invalid_address", Misconfigured, ELSEWHERE),
    ("livemode_mismatch", Misconfigured, ELSEWHERE),
    ("testmode_charges_only", Misconfigured, ELSEWHERE),
    ("secret_key_required", Misconfigured, ELSEWHERE),
    ("platform_api_key_expired", Misconfigured, ELSEWHERE),
    ("parameter_missing", Misconfigured, ELSEWHERE),
    ("parameter_unknown", Misconfigured, ELSEWHERE),
    ("parameter_invalid_empty", Misconfigured, ELSEWHERE),
    ("parameter_invalid_integer", Misconfigured, ELSEWHERE),
    ("parameter_invalid_string_blank", Misconfigured, ELSEWHERE),
    ("url_invalid", Misconfigured, ELSEWHERE),
    ("email_invalid", InvalidAccount, NOWHERE),
    ("resource_missing", Misconfigured, ELSEWHERE),
    // Refunds.
    ("charge_already_refunded", NotPermitted, NOWHERE),
    ("charge_disputed", NotPermitted, NOWHERE),
    ("refund_disputed_payment", NotPermitted, NOWHERE),
    ("lost_or_stolen_card", InvalidAccount, NOWHERE),
    ("expired_or_canceled_card", InvalidAccount, NOWHERE),
];

/// Stripe's error object: the `error` of a response, or the `last_payment_error` of a payment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StripeError {
    #[serde(rename = "type")]
    pub kind: String,
    pub code: Option<String>,
    pub decline_code: Option<String>,
    pub message: Option<String>,
}

impl StripeError {
    /// The most telling of its codes.
    pub fn most_specific_code(&self) -> &str {
        let code = self.decline_code.as_deref().or(self.code.as_deref());
        code.unwrap_or(&self.kind)
    }

    fn row(&self) -> Option<(DeclineReason, bool)> {
        let codes = [self.decline_code.as_deref(), self.code.as_deref()];
        let row = codes
            .into_iter()
            .flatten()
            .find_map(|code| FAILURES.iter().find(|(listed, ..)| *listed == code));
        row.map(|(_, reason, retryable)| (*reason, *retryable))
    }

    fn decline(&self, reason: DeclineReason) -> Outcome {
        let message = self.message.as_deref().unwrap_or_default();
        Outcome::declined(reason, message).with_provider_code(self.most_specific_code())
    }

    /// A request that Stripe refused without any effect. A malformed one is left to another
    /// gateway.
    pub fn refusal(&self) -> Outcome {
        let (reason, retryable) = self.row().unwrap_or(match self.kind.as_str() {
            "card_error" => (Other, NOWHERE),
            _ => (Misconfigured, ELSEWHERE),
        });
        match retryable {
            true => self.decline(reason).and_retryable(),
            false => self.decline(reason),
        }
    }

    /// A payment that is over: its payer is gone, so nothing is tried elsewhere.
    pub fn end(&self) -> Outcome {
        self.decline(self.row().map_or(Other, |(reason, _)| reason))
    }
}

/// The payer did not pay in time.
pub fn expired() -> Outcome {
    Outcome::declined(Expired, "The payer did not pay in time.").with_provider_code(SESSION_EXPIRED)
}

pub const SESSION_EXPIRED: &str = "session_expired";
