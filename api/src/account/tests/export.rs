//! The export of payments and payouts as CSV.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_engine::access::KeyKind;
use switchyard_users::Action;
use tower::ServiceExt as _;

use super::World;

/// The file of an export.
async fn file(world: &World, query: &str, token: &str) -> String {
    let path = world.in_scope(&format!("transactions.csv{query}"));
    let request = Request::builder()
        .uri(format!("{}{path}", super::super::PREFIX))
        .header("authorization", format!("Bearer {token}"))
        .body(Body::empty());
    let response = world.router.clone().oneshot(request.unwrap()).await;
    let response = response.unwrap();
    assert_eq!(response.status().as_u16(), 200, "{query}");
    let headers = response.headers();
    assert_eq!(
        headers["content-type"],
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(headers["cache-control"], "no-store");
    let bytes = to_bytes(response.into_body(), 1 << 22).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_has_each_payment_with_the_columns_that_the_sender_may_see() {
    let world = World::new().await;
    world.owner("owner@example.com", world.account()).await;
    let owner = world.session("owner@example.com").await;
    let access = world.test.engine.access();
    let key = access.create_key(
        world.test.keys.app,
        Environment::Sandbox,
        KeyKind::Secret,
        None,
    );
    let key = key.await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        world.test.clock.advance(Duration::from_secs(1));
        ids.push(world.payment(key.secret.expose()).await);
    }
    ids.reverse();
    let rows = file(&world, "?columns=id,email", &owner).await;
    let email = rows.lines().nth(1).unwrap().split_once(',').unwrap().1;
    assert!(email.contains('@'), "{rows}");
    let expected: Vec<_> = ids.iter().map(|id| format!("{id},{email}")).collect();
    assert_eq!(rows, format!("id,email\r\n{}\r\n", expected.join("\r\n")));
    let found = file(&world, &format!("?columns=id&text={}", ids[1]), &owner).await;
    assert_eq!(found, format!("id\r\n{}\r\n", ids[1]));
    let none = file(&world, "?kind=payout&columns=id", &owner).await;
    assert_eq!(none, "id\r\n");

    let heading = |rows: &str| rows.lines().next().unwrap().to_owned();
    let narrow = world.token(&owner, [Action::ExportData]).await;
    let rows = file(&world, "", &narrow).await;
    assert!(!heading(&rows).contains("email") && !rows.contains('@'));
    let wide = [Action::ExportData, Action::ViewPersonalData];
    let wide = world.token(&owner, wide).await;
    let rows = file(&world, "", &wide).await;
    assert!(heading(&rows).contains("email") && rows.contains('@'));
    let other = world.token(&owner, [Action::ViewPayments]).await;
    for (token, query, status, code) in [
        (&narrow, "?columns=id,email", 403, "action_not_in_token"),
        (&other, "", 403, "action_not_in_token"),
        (&owner, "?columns=secret", 422, "field_invalid"),
        (&owner, "?text=a&status=failed", 422, "field_invalid"),
        (&owner, "?page=2", 422, "parameter_invalid"),
    ] {
        let path = world.in_scope(&format!("transactions.csv{query}"));
        let refused = world.call("GET", &path, token, Value::Null).await;
        assert_eq!((refused.0, refused.code()), (status, code), "{query}");
    }

    let log = world.in_account("audit?action=export_data");
    let log = world.get(&log, &owner).await;
    let entries = log["entries"].as_array().unwrap();
    let done = entries.iter().filter(|one| one["result"] == "succeeded");
    let done: Vec<_> = done.map(|one| &one["after"]).collect();
    assert_eq!(done.len(), 5, "{log}");
    let first = done[4];
    assert_eq!(first["columns"], json!(["id", "email"]));
    assert_eq!(first["environment"], "sandbox");
    assert_eq!(done[3]["is_search"], true);
    assert!(!log.to_string().contains(&ids[1]), "without the text");
}
