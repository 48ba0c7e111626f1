//! Ids of reports about an ended attempt that move no money. A later report of money may name such
//! an id alone, so the transaction keeps it.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::limits::FURTHER_IDS;
use crate::transaction::{
    Action, AttemptState, CaseReason, Command, Decline, Outcome, Refusal, State, Verdict,
};

fn identify(world: &World, id: &str) -> Command {
    Command::Identify {
        attempt: world.tx.attempts[0].id,
        provider_id: id.to_owned(),
    }
}

fn declined_under(id: Option<&str>) -> Outcome {
    match declined(false) {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            provider_id: id.map(str::to_owned),
            ..decline
        }),
        other => other,
    }
}

/// A payment whose attempt was declined without an id.
fn nameless() -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(declined_under(None)).unwrap();
    world
}

#[test]
fn a_report_about_an_ended_attempt_names_its_id_once() {
    let mut world = nameless();
    let version = world.tx.version;
    let attempt = world.tx.attempts[0].id;
    for _ in 0..3 {
        world
            .answer_about(attempt, declined_under(Some("T")))
            .unwrap();
    }
    let identified = &world.tx.attempts[0];
    assert_eq!(world.tx.version, version + 1);
    assert_eq!(identified.state, AttemptState::Declined);
    assert_eq!(
        (&identified.provider_id, &identified.further_ids[..]),
        (&None, &["T".to_owned()][..])
    );
    assert!(identified.has_id("T"));
    assert_eq!(world.tx.ids_of(identified), ["T"]);
    assert!(world.tx.cases.is_empty());
}

#[test]
fn an_attempt_keeps_each_id_once_and_a_limited_number_of_them() {
    let mut world = nameless();
    for number in 0..20 {
        let command = identify(&world, &format!("T{}", number / 2));
        world.apply(command).unwrap();
    }
    assert_eq!(world.tx.attempts[0].further_ids.len(), 10);
    for number in 0..2 * FURTHER_IDS {
        let command = identify(&world, &format!("U{number}"));
        world.apply(command).unwrap();
    }
    assert_eq!(world.tx.attempts[0].further_ids.len(), FURTHER_IDS);
    let unknown = Command::Identify {
        attempt: AttemptId::new(ulid::Ulid::nil()),
        provider_id: "T".to_owned(),
    };
    assert!(matches!(
        world.apply(unknown),
        Err(Refusal::UnknownAttempt(_))
    ));
}

/// An attempt with an unknown outcome whose provider named it, with its own id, in a callback.
fn named_by_the_provider() -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm(2)).unwrap();
    world.answer(unknown()).unwrap();
    let attempt = world.current();
    world.wait(1);
    let provider_id = "P9".to_owned();
    world
        .apply(Command::Identify {
            attempt,
            provider_id,
        })
        .unwrap();
    (world, attempt)
}

#[test]
fn an_attempt_that_a_verified_report_named_does_not_count_as_not_sent() {
    let (mut world, attempt) = named_by_the_provider();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts.len(), 1, "no second submission");
    let unsent = resolve(Some(attempt), Verdict::NeverSent);
    assert_eq!(world.apply(unsent), Err(Refusal::ProviderHasIt));
}

/// An attempt that the provider named before its submission came back.
fn named_while_away() -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(2), 60))).unwrap();
    let attempt = world.current();
    let named = identify(&world, "P9");
    world.apply(named).unwrap();
    (world, attempt)
}

#[test]
fn a_named_attempt_is_in_doubt_when_its_submission_says_that_nothing_was_sent() {
    for is_held_back in [false, true] {
        let (mut world, attempt) = named_while_away();
        match is_held_back {
            true => {
                let why = "The gateway must not be called.".to_owned();
                world.apply(Command::Withhold { attempt, why }).unwrap();
            }
            false => drop(world.answer(not_sent()).unwrap()),
        }
        assert_eq!(world.tx.attempts[0].state, AttemptState::InDoubt);
        assert_eq!(world.tx.attempts.len(), 1);
        assert!(world.tx.wake_at().is_some());
    }
}

#[test]
fn a_named_attempt_is_not_submitted_again_after_a_crash() {
    let (mut world, attempt) = named_while_away();
    let recover = Command::Recover {
        attempt,
        maybe_sent: false,
        gateway_state: None,
    };
    world.apply(recover).unwrap();
    assert_eq!(world.tx.attempts[0].state, AttemptState::InDoubt);
    let is_submit = |action: &&Action| matches!(action, Action::Submit { .. });
    assert_eq!(world.actions.iter().filter(is_submit).count(), 1);
}

#[test]
fn a_named_attempt_that_is_not_found_after_its_own_end_is_over() {
    let (mut world, _) = named_while_away();
    world.answer(unknown()).unwrap();
    world.wait(3_600);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts[0].state, AttemptState::Declined);
}

#[test]
fn an_attempt_that_a_verified_report_names_after_it_counted_as_not_sent_starts_no_other() {
    let mut waiting = World::payment_with(3);
    waiting.apply(confirm(1)).unwrap();
    waiting.answer(not_sent()).unwrap();
    let mut payout = World::payout();
    payout.apply(Command::Dispatch(route(1))).unwrap();
    payout.answer(unknown()).unwrap();
    payout.answer(not_sent()).unwrap();
    let mut next_is_open = World::payment_with(3);
    next_is_open.apply(confirm(3)).unwrap();
    next_is_open.answer(unknown()).unwrap();
    next_is_open.answer(not_sent()).unwrap();
    for mut world in [waiting, payout, next_is_open] {
        let attempts = world.tx.attempts.len();
        for id in ["P1", "P1", "P2"] {
            let named = identify(&world, id);
            world.apply(named).unwrap();
        }
        assert_eq!(reasons(&world), [CaseReason::FoundAfterNotSent]);
        if world.tx.state != State::OnHold {
            world.answer(declined(true)).unwrap();
        }
        assert_eq!(world.tx.state, State::OnHold);
        world.wait(3_600);
        assert!(world.apply(confirm(1)).is_err());
        let _ = world.apply(Command::Dispatch(route(1)));
        assert_eq!(world.tx.attempts.len(), attempts);
    }
}

#[test]
fn a_decline_of_an_attempt_that_counted_as_not_sent_holds_nothing() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    let attempt = world.tx.attempts[0].id;
    tell(&mut world, attempt, [declined_under(Some("P1"))]);
    let named = identify(&world, "P2");
    world.apply(named).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    assert!(world.tx.cases.is_empty());
}

#[test]
fn an_id_that_another_one_replaces_stays_known() {
    let under = |id| match part_under(id, 0) {
        Outcome::Pending { provider_id, .. } => Outcome::Pending {
            provider_id,
            payer_action: None,
            poll_after: None,
            provider_status: None,
            received: None,
        },
        other => other,
    };
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    for id in ["T1", "T2"] {
        world.answer(under(id)).unwrap();
    }
    let version = world.tx.version;
    for id in ["T1", "T2", "T1"] {
        world.answer(under(id)).unwrap();
    }
    let attempt = current_attempt(&world);
    assert!(attempt.has_id("T1") && attempt.has_id("T2"));
    assert_eq!(world.tx.version, version, "known ids in turn are no news");
}
