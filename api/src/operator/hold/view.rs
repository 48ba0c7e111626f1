//! The hold in responses.

use serde::Serialize;
use switchyard_engine::access::App;
use switchyard_engine::clock::Timestamp;
use switchyard_engine::engine::{Answered, Engine, HoldReport, UnsentPayouts};
use switchyard_engine::environment::Environment;
use switchyard_engine::hold::{Held, Open, Release};
use switchyard_engine::ids::{AppId, TransactionId};
use switchyard_engine::money::{Amount, Currency};
use switchyard_engine::store::Restored;

use super::lists::ProviderListView;
use crate::operator::view::iso;

/// The report on the hold.
#[derive(Serialize)]
pub struct HoldView {
    held: bool,
    since: String,
    restored: Option<RestoredView>,
    lost: Option<LostView>,
    apps: Vec<AppView>,
    open: Vec<OpenView>,
    new_payouts: Vec<OpenView>,
    answers: Vec<AnswerView>,
    not_followed: u64,
    payouts_to_send: PayoutsToSendView,
    provider_lists: Vec<ProviderListView>,
}

/// Which apps are held, after a release.
#[derive(Serialize)]
pub struct ReleaseView {
    held: bool,
    since: Option<String>,
    apps: Option<Vec<AppView>>,
    changed: bool,
}

/// The store was never held.
#[derive(Serialize)]
pub struct NeverHeldView {
    held: bool,
    since: Option<String>,
}

#[derive(Serialize)]
struct RestoredView {
    backup_at: String,
    restored_at: String,
    sequence: u64,
    incarnation: String,
}

#[derive(Serialize)]
struct LostView {
    from: String,
    to: String,
    idempotency_keys: &'static str,
}

#[derive(Serialize)]
struct AppView {
    id: AppId,
    name: String,
    held: bool,
    release: Option<AppReleaseView>,
}

#[derive(Serialize)]
struct AppReleaseView {
    at: String,
    by: String,
    note: Option<String>,
}

#[derive(Serialize)]
struct OpenView {
    app: AppId,
    environment: Environment,
    kind: &'static str,
    state: String,
    count: u64,
    amount: String,
}

/// Progress of the transactions that were open when the hold began.
#[derive(Serialize)]
struct AnswerView {
    app: AppId,
    environment: Environment,
    kind: &'static str,
    was: String,
    now: &'static str,
    count: u64,
    amount: String,
}

/// Payouts that a release sends: all of them counted, the first of them by their ids, and the
/// commands that list all.
#[derive(Serialize)]
struct PayoutsToSendView {
    count: u64,
    payouts: Vec<PayoutToSendView>,
    left_out: u64,
    commands: Vec<String>,
}

#[derive(Serialize)]
struct PayoutToSendView {
    id: TransactionId,
    reason: &'static str,
    app: AppId,
    environment: Environment,
    amount: String,
    currency: &'static str,
    created_at: String,
}

impl HoldView {
    pub fn new(engine: &Engine, report: &HoldReport) -> Self {
        let held = &report.held;
        Self {
            held: held.released.is_none(),
            since: iso(held.since),
            restored: held.restored.as_ref().map(RestoredView::from),
            lost: report.lost.map(LostView::from),
            apps: apps(engine, held),
            open: report.open.iter().map(OpenView::from).collect(),
            new_payouts: report.new_payouts.iter().map(OpenView::from).collect(),
            answers: report.answers.iter().map(AnswerView::from).collect(),
            not_followed: report.not_followed,
            payouts_to_send: PayoutsToSendView::from(&report.unsent),
            provider_lists: report
                .provider_lists
                .iter()
                .map(ProviderListView::from)
                .collect(),
        }
    }
}

impl ReleaseView {
    pub fn new(engine: &Engine, changed: bool) -> Self {
        let state = engine.hold.state();
        Self {
            held: engine.hold.is_held(),
            since: state.as_ref().map(|held| iso(held.since)),
            apps: state.map(|held| apps(engine, &held)),
            changed,
        }
    }
}

impl NeverHeldView {
    pub const fn new() -> Self {
        Self {
            held: false,
            since: None,
        }
    }
}

impl From<&Restored> for RestoredView {
    fn from(restored: &Restored) -> Self {
        Self {
            backup_at: iso(restored.backup_at),
            restored_at: iso(restored.restored_at),
            sequence: restored.sequence,
            incarnation: restored.incarnation.to_string(),
        }
    }
}

impl From<(Timestamp, Timestamp)> for LostView {
    fn from((from, to): (Timestamp, Timestamp)) -> Self {
        Self {
            from: iso(from),
            to: iso(to),
            idempotency_keys: "those of this span are unknown: a request that is repeated with \
                               one of them moves money again",
        }
    }
}

impl From<&Release> for AppReleaseView {
    fn from(release: &Release) -> Self {
        Self {
            at: iso(release.at),
            by: release.by.clone(),
            note: release.note.clone(),
        }
    }
}

impl From<&Open> for OpenView {
    fn from(open: &Open) -> Self {
        Self {
            app: open.app,
            environment: open.environment,
            kind: kind(open.is_payment),
            state: open.state.clone(),
            count: open.count,
            amount: total(open.minor, open.currency),
        }
    }
}

impl From<&Answered> for AnswerView {
    fn from(answer: &Answered) -> Self {
        Self {
            app: answer.app,
            environment: answer.environment,
            kind: answer.kind.as_str(),
            was: answer.was.clone(),
            now: answer.now.as_str(),
            count: answer.count,
            amount: total(answer.minor, answer.currency),
        }
    }
}

impl From<&UnsentPayouts> for PayoutsToSendView {
    fn from(unsent: &UnsentPayouts) -> Self {
        let listed = unsent
            .listed
            .iter()
            .map(|((reason, id), payout)| PayoutToSendView {
                id: *id,
                reason: reason.as_str(),
                app: payout.app,
                environment: payout.environment,
                amount: payout.amount.format(),
                currency: payout.amount.currency().code(),
                created_at: iso(payout.created_at),
            });
        let commands = unsent.lists.iter().map(|(app, environment, status)| {
            format!(
                "switchyard transactions list --app {app} --environment {environment} \
                 --kind payout --status {status}"
            )
        });
        Self {
            count: unsent.count,
            payouts: listed.collect(),
            left_out: unsent.count.saturating_sub(unsent.listed.len() as u64),
            commands: commands.collect(),
        }
    }
}

fn apps(engine: &Engine, held: &Held) -> Vec<AppView> {
    let view = |app: &App| {
        let release = held.apps.get(&app.id).or(held.released.as_ref());
        AppView {
            id: app.id,
            name: app.name.clone(),
            held: held.is_held(app.id),
            release: release.map(AppReleaseView::from),
        }
    };
    let apps = engine.access.apps(None);
    apps.iter().map(|app| view(app)).collect()
}

pub(super) const fn kind(is_payment: bool) -> &'static str {
    match is_payment {
        true => "payment",
        false => "payout",
    }
}

pub(super) fn total(minor: i64, currency: Currency) -> String {
    Amount::from_minor(minor, currency).format()
}
