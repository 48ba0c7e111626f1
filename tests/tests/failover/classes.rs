//! The table: after which ends the next connection is tried, and after which never.

use switchyard_core::transaction::{AttemptState, Status};

use crate::road::Road;

#[tokio::test(flavor = "multi_thread")]
async fn the_next_connection_is_tried_after_not_sent_or_a_retryable_decline_and_after_nothing_else()
{
    let road = Road::new(2).await;
    let (paid, failed) = (Status::Success, Status::Failed);
    let table = [
        ("ok", paid, AttemptState::Succeeded, 1),
        ("refused", paid, AttemptState::NotSent, 2),
        ("busy", paid, AttemptState::Declined, 2),
        ("no", failed, AttemptState::Declined, 1),
        // The money moved without a response: a query finds it.
        ("broken_done", paid, AttemptState::Succeeded, 1),
        ("lost_done", paid, AttemptState::Succeeded, 1),
        ("silent_done", paid, AttemptState::Succeeded, 1),
        // It did not move: only once the provider says so for good the next one is tried.
        ("broken", paid, AttemptState::NotSent, 2),
        ("lost", paid, AttemptState::NotSent, 2),
    ];
    for (word, status, first, attempts) in table {
        let begun = road.pay(&format!("{word} ok")).await;
        let tx = road.end(begun.id).await;
        assert_eq!(tx.status(), status, "{word}");
        assert_eq!(tx.attempts.len(), attempts, "{word}");
        assert_eq!(tx.attempts[0].state, first, "{word}");
        let decision = &tx.attempts[0].decision;
        assert_eq!(decision.rule.as_ref().unwrap().version, 1, "{word}");
        assert_eq!(decision.considered.len(), 2, "{word}");
        if let Some(second) = tx.attempts.get(1) {
            assert_eq!(second.follows, Some(tx.attempts[0].id), "{word}");
            assert_eq!(second.decision.considered, decision.considered, "{word}");
        }
    }
    for (reference, entry) in road.provider.books() {
        assert_eq!(entry.requests, 1, "{reference} {entry:?}");
    }
}
