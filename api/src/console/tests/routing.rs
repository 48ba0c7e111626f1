//! Routing rules of an app over HTTP: in words, previewed, saved, and brought back.

use axum::http::StatusCode;
use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::ids::ConnectionId;
use switchyard_core::routing::Strategy;
use switchyard_engine::access::NewConnection;

use super::{Shown, World};

impl World {
    async fn connection_named(&self, account_name: &str) -> ConnectionId {
        let new = NewConnection {
            app: self.test.keys.app,
            environment: Environment::Sandbox,
            gateway: "acme".to_owned(),
            account_name: account_name.to_owned(),
            methods: None,
            config: json!({}),
        };
        let access = self.test.engine.access();
        access.create_connection(new).await.unwrap().id
    }

    fn rules(&self) -> Vec<switchyard_core::routing::Rule> {
        let access = self.test.engine.access();
        let rules = access.routing(self.test.keys.app, Environment::Sandbox);
        rules.map_or_else(Vec::new, |rules| rules.set.rules.clone())
    }

    /// Sends the form of a preview.
    async fn save_rules(&self, preview: &Shown, cookie: &str) -> Shown {
        assert_eq!(preview.status, StatusCode::OK, "{}", preview.body);
        let quotes = |text: String| text.replace("&#34;", "\"");
        let (set, replaces) = (quotes(preview.field("set")), preview.field("replaces"));
        let fields = [
            ("do", "save"),
            ("set", set.as_str()),
            ("replaces", replaces.as_str()),
        ];
        let path = self.in_app("routing/edit");
        self.submit(preview, &path, cookie, &fields).await
    }
}

#[tokio::test]
async fn a_rule_is_entered_previewed_in_words_and_saved_as_the_next_version() {
    let (world, cookie) = World::with_operator().await;
    let (first, second) = (
        world.connection_named("First").await,
        world.connection_named("Second").await,
    );
    let path = world.in_app("routing/edit");
    let page = world.get(&path, &cookie).await;
    let (one, two) = (
        format!("connection.{first}"),
        format!("connection.{second}"),
    );
    let fields = [
        ("do", "rule"),
        ("name", "Mobile <money>"),
        ("match.kind", "payment"),
        ("match.countries", "bj, tg"),
        ("match.currencies", "xof"),
        ("match.max_amount", "500000"),
        ("strategy", "priority"),
        (one.as_str(), "2"),
        (two.as_str(), "1"),
        ("only", "yes"),
    ];
    let preview = world.submit(&page, &path, &cookie, &fields).await;
    assert!(preview.body.contains("1. Mobile &#60;money&#62;"));
    assert!(
        preview
            .body
            .contains("Payments; in BJ, TG; in the currency XOF; up to 500000")
    );
    let order = "In this order: Second (acme), First (acme) (and no others)";
    assert!(preview.body.contains(order));
    assert!(world.rules().is_empty(), "a preview saves nothing");
    let saved = world.save_rules(&preview, &cookie).await;
    assert_eq!(saved.leads_to(), world.in_app("routing?done=routing-saved"));
    let rules = world.rules();
    let Strategy::Priority { connections } = &rules[0].strategy else {
        panic!("another strategy");
    };
    assert_eq!(*connections, [second, first]);
    assert_eq!(world.audited().await[0], "manage_routing");
    let list = world.get(&world.in_app("routing"), &cookie).await;
    assert!(list.body.contains(order));
    // The same preview is of an earlier version now.
    let late = world.get(&path, &cookie).await;
    let fields = [("do", "save"), ("set", "{}"), ("replaces", "0")];
    let refused = world.submit(&late, &path, &cookie, &fields).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(world.rules().len(), 1);
    let page = world.get(&path, &cookie).await;
    let fields = [("do", "remove"), ("rule", "0")];
    let preview = world.submit(&page, &path, &cookie, &fields).await;
    world.save_rules(&preview, &cookie).await.leads_to();
    assert!(world.rules().is_empty());
    // The earlier version is brought back as the next one.
    let earlier = world.get(&format!("{path}?version=1"), &cookie).await;
    assert!(earlier.body.contains("Mobile"));
}

#[tokio::test]
async fn errors_of_rules_name_their_place_and_nothing_is_lost() {
    let (world, cookie) = World::with_operator().await;
    let first = world.connection_named("First").await;
    let path = world.in_app("routing/edit");
    let page = world.get(&path, &cookie).await;
    let number = format!("connection.{first}");
    for (field, value, told) in [
        ("match.methods", "no_such_method", "no method is called"),
        ("match.countries", "XX", "there is no country XX"),
        ("match.currencies", "XXQ", "There is no currency XXQ."),
        ("match.min_amount", "5", "name at least one"),
        (number.as_str(), "first", "is a whole number"),
    ] {
        let fields = [("do", "rule"), ("name", "Kept"), (field, value)];
        let refused = world.submit(&page, &path, &cookie, &fields).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        assert!(refused.body.contains(told), "{field}: {}", refused.body);
        assert!(refused.body.contains("value=\"Kept\""), "{field}");
        assert!(
            refused.body.contains(&format!("value=\"{value}\"")),
            "{field}"
        );
    }
    let json = "{\"rules\": [\n{\"strategy\": 7}]}";
    let refused = world
        .submit(&page, &path, &cookie, &[("do", "json"), ("set", json)])
        .await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("line 2") && refused.body.contains("strategy&#34;: 7"));
    assert!(world.rules().is_empty());
}
