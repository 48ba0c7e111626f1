//! Transactions that were open at a kill and had been queried at the provider before. The schedule
//! gives their next query a due time, and the query has to come soon after it.
//!
//! The provider records which transactions it was queried about. The others are looked up in the
//! program, a few at a time and only when the answer can show something new. There may be thousands
//! of them, and polling them all would take CPU time from the program under test.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use switchyard_core::time::Timestamp;
use tokio::time::Instant;

use super::kills::{FEW, GRACE, Taken, story, taken_up};
use super::{Site, operator};

/// Resumption of these transactions in one life. Times count from its start.
#[derive(Default)]
pub(super) struct Asked {
    /// Due time by id, as the program reports it. `None`: not looked up yet.
    open: BTreeMap<String, Option<Duration>>,
    /// Delays between due time and resumption, where the due time is known.
    pub(super) resumed: Vec<Duration>,
    /// Transactions that resumed so soon after the start that they were in time, whatever their due
    /// time.
    pub(super) soon: usize,
    /// Transactions whose due time is later than a life can wait.
    pub(super) not_yet: usize,
    /// Transactions that resumed too late, or not at all.
    pub(super) late: Vec<String>,
}

impl Asked {
    /// Starts another life with the transactions that were open at the end of the last one.
    pub(super) fn begin(&mut self, open: BTreeSet<String>) {
        self.open = open.into_iter().map(|id| (id, None)).collect();
    }

    /// Adds a transaction that has not resumed yet and is due this long after the start.
    pub(super) fn add(&mut self, id: String, due: Duration, within: Duration) {
        match due > within {
            true => self.not_yet += 1,
            false => drop(self.open.insert(id, Some(due))),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Records a query that the provider received `after` the start.
    pub(super) fn heard(&mut self, id: &str, after: Duration, within: Duration) {
        let due = match self.open.get(id) {
            Some(Some(due)) => *due,
            Some(None) if after <= within => {
                self.open.remove(id);
                self.soon += 1;
                return;
            }
            // The program reports the due time.
            Some(None) | None => return,
        };
        self.open.remove(id);
        self.is_back(id, after.saturating_sub(due), within, "by its provider");
    }

    /// Asks the program about a few of the transactions for which it can report something new.
    pub(super) async fn look(
        &mut self,
        site: &Site,
        (began, began_at): (Instant, Timestamp),
        within: Duration,
    ) -> anyhow::Result<()> {
        // Take the time before the requests: an answer cannot contain anything later.
        let now = began.elapsed();
        let ids = self.worth_a_look(now, within);
        for (id, shown) in operator::see_all(&site.server.operator(), &ids).await? {
            // A transaction that is gone is reported at the end, with all others.
            self.hear(id, &shown.unwrap_or_default(), (now, began_at), within);
        }
        Ok(())
    }

    /// Selects transactions that the provider has not been queried about: those without a known due
    /// time once everything due at the start must have resumed; the others once they are late.
    fn worth_a_look(&self, now: Duration, within: Duration) -> Vec<String> {
        let is_worth_it = |(_, due): &(&String, &Option<Duration>)| {
            due.map_or(now > within, |due| now > due + within)
        };
        let ids = self.open.iter().filter(is_worth_it);
        ids.map(|(id, _)| id.clone()).take(FEW).collect()
    }

    /// Evaluates the program's view of a transaction, requested at `now`.
    fn hear(
        &mut self,
        id: String,
        shown: &Value,
        (now, began_at): (Duration, Timestamp),
        within: Duration,
    ) {
        self.open.remove(&id);
        match taken_up(shown, began_at) {
            Taken::Ended | Taken::ForPayer => {}
            Taken::At { due, at } => {
                let story = story(shown, began_at);
                self.is_back(&id, at.saturating_sub(due), within, &story);
            }
            Taken::Not { due } if now > due + within + GRACE => {
                let due = format!("{id} was due {due:.1?} after the start");
                self.late
                    .push(format!("{due}, and is not at work: {shown:#}"));
            }
            Taken::Not { due } => self.add(id, due, within),
        }
    }

    /// Records that a transaction resumed `after` its due time.
    pub(super) fn is_back(&mut self, id: &str, after: Duration, within: Duration, story: &str) {
        self.resumed.push(after);
        if after > within {
            let late = format!("{id} was at work {after:.2?} after it was due: {story}");
            self.late.push(late);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WITHIN: Duration = seconds(10);

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn began() -> Timestamp {
        Timestamp::parse("2026-11-20T10:00:00Z").unwrap()
    }

    /// Builds a transaction with these events: type, time, and the time of the next query.
    fn shown(events: &[(&str, &str, Option<&str>)]) -> Value {
        let at = |time: &str| format!("2026-11-20T{time}Z");
        let timeline: Vec<Value> = events
            .iter()
            .map(|(name, time, next)| {
                let event = json!({ "type": name, "next_query_at": next.map(at) });
                json!({ "at": at(time), "event": event })
            })
            .collect();
        json!({ "id": "py_x", "state": "in_doubt", "timeline": timeline })
    }

    #[test]
    fn what_is_open_is_due_at_once_and_after_a_question_at_the_time_of_the_next_one() {
        let started = ("attempt_started", "09:59:40", None);
        let doubtful = ("attempt_in_doubt", "09:59:45", Some("10:00:02"));
        let asked = ("query_started", "09:59:50", Some("10:00:05"));
        let planned = ("query_planned", "09:59:51", Some("10:00:07"));
        let again = ("query_started", "10:00:09", Some("10:00:39"));
        let open_again = ("attempt_allowed", "09:59:56", None);
        let confirmed = ("confirmed", "09:59:57", None);
        let confirmed_late = ("confirmed", "10:00:30", None);
        let not = |due| Taken::Not { due: seconds(due) };
        let at = |due| Taken::At {
            due: seconds(due),
            at: seconds(9),
        };
        for (events, taken) in [
            (&[started][..], not(0)),
            (&[started, doubtful], not(0)),
            (&[started, doubtful, again], at(0)),
            (&[started, asked], not(5)),
            (&[started, asked, planned], not(7)),
            (&[started, asked, planned, again], at(7)),
            (
                &[started, asked, ("submission_resumed", "09:59:55", None)],
                not(0),
            ),
            (&[started, open_again], Taken::ForPayer),
            (&[started, open_again, confirmed_late], Taken::ForPayer),
            (&[started, open_again, confirmed], not(0)),
            (
                &[started, ("failed", "09:59:59", None), again],
                Taken::Ended,
            ),
        ] {
            assert_eq!(taken_up(&shown(events), began()), taken, "{events:?}");
        }
        let mut payout = shown(&[started, open_again]);
        payout["id"] = json!("po_x");
        assert_eq!(taken_up(&payout, began()), not(0), "the engine sends it");
    }

    #[test]
    fn the_program_is_asked_only_about_what_may_be_late_and_was_not_heard_of() {
        let mut asked = Asked::default();
        asked.begin(["po_1", "po_2", "po_3"].map(str::to_owned).into());
        asked.add("po_3".to_owned(), seconds(7), WITHIN);
        assert_eq!(asked.worth_a_look(seconds(10), WITHIN), [""; 0]);
        asked.heard("po_1", seconds(9), WITHIN);
        asked.heard("po_2", seconds(11), WITHIN);
        assert_eq!((asked.soon, asked.resumed.len()), (1, 0));
        assert_eq!(asked.worth_a_look(seconds(11), WITHIN), ["po_2"]);
        assert_eq!(asked.worth_a_look(seconds(18), WITHIN), ["po_2", "po_3"]);
        asked.heard("po_3", seconds(18), WITHIN);
        assert_eq!((asked.resumed[0], asked.late.len()), (seconds(11), 1));
    }

    #[test]
    fn what_is_at_work_long_after_it_was_due_is_late_and_what_is_due_much_later_is_let_be() {
        let hear = |next, again, now| {
            let first = ("query_started", "09:59:50", Some(next));
            let again = Some(again).filter(|again| *again != "never");
            let again = again.map(|again| ("query_started", again, None));
            let events: Vec<_> = [first].into_iter().chain(again).collect();
            let mut asked = Asked::default();
            asked.hear(
                "po_x".to_owned(),
                &shown(&events),
                (seconds(now), began()),
                WITHIN,
            );
            (asked.late.len(), asked.open.len(), asked.not_yet)
        };
        assert_eq!(hear("10:00:03", "10:00:12", 13), (0, 0, 0));
        assert_eq!(hear("10:00:03", "10:00:14", 15), (1, 0, 0));
        assert_eq!(hear("10:00:03", "never", 17), (0, 1, 0));
        assert_eq!(hear("10:00:03", "never", 19), (1, 0, 0));
        assert_eq!(hear("10:05:00", "never", 99), (0, 0, 1));
    }
}
