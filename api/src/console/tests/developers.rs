//! API keys, webhooks and actions on a transaction, as a browser sends them.

use std::time::Duration;

use axum::http::StatusCode;
use switchyard_core::environment::Environment;
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_engine::access::KeyKind;
use switchyard_users::{
    Acceptance, Action, AuditQuery, AuditResult, NewInvitation, Origin, Role, SecondFactor,
};

use super::{PASSWORD, Shown, World};

impl World {
    /// A world with its owner signed in.
    pub async fn with_owner() -> (Self, String) {
        let world = Self::new(SecondFactor::Optional).await;
        world.user("ada@example.com", Some(world.account())).await;
        let cookie = world.signed_in("ada@example.com").await;
        (world, cookie)
    }

    /// Cookie of a new user of the account, whom its owner invited.
    pub async fn member(&self, owner: &str, role: Role) -> String {
        let email = format!("{role}@example.com");
        self.member_named(owner, role, &email).await
    }

    pub async fn member_named(&self, owner: &str, role: Role, email: &str) -> String {
        let origin = Origin::default();
        let token = owner.split('=').nth(1).unwrap();
        let who = self.users.authenticate_session(token, &origin).unwrap();
        let account = Some(self.account());
        let permit = self.users.authorize(&who, Action::ManageTeam, account);
        let new = NewInvitation {
            email: email.to_owned(),
            name: "Grace Hopper".to_owned(),
            language: Language::En,
            role,
        };
        let link = self.users.invite(&permit.unwrap(), new).await.unwrap();
        let acceptance = Acceptance {
            password: Some(Secret::new(PASSWORD.to_owned())),
            ..Acceptance::default()
        };
        let token = link.token.expose();
        let accepted = self.users.accept_invitation(token, acceptance, &origin);
        accepted.await.unwrap();
        self.signed_in(email).await
    }

    /// Sends the form of a page with its hidden fields and these.
    pub async fn submit(
        &self,
        page: &Shown,
        path: &str,
        cookie: &str,
        own: &[(&str, &str)],
    ) -> Shown {
        let (csrf, form) = (page.field("csrf"), page.field("form"));
        let mut fields = vec![("csrf", csrf.as_str()), ("form", form.as_str())];
        fields.extend_from_slice(own);
        self.post(path, cookie, &fields).await
    }

    /// Names of the actions in the audit log, newest first.
    pub async fn audited(&self) -> Vec<String> {
        let query = AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        };
        let page = self.users.audit(&query).await.unwrap();
        let entries = page.entries.into_iter();
        entries.map(|entry| entry.action).collect()
    }
}

/// The key that a page shows once.
fn shown_key(page: &Shown) -> String {
    let from = page.body.split("id=\"key\"").nth(1).expect("the key");
    let value = from.split("value=\"").nth(1).unwrap();
    value.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_new_key_is_shown_once_works_and_is_created_once() {
    let (world, cookie) = World::with_owner().await;
    let access = world.test.engine.access();
    let path = world.in_app("keys/new");
    let page = world.get(&path, &cookie).await;
    let fields = [("name", "Shop <server>"), ("kind", "secret")];
    let made = world.submit(&page, &path, &cookie, &fields).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let key = shown_key(&made);
    let caller = access.authenticate(&key).unwrap();
    assert_eq!(caller.environment, Environment::Sandbox);
    let count = access.keys(world.test.keys.app).unwrap().len();
    let again = world.submit(&page, &path, &cookie, &fields).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert_eq!(access.keys(world.test.keys.app).unwrap().len(), count);
    let list = world.get(&world.in_app("keys"), &cookie).await;
    assert!(list.body.contains("Shop &#60;server&#62;") && !list.body.contains(&key));
    assert!(list.body.contains(&key[key.len() - 4..]));
    assert_eq!(world.audited().await[0], "manage_keys");
    let long = "x".repeat(500);
    let page = world.get(&path, &cookie).await;
    let fields = [("name", long.as_str()), ("kind", "public")];
    let refused = world.submit(&page, &path, &cookie, &fields).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains(&long), "the typed name is kept");
}

#[tokio::test]
async fn a_rolled_key_is_valid_until_its_grace_ends() {
    let (world, cookie) = World::with_owner().await;
    let access = world.test.engine.access();
    let app = world.test.keys.app;
    let old = access.create_key(app, Environment::Sandbox, KeyKind::Secret, None);
    let old = old.await.unwrap();
    let path = world.in_app(&format!("keys/{}", old.key.id));
    let page = world.get(&path, &cookie).await;
    let hour = [("do", "roll"), ("grace", "3600")];
    let rolled = world.submit(&page, &path, &cookie, &hour).await;
    assert_eq!(rolled.status, StatusCode::CREATED);
    let new = shown_key(&rolled);
    let valid = |key: &str| access.authenticate(key).is_ok();
    assert!(valid(&new) && valid(old.secret.expose()));
    world.test.clock.advance(Duration::from_secs(3_601));
    assert!(valid(&new) && !valid(old.secret.expose()));
}

#[tokio::test]
async fn a_key_is_deleted_by_its_last_four_characters_only() {
    let (world, cookie) = World::with_owner().await;
    let access = world.test.engine.access();
    let app = world.test.keys.app;
    let key = access.create_key(app, Environment::Sandbox, KeyKind::Public, None);
    let key = key.await.unwrap();
    let path = world.in_app(&format!("keys/{}", key.key.id));
    let page = world.get(&path, &cookie).await;
    let wrong = [("do", "delete"), ("last_four", "nope")];
    let refused = world.submit(&page, &path, &cookie, &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(access.authenticate(key.secret.expose()).is_ok());
    let right = [("do", "delete"), ("last_four", key.key.last_four.as_str())];
    let deleted = world.submit(&refused, &path, &cookie, &right).await;
    let list = world.get(deleted.leads_to(), &cookie).await;
    assert!(list.body.contains("The key was deleted."));
    assert!(access.authenticate(key.secret.expose()).is_err());
    // A key of the other environment is not at this address.
    let live = access.create_key(app, Environment::Live, KeyKind::Secret, None);
    let live = live.await.unwrap().key.id;
    let path = world.in_app(&format!("keys/{live}"));
    let elsewhere = world.get(&path, &cookie);
    assert_eq!(elsewhere.await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_role_without_keys_is_told_which_roles_have_them() {
    let (world, owner) = World::with_owner().await;
    for (role, path, status) in [
        (Role::Viewer, "keys", StatusCode::FORBIDDEN),
        (Role::Support, "keys", StatusCode::FORBIDDEN),
        (Role::Support, "webhooks", StatusCode::OK),
        (Role::Support, "webhooks/new", StatusCode::FORBIDDEN),
        (Role::Developer, "keys/new", StatusCode::OK),
    ] {
        let email = format!("{role}@example.com");
        let cookie = match world.users.user_by_email(&email) {
            Some(_) => world.signed_in(&email).await,
            None => world.member(&owner, role).await,
        };
        let shown = world.get(&world.in_app(path), &cookie).await;
        assert_eq!(shown.status, status, "{role} {path}");
        let tells = shown
            .body
            .contains("Roles that may: Owner, Admin, Developer");
        assert_eq!(tells, status == StatusCode::FORBIDDEN, "{role} {path}");
    }
}

#[tokio::test]
async fn keys_need_the_password_again_after_ten_minutes() {
    let (world, cookie) = World::with_owner().await;
    world.test.clock.advance(Duration::from_secs(11 * 60));
    let path = world.in_app("keys/new");
    let led = world.get(&path, &cookie).await;
    let confirm = led.leads_to().to_owned();
    assert_eq!(
        confirm,
        format!("/console/confirm?next={}", path.replace('/', "%2F"))
    );
    let page = world.get(&confirm, &cookie).await;
    let next = page.field("next");
    let wrong = [("next", next.as_str()), ("password", "not this one at all")];
    let refused = world
        .submit(&page, "/console/confirm", &cookie, &wrong)
        .await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let right = [("next", next.as_str()), ("password", PASSWORD)];
    let passed = world
        .submit(&refused, "/console/confirm", &cookie, &right)
        .await;
    assert_eq!(passed.leads_to(), path);
    let shown = world.get(&path, &passed.cookie()).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert_eq!(
        world.get(&path, &cookie).await.status,
        StatusCode::SEE_OTHER,
        "the old session has ended"
    );
}

#[tokio::test]
async fn a_webhook_is_created_changed_and_its_secret_is_shown_with_an_audit_entry() {
    let (world, cookie) = World::with_owner().await;
    let new = world.in_app("webhooks/new");
    let page = world.get(&new, &cookie).await;
    for (url, event, told) in [
        (
            "ftp://shop.example/x",
            "payment.success",
            "Only addresses that begin with https://",
        ),
        ("https://shop.example/x", "", "Choose at least one event."),
    ] {
        let fields = [("url", url), ("event", event)];
        let refused = world.submit(&page, &new, &cookie, &fields).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.body.contains(told), "{url}");
        assert!(refused.body.contains(&format!("value=\"{url}\"")), "{url}");
    }
    let fields = [
        ("url", "https://shop.example/hooks"),
        ("event", "payment.success"),
        ("event", "payout.failed"),
    ];
    let made = world.submit(&page, &new, &cookie, &fields).await;
    let path = made.leads_to().split('?').next().unwrap().to_owned();
    let access = world.test.engine.access();
    let webhooks = access.webhooks(world.test.keys.app).unwrap();
    let webhook = webhooks.last().unwrap();
    let patterns = webhook.options.events.patterns();
    assert_eq!(patterns, ["payment.success", "payout.failed"]);
    let secret = access.webhook_secret(webhook).unwrap();
    let shown = world.get(&path, &cookie).await;
    assert!(!shown.body.contains(secret.expose()));
    let revealed = world
        .submit(&shown, &path, &cookie, &[("do", "reveal")])
        .await;
    assert!(revealed.body.contains(secret.expose()));
    assert_eq!(world.audited().await[0], "reveal_secret");
    let off = [
        ("do", "save"),
        ("url", "https://shop.example/other"),
        ("event", "payment.success"),
    ];
    let saved = world.submit(&shown, &path, &cookie, &off).await;
    assert!(saved.leads_to().ends_with("?done=webhook-saved"));
    let after = access.webhook(webhook.id).unwrap();
    assert_eq!(
        (after.url.as_str(), after.is_enabled),
        ("https://shop.example/other", false)
    );
    let page = world.get(&path, &cookie).await;
    let deleted = world
        .submit(&page, &path, &cookie, &[("do", "delete")])
        .await;
    assert!(deleted.leads_to().ends_with("?done=webhook-deleted"));
    assert_eq!(
        world.get(&path, &cookie).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_payment_is_cancelled_from_its_page_by_a_person_who_may() {
    let (world, owner) = World::with_owner().await;
    let id = world.payment().await;
    let path = world.in_app(&format!("payments/{id}"));
    let viewer = world.member(&owner, Role::Viewer).await;
    let page = world.get(&path, &viewer).await;
    assert!(!page.body.contains("Cancel the payment"));
    let account = world.get("/console/account", &viewer).await;
    let cancel = [("do", "cancel")];
    let refused = world.submit(&account, &path, &viewer, &cancel).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let page = world.get(&path, &owner).await;
    let done = world.submit(&page, &path, &owner, &cancel).await;
    assert!(done.leads_to().ends_with("?done=cancelled"));
    let after = world.get(done.leads_to(), &owner).await;
    assert!(after.body.contains("It was stopped."));
    assert!(
        after.body.contains("Ada Lovelace"),
        "the timeline names the person"
    );
    assert!(!after.body.contains("Cancel the payment"));
    assert_eq!(world.audited().await[0], "cancel_transaction");
    let account = world.get("/console/account", &owner).await;
    let late = world
        .submit(&account, &path, &owner, &[("do", "check")])
        .await;
    assert!(late.leads_to().ends_with("?done=not-possible"));
    let page = world.users.audit(&AuditQuery::default()).await.unwrap();
    let last = &page.entries[0];
    let noted = (last.action.as_str(), last.result);
    assert_eq!(noted, ("query_provider", AuditResult::Refused));
}

#[tokio::test]
async fn a_person_is_invited_gets_another_role_and_is_removed() {
    let (world, owner) = World::with_owner().await;
    let new = world.in_app("team/new");
    let page = world.get(&new, &owner).await;
    let wrong = [
        ("email", "no address"),
        ("name", "Grace"),
        ("role", "finance"),
    ];
    let refused = world.submit(&page, &new, &owner, &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("This is no e-mail address.") && refused.body.contains("Grace"));
    let right = [
        ("email", "grace@example.com"),
        ("name", "Grace"),
        ("role", "finance"),
    ];
    let invited = world.submit(&page, &new, &owner, &right).await;
    assert_eq!(invited.status, StatusCode::CREATED);
    let link = invited.body.split("http://127.0.0.1:8080").nth(1).unwrap();
    let link = link.split('"').next().unwrap();
    let form = world.get(link, "").await;
    assert_eq!(form.status, StatusCode::OK);
    let accepted = world.post(link, "", &[("name", "Grace"), ("password", PASSWORD)]);
    assert_eq!(accepted.await.leads_to(), "/console/sign-in");
    let grace = world.signed_in("grace@example.com").await;
    assert_eq!(
        world.get(&world.in_app("team/new"), &grace).await.status,
        StatusCode::FORBIDDEN
    );
    let id = world.users.user_by_email("grace@example.com").unwrap().id;
    let path = world.in_app(&format!("team/{id}"));
    let page = world.get(&path, &owner).await;
    let saved = world
        .submit(&page, &path, &owner, &[("do", "role"), ("role", "viewer")])
        .await;
    assert!(saved.leads_to().ends_with("?done=role-saved"));
    let ended = world.get(&world.in_app("payments"), &grace).await;
    assert_eq!(
        ended.status,
        StatusCode::SEE_OTHER,
        "the sessions have ended"
    );
    let grace = world.signed_in("grace@example.com").await;
    world.payment().await;
    let list = world.get(&world.in_app("payments"), &grace).await;
    let name = switchyard_engine::testing::customer().last_name;
    assert!(!list.body.contains(&name), "a viewer sees no names");
    let page = world.get(&path, &owner).await;
    let removed = world
        .submit(&page, &path, &owner, &[("do", "remove")])
        .await;
    assert!(removed.leads_to().ends_with("?done=removed"));
    assert_eq!(world.get(&path, &owner).await.status, StatusCode::NOT_FOUND);
    // An account keeps its owner.
    let own = world.users.user_by_email("ada@example.com").unwrap().id;
    let path = world.in_app(&format!("team/{own}"));
    let page = world.get(&path, &owner).await;
    let last = [("do", "role"), ("role", "viewer")];
    let refused = world.submit(&page, &path, &owner, &last).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
}

/// The link alone changes nothing: the inviting owner has it, too.
#[tokio::test]
async fn an_invited_user_of_another_account_accepts_in_their_own_session() {
    let (world, owner) = World::with_owner().await;
    let other = world.test.engine.access().create_account("Other").await;
    world.user("eve@example.com", Some(other.unwrap().id)).await;
    let new = world.in_app("team/new");
    let page = world.get(&new, &owner).await;
    let fields = [
        ("email", "eve@example.com"),
        ("name", "Eve"),
        ("role", "viewer"),
    ];
    let invited = world.submit(&page, &new, &owner, &fields).await;
    let link = invited.body.split("http://127.0.0.1:8080").nth(1).unwrap();
    let link = link.split('"').next().unwrap();
    let shown = world.get(link, "").await;
    let to = shown.leads_to();
    assert!(
        to.starts_with("/console/sign-in?next=%2Fconsole%2Flink%2F"),
        "{to}"
    );
    let page = world.get(to, "").await;
    assert!(page.body.contains("Sign in to see your invitation."));
    let foreign = world.get(link, &owner).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    let eve = world.signed_in("eve@example.com").await;
    let offer = world.get(link, &eve).await;
    assert_eq!(offer.status, StatusCode::OK);
    assert!(offer.body.contains("Viewer"));
    let forged = world.post(link, &eve, &[]).await;
    assert_eq!(forged.status, StatusCode::BAD_REQUEST);
    let roles = || {
        world
            .users
            .user_by_email("eve@example.com")
            .unwrap()
            .roles()
            .len()
    };
    assert_eq!(roles(), 1);
    let accepted = world.submit(&offer, link, &eve, &[]).await;
    assert_eq!(accepted.leads_to(), "/console/");
    assert_eq!(roles(), 2);
    let list = world.get(&world.in_app("payments"), &eve).await;
    assert_eq!(list.status, StatusCode::OK, "the session goes on");
    assert_eq!(world.get(link, &eve).await.status, StatusCode::GONE);
}
