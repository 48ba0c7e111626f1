//! Stored traffic under rules that were never in force.

use std::time::Duration;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::Kind;
use switchyard_engine::engine::Replay;
use switchyard_engine::testing::START;

use crate::road::Road;

#[tokio::test(flavor = "multi_thread")]
async fn yesterdays_traffic_under_other_rules_says_what_would_move_and_what_it_would_cost() {
    let road = Road::new(2).await;
    for _ in 0..40 {
        road.pay("ok ok").await;
        road.bench.clock.advance(Duration::from_secs(1));
    }
    let [one, two] = [road.connections[0], road.connections[1]];
    let weights = json!([{ "connection": one, "weight": 1 }, { "connection": two, "weight": 1 }]);
    let fees = json!([
        { "connection": one, "percent": "2" },
        { "connection": two, "currency": "USD", "percent": "1", "fixed": "0.05" },
    ]);
    let replay = |strategy: serde_json::Value| Replay {
        app: road.caller.app.id,
        environment: Environment::Sandbox,
        kind: Kind::Payment,
        from: START,
        to: START.plus(Duration::from_secs(2 * 3_600)),
        rules: Some(
            serde_json::from_value(json!({ "rules": [{ "strategy": strategy }], "fees": fees }))
                .unwrap(),
        ),
    };
    let before = road.bench.engine.store().stats().commits;
    let engine = &road.bench.engine;
    let cheapest = engine
        .replay(&replay(json!({ "type": "cheapest" })))
        .await
        .unwrap();
    assert_eq!((cheapest.total, cheapest.read), (40, 40));
    assert_eq!(cheapest.really[&Some(one)].count, 40);
    assert_eq!(cheapest.in_force, cheapest.really);
    // 2 % of 25.00 is 0.50; 1 % and 0.05 is 0.30.
    let fees = |share: &switchyard_engine::engine::Share| share.fees.values().sum::<i64>();
    assert_eq!(fees(&cheapest.in_force[&Some(one)]), 40 * 50);
    assert_eq!(fees(&cheapest.tried[&Some(two)]), 40 * 30);
    assert_eq!(cheapest.moved[&(Some(one), Some(two))], 40);

    let weighted = json!({ "type": "weighted", "weights": weights });
    let split = engine.replay(&replay(weighted.clone())).await.unwrap();
    let (first, second) = (split.tried[&Some(one)].count, split.tried[&Some(two)].count);
    assert_eq!(first + second, 40);
    assert!(first > 5 && second > 5, "{first} and {second}");
    assert_eq!(
        engine.replay(&replay(weighted)).await.unwrap().tried,
        split.tried
    );
    assert_eq!(
        before,
        engine.store().stats().commits,
        "nothing was written"
    );
}
