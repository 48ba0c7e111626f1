//! The hold after a restore: its report and its release.

use axum::Extension;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::access::{App, Operator};
use switchyard_engine::engine::{Engine, HoldReport, UnsentPayouts};
use switchyard_engine::hold::{Held, HoldError, Open, Release};
use switchyard_engine::ids::AppId;
use switchyard_engine::money::{Amount, Currency};

use super::by_hand::note;
use super::error::{Answer, Refused, internal, not_found};
use super::input::{Body, ok};
use super::view::iso;
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
    let report = state.engine.hold_report().await?;
    let report = report.map(|report| reported(&state.engine, &report));
    let never = || json!({ "held": false, "since": null });
    ok("Hold fetched successfully", &report.unwrap_or_else(never))
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
    let mut view = held(engine);
    view["changed"] = json!(is_changed);
    ok(message, &view)
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

/// Which apps are held.
fn held(engine: &Engine) -> Value {
    let state = engine.hold.state();
    json!({
        "held": engine.hold.is_held(),
        "since": state.as_ref().map(|held| iso(held.since)),
        "apps": state.map(|held| apps(engine, &held)),
    })
}

fn apps(engine: &Engine, held: &Held) -> Vec<Value> {
    let apps = engine.access.apps(None);
    let view = |app: &App| {
        let release = held.apps.get(&app.id).or(held.released.as_ref());
        json!({
            "id": app.id,
            "name": app.name,
            "held": held.is_held(app.id),
            "release": release.map(released),
        })
    };
    apps.iter().map(|app| view(app)).collect()
}

fn released(release: &Release) -> Value {
    json!({ "at": iso(release.at), "by": release.by, "note": release.note })
}

fn total(minor: i64, currency: Currency) -> String {
    Amount::from_minor(minor, currency).format()
}

fn reported(engine: &Engine, report: &HoldReport) -> Value {
    let held = &report.held;
    let lost = report.lost.map(|(from, to)| {
        json!({
            "from": iso(from),
            "to": iso(to),
            "idempotency_keys": "those of this span are unknown: a request that is repeated with \
                                 one of them moves money again",
        })
    });
    let restored = held.restored.as_ref().map(|restored| {
        json!({
            "backup_at": iso(restored.backup_at),
            "restored_at": iso(restored.restored_at),
            "sequence": restored.sequence,
            "incarnation": restored.incarnation.to_string(),
        })
    });
    json!({
        "held": held.released.is_none(),
        "since": iso(held.since),
        "restored": restored,
        "lost": lost,
        "apps": apps(engine, held),
        "open": open(&report.open),
        "new_payouts": open(&report.new_payouts),
        "answers": answers(report),
        "not_followed": report.not_followed,
        "payouts_to_send": payouts_to_send(&report.unsent),
    })
}

/// Payouts that a release sends: all of them counted, the first of them by their ids, and the
/// commands that list all.
fn payouts_to_send(unsent: &UnsentPayouts) -> Value {
    let listed = unsent.listed.iter().map(|((reason, id), payout)| {
        json!({
            "id": id,
            "reason": reason.as_str(),
            "app": payout.app,
            "environment": payout.environment,
            "amount": payout.amount.format(),
            "currency": payout.amount.currency().code(),
            "created_at": iso(payout.created_at),
        })
    });
    let commands = unsent.lists.iter().map(|(app, environment, status)| {
        format!(
            "switchyard transactions list --app {app} --environment {environment} --kind payout \
             --status {status}"
        )
    });
    json!({
        "count": unsent.count,
        "payouts": listed.collect::<Vec<_>>(),
        "left_out": unsent.count.saturating_sub(unsent.listed.len() as u64),
        "commands": commands.collect::<Vec<_>>(),
    })
}

fn open(sums: &[Open]) -> Vec<Value> {
    let view = |open: &Open| {
        json!({
            "app": open.app,
            "environment": open.environment,
            "kind": if open.is_payment { "payment" } else { "payout" },
            "state": open.state,
            "count": open.count,
            "amount": total(open.minor, open.currency),
        })
    };
    sums.iter().map(view).collect()
}

/// Progress of the transactions that were open when the hold began.
fn answers(report: &HoldReport) -> Vec<Value> {
    let view = |answer: &switchyard_engine::engine::Answered| {
        json!({
            "app": answer.app,
            "environment": answer.environment,
            "kind": answer.kind.as_str(),
            "was": answer.was,
            "now": answer.now.as_str(),
            "count": answer.count,
            "amount": total(answer.minor, answer.currency),
        })
    };
    report.answers.iter().map(view).collect()
}
