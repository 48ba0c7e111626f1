//! The export of a list: its filters and columns, who may, and its entry in the audit log.

use axum::http::StatusCode;
use switchyard_core::testing::fixtures::{declined, succeeded};
use switchyard_core::transaction::Kind;
use switchyard_users::{AuditQuery, Role};

use super::World;

#[tokio::test]
async fn a_list_is_exported_with_its_filter_and_the_chosen_columns_and_recorded() {
    let (world, owner) = World::with_owner().await;
    let paid = world.stored(5, vec![succeeded()]).await;
    let failed = world.stored(6, vec![declined(false)]).await;
    let payout = world
        .stored_of(Kind::Payout, 7, "USD", vec![succeeded()])
        .await;
    let columns = "column=id&column=status&column=amount&column=currency&column=failure_reason";
    for (path, expected) in [
        (
            format!("payments.csv?{columns}"),
            format!(
                "{paid},success,25.00,USD,\r\n{failed},failed,25.00,USD,insufficient_funds\r\n"
            ),
        ),
        (
            format!("payments.csv?status=success&{columns}"),
            format!("{paid},success,25.00,USD,\r\n"),
        ),
        (
            format!("payments.csv?q={failed}&{columns}"),
            format!("{failed},failed,25.00,USD,insufficient_funds\r\n"),
        ),
        (
            format!("payouts.csv?{columns}"),
            format!("{payout},success,25.00,USD,\r\n"),
        ),
        (
            format!("payments.csv?from=2999-01-01&{columns}"),
            String::new(),
        ),
    ] {
        let file = world.get(&world.in_app(&path), &owner).await;
        assert_eq!(file.status, StatusCode::OK, "{path}");
        assert_eq!(
            file.headers["content-type"],
            "text/csv; charset=utf-8; header=present"
        );
        let head = "id,status,amount,currency,failure_reason\r\n";
        assert_eq!(file.body, format!("{head}{expected}"), "{path}");
    }
    let query = AuditQuery {
        action: Some("export_data".to_owned()),
        limit: 50,
        ..AuditQuery::default()
    };
    let exports = world.users.audit(&query).await.unwrap();
    assert_eq!(exports.entries.len(), 5);
}

#[tokio::test]
async fn an_export_with_unreadable_days_leads_to_the_list_that_says_so() {
    let (world, owner) = World::with_owner().await;
    let file = world
        .get(&world.in_app("payments.csv?from=yesterday"), &owner)
        .await;
    assert_eq!(file.leads_to(), world.in_app("payments?from=yesterday"));
}

#[tokio::test]
async fn only_roles_that_may_export_get_the_file_and_its_form() {
    let (world, owner) = World::with_owner().await;
    world.stored(5, vec![succeeded()]).await;
    let (list, file) = (world.in_app("payments"), world.in_app("payments.csv"));
    for (role, may) in [
        (Role::Finance, true),
        (Role::Developer, false),
        (Role::Support, false),
        (Role::Viewer, false),
    ] {
        let cookie = world.member(&owner, role).await;
        let shown = world.get(&list, &cookie).await;
        assert_eq!(shown.body.contains("payments.csv"), may, "{role}");
        let answer = world.get(&file, &cookie).await;
        let expected = if may {
            StatusCode::OK
        } else {
            StatusCode::FORBIDDEN
        };
        assert_eq!(answer.status, expected, "{role}");
    }
    let foreign = "/console/apps/app_01k00000000000000000000000/sandbox/payments.csv";
    assert_eq!(
        world.get(foreign, &owner).await.status,
        StatusCode::NOT_FOUND
    );
    let stranger = world.get(&file, "").await;
    assert!(stranger.leads_to().starts_with("/console/sign-in"));
}
