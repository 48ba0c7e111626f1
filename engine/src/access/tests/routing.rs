//! Routing rules: versions, names of connections, restarts.

use super::*;
use switchyard_core::ids::ConnectionId;
use switchyard_core::routing::{Match, Rule, RuleSet, Strategy};
use switchyard_store::Table;

fn rules(name: String, connections: Vec<ConnectionId>) -> RuleSet {
    let rule = Rule {
        name: Some(name),
        when: Match::default(),
        strategy: Strategy::Priority { connections },
        only: false,
    };
    RuleSet {
        rules: vec![rule],
        fees: Vec::new(),
    }
}

async fn connection(world: &World, app: AppId, environment: Environment) -> ConnectionId {
    let new = NewConnection {
        app,
        environment,
        gateway: "gateway".to_owned(),
        account_name: "Main".to_owned(),
        methods: None,
        config: serde_json::json!({}),
    };
    world.access.create_connection(new).await.unwrap().id
}

/// Rules that a second person approved are in force exactly if the approval is stored.
#[tokio::test]
async fn rules_and_the_rows_that_belong_to_them_are_one_commit() {
    let world = World::new().await;
    let app = world.app().await;
    let there = connection(&world, app, Environment::Live).await;
    let set = rules("approved".to_owned(), vec![there]);
    let approval = || {
        let mut batch = Batch::new();
        batch.require_absent(Table::User, "decided");
        batch.put(Table::User, "decided", "by olga");
        batch
    };
    for (version, is_made) in [(1, true), (2, false)] {
        let replaces = Some(version - 1);
        let live = Environment::Live;
        let made = world
            .access
            .set_routing(app, live, set.clone(), replaces, approval());
        assert_eq!(made.await.is_ok(), is_made);
        let stored = world.store.get(Table::User, b"decided").await.unwrap();
        assert!(stored.is_some());
        assert_eq!(world.access.routing_versions(app, live).len(), 1);
    }
}

#[tokio::test]
async fn the_newest_rules_are_in_force_and_the_last_20_versions_are_kept_over_a_restart() {
    let world = World::new().await;
    let app = world.app().await;
    let there = connection(&world, app, Environment::Live).await;
    assert_eq!(world.access.routing(app, Environment::Live), None);
    for version in 1..=25 {
        let set = rules(format!("version {version}"), vec![there]);
        let made = world
            .access
            .set_routing(app, Environment::Live, set, Some(version - 1), Batch::new())
            .await
            .unwrap();
        assert_eq!(made.version, version);
    }
    let kept = world.access.routing_versions(app, Environment::Live);
    let numbers: Vec<u64> = kept.iter().map(|rules| rules.version).collect();
    assert_eq!(numbers, (6..=25).rev().collect::<Vec<_>>());
    let again = world.restarted().await;
    assert_eq!(again.routing_versions(app, Environment::Live), kept);
    let in_force = again.routing(app, Environment::Live).unwrap();
    assert_eq!(
        in_force.set.rules[0].name.as_deref(),
        Some("version 25"),
        "25 comes after 9"
    );
    assert_eq!(again.routing(app, Environment::Sandbox), None);
}

#[tokio::test]
async fn of_two_changes_of_one_version_only_the_first_is_made() {
    let world = World::new().await;
    let app = world.app().await;
    let there = connection(&world, app, Environment::Live).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..10 {
        let access = world.access.clone();
        let set = rules(format!("change {number}"), vec![there]);
        tasks.spawn(async move {
            let made = access.set_routing(app, Environment::Live, set, Some(0), Batch::new());
            matches!(made.await, Ok(rules) if rules.version == 1)
        });
    }
    let made = tasks.join_all().await;
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    assert_eq!(
        world.access.routing_versions(app, Environment::Live).len(),
        1
    );
}

#[tokio::test]
async fn rules_name_connections_of_their_own_app_and_environment_only() {
    let world = World::new().await;
    let (app, other) = (world.app().await, world.app().await);
    let strangers = [
        connection(&world, other, Environment::Live).await,
        connection(&world, app, Environment::Sandbox).await,
        ConnectionId::new(app.ulid()),
    ];
    for stranger in strangers {
        let set = rules("stranger".to_owned(), vec![stranger]);
        let refusal = world
            .access
            .set_routing(app, Environment::Live, set, None, Batch::new())
            .await
            .unwrap_err();
        let AccessError::Rules(why) = &refusal else {
            panic!("{refusal}");
        };
        assert_eq!(why.path, "rules.0.strategy.connections.0");
    }
    assert_eq!(world.access.routing(app, Environment::Live), None);
}
