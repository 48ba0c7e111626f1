//! Order of a payout, as a browser sends it. `tests/tests/console_payouts.rs` has the part that
//! needs a gateway.

use std::time::Duration;

use axum::http::StatusCode;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{Kind, Transaction};
use switchyard_records::ListQuery;
use switchyard_users::Role;

use super::{Shown, World};

const FIELDS: [(&str, &str); 7] = [
    ("method", "mtn_bj"),
    ("amount", "1 500"),
    ("recipient.msisdn", "4149518161"),
    ("customer.first_name", "Awa"),
    ("customer.last_name", "Diop"),
    ("customer.email", "awa@example.com"),
    ("description", "Wages <May>"),
];

impl World {
    async fn payouts(&self) -> Vec<std::sync::Arc<Transaction>> {
        let query = ListQuery {
            app: self.test.keys.app,
            environment: Environment::Sandbox,
            kind: Kind::Payout,
            status: None,
            from: None,
            to: None,
            limit: 10,
            page: 1,
        };
        self.test.engine.list(&query).await.unwrap().items
    }

    /// Submits the form with some values changed.
    async fn payout_form(
        &self,
        page: &Shown,
        cookie: &str,
        step: &'static str,
        changes: &[(&'static str, &'static str)],
    ) -> Shown {
        let mut fields = FIELDS.to_vec();
        for (name, value) in changes {
            fields.retain(|(known, _)| known != name);
            fields.push((name, value));
        }
        fields.push(("do", step));
        self.submit(page, &self.in_app("payouts/new"), cookie, &fields)
            .await
    }
}

#[tokio::test]
async fn a_mistake_in_a_payout_is_named_beside_its_field() {
    let (world, cookie) = World::with_owner().await;
    let path = world.in_app("payouts/new?method=mtn_bj");
    let page = world.get(&path, &cookie).await;
    for (field, value) in [
        ("amount", "many"),
        ("amount", "-5"),
        ("amount", "0.5"),
        ("recipient.msisdn", ""),
        ("recipient.msisdn", "+33612345678"),
        ("customer.email", "awa"),
        ("customer.last_name", ""),
        ("description", ""),
    ] {
        for step in ["review", "send"] {
            let changes = [(field, value)];
            let refused = world.payout_form(&page, &cookie, step, &changes).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
            let beside = format!("<p class=\"error\" id=\"payout-{field}-error\"");
            assert!(refused.body.contains(&beside), "{field}: {}", refused.body);
            assert_eq!(refused.field(field), value, "the typed values are kept");
        }
    }
    assert!(world.payouts().await.is_empty());
}

#[tokio::test]
async fn only_roles_that_create_payouts_do_so_after_their_password() {
    let (world, owner) = World::with_owner().await;
    let path = world.in_app("payouts/new");
    for (role, may) in [
        (Role::Finance, true),
        (Role::Developer, false),
        (Role::Support, false),
        (Role::Viewer, false),
    ] {
        let cookie = world.member(&owner, role).await;
        let list = world.get(&world.in_app("payouts"), &cookie).await;
        assert_eq!(list.body.contains("payouts/new"), may, "{role}");
        let form = world.get(&path, &cookie).await;
        let account = world.get("/console/account", &cookie).await;
        let sent = world.payout_form(&account, &cookie, "send", &[]).await;
        match may {
            true => assert_eq!(form.status, StatusCode::OK, "{role}"),
            false => {
                assert_eq!(form.status, StatusCode::FORBIDDEN, "{role}");
                assert_eq!(sent.status, StatusCode::FORBIDDEN, "{role}");
            }
        }
    }
    let count = world.payouts().await.len();
    world.test.clock.advance(Duration::from_secs(11 * 60));
    let asked = world.get(&path, &owner).await;
    assert!(asked.leads_to().contains("/confirm?"));
    assert_eq!(world.payouts().await.len(), count);
}
