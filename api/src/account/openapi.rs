//! The OpenAPI document of the account API, generated from the handlers and the contracts.

use axum::http::StatusCode;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::error::{ErrorCode, ErrorType};
use crate::merchant::schema::InitializePayoutRefusals;
use crate::openapi::{Failure, FailureError};
use crate::operator::openapi::{self, Rules};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Switchyard account API",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(Failure, FailureError, ErrorType)),
    tags(
        (name = "Own", description = "The sender: sessions and API tokens."),
        (name = "Transactions", description = "Payments and payouts."),
        (name = "Customers", description = "Customers and their personal data."),
        (name = "Payouts", description = "Orders of payouts."),
        (name = "Payment links", description = "Links on which anybody can pay."),
        (name = "Approvals", description = "Changes that a second person approves."),
        (name = "Keys", description = "API keys of apps."),
        (name = "Webhooks", description = "Webhooks, their deliveries and resending."),
        (name = "Routing", description = "Connections and routing rules, which operators change."),
        (name = "Settings", description = "Settings of apps."),
        (name = "Team", description = "Members of an account and their roles."),
        (name = "Audit", description = "Audit log of an account."),
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

/// Adds the common parts to each operation.
pub fn completed(document: OpenApi) -> OpenApi {
    let rules = Rules {
        scheme: SCHEME,
        codes,
        is_limited: |path| !path.ends_with("/sign-in"),
    };
    openapi::completed(document, &rules)
}

/// Codes of the errors of an operation, beside those of its parameters and its body.
fn codes(path: &str, method: &str, operation: &Operation) -> Vec<ErrorCode> {
    let tag = operation.tags.as_ref().and_then(|tags| tags.first());
    let tag = tag.map_or("", String::as_str);
    if path.ends_with("/sign-in") {
        return vec![ErrorCode::SignInRefused, ErrorCode::ResourceNotFound];
    }
    let mut codes = vec![ErrorCode::AccountTokenInvalid, ErrorCode::ResourceNotFound];
    let parts = || path.split('/');
    let is_of_user = parts().any(|part| ["tokens", "sessions"].contains(&part))
        || parts().any(|part| part == "me") && method != "GET";
    if path.contains("/apps/") || path.contains("/accounts/") || is_of_user {
        codes.extend([
            ErrorCode::RoleNotAllowed,
            ErrorCode::ActionNotInToken,
            ErrorCode::PersonNeeded,
            ErrorCode::ConfirmationNeeded,
        ]);
    }
    if method != "GET" {
        codes.extend(match tag {
            "Keys" | "Webhooks" => vec![ErrorCode::ResourceChanged, ErrorCode::LimitReached],
            "Transactions" => vec![ErrorCode::TransitionRefused],
            "Customers" => vec![ErrorCode::ResourceChanged],
            "Approvals" => of_payouts(&[ErrorCode::TransitionRefused]),
            "Payouts" => of_payouts(&[
                ErrorCode::SecondPersonNeeded,
                ErrorCode::LimitReached,
                ErrorCode::TransitionRefused,
            ]),
            "Payment links" => of_payment_links(),
            "Team" => vec![ErrorCode::TransitionRefused, ErrorCode::FieldInvalid],
            "Own" if path.contains("/me/") => vec![
                ErrorCode::ResourceChanged,
                ErrorCode::FieldInvalid,
                ErrorCode::TransitionRefused,
            ],
            _ => vec![ErrorCode::ResourceChanged, ErrorCode::FieldInvalid],
        });
    }
    codes
}

/// Codes of a change of a payment link: those of the fields of a payment, in the merchant API.
fn of_payment_links() -> Vec<ErrorCode> {
    vec![
        ErrorCode::ResourceChanged,
        ErrorCode::FieldInvalid,
        ErrorCode::FieldBlank,
        ErrorCode::FieldTooLong,
        ErrorCode::FieldHasControlCharacters,
        ErrorCode::AmountNotNumber,
        ErrorCode::AmountNotPositive,
        ErrorCode::AmountTooLarge,
        ErrorCode::AmountTooManyDecimals,
        ErrorCode::CurrencyUnknown,
        ErrorCode::UrlInvalid,
        ErrorCode::MetadataTooManyKeys,
        ErrorCode::MetadataKeyInvalid,
        ErrorCode::MetadataValueTooLong,
        ErrorCode::MethodUnknown,
        ErrorCode::MethodCurrencyMismatch,
    ]
}

/// Codes of an order of a payout: those of the merchant API.
fn of_payouts(more: &[ErrorCode]) -> Vec<ErrorCode> {
    let of_order = InitializePayoutRefusals::CODES.iter().copied();
    let of_keys = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let mut codes: Vec<_> = of_order
        .filter(|code| !of_keys.contains(&code.status()))
        .collect();
    codes.extend([ErrorCode::ResourceChanged, ErrorCode::FieldInvalid]);
    codes.extend(more);
    codes
}

const SCHEME: &str = "account_token";
const TOKEN: &str = "An API token of a user (`Authorization: Bearer switchyard_ut_…`), or the token \
                     of a session.";

/// Rules of all operations, in Markdown.
const INTRODUCTION: &str = "\
HTTP API of the users of an account: what the console shows and does. The command line uses it: \
`switchyard account <command> --json` prints the responses unchanged. It is served where the \
console is (`console.public_url`).

```sh
curl -s \"$SWITCHYARD_URL/account/v1/apps\" -H \"Authorization: Bearer $SWITCHYARD_ACCOUNT_TOKEN\"
```

## Tokens
Create an API token in the console (**Account**, then **API tokens**), or with `POST \
/account/v1/tokens`. It has a list of actions, an expiry of at most 366 days, and at most what the \
role of its user includes: when the user loses an action, the token loses it too, and a token \
without actions ends. It is shown once and stored as a hash.

## People
Each operation names its action; the table of roles says which role includes it. A token never \
approves, changes the team or creates tokens: for that a person signs in with `POST \
/account/v1/sign-in` and sends the token of the session. Keys, payouts, approvals, roles and \
secrets need a session whose factors were given within the last 10 minutes.

An account in which the user has no role does not exist for them: 404.

## Responses
Each response is `{message, data, errors}`, with `success: true` if the request succeeded. \
Otherwise `errors` lists all problems, each with a `type`, a stable `code`, a `message`, and \
often a `field` and a `hint`. [All codes](/account/docs/errors). The header `X-Request-Id` \
identifies the request.

## Limits
A token or a session may make as many requests in any 60 seconds as a secret key. \
`X-RateLimit-Limit`, `-Remaining` and `-Reset` say how many are left; beyond them the answer is \
429 with `Retry-After`. A body has at most 64 KiB.

## Changes
A `PATCH` leaves omitted fields unchanged; `null` removes a value. Unknown fields and unknown \
query parameters are refused. Each change, each refusal and each reading of a secret has an entry \
in the audit log.
";
