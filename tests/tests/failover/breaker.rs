//! The breaker in a whole engine: twenty payments a second, by a clock that the test turns.

use std::time::Duration;

use switchyard_core::routing::RecentResults;
use switchyard_core::transaction::Status;

use crate::road::{Road, choice};

impl Road {
    pub fn recent(&self, slot: usize) -> RecentResults {
        let mut health = self.bench.engine.health().into_iter();
        let found = health.find(|(key, ..)| key.connection == self.connections[slot]);
        found.map_or_else(RecentResults::default, |(_, recent, _)| recent)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_payment_that_begins_counts_for_a_breakers_probes() {
    let road = Road::new(2).await;
    let mut paid = road.pay("sick ok").await;
    while !road.recent(0).numbers.open {
        paid = road.pay("sick ok").await;
    }
    // The payer's browser goes back and confirms again, again and again.
    let method = crate::road::METHOD;
    for _ in 0..30 {
        let again = road.bench.engine.confirm(paid.id, choice(method)).await;
        assert!(again.is_err(), "it has begun already");
    }
    let mut probes = Vec::new();
    for _ in 0..20 {
        let tx = road.pay("ok ok").await;
        let because = &tx.attempts[0].decision.chosen_because;
        probes.push(because.starts_with("a probe"));
    }
    let at = probes.iter().position(|is_probe| *is_probe);
    assert_eq!(
        at,
        Some(19),
        "the twentieth payment is the probe: {probes:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_breaker_opens_within_30_s_probes_with_a_twentieth_and_closes_within_60_s_of_healing() {
    let road = Road::new(2).await;
    let (mut opened, mut closed) = (None, None);
    let (mut while_open, mut probes) = (0_u32, 0_u32);
    // In steps of 50 ms: a minute of sickness, a minute of health.
    for step in 0..2_400_u32 {
        let (is_sick, was_open) = (step < 1_200 && step % 2 == 0, road.recent(0).numbers.open);
        let words = if is_sick { "sick ok" } else { "ok ok" };
        let tx = road.pay(words).await;
        let tx = match tx.state.is_final() {
            true => tx,
            false => road.end(tx.id).await,
        };
        assert_eq!(
            tx.status(),
            Status::Success,
            "fail-over saves every payment"
        );
        if was_open {
            let is_probe = tx.attempts[0]
                .decision
                .chosen_because
                .starts_with("a probe");
            assert_eq!(
                road.slot(tx.attempts[0].candidate.connection) == 0,
                is_probe
            );
            while_open += 1;
            probes += u32::from(is_probe);
        }
        road.bench.clock.advance(Duration::from_millis(50));
        match (road.recent(0).numbers.open, opened, closed) {
            (true, None, _) => opened = Some(step),
            (false, Some(_), None) => closed = Some(step),
            (true, Some(_), Some(at)) => panic!("closed at step {at} and open again at {step}"),
            _ => {}
        }
        let other = road.recent(1).numbers;
        assert!(
            !other.open && other.faults == 0,
            "the other is unaffected: {other:?}"
        );
    }
    let seconds = |step: u32| f64::from(step) / 20.0;
    let opened = seconds(opened.expect("it opened"));
    let healed = seconds(closed.expect("it closed")) - 60.0;
    println!(
        "opened after {opened:.1} s; {probes} probes among {while_open} payments; closed {healed:.1} s after healing"
    );
    assert!(opened <= 30.0, "{opened}");
    assert!(probes * 20 <= while_open, "{probes} of {while_open}");
    assert!((0.0..=60.0).contains(&healed), "{healed}");
}
