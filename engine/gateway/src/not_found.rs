//! Message and time of the next query for a provider that does not know our reference. The
//! conclusion itself is drawn by [`switchyard_core::journal`].

use std::time::Duration;

use super::journal::ProviderCall;
use switchyard_core::journal::{self as rules, NotFound, StatusQuery};
use switchyard_core::limits::MIN_GATEWAY_POLL;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Outcome;

/// Judges that a provider does not know our reference. Until that is final the outcome is unknown,
/// and is queried again at the moment at which it becomes final.
pub(super) fn evaluate(
    rows: &[ProviderCall],
    promised: Duration,
    asked: &StatusQuery,
    now: Timestamp,
    why: String,
) -> Outcome {
    let rows: Vec<_> = rows.iter().map(ProviderCall::row).collect();
    match rules::not_found(&rows, promised, asked) {
        NotFound::Final => Outcome::NotSent { why },
        NotFound::NotBefore(at) => Outcome::Unknown {
            why,
            poll_after: Some(at.since(now).max(MIN_GATEWAY_POLL)),
        },
        NotFound::Unreadable => Outcome::unknown(format!(
            "{why} (but a row of the attempt's journal cannot be read, so it is not known when \
             something left)"
        )),
        NotFound::AnotherAccount => Outcome::unknown(format!(
            "{why} (but the connection's credentials are about as new as the request, or newer: \
             ask the account it was sent with)"
        )),
        NotFound::NothingLeft => Outcome::unknown(why),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Stage;
    use switchyard_core::limits::GATEWAY_CALL;

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
    fn write(seconds: i64) -> ProviderCall {
        ProviderCall {
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

    fn with(stage: Stage, mutates: bool, seconds: i64) -> ProviderCall {
        ProviderCall {
            stage,
            mutates,
            ..write(seconds)
        }
    }

    /// Seconds until the next query, or that it is proven; of a query at this second.
    fn judged(rows: &[ProviderCall], seconds: i64) -> Result<(), Option<u64>> {
        let asked = StatusQuery {
            at: at(seconds),
            config_changed_at: None,
            began: at(-5_000),
        };
        match evaluate(rows, WAIT, &asked, at(seconds), "no such charge".into()) {
            Outcome::NotSent { .. } => Ok(()),
            Outcome::Unknown { poll_after, .. } => Err(poll_after.map(|wait| wait.as_secs())),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_final_when_its_time_has_passed_and_is_asked_again_at_that_moment() {
        let rows = [write(0)];
        for (asked, wanted) in [
            (0, Err(Some(420))),
            (69, Err(Some(351))),
            (414, Err(Some(6))),
            (419, Err(Some(5))),
            (420, Ok(())),
            (9_000, Ok(())),
        ] {
            assert_eq!(judged(&rows, asked), wanted, "{asked}");
        }
    }

    /// Rows wait for the disk, and connections for the network.
    #[test]
    fn a_request_that_left_late_in_its_call_has_all_of_its_time() {
        let call = i64::try_from(GATEWAY_CALL.as_secs()).unwrap();
        let promised = i64::try_from(WAIT.as_secs()).unwrap();
        // It left just before its call ended, and may arrive until its time has passed since then.
        assert!(judged(&[write(0)], promised).is_err());
        assert!(judged(&[write(0)], call + promised - 1).is_err());
    }

    #[test]
    fn a_request_whose_end_is_written_has_its_time_from_that_end() {
        let ended = ProviderCall {
            duration_ms: Some(2_000),
            ..write(0)
        };
        for (asked, wanted) in [(200, Err(Some(102))), (301, Err(Some(5))), (302, Ok(()))] {
            assert_eq!(
                judged(std::slice::from_ref(&ended), asked),
                wanted,
                "{asked}"
            );
        }
        assert_eq!(judged(&[ended, write(0)], 302), Err(Some(118)));
    }

    #[test]
    fn its_time_begins_with_the_last_request_that_may_have_left() {
        let rows = [write(0), write(250)];
        for (asked, wanted) in [(300, Err(Some(370))), (669, Err(Some(5))), (670, Ok(()))] {
            assert_eq!(judged(&rows, asked), wanted, "{asked}");
        }
        // The order of the rows changes nothing.
        assert_eq!(judged(&[write(250), write(0)], 300), Err(Some(370)));
        // An answered write counts: the provider may still be working on it.
        let answered = [write(0), with(Stage::Answered, true, 250)];
        assert_eq!(judged(&answered, 300), Err(Some(370)));
        for harmless in [
            with(Stage::NotSent, true, 250),
            with(Stage::Answered, false, 250),
        ] {
            assert_eq!(judged(&[write(0), harmless], 420), Ok(()));
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
        let asked = StatusQuery {
            at: at(400),
            config_changed_at: None,
            began: at(350),
        };
        let outcome = evaluate(&[write(0)], WAIT, &asked, at(410), "no such charge".into());
        let Outcome::Unknown { poll_after, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(poll_after, Some(Duration::from_secs(240)));
    }
}
