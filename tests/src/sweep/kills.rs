//! The kills, at a different moment of each life.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use switchyard_engine::clock::{Clock, Timestamp};
use tokio::time::Instant;

use super::judge::{self, Figures};
use super::{Load, Site};

/// How often, and under how much.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub kills: u32,
    /// Orders a second.
    pub rate: u32,
    /// How soon after a start the program has to be at work on what was open when it died.
    pub resumes_within: Duration,
}

/// Every so-many-th life is long enough that everything that was open at the kill before it has to be heard of.
const LONG: u32 = 20;
/// Every so-many-th kill comes before the program takes requests.
const EARLY: u32 = 8;
/// Every so-many-th life has the gateway in a process of its own.
const WORKER: u32 = 4;

/// Kills the server as often as wanted, and judges what is left. `programmable`: the library of that gateway.
///
/// # Errors
/// A promise that was broken, by the books.
pub async fn run(sweep: Sweep, programmable: &Path) -> anyhow::Result<Figures> {
    let mut site = Site::open(programmable, |_| ()).await?;
    let load = Load::new(site.server.merchant(), site.server.stranger());
    let loading = tokio::spawn(load.clone().run(sweep.rate));
    let mut lives = Lives::default();
    lives.begin();
    for kill in 0..sweep.kills {
        tokio::time::sleep(life(kill, sweep.resumes_within)).await;
        site.server.kill().await?;
        lives.end(&site, &load, sweep);
        let isolation = match kill % WORKER {
            0 => "process",
            _ => "in_process",
        };
        site.server.set("SWITCHYARD_GATEWAYS__ISOLATION", isolation);
        lives.begin();
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
    judge::judge(site, &load, lives, took, sweep.resumes_within).await
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
fn life(kill: u32, resumes_within: Duration) -> Duration {
    match kill % LONG {
        5 => resumes_within + Duration::from_secs(2),
        _ => Duration::from_millis(30 + u64::from(kill) * 373 % 1_470),
    }
}

/// What was seen of the program's lives.
pub(super) struct Lives {
    pub(super) first: Instant,
    began: Instant,
    /// What was open when the last life ended, and had not been asked about.
    open: BTreeSet<String>,
    pub(super) ready: Vec<Duration>,
    pub(super) resumed: Vec<Duration>,
    /// Open transactions of which nothing was heard outside in a life that was long enough, and when that life began.
    pub(super) silent: Vec<(String, Timestamp)>,
    began_at: Timestamp,
    pub(super) early: u32,
}

impl Default for Lives {
    fn default() -> Self {
        Self {
            first: Instant::now(),
            began: Instant::now(),
            open: BTreeSet::new(),
            ready: Vec::new(),
            resumed: Vec::new(),
            silent: Vec::new(),
            began_at: Clock::wall().now(),
            early: 0,
        }
    }
}

impl Lives {
    fn begin(&mut self) {
        self.began = Instant::now();
        self.began_at = Clock::wall().now();
    }

    /// After the kill: which of those that were open at the last one have been heard of, and what is open now.
    fn end(&mut self, site: &Site, load: &Load, sweep: Sweep) {
        let mut signs: BTreeMap<String, Instant> = BTreeMap::new();
        for (at, id) in site.provider.heard().into_iter().chain(site.inbox.heard()) {
            if at >= self.began {
                let first = signs.entry(id).or_insert(at);
                *first = at.min(*first);
            }
        }
        let long = self.began.elapsed() > sweep.resumes_within;
        for id in std::mem::take(&mut self.open) {
            match signs.get(&id) {
                Some(at) => self.resumed.push(*at - self.began),
                None if long => {
                    self.silent.push((id, self.began_at));
                }
                None => {}
            }
        }
        self.open = open(site, load);
    }
}

/// What the engine has to go on with after a start: it was accepted, its end was not heard, and nobody asked about it yet, so that
/// the next question is not a later one of the schedule.
fn open(site: &Site, load: &Load) -> BTreeSet<String> {
    let books = site.provider.books();
    let asked: BTreeSet<_> = books
        .values()
        .filter(|entry| entry.queries > 0)
        .map(|entry| entry.transaction.clone())
        .collect();
    let told = load.told();
    let under_way = told.made.iter().filter(|(_, promise)| promise.under_way);
    under_way
        .map(|(id, promise)| (id, judge::end_event(id, promise.fate)))
        .filter(|(id, end)| !asked.contains(*id) && site.inbox.event_ids(id, end).is_empty())
        .map(|(id, _)| id.clone())
        .collect()
}
