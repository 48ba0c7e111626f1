//! Every route of the console with every role, without a session, after the time in which no
//! password is asked for, and with the ids of another merchant.
//!
//! [`table::ROUTES`] names the action of each request; who may perform it is in the table of
//! `switchyard_users`. A route that has no row fails the test.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId};
use switchyard_engine::access::{
    AppSettings, KeyKind, NewApp, NewConnection, NewWebhook, WebhookOptions,
};
use switchyard_users::{Action, Role, SecondFactor, allows, requires_recent_authentication};

use self::table::{Access, ROUTES, Row};
use super::{Shown, World};
use Access::{Missing, Of, Open, Reader};

/// Actions of the installation's pages that the table gives to roles of accounts, too. Such a role
/// covers its own account only.
fn is_allowed(role: Role, action: Action, path: &str) -> bool {
    let covers = path.starts_with('*') || matches!(role, Role::Operator | Role::Auditor);
    covers && allows(role, action)
}

/// Objects of an app, by the part of the path that names one.
type Objects = BTreeMap<&'static str, String>;

/// Ids that nothing has.
const UNKNOWN: &str = "unknown";

/// Address of a row.
fn address(path: &str, app: AppId, objects: &Objects) -> String {
    let path = path.replacen('*', &format!("/apps/{app}/sandbox"), 1);
    let parts = path.split('/').map(|part| match part.starts_with('{') {
        true => objects.get(part).map_or(UNKNOWN, String::as_str),
        false => part,
    });
    let parts: Vec<_> = parts.collect();
    format!("/console{}", parts.join("/"))
}

impl World {
    pub async fn app_of(&self, account: AccountId) -> AppId {
        let access = self.test.engine.access();
        let new = NewApp {
            account,
            name: "Second shop".to_owned(),
            website_url: None,
            icon_url: None,
            settings: AppSettings::default(),
        };
        access.create_app(new).await.unwrap().id
    }

    /// An object of each kind that needs no gateway.
    async fn objects(&self, app: AppId, member: &str) -> Objects {
        let access = self.test.engine.access();
        let key = access.create_key(app, Environment::Sandbox, KeyKind::Secret, None);
        let key = key.await.unwrap();
        let webhook = access.create_webhook(NewWebhook {
            app,
            url: "https://shop.example/hook".to_owned(),
            secret: None,
            options: WebhookOptions::default(),
        });
        let connection = access.create_connection(NewConnection {
            app,
            environment: Environment::Sandbox,
            gateway: "acme".to_owned(),
            account_name: "Main".to_owned(),
            methods: Some(vec!["mtn_bj".to_owned()]),
            config: serde_json::json!({}),
        });
        let payment = self.payment_with(key.secret.expose()).await;
        let stored = self.test.engine.transaction(payment.parse().unwrap());
        let customer = stored.await.unwrap().unwrap().customer.id;
        [
            ("{id}", payment),
            ("{customer}", customer.to_string()),
            ("{key}", key.key.id.to_string()),
            ("{webhook}", webhook.await.unwrap().id.to_string()),
            ("{connection}", connection.await.unwrap().id.to_string()),
            (
                "{user}",
                self.users.user_by_email(member).unwrap().id.to_string(),
            ),
        ]
        .into()
    }

    /// Sends the request of a row, with the token of the reader's session.
    async fn ask(&self, row: &Row, path: &str, cookie: &str, csrf: &str) -> Shown {
        let (method, field) = (row.method, row.field);
        match method {
            "GET" => self.get(path, cookie).await,
            _ => {
                let mut fields = vec![("csrf", csrf)];
                fields.extend(field.split_once('='));
                self.post(path, cookie, &fields).await
            }
        }
    }

    /// Address of a viewer whom the others' forms are about.
    async fn target(&self, roles: &[(Role, String)]) -> String {
        let owner = roles.iter().find(|(role, _)| *role == Role::Owner);
        let email = "target@example.com";
        let owner = &owner.unwrap().1;
        self.member_named(owner, Role::Viewer, email).await;
        email.to_owned()
    }

    async fn csrf(&self, cookie: &str) -> String {
        self.get("/console/account", cookie).await.field("csrf")
    }
}

/// Paths of the console's routes, as the sources name them.
fn paths_in_sources(folder: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(paths_in_sources(&path));
            continue;
        }
        if path.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for route in text.split(".route(").skip(1) {
            let literal = route.trim_start().strip_prefix('"');
            let literal = literal.expect("the path of a route is written beside it");
            paths.insert(literal.split('"').next().unwrap().to_owned());
        }
    }
    paths
}

#[tokio::test]
async fn every_route_of_the_console_has_a_row() {
    let world = World::new(SecondFactor::Optional).await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
    let scope = "/console/apps/{app}/{environment}";
    let mut routes = BTreeSet::new();
    for path in paths_in_sources(&root) {
        let short = match path.strip_prefix(scope) {
            Some(rest) => format!("*{rest}"),
            None => path.strip_prefix("/console").unwrap().to_owned(),
        };
        let address = address(&short, world.test.keys.app, &Objects::new());
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let request = Request::builder().method(method).uri(&address);
            let shown = world.send(request, Body::empty()).await;
            if shown.status != StatusCode::METHOD_NOT_ALLOWED {
                routes.insert((method.to_owned(), short.clone()));
            }
        }
    }
    let rows = ROUTES
        .iter()
        .map(|row| (row.method.to_owned(), row.path.to_owned()));
    assert_eq!(routes, rows.collect());
}

/// Checks the response to a request that the role may send, or not.
fn check(row: &Row, role: Role, shown: &Shown, is_recent: bool) {
    let Row {
        method,
        path,
        field,
        access,
    } = *row;
    let what = format!("{role}: {method} {path} {field:?} got {}", shown.status);
    let status = shown.status.as_u16();
    let to = shown.headers.get("location").map(|to| to.to_str().unwrap());
    let action = match access {
        Open | Reader => {
            assert!(status != 403 && status < 500, "{what}");
            return;
        }
        Of(action) | Missing(action) => action,
    };
    if !is_allowed(role, action, path) {
        assert_eq!(status, 403, "{what}");
        assert!(
            shown.body.contains("Your role does not allow this"),
            "{what}"
        );
        assert!(shown.body.contains("<h1>"), "{what}");
        return;
    }
    if !is_recent && requires_recent_authentication(action) {
        let to = to.unwrap_or_default();
        assert!(to.starts_with("/console/confirm?next="), "{what}: {to}");
        return;
    }
    match access {
        Missing(_) => assert_eq!(status, 404, "{what}"),
        _ => assert!(![401, 403, 404].contains(&status) && status < 500, "{what}"),
    }
    let leads_away = |to: &str| to.contains("/sign-in") || to.contains("/confirm");
    assert!(!to.is_some_and(leads_away), "{what}: {to:?}");
}

/// Requests of the routes that a test sends to many readers.
fn rows() -> impl Iterator<Item = &'static Row> {
    // It ends the session with which the others are sent.
    ROUTES.iter().filter(|row| row.path != "/sign-out")
}

/// Requests about an action of the table.
fn rows_of_table() -> impl Iterator<Item = &'static Row> {
    rows().filter(|row| matches!(row.access, Of(_) | Missing(_)))
}

#[tokio::test]
async fn every_route_is_for_the_roles_of_the_table_only() {
    let world = World::new(SecondFactor::Optional).await;
    let app = world.test.keys.app;
    let roles = world.all_roles().await;
    let target = world.target(&roles).await;
    for (role, cookie) in &roles {
        let objects = world.objects(app, &target).await;
        let csrf = world.csrf(cookie).await;
        for row in rows() {
            let path = address(row.path, app, &objects);
            let shown = world.ask(row, &path, cookie, &csrf).await;
            check(row, *role, &shown, true);
        }
    }
    // Ten minutes later keys, money, people and code need the password again.
    world.test.clock.advance(Duration::from_secs(11 * 60));
    for (role, cookie) in &roles {
        let objects = world.objects(app, &target).await;
        let csrf = world.csrf(cookie).await;
        for row in rows_of_table() {
            let path = address(row.path, app, &objects);
            let shown = world.ask(row, &path, cookie, &csrf).await;
            check(row, *role, &shown, false);
        }
    }
}

#[tokio::test]
async fn without_a_session_every_route_leads_to_the_sign_in() {
    let world = World::new(SecondFactor::Optional).await;
    let app = world.test.keys.app;
    world.user("ada@example.com", Some(world.account())).await;
    let objects = world.objects(app, "ada@example.com").await;
    let sign_in = "/console/sign-in";
    for row in ROUTES {
        let (method, path, access) = (row.method, row.path, row.access);
        for cookie in ["", "switchyard_session=made-up"] {
            let shown = world
                .ask(row, &address(path, app, &objects), cookie, "x")
                .await;
            let what = format!("{method} {path} got {}", shown.status);
            match access {
                Open => assert!(shown.status != StatusCode::FORBIDDEN, "{what}"),
                _ => assert!(shown.leads_to().starts_with(sign_in), "{what}"),
            }
            assert!(!shown.status.is_server_error(), "{what}");
            assert!(!shown.body.contains("teapot"), "{what}");
        }
    }
}

#[tokio::test]
async fn a_form_without_the_sessions_token_has_no_effect_at_any_route() {
    let (world, cookie) = World::with_operator().await;
    let app = world.test.keys.app;
    let objects = world.objects(app, "otto@example.com").await;
    let forms = ROUTES
        .iter()
        .filter(|row| row.method == "POST" && row.access != Open);
    for row in forms {
        let what = format!("{} {:?}", row.path, row.field);
        let shown = world
            .ask(row, &address(row.path, app, &objects), &cookie, "wrong")
            .await;
        // An upload is no plain form: it is refused for the role before its fields are read.
        if row.path.ends_with("batches") && shown.status == StatusCode::FORBIDDEN {
            continue;
        }
        assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{what}");
        let is_refused = shown.body.contains("This form has expired");
        let is_upload = ["gateway-upload", "logo"].map(|end| row.path.ends_with(end));
        assert!(is_refused || is_upload.contains(&true), "{what}");
    }
}

#[tokio::test]
async fn the_ids_of_another_merchant_do_not_exist_for_any_role() {
    let world = World::new(SecondFactor::Optional).await;
    let app = world.test.keys.app;
    let roles = world.all_roles().await;
    let access = world.test.engine.access();
    let other = access.create_account("Other").await.unwrap().id;
    world.user("eve@example.com", Some(other)).await;
    let app_of_other = world.app_of(other).await;
    let theirs = world.objects(app_of_other, "eve@example.com").await;
    for (role, cookie) in &roles {
        let csrf = world.csrf(cookie).await;
        for row in rows_of_table().filter(|row| row.path.starts_with('*')) {
            let (path, field) = (row.path, row.field);
            let (Of(action) | Missing(action)) = row.access else {
                continue;
            };
            let has_object = theirs.keys().any(|part| path.contains(part));
            if has_object {
                // Their object at an address of the reader's own app.
                let address = address(path, app, &theirs);
                let shown = world.ask(row, &address, cookie, &csrf).await;
                let missing = Row {
                    access: Missing(action),
                    ..*row
                };
                check(&missing, *role, &shown, true);
            }
            if !matches!(role, Role::Operator | Role::Auditor) {
                let address = address(path, app_of_other, &theirs);
                let shown = world.ask(row, &address, cookie, &csrf).await;
                let what = format!("{role}: {path} {field}");
                assert_eq!(shown.status, StatusCode::NOT_FOUND, "{what}");
                assert!(!shown.body.contains("Second shop"), "{what}");
            }
        }
    }
    // Their objects are as they were.
    let keys = access.keys(app_of_other).unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(access.webhooks(app_of_other).unwrap().len(), 1);
    let eve = world.signed_in("eve@example.com").await;
    for part in [
        "payments/{id}",
        "keys/{key}",
        "webhooks/{webhook}",
        "connections/{connection}",
    ] {
        let address = address(&format!("*/{part}"), app_of_other, &theirs);
        let own = world.get(&address, &eve).await;
        assert_eq!(own.status, StatusCode::OK, "{part}");
    }
}

#[tokio::test]
async fn an_object_of_the_sandbox_does_not_exist_in_live() {
    let (world, cookie) = World::with_operator().await;
    let app = world.test.keys.app;
    world.user("ada@example.com", Some(world.account())).await;
    let objects = world.objects(app, "ada@example.com").await;
    let csrf = world.csrf(&cookie).await;
    // Webhooks and users belong to both environments.
    let parts = ["{id}", "{key}", "{connection}"];
    for row in ROUTES {
        let (path, access) = (row.path, row.access);
        let (true, Of(action) | Missing(action)) =
            (parts.iter().any(|part| path.contains(part)), access)
        else {
            continue;
        };
        let live = address(path, app, &objects).replace("/sandbox/", "/live/");
        let shown = world.ask(row, &live, &cookie, &csrf).await;
        let missing = Row {
            access: Missing(action),
            ..*row
        };
        check(&missing, Role::Operator, &shown, true);
    }
}
