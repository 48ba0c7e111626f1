//! Measured figures: a number with its unit, the limit of the same run beside it, and its
//! requirement.

use std::fs::File;
use std::io::Write as _;

use anyhow::Result;
use serde::{Deserialize, Serialize};

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub what: String,
    pub value: f64,
    pub unit: Unit,
    pub limit: Option<Limit>,
    pub bar: Option<Bar>,
}

/// Limit of the machine, measured in turns with the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub what: String,
    /// In the figure's unit.
    pub value: f64,
    /// The figure's value over the limit's: the median of the rounds.
    pub ratio: f64,
}

/// Requirement on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// Of the limit.
    RatioAtLeast(f64),
    RatioAtMost(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    PerSecond,
    Seconds,
    Millis,
    Micros,
    Nanos,
    Mebibytes,
    Bytes,
    /// Things that are counted.
    Count,
}

impl Figure {
    pub fn new(what: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self {
            what: what.into(),
            value,
            unit,
            limit: None,
            bar: None,
        }
    }

    /// Beside a limit, by the medians of both and of their ratios, round by round.
    pub fn beside(mut self, what: &str, limit: f64, ratio: f64) -> Self {
        self.limit = Some(Limit {
            what: what.to_owned(),
            value: limit,
            ratio,
        });
        self
    }

    pub fn bar(mut self, bar: Bar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// Whether it clears its bar; `None` without one.
    pub fn is_met(&self) -> Option<bool> {
        let ratio = self.limit.as_ref().map_or(f64::NAN, |limit| limit.ratio);
        self.bar.map(|bar| match bar {
            Bar::AtLeast(least) => self.value >= least,
            Bar::AtMost(most) => self.value <= most,
            Bar::RatioAtLeast(least) => ratio >= least,
            Bar::RatioAtMost(most) => ratio <= most,
        })
    }

    pub fn shown(&self) -> String {
        self.unit.show(self.value)
    }

    pub fn shown_limit(&self) -> String {
        let limit = self.limit.as_ref();
        limit.map_or_else(String::new, |limit| {
            format!("{} {}", self.unit.show(limit.value), limit.what)
        })
    }

    pub fn shown_ratio(&self) -> String {
        let limit = self.limit.as_ref();
        limit.map_or_else(String::new, |limit| ratio(limit.ratio))
    }

    pub fn shown_bar(&self) -> String {
        match self.bar {
            None => String::new(),
            Some(Bar::AtLeast(least)) => format!("≥ {}", self.unit.show(least)),
            Some(Bar::AtMost(most)) => format!("≤ {}", self.unit.show(most)),
            Some(Bar::RatioAtLeast(least)) => format!("≥ {}", ratio(least)),
            Some(Bar::RatioAtMost(most)) => format!("≤ {}", ratio(most)),
        }
    }

    pub fn shown_met(&self) -> &'static str {
        match self.is_met() {
            None => "",
            Some(true) => "met",
            Some(false) => "MISSED",
        }
    }
}

impl Unit {
    pub fn show(self, value: f64) -> String {
        let number = match value {
            _ if self == Self::Count || value >= 100.0 => grouped(value),
            _ if value >= 10.0 => format!("{value:.1}"),
            _ => format!("{value:.2}"),
        };
        match self {
            Self::PerSecond => format!("{number} /s"),
            Self::Seconds => format!("{number} s"),
            Self::Millis => format!("{number} ms"),
            Self::Micros => format!("{number} µs"),
            Self::Nanos => format!("{number} ns"),
            Self::Mebibytes => format!("{number} MiB"),
            Self::Bytes => format!("{number} B"),
            Self::Count => number,
        }
    }
}

/// Per cent below double, then how many times.
fn ratio(ratio: f64) -> String {
    if ratio < 1.995 {
        format!("{:.0} %", ratio * 100.0)
    } else {
        format!("{ratio:.1} ×")
    }
}

/// Whole, in groups of three.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The middle one; of an even number the lower of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::NAN)
}

/// File to which a part writes its figures, one by one: earlier figures stay if a later part fails.
pub struct Sheet(File);

impl Sheet {
    pub fn new(file: File) -> Self {
        Self(file)
    }

    pub fn note(&mut self, figure: &Figure) -> Result<()> {
        let columns = [
            figure.shown(),
            figure.shown_limit(),
            figure.shown_ratio(),
            figure.shown_bar(),
            figure.shown_met().to_owned(),
        ];
        let said = columns.into_iter().filter(|text| !text.is_empty());
        eprintln!(
            "  {}: {}",
            figure.what,
            said.collect::<Vec<_>>().join(" | ")
        );
        writeln!(self.0, "{}", serde_json::to_string(figure)?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_at_its_edge_and_missed_beyond_it() {
        let figure =
            |value, ratio| Figure::new("it", value, Unit::Millis).beside("bare", 1.0, ratio);
        let met = |figure: Figure, bar| figure.bar(bar).is_met();
        assert_eq!(figure(1.0, 0.5).is_met(), None);
        for (value, ratio, bar, is_met) in [
            (5.0, 0.0, Bar::AtLeast(5.0), true),
            (4.9, 9.0, Bar::AtLeast(5.0), false),
            (5.0, 9.0, Bar::AtMost(5.0), true),
            (5.1, 0.0, Bar::AtMost(5.0), false),
            (0.0, 0.35, Bar::RatioAtLeast(0.35), true),
            (9.0, 0.34, Bar::RatioAtLeast(0.35), false),
            (9.0, 2.0, Bar::RatioAtMost(2.0), true),
            (0.0, 2.1, Bar::RatioAtMost(2.0), false),
        ] {
            assert_eq!(met(figure(value, ratio), bar), Some(is_met), "{bar:?}");
        }
        // A ratio that was not measured clears nothing.
        let alone = Figure::new("it", 1.0, Unit::Count);
        assert_eq!(met(alone, Bar::RatioAtLeast(0.0)), Some(false));
    }

    #[test]
    fn numbers_are_shown_with_as_many_digits_as_they_are_worth() {
        let shown = |value, unit: Unit| unit.show(value);
        assert_eq!(shown(1_234_567.8, Unit::PerSecond), "1,234,568 /s");
        assert_eq!(shown(12.34, Unit::Millis), "12.3 ms");
        assert_eq!(shown(0.456, Unit::Seconds), "0.46 s");
        assert_eq!(shown(0.0, Unit::Count), "0");
        assert_eq!(
            (ratio(0.354), ratio(2.04)),
            ("35 %".to_owned(), "2.0 ×".to_owned())
        );
    }

    #[test]
    fn the_median_is_one_of_the_values_and_not_moved_by_one_that_is_far_off() {
        let middle = median(vec![3.0, 1_000.0, 2.0]);
        assert!(middle > 2.9 && middle < 3.1);
        assert!(median(Vec::new()).is_nan());
    }
}
