//! Connections of an app over HTTP. The creation with a real gateway is in the browser's tests.

use axum::http::StatusCode;
use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::ids::ConnectionId;
use switchyard_engine::access::NewConnection;
use switchyard_users::SecondFactor;

use super::World;

impl World {
    /// A connection of the app, whose gateway is not installed.
    async fn connection(&self, environment: Environment) -> ConnectionId {
        let new = NewConnection {
            app: self.test.keys.app,
            environment,
            gateway: "acme".to_owned(),
            account_name: "Main <shop>".to_owned(),
            methods: Some(vec!["mtn_bj".to_owned()]),
            config: json!({ "api_key": "hunter2" }),
        };
        let access = self.test.engine.access();
        access.create_connection(new).await.unwrap().id
    }
}

#[tokio::test]
async fn a_connection_shows_its_facts_and_never_its_credentials() {
    let (world, cookie) = World::with_operator().await;
    let empty = world.get(&world.in_app("connections"), &cookie).await;
    assert!(
        empty
            .body
            .contains("There is no connection in this environment yet.")
    );
    let id = world.connection(Environment::Sandbox).await;
    let list = world.get(&world.in_app("connections"), &cookie).await;
    assert!(list.body.contains("Main &#60;shop&#62;") && list.body.contains("Enabled"));
    let path = world.in_app(&format!("connections/{id}"));
    let page = world.get(&path, &cookie).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains(&format!("/callbacks/{id}")));
    assert!(page.body.contains("mtn_bj") && !page.body.contains("hunter2"));
    // It belongs to the sandbox, and to no other account.
    let live = path.replace("/sandbox/", "/live/");
    assert_eq!(
        world.get(&live, &cookie).await.status,
        StatusCode::NOT_FOUND
    );
    let access = world.test.engine.access();
    let other = access.create_account("Other").await.unwrap().id;
    world.user("eve@example.com", Some(other)).await;
    let eve = world.signed_in("eve@example.com").await;
    assert_eq!(world.get(&path, &eve).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_owner_sees_a_connection_and_changes_nothing() {
    let (world, owner) = World::with_owner().await;
    let id = world.connection(Environment::Sandbox).await;
    let path = world.in_app(&format!("connections/{id}"));
    let page = world.get(&path, &owner).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.body.contains("<form method=\"post\""));
    let account = world.get("/console/account", &owner).await;
    let refused = world
        .submit(&account, &path, &owner, &[("do", "save")])
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let access = world.test.engine.access();
    assert!(access.connection(id).unwrap().is_enabled);
}

#[tokio::test]
async fn a_connection_without_its_gateway_is_disabled_and_deleted_by_its_last_four_characters() {
    let (world, cookie) = World::with_operator().await;
    let access = world.test.engine.access();
    let id = world.connection(Environment::Sandbox).await;
    let path = world.in_app(&format!("connections/{id}"));
    let page = world.get(&path, &cookie).await;
    assert!(page.body.contains("the connection can be disabled only"));
    let off = world.submit(&page, &path, &cookie, &[("do", "save")]).await;
    assert!(off.leads_to().ends_with("?done=connection-saved"));
    let stored = access.connection(id).unwrap();
    assert!(!stored.is_enabled && stored.account_name == "Main <shop>");
    let page = world.get(&path, &cookie).await;
    let wrong = [("do", "delete"), ("last_four", "nope")];
    let refused = world.submit(&page, &path, &cookie, &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused
            .body
            .contains("These are not the last four characters")
    );
    assert!(
        refused.body.contains("value=\"nope\""),
        "the typed values are kept"
    );
    assert!(access.connection(id).is_some());
    let text = id.to_string();
    let right = [("do", "delete"), ("last_four", &text[text.len() - 4..])];
    let deleted = world.submit(&refused, &path, &cookie, &right).await;
    let list = world.get(deleted.leads_to(), &cookie).await;
    assert!(list.body.contains("The connection was deleted."));
    assert!(access.connection(id).is_none());
    assert_eq!(
        world.audited().await[..2],
        ["manage_connections", "manage_connections"]
    );
}

#[tokio::test]
async fn connections_need_the_password_again_after_ten_minutes() {
    let (world, cookie) = World::with_operator().await;
    let later = std::time::Duration::from_secs(11 * 60);
    world.test.clock.advance(later);
    let path = world.in_app("connections/new");
    let led = world.get(&path, &cookie).await;
    assert!(led.leads_to().starts_with("/console/confirm?next="));
    let list = world.get(&world.in_app("connections"), &cookie).await;
    assert_eq!(list.status, StatusCode::OK, "reading needs no confirmation");
}

#[tokio::test]
async fn without_a_gateway_there_is_nothing_to_connect() {
    let world = World::new(SecondFactor::Optional).await;
    world.user("otto@example.com", None).await;
    let cookie = world.signed_in("otto@example.com").await;
    let path = world.in_app("connections/new");
    let page = world.get(&path, &cookie).await;
    assert!(page.body.contains("No gateway is installed."));
    let unknown = format!("{path}?gateway=acme");
    let shown = world.get(&unknown, &cookie).await;
    assert_eq!(shown.status, StatusCode::NOT_FOUND);
}
