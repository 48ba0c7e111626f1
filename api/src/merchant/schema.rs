//! The requests as the OpenAPI document describes them, and the refusals that each kind of call can
//! answer.
//!
//! Requests are parsed by [`super::request`], which reports all errors at once. These types only
//! describe the requests; no value of them is created.
#![expect(dead_code, reason = "described in the OpenAPI document, never filled")]

use std::collections::BTreeMap;

use switchyard_core::money::Currency;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{
    ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};

use crate::error::ErrorCode;
use crate::openapi::refusals;

/// A payment to be made.
#[derive(ToSchema)]
pub struct InitializePayment {
    /// Major units: 25.50 USD is 25.5. At most 10^12, with no more decimals than the currency has.
    #[schema(schema_with = amount)]
    amount: (),
    /// ISO 4217, in capitals.
    #[schema(schema_with = currency)]
    currency: (),
    #[schema(example = "Order 1234", min_length = 1, max_length = 255)]
    description: String,
    /// Absolute http or https URL to which the customer returns after the payment.
    #[schema(
        example = "https://shop.example/done",
        pattern = "^[hH][tT][tT][pP][sS]?:",
        max_length = 2048
    )]
    return_url: String,
    customer: NewCustomer,
    /// The merchant's own keys and values, all strings; `[]` is as good as `{}`.
    #[schema(schema_with = metadata)]
    metadata: Option<()>,
    /// Codes of the offered payment methods. Default: all available ones.
    #[schema(example = json!(["card_usd"]))]
    methods: Option<Vec<String>>,
    /// Only customers of this country (ISO 3166-1 alpha-2) may pay. Not together with
    /// `restricted_phone`.
    #[schema(example = "US", pattern = "^([A-Za-z]{2})?$")]
    restrict_country_code: Option<String>,
    #[schema(schema_with = restricted_phone)]
    restricted_phone: Option<()>,
    /// Seconds that the payment may wait for its payer: 5 minutes to 90 days. Without it, the
    /// default of the installation applies.
    #[schema(example = 3600, minimum = 300, maximum = 7_776_000)]
    expires_in: Option<u32>,
}

/// A payout to be made.
#[derive(ToSchema)]
pub struct InitializePayout {
    /// Major units: 25.50 USD is 25.5. At most 10^12, with no more decimals than the currency has.
    #[schema(schema_with = amount)]
    amount: (),
    /// ISO 4217, in capitals.
    #[schema(schema_with = currency)]
    currency: (),
    #[schema(example = "Salary", min_length = 1, max_length = 255)]
    description: String,
    /// Code of the payout method.
    #[schema(example = "switchyard_payout_demo", min_length = 1, max_length = 255)]
    method: String,
    customer: NewCustomer,
    /// The merchant's own keys and values, all strings; `[]` is as good as `{}`.
    #[schema(schema_with = metadata)]
    metadata: Option<()>,
    /// Fields of the recipient that the method needs, as in `GET /utils/payout/methods`; each may
    /// also be at the top level.
    #[schema(schema_with = recipient)]
    recipient: Option<()>,
}

/// Customer: payer of a payment, or recipient of a payout.
#[derive(ToSchema)]
pub struct NewCustomer {
    #[schema(example = "ada@example.com", max_length = 254, pattern = "@")]
    email: String,
    #[schema(example = "Ada", min_length = 1, max_length = 100)]
    first_name: String,
    #[schema(example = "Lovelace", min_length = 1, max_length = 100)]
    last_name: String,
    /// Stored in E.164 when it parses, as given when not.
    #[schema(schema_with = phone)]
    phone: Option<()>,
    #[schema(max_length = 255)]
    address: Option<String>,
    #[schema(max_length = 100)]
    city: Option<String>,
    #[schema(max_length = 100)]
    state: Option<String>,
    /// ISO 3166-1 alpha-2.
    #[schema(example = "US", pattern = "^([A-Za-z]{2})?$")]
    country: Option<String>,
    #[schema(max_length = 20)]
    zip: Option<String>,
}

fn object(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(kind))
}

fn currency() -> Schema {
    let codes = Currency::all().map(Currency::code);
    object(Type::String)
        .enum_values(Some(codes))
        .examples([serde_json::json!("USD")])
        .into()
}

/// Number grammar of JSON, as a text.
fn amount() -> Schema {
    let number = object(Type::Number)
        .exclusive_minimum(Some(0))
        .maximum(Some(1_000_000_000_000_i64));
    let text = object(Type::String).pattern(Some(
        r"^\s*(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*$",
    ));
    OneOfBuilder::new()
        .item(number)
        .item(text)
        .examples([serde_json::json!(25)])
        .into()
}

fn phone() -> Schema {
    let text = object(Type::String).max_length(Some(40));
    let integer = object(Type::Integer).minimum(Some(0));
    let null = object(Type::Null);
    OneOfBuilder::new()
        .item(text)
        .item(integer)
        .item(null)
        .examples([serde_json::json!("+1 415 555 2671")])
        .into()
}

fn metadata() -> Schema {
    let values = object(Type::String).max_length(Some(500));
    let members = object(Type::Object)
        .additional_properties(Some(values))
        .max_properties(Some(50));
    let empty = ArrayBuilder::new()
        .items(object(Type::String))
        .max_items(Some(0));
    OneOfBuilder::new()
        .item(members)
        .item(empty)
        .item(object(Type::Null))
        .into()
}

fn restricted_phone() -> Schema {
    let phone = object(Type::Object)
        .property("number", digits())
        .property("country_code", object(Type::String).min_length(Some(1)))
        .required("number")
        .required("country_code")
        .description(Some("Only this phone number may pay."));
    OneOfBuilder::new()
        .item(phone)
        .item(object(Type::Null))
        .into()
}

fn recipient() -> Schema {
    let fields =
        object(Type::Object).examples([serde_json::json!({ "account_number": "4149518161" })]);
    let empty = ArrayBuilder::new()
        .items(object(Type::String))
        .max_items(Some(0));
    OneOfBuilder::new()
        .item(fields)
        .item(empty)
        .item(object(Type::Null))
        .into()
}

/// A number as a text or as an integer.
fn digits() -> OneOfBuilder {
    let text = object(Type::String)
        .min_length(Some(1))
        .max_length(Some(40));
    OneOfBuilder::new()
        .item(text)
        .item(object(Type::Integer).minimum(Some(0)))
}

macro_rules! refusal_sets {
    ($($(#[$doc:meta])* $name:ident = [$($code:ident),* $(,)?];)*) => {
        $(
            $(#[$doc])*
            pub struct $name;

            impl $name {
                pub const CODES: &[ErrorCode] = &[$(ErrorCode::$code),*];
            }

            impl utoipa::IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    refusals(Self::CODES)
                }
            }
        )*
    };
}

refusal_sets! {
    /// Errors of initializing a payment.
    InitializePaymentRefusals = [
        MalformedJson, BodyNotObject, BodyIncomplete, FieldDuplicated, FieldRequired, NoMethodEnabled,
        ApiKeyMissing, ApiKeyInvalid, IdempotencyInFlight, BodyTooLarge, UnsupportedMediaType,
        FieldWrongType, FieldBlank, FieldTooLong, FieldHasControlCharacters, AmountNotNumber, AmountNotPositive, AmountTooLarge,
        AmountTooManyDecimals, CurrencyUnknown, UrlInvalid, EmailInvalid, PhoneInvalid, CountryUnknown, MetadataNotObject,
        MetadataTooManyKeys, MetadataKeyInvalid, MetadataValueNotString, MetadataValueTooLong, MethodUnknown, MethodCurrencyMismatch,
        AmountNotServed,
        MethodNotEnabled, RestrictionConflict, RestrictionUnservable, RecipientFieldInvalid, IdempotencyKeyInvalid,
        IdempotencyBodyDiffers, PhoneCountryMismatch, ExpiresInOutOfRange, RateLimitExceeded, InternalError, ServiceUnavailable,
        MethodUnavailable,
    ];
    /// Errors of initializing a payout.
    InitializePayoutRefusals = [
        MalformedJson, BodyNotObject, BodyIncomplete, FieldDuplicated, FieldRequired, NoMethodEnabled,
        ApiKeyMissing, ApiKeyInvalid, PublicKeyNotAllowed, IdempotencyInFlight, BodyTooLarge, UnsupportedMediaType,
        FieldWrongType, FieldBlank, FieldTooLong, FieldHasControlCharacters, AmountNotNumber, AmountNotPositive, AmountTooLarge,
        AmountTooManyDecimals, CurrencyUnknown, UrlInvalid, EmailInvalid, PhoneInvalid, CountryUnknown, MetadataNotObject,
        MetadataTooManyKeys, MetadataKeyInvalid, MetadataValueNotString, MetadataValueTooLong, MethodUnknown, MethodCurrencyMismatch,
        AmountNotServed,
        MethodNotEnabled, RestrictionConflict, RestrictionUnservable, RecipientFieldInvalid, IdempotencyKeyInvalid,
        IdempotencyBodyDiffers, PhoneCountryMismatch, RateLimitExceeded, PayoutLimitReached, InternalError, ServiceUnavailable,
        MethodUnavailable,
    ];
    /// Errors of retrieving a transaction.
    ReadRefusals = [
        ApiKeyMissing, ApiKeyInvalid, PublicKeyNotAllowed, PaymentNotFound, PayoutNotFound, RateLimitExceeded, InternalError,
        ServiceUnavailable,
    ];
    /// Errors of marking a payment as processed.
    ProcessRefusals = [
        ApiKeyMissing, ApiKeyInvalid, PublicKeyNotAllowed, PaymentNotFound, TransactionChanged, NotSuccessful, RateLimitExceeded,
        InternalError, ServiceUnavailable,
    ];
    /// Errors of a list.
    ListRefusals = [
        ApiKeyMissing, ApiKeyInvalid, PublicKeyNotAllowed, ParameterInvalid, ParameterUnknown,
        RateLimitExceeded, InternalError, ServiceUnavailable,
    ];
    /// Errors of a route without a key.
    OpenRefusals = [InternalError];
}
