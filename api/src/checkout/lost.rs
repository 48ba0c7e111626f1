//! Whether the provider's first answer about the open attempt was lost. Only the timeline keeps it.

use switchyard_core::transaction::{Attempt, Event, Recorded, State, Transaction};

/// Whether the answer to the submission was lost, and with it what the payer has to do.
pub fn is_answer_lost(attempt: &Attempt, timeline: &[Recorded]) -> bool {
    let first = timeline.iter().find_map(|recorded| match &recorded.event {
        Event::AttemptInDoubt { attempt: id, .. } if *id == attempt.id => Some(true),
        Event::AttemptPending { attempt: id, .. } if *id == attempt.id => Some(false),
        _ => None,
    });
    attempt.presumed || attempt.cut_off || first == Some(true)
}

/// Whether the page of the open attempt needs its timeline: it shows no instructions.
pub fn is_needed(tx: &Transaction) -> bool {
    let attempt = tx.current_attempt();
    let attempt = attempt.filter(|_| tx.state == State::AwaitingProvider);
    attempt.is_some_and(|attempt| attempt.payer_action.is_none() && attempt.codes == 0)
}

#[cfg(test)]
mod tests {
    use switchyard_core::transaction::PayerAction;

    use super::*;
    use crate::checkout::tests::samples;

    fn in_doubt(attempt: &Attempt) -> Event {
        Event::AttemptInDoubt {
            attempt: attempt.id,
            why: "no answer within 30 s".to_owned(),
            gateway_state: None,
            next_query_at: samples::NOW,
            cut_off: false,
        }
    }

    fn pending(attempt: &Attempt) -> Event {
        Event::AttemptPending {
            attempt: attempt.id,
            provider_id: None,
            provider_status: None,
            payer_action: None,
            gateway_state: None,
            next_query_at: samples::NOW,
            received: None,
        }
    }

    fn is_lost(events: Vec<Event>) -> bool {
        let recorded = events.into_iter().map(|event| Recorded {
            version: 1,
            at: samples::NOW,
            event,
        });
        let recorded: Vec<_> = recorded.collect();
        is_answer_lost(&samples::waiting(None).attempts[0], &recorded)
    }

    #[test]
    fn an_answer_is_lost_only_where_the_timeline_says_so() {
        let attempt = &samples::waiting(None).attempts[0];
        assert!(!is_lost(vec![]));
        assert!(!is_lost(vec![pending(attempt)]));
        assert!(!is_lost(vec![pending(attempt), in_doubt(attempt)]));
        assert!(is_lost(vec![in_doubt(attempt), pending(attempt)]));
        let state = switchyard_core::transaction::AttemptState::Declined;
        let reason = switchyard_core::transaction::CaseReason::Surplus;
        let other = samples::twice_tried(state, reason).attempts[1].clone();
        assert!(!is_lost(vec![in_doubt(&other)]));
    }

    #[test]
    fn the_timeline_is_read_where_instructions_are_missing() {
        for (tx, is_read) in [
            (samples::waiting(None), true),
            (samples::waiting(Some(samples::crypto(None))), false),
            (samples::waiting(Some(PayerAction::Wait)), false),
            (samples::ended(State::InDoubt), false),
            (samples::ended(State::Succeeded), false),
        ] {
            assert_eq!(is_needed(&tx), is_read, "{:?}", tx.state);
        }
        let mut typed = samples::waiting(None);
        typed.attempts[0].codes = 1;
        assert!(!is_needed(&typed), "the code was the last thing to do");
    }
}
