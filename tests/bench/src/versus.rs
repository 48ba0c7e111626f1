//! Ours and a limit, in turns: what disturbs the machine disturbs both, and the median of the
//! rounds hears little of it.

use std::time::Duration;

use anyhow::Result;

use crate::figure::{Figure, Sheet, Unit, median};
use crate::load::{CLIENTS, Load, Work, closed, open};
use crate::parts::Scale;

/// Comparison of two measurements, with its captions.
pub struct Versus<'a, Ours, Bare> {
    pub what: &'a str,
    pub ours: Ours,
    pub limit: &'a str,
    pub bare: Bare,
    /// How many a second are offered in the open loops.
    pub rates: [u64; 2],
}

fn each(loads: &[Load], of: fn(&Load) -> f64) -> f64 {
    median(loads.iter().map(of).collect())
}

impl<Ours: Work, Bare: Work> Versus<'_, Ours, Bare> {
    /// The most that both do in closed loops, then how long both take at the fixed rates.
    pub async fn measure(&self, scale: Scale, sheet: &mut Sheet) -> Result<()> {
        self.most(scale, sheet).await?;
        let rates = if scale.tiny { [20, 50] } else { self.rates };
        for rate in rates {
            self.at_rate(rate, scale, sheet).await?;
        }
        Ok(())
    }

    /// The most that both do in closed loops, as one row.
    pub async fn only_the_most(&self, scale: Scale, sheet: &mut Sheet) -> Result<()> {
        self.rounds(scale, sheet).await.map(drop)
    }

    /// Closed loops in turns, as one row. The rounds of ours and of the limit, for more.
    async fn rounds(&self, scale: Scale, sheet: &mut Sheet) -> Result<(Vec<Load>, Vec<Load>)> {
        let round = scale.time(Duration::from_secs(4));
        let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        // The first round of each only warms up.
        for round_number in 0..=scale.count(5, 1) {
            let one = closed(&self.bare, CLIENTS, round).await?;
            let other = closed(&self.ours, CLIENTS, round).await?;
            if round_number > 0 {
                ratios.push(other.per_second() / one.per_second());
                bare.push(one);
                ours.push(other);
            }
        }
        let ratio = median(ratios);
        let what = format!("{}, {CLIENTS} at once, the most", self.what);
        let figure = Figure::new(what, each(&ours, Load::per_second), Unit::PerSecond);
        sheet.note(&figure.beside(self.limit, each(&bare, Load::per_second), ratio))?;
        Ok((ours, bare))
    }

    async fn most(&self, scale: Scale, sheet: &mut Sheet) -> Result<()> {
        let (ours, bare) = self.rounds(scale, sheet).await?;
        let p99 = |load: &Load| load.percentile_ms(0.99);
        let both = |of| (each(&ours, of), each(&bare, of));
        let (ours_p99, bare_p99) = both(p99);
        let (ours_worked, bare_worked) = both(Load::worked_micros);
        for (name, ours, bare, unit) in [
            ("p99", ours_p99, bare_p99, Unit::Millis),
            (
                "processor time each",
                ours_worked,
                bare_worked,
                Unit::Micros,
            ),
        ] {
            let figure = Figure::new(format!("{}, at that: {name}", self.what), ours, unit);
            sheet.note(&figure.beside(self.limit, bare, ours / bare))?;
        }
        Ok(())
    }

    async fn at_rate(&self, rate: u64, scale: Scale, sheet: &mut Sheet) -> Result<()> {
        let round = scale.time(Duration::from_secs(4));
        let (mut ours, mut bare) = (Load::default(), Load::default());
        for _ in 0..scale.count(2, 1) {
            bare = bare.join(open(&self.bare, rate, round).await?.whole()?);
            ours = ours.join(open(&self.ours, rate, round).await?.whole()?);
        }
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            let what = format!("{}, {rate} offered a second: {name}", self.what);
            let (ours, bare) = (ours.percentile_ms(share), bare.percentile_ms(share));
            let figure = Figure::new(what, ours, Unit::Millis);
            sheet.note(&figure.beside(self.limit, bare, ours / bare))?;
        }
        Ok(())
    }
}
