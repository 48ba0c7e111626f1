//! Kills of the server, at a different moment of each life.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use switchyard_core::time::Timestamp;
use switchyard_progress::{Progress, Unit};
use tokio::time::Instant;

use super::asked::Asked;
use super::figures::Figures;
use super::load::Fate;
use super::promises::kind;
use super::{Load, Site, judge, operator};

/// Number of kills, and the load.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub kills: u32,
    /// Orders per second.
    pub rate: u32,
    /// Time limit after a start for resuming the transactions that were open at the kill.
    pub resumes_within: Duration,
}

/// Every so-many-th life lasts until everything that was open at the preceding kill has resumed.
const WHOLE: u32 = 20;
/// First whole life.
const FIRST_WHOLE: u32 = 5;
/// Every so-many-th kill comes before the program accepts requests.
const EARLY: u32 = 8;
/// Poll interval for whether everything has resumed.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum number of transactions looked up at once.
pub(super) const FEW: usize = 100;
/// Extension of a life beyond the promised time while not everything has resumed, so that the delay
/// can be measured.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Kills the server as often as requested, and judges the result. `programmable`: the library of
/// that gateway.
///
/// # Errors
/// [`Broken`](super::Broken) when a promise was broken. Any other error means that the
/// check could not be completed.
pub async fn run(sweep: Sweep, programmable: &Path) -> anyhow::Result<Figures> {
    let mut site = Site::open(programmable, |_| ()).await?;
    let load = Load::new(site.server.merchant(), site.server.stranger());
    let loading = tokio::spawn(load.clone().run(sweep.rate));
    let mut lives = Lives {
        within: sweep.resumes_within,
        ..Lives::default()
    };
    lives.begin(&site);
    let progress = Progress::begin("kill", Some(sweep.kills.into()), Unit::Things("kills"));
    for kill in 0..sweep.kills {
        match kill % WHOLE == FIRST_WHOLE {
            true => lives.last_whole(&site, &load, &progress).await?,
            false => tokio::time::sleep(life(kill)).await,
        }
        site.server.kill().await?;
        lives.end(&site, &load);
        lives.begin(&site);
        site.server.launch()?;
        if kill % EARLY == EARLY - 1 {
            // A different moment each time: opening the store, loading gateways, the first orders.
            tokio::time::sleep(Duration::from_millis(u64::from(kill * 37 % 400))).await;
            lives.early += 1;
            site.server.kill().await?;
            site.server.launch()?;
        }
        site.server.ready().await?;
        lives.ready.push(lives.began.elapsed());
        progress.line(&told(&load, kill, lives.began.elapsed()));
        progress.at(u64::from(kill) + 1);
    }
    drop(progress);
    let took = lives.first.elapsed();
    load.stop();
    loading.await??;
    eprintln!("all orders are answered, all payers served");
    judge::judge(&site, &load, lives, took).await
}

/// Line about the life that a kill began.
fn told(load: &Load, kill: u32, ready: Duration) -> String {
    let told = load.told();
    let (made, payers, again) = (told.made.len(), told.payers.len(), told.again.len());
    let kill = kill + 1;
    format!(
        "after kill {kill}: ready in {ready:.1?}; {made} promised, {payers} payers come back, {again} orders to send again"
    )
}

/// Returns the length of a life: 30 ms to 1.5 s, different each time, without randomness.
fn life(kill: u32) -> Duration {
    Duration::from_millis(30 + u64::from(kill) * 373 % 1_470)
}

/// Observations over all lives of the program.
pub(super) struct Lives {
    pub(super) first: Instant,
    /// Start times of the lives.
    pub(super) starts: Vec<Timestamp>,
    began: Instant,
    began_at: Timestamp,
    /// Time limit after a start for resuming everything.
    within: Duration,
    /// Transactions that were open at the end of the last life, had not been queried, and are not
    /// yet observed to have resumed.
    open: BTreeSet<String>,
    /// Transactions first observed from outside after the limit, with the time. They may have
    /// resumed long before.
    heard_late: Vec<(String, Duration)>,
    pub(super) ready: Vec<Duration>,
    pub(super) resumed: Vec<Duration>,
    /// Lives that lasted until everything had resumed.
    pub(super) whole: u32,
    /// Transactions that the provider had been queried about before, perhaps by a query that the
    /// kill interrupted. Their next query has a due time.
    pub(super) asked: Asked,
    /// Payments that wait for their payer. The program has nothing to do for them in later lives.
    for_payer: BTreeSet<String>,
    /// Transactions that resumed too late or not at all, in whole lives.
    pub(super) late: Vec<String>,
    pub(super) early: u32,
}

impl Default for Lives {
    fn default() -> Self {
        Self {
            first: Instant::now(),
            starts: Vec::new(),
            began: Instant::now(),
            began_at: Timestamp::default(),
            within: Duration::ZERO,
            open: BTreeSet::new(),
            heard_late: Vec::new(),
            ready: Vec::new(),
            resumed: Vec::new(),
            whole: 0,
            asked: Asked::default(),
            for_payer: BTreeSet::new(),
            late: Vec::new(),
            early: 0,
        }
    }
}

impl Lives {
    fn begin(&mut self, site: &Site) {
        self.began = Instant::now();
        self.began_at = site.now();
        self.starts.push(self.began_at);
    }

    /// Records the open transactions after a kill.
    fn end(&mut self, site: &Site, load: &Load) {
        self.listen(site);
        let (mut open, asked) = open(site, load);
        open.retain(|id| !self.for_payer.contains(id));
        self.open = open;
        self.asked.begin(asked);
    }

    /// Waits until each open transaction is at work again. New orders pause once the permitted time
    /// has passed: otherwise each whole life leaves more open transactions than the one before.
    async fn last_whole(
        &mut self,
        site: &Site,
        load: &Load,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let (life, late) = ((self.began, self.began_at), self.late.len());
        loop {
            self.listen(site);
            if self.open.is_empty() && self.heard_late.is_empty() && self.asked.is_empty() {
                break;
            }
            // A transaction without a sign from outside may still have resumed.
            if self.began.elapsed() > self.within {
                load.pause(true);
                self.look(site).await?;
            }
            self.asked.look(site, life, self.within).await?;
            tokio::time::sleep(LOOK).await;
        }
        load.pause(false);
        self.late.append(&mut self.asked.late);
        self.whole += 1;
        progress.line(&self.whole_life());
        for late in self.late.iter().skip(late) {
            progress.line(&format!("too late: {late}"));
        }
        Ok(())
    }

    /// Asks the program about a few transactions that showed no sign outside in time.
    async fn look(&mut self, site: &Site) -> anyhow::Result<()> {
        let is_over = self.began.elapsed() > self.within + GRACE;
        let heard: BTreeMap<_, _> = std::mem::take(&mut self.heard_late).into_iter().collect();
        let unheard = self.open.iter().take(FEW).cloned();
        let ids: Vec<String> = heard.keys().cloned().chain(unheard).collect();
        for (id, shown) in operator::see_all(&site.server.operator(), &ids).await? {
            let shown = shown.unwrap_or_default();
            let heard = heard.get(&id).copied();
            match (taken_up(&shown, self.began_at), heard) {
                (Taken::Ended, _) => {}
                (Taken::ForPayer, _) => drop(self.for_payer.insert(id.clone())),
                (Taken::At { due, at }, heard) => {
                    let at = heard.map_or(at, |heard| heard.min(at));
                    self.is_back(&id, due, at, &shown);
                }
                (Taken::Not { due }, Some(heard)) => self.is_back(&id, due, heard, &shown),
                (Taken::Not { due }, None) if due > Duration::ZERO => {
                    self.asked.add(id.clone(), due, self.within);
                }
                (Taken::Not { .. }, None) if !is_over => continue,
                (Taken::Not { .. }, None) => {
                    self.late.push(format!("{id} is not at work: {shown:#}"));
                }
            }
            self.open.remove(&id);
        }
        Ok(())
    }

    /// Records that a transaction resumed `at` after the start and was due at `due`.
    fn is_back(&mut self, id: &str, due: Duration, at: Duration, shown: &Value) {
        let story = story(shown, self.began_at);
        if due > Duration::ZERO {
            let after = at.saturating_sub(due);
            return self.asked.is_back(id, after, self.within, &story);
        }
        self.resumed.push(at);
        if at > self.within {
            self.late
                .push(format!("{id} was at work after {at:.2?}: {story}"));
        }
    }

    /// Progress line about a whole life.
    fn whole_life(&self) -> String {
        let (took, asked) = (self.began.elapsed(), &self.asked);
        format!(
            "a whole life: {took:.1?}; at work again so far {} times, {} times after a question before; {} too late",
            self.resumed.len(),
            asked.resumed.len() + asked.soon,
            self.late.len()
        )
    }

    /// Records the transactions that the provider and the inbox received requests about in this
    /// life.
    fn listen(&mut self, site: &Site) {
        let mut signs: BTreeMap<String, Instant> = BTreeMap::new();
        let mut note = |at: Instant, id: String| {
            let first = signs.entry(id).or_insert(at);
            *first = at.min(*first);
        };
        for (at, id) in site.provider.heard() {
            if at >= self.began {
                self.asked.heard(&id, at - self.began, self.within);
                note(at, id);
            }
        }
        let told = site.inbox.heard().into_iter();
        told.filter(|(at, _)| *at >= self.began)
            .for_each(|(at, id)| note(at, id));
        for (id, at) in signs {
            // A sign of a payment that waited for its payer: the payer has returned.
            self.for_payer.remove(&id);
            if self.open.remove(&id) {
                match at - self.began {
                    after if after > self.within => self.heard_late.push((id, after)),
                    after => self.resumed.push(after),
                }
            }
        }
    }
}

/// Formats the timeline of a transaction, with times relative to the start.
pub(super) fn story(shown: &Value, began_at: Timestamp) -> String {
    let timeline = shown["timeline"].as_array().cloned().unwrap_or_default();
    let told = timeline.iter().filter_map(|event| {
        let (name, at) = (event["event"]["type"].as_str()?, event["at"].as_str()?);
        let at = Timestamp::parse(at)?;
        let seconds = at.as_micros().saturating_sub(began_at.as_micros()) as f64 / 1e6;
        Some(format!("{name} {seconds:+.2} s"))
    });
    let told: Vec<String> = told.collect();
    format!("{}, now {}", told.join(", "), shown["state"])
}

/// State of a transaction in this life, by the program's own timeline. Times count from the start.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Ended before the start; only its event was undelivered.
    Ended,
    /// A decline made it payable again. The payer returns at any time.
    ForPayer,
    /// Resumed at `at`.
    At { due: Duration, at: Duration },
    /// Not resumed.
    Not { due: Duration },
}

/// Classifies an open transaction. It is due at once, unless the provider was being queried about
/// it, perhaps by a query that the kill interrupted. Then its next query has a scheduled time.
pub(super) fn taken_up(shown: &Value, began_at: Timestamp) -> Taken {
    let timeline = shown["timeline"].as_array().cloned().unwrap_or_default();
    let time = |at: &Value| Timestamp::parse(at.as_str()?);
    let events = timeline
        .iter()
        .filter_map(|event| Some((&event["event"], time(&event["at"])?)));
    let (before, since): (Vec<_>, Vec<_>) = events.partition(|(_, at)| *at < began_at);
    let is = |event: &Value, names: &[&str]| {
        let name = event["type"].as_str();
        name.is_some_and(|name| names.contains(&name))
    };
    if before
        .iter()
        .any(|(event, _)| is(event, &["succeeded", "failed"]))
    {
        return Taken::Ended;
    }
    let last = before.last().map(|(event, _)| *event);
    // The engine continues a payout without a payer.
    let is_payment = shown["id"].as_str().is_some_and(|id| id.starts_with("py_"));
    if is_payment && last.is_some_and(|event| is(event, &["attempt_allowed"])) {
        return Taken::ForPayer;
    }
    let last_try = before
        .iter()
        .rev()
        .take_while(|(event, _)| !is(event, &["attempt_started", "submission_resumed"]));
    let last_try: Vec<&Value> = last_try.map(|(event, _)| *event).collect();
    let was_asked = last_try.iter().any(|event| is(event, &["query_started"]));
    let next = last_try
        .iter()
        .find_map(|event| time(&event["next_query_at"]));
    let due = next.filter(|_| was_asked);
    let due = due.map_or(Duration::ZERO, |next| next.since(began_at));
    match since.first() {
        Some((_, at)) => Taken::At {
            due,
            at: at.since(began_at),
        },
        None => Taken::Not { due },
    }
}

/// Returns the transactions that the engine has to continue after a start: accepted, and without a
/// delivered end. First those that were never queried; then the others, whose next query is
/// scheduled.
fn open(site: &Site, load: &Load) -> (BTreeSet<String>, BTreeSet<String>) {
    let books = site.provider.books();
    let asked: BTreeSet<_> = books
        .values()
        .filter(|entry| entry.queries > 0)
        .map(|entry| entry.transaction.as_str())
        .collect();
    let letters = site.inbox.letters();
    let told = load.told();
    let under_way = told
        .made
        .iter()
        .filter(|(_, promise)| promise.under_way && promise.fate != Fate::Initiated);
    let heard_of_end = |id: &str| {
        ["success", "failed"].iter().any(|end| {
            let key = (id.to_owned(), format!("{}.{end}", kind(id)));
            letters
                .get(&key)
                .is_some_and(|letter| !letter.ids.is_empty())
        })
    };
    under_way
        .map(|(id, _)| id)
        .filter(|id| !heard_of_end(id))
        .cloned()
        .partition(|id| !asked.contains(id.as_str()))
}
