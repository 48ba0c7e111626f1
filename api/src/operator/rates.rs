//! Exchange rates: the operator's table, the feed, and what an amount comes to.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{delete, get, post};
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchyard_engine::exchange::{Entry, ExchangeError, FeedError, Source};
use switchyard_engine::money::{Amount, Correction, Currency, Rate};

use super::error::{Answer, Refused, invalid};
use super::input::{Asked, Body, done, moment, ok};
use super::view::iso;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::state::ApiState;

#[derive(Serialize)]
struct RateView {
    from: &'static str,
    to: &'static str,
    rate: String,
    source: Source,
    /// When somebody said so; a peg has no such time.
    at: Option<String>,
    valid_until: Option<String>,
}

impl From<&Entry> for RateView {
    fn from(entry: &Entry) -> Self {
        Self {
            from: entry.from.code(),
            to: entry.to.code(),
            rate: entry.rate.to_string(),
            source: entry.source,
            at: (entry.source != Source::Peg).then(|| iso(entry.at)),
            valid_until: entry.valid_until.map(iso),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRate {
    from: String,
    to: String,
    /// A decimal in a string: 655.957.
    rate: String,
    valid_until: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    from: String,
    to: String,
    amount: Option<String>,
    correction: Option<String>,
}

/// The routes of exchange rates.
pub fn routes() -> Router<ApiState> {
    Router::new()
        .route("/rates", get(list).put(set))
        .route("/rates/quote", get(quote))
        .route("/rates/fetch", post(fetch))
        .route("/rates/{from}/{to}", delete(remove))
}

async fn list(State(state): State<ApiState>) -> Answer {
    let entries = state.engine.exchange.entries();
    let views: Vec<RateView> = entries.iter().map(RateView::from).collect();
    ok("Rates fetched successfully", &views)
}

async fn set(State(state): State<ApiState>, Body(new): Body<NewRate>) -> Answer {
    let (from, to) = (currency("from", &new.from)?, currency("to", &new.to)?);
    let rate = Rate::parse(&new.rate).map_err(|why| invalid("rate", why.to_string()))?;
    let until = moment("valid_until", new.valid_until.as_deref())?;
    let entry = state.engine.exchange.set(from, to, rate, until).await?;
    ok("Rate set successfully", &RateView::from(&entry))
}

async fn remove(State(state): State<ApiState>, Path((from, to)): Path<(String, String)>) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    state.engine.exchange.remove(from, to).await?;
    done("Rate removed successfully")
}

async fn fetch(State(state): State<ApiState>) -> Answer {
    let rates = state.engine.exchange.fetch().await?;
    ok(
        "Rates fetched from their source",
        &json!({ "rates": rates }),
    )
}

async fn quote(State(state): State<ApiState>, Asked(asked): Asked<Question>) -> Answer {
    let (from, to) = (currency("from", &asked.from)?, currency("to", &asked.to)?);
    let amount = Amount::parse_major(asked.amount.as_deref().unwrap_or("1"), from)
        .map_err(|why| invalid("amount", why.to_string()))?;
    let correction = Correction::parse(asked.correction.as_deref().unwrap_or("0"))
        .map_err(|why| invalid("correction", why.to_string()))?;
    let converted = state
        .engine
        .exchange
        .convert(amount, to, to.decimals(), correction)
        .ok_or_else(|| no_rate(from, to))?;
    let (price, conversion) = converted.map_err(|why| invalid("amount", why.to_string()))?;
    let way: Vec<&str> = conversion.way.iter().map(|step| step.code()).collect();
    let data = json!({
        "amount": amount.format(),
        "price": price.format(),
        "rate": conversion.rate.to_string(),
        "correction": correction.to_string(),
        "way": way.join(" > "),
        "as_of": conversion.as_of.map(iso),
    });
    ok("Quote made successfully", &data)
}

fn currency(field: &'static str, code: &str) -> Result<Currency, ApiError> {
    code.parse()
        .map_err(|why: switchyard_engine::money::UnknownCurrency| invalid(field, why.to_string()))
}

fn no_rate(from: Currency, to: Currency) -> ApiError {
    let message = format!("Nothing that is known now connects {from} with {to}.");
    Problem::new(ErrorCode::ResourceNotFound, message)
        .hint("Set a rate for the pair, or for each of the two against EUR or USD.")
        .into()
}

impl From<ExchangeError> for Refused {
    fn from(error: ExchangeError) -> Self {
        let problem = |code| Problem::new(code, error.to_string());
        Self(match &error {
            ExchangeError::NotFound { .. } => problem(ErrorCode::ResourceNotFound).into(),
            ExchangeError::SameCurrency => problem(ErrorCode::FieldInvalid).at("to").into(),
            ExchangeError::AlreadyOver => problem(ErrorCode::FieldInvalid).at("valid_until").into(),
            ExchangeError::TooMany => problem(ErrorCode::LimitReached).into(),
            ExchangeError::Feed(FeedError::NoUrl) => problem(ErrorCode::ServiceUnavailable).into(),
            ExchangeError::Feed(_) => problem(ErrorCode::ServiceUnavailable)
                .hint("The rates of before count until they are too old.")
                .into(),
            _ => {
                tracing::warn!(%error, "Exchange rates could not be changed.");
                ApiError::unavailable()
            }
        })
    }
}
