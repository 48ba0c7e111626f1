//! The OpenAPI document of the operator API, generated from the handlers and the contract.
//!
//! The handlers describe what is their own; parameters of the path, errors, headers and the token
//! are the same for all of them and are added here.

use std::collections::BTreeMap;

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{OpenApi, Ref, RefOr, Required};
use utoipa::{OpenApi as _, ToSchema};

use super::contract::transactions::{TransactionPage, TransactionSummary};
use crate::error::{ErrorCode, ErrorType};
use crate::openapi::{Failure, FailureError, name_headers, null, refusals};

/// Page of transactions.
#[derive(ToSchema)]
#[expect(dead_code, reason = "described in the OpenAPI document, never filled")]
pub struct SuccessTransactions {
    #[schema(min_length = 1)]
    message: String,
    data: Vec<TransactionSummary>,
    #[schema(schema_with = null)]
    errors: (),
    /// Always true.
    success: bool,
    meta: TransactionPage,
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Switchyard operator API",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(Failure, FailureError, ErrorType)),
    tags(
        (name = "Accounts", description = "Organisations of merchants."),
        (name = "Apps", description = "Integrations of merchants, with their settings."),
        (name = "Keys", description = "API keys of apps."),
        (name = "Connections", description = "Gateways with the credentials of an app."),
        (name = "Callbacks", description = "Callbacks of providers."),
        (name = "Gateways", description = "Gateways, their versions and files."),
        (name = "Routing", description = "Rules, simulations and health."),
        (name = "Rates", description = "Exchange rates."),
        (name = "Transactions", description = "Payments and payouts."),
        (name = "Cases", description = "Manual review."),
        (name = "Webhooks", description = "Webhooks, their deliveries and replays."),
        (name = "Tokens", description = "Operator tokens."),
        (name = "Hold", description = "The hold after a restore."),
    ),
)]
struct Head;

/// The document's head, before any route is in it.
pub fn head() -> OpenApi {
    let mut head = Head::openapi();
    head.info.version = "1".to_owned();
    head.info.description = Some(INTRODUCTION.to_owned());
    let mut scheme = Http::new(HttpAuthScheme::Bearer);
    scheme.description = Some(TOKEN.to_owned());
    let components = head.components.get_or_insert_default();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme));
    head
}

/// Description that all operations of an API share.
pub struct Rules {
    /// Name of the security scheme of the token.
    pub scheme: &'static str,
    /// Codes of the errors of an operation (path, method), beside those of its parameters and its
    /// body.
    pub codes: fn(&str, &str, &Operation) -> Vec<ErrorCode>,
    /// Whether the responses of a path say how many requests are left.
    pub is_limited: fn(&str) -> bool,
}

/// Rules of the operator API.
pub const RULES: Rules = Rules {
    scheme: SCHEME,
    codes: of_operators,
    is_limited: |_| false,
};

/// Adds the common parts to each operation.
pub fn completed(mut document: OpenApi, rules: &Rules) -> OpenApi {
    let mut shared = BTreeMap::new();
    let schemas = document.components.as_ref().map(|all| all.schemas.clone());
    let schemas = schemas.unwrap_or_default();
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            complete(path, operation, rules);
            mark_optional_body(operation, &schemas);
            let mut codes = (rules.codes)(path, method, operation);
            codes.extend(of_request(operation));
            codes.sort_by_key(|code| code.as_str());
            codes.dedup();
            let is_limited = (rules.is_limited)(path);
            add_refusals(codes, operation, is_limited, &mut shared);
        }
    }
    let components = document.components.get_or_insert_default();
    components.responses.extend(shared);
    document
}

/// The operations of a path, with their methods.
pub fn operations(item: &mut PathItem) -> Vec<(&'static str, &mut Operation)> {
    let all = [
        ("GET", &mut item.get),
        ("PUT", &mut item.put),
        ("POST", &mut item.post),
        ("DELETE", &mut item.delete),
        ("PATCH", &mut item.patch),
    ];
    let present = all
        .into_iter()
        .filter_map(|(method, operation)| operation.as_mut().map(|operation| (method, operation)));
    present.collect()
}

/// Adds the parameters of the path, the token and the headers.
fn complete(path: &str, operation: &mut Operation, rules: &Rules) {
    let names = path.split(['{', '}']).skip(1).step_by(2);
    let in_path: Vec<_> = names.map(|name| RefOr::T(parameter(name))).collect();
    let parameters = operation.parameters.get_or_insert_default();
    parameters.splice(0..0, in_path);
    operation.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>(
        rules.scheme,
        [],
    )]);
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            name_headers(response, (rules.is_limited)(path), false);
        }
    }
}

/// Marks a body without a required field as optional: an empty body is `{}`.
fn mark_optional_body(operation: &mut Operation, schemas: &BTreeMap<String, RefOr<Schema>>) {
    let Some(RefOr::T(body)) = &mut operation.request_body else {
        return;
    };
    let is_optional = body.content.values().all(|content| {
        let RefOr::T(content) = content else {
            return false;
        };
        let Some(RefOr::Ref(name)) = &content.schema else {
            return false;
        };
        let name = name.ref_location.rsplit('/').next().unwrap_or_default();
        matches!(
            schemas.get(name),
            Some(RefOr::T(Schema::Object(object))) if object.required.is_empty()
        )
    });
    if is_optional {
        body.required = Some(Required::False);
    }
}

/// Codes of the errors of an operation of operators.
fn of_operators(path: &str, method: &str, operation: &Operation) -> Vec<ErrorCode> {
    let mut codes = vec![ErrorCode::OperatorTokenInvalid];
    // A quote needs rates that connect the two currencies, a fetch the URL of a feed.
    let needs_rates = path.ends_with("/rates/quote") || path.ends_with("/rates/fetch");
    if path.contains('{') || needs_rates {
        codes.push(ErrorCode::ResourceNotFound);
    }
    if method != "GET" {
        codes.extend(of_changes(operation));
    }
    codes
}

/// Codes of the errors of every operation, of its parameters and its body.
fn of_request(operation: &Operation) -> Vec<ErrorCode> {
    let mut codes = vec![
        ErrorCode::RateLimitExceeded,
        ErrorCode::InternalError,
        ErrorCode::ServiceUnavailable,
    ];
    let parameters = operation.parameters.iter().flatten();
    let is_query = |parameter: &RefOr<Parameter>| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Query,
        RefOr::Ref(_) => false,
    };
    if parameters.into_iter().any(is_query) {
        codes.extend([ErrorCode::ParameterInvalid, ErrorCode::FieldInvalid]);
    }
    if operation.request_body.is_some() {
        let of_body = [
            ErrorCode::MalformedJson,
            ErrorCode::BodyTooLarge,
            ErrorCode::FieldInvalid,
        ];
        codes.extend(of_body);
    }
    codes
}

/// Adds an error response for each status. A response with one code is shared by all operations.
fn add_refusals(
    codes: Vec<ErrorCode>,
    operation: &mut Operation,
    is_limited: bool,
    shared: &mut BTreeMap<String, RefOr<Response>>,
) {
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in codes {
        by_status
            .entry(code.status().as_u16())
            .or_default()
            .push(code);
    }
    for codes in by_status.into_values() {
        for (status, mut response) in refusals(&codes) {
            if let RefOr::T(response) = &mut response {
                name_headers(response, is_limited && status != "401", false);
            }
            let response = match codes.as_slice() {
                [one] => {
                    shared.insert(one.as_str().to_owned(), response);
                    RefOr::Ref(Ref::from_response_name(one.as_str()))
                }
                _ => response,
            };
            operation.responses.responses.insert(status, response);
        }
    }
}

/// Codes of a subject for its changes.
fn of_changes(operation: &Operation) -> Vec<ErrorCode> {
    let tag = operation.tags.as_ref().and_then(|tags| tags.first());
    match tag.map_or("", String::as_str) {
        "Keys" => vec![ErrorCode::ResourceChanged, ErrorCode::LimitReached],
        "Webhooks" => vec![ErrorCode::ResourceChanged, ErrorCode::LimitReached],
        "Connections" => vec![
            ErrorCode::ResourceChanged,
            ErrorCode::LimitReached,
            ErrorCode::ConnectionInUse,
        ],
        "Rates" => vec![
            ErrorCode::ResourceNotFound,
            ErrorCode::ResourceChanged,
            ErrorCode::LimitReached,
        ],
        "Gateways" => vec![
            ErrorCode::GatewayRefused,
            ErrorCode::GatewayNeedsConsent,
            ErrorCode::GatewayNeedsApproval,
            ErrorCode::GatewayApprovalRefused,
            ErrorCode::GatewayStateConflict,
            ErrorCode::BodyIncomplete,
        ],
        "Transactions" => vec![ErrorCode::TransitionRefused, ErrorCode::SecondPersonNeeded],
        "Cases" | "Hold" => vec![ErrorCode::TransitionRefused],
        "Routing" | "Tokens" => {
            vec![ErrorCode::ResourceNotFound, ErrorCode::ResourceChanged]
        }
        _ => vec![ErrorCode::ResourceChanged],
    }
}

fn parameter(name: &str) -> Parameter {
    let description = match name {
        "from" | "to" => "Code of a currency.".to_owned(),
        "gateway" => "Name of the gateway.".to_owned(),
        "sha256" => "SHA-256 of the file.".to_owned(),
        "environment" => "`sandbox` or `live`.".to_owned(),
        name => format!("Id of the {name}."),
    };
    let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(text))
        .build()
}

const SCHEME: &str = "operator_token";
const TOKEN: &str = "An operator token: `Authorization: Bearer switchyard_op_…`.";

/// Rules of all operations, in Markdown.
const INTRODUCTION: &str = "\
HTTP API of the operators of an installation. The command line uses it: `switchyard <command> \
--json` prints the responses unchanged.

A production server serves it on the operators' listener only (`server.admin_listen`, by default \
http://127.0.0.1:8081). A development server has one listener for everything.

```sh
curl -s \"$SWITCHYARD_URL/operator/v1/apps\" -H \"Authorization: Bearer $SWITCHYARD_TOKEN\"
```

## Tokens
Send `Authorization: Bearer <operator token>`. Create a token with `switchyard operator-token \
--name ada` (put name and hash into the settings) or, on a running server, with `switchyard \
tokens create`. Names are unique. The response that creates a key or a token is the only one \
that shows it. Credentials of connections are never shown, and a webhook's secret only on \
request.

## Responses
Each response is `{message, data, errors}`, with `success: true` if the request succeeded. \
Otherwise `errors` lists all problems, each with a `type`, a stable `code`, a `message`, and \
often a `field` and a `hint`. [All codes](/operator/docs/errors). The header `X-Request-Id` \
identifies the request.

## Changes
A `PATCH` leaves omitted fields unchanged; `null` removes a value. Unknown fields and unknown \
query parameters are refused.

Each change, each reading of a webhook's secret and each export has an audit line in the log: \
`operator action` with `operator.name`, `client.address`, `audit.action` (`change`, `read a \
secret` or `export transactions`), `audit.object` (the path), `audit.fields` (names of the \
given fields, never values), `audit.created` (id of the created object), `http.method`, \
`http.status` and the time.
";

#[cfg(test)]
mod tests {
    use super::super::tests::World;

    /// Each operation is probed with a token; the handlers refuse the requests for other reasons.
    #[tokio::test]
    async fn the_router_has_each_operation_of_the_document_and_no_other_method() {
        let world = World::new().await;
        let token = world.keys.operator_token.expose().clone();
        let mut document = crate::operator::document();
        let mut probed = 0;
        for (path, item) in &mut document.paths.paths {
            let described: Vec<_> = super::operations(item)
                .into_iter()
                .map(|(method, _)| method)
                .collect();
            let path = path.strip_prefix(crate::operator::PREFIX).unwrap();
            let names = path.split(['{', '}']).enumerate();
            let filled = names.map(|(at, part)| if at % 2 == 1 { "nothing" } else { part });
            let filled: String = filled.collect();
            for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] {
                let answer = world.ask(method, &filled, &token, None).await;
                let is_routed = answer.status() != 405;
                assert_eq!(is_routed, described.contains(&method), "{method} {path}");
                if answer.status() == 404 {
                    // An unknown path has no body here: the fallback is outside of this router.
                    let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await;
                    assert!(!body.unwrap().is_empty(), "{method} {path} has no route");
                }
                probed += usize::from(is_routed);
            }
        }
        assert!(probed > 60, "{probed}");
    }

    #[test]
    fn every_route_is_described() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operator");
        let mut folders = vec![folder];
        let mut described = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("\nmod tests {").next().unwrap_or_default();
                described += code.matches("#[utoipa::path(").count();
                assert!(!code.contains(".route("), "{}", path.display());
            }
        }
        let mut document = crate::operator::document();
        let paths = document.paths.paths.values_mut();
        let operations: usize = paths.map(|item| super::operations(item).len()).sum();
        assert_eq!(operations, described);
    }
}
