//! The code that the payer types.

use super::fixtures::*;
use crate::limits::CODES_PER_ATTEMPT;
use crate::transaction::*;

fn asking() -> World {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    world
}

fn code(world: &World, tried: u32) -> Command {
    Command::SubmitCode {
        attempt: world.current(),
        tried,
        code: "73910428".into(),
    }
}

fn back(world: &mut World, outcome: Outcome) {
    world
        .apply(Command::CodeAnswer {
            attempt: world.current(),
            outcome,
            gateway_state: None,
        })
        .unwrap();
}

#[test]
fn a_right_code_leads_on_and_is_asked_for_no_more() {
    let mut world = asking();
    assert_eq!(world.apply(code(&world, 0)), Ok(1));
    let attempt = world.current();
    assert_eq!(world.actions.last(), Some(&Action::SubmitCode { attempt }));
    assert!(world.tx.asks_for_code().is_none(), "one is on its way");
    back(&mut world, pending());
    assert!(world.tx.asks_for_code().is_none());
    assert_eq!(world.tx.state.name(), "awaiting_provider");
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_code_may_end_the_attempt_at_once() {
    for (outcome, status) in [
        (succeeded(), Status::Success),
        (declined(false), Status::Failed),
    ] {
        let mut world = asking();
        world.apply(code(&world, 0)).unwrap();
        back(&mut world, outcome);
        assert_eq!(world.tx.status(), status);
    }
}

#[test]
fn a_wrong_code_may_be_typed_again_but_not_for_ever() {
    let mut world = asking();
    for tried in 0..CODES_PER_ATTEMPT {
        assert_eq!(world.apply(code(&world, tried)), Ok(1));
        // The same words twice are an answer, too.
        back(&mut world, enter_code("That was wrong."));
        assert!(world.tx.asks_for_code().is_some());
    }
    assert_eq!(
        world.apply(code(&world, CODES_PER_ATTEMPT)),
        Err(Refusal::NoMoreCodes)
    );
    assert_eq!(world.tx.status(), Status::Pending);
}

#[test]
fn a_form_that_is_sent_twice_or_lay_open_passes_one_code_on() {
    let mut world = asking();
    assert_eq!(world.apply(code(&world, 0)), Ok(1));
    assert_eq!(world.apply(code(&world, 0)), Ok(0), "pressed twice");
    assert_eq!(world.apply(code(&world, 1)), Ok(0), "one is on its way");
    back(&mut world, enter_code("That was wrong."));
    assert_eq!(world.apply(code(&world, 0)), Ok(0), "an old page");
}

#[test]
fn a_code_that_may_be_lost_may_be_typed_again_and_the_provider_is_asked() {
    for lost in [unknown(), not_sent()] {
        let mut world = asking();
        world.apply(code(&world, 0)).unwrap();
        back(&mut world, lost);
        let attempt = world.tx.asks_for_code().unwrap();
        assert!(attempt.why.is_some());
        let attempt = attempt.id;
        assert_eq!(world.actions.last(), Some(&Action::Query { attempt }));
        assert_eq!(
            (world.tx.status(), world.tx.attempts.len()),
            (Status::Pending, 1)
        );
    }
}

#[test]
fn a_code_that_went_down_with_the_engine_is_missed_after_a_while() {
    let mut world = asking();
    while world.tx.wake_at().unwrap().since(world.now).as_secs() < 600 {
        world.now = world.tx.wake_at().unwrap();
        world.apply(Command::Wake).unwrap();
    }
    world.apply(code(&world, 0)).unwrap();
    assert_eq!(world.tx.wake_at().unwrap().since(world.now).as_secs(), 90);
    world.wait(90);
    world.apply(Command::Wake).unwrap();
    assert!(world.tx.asks_for_code().is_some());
    back(&mut world, pending());
    assert!(
        world.tx.asks_for_code().is_some(),
        "too late to be its answer"
    );
    back(&mut world, succeeded());
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn no_event_holds_the_code() {
    let mut world = asking();
    let command = code(&world, 0);
    assert!(!format!("{command:?}").contains("73910428"));
    world.apply(command).unwrap();
    let stored = serde_json::to_string(&(&world.events, &world.tx)).unwrap();
    assert!(!stored.contains("73910428"));
}

#[test]
fn no_code_is_passed_on_while_money_holds_the_payment_or_the_attempt_is_called_off() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.apply(code(&world, 0)), Err(Refusal::Held));

    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    let passed_on = world.apply(code(&world, 0));
    assert_eq!(passed_on, Err(Refusal::AttemptUnderWay));
}
