//! Exchange rates: the operator's table, the feed, and what an amount comes to.

#[cfg(test)]
mod tests;

use axum::extract::{Path, State};
use switchyard_core::money::{Amount, Correction, Currency, Rate as Decimal, UnknownCurrency};
use switchyard_engine::exchange_rates::{Entry, ExchangeError, FeedError, Source};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::Nothing;
use super::contract::rates::{
    Fetched, HeldRate, NewRate, Quote, QuoteRequest, Rate, RateDecision, RateSet,
};
use super::error::{Answer, Refused, invalid};
use super::input::{Body, QueryParams, done, moment, ok};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::iso_timestamp::IsoTimestamp;
use crate::openapi::Success;
use crate::reason;
use crate::state::ApiState;

/// The routes of exchange rates.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, set))
        .routes(routes!(quote))
        .routes(routes!(fetch))
        .routes(routes!(held))
        .routes(routes!(accept))
        .routes(routes!(reject))
        .routes(routes!(remove))
}

/// List exchange rates
#[utoipa::path(
    get,
    path = "/rates",
    operation_id = "listRates",
    tag = "Rates",
    responses((status = 200, description = "Rates.", body = Success<Vec<Rate>>)),
)]
async fn list(State(state): State<ApiState>) -> Answer {
    let entries = state.engine().exchange_rates().entries();
    let views: Vec<_> = entries.iter().map(Rate::from).collect();
    ok("Rates fetched successfully", &views)
}

/// Set an exchange rate
#[utoipa::path(
    put,
    path = "/rates",
    operation_id = "setRate",
    tag = "Rates",
    request_body = NewRate,
    responses((status = 200, description = "The rate.", body = Success<RateSet>)),
)]
async fn set(State(state): State<ApiState>, Body(new): Body<NewRate>) -> Answer {
    let (from, to) = (currency("from", &new.from)?, currency("to", &new.to)?);
    let rate = Decimal::parse(&new.rate).map_err(|why| invalid("rate", why.to_string()))?;
    let until = moment("valid_until", new.valid_until.as_deref())?;
    let exchange_rates = state.engine().exchange_rates();
    let entry = exchange_rates.set(from, to, rate, until).await?;
    let of_pair = |fixed: &&Entry| [(from, to), (to, from)].contains(&(fixed.from, fixed.to));
    let entries = exchange_rates.entries();
    let mut pegs = entries.iter().filter(|fixed| fixed.source == Source::Peg);
    let view = RateSet {
        rate: Rate::from(&entry),
        instead_of_fixed: pegs.find(of_pair).map(|fixed| {
            let (one, other) = (fixed.from.code(), fixed.to.code());
            format!("1 {one} = {} {other}", fixed.rate)
        }),
    };
    ok("Rate set successfully", &view)
}

/// Delete a rate from the table
#[utoipa::path(
    delete,
    path = "/rates/{from}/{to}",
    operation_id = "deleteRate",
    tag = "Rates",
    responses((status = 200, description = "The rate is deleted.", body = Success<Nothing>)),
)]
async fn remove(State(state): State<ApiState>, Path((from, to)): Path<(String, String)>) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    state.engine().exchange_rates().remove(from, to).await?;
    done("Rate removed successfully")
}

/// Fetch the rates of `exchange.url` now
#[utoipa::path(
    post,
    path = "/rates/fetch",
    operation_id = "fetchRates",
    tag = "Rates",
    responses((status = 200, description = "Numbers of fetched rates.", body = Success<Fetched>)),
)]
async fn fetch(State(state): State<ApiState>) -> Answer {
    let fetched = state.engine().exchange_rates().fetch().await?;
    let mut message = "Rates fetched from their source".to_owned();
    if fetched.held > 0 {
        let held = fetched.held;
        message += &format!("; {held} implausible ones are held and not used: see the held rates");
    }
    if fetched.unusable > 0 {
        let unusable = fetched.unusable;
        message += &format!("; {unusable} values are no rates: see the held rates");
    }
    let view = Fetched {
        rates: fetched.accepted,
        held: fetched.held,
        unusable: fetched.unusable,
    };
    ok(&message, &view)
}

/// List implausible fetched rates
///
/// They are unused until an operator accepts them. Values of the last fetch that are no rates
/// follow; the last accepted rate of their currencies is used until it is too old.
#[utoipa::path(
    get,
    path = "/rates/held",
    operation_id = "listHeldRates",
    tag = "Rates",
    responses((status = 200, description = "Held rates.", body = Success<Vec<HeldRate>>)),
)]
async fn held(State(state): State<ApiState>) -> Answer {
    let rates = state.engine().exchange_rates();
    let held = rates.held();
    let unusable = rates.unusable();
    let unusable = unusable.iter().map(HeldRate::unusable);
    let views: Vec<_> = held.iter().map(HeldRate::from).chain(unusable).collect();
    ok("Held rates fetched successfully", &views)
}

/// Accept a held rate
#[utoipa::path(
    post,
    path = "/rates/held/{from}/{to}/accept",
    operation_id = "acceptRate",
    tag = "Rates",
    request_body = RateDecision,
    responses((status = 200, description = "The rate.", body = Success<Rate>)),
)]
async fn accept(
    State(state): State<ApiState>,
    Path((from, to)): Path<(String, String)>,
    Body(decision): Body<RateDecision>,
) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    let rate = Decimal::parse(&decision.rate).map_err(|why| invalid("rate", why.to_string()))?;
    let entry = state
        .engine()
        .exchange_rates()
        .accept_held(from, to, rate)
        .await?;
    ok("Held rate accepted; used from now on", &Rate::from(&entry))
}

/// Reject a held rate
#[utoipa::path(
    post,
    path = "/rates/held/{from}/{to}/reject",
    operation_id = "rejectRate",
    tag = "Rates",
    request_body = RateDecision,
    responses((
        status = 200,
        description = "The rate, which stays unused.",
        body = Success<HeldRate>,
    )),
)]
async fn reject(
    State(state): State<ApiState>,
    Path((from, to)): Path<(String, String)>,
    Body(decision): Body<RateDecision>,
) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    let rate = Decimal::parse(&decision.rate).map_err(|why| invalid("rate", why.to_string()))?;
    let held = state
        .engine()
        .exchange_rates()
        .reject_held(from, to, rate)
        .await?;
    ok(
        "Held rate rejected; it stays unused",
        &HeldRate::from(&held),
    )
}

/// Convert an amount at the present rate
#[utoipa::path(
    get,
    path = "/rates/quote",
    operation_id = "quoteRate",
    tag = "Rates",
    params(QuoteRequest),
    responses((status = 200, description = "The converted amount.", body = Success<Quote>)),
)]
async fn quote(
    State(state): State<ApiState>,
    QueryParams(asked): QueryParams<QuoteRequest>,
) -> Answer {
    let (from, to) = (currency("from", &asked.from)?, currency("to", &asked.to)?);
    let amount = Amount::parse_major(asked.amount.as_deref().unwrap_or("1"), from)
        .map_err(|why| invalid("amount", why.to_string()))?;
    let correction = Correction::parse(asked.correction.as_deref().unwrap_or("0"))
        .map_err(|why| invalid("correction", why.to_string()))?;
    let converted = state
        .engine()
        .exchange_rates()
        .convert(amount, to, to.decimals(), correction)
        .ok_or_else(|| no_rate(from, to))?;
    let (price, conversion) = converted.map_err(|why| invalid("amount", why.to_string()))?;
    let way: Vec<&str> = conversion.way.iter().map(|step| step.code()).collect();
    let data = Quote {
        amount: amount.format(),
        price: price.format(),
        rate: conversion.rate,
        correction,
        way: way.join(" > "),
        as_of: conversion.as_of.map(IsoTimestamp),
    };
    ok("Quote made successfully", &data)
}

fn currency(field: &'static str, code: &str) -> Result<Currency, ApiError> {
    code.parse()
        .map_err(|why: UnknownCurrency| invalid(field, why.to_string()))
}

fn no_rate(from: Currency, to: Currency) -> ApiError {
    let message = format!("Nothing that is known now connects {from} with {to}.");
    Problem::new(ErrorCode::ResourceNotFound, message)
        .hint("Set a rate for the pair, or for each of the two against EUR or USD.")
        .into()
}

impl From<ExchangeError> for Refused {
    fn from(error: ExchangeError) -> Self {
        let because = reason::of_rate(&error);
        let problem = |code| Problem::new(code, error.to_string()).because(because.clone());
        Self(match &error {
            ExchangeError::NotFound { .. } | ExchangeError::NotHeld { .. } => {
                problem(ErrorCode::ResourceNotFound).into()
            }
            ExchangeError::HeldAnother { .. } | ExchangeError::HeldTooOld { .. } => {
                problem(ErrorCode::ResourceChanged).into()
            }
            ExchangeError::SameCurrency => problem(ErrorCode::FieldInvalid).at("to").into(),
            ExchangeError::AlreadyOver => problem(ErrorCode::FieldInvalid).at("valid_until").into(),
            ExchangeError::TooMany => problem(ErrorCode::LimitReached).into(),
            ExchangeError::Feed(FeedError::NoUrl) => problem(ErrorCode::ResourceNotFound).into(),
            ExchangeError::Feed(_) => problem(ErrorCode::ServiceUnavailable)
                .hint("The rates of before count until they are too old.")
                .into(),
            _ => {
                tracing::warn!(%error, "failed to change exchange rates");
                ApiError::unavailable()
            }
        })
    }
}
