//! The figures of all restores.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::Rule;
use super::round::Round;

/// Figures of a sweep of restores.
pub struct RestoreFigures {
    pub restores: usize,
    /// Orders a second.
    pub rate: u32,
    took: Duration,
    /// Orders answered 201, and those that a restore lost.
    pub made: usize,
    pub lost: usize,
    /// Open when a hold began, and those of them that were paid after the backup.
    pub open: u64,
    pub paid_unknown: usize,
    pub made_held: usize,
    movements: u64,
    /// Time of the loads until their kills.
    loaded: Duration,
    in_cases: usize,
    backups: Vec<Duration>,
    ready: Vec<Duration>,
    quiet: Vec<Duration>,
    during_backup: Vec<Duration>,
    /// Number of breaks of each promise.
    broken: BTreeMap<Rule, usize>,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            made,
            lost,
            open,
            paid_unknown,
            made_held,
            backup,
            ready,
            ..
        } = self;
        write!(f, "backup {backup:.1?}, ready {ready:.1?}; {made} orders, ")?;
        write!(f, "{lost} lost; {open} open, {paid_unknown} of them paid; ")?;
        write!(
            f,
            "{made_held} made in the hold; {} broken",
            self.breaks.len()
        )
    }
}

impl RestoreFigures {
    pub(super) fn of(rounds: Vec<Round>, rate: u32, took: Duration) -> Self {
        let sorted = |times: &dyn Fn(&Round) -> Vec<Duration>| {
            let mut all: Vec<Duration> = rounds.iter().flat_map(times).collect();
            all.sort();
            all
        };
        let sum = |number: &dyn Fn(&Round) -> usize| rounds.iter().map(number).sum();
        Self {
            restores: rounds.len(),
            rate,
            took,
            made: sum(&|round| round.made),
            lost: sum(&|round| round.lost),
            open: rounds.iter().map(|round| round.open).sum(),
            paid_unknown: sum(&|round| round.paid_unknown),
            made_held: sum(&|round| round.made_held),
            movements: rounds.iter().map(|round| round.movements).sum(),
            loaded: rounds.iter().map(|round| round.loaded).sum(),
            in_cases: sum(&|round| round.in_cases),
            backups: sorted(&|round| vec![round.backup]),
            ready: sorted(&|round| vec![round.ready]),
            quiet: sorted(&|round| round.answers.quiet.clone()),
            during_backup: sorted(&|round| round.answers.during_backup.clone()),
            broken: broken(&rounds),
        }
    }

    /// Ratio of the 99th percentile of answer times during a backup to that without one.
    pub fn slowdown(&self) -> Option<f64> {
        let (quiet, during) = (late(&self.quiet)?, late(&self.during_backup)?);
        Some(during.as_secs_f64() / quiet.as_secs_f64())
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let slowdown = self.slowdown().unwrap_or_default();
        let reached = self.made as f64 / self.loaded.as_secs_f64();
        let of = |rule| self.broken.get(&rule).copied().unwrap_or(0).to_string();
        vec![
            (
                "backups restored",
                format!(
                    "{} at {} orders/s, {:.0?}",
                    self.restores, self.rate, self.took
                ),
            ),
            (
                "orders answered",
                format!(
                    "{}, {reached:.0} a second; {} more in a hold",
                    self.made, self.made_held
                ),
            ),
            ("lost, all in the named span", self.lost.to_string()),
            (
                "open when the hold began",
                format!(
                    "{}, paid after the backup: {}",
                    self.open, self.paid_unknown
                ),
            ),
            (
                "movements in the provider's books",
                self.movements.to_string(),
            ),
            ("left in a case", self.in_cases.to_string()),
            ("backup took", spread(&self.backups)),
            ("held and ready after a start", spread(&self.ready)),
            ("answers without a backup", spread(&self.quiet)),
            ("answers during a backup", spread(&self.during_backup)),
            ("p99 during a backup / without", format!("{slowdown:.2}")),
            ("paid or submitted twice", of(Rule::NothingDoubled)),
            ("sent while held", of(Rule::HeldSendsNothing)),
            ("stuck after the release", of(Rule::NothingStuck)),
            (
                "promises broken",
                self.broken.values().sum::<usize>().to_string(),
            ),
        ]
    }
}

impl fmt::Display for RestoreFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let lines = rows
            .iter()
            .map(|(name, figure)| format!("{name:<36} {figure}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

fn broken(rounds: &[Round]) -> BTreeMap<Rule, usize> {
    let mut broken = BTreeMap::new();
    for found in rounds.iter().flat_map(|round| &round.breaks) {
        *broken.entry(found.rule).or_default() += 1;
    }
    broken
}

/// The 99th percentile of sorted times.
fn late(times: &[Duration]) -> Option<Duration> {
    times.get(times.len() * 99 / 100).copied()
}

fn spread(times: &[Duration]) -> String {
    match (times.get(times.len() / 2), late(times), times.last()) {
        (Some(middle), Some(late), Some(last)) => {
            let of = times.len();
            format!("p50 {middle:.1?}, p99 {late:.1?}, max {last:.1?}, of {of}")
        }
        _ => "none".to_owned(),
    }
}
