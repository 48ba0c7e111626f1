//! The addresses, and the checks behind them.

use axum::extract::{Path, Query, State as Shares};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};

use super::form::{self, Form};
use super::{KEY, Shared, State, lock};

/// Status and body.
pub(super) type Answer = (u16, Value);
type Pairs = Query<Vec<(String, String)>>;

pub(super) fn router(shared: Shared) -> Router {
    Router::new()
        .route("/v1/account", get(account))
        .route(
            "/v1/checkout/sessions",
            post(make_session).get(list_sessions),
        )
        .route("/v1/checkout/sessions/{id}", get(show_session))
        .route("/v1/checkout/sessions/{id}/expire", post(expire_session))
        .route("/v1/payment_intents/{id}", get(show_payment))
        .route("/v1/refunds", post(make_refund).get(list_refunds))
        .route("/v1/refunds/{id}", get(show_refund))
        .layer(middleware::from_fn_with_state(shared.clone(), at_the_door))
        .with_state(shared)
}

async fn at_the_door(
    Shares(shared): Shares<Shared>,
    request: axum::extract::Request,
    next: middleware::Next,
) -> Response {
    let line = format!("{} {}", request.method(), request.uri().path());
    lock(&shared).requests.push(line);
    let given = request
        .headers()
        .get("authorization")
        .map(|value| value.as_bytes());
    if given != Some(format!("Bearer {KEY}").as_bytes()) {
        let error = json!({ "type": "invalid_request_error", "message": "Invalid API Key provided: sk_test_*****" });
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": error }))).into_response();
    }
    next.run(request).await
}

async fn account(Shares(shared): Shares<Shared>) -> Response {
    if !lock(&shared).may_see_account {
        let error = json!({ "type": "invalid_request_error", "message": "The provided key does not have the required permissions." });
        return answer((403, json!({ "error": error })));
    }
    answer((
        200,
        json!({
            "id": "acct_1", "object": "account", "settings": { "dashboard": { "display_name": "Simulated Ltd" } },
        }),
    ))
}

async fn make_session(
    Shares(shared): Shares<Shared>,
    headers: HeaderMap,
    body: String,
) -> Response {
    once(
        &shared,
        "/v1/checkout/sessions",
        &headers,
        &body,
        |state, form| match refuse(state, form) {
            Some(refusal) => refusal,
            None => (200, state.open(form.clone())),
        },
    )
}

async fn expire_session(
    Shares(shared): Shares<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let path = format!("/v1/checkout/sessions/{id}/expire");
    once(&shared, &path, &headers, &body, |state, _| {
        match state.session(&id).map(|session| session.status) {
            Some("open") => {
                state.expire(&id);
                let session = state.session(&id).map(|session| session.shown(false));
                (200, session.unwrap_or_default())
            }
            Some(status) => {
                let message = format!(
                    "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout Session has a status of {status}."
                );
                error(
                    400,
                    json!({ "type": "invalid_request_error", "message": message }),
                )
            }
            None => invalid(
                404,
                "resource_missing",
                &format!("No such checkout.session: {id}"),
            ),
        }
    })
}

async fn make_refund(Shares(shared): Shares<Shared>, headers: HeaderMap, body: String) -> Response {
    once(&shared, "/v1/refunds", &headers, &body, |state, form| {
        state.make_refund(form)
    })
}

/// Does what a request asks for once for each idempotency key, and answers the same again.
fn once(
    shared: &Shared,
    path: &str,
    headers: &HeaderMap,
    body: &str,
    act: impl FnOnce(&mut State, &Form) -> Answer,
) -> Response {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let is_form = header("content-type").starts_with("application/x-www-form-urlencoded");
    let Some(form) = form::read(body).filter(|_| is_form || body.is_empty()) else {
        return answer(invalid(400, "parameter_unknown", "the body is no form"));
    };
    let key = header("idempotency-key").to_owned();
    if key.len() > 255 {
        return answer(error(
            400,
            json!({ "type": "idempotency_error", "message": "The key is too long." }),
        ));
    }
    let mut state = lock(shared);
    if state.held.contains(&key) {
        let said = json!({
            "type": "idempotency_error", "code": "idempotency_key_in_use", "message": "Another request is in progress.",
        });
        return answer(error(409, said));
    }
    let asked = format!("{path} {form:?}");
    if let Some((before, status, kept)) = state.answered.get(&key) {
        if *before != asked {
            let message = "Keys for idempotent requests can only be used with the same parameters they were first used with.";
            return answer(error(
                400,
                json!({ "type": "idempotency_error", "message": message }),
            ));
        }
        let mut response = answer((*status, kept.clone()));
        let yes = axum::http::HeaderValue::from_static("true");
        response.headers_mut().insert("idempotent-replayed", yes);
        return response;
    }
    let mut made = act(&mut state, &form);
    if made.0 == 200 && std::mem::take(&mut state.stumbles) {
        made = error(
            500,
            json!({ "type": "api_error", "message": "An unexpected error occurred." }),
        );
    }
    if !key.is_empty() {
        state.answered.insert(key, (asked, made.0, made.1.clone()));
    }
    answer(made)
}

async fn show_session(
    Shares(shared): Shares<Shared>,
    Path(id): Path<String>,
    Query(asked): Pairs,
) -> Response {
    let is_expanded = asked.iter().any(|(_, value)| value == "payment_intent");
    let mut state = lock(&shared);
    answer(match state.session(&id) {
        Some(session) => (200, session.shown(is_expanded)),
        None => invalid(
            404,
            "resource_missing",
            &format!("No such checkout.session: {id}"),
        ),
    })
}

async fn show_payment(Shares(shared): Shares<Shared>, Path(id): Path<String>) -> Response {
    let state = lock(&shared);
    let payments = state
        .sessions
        .iter()
        .filter_map(|session| session.payment.clone());
    let found = payments
        .into_iter()
        .find(|payment| payment["id"] == id.as_str());
    answer(match found {
        Some(payment) => (200, payment),
        None => invalid(
            404,
            "resource_missing",
            &format!("No such payment_intent: '{id}'"),
        ),
    })
}

async fn show_refund(Shares(shared): Shares<Shared>, Path(id): Path<String>) -> Response {
    let state = lock(&shared);
    answer(
        match state
            .refunds
            .iter()
            .find(|refund| refund["id"] == id.as_str())
        {
            Some(refund) => (200, refund.clone()),
            None => invalid(404, "resource_missing", &format!("No such refund: '{id}'")),
        },
    )
}

async fn list_sessions(Shares(shared): Shares<Shared>, Query(asked): Pairs) -> Response {
    let number = |name: &str| {
        asked
            .iter()
            .find(|(known, _)| known == name)?
            .1
            .parse::<i64>()
            .ok()
    };
    let from = number("created[gte]").unwrap_or(0);
    let to = number("created[lte]").unwrap_or(i64::MAX);
    let before = number("created[lt]").unwrap_or(i64::MAX);
    let is_expanded = asked
        .iter()
        .any(|(_, value)| value == "data.payment_intent");
    let state = lock(&shared);
    let within = state
        .sessions
        .iter()
        .rev()
        .filter(|session| (from..=to).contains(&session.created) && session.created < before);
    let all = within.map(|session| session.shown(is_expanded)).collect();
    answer(page("/v1/checkout/sessions", all, &asked))
}

async fn list_refunds(Shares(shared): Shares<Shared>, Query(asked): Pairs) -> Response {
    let of = asked.iter().find(|(name, _)| name == "payment_intent");
    let state = lock(&shared);
    let wanted = state
        .refunds
        .iter()
        .rev()
        .filter(|refund| of.is_none_or(|(_, of)| refund["payment_intent"] == of.as_str()));
    answer(page("/v1/refunds", wanted.cloned().collect(), &asked))
}

/// The newest first, from after the one that is named.
fn page(url: &str, all: Vec<Value>, asked: &[(String, String)]) -> Answer {
    let text = |name: &str| {
        asked
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    let limit = text("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(10_usize);
    if !(1..=100).contains(&limit) {
        return invalid(
            400,
            "parameter_invalid_integer",
            "Limit can range between 1 and 100",
        );
    }
    let begin = match text("starting_after") {
        None => 0,
        Some(id) => match all.iter().position(|one| one["id"] == id) {
            Some(at) => at + 1,
            None => return invalid(400, "resource_missing", &format!("No such object: '{id}'")),
        },
    };
    let rest = &all[begin..];
    let data = &rest[..limit.min(rest.len())];
    (
        200,
        json!({ "object": "list", "url": url, "has_more": rest.len() > limit, "data": data }),
    )
}

/// Errors of the request for a session.
fn refuse(state: &State, form: &Form) -> Option<Answer> {
    let text = |name: &str| form.get(name).map_or("", String::as_str);
    if let Some(name) = form.keys().find(|name| !is_known(name)) {
        return Some(invalid(
            400,
            "parameter_unknown",
            &format!("Received unknown parameter: {name}"),
        ));
    }
    for required in [
        "mode",
        "success_url",
        "line_items[0][price_data][currency]",
        "line_items[0][price_data][unit_amount]",
        "line_items[0][price_data][product_data][name]",
    ] {
        if text(required).is_empty() {
            return Some(invalid(
                400,
                "parameter_missing",
                &format!("Missing required param: {required}."),
            ));
        }
    }
    for url in ["success_url", "cancel_url"] {
        if !text(url).is_empty() && !text(url).starts_with("http") {
            return Some(invalid(400, "url_invalid", "Not a valid URL"));
        }
    }
    if text("client_reference_id").len() > 200
        || text("customer_email")
            .chars()
            .filter(|char| *char == '@')
            .count()
            > 1
    {
        return Some(invalid(400, "email_invalid", "Invalid"));
    }
    let minutes = text("expires_at").parse::<i64>().map(|at| at - state.now);
    if !text("expires_at").is_empty()
        && !minutes.is_ok_and(|left| (30 * 60..=24 * 60 * 60).contains(&left))
    {
        let message = "The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.";
        return Some(error(
            400,
            json!({ "type": "invalid_request_error", "param": "expires_at", "message": message }),
        ));
    }
    amount(
        text("line_items[0][price_data][currency]"),
        text("line_items[0][price_data][unit_amount]"),
    )
}

fn amount(currency: &str, amount: &str) -> Option<Answer> {
    // What fifty American cents are worth, about.
    let least = match currency {
        "usd" => 50,
        "xof" | "xaf" => 300,
        "ugx" => 200_000,
        "ghs" => 600,
        "kes" => 6_500,
        "ngn" => 75_000,
        "tzs" => 130_000,
        "zar" => 900,
        _ => {
            return Some(error(
                400,
                json!({ "type": "invalid_request_error", "message": format!("Invalid currency: {currency}.") }),
            ));
        }
    };
    let Ok(amount) = amount.parse::<i64>() else {
        return Some(invalid(400, "parameter_invalid_integer", "Invalid integer"));
    };
    let said = |code| {
        Some(invalid(
            400,
            code,
            "The amount is not one that can be charged.",
        ))
    };
    match amount {
        _ if currency == "ugx" && amount % 100 != 0 => {
            said("invalid_charge_amount_no_decimal_compatible")
        }
        _ if amount < least => said("amount_too_small"),
        _ if amount > 99_999_999 => said("amount_too_large"),
        _ => None,
    }
}

fn is_known(name: &str) -> bool {
    let plain = [
        "mode",
        "client_reference_id",
        "success_url",
        "cancel_url",
        "expires_at",
        "payment_method_types[0]",
        "adaptive_pricing[enabled]",
        "customer_email",
    ];
    let parts = [
        "metadata[",
        "payment_intent_data[metadata][",
        "line_items[0][quantity]",
        "line_items[0][price_data][",
    ];
    plain.contains(&name) || parts.iter().any(|part| name.starts_with(part))
}

pub(super) fn invalid(status: u16, code: &str, message: &str) -> Answer {
    let said = json!({ "type": "invalid_request_error", "code": code, "message": message });
    error(status, said)
}

fn error(status: u16, error: Value) -> Answer {
    (status, json!({ "error": error }))
}

fn answer((status, body): Answer) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    (status, Json(body)).into_response()
}
