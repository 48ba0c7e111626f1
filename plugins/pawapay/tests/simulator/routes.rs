//! The addresses, and the checks behind them.

use axum::extract::{Path, Query, State as Shares};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::providers::{Provider, providers};
use super::transfers::Kind;
use super::{Shared, State, TOKEN, lock};

pub(super) fn router(shared: Shared) -> Router {
    let make = |kind| post(move |shares, headers, body| make(kind, shares, headers, body));
    let show = |kind| get(move |shares, headers, id| show(kind, shares, headers, id));
    Router::new()
        .route("/v2/deposits", make(Kind::Deposit))
        .route("/v2/payouts", make(Kind::Payout))
        .route("/v2/refunds", make(Kind::Refund))
        .route("/v2/deposits/{id}", show(Kind::Deposit))
        .route("/v2/payouts/{id}", show(Kind::Payout))
        .route("/v2/refunds/{id}", show(Kind::Refund))
        .route("/v2/active-conf", get(active_configuration))
        .route("/v2/public-key/http", get(public_keys))
        .with_state(shared)
}

async fn make(
    kind: Kind,
    Shares(shared): Shares<Shared>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if let Some(refusal) = refuse_stranger(&headers) {
        return refusal;
    }
    let Ok(request) = serde_json::from_str::<Value>(&body) else {
        return invalid("INVALID_INPUT", "the body is no JSON");
    };
    let id = request[kind.id()].as_str().unwrap_or_default().to_owned();
    let mut state = lock(&shared);
    if let Err((code, message)) = shape(kind, &request) {
        return invalid(code, &message);
    }
    let answer = if state.transfers.contains_key(&(kind, id.clone())) {
        json!({ kind.id(): id, "status": "DUPLICATE_IGNORED", "created": CREATED })
    } else {
        match state.business(kind, &request) {
            Err(code) => json!({
                kind.id(): id, "status": "REJECTED",
                "failureReason": { "failureCode": code, "failureMessage": format!("The simulator's {code}.") },
            }),
            Ok(provider) => {
                let mut request = request;
                if kind == Kind::Refund {
                    let deposit = &state.transfers[&(
                        Kind::Deposit,
                        request["depositId"].as_str().unwrap().to_owned(),
                    )];
                    request["payer"] = deposit.request["payer"].clone();
                }
                state.accept(kind, request, provider);
                let mut answer = json!({ kind.id(): id, "status": "ACCEPTED", "created": CREATED });
                if kind == Kind::Deposit {
                    answer["nextStep"] = json!(match provider.authorisation {
                        "REDIRECT_AUTH" => "GET_AUTH_URL",
                        _ => "FINAL_STATUS",
                    });
                }
                answer
            }
        }
    };
    Json(answer).into_response()
}

async fn show(
    kind: Kind,
    Shares(shared): Shares<Shared>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Response {
    if let Some(refusal) = refuse_stranger(&headers) {
        return refusal;
    }
    let answer = match lock(&shared).asked(kind, &id) {
        Some(data) => json!({ "status": "FOUND", "data": data }),
        None => json!({ "status": "NOT_FOUND" }),
    };
    Json(answer).into_response()
}

async fn public_keys(Shares(shared): Shares<Shared>, headers: HeaderMap) -> Response {
    if let Some(refusal) = refuse_stranger(&headers) {
        return refusal;
    }
    let mut state = lock(&shared);
    state.key_requests += 1;
    // A key that was replaced stays listed, and stands first: who takes the first one takes the
    // wrong one.
    let mut keys = vec![json!({ "id": "HTTP_EC_P256_KEY:0", "key": REPLACED_KEY })];
    keys.extend(state.signers.iter().map(super::Signer::public));
    Json(Value::Array(keys)).into_response()
}

async fn active_configuration(
    headers: HeaderMap,
    Query(asked): Query<Vec<(String, String)>>,
) -> Response {
    if let Some(refusal) = refuse_stranger(&headers) {
        return refusal;
    }
    let wanted = asked.iter().find(|(name, _)| name == "country");
    let mut countries = Vec::new();
    let mut all: Vec<Provider> = providers().collect();
    all.retain(|provider| wanted.is_none_or(|(_, country)| country == provider.country));
    while let Some(country) = all.first().map(|provider| provider.country) {
        let here: Vec<Value> = all
            .iter()
            .filter(|provider| provider.country == country)
            .map(configured)
            .collect();
        countries.push(json!({ "country": country, "providers": here }));
        all.retain(|provider| provider.country != country);
    }
    Json(json!({
        "companyName": "Simulated Ltd", "countries": countries,
        "signatureConfiguration": { "signedRequestsOnly": false, "signedCallbacks": true },
    }))
    .into_response()
}

fn configured(provider: &Provider) -> Value {
    let mut deposit = json!({ "status": "OPERATIONAL", "minAmount": "1", "maxAmount": "2000000" });
    deposit["decimalsInAmount"] = json!(if provider.takes_decimals {
        "TWO_PLACES"
    } else {
        "NONE"
    });
    match provider.authorisation {
        "PREAUTH" => {
            deposit["authType"] = json!("PREAUTH");
            deposit["authTokenInstructions"] = json!({ "channels": [channel("*144*4*6#")] });
        }
        "REDIRECT_AUTH" => deposit["authType"] = json!("REDIRECT_AUTH"),
        prompt => {
            deposit["authType"] = json!("PROVIDER_AUTH");
            deposit["pinPrompt"] = json!(prompt);
            deposit["pinPromptInstructions"] = json!({ "channels": [channel("*120#")] });
        }
    }
    json!({ "provider": provider.name, "currencies": [
        { "currency": provider.currency, "operationTypes": { "DEPOSIT": deposit } },
    ] })
}

fn channel(code: &str) -> Value {
    json!({
        "type": "USSD", "variables": { "shortCode": code },
        "instructions": {
            "en": [{ "text": format!("Dial {code}") }, { "text": "Enter your PIN" }],
            "fr": [{ "text": format!("Composez {code}") }, { "text": "Entrez votre code" }],
        },
    })
}

/// Errors of the request itself: 400.
fn shape(kind: Kind, request: &Value) -> Result<(), (&'static str, String)> {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let bad = |what: String| Err(("INVALID_PARAMETER", what));
    let names = request.as_object().into_iter().flat_map(|all| all.keys());
    if let Some(name) = names.into_iter().find(|name| !is_known(kind, name)) {
        return Err(("UNSUPPORTED_PARAMETER", name.clone()));
    }
    if !is_uuid_v4(text(kind.id())) {
        return bad(format!("{} is no UUID of version 4", kind.id()));
    }
    if !is_amount(text("amount")) {
        return bad(format!("amount `{}`", text("amount")));
    }
    let message = text("customerMessage");
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == ' ';
    let is_message = (4..=22).contains(&message.len()) && message.chars().all(is_plain);
    if request.get("customerMessage").is_some() && !is_message {
        return bad(format!("customerMessage `{message}`"));
    }
    if !is_metadata(&request["metadata"]) {
        return bad("metadata".into());
    }
    if kind != Kind::Refund && !is_wallet(wallet(kind, request)) {
        return Err(("INVALID_INPUT", "the wallet".into()));
    }
    Ok(())
}

fn is_known(kind: Kind, name: &str) -> bool {
    let own: &[&str] = match kind {
        Kind::Deposit => &[
            "payer",
            "customerMessage",
            "preAuthorisationCode",
            "successfulUrl",
            "failedUrl",
        ],
        Kind::Payout => &["recipient", "customerMessage"],
        Kind::Refund => &["depositId"],
    };
    name == kind.id()
        || ["amount", "currency", "clientReferenceId", "metadata"].contains(&name)
        || own.contains(&name)
}

/// At most ten objects with one key each, or two when one says that it is personal.
fn is_metadata(metadata: &Value) -> bool {
    let is_entry = |entry: &Value| {
        let keys = entry.as_object().map_or(0, |keys| keys.len());
        keys == 1 || (keys == 2 && entry.get("isPII").is_some())
    };
    match metadata {
        Value::Null => true,
        Value::Array(entries) => entries.len() <= 10 && entries.iter().all(is_entry),
        _ => false,
    }
}

fn wallet(kind: Kind, request: &Value) -> &Value {
    match kind {
        Kind::Payout => &request["recipient"],
        _ => &request["payer"],
    }
}

fn is_wallet(wallet: &Value) -> bool {
    let phone = wallet["accountDetails"]["phoneNumber"].as_str();
    let phone = phone.unwrap_or_default();
    wallet["type"] == "MMO"
        && phone.len() > 5
        && !phone.starts_with('0')
        && phone.bytes().all(|byte| byte.is_ascii_digit())
}

impl State {
    /// Reasons for a refusal: 200 with REJECTED. The operator when there are none.
    fn business(&self, kind: Kind, request: &Value) -> Result<Provider, &'static str> {
        let text = |name: &str| request[name].as_str().unwrap_or_default();
        if kind == Kind::Refund {
            return self.refund(request);
        }
        let wallet = &wallet(kind, request)["accountDetails"];
        let named: Vec<Provider> = providers()
            .filter(|provider| wallet["provider"] == provider.name)
            .collect();
        let first = named.first().ok_or("INVALID_PROVIDER")?;
        let provider = *named
            .iter()
            .find(|provider| provider.currency == text("currency"))
            .ok_or("INVALID_CURRENCY")?;
        let phone = wallet["phoneNumber"].as_str().unwrap_or_default();
        if !phone.starts_with(first.prefix) {
            return Err("INVALID_PHONE_NUMBER");
        }
        if self.closed.iter().any(|closed| closed == provider.name) {
            return Err("PROVIDER_TEMPORARILY_UNAVAILABLE");
        }
        let (whole, fraction) = text("amount")
            .split_once('.')
            .unwrap_or((text("amount"), ""));
        if !fraction.is_empty() && !provider.takes_decimals {
            return Err("INVALID_AMOUNT");
        }
        if whole.parse::<u64>().is_ok_and(|whole| whole > 2_000_000) {
            return Err("AMOUNT_OUT_OF_BOUNDS");
        }
        if kind == Kind::Payout && self.empty.iter().any(|country| country == provider.country) {
            return Err("PAWAPAY_WALLET_OUT_OF_FUNDS");
        }
        let lacks = match provider.authorisation {
            _ if kind == Kind::Payout => false,
            "PREAUTH" => request.get("preAuthorisationCode").is_none(),
            "REDIRECT_AUTH" => text("successfulUrl").is_empty() || text("failedUrl").is_empty(),
            _ => false,
        };
        if lacks {
            Err("MISSING_PARAMETER")
        } else {
            Ok(provider)
        }
    }

    fn refund(&self, request: &Value) -> Result<Provider, &'static str> {
        let of = request["depositId"].as_str().unwrap_or_default().to_owned();
        let deposit = self
            .transfers
            .get(&(Kind::Deposit, of.clone()))
            .ok_or("NOT_FOUND")?;
        if deposit.status != "COMPLETED" {
            return Err("INVALID_STATE");
        }
        let cents = |value: &Value| -> i64 {
            let text = value.as_str().unwrap();
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            format!("{whole}{fraction:0<2}").parse().unwrap()
        };
        let earlier = self.transfers.values().filter(|refund| {
            refund.kind == Kind::Refund && refund.request["depositId"] == of.as_str()
        });
        let mut refunded = 0;
        for refund in earlier {
            match refund.status {
                "COMPLETED" => refunded += cents(&refund.request["amount"]),
                "FAILED" => {}
                _ => return Err("REFUND_IN_PROGRESS"),
            }
        }
        let paid = cents(&deposit.request["amount"]);
        if refunded == paid {
            return Err("DEPOSIT_ALREADY_REFUNDED");
        }
        if refunded + cents(&request["amount"]) > paid {
            return Err("AMOUNT_TOO_LARGE");
        }
        let name = &deposit.request["payer"]["accountDetails"]["provider"];
        providers()
            .find(|provider| name == provider.name)
            .ok_or("INVALID_PROVIDER")
    }
}

fn refuse_stranger(headers: &HeaderMap) -> Option<Response> {
    let (status, code) = match headers.get("authorization").map(|value| value.as_bytes()) {
        None => (StatusCode::UNAUTHORIZED, "NO_AUTHENTICATION"),
        Some(given) if given == format!("Bearer {TOKEN}").as_bytes() => return None,
        Some(_) => (StatusCode::FORBIDDEN, "AUTHENTICATION_ERROR"),
    };
    let reason = json!({ "failureCode": code, "failureMessage": "The API token in the request is invalid." });
    Some(
        (
            status,
            Json(json!({ "status": "REJECTED", "failureReason": reason })),
        )
            .into_response(),
    )
}

fn invalid(code: &str, message: &str) -> Response {
    let reason = json!({ "failureCode": code, "failureMessage": message });
    let answer = json!({ "status": "REJECTED", "failureReason": reason });
    (StatusCode::BAD_REQUEST, Json(answer)).into_response()
}

fn is_uuid_v4(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.len() == 36
        && parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(is_hex)
        && parts[2].starts_with('4')
}

/// No leading zeros, no bare point, at most two decimals.
fn is_amount(text: &str) -> bool {
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && whole.len() <= 18
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(|fraction| digits(fraction) && fraction.len() <= 2)
}

const CREATED: &str = "2026-11-20T10:00:00Z";
const REPLACED_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAECAtNzISagm3YfsD/TfmQGcaFL2DQ\n\
    oVnfBb77S3Urc2QSx1mD4TI28z4LC5SuxZI5dT3ptPzOV4XVv7ILQ5ILCg==\n-----END PUBLIC KEY-----\n";
