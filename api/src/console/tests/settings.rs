//! Settings of an app, as a browser sends them.

use axum::http::StatusCode;
use switchyard_users::{AuditQuery, Role};

use super::{Shown, World};

/// Fields of the form with the app's own values in place of those that a test names.
fn form(page: &Shown, changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let mut fields: Vec<_> = ["seen", "name", "website_url", "merchant_email"]
        .into_iter()
        .chain(["checkout_attempts", "conversion", "accent_colour"])
        .chain(["support_email", "support_phone", "support_url"])
        .map(|name| (name, page.field(name)))
        .collect();
    for (name, value) in changes {
        fields.retain(|(known, _)| known != name);
        fields.push((*name, (*value).to_owned()));
    }
    fields
}

async fn save(world: &World, cookie: &str, changes: &[(&'static str, &str)]) -> Shown {
    let path = world.in_app("settings");
    let page = world.get(&path, cookie).await;
    let fields = form(&page, changes);
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    world.submit(&page, &path, cookie, &fields).await
}

#[tokio::test]
async fn saved_settings_change_the_app_and_its_audit_log() {
    let (world, cookie) = World::with_owner().await;
    let saved = save(
        &world,
        &cookie,
        &[
            ("name", "Awa's <shop>"),
            ("merchant_email", "orders@shop.example"),
            ("notify_merchant", "on"),
            ("checkout_attempts", "2"),
            ("locale", "fr"),
            ("conversion", "1,5"),
            ("accent_colour", "#7A4B00"),
            ("support_phone", "+229 01 97 80 80 80"),
        ],
    );
    assert!(saved.await.leads_to().contains("done=settings-saved"));
    let app = world.test.engine.access().app(world.test.keys.app);
    let app = app.unwrap();
    let settings = &app.settings;
    assert_eq!(app.name, "Awa's <shop>");
    assert_eq!(
        settings.merchant_email.as_deref(),
        Some("orders@shop.example")
    );
    assert!(settings.notify_merchant && !settings.notify_customer);
    assert_eq!(settings.checkout_attempts, 2);
    assert_eq!(settings.locale.as_deref(), Some("fr"));
    assert_eq!(settings.conversion.unwrap().to_string(), "1.5");
    assert_eq!(settings.accent_colour.as_deref(), Some("#7a4b00"));
    let query = AuditQuery {
        limit: 1,
        ..AuditQuery::default()
    };
    let entry = world.users.audit(&query).await.unwrap().entries.remove(0);
    assert_eq!(entry.action, "manage_app_settings");
    assert_eq!(entry.after["checkout_attempts"], 2);
    let page = world.get(&world.in_app("settings"), &cookie).await;
    assert!(page.body.contains(".preview{--accent:#7a4b00;"));
    assert!(page.body.contains("Awa&#39;s &#60;shop&#62;"));
}

#[tokio::test]
async fn a_mistake_is_named_beside_its_field_and_nothing_is_saved() {
    let (world, cookie) = World::with_owner().await;
    let before = world.test.engine.access().app(world.test.keys.app);
    for (field, value, problem) in [
        ("name", "", "console-name-invalid"),
        ("website_url", "shop", "console-website-invalid"),
        ("merchant_email", "orders", "console-email-invalid"),
        ("checkout_attempts", "6", "console-attempts-invalid"),
        ("checkout_attempts", "many", "console-attempts-invalid"),
        ("conversion", "200", "console-conversion-invalid"),
        ("accent_colour", "green", "console-colour-invalid"),
        ("support_email", "help@", "console-email-invalid"),
        ("support_phone", "call us", "console-phone-invalid"),
        (
            "support_url",
            "http://shop.example",
            "console-support-url-invalid",
        ),
    ] {
        let refused = save(&world, &cookie, &[(field, value)]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        let beside = format!("<p class=\"error\" id=\"settings-{field}-error\"");
        assert!(refused.body.contains(&beside), "{field}: {}", refused.body);
        let text = crate::console::text::Text(switchyard_core::language::Language::En);
        let problem = text.say(problem);
        assert!(refused.body.contains(&problem), "{field}: {problem}");
        assert_eq!(refused.field(field), value, "the typed values are kept");
    }
    let pale = save(&world, &cookie, &[("accent_colour", "#ffcc00")]).await;
    let proposed = pale.body.split("Use #").nth(1).expect("a darker colour");
    let proposed = format!("#{}", &proposed[..6]);
    let now = world.test.engine.access().app(world.test.keys.app);
    assert_eq!(before.unwrap().updated_at, now.unwrap().updated_at);
    let saved = save(&world, &cookie, &[("accent_colour", &proposed)]).await;
    assert!(saved.leads_to().contains("settings-saved"), "{proposed}");
}

#[tokio::test]
async fn a_preview_saves_nothing_and_an_old_form_is_refused() {
    let (world, cookie) = World::with_owner().await;
    let changes = [("do", "preview"), ("name", "Another name")];
    let preview = save(&world, &cookie, &changes).await;
    assert_eq!(preview.status, StatusCode::OK);
    assert!(preview.body.contains("<b><bdi>Another name</bdi></b>"));
    let app = world.test.engine.access().app(world.test.keys.app);
    assert_ne!(app.unwrap().name, "Another name");

    let path = world.in_app("settings");
    let old = world.get(&path, &cookie).await;
    world.test.clock.advance(std::time::Duration::from_secs(1));
    let saved = save(&world, &cookie, &[("name", "First")]).await;
    assert!(saved.leads_to().contains("settings-saved"));
    let fields = form(&old, &[("name", "Second")]);
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let refused = world.submit(&old, &path, &cookie, &fields).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(refused.field("name"), "Second", "the typed values are kept");
    let app = world.test.engine.access().app(world.test.keys.app);
    assert_eq!(app.unwrap().name, "First");
}

#[tokio::test]
async fn roles_without_the_right_see_the_settings_and_cannot_change_them() {
    let (world, owner) = World::with_owner().await;
    for (role, may) in [
        (Role::Admin, true),
        (Role::Developer, true),
        (Role::Finance, false),
        (Role::Support, false),
        (Role::Viewer, false),
    ] {
        let cookie = world.member(&owner, role).await;
        let page = world.get(&world.in_app("settings"), &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{role}");
        assert_eq!(page.body.contains("value=\"save\""), may, "{role}");
        let sent = save(&world, &cookie, &[("checkout_attempts", "4")]).await;
        match may {
            true => assert!(sent.leads_to().contains("settings-saved"), "{role}"),
            false => assert_eq!(sent.status, StatusCode::FORBIDDEN, "{role}"),
        }
    }
}
