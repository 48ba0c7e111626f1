//! Page of the events that webhooks deliver, with the body of each from the code that sends it.

use serde_json::Value;
use switchyard_core::testing::fixtures::{World, confirm, declined, route, succeeded};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{CancelledBy, Command, EventName};
use switchyard_engine::webhook::{body, event_id};

pub fn page() -> String {
    let mut text = TOP.to_owned();
    for name in EventName::ALL {
        text.push_str(&format!(
            "| [`{0}`](#{1}) | {2} |\n",
            name.as_str(),
            anchor(name),
            when(name)
        ));
    }
    for name in EventName::ALL {
        let sample = sample(name);
        text.push_str(&format!(
            "\n## {}\n\n{}.\n\n```json\n{sample:#}\n```\n",
            name.as_str(),
            when(name)
        ));
    }
    text
}

/// Id of the heading, as mdBook makes it.
fn anchor(name: EventName) -> String {
    name.as_str().replace('.', "")
}

fn when(name: EventName) -> &'static str {
    match name {
        EventName::PaymentInitiated => "A payment was initialized",
        EventName::PaymentSuccess => "A payment is paid",
        EventName::PaymentFailed => "A payment has failed: no further attempt is made",
        EventName::PaymentCancelled => "A payment was cancelled, or its time has passed",
        EventName::PayoutInitiated => "A payout was initialized",
        EventName::PayoutSuccess => "A payout has reached its recipient",
        EventName::PayoutFailed => "A payout has failed",
    }
}

/// A transaction right after the event.
fn world(name: EventName) -> World {
    let mut world = match name {
        EventName::PaymentInitiated
        | EventName::PaymentSuccess
        | EventName::PaymentFailed
        | EventName::PaymentCancelled => World::payment_with(1),
        EventName::PayoutInitiated | EventName::PayoutSuccess | EventName::PayoutFailed => {
            World::payout()
        }
    };
    let outcome = match name {
        EventName::PaymentInitiated | EventName::PayoutInitiated => return world,
        EventName::PaymentCancelled => {
            let cancelled = world.apply(Command::Cancel(CancelledBy::Customer));
            cancelled.expect("a payment without an attempt can be cancelled");
            return world;
        }
        EventName::PaymentSuccess | EventName::PayoutSuccess => succeeded(),
        EventName::PaymentFailed | EventName::PayoutFailed => declined(false),
    };
    let start = match name.as_str().starts_with("payment.") {
        true => confirm(1),
        false => Command::Dispatch(route(1)),
    };
    world.apply(start).expect("it waits for an attempt");
    world.answer(outcome).expect("the attempt is open");
    world
}

fn sample(name: EventName) -> Value {
    let world = world(name);
    assert_eq!(world.announced().last(), Some(&name.as_str()));
    let at = Timestamp::from_seconds(1_790_000_000);
    let body = body(&world.tx, name, event_id(world.tx.id, name, at));
    serde_json::from_slice(&body).expect("a body is JSON")
}

const TOP: &str = "\
# Events

A webhook receives these events. [Webhooks](../contract/webhooks.md) has the rules of delivery and
the signature. The bodies below come from the code that sends them, which sends them compact. Ignore
unknown fields.

| event | when |
|---|---|
";
