//! Dashboard of the installation: what needs an operator, and the health of each connection and
//! method since the start of the process.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::transaction::Kind;
use switchyard_engine::engine::{Engine, Statistics, Within};
use switchyard_records::{CaseQuery, CasesFound, Interval, StatisticsQuery};
use switchyard_users::Action;

use super::super::answer;
use super::super::approvals;
use super::super::method_names::distinct_name;
use super::super::page::{Failed, Page, SignedIn};
use super::super::text::Text;
use super::gateways::overviews;
use super::view::{Alert, Fact, Row, Section, Table, Target, View};
use crate::operator::contract::gateways::{GatewayState, GatewaySummary};
use crate::operator::contract::routing::{Breaker, ConnectionHealth, Health, HealthFilter};
use crate::operator::{connection_health, owner};

/// Apps whose times are read for one page, each in each environment and kind.
const LATENCY_APPS: usize = 50;
const LATENCY_SPAN: Duration = Duration::from_secs(24 * 60 * 60);
/// Open cases that are counted at most.
const COUNTED_CASES: usize = 100;

/// `GET /console/installation`
pub async fn show(SignedIn(page): SignedIn) -> Response {
    let shown = show_dashboard(&page).await;
    answer(&page, shown)
}

async fn show_dashboard(page: &Page) -> Result<Response, Failed> {
    page.permit(Action::ViewGateways)?;
    let engine = page.state.engine();
    let gateways = overviews(page).await?;
    let running: usize = gateways.iter().map(|one| one.running_calls).sum();
    let cases = open_cases(engine).await?;
    let count = match (cases.items.len(), cases.is_incomplete) {
        (0, true) => "–".to_owned(),
        (count, is_incomplete) if is_incomplete || cases.more.is_some() => format!("{count}+"),
        (count, _) => count.to_string(),
    };
    let mut view = View::new(page, "console-installation", "installation");
    view.links = vec![Target::new(page, "installation", "console-refresh")];
    view.alerts = alerts(page, &gateways, !cases.items.is_empty());
    view.figures = vec![
        Fact::new(page, "console-open-cases", count),
        Fact::new(page, "console-running-calls", running),
        Fact::new(page, "console-live-actors", engine.live_actors()),
    ];
    view.figures.extend(queues(page).await);
    view.sections = vec![health(page).await?];
    Ok(view.show(page))
}

/// The newest open cases, at most [`COUNTED_CASES`].
async fn open_cases(engine: &Engine) -> Result<CasesFound, Failed> {
    let query = CaseQuery {
        open: true,
        app: None,
        environment: None,
        reason: None,
        opened_before: None,
        before: None,
        limit: COUNTED_CASES,
    };
    Ok(engine.cases(&query).await?)
}

/// Webhooks that are not delivered and mails that are not sent yet, with the age of the oldest.
pub async fn queues(page: &Page) -> Vec<Fact> {
    let engine = page.state.engine();
    let webhooks = engine.webhooks().snapshot().await;
    let webhooks = webhooks.map(|queue| (queue.depth, queue.oldest));
    let mails = engine.mails().snapshot().await;
    let mails = mails.map(|queue| (queue.depth, queue.oldest));
    let mut facts = Vec::new();
    let text = page.text();
    for (queue, name) in [
        (webhooks, "console-queue-webhooks"),
        (mails, "console-queue-mails"),
    ] {
        // A queue does not answer when it has stopped.
        let depth = queue.map(|(depth, _)| depth.max(0).to_string());
        let depth = depth.unwrap_or_else(|| "–".to_owned());
        // The oldest is that of the last sweep.
        let value = match queue {
            Some((1.., Some(oldest))) => {
                let age = text.duration(page.state.now().since(oldest));
                let values = [("depth", depth.as_str()), ("age", &age)];
                text.with("console-queue-oldest", &values)
            }
            _ => depth,
        };
        facts.push(Fact::new(page, name, value));
    }
    facts
}

fn alerts(page: &Page, gateways: &[GatewaySummary], has_cases: bool) -> Vec<Alert> {
    let (text, engine) = (page.text(), page.state.engine());
    let mut alerts = Vec::from_iter(damage_alert(page));
    let mut add = |text: String, target: Option<Target>| alerts.push(Alert { text, target });
    if !engine.store().stats().available {
        add(text.say("console-alert-store"), None);
    }
    if engine.hold().is_held() {
        add(text.say("console-alert-hold"), None);
    }
    if has_cases {
        let target = Target::new(page, "installation/cases", "console-cases");
        add(text.say("console-alert-cases"), Some(target));
    }
    let proposals = approvals::open_count(page);
    if proposals > 0 {
        let target = Target::new(page, "installation/approvals", "console-approvals");
        let alert = text.count("console-alert-approvals", "count", proposals);
        add(alert, Some(target));
    }
    for one in gateways {
        let target = || {
            Some(Target {
                href: page.link(&format!("installation/gateways/{}", one.name)),
                name: one.title.clone().unwrap_or_else(|| one.name.clone()),
            })
        };
        if one.state == GatewayState::Quarantined {
            let reason = one.quarantine.as_ref().map_or("", |it| it.reason.as_str());
            let values = [("gateway", one.name.as_str()), ("reason", reason)];
            add(text.with("console-alert-quarantine", &values), target());
        }
        if one.awaiting_approval.is_some() {
            let values = [("gateway", one.name.as_str())];
            add(text.with("console-alert-approval", &values), target());
        }
    }
    if super::gateways::waiting_files(page) > 0 {
        let target = Target::new(page, "installation/gateways", "console-gateways");
        add(text.say("console-alert-consent"), Some(target));
    }
    let rates = engine.exchange_rates().held();
    if rates.iter().any(|held| !held.rejected) {
        let target = Target::new(page, "installation/rates", "console-rates");
        add(text.say("console-alert-rates"), Some(target));
    }
    alerts
}

/// Damage of the store, if it was found.
pub fn damage_alert(page: &Page) -> Option<Alert> {
    let damage = page.state.engine().store().damage()?;
    let values = [("damage", damage.as_str())];
    let target = Target::new(page, "installation/system", "console-system");
    Some(Alert {
        text: page.text().with("console-alert-damage", &values),
        target: page.may(Action::ViewSystem).then_some(target),
    })
}

async fn health(page: &Page) -> Result<Section, Failed> {
    let filter = HealthFilter {
        app: None,
        environment: None,
    };
    let rows = connection_health(page.state.api(), &filter);
    let latencies = Latencies::of(page, &rows).await?;
    let row = |one| health_row(page, one, &rows, &latencies);
    let rows = rows.iter().map(row).collect();
    let columns = [
        "console-connection",
        "console-environment",
        "console-method",
        "console-breaker",
        "console-success-rate",
        "console-faults",
        "console-latency",
        "console-last-fault",
    ];
    Ok(Section {
        title: Some(page.text().say("console-health")),
        text: Some(page.text().say("console-health-text")),
        table: Some(Table::new(page, &columns, rows, "console-health-empty")),
        ..Section::default()
    })
}

/// `all`: the rows of the table.
fn health_row(
    page: &Page,
    one: &ConnectionHealth,
    all: &[ConnectionHealth],
    latencies: &Latencies,
) -> Row {
    let text = page.text();
    let of = &one.connection;
    let names = [of.account_name.as_deref(), of.gateway.as_deref()];
    let names: Vec<_> = names.into_iter().flatten().collect();
    let directory = page.state.engine().directory();
    let of_kind = all.iter().filter(|other| other.kind == one.kind);
    let methods = of_kind.map(|other| other.method.as_str());
    let [breaker, succeeded, faults] = health_facts(&one.health, text);
    let fault = one.health.last_fault.as_ref().map(|fault| {
        let at = text.language().date(fault.at.0);
        let values = [("at", &*at), ("message", &*fault.message)];
        text.with("console-last-fault-value", &values)
    });
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    Row::plain(vec![
        names.join(" · "),
        environment(one.environment, text),
        distinct_name((directory, one.kind), &one.method, methods, text),
        breaker,
        succeeded,
        faults,
        or_dash(latencies.of_connection(one, text)),
        or_dash(fault),
    ])
}

/// Times to success of the last 24 hours, by app, environment and kind.
struct Latencies(Vec<((AppId, Environment, Kind), Statistics)>);

impl Latencies {
    /// Reads those of the connections in `rows`, of the first [`LATENCY_APPS`] apps.
    async fn of(page: &Page, rows: &[ConnectionHealth]) -> Result<Self, Failed> {
        let (engine, now) = (page.state.engine(), page.state.now());
        let keys = rows.iter().filter_map(|row| {
            let (app, environment) = owner(engine.access(), row.connection.connection?);
            Some((app, environment, row.kind))
        });
        let keys: BTreeSet<_> = keys.collect();
        let mut all = Vec::with_capacity(keys.len());
        for (app, environment, kind) in keys.into_iter().take(LATENCY_APPS) {
            let query = StatisticsQuery {
                app,
                environment,
                kind,
                interval: Interval::Hour,
                from: now.minus(LATENCY_SPAN),
                to: now,
            };
            all.push(((app, environment, kind), engine.statistics(&query).await?));
        }
        Ok(Self(all))
    }

    fn of_connection(&self, row: &ConnectionHealth, text: Text) -> Option<String> {
        let id = row.connection.connection?;
        let groups = self.0.iter().filter(|((_, _, kind), _)| *kind == row.kind);
        let mut groups = groups.flat_map(|(_, statistics)| &statistics.connections);
        let (_, group) = groups.find(|(connection, _)| *connection == Some(id))?;
        let bound = |percent| {
            Some(match group.percentile(percent)? {
                Within::AtMost(bound) => format!("≤\u{a0}{}", text.duration(bound)),
                Within::MoreThan(bound) => format!(">\u{a0}{}", text.duration(bound)),
            })
        };
        let values = [("half", &*bound(50)?), ("most", &*bound(95)?)];
        Some(text.with("console-latency-value", &values))
    }
}

/// Circuit breaker, rate of success, and faults of calls.
pub fn health_facts(health: &Health, text: Text) -> [String; 3] {
    let breaker = text.say(match health.breaker {
        Breaker::Open => "console-breaker-open",
        Breaker::Closed => "console-breaker-closed",
    });
    let breaker = match health.short_of_funds {
        true => format!("{breaker}; {}", text.say("console-short-of-funds")),
        false => breaker,
    };
    [
        breaker,
        success_rate(health.succeeded, health.ended, text),
        format!("{} / {}", health.faults, health.calls),
    ]
}

/// Name of an environment.
pub fn environment(of: Environment, text: Text) -> String {
    text.say(match of {
        Environment::Sandbox => "console-sandbox",
        Environment::Live => "console-live",
    })
}

/// Whole percent, with both numbers, since few attempts say little.
fn success_rate(succeeded: u32, ended: u32, text: Text) -> String {
    if ended == 0 {
        return "–".to_owned();
    }
    let percent = u64::from(succeeded) * 100 / u64::from(ended);
    format!("{} ({succeeded} / {ended})", text.percent(percent * 10))
}

#[cfg(test)]
mod tests {
    use switchyard_core::language::Language;

    use super::{Text, success_rate};

    #[test]
    fn a_success_rate_is_never_rounded_up_to_all() {
        let rate = |succeeded, ended| success_rate(succeeded, ended, Text(Language::En));
        assert_eq!(rate(0, 0), "–");
        assert_eq!(rate(3, 3), "100% (3 / 3)");
        assert_eq!(rate(999, 1_000), "99% (999 / 1000)");
    }
}
