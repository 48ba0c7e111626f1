//! The routes of the console over a running engine: sign-in, access and what a page shows.

mod account;
mod approvals;
mod connections;
mod damage;
mod developers;
mod export;
mod home;
mod installation;
mod logo;
mod payment_links;
mod payouts;
mod refusals;
mod routes;
mod routing;
mod second_person;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::engine::NewPayment;
use switchyard_engine::testing::{TestEngine, TestEngineBuilder, amount, customer};
use switchyard_gateway_host::Gateways;
use switchyard_users::{
    Acceptance, NewInvitation, Options, Origin, Role, Sealer, SecondFactor, Users,
};
use tower::ServiceExt as _;

use crate::privacy::tests::{REASONS, routed};
use crate::state::{ApiState, ConsoleAccess, HttpSettings};

const PASSWORD: &str = "violet teapots hum softly";

/// Keeps secrets as they are: these tests are about pages.
struct Plain;

impl Sealer for Plain {
    fn seal(&self, _: UserId, plain: &[u8]) -> Option<String> {
        serde_json::to_string(plain).ok()
    }

    fn open(&self, _: UserId, sealed: &str) -> Option<Secret<Vec<u8>>> {
        serde_json::from_str(sealed).ok().map(Secret::new)
    }
}

struct World {
    test: TestEngine,
    users: Users,
    router: Router,
}

struct Shown {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Shown {
    fn leads_to(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.headers["location"].to_str().unwrap()
    }

    /// Cookie that the response sets, without its attributes.
    fn cookie(&self) -> String {
        let cookie = self.headers["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    fn field(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let from = self.body.find(&start).expect("the field") + start.len();
        self.body[from..].split('"').next().unwrap().to_owned()
    }
}

impl World {
    async fn new(second_factor: SecondFactor) -> Self {
        Self::on(TestEngineBuilder::with(Gateways::default()), second_factor).await
    }

    async fn on(wanted: TestEngineBuilder, second_factor: SecondFactor) -> Self {
        Self::with(wanted, second_factor, HttpSettings::default()).await
    }

    async fn with(
        wanted: TestEngineBuilder,
        second_factor: SecondFactor,
        http: HttpSettings,
    ) -> Self {
        let test = wanted.start().await;
        let users = Users::load(
            test.engine.store().clone(),
            Arc::new(Plain),
            test.clock.clone(),
            test.engine.ids().clone(),
            Options {
                second_factor,
                ..Options::default()
            },
        );
        let users = users.await.unwrap();
        let state = ApiState::new(test.engine.clone(), http);
        let access = ConsoleAccess {
            users: users.clone(),
            url: "http://127.0.0.1:8080".to_owned(),
            openid: None,
        };
        let router = super::router(state, &access);
        Self {
            test,
            users,
            router,
        }
    }

    fn account(&self) -> AccountId {
        let access = self.test.engine.access();
        access.app(self.test.keys.app).unwrap().account
    }

    async fn send(&self, request: axum::http::request::Builder, body: Body) -> Shown {
        let request = request.header("host", "127.0.0.1:8080").body(body).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        Shown {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    async fn get(&self, path: &str, cookie: &str) -> Shown {
        let request = Request::get(path).header("cookie", cookie);
        self.send(request, Body::empty()).await
    }

    async fn post(&self, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Shown {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = Request::post(path)
            .header("cookie", cookie)
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded");
        self.send(request, Body::from(form)).await
    }

    /// Makes the first owner of an account, or the first operator.
    async fn user(&self, email: &str, account: Option<AccountId>) {
        let new = NewInvitation {
            email: email.to_owned(),
            name: "Ada Lovelace".to_owned(),
            language: Language::En,
            role: account.map_or(Role::Operator, |_| Role::Owner),
        };
        let origin = Origin::default();
        let link = self
            .users
            .invite_first(account, new, &origin)
            .await
            .unwrap();
        let acceptance = Acceptance {
            password: Some(Secret::new(PASSWORD.to_owned())),
            ..Acceptance::default()
        };
        let token = link.token.expose();
        let accepted = self.users.accept_invitation(token, acceptance, &origin);
        accepted.await.unwrap();
    }

    /// Cookie of a new session, by the sign-in page.
    async fn signed_in(&self, email: &str) -> String {
        let fields = [("email", email), ("password", PASSWORD)];
        let shown = self.post("/console/sign-in", "", &fields).await;
        assert_eq!(shown.leads_to(), "/console/");
        shown.cookie()
    }

    async fn payment(&self) -> String {
        let key = self.test.keys.sandbox_secret_key.expose();
        self.payment_with(key).await
    }

    async fn payment_with(&self, key: &str) -> String {
        let new = NewPayment {
            amount: amount(14_850_000, "USD"),
            description: "A <teapot>".to_owned(),
            return_url: "https://shop.example/done".to_owned(),
            customer: customer(),
            metadata: BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: ClientContext::default(),
        };
        let caller = self.test.engine.access().authenticate(key).unwrap();
        let made = self
            .test
            .engine
            .initialize_payment(&caller, new, None)
            .await;
        made.unwrap().id.to_string()
    }

    fn in_app(&self, rest: &str) -> String {
        format!("/console/apps/{}/sandbox/{rest}", self.test.keys.app)
    }
}

#[tokio::test]
async fn every_page_leads_strangers_to_the_sign_in_and_back() {
    let world = World::new(SecondFactor::Optional).await;
    let id = world.payment().await;
    for path in [
        "/console/account".to_owned(),
        world.in_app("payments"),
        world.in_app(&format!("payments/{id}")),
    ] {
        for cookie in ["", "switchyard_session=made-up"] {
            let shown = world.get(&path, cookie).await;
            let encoded = path.replace('/', "%2F");
            assert_eq!(shown.leads_to(), format!("/console/sign-in?next={encoded}"));
        }
    }
    assert_eq!(
        world.get("/console/", "").await.leads_to(),
        "/console/sign-in"
    );
    world.user("ada@example.com", Some(world.account())).await;
    let fields = [
        ("email", "ada@example.com"),
        ("password", PASSWORD),
        ("next", "/console/account"),
    ];
    let shown = world.post("/console/sign-in", "", &fields).await;
    assert_eq!(shown.leads_to(), "/console/account");
    for elsewhere in [
        "https://evil.example/",
        "//evil.example",
        "/checkout/x",
        "/console/\\x",
    ] {
        let fields = [
            ("email", "ada@example.com"),
            ("password", PASSWORD),
            ("next", elsewhere),
        ];
        let shown = world.post("/console/sign-in", "", &fields).await;
        assert_eq!(shown.leads_to(), "/console/", "{elsewhere}");
    }
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_user_get_the_same_page() {
    let world = World::new(SecondFactor::Optional).await;
    world.user("ada@example.com", Some(world.account())).await;
    let mut pages = BTreeSet::new();
    for email in ["ada@example.com", "eve@example.com"] {
        let fields = [("email", email), ("password", "not this one at all")];
        let shown = world.post("/console/sign-in", "", &fields).await;
        assert_eq!(shown.status, StatusCode::UNAUTHORIZED);
        assert!(!shown.headers.contains_key("set-cookie"));
        assert!(shown.body.contains("role=\"alert\""));
        // The address stays as typed, the password does not.
        assert!(shown.body.contains(&format!("value=\"{email}\"")));
        assert!(!shown.body.contains("not this one at all"));
        let form = shown.body.find("<h1>").unwrap();
        pages.insert(shown.body[form..].replace(email, "…"));
    }
    assert_eq!(pages.len(), 1);
}

#[tokio::test]
async fn a_merchant_sees_their_payments_and_each_with_its_timeline() {
    let world = World::new(SecondFactor::Optional).await;
    let id = world.payment().await;
    world.user("ada@example.com", Some(world.account())).await;
    let cookie = world.signed_in("ada@example.com").await;
    let apps = world.get("/console/", &cookie).await;
    assert!(apps.body.contains(&world.test.keys.app.to_string()));
    let list = world.get(&world.in_app("payments"), &cookie).await;
    assert_eq!(list.status, StatusCode::OK);
    let page = world.in_app(&format!("payments/{id}"));
    assert!(list.body.contains(&page));
    assert!(list.body.contains("148\u{a0}500.00") && list.body.contains("Waiting for payer"));
    let shown = world.get(&page, &cookie).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(shown.body.contains("No money has moved."));
    assert!(shown.body.contains("A &#60;teapot&#62;") && !shown.body.contains("<teapot>"));
    assert!(shown.body.contains("Your server created it"));
    // It is a payment of the sandbox, and no payout.
    let live = page.replace("/sandbox/", "/live/");
    let payout = page.replace("/payments/", "/payouts/");
    for path in [live, payout, world.in_app("payments/py_made_up")] {
        assert_eq!(
            world.get(&path, &cookie).await.status,
            StatusCode::NOT_FOUND
        );
    }
}

#[tokio::test]
async fn a_role_without_routing_sees_the_gateway_and_not_why_it_was_chosen() {
    let (world, owner) = World::with_owner().await;
    let id = routed(&world.test).await;
    let support = world.member(&owner, Role::Support).await;
    let path = world.in_app(&format!("payments/{id}"));
    for (cookie, may_see) in [(&owner, true), (&support, false)] {
        let page = world.get(&path, cookie).await;
        assert!(page.body.contains("Attempt started"), "{}", page.body);
        assert_eq!(page.body.contains(REASONS[0]), may_see, "{}", page.body);
        assert!(!page.body.contains(REASONS[1]));
    }
}

#[tokio::test]
async fn a_search_finds_a_payment_by_what_is_known_of_it() {
    let world = World::new(SecondFactor::Optional).await;
    let id = world.payment().await;
    world.user("ada@example.com", Some(world.account())).await;
    let cookie = world.signed_in("ada@example.com").await;
    let email = customer().email.to_uppercase().replace('@', "%40");
    for (text, is_found) in [
        (id.as_str(), true),
        (email.as_str(), true),
        ("148500", true),
        ("USD+148500.00", true),
        ("148501", false),
        ("%3Cscript%3E", false),
    ] {
        let path = world.in_app(&format!("payments?q={text}"));
        let shown = world.get(&path, &cookie).await;
        assert_eq!(shown.status, StatusCode::OK);
        let has_row = shown.body.contains(&format!("payments/{id}"));
        assert_eq!(has_row, is_found, "{text}");
        assert!(!shown.body.contains("<script>"));
    }
    let path = world.in_app(&format!("payouts?q={id}"));
    let payouts = world.get(&path, &cookie).await;
    assert!(payouts.body.contains("Nothing matches"));
}

#[tokio::test]
async fn an_app_of_another_account_does_not_exist() {
    let world = World::new(SecondFactor::Optional).await;
    let id = world.payment().await;
    let access = world.test.engine.access();
    let other = access.create_account("Other").await.unwrap().id;
    world.user("eve@example.com", Some(other)).await;
    let cookie = world.signed_in("eve@example.com").await;
    let apps = world.get("/console/", &cookie).await;
    assert!(!apps.body.contains(&world.test.keys.app.to_string()));
    for path in ["payments", "payouts", "audit", &format!("payments/{id}")] {
        let shown = world.get(&world.in_app(path), &cookie).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{path}");
        assert!(!shown.body.contains("teapot"));
    }
    // An operator has a role in every account.
    world.user("otto@example.com", None).await;
    let cookie = world.signed_in("otto@example.com").await;
    let shown = world.get(&world.in_app("payments"), &cookie).await;
    assert_eq!(shown.status, StatusCode::OK);
}

#[tokio::test]
async fn an_owner_sets_up_an_authenticator_before_the_first_session() {
    let world = World::new(SecondFactor::ByRole).await;
    world.user("ada@example.com", Some(world.account())).await;
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let shown = world.post("/console/sign-in", "", &fields).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(!shown.headers.contains_key("set-cookie"));
    assert!(shown.body.contains("<svg") && shown.body.contains("console/sign-in/set-up"));
    let pending = shown.field("pending");
    let key = shown.body.split("<code>").nth(1).unwrap();
    let key = key.split('<').next().unwrap().to_owned();
    let fields = [("pending", pending.as_str()), ("code", "000000")];
    let again = world.post("/console/sign-in/set-up", "", &fields).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
    // After a typing error the authenticator need not be set up again.
    assert!(again.body.contains(&key));
}

#[tokio::test]
async fn forms_of_other_sites_and_without_the_sessions_token_change_nothing() {
    let world = World::new(SecondFactor::Optional).await;
    world.user("ada@example.com", Some(world.account())).await;
    let cookie = world.signed_in("ada@example.com").await;
    let page = world.get("/console/account", &cookie).await;
    let csrf = page.field("csrf");
    let (led_away, refused) = (StatusCode::SEE_OTHER, StatusCode::BAD_REQUEST);
    for (site, origin, sent, status) in [
        (
            "cross-site",
            "https://evil.example",
            csrf.as_str(),
            led_away,
        ),
        (
            "same-site",
            "http://127.0.0.1:9999",
            csrf.as_str(),
            led_away,
        ),
        ("", "https://evil.example", csrf.as_str(), led_away),
        ("same-origin", "http://127.0.0.1:8080", "wrong", refused),
        ("same-origin", "http://127.0.0.1:8080", "", refused),
    ] {
        let mut request = Request::post("/console/sign-out")
            .header("cookie", &cookie)
            .header("origin", origin)
            .header("content-type", "application/x-www-form-urlencoded");
        if !site.is_empty() {
            request = request.header("sec-fetch-site", site);
        }
        let shown = world
            .send(request, Body::from(format!("csrf={sent}")))
            .await;
        assert_eq!(shown.status, status, "{site} {origin} {sent}");
        let page = world.get("/console/account", &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{site} {origin} {sent}");
    }
    let fields = [("csrf", csrf.as_str())];
    let shown = world.post("/console/sign-out", &cookie, &fields).await;
    assert_eq!(shown.leads_to(), "/console/sign-in?notice=signed-out");
    let page = world.get("/console/account", &cookie).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_link_is_used_by_its_form_and_only_once() {
    let world = World::new(SecondFactor::Optional).await;
    world.user("ada@example.com", Some(world.account())).await;
    let origin = Origin::default();
    let link = world.users.request_reset("ada@example.com", &origin).await;
    let link = link.unwrap().unwrap();
    let path = format!("/console/link/{}", link.token.expose());
    // A mail scanner that opens it uses nothing up.
    for _ in 0..2 {
        assert_eq!(world.get(&path, "").await.status, StatusCode::OK);
    }
    let short = world.post(&path, "", &[("password", "too short")]).await;
    assert_eq!(short.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(short.body.contains("fewer than 12 characters"));
    let new = [("password", "another set of quiet words")];
    let saved = world.post(&path, "", &new).await;
    assert_eq!(saved.leads_to(), "/console/sign-in");
    assert_eq!(world.post(&path, "", &new).await.status, StatusCode::GONE);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let old = world.post("/console/sign-in", "", &fields).await;
    assert_eq!(old.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_chosen_language_is_kept_in_a_cookie() {
    let world = World::new(SecondFactor::Optional).await;
    let shown = world
        .get("/console/sign-in?lang=fr&next=%2Fconsole%2Faccount", "")
        .await;
    assert_eq!(
        shown.leads_to(),
        "/console/sign-in?next=%2Fconsole%2Faccount"
    );
    let french = world.get("/console/sign-in", &shown.cookie()).await;
    assert!(french.body.contains("lang=\"fr\"") && french.body.contains("Se connecter"));
}

/// Folders of the console's sources.
const MESSAGE_FOLDERS: &[&str] = &[
    "templates/console",
    "src/console",
    "src/console/account",
    "src/console/approvals",
    "src/console/connections",
    "src/console/developers",
    "src/console/home",
    "src/console/installation",
    "src/console/payment_links",
    "src/console/payouts",
    "src/console/routing",
    "src/console/settings",
];
/// Starts of names of messages that the code composes.
const COMPOSED_MESSAGES: &[&str] = &[
    "console-action-cancel-",
    "console-case-",
    "console-developers",
    "console-done-",
    "console-error-",
    "console-refusal-",
    "console-form-",
    "console-decline-",
    "console-role-",
    "console-role-hint-",
    "console-tab-",
    "console-team",
    "console-payments",
    "console-payouts",
    "console-one-",
    "console-line-",
    "console-link-",
    "console-forgotten-sent-",
    "console-missing-",
    "console-unavailable-",
    "console-reset-",
    "console-invited-",
    "console-account-page",
    "console-apps",
    "console-connections",
    "console-routing",
    "console-home",
    "console-openid-",
    "console-installation",
    "console-gateways",
    "console-cases",
    "console-accounts",
    "console-rates",
    "console-approvals",
    "console-audit",
    "console-system",
];

#[test]
fn no_french_line_begins_with_a_punctuation_mark() {
    let checkout = include_str!("../../locales/fr/checkout.ftl");
    let console = include_str!("../../locales/fr/console.ftl");
    let messages = checkout.lines().chain(console.lines());
    for line in messages.filter(|line| !line.starts_with('#')) {
        for torn in [" :", " ;", " ?", " !", " »", "« "] {
            assert!(
                !line.contains(torn),
                "{torn:?} needs a no-break space: {line}"
            );
        }
    }
}

#[test]
fn every_message_exists_in_both_languages_and_is_used() {
    let names = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter_map(|line| line.split_once(" = "));
        let names = lines.map(|(name, _)| name.to_owned());
        names.filter(|name| name.starts_with("console-")).collect()
    };
    let english = names(include_str!("../../locales/en/console.ftl"));
    let french = names(include_str!("../../locales/fr/console.ftl"));
    assert_eq!(english, french);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for folder in MESSAGE_FOLDERS {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && !path.ends_with("tests.rs") {
                text += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let unused: Vec<_> = english
        .iter()
        .filter(|name| !text.contains(&format!("\"{name}\"")))
        .filter(|name| {
            !COMPOSED_MESSAGES
                .iter()
                .any(|start| name.starts_with(start))
        })
        .collect();
    assert!(unused.is_empty(), "nobody uses {unused:?}");
    for part in text.split("\"console-").skip(1) {
        let name = part.split('"').next().unwrap();
        let is_whole = !name.contains(['{', '/', '.']) && !name.ends_with('-');
        let name = format!("console-{name}");
        // A page without data of its own has a title and a text.
        let is_known = english.contains(&name) || english.contains(&format!("{name}-title"));
        assert!(!is_whole || is_known, "{name} has no message");
    }
}
