//! Times and restrictions that bound an attempt.

use super::fixtures::*;
use crate::transaction::*;

#[test]
fn a_payment_whose_attempt_reached_nobody_stays_pending() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
}

#[test]
fn three_days_without_an_answer_count_from_the_attempt() {
    let mut world = World::payout();
    world.wait(4 * 24 * 3_600);
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.wait(5);
    world.apply(Command::Wake).unwrap();
    assert!(world.tx.cases.is_empty());
}

#[test]
fn each_request_to_call_off_begins_its_own_ten_seconds() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    for (seconds, events) in [(0, 1), (10, 1), (5, 0), (5, 1)] {
        world.wait(seconds);
        let cancel = Command::Cancel(CancelledBy::Customer);
        assert_eq!(world.apply(cancel), Ok(events), "{seconds}");
    }
}

#[test]
fn a_payer_gives_up_after_twice_the_usual_time_of_the_resumed_submission() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    let attempt = world.current();
    world.wait(600);
    world.apply(recovery(attempt, false, None)).unwrap();
    world.answer(pending()).unwrap();
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::TooEarly));
}

#[test]
fn who_names_no_country_and_no_number_pays_nothing_that_is_restricted() {
    for restriction in [
        Restriction::Country {
            country_code: "BJ".to_owned(),
        },
        Restriction::Phone {
            number: "+22990000001".to_owned(),
            country_code: "BJ".to_owned(),
        },
    ] {
        let mut world = World::payment();
        if let Details::Payment(payment) = &mut world.tx.details {
            payment.restriction = Some(restriction);
        }
        let Command::Confirm(mut nobody) = confirm(1) else {
            unreachable!()
        };
        (nobody.country, nobody.phone) = (None, None);
        assert!(world.apply(Command::Confirm(nobody)).is_err());
    }
}

#[test]
fn a_reference_and_an_id_of_two_attempts_of_one_transaction_prove_neither() {
    let world = World::payment();
    let key = |number| {
        (
            world.tx.id,
            crate::ids::AttemptId::new(ulid::Ulid::from_parts(3, number)),
        )
    };
    assert_eq!(
        identify(Some(key(1)), &[key(2)]),
        Identity::Disagree(key(1))
    );
    assert_eq!(
        identify(None, &[key(1), key(2)]),
        Identity::Ambiguous(vec![key(1), key(2)])
    );
}
