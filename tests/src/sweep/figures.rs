//! Figures of a sweep.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use switchyard_charts::Words;
use switchyard_core::time::Timestamp;

use super::callbacks::Stored;
use super::kills::Lives;
use super::load::Counts;
use super::promises::Evidence;
use super::rest::Rested;

/// Figures of a sweep that broke no promise; any other sweep has none.
#[derive(Debug)]
pub struct Figures {
    pub kills: usize,
    /// Kills before the program accepted requests.
    pub early: u32,
    pub took: Duration,
    pub counts: Counts,
    pub payments: usize,
    pub payouts: usize,
    /// Transactions by their end: success, failed, and unpaid.
    pub ends: [usize; 3],
    /// Movements in the provider's ledger.
    pub charges: u64,
    pub references: usize,
    /// Times from a start until the program was ready, in order of the kills.
    pub recoveries: Vec<Duration>,
    /// The same times, sorted.
    pub ready: Vec<Duration>,
    /// Times from a start until a transaction that was open at the kill resumed, sorted.
    pub resumed: Vec<Duration>,
    /// Lives that lasted until everything that was open at the preceding kill had resumed.
    pub whole: u32,
    /// Times from the due time of the next query until a transaction with an earlier query resumed,
    /// sorted. In whole lives only.
    pub asked_again: Vec<Duration>,
    /// Such transactions whose due time was not observed and that resumed in time in any case.
    pub soon: usize,
    /// Such transactions whose next query was due later than a life lasts.
    pub not_yet: usize,
    /// Transactions that waited for a scheduled time when all others had ended, and the time that
    /// the machine was suspended for them.
    pub scheduled: (usize, Duration),
    /// Payments that the payer was asked to pay again.
    pub paid_again: usize,
    /// Payments that failed because nothing was sent.
    pub never_sent: usize,
    pub deliveries: usize,
    pub events: usize,
    pub callbacks: Callbacks,
}

/// Counts about the provider's callbacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Callbacks {
    /// Transactions that the provider sent callbacks about.
    pub transactions: usize,
    /// Callback requests in total, acknowledged, and signed.
    pub sent: u32,
    pub acknowledged: u32,
    pub signed: u32,
    /// Stored callbacks, acknowledged or not.
    pub stored: usize,
    /// Stored callbacks that were received in one life and processed in a later one.
    pub in_a_later_life: usize,
    /// Transactions that ended by a callback alone, without a query to the provider.
    pub ended: usize,
}

impl Callbacks {
    fn of(evidence: &Evidence, starts: &[Timestamp]) -> Self {
        let calls = || evidence.calls.values();
        let about: BTreeSet<&str> = calls().map(|called| called.transaction.as_str()).collect();
        let stored = || evidence.callbacks.values().flatten();
        let is_later = |one: &&Stored| {
            let dealt_with = one.dealt_with_at.unwrap_or(one.received_at);
            let mut starts = starts.iter();
            starts.any(|start| one.received_at < *start && *start <= dealt_with)
        };
        let signed = calls().filter(|called| called.is_signed);
        let ended = evidence.calls.iter().filter(|(reference, called)| {
            let entry = evidence.books.get(*reference);
            let status = evidence.statuses.get(&called.transaction);
            entry.is_some_and(|entry| entry.queries == 0)
                && status.and_then(Option::as_deref) == Some("success")
        });
        Self {
            transactions: about.len(),
            sent: calls().map(|called| called.sent).sum(),
            acknowledged: calls().map(|called| called.acknowledged).sum(),
            signed: signed.map(|called| called.sent).sum(),
            stored: stored().count(),
            in_a_later_life: stored().filter(is_later).count(),
            ended: ended.count(),
        }
    }
}

impl fmt::Display for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sent,
            acknowledged,
            signed,
            stored,
            ..
        } = self;
        let (repeated, later) = (sent.saturating_sub(*acknowledged), self.in_a_later_life);
        write!(f, "{sent} sent, {signed} of them signed; ")?;
        write!(f, "{acknowledged} acknowledged, {repeated} repeated; ")?;
        write!(
            f,
            "{stored} stored, {later} of them dealt with in a later life"
        )
    }
}

impl Figures {
    pub(super) fn of(
        evidence: &Evidence,
        rested: &Rested,
        lives: Lives,
        took: Duration,
        counts: Counts,
        deliveries: usize,
    ) -> Self {
        let sorted = |mut times: Vec<Duration>| {
            times.sort();
            times
        };
        let made = |prefix: &str| {
            let ids = evidence.made.keys();
            ids.filter(|id| id.starts_with(prefix)).count()
        };
        let ended = |end: &str| {
            let all = evidence.statuses.values();
            all.filter(|status| status.as_deref() == Some(end)).count()
        };
        let charges = evidence
            .books
            .values()
            .map(|entry| u64::from(entry.charges));
        Self {
            kills: lives.ready.len() + lives.early as usize,
            early: lives.early,
            took,
            counts,
            payments: made("py_"),
            payouts: made("po_"),
            ends: ["success", "failed", "initiated"].map(ended),
            charges: charges.sum(),
            references: evidence.books.len(),
            recoveries: lives.ready.clone(),
            ready: sorted(lives.ready),
            resumed: sorted(lives.resumed),
            whole: lives.whole,
            asked_again: sorted(lives.asked.resumed),
            soon: lives.asked.soon,
            not_yet: lives.asked.not_yet,
            scheduled: (rested.scheduled.len(), rested.slept),
            paid_again: rested.paid_again.len(),
            never_sent: evidence.never_sent.len(),
            deliveries,
            events: evidence.letters.len(),
            callbacks: Callbacks::of(evidence, &lives.starts),
        }
    }

    /// Chart of the time after each kill until the program was ready, as SVG.
    ///
    /// # Errors
    /// Without a kill.
    pub fn chart(&self) -> anyhow::Result<String> {
        recovery_chart(&self.recoveries, &spread(&self.ready))
    }

    /// Rows about the load.
    fn load(&self) -> Vec<(&'static str, String)> {
        let counts = &self.counts;
        let made = self.payments + self.payouts;
        let up = self.took.saturating_sub(self.ready.iter().sum());
        let a_second = |count: f64, time: Duration| count / time.as_secs_f64();
        vec![
            (
                "kills",
                format!("{}, {} before it was ready", self.kills, self.early),
            ),
            (
                "orders offered",
                format!(
                    "{:.0} a second for {} s",
                    a_second(counts.offered as f64, self.took),
                    self.took.as_secs()
                ),
            ),
            (
                "promised by a 201",
                format!(
                    "{made}, {} payments and {} payouts: {:.0} a second while it was up",
                    self.payments,
                    self.payouts,
                    a_second(made as f64, up)
                ),
            ),
            (
                "orders otherwise",
                format!(
                    "{} turned away, {} answered 503 or 409, {} unanswered, {} withheld",
                    counts.turned_away, counts.refused, counts.unanswered, counts.withheld
                ),
            ),
        ]
    }

    /// Rows about the results.
    fn end(&self) -> Vec<(&'static str, String)> {
        let [success, failed, unpaid] = self.ends;
        let (scheduled, slept) = self.scheduled;
        vec![
            (
                "ends",
                format!("{success} success, {failed} failed, {unpaid} paid by nobody"),
            ),
            (
                "provider's books",
                format!(
                    "{} movements under {} references",
                    self.charges, self.references
                ),
            ),
            (
                "webhooks",
                format!("{} events in {} deliveries", self.events, self.deliveries),
            ),
            ("callbacks", self.callbacks.to_string()),
            (
                "called about",
                format!(
                    "{} transactions, {} of them ended by the callback alone",
                    self.callbacks.transactions, self.callbacks.ended
                ),
            ),
            ("ready after a start", spread(&self.ready)),
            (
                "open at a kill, at work again after the start",
                format!(
                    "{}; {} times, all of them in {} lives",
                    spread(&self.resumed),
                    self.resumed.len(),
                    self.whole
                ),
            ),
            (
                "asked before, at work again after it was due",
                format!(
                    "{}; {} times, {} more in time after the start, {} due later",
                    spread(&self.asked_again),
                    self.asked_again.len(),
                    self.soon,
                    self.not_yet
                ),
            ),
            (
                "left to the schedule at the end",
                format!("{scheduled}, all ended after {} s of it", slept.as_secs()),
            ),
            ("paid again by their payer", self.paid_again.to_string()),
            ("failed since nothing was sent", self.never_sent.to_string()),
        ]
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, figure) in self.load().into_iter().chain(self.end()) {
            writeln!(f, "{name:<48} {figure}")?;
        }
        write!(f, "lost 0, doubled 0, webhooks lost 0")
    }
}

/// `spread`: the statement about the times in words.
fn recovery_chart(recoveries: &[Duration], spread: &str) -> anyhow::Result<String> {
    let times: Vec<f64> = recoveries.iter().map(Duration::as_secs_f64).collect();
    let words = Words {
        title: "Time until the program is ready, after each kill",
        description: &format!("Ready after {} kills: {spread}.", times.len()),
        unit: "seconds",
    };
    switchyard_charts::times(&words, &times)
}

/// Median, 99th percentile and maximum of sorted times.
fn spread(times: &[Duration]) -> String {
    let at = |percent: usize| {
        times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)))
    };
    match (at(50), at(99), times.last()) {
        (Some(middle), Some(late), Some(last)) => {
            format!("{middle:.2?}, 99 of 100 within {late:.2?}, the last {last:.2?}")
        }
        _ => "never".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_has_a_bar_for_each_kill_and_says_the_spread() {
        let times = [300, 100, 200].map(Duration::from_millis);
        let mut sorted = times;
        sorted.sort();
        let svg = recovery_chart(&times, &spread(&sorted)).unwrap();
        let words = "<desc>Ready after 3 kills: 200.00ms, 99 of 100 within 300.00ms, the last";
        assert!(svg.contains(words), "{svg}");
        assert_eq!(svg.matches("<rect ").count(), 3, "{svg}");
        assert!(recovery_chart(&[], "never").is_err());
    }
}
