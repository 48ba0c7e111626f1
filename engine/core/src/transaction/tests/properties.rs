//! Properties over random histories.

use proptest::prelude::*;

use super::fixtures::*;
use crate::transaction::*;

#[derive(Clone, Debug)]
enum Step {
    Confirm(u128),
    Dispatch(u128),
    Answer(usize, u8, bool),
    Recover(bool),
    Wake,
    Ask,
    Cancel,
    Process,
    GiveUp,
    Ambiguous,
    Code(u32),
    CodeAnswer(u8),
    Check,
    Resolve(u8),
    CloseCase(usize),
    OperatorCancels,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u128).prop_map(Step::Confirm),
        (0..4_u128).prop_map(Step::Dispatch),
        (0..4_usize, 0..8_u8, any::<bool>())
            .prop_map(|(which, outcome, soft)| Step::Answer(which, outcome, soft)),
        any::<bool>().prop_map(Step::Recover),
        Just(Step::Wake),
        Just(Step::Ask),
        Just(Step::Cancel),
        Just(Step::Process),
        Just(Step::GiveUp),
        Just(Step::Ambiguous),
        (0..3_u32).prop_map(Step::Code),
        (0..8_u8).prop_map(Step::CodeAnswer),
        Just(Step::Check),
        (0..4_u8).prop_map(Step::Resolve),
        (0..2_usize).prop_map(Step::CloseCase),
        Just(Step::OperatorCancels),
        (0..4_000_u64).prop_map(Step::Wait),
    ]
}

fn command(world: &World, step: &Step) -> Option<Command> {
    Some(match step {
        Step::Confirm(candidates) => confirm_at(ending(can_cancel(*candidates), 600)),
        Step::Dispatch(candidates) => Command::Dispatch(route(*candidates)),
        Step::Answer(which, outcome, soft) => {
            let attempt = world
                .tx
                .attempts
                .get(*which)
                .map_or_else(|| world.current(), |attempt| attempt.id);
            Command::Answer {
                attempt,
                outcome: some_outcome(*outcome, *soft),
                gateway_state: None,
                asked_at: Some(world.now),
            }
        }
        Step::GiveUp => Command::GiveUp,
        Step::Ambiguous => Command::AmbiguousId {
            attempt: world.current(),
            provider_id: "P1".to_owned(),
            reported: None,
        },
        Step::Code(tried) => Command::SubmitCode {
            attempt: world.current(),
            tried: *tried,
            code: "1234".into(),
        },
        Step::CodeAnswer(outcome) => Command::CodeAnswer {
            attempt: world.current(),
            outcome: some_outcome(*outcome, true),
            gateway_state: None,
        },
        Step::Check => by_operator(OperatorCommand::Check),
        Step::Resolve(which) => resolve(
            None,
            match which {
                0 => verdict(Some(2_500), Some("P9")),
                1 => verdict(None, None),
                2 => Verdict::Failed { message: None },
                _ => Verdict::NeverSent,
            },
        ),
        Step::CloseCase(which) => {
            let case = world.tx.cases.get(*which)?;
            by_operator(OperatorCommand::CloseCase(case.id))
        }
        Step::OperatorCancels => by_operator(OperatorCommand::Cancel),
        Step::Recover(maybe_sent) => Command::Recover {
            attempt: world.current(),
            maybe_sent: *maybe_sent,
            gateway_state: None,
        },
        Step::Wake => Command::Wake,
        Step::Ask => Command::Ask,
        Step::Cancel => Command::Cancel(CancelledBy::Customer),
        Step::Process => Command::MarkProcessed,
        Step::Wait(_) => return None,
    })
}

fn some_outcome(which: u8, soft: bool) -> Outcome {
    match which {
        0 => succeeded(),
        1 => succeeded_with(1),
        2 => declined(soft),
        3 => not_sent(),
        4 => unknown(),
        5 => enter_code("wrong"),
        6 => pending_for(30),
        _ => pending(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_history_breaks_a_promise(payment in any::<bool>(), attempts in 1..=5_u8, steps in prop::collection::vec(step(), 1..60)) {
        let mut world = if payment { World::payment_with(attempts) } else { World::payout() };
        let mut ended: Option<(State, Option<crate::time::Timestamp>)> = None;
        for step in &steps {
            if let Step::Wait(seconds) = step {
                world.wait(*seconds);
            }
            let Some(command) = command(&world, step) else { continue };
            let before = world.tx.version;
            let open_before = world.tx.attempts.iter().filter(|attempt| attempt.state.is_open()).count();
            match world.apply(command) {
                Ok(events) => prop_assert_eq!(world.tx.version, before + events as u64),
                Err(_) => prop_assert_eq!(world.tx.version, before),
            }
            prop_assert!(open_before <= 1, "two attempts are open");
            // P3: a final state never changes.
            if let Some((state, success_at)) = &ended {
                prop_assert_eq!(&world.tx.state, state);
                prop_assert_eq!(&world.tx.success_at, success_at);
            } else if world.tx.state.is_final() {
                ended = Some((world.tx.state.clone(), world.tx.success_at));
            }
            // P1: at most one success.
            let successes = world.tx.attempts.iter().filter(|attempt| attempt.state == AttemptState::Succeeded).count();
            prop_assert!(successes <= 1);
            prop_assert_eq!(successes == 1, world.tx.status() == Status::Success);
            // P4: an attempt that may have been sent and has no response is not called failed.
            let in_doubt = world.tx.attempts.iter().any(|attempt| attempt.state.is_open());
            prop_assert!(!(in_doubt && world.tx.state.is_final()));
            // A case about what is still open stays open.
            for case in world.tx.cases.iter().filter(|case| case.closed.is_some()) {
                let about = world.tx.attempts.iter().find(|attempt| attempt.reference == case.reference);
                prop_assert!(about.is_some_and(|attempt| !attempt.state.is_open()));
            }
            // P5: whatever is not final has a next action with a time.
            prop_assert_eq!(world.tx.wake_at().is_none(), world.tx.state.is_final());
        }
    }

    #[test]
    fn a_history_reads_back_from_its_events(steps in prop::collection::vec(step(), 1..40)) {
        let mut world = World::payment_with(3);
        let mut replayed = world.tx.clone();
        let mut seen = world.events.len();
        for step in &steps {
            if let Step::Wait(seconds) = step {
                world.wait(*seconds);
            }
            let Some(command) = command(&world, step) else { continue };
            let _ = world.apply(command);
            for event in &world.events[seen..] {
                let stored = serde_json::to_vec(event).unwrap();
                replayed = evolve(replayed, &serde_json::from_slice(&stored).unwrap(), world.now);
            }
            seen = world.events.len();
        }
        prop_assert_eq!(replayed, world.tx);
    }
}
