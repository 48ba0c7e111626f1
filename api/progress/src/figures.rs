//! Figures of a stage as text: amount, rate, remaining time.

use std::fmt;
use std::time::Duration;

use indicatif::{BinaryBytes, HumanCount, HumanDuration, ProgressBar, ProgressState};

use crate::Unit;

/// State of a stage at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub unit: Unit,
    pub done: u64,
    pub total: Option<u64>,
    pub per_second: f64,
    pub left: Duration,
    pub elapsed: Duration,
}

impl Figures {
    pub fn of_state(state: &ProgressState, unit: Unit) -> Self {
        Self {
            unit,
            done: state.pos(),
            total: state.len(),
            per_second: state.per_sec(),
            left: state.eta(),
            elapsed: state.elapsed(),
        }
    }

    pub fn of_bar(bar: &ProgressBar, unit: Unit) -> Self {
        Self {
            unit,
            done: bar.position(),
            total: bar.length(),
            per_second: bar.per_sec(),
            left: bar.eta(),
            elapsed: bar.elapsed(),
        }
    }

    /// The amount and the time of a finished stage.
    pub fn sum(&self) -> String {
        let elapsed = HumanDuration(self.elapsed);
        match self.unit {
            Unit::Time => format!("{elapsed:#}"),
            Unit::Bytes | Unit::Things(_) => format!("{} in {elapsed:#}", self.amount(self.done)),
        }
    }

    fn amount(&self, amount: u64) -> String {
        match self.unit {
            Unit::Bytes => BinaryBytes(amount).to_string(),
            Unit::Things(things) => format!("{} {things}", HumanCount(amount)),
            Unit::Time => String::new(),
        }
    }

    /// The amount per second, of slow things per minute.
    fn rate(&self) -> String {
        let per_second = self.per_second;
        match self.unit {
            Unit::Bytes => format!("{}/s", BinaryBytes(per_second as u64)),
            Unit::Things(_) if per_second < 1.0 => format!("{:.1}/min", per_second * 60.0),
            Unit::Things(_) if per_second < 10.0 => format!("{per_second:.1}/s"),
            Unit::Things(_) => format!("{}/s", HumanCount(per_second as u64)),
            Unit::Time => String::new(),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elapsed = HumanDuration(self.elapsed);
        if self.unit == Unit::Time {
            return write!(f, "{elapsed:#}");
        }
        match self.total {
            Some(total) if self.unit == Unit::Bytes => {
                write!(f, "{} of {}", self.amount(self.done), self.amount(total))?;
            }
            Some(total) => write!(f, "{} of {}", HumanCount(self.done), self.amount(total))?,
            None => f.write_str(&self.amount(self.done))?,
        }
        // The measured rate of work that has stalled falls to nothing.
        let is_stalled = self.left > LONGEST;
        if self.done > 0 && self.per_second > 0.0 && !is_stalled {
            write!(f, ", {}", self.rate())?;
        }
        match self.total {
            Some(total) if self.done >= total => Ok(()),
            Some(_) if self.left.is_zero() => Ok(()),
            Some(_) if is_stalled => write!(f, ", {elapsed:#}"),
            Some(_) => write!(f, ", {:#} left", HumanDuration(self.left)),
            None => write!(f, ", {elapsed:#}"),
        }
    }
}

/// Longest remaining time that is shown.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn figures(unit: Unit, done: u64, total: Option<u64>, per_second: f64) -> String {
        let left = total.map_or(0.0, |total| total.saturating_sub(done) as f64 / per_second);
        let figures = Figures {
            unit,
            done,
            total,
            per_second,
            left: Duration::try_from_secs_f64(left).unwrap_or_default(),
            elapsed: Duration::from_secs(7),
        };
        figures.to_string()
    }

    #[test]
    fn amount_rate_and_remaining_time_are_shown_in_the_unit() {
        let rows = Unit::Things("rows");
        for (shown, expected) in [
            (
                figures(Unit::Bytes, 5 * MIB, Some(10 * MIB), MIB as f64),
                "5.00 MiB of 10.00 MiB, 1.00 MiB/s, 5s left",
            ),
            (
                figures(rows, 250_000, Some(1_000_000), 25_000.0),
                "250,000 of 1,000,000 rows, 25,000/s, 30s left",
            ),
            (figures(rows, 9_000, None, 2.5), "9,000 rows, 2.5/s, 7s"),
            (
                figures(Unit::Things("kills"), 3, Some(5), 0.5),
                "3 of 5 kills, 30.0/min, 4s left",
            ),
            (figures(Unit::Time, 0, None, 0.0), "7s"),
            (
                figures(Unit::Things("restores"), 1, Some(50), 0.000_1),
                "1 of 50 restores, 7s",
            ),
        ] {
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn no_remaining_time_is_claimed_before_there_is_a_rate_or_after_the_end() {
        let rows = Unit::Things("rows");
        assert_eq!(figures(rows, 0, Some(10), 0.0), "0 of 10 rows");
        assert_eq!(figures(rows, 10, Some(10), 5.0), "10 of 10 rows, 5.0/s");
        assert_eq!(figures(rows, 12, Some(10), 5.0), "12 of 10 rows, 5.0/s");
    }

    #[test]
    fn the_sum_has_the_amount_and_the_time() {
        let sum = |unit, done| {
            let figures = Figures {
                unit,
                done,
                total: None,
                per_second: 1.0,
                left: Duration::ZERO,
                elapsed: Duration::from_secs(12),
            };
            figures.sum()
        };
        assert_eq!(sum(Unit::Things("rows"), 1_234), "1,234 rows in 12s");
        assert_eq!(sum(Unit::Time, 0), "12s");
    }
}
