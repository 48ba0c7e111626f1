//! The hold after a restore: its report and its release.

mod lists;

use axum::Extension;
use axum::extract::State;
use switchyard_core::ids::AppId;
use switchyard_core::money::{Amount, Currency};
use switchyard_engine::access::{App, Operator};
use switchyard_engine::engine::{Answered, Engine, HoldReport, UnsentPayouts};
use switchyard_engine::hold::{HoldError, HoldState, Open, Release};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::hold::{
    HeldApp, HoldView, LostSpan, OpenTransactions, PayoutToSend, PayoutsToSend, Progress,
    ReleaseOfApp, ReleaseRequest, ReleaseView, Restored,
};
use super::error::{Answer, Refused, internal, not_found};
use super::input::{Body, ok};
use super::manual_resolution::note;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(show))
        .routes(routes!(release))
}

/// Retrieve the hold after a restore
///
/// With its start, the lost span, the held apps, the transactions that were open at the start and
/// their progress, and the payouts that a release sends.
#[utoipa::path(
    get,
    path = "/hold",
    operation_id = "retrieveHold",
    tag = "Hold",
    responses((status = 200, description = "The hold.", body = Success<HoldView>)),
)]
async fn show(State(state): State<ApiState>) -> Answer {
    let report = state.engine().hold_report().await?;
    let view = match report {
        Some(report) => reported(state.engine(), &report),
        None => HoldView {
            apps: apps(state.engine(), None),
            ..HoldView::default()
        },
    };
    ok("Hold fetched successfully", &view)
}

/// Let attempts start again
///
/// Refused while payouts that were created in the hold wait, unless `send_new_payouts` is true.
#[utoipa::path(
    post,
    path = "/hold/release",
    operation_id = "releaseHold",
    tag = "Hold",
    request_body = ReleaseRequest,
    responses((status = 200, description = "The held apps.", body = Success<ReleaseView>)),
)]
async fn release(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Body(order): Body<ReleaseRequest>,
) -> Answer {
    let engine = state.engine();
    if let Some(app) = order.app {
        engine.access().app(app).ok_or_else(|| not_found("app"))?;
    }
    let note = order.note.map(note).transpose()?;
    if !order.send_new_payouts {
        must_have_no_new_payouts(engine, order.app).await?;
    }
    let ids: Vec<_> = engine
        .access()
        .apps(None)
        .iter()
        .map(|app| app.id)
        .collect();
    let hold = engine.hold();
    let released = hold.release(order.app, &ids, operator.name, note).await;
    let is_changed = released.map_err(failed)?;
    let message = match (is_changed, order.app) {
        (false, None) => "No app was held: nothing was changed",
        (false, Some(_)) => "The app was not held: nothing was changed",
        (true, None) => "All apps released successfully",
        (true, Some(_)) => "App released successfully",
    };
    let state = engine.hold().state();
    let view = ReleaseView {
        held: engine.hold().is_held(),
        since: state.as_ref().map(|held| held.since.into()),
        apps: apps(engine, state.as_deref()),
        changed: is_changed,
    };
    ok(message, &view)
}

/// Refuses a release that would send payouts made while held: some may repeat requests that the
/// store does not know.
async fn must_have_no_new_payouts(engine: &Engine, app: Option<AppId>) -> Result<(), Refused> {
    let payouts = engine.hold().payouts_made_since().await;
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

/// The apps; without a hold none of them is held.
fn apps(engine: &Engine, held: Option<&HoldState>) -> Vec<HeldApp> {
    let view = |app: &App| {
        let release = held.and_then(|held| held.apps.get(&app.id).or(held.released.as_ref()));
        HeldApp {
            id: app.id,
            name: app.name.clone(),
            held: held.is_some_and(|held| held.is_held(app.id)),
            release: release.map(released),
        }
    };
    let apps = engine.access().apps(None);
    apps.iter().map(|app| view(app)).collect()
}

fn released(release: &Release) -> ReleaseOfApp {
    ReleaseOfApp {
        at: release.at.into(),
        by: release.by.clone(),
        note: release.note.clone(),
    }
}

fn total(minor: i64, currency: Currency) -> String {
    Amount::from_minor(minor, currency).format()
}

fn reported(engine: &Engine, report: &HoldReport) -> HoldView {
    let held = &report.held;
    HoldView {
        held: held.released.is_none(),
        since: Some(held.since.into()),
        restored: held.restores().last().map(|restored| Restored {
            backup_at: restored.backup_at.into(),
            restored_at: restored.restored_at.into(),
            sequence: restored.sequence,
            incarnation: restored.incarnation.to_string(),
        }),
        lost: report.lost.map(|(from, to)| LostSpan {
            from: from.into(),
            to: to.into(),
            idempotency_keys: "those of this span are unknown: a request that is repeated with \
                               one of them moves money again"
                .to_owned(),
        }),
        apps: apps(engine, Some(held)),
        open: report.open.iter().map(open).collect(),
        new_payouts: report.new_payouts.iter().map(open).collect(),
        answers: report.answers.iter().map(progress).collect(),
        not_followed: report.not_followed,
        payouts_to_send: payouts_to_send(&report.unsent),
        provider_lists: report.provider_lists.iter().map(lists::list).collect(),
    }
}

/// Payouts that a release sends: all of them counted, the first of them by their ids, and the
/// commands that list all.
fn payouts_to_send(unsent: &UnsentPayouts) -> PayoutsToSend {
    let listed = unsent.listed.iter();
    let payouts = listed.map(|((reason, id), payout)| PayoutToSend {
        id: *id,
        reason: reason.as_str().to_owned(),
        app: payout.app,
        environment: payout.environment,
        amount: payout.amount.format(),
        currency: payout.amount.currency(),
        created_at: payout.created_at.into(),
    });
    let commands = unsent.lists.iter().map(|(app, environment, status)| {
        format!(
            "switchyard transactions list --app {app} --environment {environment} --kind payout \
             --status {status}"
        )
    });
    PayoutsToSend {
        count: unsent.count,
        payouts: payouts.collect(),
        left_out: unsent.count.saturating_sub(unsent.listed.len() as u64),
        commands: commands.collect(),
    }
}

fn open(open: &Open) -> OpenTransactions {
    OpenTransactions {
        app: open.app,
        environment: open.environment,
        kind: open.kind,
        state: open.state.clone(),
        count: open.count,
        amount: total(open.minor, open.currency),
    }
}

fn progress(answer: &Answered) -> Progress {
    Progress {
        app: answer.app,
        environment: answer.environment,
        kind: answer.kind,
        was: answer.was.clone(),
        now: answer.now.as_str().to_owned(),
        count: answer.count,
        amount: total(answer.minor, answer.currency),
    }
}
