//! Requests of the gateway, and the meaning of each of Flutterwave's responses, row by row, without
//! a network.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod answers;
mod others;
mod requests;

use gateway_flutterwave::Flutterwave;
use gateway_flutterwave::failures::{PAYMENTS, PAYOUTS, REFUNDS, Row};
use serde_json::{Value, json};
use switchyard_gateway::testing::{
    self, Call, End, REFERENCE, answer, no_provider, text_answer, timeout, unreachable,
};
use switchyard_gateway::wire::{Body, EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Amount, Callback, CallbackResult, ConfigCheck, DeclineReason, Direction, Environment, Fault,
    FaultKind, Operation, Outcome, PayerAction, Prompt,
};

pub const URL: &str = "https://api.flutterwave.com/v3";
pub const HASH: &str = "my-secret-hash";
/// When `testing`'s calls begin, and when Flutterwave's page and a bank's account take nothing any
/// more.
pub const NOW: i64 = 1_795_168_800;
pub const SOON: &str = "2026-11-20T10:29:00.000000Z";
pub const PAGE_IS_OVER: &str = "2026-11-20T10:31:00.000000Z";
pub const ACCOUNT_IS_OVER: &str = "2026-11-20T11:01:00.000000Z";
pub const DAY_AFTER: &str = "2026-11-21T10:01:00.000000Z";

pub type Answered = Result<HttpResponse, EffectError>;

pub fn call(operation: Operation) -> Call {
    Call::new(operation)
        .config(json!({ "secret_key": "FLWSECK_TEST-k-X", "secret_hash": HASH, "base_url": "" }))
}

pub fn collect(method: &str, minor: i64, answered: impl Fn() -> Answered) -> Result<End, Fault> {
    let row = gateway_flutterwave::methods::Method::of(method).unwrap();
    let mut ask = testing::collect(method, minor, row.currency, row.decimals());
    ask.fields = [("msisdn", "0551234987"), ("account_bank", "GTBank")].into();
    call(Operation::Collect)
        .input(&ask)
        .run::<Flutterwave>(|_| answered())
}

pub fn payout(answered: impl Fn(&HttpRequest) -> Answered) -> Result<End, Fault> {
    let mut ask = testing::payout("mtn_gh", 5_050, "GHS", 2);
    ask.recipient = [("msisdn", "0551234987")].into();
    call(Operation::Payout)
        .input(&ask)
        .run::<Flutterwave>(answered)
}

pub fn query(
    method: &str,
    direction: Direction,
    kept: Value,
    now: &str,
    answered: impl Fn() -> Answered,
) -> Result<End, Fault> {
    let row = gateway_flutterwave::methods::Method::of(method).unwrap();
    let ask = testing::query(method, direction, 2_550, row.currency, row.decimals());
    call(Operation::Query)
        .state(kept)
        .now(now)
        .input(&ask)
        .run::<Flutterwave>(|_| answered())
}

/// State of a charge that was shown to the payer.
pub fn shown() -> Value {
    json!({ "kind": "charge", "since": NOW, "is_shown": true })
}

pub fn success(data: Value) -> Answered {
    answer(
        200,
        json!({ "status": "success", "message": "ok", "data": data }),
    )
}

pub fn error(status: u16, message: &str) -> Answered {
    answer(
        status,
        json!({ "status": "error", "message": message, "data": null }),
    )
}

pub fn nothing() -> Answered {
    error(404, "No transaction was found for this id")
}

pub fn charge(change: Value) -> Value {
    let mut data = json!({
        "id": 285_959_875, "tx_ref": REFERENCE, "flw_ref": "FLW-1", "amount": 25, "charged_amount": 26, "app_fee": 0.875,
        "currency": "GHS", "status": "successful", "processor_response": "Approved", "meta": [],
    });
    data.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    data
}

pub fn text(request: &HttpRequest) -> &str {
    let Some(Body::Text(text)) = &request.body else {
        panic!("no body: {request:?}");
    };
    text
}

pub fn body(request: &HttpRequest) -> Value {
    serde_json::from_str(text(request)).unwrap()
}
