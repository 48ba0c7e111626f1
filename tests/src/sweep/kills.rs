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
const FEW: usize = 100;
/// How much longer than promised a life is at most in which not everything is at work again, so that it is known how late it was.
const GRACE: Duration = Duration::from_secs(5);

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
            true => lives.last_whole(&site).await?,
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
        let (open, asked) = open(site, load);
        self.open = open;
        self.asked.begin(asked);
    }

    /// Waits until all that was open is at work again.
    async fn last_whole(&mut self, site: &Site) -> anyhow::Result<()> {
        let (end, known) = (self.began + self.within + GRACE, self.resumed.len());
        let life = (self.began, self.began_at);
        self.asked.look(site, life, self.within).await?;
        loop {
            self.listen(site);
            // Of a few at a time: meanwhile the others are heard of by themselves.
            let open: Vec<String> = self.open.iter().take(FEW).cloned().collect();
            let shown = operator::see_all(&site.server.operator(), &open).await?;
            for (id, shown) in shown {
                let shown = shown.unwrap_or_default();
                match taken_up(&shown, self.began_at) {
                    Taken::Not if Instant::now() < end => continue,
                    Taken::Not => self.late.push(format!("{id} is not at work: {shown:#}")),
                    Taken::After(time) => self.resumed.push(time),
                    Taken::AskedBefore => self.asked.add(id.clone(), &shown, self.began_at),
                    Taken::Ended => {}
                }
                self.open.remove(&id);
            }
            if self.open.is_empty() {
                break;
            }
            if Instant::now() < end {
                tokio::time::sleep(LOOK).await;
            }
        }
        self.ask_about_the_late(site).await?;
        self.asked.last(site, life, self.within).await?;
        self.late.append(&mut self.asked.late);
        self.whole += 1;
        let too_late = self
            .resumed
            .iter()
            .skip(known)
            .filter(|time| **time > self.within);
        self.late
            .extend(too_late.map(|time| format!("something was at work after {time:.2?}")));
        Ok(())
    }

    /// Of what was heard of late: when the program itself was at work on it, by its timeline.
    async fn ask_about_the_late(&mut self, site: &Site) -> anyhow::Result<()> {
        for late in std::mem::take(&mut self.heard_late).chunks(FEW) {
            let ids: Vec<String> = late.iter().map(|(id, _)| id.clone()).collect();
            let shown = operator::see_all(&site.server.operator(), &ids).await?;
            let heard: BTreeMap<_, _> = late.iter().cloned().collect();
            for (id, shown) in shown {
                let heard = heard.get(&id).copied().unwrap_or_default();
                let shown = shown.unwrap_or_default();
                match taken_up(&shown, self.began_at) {
                    Taken::After(time) => self.resumed.push(time.min(heard)),
                    Taken::Not => self.resumed.push(heard),
                    Taken::AskedBefore => self.asked.add(id, &shown, self.began_at),
                    Taken::Ended => {}
                }
            }
        }
        Ok(())
    }

    /// Notes what the provider and the inbox have heard of in this life.
    fn listen(&mut self, site: &Site) {
        let mut signs: BTreeMap<String, Instant> = BTreeMap::new();
        for (at, id) in site.provider.heard().into_iter().chain(site.inbox.heard()) {
            if at >= self.began {
                let first = signs.entry(id).or_insert(at);
                *first = at.min(*first);
            }
        }
        for (id, at) in signs {
            if self.open.remove(&id) {
                match at - self.began {
                    after if after > self.within => self.heard_late.push((id, after)),
                    after => self.resumed.push(after),
                }
            }
        }
    }
}

/// What the program's own timeline says of one that nobody outside has heard of in this life.
pub(super) fn taken_up(shown: &Value, began_at: Timestamp) -> Taken {
    let timeline = shown["timeline"].as_array().cloned().unwrap_or_default();
    let at = |event: &Value| Timestamp::parse(event["at"].as_str()?);
    let events = timeline.iter().filter_map(|event| {
        let name = event["event"]["type"].as_str()?;
        Some((name, at(event)?))
    });
    let (before, since): (Vec<_>, Vec<_>) = events.partition(|(_, at)| *at < began_at);
    let had = |names: &[&str]| before.iter().any(|(name, _)| names.contains(name));
    match since.first() {
        // Only the news of it was still on its way when the process died.
        _ if had(&["succeeded", "failed"]) => Taken::Ended,
        Some((_, at)) => Taken::After(at.since(began_at)),
        None if had(&["query_started"]) => Taken::AskedBefore,
        None => Taken::Not,
    }
}

pub(super) enum Taken {
    Not,
    /// So long after the start.
    After(Duration),
    AskedBefore,
    Ended,
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
