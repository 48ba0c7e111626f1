//! Doors for fuzzing: the bytes of requests, read and checked. Behind the feature `fuzzing`.

use axum::http::HeaderMap;
use switchyard_core::directory::Directory;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{ClientContext, Status};
use switchyard_engine::engine::{NewPayment, NewPayout};

use super::initialize::idempotency_key;
use super::request::json::Value;
use super::request::{body, payment, payout, query};
use crate::error::ApiError;

/// The request of a payment.
///
/// # Errors
/// All that is wrong with it.
pub fn read_payment(body: &[u8], directory: &Directory) -> Result<NewPayment, ApiError> {
    let context = ClientContext::default();
    payment::read(body, directory, Environment::Live, false, context)
}

/// The request of a payout.
///
/// # Errors
/// All that is wrong with it.
pub fn read_payout(body: &[u8], directory: &Directory) -> Result<NewPayout, ApiError> {
    payout::read(body, directory, Environment::Live, ClientContext::default())
}

/// The amount of a request as it is written, a number or a text.
pub fn amount_as_written(body: &[u8]) -> Option<String> {
    match body::object(body).ok()?.get("amount")? {
        Value::Number(number) => Some(number.to_owned()),
        Value::Text(text) => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// The query of a list: how many rows of which page.
///
/// # Errors
/// All that is wrong with it.
pub fn read_query(text: &str) -> Result<(usize, usize), ApiError> {
    let filter = query::read(text, &Status::ALL)?;
    Ok((filter.limit, filter.page))
}

/// The idempotency key of a request.
///
/// # Errors
/// When it is not one visible text.
pub fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    idempotency_key(headers)
}
