//! Things that need attention: failing webhooks, keys that expire, unknown outcomes, open cases.

use std::time::Duration;

use switchyard_engine::access::KeyKind;
use switchyard_engine::engine::Statistics;
use switchyard_engine::webhook::DeliveryStatus;
use switchyard_records::CaseQuery;
use switchyard_users::Action;

use super::super::approvals::open_count;
use super::super::case_names::case_name;
use super::super::list::segment;
use super::super::page::{Failed, Page};

/// Problem that needs attention, with a link to the page on which to solve it.
pub struct Item {
    pub icon: &'static str,
    pub href: String,
    pub title: String,
    pub text: String,
}

/// Problems that need attention, the most urgent first.
pub struct Attention {
    pub items: Vec<Item>,
    /// Number of them, the cases that are not listed among them. `None`: there are none.
    pub count: Option<String>,
    /// Note about the cases that are not listed.
    pub more: Option<String>,
}

/// Problems that need attention, the most urgent first. A role sees those whose pages it may see.
pub async fn attention(
    page: &Page,
    unknown: [(&Statistics, &str); 2],
) -> Result<Attention, Failed> {
    let text = page.text();
    let (mut items, incomplete, open) = cases(page).await?;
    let unlisted = open.number - items.len();
    items.extend(incomplete);
    items.extend(others(page, unknown).await?);
    let written = |number: usize| {
        let number = text.number(u64::try_from(number).unwrap_or(u64::MAX));
        let more = if open.are_more { "+" } else { "" };
        format!("{number}{more}")
    };
    Ok(Attention {
        count: (!items.is_empty()).then(|| written(items.len() + unlisted)),
        more: (unlisted > 0)
            .then(|| text.with("console-home-more-cases", &[("count", &written(unlisted))])),
        items,
    })
}

/// The problems other than cases.
async fn others(page: &Page, unknown: [(&Statistics, &str); 2]) -> Result<Vec<Item>, Failed> {
    let mut items = Vec::new();
    items.extend(approvals(page));
    for (statistics, name) in unknown {
        items.extend(unknown_outcomes(page, statistics, name)?);
    }
    if page.may(Action::ViewWebhooks) {
        items.extend(webhooks(page).await?);
    }
    if page.may(Action::ViewKeys) {
        items.extend(keys(page)?);
    }
    Ok(items)
}

/// Number of open cases.
struct OpenCases {
    number: usize,
    /// Whether there are more than were counted.
    are_more: bool,
}

/// The newest open cases of the app, and how many there are. Each has the page of its transaction.
async fn cases(page: &Page) -> Result<(Vec<Item>, Option<Item>, OpenCases), Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let query = CaseQuery {
        open: true,
        app: Some(scope.app.id),
        environment: Some(scope.environment),
        reason: None,
        opened_before: None,
        before: None,
        limit: COUNTED_CASES,
    };
    let text = page.text();
    let found = page.state.engine().cases(&query).await?;
    let item = |found: &switchyard_records::CaseFound| {
        let tx = &found.transaction;
        let amount = tx.amount.with_code(text.language());
        let opened = text.language().date(found.case.opened_at);
        let values = [("amount", amount.as_str()), ("opened", opened.as_str())];
        Item {
            icon: "i-warning",
            href: page.in_scope(&format!("{}/{}", segment(tx.kind()), tx.id)),
            title: case_name(tx, &found.case, text),
            text: text.with("console-home-case", &values),
        }
    };
    let open = OpenCases {
        number: found.items.len(),
        are_more: found.more.is_some() || found.is_incomplete,
    };
    let incomplete = found.is_incomplete.then(|| Item {
        icon: "i-warning",
        href: page.in_scope("payments"),
        title: text.say("console-home-cases-incomplete"),
        text: text.say("console-home-cases-incomplete-text"),
    });
    let listed = found.items.iter().take(MOST_CASES).map(item);
    Ok((listed.collect(), incomplete, open))
}

/// Proposals that wait for a second person. Readers who may decide see it.
fn approvals(page: &Page) -> Option<Item> {
    let text = page.text();
    let may_decide = page.may(Action::ApprovePayout) || page.may(Action::ApproveRouting);
    let open = match may_decide {
        true => open_count(page),
        false => 0,
    };
    (open > 0).then(|| Item {
        icon: "i-paid",
        href: page.in_scope("approvals"),
        title: text.count("console-home-approvals", "count", open),
        text: text.say("console-home-approvals-text"),
    })
}

/// Transactions with an unknown outcome. Their sums are stated by currency.
fn unknown_outcomes(
    page: &Page,
    statistics: &Statistics,
    name: &str,
) -> Result<Option<Item>, Failed> {
    let text = page.text();
    let unknown = statistics.all.unknown();
    if unknown == 0 {
        return Ok(None);
    }
    let money = statistics.all.money()?;
    let sums = money.iter().map(|sums| sums.unknown);
    let sums = sums.filter(|amount| amount.minor() > 0);
    let sums: Vec<_> = sums.map(|sum| sum.with_code(text.language())).collect();
    Ok(Some(Item {
        icon: "i-unknown",
        href: page.in_scope(&format!("{name}?status=pending")),
        title: text.count(&format!("console-home-unknown-{name}"), "count", unknown),
        text: match sums.is_empty() {
            true => text.say("console-home-unknown-asked"),
            false => text.with("console-home-unknown-sums", &[("sums", &sums.join(" + "))]),
        },
    }))
}

/// Webhooks that are disabled, or whose newest event was tried and has not arrived.
async fn webhooks(page: &Page) -> Result<Vec<Item>, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let (text, engine) = (page.text(), page.state.engine());
    let webhooks = engine.access().webhooks(scope.app.id);
    let webhooks = webhooks.map_err(|_| Failed::NotFound)?;
    let mut items = Vec::new();
    for webhook in &webhooks {
        let item = |title: String, why: String| Item {
            icon: "i-warning",
            href: page.in_scope(&format!("webhooks/{}", webhook.id)),
            title,
            text: why,
        };
        let url = [("url", webhook.url.as_str())];
        if !webhook.is_enabled {
            let title = text.say("console-home-webhook-disabled");
            items.push(item(title, text.with("console-home-webhook-url", &url)));
            continue;
        }
        let newest = engine.webhooks();
        let newest = newest.deliveries(webhook.id, None, NEWEST).await?;
        let own = newest
            .iter()
            .filter(|one| one.environment == scope.environment);
        // A tried delivery that waits for its next try was refused the last time.
        let arrived: Vec<_> = own
            .map(|one| one.status == DeliveryStatus::Delivered)
            .collect();
        if arrived.first().is_none_or(|newest| *newest) {
            continue;
        }
        let missing = arrived.iter().filter(|arrived| !**arrived).count();
        let (failed, of) = (missing.to_string(), arrived.len().to_string());
        let values = [("failed", failed.as_str()), ("of", &of), url[0]];
        let title = text.say("console-home-webhook-failing");
        items.push(item(
            title,
            text.with("console-home-webhook-failed", &values),
        ));
    }
    Ok(items)
}

/// Rolled keys whose grace period ends soon.
fn keys(page: &Page) -> Result<Vec<Item>, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let (text, now) = (page.text(), page.state.now());
    let keys = page.state.engine().access().keys(scope.app.id);
    let keys = keys.map_err(|_| Failed::NotFound)?;
    let mut items = Vec::new();
    for listed in &keys {
        let key = &listed.key;
        let ends = key.expires_at.filter(|end| *end <= now.plus(SOON));
        let Some(end) = ends.filter(|_| key.environment == scope.environment) else {
            continue;
        };
        let title = match key.kind {
            KeyKind::Secret => "console-home-secret-key-ends",
            KeyKind::Public => "console-home-public-key-ends",
        };
        let end = text.language().date(end);
        let values = [("last", key.last_four.as_str()), ("at", end.as_str())];
        items.push(Item {
            icon: "i-key",
            href: page.in_scope(&format!("keys/{}", key.id)),
            title: text.say(title),
            text: text.with("console-home-key-ends", &values),
        });
    }
    Ok(items)
}

/// Cases that are counted at most.
const COUNTED_CASES: usize = 100;
/// Cases that are listed.
const MOST_CASES: usize = 5;
/// Deliveries of a webhook that are looked at.
const NEWEST: usize = 20;
/// Time before the end of a key in which it is listed.
const SOON: Duration = Duration::from_secs(7 * 24 * 60 * 60);
