//! Error responses: each problem has a type, a stable code with a page in `docs/errors/`, and a
//! sentence.
//!
//! [`ErrorCode`] is the whole list of codes that a client can see. A code is never renamed and
//! never reused. The status of an answer follows from its problems alone: one that is 400
//! (something is missing) weighs more than one that is 422 (all there, but unfit).

use std::borrow::Cow;

use axum::http::StatusCode;
use serde::{Serialize, Serializer};
use switchyard_core::transaction::Kind;
use switchyard_engine::access::{Rate, RateScope};

use crate::reason::Because;

/// Kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    InvalidRequest,
    ValidationError,
    AuthenticationError,
    PermissionError,
    NotFound,
    Conflict,
    RateLimited,
    Unavailable,
    InternalError,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $kind:ident, $status:ident;)*) => {
        /// Code of an error. Clients match on it; `docs/errors/<code>.md` explains cause and
        /// remedy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// Page of `docs/errors/` in Markdown. A code without one does not compile.
            pub const fn page(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("../../docs/errors/", $word, ".md")),)*
                }
            }

            pub const fn kind(self) -> ErrorType {
                match self {
                    $(Self::$name => ErrorType::$kind,)*
                }
            }

            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)*
                }
            }
        }
    };
}

codes! {
    // The request as a whole.
    MalformedJson = "malformed_json", InvalidRequest, BAD_REQUEST;
    BodyNotObject = "body_not_object", InvalidRequest, BAD_REQUEST;
    BodyIncomplete = "body_incomplete", InvalidRequest, BAD_REQUEST;
    BodyTooLarge = "body_too_large", InvalidRequest, PAYLOAD_TOO_LARGE;
    UnsupportedMediaType = "unsupported_media_type", InvalidRequest, UNSUPPORTED_MEDIA_TYPE;
    FieldDuplicated = "field_duplicated", InvalidRequest, BAD_REQUEST;
    FieldRequired = "field_required", InvalidRequest, BAD_REQUEST;
    NoMethodEnabled = "no_method_enabled", InvalidRequest, BAD_REQUEST;

    // One field of it.
    FieldWrongType = "field_wrong_type", ValidationError, UNPROCESSABLE_ENTITY;
    FieldBlank = "field_blank", ValidationError, UNPROCESSABLE_ENTITY;
    FieldTooLong = "field_too_long", ValidationError, UNPROCESSABLE_ENTITY;
    FieldHasControlCharacters = "field_has_control_characters", ValidationError, UNPROCESSABLE_ENTITY;
    AmountNotNumber = "amount_not_number", ValidationError, UNPROCESSABLE_ENTITY;
    AmountNotPositive = "amount_not_positive", ValidationError, UNPROCESSABLE_ENTITY;
    AmountTooLarge = "amount_too_large", ValidationError, UNPROCESSABLE_ENTITY;
    AmountTooManyDecimals = "amount_too_many_decimals", ValidationError, UNPROCESSABLE_ENTITY;
    ExpiresInOutOfRange = "expires_in_out_of_range", ValidationError, UNPROCESSABLE_ENTITY;
    CurrencyUnknown = "currency_unknown", ValidationError, UNPROCESSABLE_ENTITY;
    UrlInvalid = "url_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    EmailInvalid = "email_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    PhoneInvalid = "phone_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    PhoneCountryMismatch = "phone_country_mismatch", ValidationError, UNPROCESSABLE_ENTITY;
    CountryUnknown = "country_unknown", ValidationError, UNPROCESSABLE_ENTITY;
    MetadataNotObject = "metadata_not_object", ValidationError, UNPROCESSABLE_ENTITY;
    MetadataTooManyKeys = "metadata_too_many_keys", ValidationError, UNPROCESSABLE_ENTITY;
    MetadataKeyInvalid = "metadata_key_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    MetadataValueNotString = "metadata_value_not_string", ValidationError, UNPROCESSABLE_ENTITY;
    MetadataValueTooLong = "metadata_value_too_long", ValidationError, UNPROCESSABLE_ENTITY;
    AmountNotServed = "amount_not_served", ValidationError, UNPROCESSABLE_ENTITY;
    MethodUnknown = "method_unknown", ValidationError, UNPROCESSABLE_ENTITY;
    MethodCurrencyMismatch = "method_currency_mismatch", ValidationError, UNPROCESSABLE_ENTITY;
    MethodNotEnabled = "method_not_enabled", ValidationError, UNPROCESSABLE_ENTITY;
    RestrictionConflict = "restriction_conflict", ValidationError, UNPROCESSABLE_ENTITY;
    RestrictionUnservable = "restriction_unservable", ValidationError, UNPROCESSABLE_ENTITY;
    RecipientFieldInvalid = "recipient_field_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    ParameterInvalid = "parameter_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    ParameterUnknown = "parameter_unknown", ValidationError, UNPROCESSABLE_ENTITY;
    NotSuccessful = "not_successful", ValidationError, UNPROCESSABLE_ENTITY;

    // The idempotency key.
    IdempotencyKeyInvalid = "idempotency_key_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    IdempotencyBodyDiffers = "idempotency_body_differs", ValidationError, UNPROCESSABLE_ENTITY;
    IdempotencyInFlight = "idempotency_in_flight", Conflict, CONFLICT;

    // Authentication.
    ApiKeyMissing = "api_key_missing", AuthenticationError, UNAUTHORIZED;
    ApiKeyInvalid = "api_key_invalid", AuthenticationError, UNAUTHORIZED;
    PublicKeyNotAllowed = "public_key_not_allowed", PermissionError, FORBIDDEN;
    RateLimitExceeded = "rate_limit_exceeded", RateLimited, TOO_MANY_REQUESTS;
    PayoutLimitReached = "payout_limit_reached", RateLimited, TOO_MANY_REQUESTS;

    // Resources.
    PaymentNotFound = "payment_not_found", NotFound, NOT_FOUND;
    PayoutNotFound = "payout_not_found", NotFound, NOT_FOUND;
    RouteNotFound = "route_not_found", NotFound, NOT_FOUND;
    MethodNotAllowed = "method_not_allowed", InvalidRequest, METHOD_NOT_ALLOWED;
    TransactionChanged = "transaction_changed", Conflict, CONFLICT;

    // The account API.
    AccountTokenInvalid = "account_token_invalid", AuthenticationError, UNAUTHORIZED;
    SignInRefused = "sign_in_refused", AuthenticationError, UNAUTHORIZED;
    RoleNotAllowed = "role_not_allowed", PermissionError, FORBIDDEN;
    ActionNotInToken = "action_not_in_token", PermissionError, FORBIDDEN;
    PersonNeeded = "person_needed", PermissionError, FORBIDDEN;
    ConfirmationNeeded = "confirmation_needed", PermissionError, FORBIDDEN;

    // The operator API.
    OperatorTokenInvalid = "operator_token_invalid", AuthenticationError, UNAUTHORIZED;
    ResourceNotFound = "resource_not_found", NotFound, NOT_FOUND;
    FieldInvalid = "field_invalid", ValidationError, UNPROCESSABLE_ENTITY;
    LimitReached = "limit_reached", ValidationError, UNPROCESSABLE_ENTITY;
    TransitionRefused = "transition_refused", Conflict, CONFLICT;
    ResourceChanged = "resource_changed", Conflict, CONFLICT;
    GatewayRefused = "gateway_refused", ValidationError, UNPROCESSABLE_ENTITY;
    GatewayNeedsConsent = "gateway_needs_consent", Conflict, CONFLICT;
    GatewayNeedsApproval = "gateway_needs_approval", Conflict, CONFLICT;
    GatewayApprovalRefused = "gateway_approval_refused", PermissionError, FORBIDDEN;
    SecondPersonNeeded = "second_person_needed", PermissionError, FORBIDDEN;
    GatewayStateConflict = "gateway_state_conflict", Conflict, CONFLICT;
    ConnectionInUse = "connection_in_use", Conflict, CONFLICT;

    // Our side.
    ServiceUnavailable = "service_unavailable", Unavailable, SERVICE_UNAVAILABLE;
    MethodUnavailable = "method_unavailable", Unavailable, SERVICE_UNAVAILABLE;
    InternalError = "internal_error", InternalError, INTERNAL_SERVER_ERROR;
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: ErrorType,
    pub code: ErrorCode,
    pub message: Cow<'static, str>,
    /// The path of the field, such as `customer.email` or `methods.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
    /// Reason, for the console's message in the reader's language.
    #[serde(skip)]
    pub because: Option<Because>,
}

impl Problem {
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: code.kind(),
            code,
            message: message.into(),
            field: None,
            hint: None,
            because: None,
        }
    }

    pub fn at(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub fn because(mut self, because: impl Into<Option<Because>>) -> Self {
        self.because = because.into();
        self
    }

    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A refusal: at least one problem, and what its headers have to say.
#[derive(Clone, Debug)]
pub struct ApiError {
    problems: Vec<Problem>,
    /// Seconds after which the same request may do better.
    pub retry_after: Option<u32>,
}

impl ApiError {
    pub fn new(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            retry_after: None,
        }
    }

    /// `None` when nothing is wrong. Only the first [`PROBLEMS`] are kept.
    pub fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.truncate(PROBLEMS);
        (!problems.is_empty()).then_some(Self {
            problems,
            retry_after: None,
        })
    }

    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub fn status(&self) -> StatusCode {
        let mut statuses = self.problems.iter().map(|problem| problem.code.status());
        let first = statuses.next().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        statuses.fold(first, |worst, status| worst.min(status))
    }

    pub fn transaction_not_found(kind: Kind) -> Self {
        let (code, message) = match kind {
            Kind::Payment => (ErrorCode::PaymentNotFound, "Payment transaction not found"),
            Kind::Payout => (ErrorCode::PayoutNotFound, "Payout transaction not found"),
        };
        Self::new(Problem::new(code, message).hint(NOT_FOUND_HINT))
    }

    pub fn unavailable() -> Self {
        let problem = Problem::new(
            ErrorCode::ServiceUnavailable,
            "The service cannot store anything at the moment",
        );
        Self::new(problem.hint(
            "The request may have been stored. Look it up, or retry it with the same \
                 Idempotency-Key in a few seconds.",
        ))
        .retry_after(UNAVAILABLE_RETRY_SECONDS)
    }

    pub fn disk_reserved() -> Self {
        let problem = Problem::new(
            ErrorCode::ServiceUnavailable,
            "The service is short of disk space and takes no new payments or payouts",
        );
        Self::new(problem.hint("Nothing was stored. Send the same request again later."))
            .retry_after(DISK_RETRY_SECONDS)
    }

    /// A request that `rate` refuses.
    pub fn too_many_requests(rate: Rate) -> Self {
        let counted = match rate.scope {
            RateScope::Key => "with one key",
            RateScope::Address => "with a public key from one address",
            RateScope::Site => "with a public key from one /48 network",
            RateScope::PublicKeyTotal => "with one public key",
            RateScope::NoKeyAddress => "without an API key from one address",
            RateScope::NoKeySite => "without an API key from one /48 network",
            RateScope::Payment => "for the pages of one payment",
        };
        let message = format!(
            "Too many requests: at most {} in 60 seconds are allowed {counted}",
            rate.limit
        );
        let seconds = rate.retry_after.unwrap_or(1);
        let problem = Problem::new(ErrorCode::RateLimitExceeded, message);
        Self::new(problem.hint(format!("Wait {seconds} seconds before the next request.")))
            .retry_after(seconds)
    }

    pub fn too_slow() -> Self {
        let problem = Problem::new(ErrorCode::ServiceUnavailable, "The request timed out");
        Self::new(problem.hint(
            "It may have been executed. Send it again with the same Idempotency-Key, or look for its transaction.",
        ))
        .retry_after(UNAVAILABLE_RETRY_SECONDS)
    }

    pub fn internal() -> Self {
        let problem = Problem::new(ErrorCode::InternalError, "Something went wrong on our side");
        Self::new(problem.hint(
            "Send the request again later; give the X-Request-Id of this answer when you ask for help.",
        ))
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self::new(problem)
    }
}

/// Problems that one answer names. More would let a small request ask for a large answer.
pub const PROBLEMS: usize = 50;
const UNAVAILABLE_RETRY_SECONDS: u32 = 5;
/// Wait after a refusal for want of disk space, which an operator has to free.
const DISK_RETRY_SECONDS: u32 = 60;
const NOT_FOUND_HINT: &str =
    "An id is only known to the app and the environment (sandbox or live) that made it.";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors");
        let pages: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "README.md")
            .collect();
        let codes: BTreeSet<String> = ErrorCode::ALL
            .iter()
            .map(|code| format!("{}.md", code.as_str()))
            .collect();
        assert_eq!(pages, codes);
        let index = include_str!("../../docs/errors/README.md");
        for page in pages {
            assert!(
                index.contains(&format!("({page})")),
                "the index lacks {page}"
            );
        }
    }

    #[test]
    fn every_page_says_what_happened_and_what_to_do() {
        for code in ErrorCode::ALL {
            let page = code.page();
            assert!(
                page.starts_with(&format!("# {}\n", code.as_str())),
                "{code:?}"
            );
            assert!(
                page.contains(&format!("Status {}", code.status().as_u16())),
                "{code:?}"
            );
            assert!(page.contains("## What happened\n"), "{code:?}");
            assert!(page.contains("## What to do\n"), "{code:?}");
        }
    }

    #[test]
    fn what_is_missing_weighs_more_than_what_is_unfit() {
        let missing = Problem::new(ErrorCode::FieldRequired, "missing");
        let unfit = Problem::new(ErrorCode::EmailInvalid, "unfit");
        let both = ApiError::of(vec![unfit.clone(), missing]).unwrap();
        assert_eq!(both.status(), StatusCode::BAD_REQUEST);
        let one = ApiError::of(vec![unfit]).unwrap();
        assert_eq!(one.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(ApiError::of(Vec::new()).is_none());
    }

    #[test]
    fn a_problem_travels_with_its_type_and_without_what_it_does_not_have() {
        let problem = Problem::new(ErrorCode::EmailInvalid, "No.").at("customer.email");
        assert_eq!(
            serde_json::to_string(&problem).unwrap(),
            r#"{"type":"validation_error","code":"email_invalid","message":"No.","field":"customer.email"}"#
        );
    }
}
