//! Payment links of an app, as the account API creates, lists and disables them.

use serde_json::{Value, json};
use switchyard_users::Role;

use super::World;

fn request() -> Value {
    json!({
        "title": "Tickets", "currency": "USD", "min_amount": "5.50", "max_amount": 1500,
        "max_uses": 3, "metadata": { "order": "7" },
    })
}

#[tokio::test]
async fn a_link_is_created_listed_disabled_and_enabled() {
    let world = World::new().await;
    let owner = world.roles().await[0].1.clone();
    let all = world.in_scope("payment-links");
    let made = world.call("POST", &all, &owner, request()).await;
    assert_eq!(made.0, 201, "{}", made.1);
    let link = &made.1["data"];
    assert_eq!(link["state"], "active");
    assert_eq!(
        link["min_amount"],
        json!({ "minor": 550, "currency": "USD" })
    );
    assert_eq!(link["description"], "Tickets");
    let url = link["url"].as_str().unwrap();
    let (_, code) = url.split_once("/l/").unwrap();
    assert_eq!(code.len(), 16, "{url}");
    let one = format!("{all}/{}", link["id"].as_str().unwrap());
    assert_eq!(&world.get(&one, &owner).await, link);
    for (change, state) in [
        ("disable", "disabled"),
        ("disable", "disabled"),
        ("enable", "active"),
    ] {
        let path = format!("{one}/{change}");
        let changed = world.call("POST", &path, &owner, Value::Null).await;
        assert_eq!(changed.1["data"]["state"], state, "{}", changed.1);
    }
    let payments = world.get(&format!("{one}/payments"), &owner).await;
    assert_eq!(payments["transactions"], json!([]));
    let live = one.replace("/sandbox/", "/live/");
    assert_eq!(world.call("GET", &live, &owner, Value::Null).await.0, 404);
}

#[tokio::test]
async fn links_are_listed_in_pages_for_everybody_who_sees_payments() {
    let world = World::new().await;
    let roles = world.roles().await;
    let all = world.in_scope("payment-links");
    for _ in 0..3 {
        let made = world.call("POST", &all, &roles[0].1, request()).await;
        assert_eq!(made.0, 201, "{}", made.1);
        world.test.clock.advance(std::time::Duration::from_secs(1));
    }
    for (role, session) in &roles {
        let first = world.get(&format!("{all}?limit=2"), session).await;
        let more = first["more"].as_str().unwrap();
        let rest = world.get(&format!("{all}?before={more}"), session).await;
        let count = |page: &Value| page["links"].as_array().unwrap().len();
        assert_eq!((count(&first), count(&rest)), (2, 1), "{role}");
        assert_eq!(rest["more"], Value::Null);
    }
    for (role, session) in &roles {
        let made = world.call("POST", &all, session, request()).await;
        let status = if *role == Role::Viewer { 403 } else { 201 };
        assert_eq!(made.0, status, "{role}: {}", made.1);
    }
}
