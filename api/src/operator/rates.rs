//! Exchange rates: the operator's table, the feed, and what an amount comes to.

#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{delete, get, post};
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchyard_engine::exchange::{Entry, ExchangeError, FeedError, HeldRate, HoldReason, Source};
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

/// A rate that an operator set.
#[derive(Serialize)]
struct RateSet {
    #[serde(flatten)]
    rate: RateView,
    /// The fixed rate whose place it takes, such as `1 EUR = 655.957 XOF`.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of_fixed: Option<String>,
}

/// A fetched rate that is not used until an operator accepts it.
#[derive(Serialize)]
struct HeldView {
    from: &'static str,
    to: &'static str,
    /// The rate as fetched.
    rate: String,
    /// The last accepted rate, or the one that the peg implies.
    expected: String,
    reason: HoldReason,
    /// The currency whose fixed rate it contradicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pegged_to: Option<&'static str>,
    /// `held`, or `rejected` while the feed repeats a rejected rate.
    state: &'static str,
    fetched_at: String,
    /// From then on it can no longer be accepted.
    valid_until: Option<String>,
}

impl From<&HeldRate> for HeldView {
    fn from(held: &HeldRate) -> Self {
        let entry = &held.entry;
        Self {
            from: entry.from.code(),
            to: entry.to.code(),
            rate: entry.rate.to_string(),
            expected: held.expected.to_string(),
            reason: held.reason,
            pegged_to: held.pegged_to.map(Currency::code),
            state: if held.rejected { "rejected" } else { "held" },
            fetched_at: iso(entry.at),
            valid_until: entry.valid_until.map(iso),
        }
    }
}

/// An operator's decision about a held rate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The held rate that the operator saw.
    rate: String,
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
        .route("/rates/held", get(held))
        .route("/rates/held/{from}/{to}/accept", post(accept))
        .route("/rates/held/{from}/{to}/reject", post(reject))
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
    let exchange = &state.engine.exchange;
    let entry = exchange.set(from, to, rate, until).await?;
    let of_pair = |fixed: &&Entry| [(from, to), (to, from)].contains(&(fixed.from, fixed.to));
    let entries = exchange.entries();
    let mut pegs = entries.iter().filter(|fixed| fixed.source == Source::Peg);
    let view = RateSet {
        rate: RateView::from(&entry),
        instead_of_fixed: pegs.find(of_pair).map(|fixed| {
            let (one, other) = (fixed.from.code(), fixed.to.code());
            format!("1 {one} = {} {other}", fixed.rate)
        }),
    };
    ok("Rate set successfully", &view)
}

async fn remove(State(state): State<ApiState>, Path((from, to)): Path<(String, String)>) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    state.engine.exchange.remove(from, to).await?;
    done("Rate removed successfully")
}

async fn fetch(State(state): State<ApiState>) -> Answer {
    let fetched = state.engine.exchange.fetch().await?;
    let message = match fetched.held {
        0 => "Rates fetched from their source".to_owned(),
        held => format!(
            "Rates fetched from their source; {held} implausible ones are held and not used: see the held rates"
        ),
    };
    ok(
        &message,
        &json!({ "rates": fetched.accepted, "held": fetched.held }),
    )
}

async fn held(State(state): State<ApiState>) -> Answer {
    let held = state.engine.exchange.held();
    let views: Vec<HeldView> = held.iter().map(HeldView::from).collect();
    ok("Held rates fetched successfully", &views)
}

async fn accept(
    State(state): State<ApiState>,
    Path((from, to)): Path<(String, String)>,
    Body(decision): Body<Decision>,
) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    let rate = Rate::parse(&decision.rate).map_err(|why| invalid("rate", why.to_string()))?;
    let entry = state.engine.exchange.accept_held(from, to, rate).await?;
    ok(
        "Held rate accepted; used from now on",
        &RateView::from(&entry),
    )
}

async fn reject(
    State(state): State<ApiState>,
    Path((from, to)): Path<(String, String)>,
    Body(decision): Body<Decision>,
) -> Answer {
    let (from, to) = (currency("from", &from)?, currency("to", &to)?);
    let rate = Rate::parse(&decision.rate).map_err(|why| invalid("rate", why.to_string()))?;
    let held = state.engine.exchange.reject_held(from, to, rate).await?;
    ok(
        "Held rate rejected; it stays unused",
        &HeldView::from(&held),
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
            ExchangeError::NotFound { .. } | ExchangeError::NotHeld { .. } => {
                problem(ErrorCode::ResourceNotFound).into()
            }
            ExchangeError::HeldAnother { .. } | ExchangeError::HeldTooOld { .. } => {
                problem(ErrorCode::ResourceChanged).into()
            }
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
