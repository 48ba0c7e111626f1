//! What was open at a kill with a question behind it: its next one has a time of its own, by the schedule, and has to come soon after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use switchyard_engine::clock::Timestamp;
use tokio::time::Instant;

use super::kills::{Taken, taken_up};
use super::{Site, operator};

/// How often it is looked whether everything is at work.
const LOOK: Duration = Duration::from_millis(500);
/// How much longer than promised is waited for what is late, so that it is known how late it was.
const GRACE: Duration = Duration::from_secs(5);

/// Times count from the start of the life.
#[derive(Default)]
pub(super) struct Asked {
    /// By id, when the program itself says that it is due; none: it was not looked at yet.
    open: BTreeMap<String, Option<Duration>>,
    /// How long after it was due each was at work again.
    pub(super) resumed: Vec<Duration>,
    /// Due later than a life can be waited for.
    pub(super) not_yet: usize,
    /// At work too late, or not at all.
    pub(super) late: Vec<String>,
}

impl Asked {
    /// Another life: what was open when the last one ended.
    pub(super) fn begin(&mut self, open: BTreeSet<String>) {
        self.open = open.into_iter().map(|id| (id, None)).collect();
    }

    pub(super) fn add(&mut self, id: String, shown: &Value, began_at: Timestamp) {
        self.open.insert(id, Some(due(shown, began_at)));
    }

    /// Waits until all that is due in this life is at work again.
    pub(super) async fn last(
        &mut self,
        site: &Site,
        (began, began_at): (Instant, Timestamp),
        within: Duration,
    ) -> anyhow::Result<()> {
        while !self.open.is_empty() {
            self.look(site, (began, began_at), within).await?;
            if !self.open.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// Asks the program about each.
    pub(super) async fn look(
        &mut self,
        site: &Site,
        (began, began_at): (Instant, Timestamp),
        within: Duration,
    ) -> anyhow::Result<()> {
        let ids: Vec<String> = self.open.keys().cloned().collect();
        // Before the answers: nothing that they do not have yet is held against them.
        let now = began.elapsed();
        for (id, shown) in operator::see_all(&site.server.operator(), &ids).await? {
            // One that is gone is found in the end, with all others.
            self.hear(id, &shown.unwrap_or_default(), (now, began_at), within);
        }
        Ok(())
    }

    /// What the program says of one, asked `now`.
    fn hear(
        &mut self,
        id: String,
        shown: &Value,
        (now, began_at): (Duration, Timestamp),
        within: Duration,
    ) {
        let known = self.open.remove(&id).flatten();
        match taken_up(shown, began_at) {
            Taken::Ended => {}
            Taken::After(at) => {
                // One that was at work before anybody could see when it was due was due at some time since the start.
                let after = at.saturating_sub(known.unwrap_or_default());
                self.resumed.push(after);
                if after > within && known.is_some() {
                    let late = format!("{id} was at work {after:.2?} after it was due");
                    self.late.push(late);
                }
            }
            Taken::Not | Taken::AskedBefore => {
                match known.unwrap_or_else(|| due(shown, began_at)) {
                    due if due > within => self.not_yet += 1,
                    due if now > due + within + GRACE => {
                        let due = format!("{id} was due {due:.1?} after the start");
                        self.late
                            .push(format!("{due}, and is not at work: {shown:#}"));
                    }
                    due => drop(self.open.insert(id, Some(due))),
                }
            }
        }
    }
}

/// When it is the turn of one that is open: at once, if it has been already.
fn due(shown: &Value, began_at: Timestamp) -> Duration {
    let next = shown["next_action_at"].as_str().and_then(Timestamp::parse);
    match shown["state"].as_str() {
        // Its call died with the process; the time stands for how long a call may take.
        Some("awaiting_gateway") => Duration::ZERO,
        _ => next.map_or(Duration::ZERO, |next| next.since(began_at)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_that_waits_is_due_at_its_time_and_one_whose_call_died_at_once() {
        let began = Timestamp::parse("2026-11-20T10:00:00Z").unwrap();
        let of = |state: &str, next: &str| {
            due(&json!({ "state": state, "next_action_at": next }), began)
        };
        let soon = "2026-11-20T10:00:07Z";
        assert_eq!(of("in_doubt", soon), Duration::from_secs(7));
        assert_eq!(
            of("awaiting_provider", "2026-11-20T09:00:00Z"),
            Duration::ZERO
        );
        assert_eq!(of("awaiting_gateway", soon), Duration::ZERO);
    }
    #[test]
    fn what_is_at_work_long_after_it_was_due_is_late_and_what_is_due_much_later_is_let_be() {
        let began = Timestamp::parse("2026-11-20T10:00:00Z").unwrap();
        let shown = |next: &str, again: Option<&str>| {
            let asked = |at: &str| json!({ "at": at, "event": { "type": "query_started" } });
            let timeline: Vec<_> = ["2026-11-20T09:59:50Z"]
                .into_iter()
                .chain(again)
                .map(asked)
                .collect();
            json!({ "state": "in_doubt", "next_action_at": next, "timeline": timeline })
        };
        let (soon, within) = ("2026-11-20T10:00:03Z", Duration::from_secs(10));
        for (again, now, late) in [
            (Some("2026-11-20T10:00:12Z"), 13, 0),
            (Some("2026-11-20T10:00:14Z"), 15, 1),
            (None, 17, 0),
            (None, 19, 1),
        ] {
            let mut asked = Asked::default();
            asked.add("po_x".to_owned(), &shown(soon, None), began);
            let now = (Duration::from_secs(now), began);
            asked.hear("po_x".to_owned(), &shown(soon, again), now, within);
            assert_eq!(
                asked.late.len(),
                late,
                "{again:?}, {now:?}: {:?}",
                asked.late
            );
            assert_eq!(asked.open.is_empty(), again.is_some() || late == 1);
        }
        let mut asked = Asked::default();
        let later = shown("2026-11-20T10:05:00Z", None);
        asked.hear(
            "po_x".to_owned(),
            &later,
            (Duration::from_secs(99), began),
            within,
        );
        assert_eq!((asked.not_yet, asked.late.len()), (1, 0));
    }
}
