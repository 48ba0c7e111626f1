//! The OpenAPI document: generated from the handlers and the types that they answer, served at
//! `/openapi.json`.

use std::collections::BTreeMap;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response as HttpResponse};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr};
use utoipa::{Modify, OpenApi as _, ToSchema};

use crate::envelope::Page;
use crate::error::{ErrorCode, ErrorType};

/// An answer that went well.
#[derive(ToSchema)]
#[expect(dead_code, reason = "described in the OpenAPI document, never filled")]
pub struct Success<T: ToSchema> {
    #[schema(min_length = 1)]
    message: String,
    data: T,
    #[schema(schema_with = null)]
    errors: (),
    /// Always true.
    success: bool,
}

/// A page of a list.
#[derive(ToSchema)]
#[expect(dead_code, reason = "described in the OpenAPI document, never filled")]
pub struct SuccessPage<T: ToSchema> {
    #[schema(min_length = 1)]
    message: String,
    data: Vec<T>,
    #[schema(schema_with = null)]
    errors: (),
    /// Always true.
    success: bool,
    meta: Page,
}

/// An answer that refuses.
#[derive(ToSchema)]
#[expect(dead_code, reason = "described in the OpenAPI document, never filled")]
pub struct Failure {
    /// The first error's.
    #[schema(min_length = 1)]
    message: String,
    #[schema(schema_with = empty)]
    data: (),
    /// All problems, in the order of the fields.
    #[schema(min_items = 1)]
    errors: Vec<FailureError>,
}

/// One thing that is wrong.
#[derive(ToSchema)]
#[expect(dead_code, reason = "described in the OpenAPI document, never filled")]
pub struct FailureError {
    r#type: ErrorType,
    /// A stable word; `/docs/errors/<code>` says what happened and what to do.
    #[schema(schema_with = code)]
    code: (),
    #[schema(min_length = 1)]
    message: String,
    /// Path of the field, such as `customer.email`.
    #[schema(required = false, nullable = false)]
    field: String,
    /// Remedy.
    #[schema(required = false, nullable = false)]
    hint: String,
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Switchyard merchant API",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(Failure, FailureError, ErrorType)),
    tags(
        (name = "Payments", description = "Money in, by a hosted page."),
        (name = "Payouts", description = "Money out."),
        (name = "Methods", description = "How customers pay and recipients are paid."),
    ),
    modifiers(&Keys),
)]
struct Head;

struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        for (name, says) in [
            (
                "secret_key",
                "A secret key, for servers only: `Authorization: Bearer switchyard_sk_test_…`. It may do everything.",
            ),
            (
                "public_key",
                "A public key, for pages and apps: `Authorization: Bearer switchyard_pk_test_…`. It may only initialize payments.",
            ),
        ] {
            let mut scheme = Http::new(HttpAuthScheme::Bearer);
            scheme.description = Some(says.to_owned());
            components.add_security_scheme(name, SecurityScheme::Http(scheme));
        }
    }
}

/// The document's head, before any route is in it.
pub fn head() -> OpenApi {
    let mut head = Head::openapi();
    head.info.version = "1".to_owned();
    head.info.description = Some(INTRODUCTION.to_owned());
    head
}

/// Names the headers that every answer has, and those of calls with a key.
pub fn with_headers(mut document: OpenApi) -> OpenApi {
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post];
        for operation in operations.into_iter().flatten() {
            let has_key = operation
                .tags
                .as_ref()
                .is_some_and(|tags| tags.iter().any(|tag| tag != "Methods"));
            for (status, response) in &mut operation.responses.responses {
                if let RefOr::T(response) = response {
                    name_headers(response, has_key && status != "401", status == "201");
                }
            }
        }
    }
    document
}

pub fn name_headers(response: &mut Response, is_limited: bool, is_replayable: bool) {
    let mut name = |header: &str, kind: Type, says: &str| {
        let schema = ObjectBuilder::new().schema_type(SchemaType::Type(kind));
        let described = HeaderBuilder::new()
            .schema(Some(schema))
            .description(Some(says));
        response
            .headers
            .insert(header.to_owned(), RefOr::T(described.build()));
    };
    name(
        "X-Request-Id",
        Type::String,
        "Names this request, for whoever asks for help.",
    );
    if is_limited {
        name(
            "X-RateLimit-Limit",
            Type::Integer,
            "Requests that the key may make in any 60 seconds.",
        );
        name(
            "X-RateLimit-Remaining",
            Type::Integer,
            "How many of them are left now.",
        );
        name(
            "X-RateLimit-Reset",
            Type::Integer,
            "Seconds until one more is left.",
        );
    }
    if is_replayable {
        name(
            "Idempotent-Replayed",
            Type::String,
            "`true` when the same request was answered before.",
        );
    }
}

/// Serves the document, which does not change while the program runs.
pub fn serve(document: &'static str) -> HttpResponse {
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, document).into_response()
}

/// The answers that refuse for these reasons, one a status.
pub fn refusals(codes: &[ErrorCode]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in codes {
        by_status
            .entry(code.status().as_u16())
            .or_default()
            .push(code.as_str());
    }
    let answer = |(status, words): (u16, Vec<&str>)| {
        let description = format!("Codes: {}.", words.join(", "));
        (status.to_string(), RefOr::T(refusal(status, description)))
    };
    by_status.into_iter().map(answer).collect()
}

fn refusal(status: u16, description: String) -> Response {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Failure")))
        .build();
    let mut response = ResponseBuilder::new()
        .description(description)
        .content("application/json", content);
    if matches!(status, 409 | 429 | 503) {
        let seconds = HeaderBuilder::new()
            .schema(Some(
                ObjectBuilder::new()
                    .schema_type(SchemaType::Type(Type::Integer))
                    .minimum(Some(0)),
            ))
            .description(Some("Seconds after which to try again."));
        response = response.header("Retry-After", seconds.build());
    }
    response.build()
}

pub fn null() -> Schema {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Null))
        .into()
}

fn empty() -> Schema {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Object))
        .max_properties(Some(0))
        .into()
}

fn code() -> Schema {
    let words = ErrorCode::ALL.iter().map(|code| code.as_str());
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .enum_values(Some(words))
        .into()
}

/// Rules that all calls share, in Markdown.
const INTRODUCTION: &str = "\
Payments by a hosted page, and payouts. Make a payment with `POST /v1/payments/initialize`, send the customer to its `checkout_url`, and \
deliver when, and only when, `GET /v1/payments/{paymentId}/verify` says `success`. Amounts are in major units: 25.5 is 25.50 dollars.

## Keys
Send `Authorization: Bearer <key>`. The key decides the environment, `sandbox` or `live`; what is made in one does not exist in the other. \
A secret key may do everything and belongs on a server. A public key may only initialize payments.

## Answers
Every answer is `{message, data, errors}`, and has `success: true` when it went well. When it did not, `errors` lists all that is wrong, \
each with a `type`, a stable `code`, a `message`, and often a `field` and a `hint`. [What each code means](/docs/errors). The header \
`X-Request-Id` names the request, for whoever asks for help.

## Limits
A secret key may make 120 requests in any 60 seconds, and a public key as many from each client address, unless the operator has set \
other numbers. `X-RateLimit-Limit`, `-Remaining` and `-Reset` \
say how many are left; beyond them the answer is 429 with `Retry-After`. A body has at most 64 KiB.

## The same request twice
With an `Idempotency-Key` of yours, a request that is sent again makes nothing new: it is answered as the first time, with \
`Idempotent-Replayed: true`. The same key with another body is refused.

## Webhooks
`payment.initiated`, `payment.success`, `payment.failed`, `payment.cancelled`, `payout.initiated`, `payout.success` and \
`payout.failed` are sent to your webhooks as `POST` with `{event, data}`. `X-Service-Signature` is the lower-case hexadecimal HMAC-SHA256 \
of the raw body, keyed with the webhook's secret. Answer 200 within 3 seconds; anything else is tried again, ten minutes apart, up to \
three times. Then verify.
";
