//! Pages of the installation over HTTP: who may see and do what, and the effect of each form.

use axum::http::StatusCode;
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_users::{
    Acceptance, Action, AuditQuery, AuditResult, NewInvitation, Origin, Role, SecondFactor,
};

use super::{PASSWORD, World};

impl World {
    /// A world with its operator signed in.
    pub async fn with_operator() -> (Self, String) {
        let world = Self::new(SecondFactor::Optional).await;
        world.user("otto@example.com", None).await;
        let cookie = world.signed_in("otto@example.com").await;
        (world, cookie)
    }

    /// Cookie of a new user of the installation, whom the operator invited.
    pub async fn colleague(&self, operator: &str, role: Role) -> String {
        let origin = Origin::default();
        let token = operator.split('=').nth(1).unwrap();
        let who = self.users.authenticate_session(token, &origin).unwrap();
        let manage = Action::ManageInstallationUsers;
        let permit = self.users.authorize(&who, manage, None).unwrap();
        let email = format!("grace-{role}@example.com");
        let new = NewInvitation {
            email: email.clone(),
            name: "Grace Hopper".to_owned(),
            language: Language::En,
            role,
        };
        let link = self.users.invite(&permit, new).await.unwrap();
        let acceptance = Acceptance {
            password: Some(Secret::new(PASSWORD.to_owned())),
            ..Acceptance::default()
        };
        let accepted = self
            .users
            .accept_invitation(link.token.expose(), acceptance, &origin);
        accepted.await.unwrap();
        self.signed_in(&email).await
    }

    /// Cookie of a user of each role.
    pub async fn all_roles(&self) -> Vec<(Role, String)> {
        self.user("ada@example.com", Some(self.account())).await;
        let owner = self.signed_in("ada@example.com").await;
        self.user("otto@example.com", None).await;
        let operator = self.signed_in("otto@example.com").await;
        let mut all = vec![(
            Role::Auditor,
            self.colleague(&operator, Role::Auditor).await,
        )];
        for role in [
            Role::Admin,
            Role::Developer,
            Role::Finance,
            Role::Support,
            Role::Viewer,
        ] {
            all.push((role, self.member(&owner, role).await));
        }
        all.extend([(Role::Owner, owner), (Role::Operator, operator)]);
        all
    }
}

#[tokio::test]
async fn an_operator_starts_at_the_dashboard_and_a_merchant_at_their_apps() {
    let (world, operator) = World::with_operator().await;
    let start = world.get("/console/", &operator).await;
    assert_eq!(start.leads_to(), "/console/installation");
    let dashboard = world.get("/console/installation", &operator).await;
    assert!(dashboard.body.contains("Health of connections"));
    assert!(!dashboard.body.contains("Cases wait for review"));
    assert!(!dashboard.body.contains("<script") && !dashboard.headers.contains_key("refresh"));
    world.user("ada@example.com", Some(world.account())).await;
    let owner = world.signed_in("ada@example.com").await;
    let start = world.get("/console/", &owner).await;
    assert_eq!(start.status, StatusCode::OK);
    assert!(!start.body.contains("console/installation"));
}

#[tokio::test]
async fn an_account_and_its_app_are_created_once_and_audited() {
    let (world, cookie) = World::with_operator().await;
    let access = world.test.engine.access();
    let path = "/console/installation/accounts";
    let page = world.get(path, &cookie).await;
    let fields = [("do", "account"), ("name", "Teapots <& sons>")];
    let made = world.submit(&page, path, &cookie, &fields).await;
    assert_eq!(made.leads_to(), format!("{path}?done=account-made"));
    let again = world.submit(&page, path, &cookie, &fields).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    let accounts = access.accounts();
    let mut named = accounts.iter().filter(|one| one.name == "Teapots <& sons>");
    let account = named.next().expect("the account");
    assert!(named.next().is_none());
    let page = world.get(path, &cookie).await;
    let id = account.id.to_string();
    let app = |name| {
        [
            ("do", "app"),
            ("account", id.as_str()),
            ("name", name),
            ("website_url", "not a url"),
        ]
    };
    let wrong = world.submit(&page, path, &cookie, &app("Shop")).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("not a url") && wrong.body.contains("value=\"Shop\""));
    assert!(access.apps(Some(account.id)).is_empty());
    let right = [("do", "app"), ("account", id.as_str()), ("name", "Shop")];
    let made = world.submit(&wrong, path, &cookie, &right).await;
    assert_eq!(made.leads_to(), format!("{path}?done=app-made"));
    assert_eq!(access.apps(Some(account.id)).len(), 1);
    let query = AuditQuery {
        limit: 10,
        ..AuditQuery::default()
    };
    let log = world.users.audit(&query).await.unwrap().entries;
    let own = log.iter().filter(|entry| entry.action == "manage_accounts");
    let results: Vec<_> = own.map(|entry| entry.result).collect();
    let (done, refused) = (AuditResult::Succeeded, AuditResult::Refused);
    assert_eq!(results, [done, refused, done]);
}

#[tokio::test]
async fn the_audit_log_of_an_account_has_no_entry_of_another() {
    let (world, operator) = World::with_operator().await;
    world.user("ada@example.com", Some(world.account())).await;
    let owner = world.signed_in("ada@example.com").await;
    let path = "/console/installation/accounts";
    let page = world.get(path, &operator).await;
    let fields = [("do", "account"), ("name", "A secret merchant")];
    world.submit(&page, path, &operator, &fields).await;
    let all = world.get("/console/installation/audit", &operator).await;
    assert!(all.body.contains("A secret merchant"));
    let own = world.get(&world.in_app("audit"), &owner).await;
    assert_eq!(own.status, StatusCode::OK);
    assert!(!own.body.contains("A secret merchant"));
    let filtered = "/console/installation/audit?action=manage_gateways";
    let filtered = world.get(filtered, &operator).await;
    assert!(filtered.body.contains("No entry matches"));
    let wrong = world
        .get("/console/installation/audit?from=yesterday", &operator)
        .await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
}
