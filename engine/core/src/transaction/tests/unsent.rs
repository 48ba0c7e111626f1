//! Attempts that surely reached no provider.

use super::fixtures::*;
use crate::ids::ConnectionId;
use crate::transaction::*;

fn interrupted(world: &World) -> Command {
    Command::Recover {
        attempt: world.current(),
        maybe_sent: false,
        gateway_state: None,
    }
}

/// The engine stopped while the submission was away, and the provider says for good that it never
/// came.
fn interrupt_and_find_nothing(world: &mut World) {
    world
        .apply(Command::Recover {
            attempt: world.current(),
            maybe_sent: true,
            gateway_state: None,
        })
        .unwrap();
    assert_eq!(
        world.tx.status(),
        Status::Pending,
        "unknown is never failed"
    );
    world.wait(300);
    world.answer(not_sent()).unwrap();
}

fn connections(world: &World) -> Vec<ConnectionId> {
    let attempts = world.tx.attempts.iter();
    attempts
        .map(|attempt| attempt.candidate.connection)
        .collect()
}

#[test]
fn an_engine_that_stopped_before_it_sent_goes_on_with_the_same_attempt_and_reference() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    let reference = world.tx.attempts[0].reference;
    for submissions in 2..5 {
        world.apply(interrupted(&world)).unwrap();
        let attempt = world.current();
        assert_eq!(world.actions.last(), Some(&Action::Submit { attempt }));
        let is_submission = |action: &&Action| matches!(action, Action::Submit { .. });
        let all = world.actions.iter().filter(is_submission).count();
        assert_eq!(all, submissions, "each crash is followed by a submission");
    }
    assert_eq!(world.tx.attempts.len(), 1, "an interruption is no try");
    assert_eq!(world.tx.attempts[0].reference, reference);
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_gateway_that_stops_the_engine_each_time_is_left_for_another_and_then_waited_for() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    while world.tx.state == State::AwaitingGateway {
        world.apply(interrupted(&world)).unwrap();
    }
    assert_eq!(world.tx.attempts.len(), 2);
    assert_ne!(connections(&world)[0], connections(&world)[1]);
    assert_eq!(
        (world.tx.state.name(), world.tx.status()),
        ("awaiting_dispatch", Status::Pending)
    );
}

#[test]
fn a_payout_that_reached_nobody_is_tried_again_ever_more_slowly_and_then_fails() {
    let mut world = World::payout();
    let mut waits = Vec::new();
    while !world.tx.state.is_final() {
        world.apply(Command::Dispatch(route(2))).unwrap();
        world.answer(not_sent()).unwrap();
        world.answer(not_sent()).unwrap();
        if let Some(at) = world.tx.wake_at() {
            waits.push(at.since(world.now).as_secs());
            world.now = at;
        }
    }
    assert_eq!(waits, [5, 15, 30, 60, 120, 300, 600, 1800]);
    let State::Failed(failure) = &world.tx.state else {
        panic!("not failed");
    };
    assert_eq!(failure.reason, DeclineReason::ProviderUnavailable);
    assert!(failure.message.contains("nothing was sent"));
    assert_eq!(world.announced(), ["payout.initiated", "payout.failed"]);
}

#[test]
fn why_nothing_was_sent_is_kept_for_operators_and_is_no_part_of_what_merchants_are_told() {
    let mut world = World::payment();
    while !world.tx.state.is_final() {
        world.apply(confirm(1)).unwrap();
        world.answer(not_sent()).unwrap();
    }
    let State::Failed(failure) = &world.tx.state else {
        panic!("not failed");
    };
    let told = "The payment provider could not be reached; nothing was sent.";
    assert_eq!(failure.message, told);
    for attempt in &world.tx.attempts {
        assert_eq!(attempt.why.as_deref(), Some("connection refused"));
    }
}

#[test]
fn a_payout_that_a_provider_declined_is_not_tried_again_later() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn a_payer_whose_method_reached_nobody_chooses_again_and_has_lost_no_attempt() {
    let mut world = World::payment();
    for _ in 0..3 {
        world.apply(confirm(2)).unwrap();
        world.answer(not_sent()).unwrap();
        world.answer(not_sent()).unwrap();
        assert_eq!(world.tx.state.name(), "awaiting_customer");
        assert_eq!(
            (world.tx.status(), world.tx.attempts_left()),
            (Status::Pending, 1)
        );
    }
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(world.tx.attempts_left(), 0);
}

#[test]
fn a_field_that_is_refused_before_anything_was_sent_costs_no_attempt() {
    let mut world = World::payment();
    let refused = || {
        let Outcome::Declined(mut decline) = declined(false) else {
            unreachable!();
        };
        decline.field = Some("account_bank".to_owned());
        Outcome::Declined(decline)
    };
    for _ in 0..3 {
        world.apply(confirm(2)).unwrap();
        world.answer(refused()).unwrap();
        assert_eq!(world.tx.state.name(), "awaiting_customer");
        assert_eq!(world.tx.attempts_left(), 1);
        let last = world.tx.current_attempt().unwrap();
        assert_eq!(last.refused_field(), Some("account_bank"));
    }
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn a_decline_after_something_was_sent_names_no_field() {
    let Outcome::Declined(mut decline) = declined(false) else {
        unreachable!();
    };
    decline.field = Some("msisdn".to_owned());
    let field = |outcome| match outcome {
        Outcome::Declined(decline) => decline.field,
        _ => unreachable!(),
    };
    let outcome = Outcome::Declined(decline);
    assert_eq!(field(outcome.clone().with_field_if(false)), None);
    assert!(field(outcome.with_field_if(true)).is_some());
}

#[test]
fn a_decline_counts_although_the_next_gateway_was_not_reached() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    world.answer(declined(true)).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn what_the_engine_cut_off_and_the_provider_never_got_begins_again_at_the_same_connection() {
    // The first connection declined: without the interruption the second one would have had the
    // last word.
    for (mut world, begin) in [
        (World::payment(), confirm(2)),
        (World::payout(), Command::Dispatch(route(2))),
    ] {
        world.apply(begin).unwrap();
        world.answer(declined(true)).unwrap();
        interrupt_and_find_nothing(&mut world);
        let attempts = &world.tx.attempts;
        assert_eq!(attempts.len(), 3);
        assert_eq!(attempts[1].state, AttemptState::NotSent);
        assert_eq!(connections(&world)[2], connections(&world)[1]);
        assert_ne!(attempts[2].reference, attempts[1].reference);
        let attempt = world.current();
        assert_eq!(world.actions.last(), Some(&Action::Submit { attempt }));
        world.answer(succeeded()).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
    }
}

#[test]
fn what_begins_again_keeps_the_connections_that_were_left_to_it() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    interrupt_and_find_nothing(&mut world);
    assert_eq!(connections(&world)[1], connections(&world)[0]);
    world.answer(not_sent()).unwrap();
    assert_ne!(connections(&world)[2], connections(&world)[0]);
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_gateway_that_stops_the_engine_after_it_has_sent_is_not_begun_again_for_ever() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    world.answer(declined(true)).unwrap();
    // Interruptions before and after anything left count alike.
    world.apply(interrupted(&world)).unwrap();
    for _ in 0..2 {
        interrupt_and_find_nothing(&mut world);
        assert_eq!(world.tx.state.name(), "awaiting_gateway");
    }
    interrupt_and_find_nothing(&mut world);
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(world.tx.attempts.len(), 4);
}

#[test]
fn only_what_the_engine_cut_off_begins_again_at_the_same_connection() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    world.answer(declined(true)).unwrap();
    world.answer(unknown()).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(
        (world.tx.attempts.len(), world.tx.status()),
        (2, Status::Failed)
    );
}

#[test]
fn what_the_engine_cut_off_ends_by_the_providers_or_a_persons_word() {
    for (word, status) in [
        (declined(true), Status::Failed),
        (declined(false), Status::Failed),
        (succeeded(), Status::Success),
    ] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world
            .apply(Command::Recover {
                attempt: world.current(),
                maybe_sent: true,
                gateway_state: None,
            })
            .unwrap();
        world.answer(word).unwrap();
        assert_eq!((world.tx.attempts.len(), world.tx.status()), (1, status));
    }
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    world
        .apply(Command::Recover {
            attempt: world.current(),
            maybe_sent: true,
            gateway_state: None,
        })
        .unwrap();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert_eq!(
        (world.tx.attempts.len(), world.tx.status()),
        (1, Status::Failed)
    );
}

#[test]
fn a_payment_that_reached_nobody_is_let_go_when_its_time_is_up() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world.wait(1_800);
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn nobody_is_prompted_after_their_time_to_pay() {
    // Days later the provider says that it never knew the reference; or the engine was down for
    // hours before it sent.
    type Said = Box<dyn Fn(&World) -> Command>;
    let news = |outcome: Outcome| -> Said {
        Box::new(move |world| Command::Answer {
            attempt: world.current(),
            outcome: outcome.clone(),
            gateway_state: None,
            asked_at: None,
        })
    };
    let cut_off = |world: &World| Command::Recover {
        attempt: world.current(),
        maybe_sent: true,
        gateway_state: None,
    };
    for (unsure, command) in [
        (Some(news(unknown())), news(not_sent())),
        (Some(Box::new(cut_off)), news(not_sent())),
        (None, Box::new(interrupted)),
    ] {
        let mut world = World::payment();
        world.apply(confirm(2)).unwrap();
        if let Some(unsure) = unsure {
            world.apply(unsure(&world)).unwrap();
        }
        world.wait(3_600);
        world.apply(command(&world)).unwrap();
        assert_eq!(world.tx.attempts.len(), 1);
        world.apply(Command::Wake).unwrap();
        assert_eq!(world.tx.status(), Status::Cancelled);
    }
}

#[test]
fn a_payment_has_a_most_attempts() {
    let mut world = World::payment();
    while !world.tx.state.is_final() {
        world.apply(confirm(1)).unwrap();
        world.answer(not_sent()).unwrap();
    }
    assert_eq!(world.tx.attempts.len(), crate::limits::ATTEMPTS_PER_PAYMENT);
}

/// Closes the connection of `route` with this number to new attempts.
fn shut(world: &mut World, number: u128) {
    world.onward.push(Onward {
        connection: candidate(number).connection,
        standing: Err("its gateway is not loaded"),
    });
}

#[test]
fn a_connection_at_which_nothing_may_begin_any_more_is_stepped_over_for_the_one_behind_it() {
    for (mut world, begin) in [
        (World::payment(), confirm(3)),
        (World::payout(), Command::Dispatch(route(3))),
    ] {
        world.apply(begin).unwrap();
        shut(&mut world, 1);
        world.answer(declined(true)).unwrap();
        let ends = [candidate(0), candidate(2)].map(|candidate| candidate.connection);
        assert_eq!(connections(&world), ends);
        let told = &world.tx.attempts[1].decision.skipped;
        assert_eq!(
            (told.len(), told[0].connection),
            (1, candidate(1).connection)
        );
        assert_eq!(told[0].because, "its gateway is not loaded");
        world.answer(succeeded()).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
    }
}

#[test]
fn when_nothing_may_begin_anywhere_any_more_the_timeline_says_why_and_the_end_is_as_without_them() {
    let table = [
        (
            World::payment(),
            confirm(3),
            not_sent(),
            "awaiting_customer",
        ),
        (World::payment(), confirm(3), declined(true), "failed"),
        (
            World::payout(),
            Command::Dispatch(route(3)),
            not_sent(),
            "awaiting_dispatch",
        ),
    ];
    for (mut world, begin, end, state) in table {
        world.apply(begin).unwrap();
        shut(&mut world, 1);
        shut(&mut world, 2);
        world.answer(end).unwrap();
        assert_eq!((world.tx.attempts.len(), world.tx.state.name()), (1, state));
        let told = world.events.iter().find_map(|event| match event {
            Event::SteppedOver { skipped } => Some(skipped.len()),
            _ => None,
        });
        assert_eq!(told, Some(2), "{state}");
    }
}

#[test]
fn what_comes_next_begins_on_the_version_of_its_gateway_that_is_current_then() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    let upgraded = Candidate {
        gateway_hash: "11".repeat(32),
        ..candidate(1)
    };
    world.onward.push(Onward {
        connection: upgraded.connection,
        standing: Ok(upgraded.clone()),
    });
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts[1].candidate, upgraded);
}

#[test]
fn an_engine_that_stopped_before_it_sent_does_not_begin_again_where_nothing_may_begin() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    shut(&mut world, 0);
    world.apply(interrupted(&world)).unwrap();
    assert_eq!(world.tx.attempts[0].state, AttemptState::NotSent);
    assert_eq!(connections(&world)[1], candidate(1).connection);
    interrupt_and_find_nothing(&mut world);
    shut(&mut world, 1);
    interrupt_and_find_nothing(&mut world);
    assert_eq!(world.tx.state.name(), "awaiting_dispatch");
    assert_eq!(world.tx.attempts.len(), 3);
}
