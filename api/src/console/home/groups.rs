//! Tables of the home page: by method and country, reasons of failures, money by currency.

use switchyard_core::directory;
use switchyard_core::language::Language;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{Kind, Status};
use switchyard_engine::engine::{CurrencySums, Group, Statistics, Within};

use super::super::method_names::distinct_name;
use super::super::page::{Failed, Page};
use super::super::text::Text;

/// Line of a table of groups.
pub struct GroupRow {
    pub name: String,
    pub count: String,
    pub rate: Option<RateMark>,
    pub half: Option<String>,
    pub collected: Vec<String>,
}

/// Success rate: its text, and its place on a scale.
pub struct RateMark {
    pub text: String,
    pub x: String,
}

/// Line of the reasons of failures.
pub struct ReasonRow {
    pub rank: usize,
    pub name: String,
    pub count: String,
    pub share: String,
    /// Width of its bar: the most frequent reason has all of it.
    pub width: String,
}

/// Money of payments or of payouts.
pub struct MoneyTable {
    pub title: String,
    pub succeeded: String,
    pub has_unapplied: bool,
    pub has_taken_back: bool,
    pub rows: Vec<MoneyRow>,
}

pub struct MoneyRow {
    pub currency: &'static str,
    pub succeeded: Figure,
    pub fees: Figure,
    /// Note when some of the fees are not known.
    pub fees_note: Option<String>,
    pub pending: Figure,
    pub unknown: Figure,
    pub unapplied: Figure,
    pub taken_back: Figure,
}

/// Amount in digits.
pub struct Figure {
    pub text: String,
    pub is_zero: bool,
}

/// Lines by method.
pub fn methods(page: &Page, kind: Kind, statistics: &Statistics) -> Result<Vec<GroupRow>, Failed> {
    let (text, directory) = (page.text(), page.state.engine().directory());
    let rows = statistics.methods.iter().map(|(code, group)| {
        let name = match code {
            Some(code) => {
                let all = statistics.methods.iter();
                let all = all.filter_map(|(code, _)| code.as_deref());
                distinct_name((directory, kind), code, all, text)
            }
            None => text.say("console-home-no-method"),
        };
        row(name, group, text)
    });
    rows.collect()
}

/// Lines by country.
pub fn countries(text: Text, statistics: &Statistics) -> Result<Vec<GroupRow>, Failed> {
    let rows = statistics.countries.iter().map(|(code, group)| {
        let name = match code {
            Some(code) => country_name(code, text.language()),
            None => text.say("console-home-no-country"),
        };
        row(name, group, text)
    });
    rows.collect()
}

fn country_name(code: &str, language: Language) -> String {
    let known = directory::country(code);
    known.map_or_else(
        || code.to_owned(),
        |country| match language {
            Language::En => country.name.to_owned(),
            Language::Fr => country.name_fr.to_owned(),
        },
    )
}

fn row(name: String, group: &Group, text: Text) -> Result<GroupRow, Failed> {
    let collected = group.money()?;
    Ok(GroupRow {
        name,
        count: text.number(group.total()),
        rate: group.success_permille().map(|rate| RateMark {
            text: text.percent(rate),
            x: format!("{}.{}%", rate / 10, rate % 10),
        }),
        half: half(group, text).map(|time| text.with("console-home-row-half", &[("time", &time)])),
        collected: succeeded(&collected, text),
    })
}

/// Time in which half of the successes came.
pub fn half(group: &Group, text: Text) -> Option<String> {
    Some(match group.percentile(50)? {
        Within::AtMost(bound) => {
            let bound = text.duration(bound);
            text.with("console-home-within", &[("time", &bound)])
        }
        Within::MoreThan(bound) => {
            let bound = text.duration(bound);
            text.with("console-home-more-than", &[("time", &bound)])
        }
    })
}

/// Amounts of successes, one for each currency.
pub fn succeeded(money: &[CurrencySums], text: Text) -> Vec<String> {
    let amounts = money.iter().map(|sums| sums.succeeded);
    let amounts = amounts.filter(|amount| amount.minor() > 0);
    amounts
        .map(|amount| amount.with_code(text.language()))
        .collect()
}

/// Reasons of failures, most frequent first.
pub fn reasons(text: Text, statistics: &Statistics) -> Vec<ReasonRow> {
    let all: u64 = statistics.reasons.iter().map(|(_, count)| count).sum();
    let most = statistics.reasons.first().map_or(1, |(_, count)| *count);
    let row = |(place, (reason, count)): (usize, &(_, u64))| {
        let reason: &switchyard_core::transaction::DeclineReason = reason;
        ReasonRow {
            rank: place + 1,
            name: text.say(&format!("console-decline-{}", reason.as_str())),
            count: text.number(*count),
            share: text.percent(share(*count, all) / 10 * 10),
            width: format!("{}%", share(*count, most) / 10),
        }
    };
    statistics.reasons.iter().enumerate().map(row).collect()
}

/// Per thousand.
fn share(part: u64, all: u64) -> u64 {
    part.saturating_mul(1_000) / all.max(1)
}

/// Money of payments or payouts by currency. `None`: there is none.
pub fn money(text: Text, kind: Kind, group: &Group) -> Result<Option<MoneyTable>, Failed> {
    let money = group.money()?;
    if money.is_empty() {
        return Ok(None);
    }
    let (title, succeeded) = match kind {
        Kind::Payment => ("console-payments", "console-home-collected"),
        Kind::Payout => ("console-payouts", "console-paid-out"),
    };
    Ok(Some(MoneyTable {
        title: text.say(title),
        succeeded: text.say(succeeded),
        has_unapplied: money.iter().any(|sums| sums.unapplied.minor() > 0),
        has_taken_back: money.iter().any(|sums| sums.taken_back.minor() > 0),
        rows: money.iter().map(|sums| money_row(sums, text)).collect(),
    }))
}

fn money_row(sums: &CurrencySums, text: Text) -> MoneyRow {
    let figure = |amount: Amount| Figure {
        text: amount.figures(text.language()),
        is_zero: amount.minor() == 0,
    };
    let note = || {
        let (known, of) = (text.number(sums.fees_known), text.number(sums.successes));
        text.with("console-home-fees-known", &[("known", &known), ("of", &of)])
    };
    // Fees without a report of the provider are not zero.
    let (fees, fees_note) = match (sums.fees_known, sums.successes) {
        (0, 1..) => {
            let unknown = Figure {
                text: text.say("console-home-fees-unknown"),
                is_zero: true,
            };
            (unknown, None)
        }
        (known, of) => (figure(sums.fees), (known < of).then(note)),
    };
    MoneyRow {
        currency: sums.currency().code(),
        succeeded: figure(sums.succeeded),
        fees,
        fees_note,
        pending: figure(sums.pending),
        unknown: figure(sums.unknown),
        unapplied: figure(sums.unapplied),
        taken_back: figure(sums.taken_back),
    }
}

/// Counts of a group for a table of intervals.
pub struct IntervalRow {
    pub name: String,
    pub total: String,
    pub success: String,
    pub failed: String,
    pub cancelled: String,
    pub open: String,
    pub rate: String,
    pub collected: Vec<String>,
}

/// Line of an interval.
pub fn interval(name: String, group: &Group, text: Text) -> Result<IntervalRow, Failed> {
    let open = group.count(Status::Initiated) + group.count(Status::Pending);
    let rate = group.success_permille();
    Ok(IntervalRow {
        name,
        total: text.number(group.total()),
        success: text.number(group.count(Status::Success)),
        failed: text.number(group.count(Status::Failed)),
        cancelled: text.number(group.count(Status::Cancelled)),
        open: text.number(open),
        rate: rate.map_or_else(|| "–".to_owned(), |rate| text.percent(rate)),
        collected: succeeded(&group.money()?, text),
    })
}
