//! The hold after a restore: its report and its release.

mod lists;
mod view;

use axum::Extension;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use switchyard_engine::access::Operator;
use switchyard_engine::engine::Engine;
use switchyard_engine::hold::HoldError;
use switchyard_engine::ids::AppId;

use self::view::{HoldView, NeverHeldView, ReleaseView, total};
use super::by_hand::note;
use super::error::{Answer, Refused, internal, not_found};
use super::input::{Body, ok};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::state::ApiState;

pub fn routes() -> axum::Router<ApiState> {
    axum::Router::new()
        .route("/hold", get(show))
        .route("/hold/release", post(release))
}

/// Request of a release: of one app, or of all without `app`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    app: Option<AppId>,
    note: Option<String>,
    /// Consent to send the payouts that were made while held.
    #[serde(default)]
    send_new_payouts: bool,
}

async fn show(State(state): State<ApiState>) -> Answer {
    let message = "Hold fetched successfully";
    match state.engine.hold_report().await? {
        Some(report) => ok(message, &HoldView::new(&state.engine, &report)),
        None => ok(message, &NeverHeldView::new()),
    }
}

async fn release(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Body(order): Body<ReleaseRequest>,
) -> Answer {
    let engine = &state.engine;
    if let Some(app) = order.app {
        engine.access.app(app).ok_or_else(|| not_found("app"))?;
    }
    let note = order.note.map(note).transpose()?;
    if !order.send_new_payouts {
        must_have_no_new_payouts(engine, order.app).await?;
    }
    let apps: Vec<_> = engine.access.apps(None).iter().map(|app| app.id).collect();
    let hold = &engine.hold;
    let released = hold.release(order.app, &apps, operator.name, note).await;
    let is_changed = released.map_err(failed)?;
    let message = match (is_changed, order.app) {
        (false, None) => "No app was held: nothing was changed",
        (false, Some(_)) => "The app was not held: nothing was changed",
        (true, None) => "All apps released successfully",
        (true, Some(_)) => "App released successfully",
    };
    ok(message, &ReleaseView::new(engine, is_changed))
}

/// Refuses a release that would send payouts made while held: some may repeat requests that the
/// store does not know.
async fn must_have_no_new_payouts(engine: &Engine, app: Option<AppId>) -> Result<(), Refused> {
    let payouts = engine.hold.payouts_made_since().await;
    let mut payouts = payouts.map_err(|error| failed(error.into()))?;
    payouts.retain(|payouts| app.is_none_or(|app| payouts.app == app));
    let count: u64 = payouts.iter().map(|payouts| payouts.count).sum();
    if count == 0 {
        return Ok(());
    }
    let sums = payouts
        .iter()
        .map(|payouts| total(payouts.minor, payouts.currency));
    let sums: Vec<String> = sums.collect();
    let message = format!(
        "The release would send {count} payouts made while held ({}): nothing was released.",
        sums.join(" + ")
    );
    let problem = Problem::new(ErrorCode::TransitionRefused, message).hint(
        "A payout that repeats a request of the lost span pays a second time. Compare them with \
         the providers' records and cancel the repetitions. Then send `send_new_payouts: true`; on \
         the command line, `--yes`. The report of the hold lists the ids.",
    );
    Err(Refused(problem.into()))
}

fn failed(error: HoldError) -> Refused {
    Refused(match error {
        HoldError::Read(_) | HoldError::Commit(_) => ApiError::unavailable(),
        error => internal(&error),
    })
}
