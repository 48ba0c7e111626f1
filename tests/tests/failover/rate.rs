//! The best recent success rate, by how the attempts of a running engine ended.

use std::time::Duration;

use serde_json::json;
use switchyard_tests::eventually;

use crate::road::Road;

/// A call and a commit, on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// Ends that make a rate.
const ENOUGH: u32 = 20;
/// More than what counts as recent.
const LONG_AGO: Duration = Duration::from_secs(60 * 60);

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_that_lately_succeeded_more_often_is_first_until_that_is_long_ago()
-> anyhow::Result<()> {
    let road = Road::new(2).await;
    let strategy = json!({ "type": "best_success_rate", "connections": road.connections });
    road.rule(json!({ "rules": [{ "strategy": strategy }] }))
        .await;
    for ended in 1..=ENOUGH {
        let tx = road.pay("busy ok").await;
        let first = &tx.attempts[0];
        assert_eq!(road.slot(first.candidate.connection), 0, "{ended}");
        let why = &first.decision.considered[0].why;
        assert!(why.contains("too few for a rate"), "{why}");
        eventually("both ends", SOON, async || {
            let both = [0, 1].map(|slot| road.recent(slot).numbers.ended);
            Ok((both == [ended; 2]).then_some(()))
        })
        .await?;
    }
    let tx = road.pay("ok ok").await;
    let first = &tx.attempts[0];
    assert_eq!(road.slot(first.candidate.connection), 1);
    let why = |place: usize| first.decision.considered[place].why.as_str();
    assert_eq!(why(0), "20 of 20 attempts succeeded lately");
    assert_eq!(why(1), "0 of 20 attempts succeeded lately");

    eventually("its end", SOON, async || {
        let ended = road.recent(1).numbers.ended;
        Ok((ended > ENOUGH).then_some(()))
    })
    .await?;
    road.bench.clock.advance(LONG_AGO);
    let tx = road.pay("ok ok").await;
    assert_eq!(road.slot(tx.attempts[0].candidate.connection), 0);
    Ok(())
}
