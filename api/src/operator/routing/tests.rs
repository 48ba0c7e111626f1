//! The routing endpoints through their routes, on a memory store. No gateway is loaded: what really
//! runs has a test of its own.

use serde_json::{Value, json};

use crate::operator::tests::World;

struct Shop {
    world: World,
    app: String,
    connections: Vec<String>,
}

impl Shop {
    /// An app with two live connections and one in sandbox, to gateways that are not loaded.
    async fn new() -> Self {
        let world = World::new().await;
        let app = world.app();
        let mut connections = Vec::new();
        for (name, environment) in [("one", "live"), ("two", "live"), ("play", "sandbox")] {
            let new = switchyard_engine::access::NewConnection {
                app: app.parse().unwrap(),
                environment: environment.parse().unwrap(),
                gateway: name.to_owned(),
                account_name: name.to_owned(),
                methods: None,
                config: json!({}),
            };
            let made = world.engine.access().create_connection(new).await.unwrap();
            connections.push(made.id.to_string());
        }
        Self {
            world,
            app,
            connections,
        }
    }

    fn path(&self) -> String {
        format!("/apps/{}/routing", self.app)
    }

    fn rules(&self) -> Value {
        let priority = json!({ "type": "priority", "connections": [self.connections[1]] });
        json!([{ "name": "mtn", "match": { "methods": ["mtn_*"], "countries": ["BJ"] }, "strategy": priority }])
    }

    fn fees(&self) -> Value {
        json!([{ "connection": self.connections[0], "currency": "XOF", "percent": "1.5" }])
    }
}

#[tokio::test]
async fn rules_are_replaced_as_a_whole_version_by_version_and_earlier_ones_can_be_read() {
    let shop = Shop::new().await;
    let live = format!("{}?environment=live", shop.path());
    let none = shop.world.get(&live).await;
    assert_eq!((&none["version"], &none["rules"]), (&json!(0), &json!([])));
    let first =
        json!({ "environment": "live", "rules": shop.rules(), "fees": shop.fees(), "replaces": 0 });
    let made = shop.world.done("PUT", &shop.path(), first.clone()).await;
    assert_eq!(made["version"], 1);
    assert_eq!(made["rules"][0]["match"], shop.rules()[0]["match"]);
    let stale = shop.world.refused("PUT", &shop.path(), first).await;
    assert_eq!(stale, (409, "resource_changed".to_owned()));
    let second = json!({ "environment": "live", "rules": [] });
    assert_eq!(
        shop.world.done("PUT", &shop.path(), second).await["version"],
        2
    );
    let now = shop.world.get(&live).await;
    assert_eq!((&now["version"], &now["rules"]), (&json!(2), &json!([])));
    assert_eq!(now["versions"].as_array().unwrap().len(), 2);
    let before = shop.world.get(&format!("{live}&version=1")).await;
    assert_eq!(before["fees"], shop.fees());
    let (status, _) = shop
        .world
        .call("GET", &format!("{live}&version=9"), Value::Null)
        .await;
    assert_eq!(status, 404);
    let sandbox = shop.world.get(&shop.path()).await;
    assert_eq!(
        sandbox["version"], 0,
        "environments have rules of their own"
    );
}

#[tokio::test]
async fn rules_that_cannot_be_meant_are_refused_with_their_place() {
    let shop = Shop::new().await;
    let rule = |id: &str| json!({ "strategy": { "type": "priority", "connections": [id] } });
    let with = |name: &str, value: Value| {
        let mut rule = rule(&shop.connections[0]);
        rule["match"] = json!({ name: value });
        json!([rule])
    };
    let stranger = "con_01jd2nq3v4k5m6n7p8q9r0s1t2";
    let table = [
        (
            json!([rule(&shop.connections[2])]),
            "rules.0.strategy.connections.0",
        ),
        (json!([rule(stranger)]), "rules.0.strategy.connections.0"),
        (
            with("methods", json!(["no_such_method"])),
            "rules.0.match.methods.0",
        ),
        (
            with("countries", json!(["ZZ"])),
            "rules.0.match.countries.0",
        ),
        (with("min_amount", json!("5")), "rules.0.match.min_amount"),
    ];
    for (rules, place) in table {
        let body = json!({ "environment": "live", "rules": rules });
        let (status, answer) = shop.world.call("PUT", &shop.path(), body.clone()).await;
        assert_eq!(status, 422, "{answer}");
        assert_eq!(answer["errors"][0]["field"], place, "{answer}");
        let simulation = json!({
            "app": shop.app, "environment": "live", "rules": body["rules"],
            "traffic": { "from": "2026-01-01", "to": "2026-01-02" },
        });
        let (status, _) = shop
            .world
            .call("POST", "/routing/simulate", simulation)
            .await;
        assert_eq!(status, 422, "{place}");
    }
    let nonsense =
        json!({ "environment": "live", "rules": [{ "strategy": { "type": "fastest" } }] });
    let (status, answer) = shop.world.call("PUT", &shop.path(), nonsense).await;
    assert_eq!(status, 422);
    assert!(
        answer["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("best_success_rate")
    );
    let versions = shop
        .world
        .engine
        .access()
        .routing_versions(shop.app.parse().unwrap(), "live".parse().unwrap());
    assert_eq!(versions, [], "nothing of it was stored");
}

#[tokio::test]
async fn a_simulation_needs_one_thing_to_simulate_and_changes_nothing() {
    let shop = Shop::new().await;
    let request =
        json!({ "kind": "payment", "method": "mtn_bj", "amount": "500", "currency": "XOF" });
    let traffic = json!({ "from": "2026-01-01", "to": "2026-12-31" });
    let base = json!({ "app": shop.app, "environment": "live", "rules": shop.rules() });
    let with = |parts: &[(&str, &Value)]| {
        let mut body = base.clone();
        for (name, part) in parts {
            body[*name] = (*part).clone();
        }
        body
    };
    for body in [
        with(&[]),
        with(&[("request", &request), ("traffic", &traffic)]),
        with(&[(
            "traffic",
            &json!({ "from": "2026-02-01", "to": "2026-01-01" }),
        )]),
        with(&[(
            "request",
            &json!({ "kind": "payment", "method": "mtn_bj", "amount": "0.5", "currency": "XOF" }),
        )]),
    ] {
        let refused = shop.world.refused("POST", "/routing/simulate", body).await;
        assert_eq!(refused, (422, "field_invalid".to_owned()));
    }
    let decided = shop
        .world
        .done("POST", "/routing/simulate", with(&[("request", &request)]))
        .await;
    assert_eq!(decided["chosen"], Value::Null);
    assert_eq!(decided["skipped"].as_array().unwrap().len(), 2);
    assert_eq!(
        decided["skipped"][0]["because"],
        "its gateway is not loaded"
    );
    assert_eq!(decided["rule"]["name"], "mtn");
    assert_eq!(decided["rule"]["version"], 0, "it was only tried");
    let replayed = shop
        .world
        .done("POST", "/routing/simulate", with(&[("traffic", &traffic)]))
        .await;
    assert_eq!(replayed["total"], 0);
    let live = format!("{}?environment=live", shop.path());
    assert_eq!(shop.world.get(&live).await["version"], 0);
    assert_eq!(shop.world.get("/routing/health").await, json!([]));
}
