//! Decides what *not found* proves. Pure.

use std::time::Duration;

use super::journal::{Exchange, Stage};
use crate::clock::Timestamp;
use crate::limits::{GATEWAY_CALL, GATEWAY_POLL_SOONEST};
use crate::transaction::Outcome;

/// A query, as its answer is judged.
pub(super) struct Asked {
    /// Before its first request left.
    pub at: Timestamp,
    pub config_changed_at: Option<Timestamp>,
    /// Start of this process.
    pub began: Timestamp,
}

/// Judges that a provider does not know our reference. That proves that it never got the request
/// when `wait` has passed since the *last* request that may have left. Until then the outcome is
/// unknown, and is queried again at the moment at which it becomes final.
///
/// Without such a request in the journal nothing is proven: the submission may be about to send its
/// first one. Nor is it when the configuration may have been another when the first request left:
/// another account never knew it. Only the time of the query counts, not that of its answer, which
/// the request may have overtaken.
pub(super) fn judge(
    rows: &[Exchange],
    wait: Duration,
    asked: &Asked,
    now: Timestamp,
    why: String,
) -> Outcome {
    if rows.iter().any(Exchange::is_unreadable) {
        return Outcome::unknown(format!(
            "{why} (but a row of the attempt's journal cannot be read, so it is not known when \
             something left)"
        ));
    }
    let sent = rows
        .iter()
        .filter(|row| row.mutates && row.stage != Stage::NotSent)
        .map(|row| row.at);
    // A call has its configuration from its beginning, which is before its first request.
    let is_another_account = |first: Timestamp| {
        asked
            .config_changed_at
            .is_some_and(|at| at > first.minus(NO_CALL_LASTS_SO_LONG))
    };
    if sent.clone().min().is_some_and(is_another_account) {
        return Outcome::unknown(format!(
            "{why} (but the connection's credentials are about as new as the request, or newer: \
             ask the account it was sent with)"
        ));
    }
    let Some(last) = sent.max() else {
        return Outcome::unknown(why);
    };
    // The clock may have been set between two processes: a request of an earlier one surely left
    // before this one began, and no more is known.
    let final_at = last.max(asked.began).plus(wait);
    if asked.at >= final_at {
        return Outcome::NotSent { why };
    }
    let left = final_at.since(now).max(GATEWAY_POLL_SOONEST);
    Outcome::Unknown {
        why,
        poll_after: Some(left),
    }
}

/// Meaning of *not found* for the attempt, in words for the timeline.
pub(super) fn meaning(outcome: &Outcome, is_ever_final: bool) -> String {
    match outcome {
        Outcome::NotSent { .. } => {
            "not found, and finally so: the attempt counts as not sent".to_owned()
        }
        Outcome::Unknown {
            poll_after: Some(after),
            ..
        } => format!(
            "not found, which proves nothing for another {} s: queried again then",
            after.as_secs()
        ),
        _ if is_ever_final => {
            "not found, which proves nothing for this attempt: queried again later".to_owned()
        }
        _ => "not found, which proves nothing, because the gateway does not state when it is \
              final: queried again later"
            .to_owned(),
    }
}

/// A submission that began so long ago has ended one way or the other.
pub(super) const NO_CALL_LASTS_SO_LONG: Duration = GATEWAY_CALL.saturating_mul(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_found_is_told_with_what_it_means() {
        let sent = Outcome::NotSent { why: "no".into() };
        assert!(meaning(&sent, true).contains("counts as not sent"));
        let soon = Outcome::Unknown {
            why: "no".into(),
            poll_after: Some(Duration::from_secs(42)),
        };
        assert!(meaning(&soon, true).contains("for another 42 s"));
        let never = Outcome::unknown("no".to_owned());
        assert!(meaning(&never, false).contains("does not state when"));
    }

    const WAIT: Duration = Duration::from_secs(300);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(10_000 + seconds)
    }

    /// A request that may have left `at` this second.
    fn write(seconds: i64) -> Exchange {
        Exchange {
            at: at(seconds),
            gateway: "acme".into(),
            operation: "collect".into(),
            method: "POST".into(),
            url: "https://a.example/".into(),
            request_headers: Vec::new(),
            request_body: None,
            mutates: true,
            stage: Stage::MaybeSent,
            status: None,
            response_headers: Vec::new(),
            response_body: None,
            error: None,
            duration_ms: None,
            meaning: None,
        }
    }

    fn with(stage: Stage, mutates: bool, seconds: i64) -> Exchange {
        Exchange {
            stage,
            mutates,
            ..write(seconds)
        }
    }

    /// Seconds until the next query, or that it is proven; of a query at this second.
    fn judged(rows: &[Exchange], seconds: i64) -> Result<(), Option<u64>> {
        let asked = Asked {
            at: at(seconds),
            config_changed_at: None,
            began: at(-5_000),
        };
        match judge(rows, WAIT, &asked, at(seconds), "no such charge".into()) {
            Outcome::NotSent { .. } => Ok(()),
            Outcome::Unknown { poll_after, .. } => Err(poll_after.map(|wait| wait.as_secs())),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_final_when_its_time_has_passed_and_is_asked_again_at_that_moment() {
        let rows = [write(0)];
        for (asked, wanted) in [
            (0, Err(Some(300))),
            (69, Err(Some(231))),
            (294, Err(Some(6))),
            (299, Err(Some(5))),
            (300, Ok(())),
            (9_000, Ok(())),
        ] {
            assert_eq!(judged(&rows, asked), wanted, "{asked}");
        }
    }

    #[test]
    fn its_time_begins_with_the_last_request_that_may_have_left() {
        let rows = [write(0), write(250)];
        for (asked, wanted) in [(300, Err(Some(250))), (549, Err(Some(5))), (550, Ok(()))] {
            assert_eq!(judged(&rows, asked), wanted, "{asked}");
        }
        // The order of the rows changes nothing.
        assert_eq!(judged(&[write(250), write(0)], 300), Err(Some(250)));
        // An answered write counts: the provider may still be working on it.
        let answered = [write(0), with(Stage::Answered, true, 250)];
        assert_eq!(judged(&answered, 300), Err(Some(250)));
        for harmless in [
            with(Stage::NotSent, true, 250),
            with(Stage::Answered, false, 250),
        ] {
            assert_eq!(judged(&[write(0), harmless], 300), Ok(()));
        }
    }

    #[test]
    fn without_a_request_that_may_have_left_it_proves_nothing() {
        let read = with(Stage::Answered, false, 0);
        for rows in [vec![], vec![read], vec![with(Stage::NotSent, true, 0)]] {
            assert_eq!(judged(&rows, 9_000), Err(None));
        }
    }

    #[test]
    fn after_a_restart_its_time_begins_anew() {
        let asked = Asked {
            at: at(400),
            config_changed_at: None,
            began: at(350),
        };
        let outcome = judge(&[write(0)], WAIT, &asked, at(410), "no such charge".into());
        let Outcome::Unknown { poll_after, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(poll_after, Some(Duration::from_secs(240)));
    }
}
