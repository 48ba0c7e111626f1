//! The most important numbers of the home page, each compared with the days before.
//!
//! The days before are as many as those of the page, and end at the same hour of the day: today is
//! not compared with a whole day.

use std::time::Duration;

use switchyard_core::language::Language;
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, Status};
use switchyard_engine::engine::{CurrencySums, Group};
use switchyard_records::{Interval, StatisticsQuery};

use super::super::page::{Failed, Page};
use super::super::text::Text;
use super::{DAY, Days, Names, groups, start_of_day};

/// One of the most important numbers.
pub struct Kpi {
    pub name: String,
    /// Each value, with its change when the values have one each.
    pub values: Vec<(String, Option<String>)>,
    pub note: Option<String>,
    pub change: Option<String>,
    pub is_money: bool,
}

/// Numbers of the days before those of the page.
pub async fn before(page: &Page, kind: Kind, days: Days) -> Result<Group, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let past = DAY * days.count();
    let last = start_of_day(page.state.now()).minus(past);
    let now = page.state.now().minus(past);
    let read = async |interval, from: Timestamp, to: Timestamp| {
        let query = StatisticsQuery {
            app: scope.app.id,
            environment: scope.environment,
            kind,
            interval,
            from,
            to,
        };
        Ok::<_, Failed>(page.state.engine().statistics(&query).await?.all)
    };
    // The hour that has begun is read as a whole.
    let mut all = read(Interval::Hour, last, now.plus(Duration::from_millis(1))).await?;
    if days != Days::Today {
        let first = last.minus(past - DAY);
        all.merge(&read(Interval::Day, first, last).await?);
    }
    Ok(all)
}

/// The numbers of a group of transactions, compared with those before.
pub fn kpis(
    text: Text,
    kind: Kind,
    days: Days,
    all: &Group,
    before: &Group,
) -> Result<Vec<Kpi>, Failed> {
    let money = all.money()?;
    let success = text.number(all.count(Status::Success));
    let unknown: Vec<_> = money.iter().map(|sums| sums.unknown).collect();
    let unknown = unknown.iter().filter(|amount| amount.minor() > 0);
    let unknown: Vec<_> = unknown.map(|sum| sum.with_code(text.language())).collect();
    let names = Names::new(text, kind, days);
    let half = groups::half(all, text);
    let compared = Compared { text, days };
    Ok(vec![
        Kpi {
            name: names.collected,
            values: compared.money(&money, &before.money()?),
            note: None,
            change: None,
            is_money: true,
        },
        Kpi {
            name: names.total,
            values: vec![(text.number(all.total()), None)],
            note: Some(text.with("console-home-succeeded", &[("count", &success)])),
            change: compared.number(all.total(), before.total(), text.number(before.total())),
            is_money: false,
        },
        Kpi {
            name: text.say("console-home-rate"),
            values: vec![(
                all.success_permille()
                    .map_or_else(|| "–".to_owned(), |rate| text.percent(rate)),
                None,
            )],
            note: half.map(|half| text.with("console-home-half", &[("time", &half)])),
            change: compared.rate(all.success_permille(), before.success_permille()),
            is_money: false,
        },
        Kpi {
            name: text.say("console-status-unknown"),
            values: vec![(text.number(all.unknown()), None)],
            note: (!unknown.is_empty()).then(|| unknown.join(" + ")),
            change: None,
            is_money: false,
        },
    ])
}

/// Comparison in words.
struct Compared {
    text: Text,
    days: Days,
}

impl Compared {
    /// Change of a number. `shown`: the number before, as it is written.
    fn number(&self, now: u64, before: u64, shown: String) -> Option<String> {
        if now == 0 && before == 0 {
            return None;
        }
        let permille = u128::from(now.abs_diff(before)) * 1_000;
        let change = permille.checked_div(u128::from(before)).map(|permille| {
            // Of a large change, tenths say nothing.
            let whole = if permille < 100 { 1 } else { 10 };
            u64::try_from(permille / whole * whole).unwrap_or(u64::MAX)
        });
        Some(self.sentence(
            change,
            now > before,
            |permille| self.text.percent(permille),
            shown,
        ))
    }

    /// Change of a success rate, in points.
    fn rate(&self, now: Option<u64>, before: Option<u64>) -> Option<String> {
        let (now, before) = (now?, before?);
        let shown = self.text.percent(before);
        let change = Some(now.abs_diff(before));
        Some(self.sentence(
            change,
            now > before,
            |permille| self.points(permille),
            shown,
        ))
    }

    /// Sums of successes, one for each currency of both spans, with their changes.
    fn money(
        &self,
        now: &[CurrencySums],
        before: &[CurrencySums],
    ) -> Vec<(String, Option<String>)> {
        let sum = |all: &[CurrencySums], of: &CurrencySums| {
            let own = all.iter().find(|sums| sums.currency() == of.currency());
            own.map_or(0, |sums| sums.succeeded.minor())
        };
        let language = self.text.language();
        let mut both: Vec<_> = now.iter().chain(before).collect();
        both.sort_by_key(|sums| sums.currency().code());
        both.dedup_by_key(|sums| sums.currency());
        let values = both.into_iter().filter_map(|sums| {
            let (now, before) = (sum(now, sums), sum(before, sums));
            if now == 0 && before == 0 {
                return None;
            }
            let write = |minor| Amount::from_minor(minor, sums.currency()).with_code(language);
            let change = self.number(now.unsigned_abs(), before.unsigned_abs(), write(before));
            Some((write(now), change))
        });
        let values: Vec<_> = values.collect();
        match values.is_empty() {
            true => vec![(self.text.number(0), None)],
            false => values,
        }
    }

    /// `change`: `None` when there was nothing before.
    fn sentence(
        &self,
        change: Option<u64>,
        is_more: bool,
        write: impl Fn(u64) -> String,
        before: String,
    ) -> String {
        let span = self.text.say(match self.days {
            Days::Today => "console-home-before-1",
            Days::Seven => "console-home-before-7",
            Days::Thirty => "console-home-before-30",
        });
        let message = match change {
            None => "console-home-change-new",
            Some(0) => "console-home-change-none",
            Some(_) if is_more => "console-home-change-up",
            Some(_) => "console-home-change-down",
        };
        let change = change.map(write).unwrap_or_default();
        let values = [("change", &*change), ("span", &*span), ("before", &*before)];
        self.text.with(message, &values)
    }

    /// Percentage points: `1.1 points`, `1,1 point`.
    fn points(&self, permille: u64) -> String {
        let (whole, rest) = (permille / 10, permille % 10);
        let number = match (self.text.language(), rest) {
            (_, 0) => whole.to_string(),
            (Language::En, rest) => format!("{whole}.{rest}"),
            (Language::Fr, rest) => format!("{whole},{rest}"),
        };
        // English has the singular for 1, French below 2.
        let is_one = match self.text.language() {
            Language::En => permille == 10,
            Language::Fr => permille < 20,
        };
        let message = if is_one {
            "console-home-point"
        } else {
            "console-home-points"
        };
        self.text.with(message, &[("points", &number)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(language: Language) -> Compared {
        Compared {
            text: Text(language),
            days: Days::Seven,
        }
    }

    #[test]
    fn a_change_has_a_direction_a_unit_and_the_number_before() {
        let english = compared(Language::En);
        let number = |now, before: u64| english.number(now, before, before.to_string());
        for (now, before, expected) in [
            (112, 100, "▲ 12% · 7 days before: 100"),
            (985, 1_000, "▼ 1.5% · 7 days before: 1000"),
            (0, 5, "▼ 100% · 7 days before: 5"),
            (30, 1, "▲ 2900% · 7 days before: 1"),
            (5, 5, "No change · 7 days before: 5"),
            (5, 0, "7 days before: 0"),
        ] {
            assert_eq!(number(now, before).as_deref(), Some(expected));
        }
        assert_eq!(number(0, 0), None);
        assert_eq!(
            english.rate(Some(750), Some(761)).as_deref(),
            Some("▼ 1.1 points · 7 days before: 76.1%")
        );
        assert_eq!(english.rate(None, Some(761)), None);
        let french = compared(Language::Fr);
        assert_eq!(
            french.rate(Some(761), Some(750)).as_deref(),
            Some("▲ 1,1 point · 7 jours précédents\u{a0}: 75\u{a0}%")
        );
    }
}
