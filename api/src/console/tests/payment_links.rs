//! Payment links in the console: the form with its errors, one link, disabling.

use axum::http::StatusCode;
use switchyard_users::Role;

use super::{Shown, World};

const FIELDS: [(&str, &str); 3] = [
    ("title", "Tickets <May>"),
    ("currency", "XOF"),
    ("amount", "2 500"),
];

impl World {
    /// Submits the form of a new link with some values changed.
    async fn link_form(&self, cookie: &str, changes: &[(&'static str, &'static str)]) -> Shown {
        let path = self.in_app("payment-links/new");
        let page = self.get(&path, cookie).await;
        let mut fields = FIELDS.to_vec();
        for (name, value) in changes {
            fields.retain(|(known, _)| known != name);
            fields.push((name, value));
        }
        fields.push(("do", "create"));
        self.submit(&page, &path, cookie, &fields).await
    }

    /// Path of the page of a new link.
    async fn link(&self, cookie: &str) -> String {
        let made = self.link_form(cookie, &[]).await;
        let to = made.leads_to();
        to.split('?').next().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn a_mistake_in_a_link_is_named_beside_its_field_and_nothing_is_lost() {
    let (world, cookie) = World::with_owner().await;
    for (field, value, at) in [
        ("title", "", "title"),
        ("currency", "XXX", "currency"),
        ("amount", "many", "amount"),
        ("amount", "2,500", "amount"),
        ("amount", "0.5", "amount"),
        ("min_amount", "5", "amount"),
        ("max_uses", "none", "max_uses"),
        ("max_uses", "10001", "max_uses"),
        ("expires_at", "2020-01-01", "expires_at"),
        ("return_url", "shop", "return_url"),
    ] {
        let refused = world.link_form(&cookie, &[(field, value)]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        let beside = format!("<p class=\"error\" id=\"create-{at}-error\"");
        assert!(refused.body.contains(&beside), "{field}: {}", refused.body);
        assert_eq!(refused.field(field), value, "the typed values are kept");
    }
    let list = world.get(&world.in_app("payment-links"), &cookie).await;
    assert!(list.body.contains("There is no payment link yet."));
}

#[tokio::test]
async fn a_new_link_shows_its_address_and_can_be_disabled() {
    let (world, cookie) = World::with_owner().await;
    let link = world.link(&cookie).await;
    let page = world.get(&link, &cookie).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("Tickets &#60;May&#62;"), "{}", page.body);
    assert!(page.body.contains("XOF\u{a0}2\u{a0}500"));
    assert!(
        page.body.contains("<svg viewBox=\"0 0 ") && page.body.contains("aria-label=\"QR code")
    );
    assert!(page.field("address").contains("/l/"));
    let sent = world
        .submit(&page, &link, &cookie, &[("do", "disable")])
        .await;
    assert!(sent.leads_to().ends_with("?done=link-disabled"));
    let page = world.get(sent.leads_to(), &cookie).await;
    assert!(page.body.contains("The link is disabled."));
    assert!(page.body.contains("takes no payments until you enable it"));
    let sent = world
        .submit(&page, &link, &cookie, &[("do", "enable")])
        .await;
    let page = world.get(sent.leads_to(), &cookie).await;
    assert!(page.body.contains("The link takes payments."));
    let list = world.get(&world.in_app("payment-links"), &cookie).await;
    assert!(list.body.contains(&link) && list.body.contains("Active"));
    let live = link.replace("/sandbox/", "/live/");
    assert_eq!(
        world.get(&live, &cookie).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_viewer_sees_links_and_changes_none() {
    let (world, owner) = World::with_owner().await;
    let link = world.link(&owner).await;
    for (role, may) in [
        (Role::Support, true),
        (Role::Finance, true),
        (Role::Developer, true),
        (Role::Viewer, false),
    ] {
        let cookie = world.member(&owner, role).await;
        let list = world.get(&world.in_app("payment-links"), &cookie).await;
        assert_eq!(list.body.contains("payment-links/new"), may, "{role}");
        let page = world.get(&link, &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{role}");
        assert_eq!(page.body.contains("value=\"disable\""), may, "{role}");
    }
}
