//! `switchyard statistics`.

use clap::Args;
use switchyard_core::environment::Environment;
use switchyard_core::money::Amount;

use super::client::{Client, query};
use super::output::{Column, aligned, cell};
use crate::operator::contract::statistics::{
    CurrencyStatistics, FailureReason, Statistics as Data, StatisticsFilter, StatisticsGroup,
};

/// Command `statistics`.
#[derive(Args)]
pub struct Statistics {
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
    /// sandbox or live [default: live for an app with live transactions, otherwise sandbox]
    #[arg(long)]
    environment: Option<Environment>,
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    /// Created since this day (2026-11-20) or time [default: 29 days before the end]
    #[arg(long)]
    from: Option<String>,
    /// Created until this day or time [default: now]
    #[arg(long)]
    to: Option<String>,
    /// hour (at most 31 days) or day (at most 400)
    #[arg(long, default_value = "day", value_parser = ["hour", "day"])]
    interval: String,
}

impl Statistics {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let app = client.app(self.app.as_deref())?;
        let filter = StatisticsFilter {
            environment: self.environment,
            kind: Some(self.kind),
            from: self.from,
            to: self.to,
            interval: Some(self.interval),
        };
        let path = format!("/apps/{app}/statistics?{}", query(&filter));
        show(client, &path).await
    }
}

/// Shows the statistics at a path.
pub async fn show(client: &Client, path: &str) -> anyhow::Result<()> {
    let answer = client.get::<Data>(path).await?;
    client.output.text(&answer, text)?;
    let data = &answer.data;
    let (environment, from, to) = (data.environment, data.from, data.to);
    let note = format!("{environment}, created from {from} to {to}");
    client.output.note(&note);
    Ok(())
}

/// Formats a table for each way in which the transactions are grouped.
fn text(data: &Data) -> String {
    let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    let all = [("all".to_owned(), &data.all)];
    let times = data.intervals.iter();
    let times = times.filter(|one| one.group.total > 0);
    let times: Vec<_> = times
        .map(|one| (one.start.to_string(), &one.group))
        .collect();
    let methods = data.methods.iter();
    let methods: Vec<_> = methods
        .map(|one| (named(&one.method), &one.group))
        .collect();
    let countries = data.countries.iter();
    let countries: Vec<_> = countries
        .map(|one| (named(&one.country), &one.group))
        .collect();
    let connections = data.connections.iter().map(|one| {
        let name = one.connection.map(|id| id.to_string());
        (named(&name), &one.group)
    });
    let connections: Vec<_> = connections.collect();
    let mut tables = vec![aligned(&all, &columns()), aligned(&data.all.money, SUMS)];
    for groups in [&times, &methods, &countries, &connections] {
        tables.push(aligned(groups, &columns()));
    }
    tables.push(aligned(&data.failure_reasons, REASONS));
    tables.join("\n")
}

type Row<'a> = (String, &'a StatisticsGroup);

/// Columns of a table of groups.
fn columns<'a>() -> [Column<Row<'a>>; 8] {
    [
        ("group", |(name, _)| name.clone()),
        ("total", |(_, group)| cell(&group.total)),
        ("success", |(_, group)| cell(&group.success)),
        ("failed", |(_, group)| cell(&group.failed)),
        ("cancelled", |(_, group)| cell(&group.cancelled)),
        ("pending", |(_, group)| cell(&group.pending)),
        ("unknown", |(_, group)| cell(&group.unknown)),
        ("success rate", |(_, group)| percent(group.success_permille)),
    ]
}

const SUMS: &[Column<CurrencyStatistics>] = &[
    ("currency", |one| cell(&one.currency)),
    ("succeeded", |one| sum(one, one.succeeded)),
    ("fees", |one| sum(one, one.fees)),
    ("pending", |one| sum(one, one.pending)),
    ("unknown", |one| sum(one, one.unknown)),
    ("unapplied", |one| sum(one, one.unapplied)),
    ("taken back", |one| sum(one, one.taken_back)),
];

const REASONS: &[Column<FailureReason>] = &[
    ("reason of failure", |one| cell(&one.reason)),
    ("transactions", |one| cell(&one.transactions)),
];

fn sum(one: &CurrencyStatistics, minor: i64) -> String {
    Amount::from_minor(minor, one.currency).decimal()
}

fn percent(permille: Option<u64>) -> String {
    permille.map_or_else(
        || "-".to_owned(),
        |rate| format!("{}.{} %", rate / 10, rate % 10),
    )
}
