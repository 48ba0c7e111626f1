//! The kills, at a different moment of each life.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use switchyard_engine::clock::Timestamp;
use tokio::time::Instant;

use super::asked::Asked;
use super::figures::Figures;
use super::load::Fate;
use super::promises::kind;
use super::{Load, Site, judge, operator};

/// How often, and under how much.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub kills: u32,
    /// Orders a second.
    pub rate: u32,
    /// How soon after a start the program has to be at work on what was open when it died.
    pub resumes_within: Duration,
}

/// Every so-many-th life lasts until everything that was open at the kill before it is at work again.
const WHOLE: u32 = 20;
/// The first of them.
const FIRST_WHOLE: u32 = 5;
/// Every so-many-th kill comes before the program takes requests.
const EARLY: u32 = 8;
/// Every so-many-th life has the gateway in a process of its own.
const WORKER: u32 = 4;
/// How often it is looked whether everything is at work.
const LOOK: Duration = Duration::from_millis(250);
/// As many are asked about at once.
pub(super) const FEW: usize = 100;
/// How much longer than promised a life is at most in which not everything is at work again, so that it is known how late it was.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Kills the server as often as wanted, and judges what is left. `programmable`: the library of that gateway.
///
/// # Errors
/// [`Broken`](super::Broken), when a promise was broken. Any other error: it could not be found out.
pub async fn run(sweep: Sweep, programmable: &Path) -> anyhow::Result<Figures> {
    let mut site = Site::open(programmable, |_| ()).await?;
    let load = Load::new(site.server.merchant(), site.server.stranger());
    let loading = tokio::spawn(load.clone().run(sweep.rate));
    let mut lives = Lives {
        within: sweep.resumes_within,
        ..Lives::default()
    };
    lives.begin(&site);
    for kill in 0..sweep.kills {
        match kill % WHOLE == FIRST_WHOLE {
            true => lives.last_whole(&site, &load).await?,
            false => tokio::time::sleep(life(kill)).await,
        }
        site.server.kill().await?;
        lives.end(&site, &load);
        let isolation = match kill % WORKER {
            0 => "process",
            _ => "in_process",
        };
        site.server.set("SWITCHYARD_GATEWAYS__ISOLATION", isolation);
        lives.begin(&site);
        site.server.launch()?;
        if kill % EARLY == EARLY - 1 {
            // Another moment each time: opening the store, loading gateways, the first orders.
            tokio::time::sleep(Duration::from_millis(u64::from(kill * 37 % 400))).await;
            lives.early += 1;
            site.server.kill().await?;
            site.server.launch()?;
        }
        site.server.ready().await?;
        lives.ready.push(lives.began.elapsed());
        eprintln!("{}", progress(&load, kill, lives.began.elapsed()));
    }
    let took = lives.first.elapsed();
    load.stop();
    loading.await??;
    eprintln!("all orders are answered, all payers served");
    judge::judge(&site, &load, lives, took).await
}

/// A line for whoever watches: a sweep takes minutes.
fn progress(load: &Load, kill: u32, ready: Duration) -> String {
    let told = load.told();
    let (made, payers, again) = (told.made.len(), told.payers.len(), told.again.len());
    let kill = kill + 1;
    format!(
        "after kill {kill}: ready in {ready:.1?}; {made} promised, {payers} payers come back, {again} orders to send again"
    )
}

/// How long a life is: 30 ms to 1.5 s, another each time, without chance.
fn life(kill: u32) -> Duration {
    Duration::from_millis(30 + u64::from(kill) * 373 % 1_470)
}

/// What was seen of the program's lives.
pub(super) struct Lives {
    pub(super) first: Instant,
    /// When each life began.
    pub(super) starts: Vec<Timestamp>,
    began: Instant,
    began_at: Timestamp,
    /// How soon after a start everything has to be at work.
    within: Duration,
    /// What was open when the last life ended, had not been asked about, and is not yet seen at work in this one.
    open: BTreeSet<String>,
    /// What was heard of from outside later than that, and when. It may have been at work long before.
    heard_late: Vec<(String, Duration)>,
    pub(super) ready: Vec<Duration>,
    pub(super) resumed: Vec<Duration>,
    /// Lives that lasted until everything was at work again.
    pub(super) whole: u32,
    /// What the provider had been asked about before, perhaps by a question that died with the process. The next one has its time.
    pub(super) asked: Asked,
    /// Payments that wait for their payer: nothing is due of them in later lives.
    for_payer: BTreeSet<String>,
    /// In whole lives: what was at work too late, or not at all.
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

    /// After the kill: what is open now.
    fn end(&mut self, site: &Site, load: &Load) {
        self.listen(site);
        let (mut open, asked) = open(site, load);
        open.retain(|id| !self.for_payer.contains(id));
        self.open = open;
        self.asked.begin(asked);
    }

    /// Waits until each open transaction is at work again. New orders pause once the permitted time
    /// has passed: otherwise each whole life leaves more open transactions than the one before.
    async fn last_whole(&mut self, site: &Site, load: &Load) -> anyhow::Result<()> {
        let (life, late) = ((self.began, self.began_at), self.late.len());
        loop {
            self.listen(site);
            if self.open.is_empty() && self.heard_late.is_empty() && self.asked.is_empty() {
                break;
            }
            // Who is not heard of by then may be at work all the same.
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
        eprintln!("{}", self.whole_life());
        for late in self.late.iter().skip(late) {
            eprintln!("too late: {late}");
        }
        Ok(())
    }

    /// Asks the program about a few of those that nobody outside has heard of in time.
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

    /// It is at work `at` that time after the start, and was due at that.
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

    /// A line for whoever watches.
    fn whole_life(&self) -> String {
        let (took, asked) = (self.began.elapsed(), &self.asked);
        format!(
            "a whole life: {took:.1?}; at work again so far {} times, {} times after a question before; {} too late",
            self.resumed.len(),
            asked.resumed.len() + asked.soon,
            self.late.len()
        )
    }

    /// Notes what the provider and the inbox have heard of in this life.
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
            // Its payer has come back.
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

/// What became of one, by its own timeline: how long before or after the start.
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

/// Where one stands in this life, by the program's own timeline. Times count from its start.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It had ended before: only the news of it was still on its way.
    Ended,
    /// A decline had opened it for its payer again, who comes back when they like.
    ForPayer,
    /// Due then, and at work at that time.
    At { due: Duration, at: Duration },
    /// Due then, and not at work.
    Not { due: Duration },
}

/// What is open is due at once. Of one that the provider was being asked about, perhaps by a question that died with the process, the next
/// question has a time of its own.
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

/// What the engine has to go on with after a start: it was accepted, and its end was not heard. First what nobody asked about
/// yet; then the rest, whose next question is a later one of the schedule.
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
