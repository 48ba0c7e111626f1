//! Lists of payments and payouts: by status and by days, newest first.

use std::sync::Arc;

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, Status, Transaction};
use switchyard_engine::engine::Engine;
use switchyard_records::{ListQuery, Listing, SearchPage, SearchQuery, SearchText};
use switchyard_users::Action;

use super::export::{self, ColumnChoice};
use super::frame::Frame;
use super::labels::{self, Badge, Sum};
use super::page::{Failed, Page, Scope, Scoped};
use super::text::Text;
use super::{answer, shown};

/// Filter of a list, as it stands in the address of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Filter {
    status: String,
    from: String,
    to: String,
    page: String,
    /// Text that is searched for. The other fields but `before` do not apply then.
    q: String,
    /// Place from which a search goes on.
    before: String,
}

#[derive(Template)]
#[template(path = "console/list.html")]
struct List {
    frame: Frame,
    /// Form for a new payout.
    new: Option<String>,
    /// Batches of payouts.
    batches: Option<String>,
    export: Option<ExportForm>,
    heading: String,
    here: String,
    /// `None`: nothing is searched for.
    search: Option<SearchView>,
    status: Option<&'static str>,
    from: String,
    to: String,
    dates: Option<String>,
    is_filtered: bool,
    tabs: Vec<Tab>,
    days: Vec<Day>,
    empty: Empty,
    range: String,
    newer: Option<String>,
    older: Option<String>,
}

/// Form for the export of the listed transactions.
struct ExportForm {
    action: String,
    columns: Vec<ColumnChoice>,
    /// Filter of the list, by the names of its fields.
    hidden: Vec<(&'static str, String)>,
}

/// Text that was searched for.
struct SearchView {
    text: String,
    error: Option<String>,
}

/// Link to the transactions of one status.
struct Tab {
    href: String,
    name: String,
    count: String,
    current: bool,
}

/// Transactions of one day.
struct Day {
    name: String,
    rows: Vec<Row>,
}

/// Line of the list.
struct Row {
    href: String,
    sum: Sum,
    badge: Badge,
    customer: String,
    detail: Option<String>,
    method: Option<String>,
    iso: String,
    time: String,
}

struct Empty {
    title: String,
    text: String,
}

/// `GET /console/apps/{app}/{environment}/payments`
pub async fn payments(Scoped(page): Scoped, Query(filter): Query<Filter>) -> Response {
    let listed = show(&page, Kind::Payment, &filter).await;
    answer(&page, listed)
}

/// `GET /console/apps/{app}/{environment}/payouts`
pub async fn payouts(Scoped(page): Scoped, Query(filter): Query<Filter>) -> Response {
    let listed = show(&page, Kind::Payout, &filter).await;
    answer(&page, listed)
}

async fn show(page: &Page, kind: Kind, filter: &Filter) -> Result<Response, Failed> {
    page.permit(Action::ViewPayments)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    if filter.text().is_some() {
        return search(page, kind, filter).await;
    }
    let (query, dates) = query(scope, kind, filter, page.text());
    let engine = page.state.engine();
    let listing = engine.list(&query).await?;
    let list = List {
        tabs: tabs(engine, page, &query, filter).await?,
        ..list(page, (&query, dates), filter, &listing)
    };
    Ok(shown(page, &list))
}

/// Shows the transactions that a text finds, newest first.
async fn search(page: &Page, kind: Kind, filter: &Filter) -> Result<Response, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let (text, name) = (page.text(), segment(kind));
    let (found, error) = match SearchText::parse(&filter.q) {
        Ok(parsed) => {
            let query = SearchQuery {
                app: scope.app.id,
                environment: scope.environment,
                kind: Some(kind),
                text: parsed,
                before: filter.before.parse().ok(),
                limit: PER_PAGE,
            };
            (page.state.engine().search(&query).await?, None)
        }
        Err(_) => {
            let error = text.say("console-search-too-long");
            (SearchPage::default(), Some(error))
        }
    };
    let older = found.more.map(|more| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", &filter.q);
        query.append_pair("before", &more.to_string());
        page.in_scope(&format!("{name}?{}", query.finish()))
    });
    let list = List {
        new: new_payout(page, kind),
        batches: batches(page, kind),
        export: export_form(page, kind, filter),
        frame: page.frame(&format!("console-{name}"), name),
        heading: text.say(&format!("console-{name}")),
        here: page.in_scope(name),
        search: Some(SearchView {
            text: filter.q.clone(),
            error,
        }),
        status: None,
        from: String::new(),
        to: String::new(),
        dates: None,
        is_filtered: true,
        tabs: Vec::new(),
        days: days(page, &found.items),
        empty: Empty {
            title: text.with("console-search-none-title", &[("text", &filter.q)]),
            text: text.say("console-search-none"),
        },
        range: String::new(),
        newer: None,
        older,
    };
    Ok(shown(page, &list))
}

fn list(
    page: &Page,
    (query, dates): (&ListQuery, Option<String>),
    filter: &Filter,
    listing: &Listing,
) -> List {
    let (text, name) = (page.text(), segment(query.kind));
    let is_filtered = !filter.from.is_empty() || !filter.to.is_empty() || query.status.is_some();
    let empty = if is_filtered { "no-result" } else { "empty" };
    let first = (query.page - 1) * query.limit;
    let last = first + listing.items.len();
    let turned = |to: usize| {
        let turned = Filter {
            page: to.to_string(),
            ..filter.clone()
        };
        page.in_scope(&with_query(name, &turned))
    };
    List {
        new: new_payout(page, query.kind),
        batches: batches(page, query.kind),
        export: export_form(page, query.kind, filter),
        frame: page.frame(&format!("console-{name}"), name),
        heading: text.say(&format!("console-{name}")),
        here: page.in_scope(name),
        search: None,
        status: query.status.map(Status::as_str),
        from: filter.from.clone(),
        to: filter.to.clone(),
        dates,
        is_filtered,
        tabs: Vec::new(),
        days: days(page, &listing.items),
        empty: Empty {
            title: text.say(&format!("console-{name}-{empty}-title")),
            text: text.say(&format!("console-{name}-{empty}")),
        },
        range: text.with(
            "console-range",
            &[
                ("first", &(first + 1).to_string()),
                ("last", &last.to_string()),
                ("total", &listing.total.to_string()),
            ],
        ),
        newer: (query.page > 1).then(|| turned(query.page - 1)),
        older: (as_count(last) < listing.total).then(|| turned(query.page + 1)),
    }
}

/// Address of the form for a new payout, for readers who may order one.
fn new_payout(page: &Page, kind: Kind) -> Option<String> {
    let may = kind == Kind::Payout && page.may(Action::CreatePayout);
    may.then(|| page.in_scope("payouts/new"))
}

/// Address of the batches of payouts.
fn batches(page: &Page, kind: Kind) -> Option<String> {
    (kind == Kind::Payout).then(|| page.in_scope("payouts/batches"))
}

/// `None`: the reader may not export.
fn export_form(page: &Page, kind: Kind, filter: &Filter) -> Option<ExportForm> {
    let fields = [
        ("q", &filter.q),
        ("status", &filter.status),
        ("from", &filter.from),
        ("to", &filter.to),
    ];
    let hidden = fields.into_iter().filter(|(_, value)| !value.is_empty());
    page.may(Action::ExportData).then(|| ExportForm {
        action: page.in_scope(&format!("{}.csv", segment(kind))),
        columns: export::choices(page),
        hidden: hidden.map(|(name, value)| (name, value.clone())).collect(),
    })
}

impl Filter {
    /// Text that is searched for.
    pub fn text(&self) -> Option<&str> {
        Some(self.q.trim()).filter(|text| !text.is_empty())
    }

    /// Status, first day and last day.
    pub fn parts(&self) -> (&str, &str, &str) {
        (&self.status, &self.from, &self.to)
    }
}

/// The query of a filter. Days that cannot be read are left out, and the sentence says so.
pub fn query(
    scope: &Scope,
    kind: Kind,
    filter: &Filter,
    text: Text,
) -> (ListQuery, Option<String>) {
    let from = Timestamp::parse(&filter.from);
    let to = Timestamp::parse_end(&filter.to);
    let is_unread = |typed: &str, read: Option<Timestamp>| !typed.is_empty() && read.is_none();
    let problem = match (from, to) {
        _ if is_unread(&filter.from, from) || is_unread(&filter.to, to) => {
            Some(text.say("console-dates-unreadable"))
        }
        (Some(from), Some(to)) if from > to => Some(text.say("console-dates-reversed")),
        _ => None,
    };
    let query = ListQuery {
        app: scope.app.id,
        environment: scope.environment,
        kind,
        status: Status::parse(&filter.status),
        from,
        to,
        limit: PER_PAGE,
        page: filter.page.parse().unwrap_or(1).clamp(1, MOST_PAGES),
    };
    (query, problem)
}

/// A tab for all transactions and one for each status, with their numbers in the chosen days.
async fn tabs(
    engine: &Engine,
    page: &Page,
    query: &ListQuery,
    filter: &Filter,
) -> Result<Vec<Tab>, Failed> {
    let name = segment(query.kind);
    let mut tabs = Vec::with_capacity(1 + TABS.len());
    for status in std::iter::once(None).chain(TABS.map(Some)) {
        let counted = ListQuery {
            status,
            limit: 1,
            page: 1,
            ..query.clone()
        };
        let count = engine.list(&counted).await?.total;
        let word = status.map_or("all", Status::as_str);
        let chosen = Filter {
            status: status.map_or_else(String::new, |status| status.as_str().to_owned()),
            page: String::new(),
            ..filter.clone()
        };
        tabs.push(Tab {
            href: page.in_scope(&with_query(name, &chosen)),
            name: page.text().say(&format!("console-tab-{word}")),
            count: count.to_string(),
            current: query.status == status,
        });
    }
    Ok(tabs)
}

/// The transactions by the days on which they were created, in UTC.
fn days(page: &Page, items: &[Arc<Transaction>]) -> Vec<Day> {
    let text = page.text();
    let mut days: Vec<Day> = Vec::new();
    for tx in items {
        let name = text.language().day(tx.created_at);
        if days.last().is_none_or(|day| day.name != name) {
            let rows = Vec::new();
            days.push(Day { name, rows });
        }
        if let Some(day) = days.last_mut() {
            day.rows.push(row(page, tx));
        }
    }
    days
}

fn row(page: &Page, tx: &Transaction) -> Row {
    let text = page.text();
    Row {
        href: page.in_scope(&format!("{}/{}", segment(tx.kind()), tx.id)),
        sum: Sum::new(tx.amount, text),
        badge: labels::badge(tx, text),
        customer: labels::customer_name(&tx.customer, page.may(Action::ViewPersonalData), text),
        detail: labels::detail(tx, text),
        method: labels::method(tx, page.state.engine().directory(), text),
        iso: tx.created_at.to_string(),
        time: text.language().time_of_day(tx.created_at),
    }
}

/// Part of the address of the pages of this kind.
pub const fn segment(kind: Kind) -> &'static str {
    match kind {
        Kind::Payment => "payments",
        Kind::Payout => "payouts",
    }
}

pub fn with_query(name: &str, filter: &Filter) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (field, value) in [
        ("status", &filter.status),
        ("from", &filter.from),
        ("to", &filter.to),
        ("page", &filter.page),
    ] {
        if !value.is_empty() {
            query.append_pair(field, value);
        }
    }
    let query = query.finish();
    match query.is_empty() {
        true => name.to_owned(),
        false => format!("{name}?{query}"),
    }
}

fn as_count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

const PER_PAGE: usize = 25;
/// Pages that an address may ask for; the list finds the start of a page through its counts.
const MOST_PAGES: usize = 1_000_000;
/// In the order of the tabs.
const TABS: [Status; 5] = [
    Status::Success,
    Status::Pending,
    Status::Initiated,
    Status::Failed,
    Status::Cancelled,
];
