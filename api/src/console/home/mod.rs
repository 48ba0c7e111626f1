//! Home page of an app: numbers, charts, reasons of failures, money by currency, and what needs
//! attention.
//!
//! All figures of a page come from one read of the statistics, so they agree with each other. They
//! are about the payments or payouts that were created in the chosen days, in UTC, by their present
//! state.

mod attention;
mod chart;
mod groups;
mod kpis;

use std::time::Duration;

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, Status};
use switchyard_engine::engine::{Group, Statistics};
use switchyard_records::{Interval, ListQuery, StatisticsQuery};
use switchyard_users::Action;

use self::attention::Attention;
use self::chart::{Chart, Column, Legend, Scale};
use self::groups::{GroupRow, IntervalRow, MoneyTable, ReasonRow};
use self::kpis::{Kpi, kpis};
use super::frame::{Frame, Link};
use super::list::segment;
use super::page::{Failed, Page, Scope, Scoped};
use super::text::Text;
use super::{answer, shown};

/// Choice of the reader, as it stands in the address of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct HomeFilter {
    days: String,
    kind: String,
}

/// Days that the page covers, today among them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Days {
    Today,
    Seven,
    Thirty,
}

#[derive(Template)]
#[template(path = "console/home.html")]
struct HomePage {
    frame: Frame,
    now: String,
    days: Vec<Link>,
    kinds: Vec<Link>,
    kpis: Vec<Kpi>,
    attention: Attention,
    counts: Chart,
    rates: Chart,
    volumes: Vec<Chart>,
    intervals: Vec<IntervalRow>,
    methods: Vec<GroupRow>,
    countries: Vec<GroupRow>,
    reasons: Vec<ReasonRow>,
    money: Vec<MoneyTable>,
    names: Names,
}

/// Texts that differ between payments and payouts.
struct Names {
    counts: String,
    total: String,
    success: String,
    collected: String,
    why: String,
}

/// Page of an app without any payment or payout.
#[derive(Template)]
#[template(path = "console/home_empty.html")]
struct EmptyHome {
    frame: Frame,
    key: Option<String>,
    webhook: Option<String>,
    docs: String,
}

/// `GET /console/apps/{app}/{environment}/home`
pub async fn get(Scoped(page): Scoped, Query(filter): Query<HomeFilter>) -> Response {
    let home = show(&page, &filter).await;
    answer(&page, home)
}

async fn show(page: &Page, filter: &HomeFilter) -> Result<Response, Failed> {
    page.permit(Action::ViewPayments)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    if is_empty(page, scope).await? {
        let may = |action, path: &str| page.may(action).then(|| page.in_scope(path));
        let empty = EmptyHome {
            frame: page.frame("console-home", "home"),
            key: may(Action::ManageKeys, "keys/new"),
            webhook: may(Action::ManageWebhooks, "webhooks/new"),
            docs: format!("{}/docs", page.state.engine().settings().public_url),
        };
        return Ok(shown(page, &empty));
    }
    let (days, kind) = (filter.days(), filter.kind());
    let payments = read(page, Kind::Payment, days).await?;
    let payouts = read(page, Kind::Payout, days).await?;
    // Outcomes are unknown for days, so the list of what needs attention is the same for each
    // choice of days.
    let attention = match days {
        Days::Thirty => attended(page, &payments, &payouts).await?,
        Days::Today | Days::Seven => {
            let payments = read(page, Kind::Payment, Days::Thirty).await?;
            let payouts = read(page, Kind::Payout, Days::Thirty).await?;
            attended(page, &payments, &payouts).await?
        }
    };
    let text = page.text();
    let money = [(Kind::Payment, &payments.all), (Kind::Payout, &payouts.all)];
    let money = money.into_iter();
    let money = money.map(|(kind, group)| groups::money(text, kind, group));
    let money = money.collect::<Result<Vec<_>, _>>()?;
    let statistics = match kind {
        Kind::Payment => &payments,
        Kind::Payout => &payouts,
    };
    let before = kpis::before(page, kind, days).await?;
    let labels: Vec<_> = statistics
        .intervals
        .iter()
        .map(|(at, _)| label(days, *at, text))
        .collect();
    let intervals = labels.iter().zip(&statistics.intervals);
    let intervals =
        intervals.map(|(label, (_, group))| groups::interval(label.clone(), group, text));
    let home = HomePage {
        frame: page.frame("console-home", "home"),
        now: text.language().date(page.state.now()),
        days: days_links(page, filter),
        kinds: kind_links(page, filter),
        kpis: kpis(text, kind, days, &statistics.all, &before)?,
        attention,
        counts: counts_chart(text, kind, &labels, statistics),
        rates: rates_chart(text, &labels, statistics),
        volumes: volume_charts(text, &labels, statistics)?,
        intervals: intervals.collect::<Result<_, _>>()?,
        methods: groups::methods(page, kind, statistics)?,
        countries: groups::countries(text, statistics)?,
        reasons: groups::reasons(text, statistics),
        money: money.into_iter().flatten().collect(),
        names: Names::new(text, kind, days),
    };
    Ok(shown(page, &home))
}

async fn attended(
    page: &Page,
    payments: &Statistics,
    payouts: &Statistics,
) -> Result<Attention, Failed> {
    attention::attention(page, [(payments, "payments"), (payouts, "payouts")]).await
}

/// Whether the app has neither a payment nor a payout in the environment.
pub async fn is_empty(page: &Page, scope: &Scope) -> Result<bool, Failed> {
    for kind in Kind::ALL {
        let query = ListQuery {
            app: scope.app.id,
            environment: scope.environment,
            kind,
            status: None,
            from: None,
            to: None,
            limit: 1,
            page: 1,
        };
        if page.state.engine().list(&query).await?.total > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn read(page: &Page, kind: Kind, days: Days) -> Result<Statistics, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let now = page.state.now();
    let before = DAY * (days.count() - 1);
    let query = StatisticsQuery {
        app: scope.app.id,
        environment: scope.environment,
        kind,
        interval: match days {
            Days::Today => Interval::Hour,
            Days::Seven | Days::Thirty => Interval::Day,
        },
        from: start_of_day(now).minus(before),
        to: start_of_day(now).plus(DAY),
    };
    Ok(page.state.engine().statistics(&query).await?)
}

fn start_of_day(at: Timestamp) -> Timestamp {
    let day = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros() - at.as_micros().rem_euclid(day))
}

fn label(days: Days, at: Timestamp, text: Text) -> String {
    match days {
        Days::Today => text.language().time_of_day(at),
        Days::Seven | Days::Thirty => text.short_day(at),
    }
}

/// Transactions by interval and status.
fn counts_chart(text: Text, kind: Kind, labels: &[String], statistics: &Statistics) -> Chart {
    let legend = |class, name: &str| Legend {
        class,
        name: text.say(name),
    };
    let paid = match kind {
        Kind::Payment => "console-status-paid",
        Kind::Payout => "console-status-sent",
    };
    let groups = || statistics.intervals.iter().map(|(_, group)| group);
    let open = |group: &Group| group.count(Status::Initiated) + group.count(Status::Pending);
    let columns: Vec<_> = groups()
        .zip(labels)
        .map(|(group, label)| Column {
            label: label.clone(),
            values: vec![
                group.count(Status::Success),
                group.count(Status::Failed),
                group.count(Status::Cancelled),
                open(group),
            ],
        })
        .collect();
    let all = &statistics.all;
    let [success, failed, cancelled, open] = [
        all.count(Status::Success),
        all.count(Status::Failed),
        all.count(Status::Cancelled),
        open(all),
    ]
    .map(|count| text.number(count));
    let values = [
        ("success", success.as_str()),
        ("failed", &failed),
        ("cancelled", &cancelled),
        ("open", &open),
    ];
    let most = groups().map(Group::total).max().unwrap_or(0);
    let title = text.say("console-home-by-status");
    Chart::bars(
        (
            "counts",
            title,
            text.with("console-home-counts-summary", &values),
        ),
        vec![
            legend("paid", paid),
            legend("failed", "console-status-failed"),
            legend("cancelled", "console-status-cancelled"),
            legend("open", "console-tab-pending"),
        ],
        &columns,
        &Scale::new(most, 1, text),
    )
}

fn rates_chart(text: Text, labels: &[String], statistics: &Statistics) -> Chart {
    let groups = statistics.intervals.iter().map(|(_, group)| group);
    let rates = groups.zip(labels);
    let rates: Vec<_> = rates
        .map(|(group, label)| (label.clone(), group.success_permille()))
        .collect();
    let all = statistics.all.success_permille();
    let summary = match all {
        Some(rate) => text.with(
            "console-home-rate-summary",
            &[("rate", &text.percent(rate))],
        ),
        None => text.say("console-home-rate-none"),
    };
    Chart::rates(
        ("rates", text.say("console-home-rate"), summary),
        &rates,
        text,
    )
}

/// Amounts of successes by interval, one chart for each of the first currencies.
fn volume_charts(
    text: Text,
    labels: &[String],
    statistics: &Statistics,
) -> Result<Vec<Chart>, Failed> {
    let mut money = statistics.all.money()?;
    money.retain(|sums| sums.succeeded.minor() > 0);
    money.sort_by_key(|sums| std::cmp::Reverse(sums.successes));
    let mut charts = Vec::new();
    for (sums, id) in money.iter().zip(VOLUMES) {
        let currency = sums.currency();
        let mut columns = Vec::with_capacity(labels.len());
        for (label, (_, group)) in labels.iter().zip(&statistics.intervals) {
            let own = group.money()?;
            let own = own.iter().find(|sums| sums.currency() == currency);
            let minor = own.map_or(0, |sums| sums.succeeded.minor());
            columns.push(Column {
                label: label.clone(),
                values: vec![minor.unsigned_abs()],
            });
        }
        let most = columns.iter().flat_map(|column| &column.values).max();
        let unit = currency.info().subunit_to_unit().unsigned_abs();
        let scale = Scale::new(most.copied().unwrap_or(0), unit, text);
        let sum = sums.succeeded.with_code(text.language());
        let values = [("sum", sum.as_str()), ("currency", currency.code())];
        let legend = Legend {
            class: "paid",
            name: String::new(),
        };
        let names = (
            id,
            text.with("console-home-volume", &values),
            text.with("console-home-volume-summary", &values),
        );
        charts.push(Chart::bars(names, vec![legend], &columns, &scale));
    }
    Ok(charts)
}

impl Names {
    fn new(text: Text, kind: Kind, days: Days) -> Self {
        let (total, success, collected, why) = match kind {
            Kind::Payment => (
                "console-payments",
                "console-status-paid",
                "console-home-collected",
                "console-home-why-payments",
            ),
            Kind::Payout => (
                "console-payouts",
                "console-status-sent",
                "console-paid-out",
                "console-home-why-payouts",
            ),
        };
        let counts = match (kind, days) {
            (Kind::Payment, Days::Today) => "console-home-payments-by-hour",
            (Kind::Payment, _) => "console-home-payments-by-day",
            (Kind::Payout, Days::Today) => "console-home-payouts-by-hour",
            (Kind::Payout, _) => "console-home-payouts-by-day",
        };
        Self {
            counts: text.say(counts),
            total: text.say(total),
            success: text.say(success),
            collected: text.say(collected),
            why: text.say(why),
        }
    }
}

impl HomeFilter {
    fn days(&self) -> Days {
        match self.days.as_str() {
            "1" => Days::Today,
            "7" => Days::Seven,
            _ => Days::Thirty,
        }
    }

    fn kind(&self) -> Kind {
        match self.kind.as_str() {
            "payout" => Kind::Payout,
            _ => Kind::Payment,
        }
    }
}

impl Days {
    const ALL: [Self; 3] = [Self::Today, Self::Seven, Self::Thirty];

    const fn count(self) -> u32 {
        match self {
            Self::Today => 1,
            Self::Seven => 7,
            Self::Thirty => 30,
        }
    }
}

fn link(page: &Page, days: Days, kind: Kind, name: &str, current: bool) -> Link {
    let path = format!("home?days={}&kind={}", days.count(), kind.as_str());
    Link {
        href: page.in_scope(&path),
        name: page.text().say(name),
        icon: "",
        current,
        is_wide_only: false,
    }
}

fn days_links(page: &Page, filter: &HomeFilter) -> Vec<Link> {
    let links = Days::ALL.map(|days| {
        let name = match days {
            Days::Today => "console-home-today",
            Days::Seven => "console-home-7-days",
            Days::Thirty => "console-home-30-days",
        };
        link(page, days, filter.kind(), name, days == filter.days())
    });
    links.into()
}

fn kind_links(page: &Page, filter: &HomeFilter) -> Vec<Link> {
    let links = Kind::ALL.map(|kind| {
        let name = format!("console-{}", segment(kind));
        link(page, filter.days(), kind, &name, kind == filter.kind())
    });
    links.into()
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Charts of volumes, one for each currency.
const VOLUMES: [&str; 3] = ["volume-1", "volume-2", "volume-3"];
