//! The wait after a release until each transaction has ended, by the program's own answers.
//!
//! A transaction with a later time of its next query is reached by a suspension of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use switchyard_core::time::Timestamp;
use tokio::time::Instant;

use super::Site;
use super::lists::{Statuses, statuses};
use super::report::Report;
use crate::sweep::load::Fate;
use crate::sweep::rest::{Made, Stands, stands};
use crate::sweep::{Load, operator};

#[derive(Default)]
pub(super) struct Ended {
    /// By id, transactions that did not end, as the operator sees them.
    pub stuck: BTreeMap<String, String>,
    /// Transactions without an end that have an open case.
    pub in_cases: BTreeSet<String>,
    slept: Duration,
}

/// Waits for the ends of `made`, and for the answers of all providers.
pub(super) async fn ends(site: &Site, load: &Load, made: &Made) -> anyhow::Result<Ended> {
    let mut ended = Ended::default();
    let (mut least, mut since) = (usize::MAX, Instant::now());
    loop {
        let mut open = open(made, &statuses(site, made).await?);
        open.retain(|id| !ended.in_cases.contains(id));
        let unanswered = Report::fetch(site).await?.unanswered() as usize;
        if open.is_empty() && unanswered == 0 {
            return Ok(ended);
        }
        if open.len() + unanswered < least {
            (least, since) = (open.len() + unanswered, Instant::now());
        }
        if since.elapsed() > PATIENCE {
            ended.give_up(site, &open, unanswered).await?;
            return Ok(ended);
        }
        ended.go_on(site, load, made, &open).await?;
        tokio::time::sleep(PAUSE).await;
    }
}

impl Ended {
    /// Pays for payers, and suspends the machine until the next query.
    async fn go_on(
        &mut self,
        site: &Site,
        load: &Load,
        made: &Made,
        open: &[String],
    ) -> anyhow::Result<()> {
        let (mut is_due, mut latest) = (false, None);
        let soon = site.now().plus(SOON);
        for (id, shown) in operator::see_all(&site.server.operator(), open).await? {
            let shown = shown.unwrap_or_default();
            if shown["open_cases"].as_u64() > Some(0) {
                self.in_cases.insert(id);
                continue;
            }
            let unpaid = made.get(&id).is_some_and(|one| one.fate == Fate::Initiated);
            match stands(&shown, unpaid, soon) {
                Stands::Gone | Stands::Told => {}
                Stands::ForPayer => load.come_to_pay(id).await,
                Stands::Due => is_due = true,
                Stands::Until(at) => latest = latest.max(Some(at)),
            }
        }
        match latest {
            _ if is_due => Ok(()),
            Some(latest) => self.sleep(site, latest),
            None if open.is_empty() => self.sleep(site, site.now().plus(A_WHILE)),
            None => Ok(()),
        }
    }

    fn sleep(&mut self, site: &Site, until: Timestamp) -> anyhow::Result<()> {
        let by = until.since(site.now()) + PAUSE;
        if self.slept + by > NIGHT {
            return Ok(());
        }
        self.slept += by;
        site.world.sleep(by)
    }

    async fn give_up(
        &mut self,
        site: &Site,
        open: &[String],
        unanswered: usize,
    ) -> anyhow::Result<()> {
        for (id, shown) in operator::see_all(&site.server.operator(), open).await? {
            let what = format!("{id} does not end: {:#}", shown.unwrap_or_default());
            self.stuck.insert(id, what);
        }
        if unanswered > 0 {
            let what = format!("the report has {unanswered} transactions without an answer");
            self.stuck.insert("report".to_owned(), what);
        }
        Ok(())
    }
}

/// Transactions without an end, except payments that have no payer.
fn open(made: &Made, statuses: &Statuses) -> Vec<String> {
    let is_open = |id: &&String| {
        let unpaid = made.get(*id).is_some_and(|one| one.fate == Fate::Initiated);
        match statuses.get(*id).and_then(Option::as_deref) {
            Some("success" | "failed" | "cancelled") | None => false,
            Some("initiated") => !unpaid,
            Some(_) => true,
        }
    };
    made.keys().filter(is_open).cloned().collect()
}

const PAUSE: Duration = Duration::from_millis(500);
/// Longest time to a query that needs no suspension.
const SOON: Duration = Duration::from_secs(2);
const A_WHILE: Duration = Duration::from_secs(30);
/// Time without any progress after which the rest counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest suspension in all, shorter than a payout waits for a gateway.
const NIGHT: Duration = Duration::from_secs(25 * 60);
