//! Dashboard of the installation: what needs an operator, and the health of each connection and
//! method since the start of the process.

use axum::response::Response;
use switchyard_engine::engine::Engine;
use switchyard_records::CaseQuery;
use switchyard_users::Action;

use super::super::answer;
use super::super::approvals;
use super::super::labels::method_name;
use super::super::page::{Failed, Page, SignedIn};
use super::super::text::Text;
use super::gateways::overviews;
use super::view::{Alert, Fact, Row, Section, Table, Target, View};
use crate::operator::connection_health;
use crate::operator::contract::gateways::{GatewayState, GatewaySummary};
use crate::operator::contract::routing::{Breaker, ConnectionHealth, Health, HealthFilter};

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
    let mut view = View::new(page, "console-installation", "installation");
    view.links = vec![Target::new(page, "installation", "console-refresh")];
    view.alerts = alerts(page, &gateways, &cases);
    view.figures = vec![
        Fact::new(page, "console-open-cases", cases),
        Fact::new(page, "console-running-calls", running),
        Fact::new(page, "console-live-actors", engine.live_actors()),
        Fact::new(page, "console-queue-webhooks", webhooks(engine).await),
        Fact::new(page, "console-queue-mails", mails(engine).await),
    ];
    view.sections = vec![health(page)];
    Ok(view.show(page))
}

/// Number of open cases: of more than a hundred, `100+`.
async fn open_cases(engine: &Engine) -> Result<String, Failed> {
    let query = CaseQuery {
        open: true,
        app: None,
        environment: None,
        reason: None,
        opened_before: None,
        before: None,
        limit: COUNTED_CASES,
    };
    let found = engine.cases(&query).await?;
    let more = if found.more.is_some() { "+" } else { "" };
    Ok(format!("{}{more}", found.items.len()))
}

/// Webhooks that are not delivered yet; a dash when the queue does not answer.
pub async fn webhooks(engine: &Engine) -> String {
    let depth = engine.webhooks().snapshot().await.map(|queue| queue.depth);
    depth.map_or_else(|| "–".to_owned(), |depth| depth.max(0).to_string())
}

/// Mails that are not sent yet.
pub async fn mails(engine: &Engine) -> String {
    let depth = engine.mails().snapshot().await.map(|queue| queue.depth);
    depth.map_or_else(|| "–".to_owned(), |depth| depth.max(0).to_string())
}

fn alerts(page: &Page, gateways: &[GatewaySummary], cases: &str) -> Vec<Alert> {
    let (text, engine) = (page.text(), page.state.engine());
    let mut alerts = Vec::new();
    let mut add = |text: String, target: Option<Target>| alerts.push(Alert { text, target });
    if let Some(damage) = engine.store().damage() {
        let values = [("damage", damage.as_str())];
        add(text.with("console-alert-damage", &values), None);
    }
    if !engine.store().stats().available {
        add(text.say("console-alert-store"), None);
    }
    if engine.hold().is_held() {
        add(text.say("console-alert-hold"), None);
    }
    if cases != "0" {
        let target = Target::new(page, "installation/cases", "console-cases");
        add(text.say("console-alert-cases"), Some(target));
    }
    if approvals::open_count(page) > 0 {
        let target = Target::new(page, "installation/approvals", "console-approvals");
        add(text.say("console-alert-approvals"), Some(target));
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

fn health(page: &Page) -> Section {
    let filter = HealthFilter {
        app: None,
        environment: None,
    };
    let rows = connection_health(page.state.api(), &filter);
    let rows = rows.iter().map(|one| health_row(page, one)).collect();
    let columns = [
        "console-connection",
        "console-environment",
        "console-method",
        "console-breaker",
        "console-success-rate",
        "console-faults",
    ];
    Section {
        title: Some(page.text().say("console-health")),
        text: Some(page.text().say("console-health-text")),
        table: Some(Table::new(page, &columns, rows, "console-health-empty")),
        ..Section::default()
    }
}

fn health_row(page: &Page, one: &ConnectionHealth) -> Row {
    let text = page.text();
    let of = &one.connection;
    let names = [of.account_name.as_deref(), of.gateway.as_deref()];
    let names: Vec<_> = names.into_iter().flatten().collect();
    let directory = page.state.engine().directory();
    let [breaker, succeeded, faults] = health_facts(&one.health, text);
    Row::plain(vec![
        names.join(" · "),
        environment(one.environment, text),
        method_name(directory, one.kind, &one.method, text),
        breaker,
        succeeded,
        faults,
    ])
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
        success_rate(health.succeeded, health.ended),
        format!("{} / {}", health.faults, health.calls),
    ]
}

/// Name of an environment.
pub fn environment(of: switchyard_core::environment::Environment, text: Text) -> String {
    use switchyard_core::environment::Environment;
    text.say(match of {
        Environment::Sandbox => "console-sandbox",
        Environment::Live => "console-live",
    })
}

/// Whole percent, with both numbers, since few attempts say little.
fn success_rate(succeeded: u32, ended: u32) -> String {
    if ended == 0 {
        return "–".to_owned();
    }
    let percent = u64::from(succeeded) * 100 / u64::from(ended);
    format!("{percent} % ({succeeded} / {ended})")
}

#[cfg(test)]
mod tests {
    use super::success_rate;

    #[test]
    fn a_success_rate_is_never_rounded_up_to_all() {
        assert_eq!(success_rate(0, 0), "–");
        assert_eq!(success_rate(3, 3), "100 % (3 / 3)");
        assert_eq!(success_rate(999, 1_000), "99 % (999 / 1000)");
    }
}
