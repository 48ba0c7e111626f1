//! The account API through its routes.

mod export;
mod payment_links;
mod people;
mod profile;
mod walk;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, DeliveryId, PaymentLinkId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::{KeyKind, NewConnection, NewWebhook, WebhookOptions};
use switchyard_engine::engine::NewPayment;
use switchyard_engine::testing::{TestEngine, TestEngineBuilder, amount, customer};
use switchyard_gateway_host::Gateways;
use switchyard_users::{
    Acceptance, Action, BatchId, BatchLine, Identity, LinkAmount, LinkTerms, NewBatch,
    NewInvitation, NewLink, NewPaymentLink, Options, Origin, PasswordCost, Proposal, Role, Sealer,
    SecondFactor, SignIn, TokenRequest, Users,
};
use tower::ServiceExt as _;

use crate::state::{ApiState, ConsoleAccess, HttpSettings};

const PASSWORD: &str = "violet teapots hum softly";
const ROLES: [Role; 6] = [
    Role::Owner,
    Role::Admin,
    Role::Developer,
    Role::Finance,
    Role::Support,
    Role::Viewer,
];

/// Sealer that encrypts nothing.
struct PlainSealer;

impl Sealer for PlainSealer {
    fn seal(&self, _: UserId, plain: &[u8]) -> Option<String> {
        Some(base16ct::lower::encode_string(plain))
    }

    fn open(&self, _: UserId, sealed: &str) -> Option<Secret<Vec<u8>>> {
        base16ct::lower::decode_vec(sealed).ok().map(Secret::new)
    }
}

struct World {
    test: TestEngine,
    users: Users,
    router: Router,
}

/// Status and body of a response.
struct Shown(u16, Value);

impl Shown {
    fn code(&self) -> &str {
        self.1["errors"][0]["code"].as_str().unwrap_or_default()
    }
}

/// Operation of the document, with the action that its description names.
struct Operation {
    method: &'static str,
    path: String,
    id: String,
    /// `None`: it is for every sender.
    action: Option<Action>,
}

/// Parts of the paths, by their names.
type Objects = Vec<(&'static str, String)>;

fn operations() -> Vec<Operation> {
    let mut document = super::document();
    let mut all = Vec::new();
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in crate::operator::openapi::operations(item) {
            let about = operation.description.clone().unwrap_or_default();
            let about = about.replace('\n', " ");
            let named = about.split_once("Action: `").map(|(_, rest)| rest);
            let named = named.map(|rest| rest.split('`').next().unwrap_or_default());
            let is_open = [
                "For every sender",
                "For everyone",
                "For people in a session",
            ];
            let id = operation.operation_id.clone().unwrap();
            let is_open = is_open
                .iter()
                .any(|open| about.to_lowercase().contains(&open.to_lowercase()));
            assert!(named.is_some() != is_open, "{id}: {about}");
            all.push(Operation {
                method,
                path: path.strip_prefix(super::PREFIX).unwrap().to_owned(),
                id,
                action: named.map(|name| Action::of(name).expect("an action of the table")),
            });
        }
    }
    assert!(all.len() > 45, "{}", all.len());
    all
}

/// A body that the operation takes.
fn body(id: &str, account: AccountId) -> Value {
    match id {
        "createToken" => json!({
            "name": "CI", "account": account, "actions": ["view_payments"], "days": 30,
        }),
        "signIn" => json!({ "email": "nobody@example.com", "password": "not this one" }),
        "reject" => json!({ "reason": "No." }),
        "changeProfile" => json!({ "language": "fr" }),
        "changePassword" => json!({ "password": PASSWORD }),
        "confirmSecondFactor" => json!({ "code": "123456" }),
        "createPaymentLink" => json!({ "title": "Tickets", "amount": 25, "currency": "USD" }),
        "createKey" => json!({ "kind": "secret" }),
        "createWebhook" => json!({ "url": "https://shop.example/hook" }),
        "sendTestEvent" => json!({ "event": "payment.initiated" }),
        "resendMissing" => json!({ "since": "2020-01-01" }),
        "inviteMember" => json!({
            "email": "new@example.com", "name": "Nora", "role": "viewer",
        }),
        "changeRole" => json!({ "role": "support" }),
        _ => json!({}),
    }
}

fn filled(path: &str, objects: &Objects) -> String {
    let parts = path.split('/').map(|part| match part.starts_with('{') {
        true => {
            let found = objects.iter().find(|(name, _)| *name == part);
            found.map_or("nothing", |(_, id)| id.as_str())
        }
        false => part,
    });
    let path = parts.collect::<Vec<_>>().join("/");
    match path.ends_with("/search") {
        true => format!("{path}?text=a"),
        false => path,
    }
}

/// The users of an engine's store, as a process loads them.
async fn users_of(test: &TestEngine) -> Users {
    let users = Users::load(
        test.engine.store().clone(),
        Arc::new(PlainSealer),
        test.clock.clone(),
        test.engine.ids().clone(),
        Options {
            second_factor: SecondFactor::Optional,
            password_cost: PasswordCost::MINIMUM,
            ..Options::default()
        },
    );
    users.await.unwrap()
}

impl World {
    async fn new() -> Self {
        Self::on(TestEngineBuilder::with(Gateways::default())).await
    }

    async fn on(wanted: TestEngineBuilder) -> Self {
        let test = wanted.start().await;
        let users = users_of(&test).await;
        let access = ConsoleAccess {
            users: users.clone(),
            url: "http://127.0.0.1:8080".to_owned(),
            openid: None,
        };
        let http = HttpSettings::default();
        let state = ApiState::with_console(test.engine.clone(), http, Some(access));
        let router = Router::new()
            .nest(super::PREFIX, super::routes(state.clone()))
            .with_state(state);
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

    async fn call(&self, method: &str, path: &str, token: &str, body: Value) -> Shown {
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        self.send((method, path), token, ("application/json", body))
            .await
    }

    /// Sends a request with a body of this type.
    async fn send(
        &self,
        (method, path): (&str, &str),
        token: &str,
        (media_type, body): (&str, Body),
    ) -> Shown {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", super::PREFIX))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", media_type)
            .body(body);
        let response = self.router.clone().oneshot(request.unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 22);
        let bytes = bytes.await.unwrap();
        Shown(status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn get(&self, path: &str, token: &str) -> Value {
        let Shown(status, body) = self.call("GET", path, token, Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body["data"].clone()
    }

    /// Sends an operation. Returns its response.
    async fn ask(&self, one: &Operation, objects: &Objects, token: &str) -> Shown {
        let path = filled(&one.path, objects);
        let body = match one.method {
            "GET" | "DELETE" => Value::Null,
            _ => body(&one.id, self.account()),
        };
        self.call(one.method, &path, token, body).await
    }

    async fn accept(&self, link: &NewLink) {
        let token = link.token.expose();
        if link.user.is_active() {
            let session = self.session(&link.user.email).await;
            let who = self
                .users
                .authenticate_session(&session, &Origin::default());
            let who = who.unwrap();
            let accepted = self.users.accept_invitation_as(&who, token).await;
            accepted.unwrap();
            return;
        }
        let acceptance = Acceptance {
            password: Some(Secret::new(PASSWORD.to_owned())),
            ..Acceptance::default()
        };
        let origin = Origin::default();
        let accepted = self.users.accept_invitation(token, acceptance, &origin);
        accepted.await.unwrap();
    }

    /// Makes the first owner of an account.
    async fn owner(&self, email: &str, account: AccountId) {
        let (new, origin) = (invitation(email, Role::Owner), Origin::default());
        let made = self.users.invite_first(Some(account), new, &origin).await;
        self.accept(&made.unwrap()).await;
    }

    /// Makes a member, whom the owner with this session invites.
    async fn member(&self, owner: &str, email: &str, role: Role) -> UserId {
        let who = self.users.authenticate_session(owner, &Origin::default());
        let (who, account) = (who.unwrap(), Some(self.account()));
        let permit = self.users.authorize(&who, Action::ManageTeam, account);
        let permit = permit.unwrap();
        let made = self.users.invite(&permit, invitation(email, role)).await;
        let made = made.unwrap();
        self.accept(&made).await;
        made.user.id
    }

    /// Token of a new session.
    async fn session(&self, email: &str) -> String {
        let password = Secret::new(PASSWORD.to_owned());
        let step = self
            .users
            .sign_in(email, password, &Origin::default())
            .await;
        match step.unwrap() {
            SignIn::SignedIn(made) => made.token.expose().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// API token of the user with this session.
    async fn token(&self, session: &str, actions: impl IntoIterator<Item = Action>) -> String {
        let who = self.users.authenticate_session(session, &Origin::default());
        let request = TokenRequest {
            name: "CI".to_owned(),
            account: Some(self.account()),
            actions: actions.into_iter().collect(),
            expires_at: self
                .test
                .clock
                .now()
                .plus(Duration::from_secs(24 * 60 * 60)),
        };
        let made = self.users.create_token(&who.unwrap(), request).await;
        made.unwrap().secret.expose().clone()
    }

    /// Sessions of a member of each role, and the number of the roles.
    async fn roles(&self) -> Vec<(Role, String)> {
        self.owner("owner@example.com", self.account()).await;
        let owner = self.session("owner@example.com").await;
        let mut sessions = vec![(Role::Owner, owner.clone())];
        for role in &ROLES[1..] {
            let email = format!("{}@example.com", role.name());
            self.member(&owner, &email, *role).await;
            sessions.push((*role, self.session(&email).await));
        }
        sessions
    }

    async fn payment(&self, key: &str) -> String {
        let new = NewPayment {
            amount: amount(14_850, "USD"),
            description: "Order 1042".to_owned(),
            return_url: "https://shop.example/done".to_owned(),
            customer: customer(),
            metadata: std::collections::BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: ClientContext::default(),
        };
        let engine = &self.test.engine;
        let caller = engine.access().authenticate(key).unwrap();
        let made = engine.initialize_payment(&caller, new, None).await;
        made.unwrap().id.to_string()
    }

    /// An object of each kind of an app. `owner`: fresh session of an owner of the account, who
    /// makes the proposal and the invitation.
    async fn objects(&self, account: AccountId, app: AppId, owner: &str) -> Objects {
        let who = self.users.authenticate_session(owner, &Origin::default());
        let who = who.unwrap();
        let permit = |action| self.users.authorize(&who, action, Some(account)).unwrap();
        let payload = json!({
            "app": app, "environment": "sandbox", "key": "may", "request": {},
        });
        let proposal = Proposal {
            kind: "payout".to_owned(),
            payload,
            reason: "May".to_owned(),
        };
        let proposing = permit(Action::CreatePayout);
        let proposed = self.users.propose(&proposing, proposal).await;
        let approval = proposed.unwrap().id;
        let email = format!("guest-{approval}@example.com");
        let permit = permit(Action::ManageTeam);
        let invited = self.users.invite(&permit, invitation(&email, Role::Viewer));
        let invitation = invited.await.unwrap().link.id;
        let batch = self.batch(account, app, &who).await;
        let link = self.payment_link(account, app, &who).await;
        let access = self.test.engine.access();
        let key = access.create_key(app, Environment::Sandbox, KeyKind::Secret, None);
        let key = key.await.unwrap();
        let webhook = access.create_webhook(NewWebhook {
            app,
            url: "https://shop.example/hook".to_owned(),
            secret: None,
            options: WebhookOptions::default(),
        });
        let webhook = webhook.await.unwrap();
        let connection = access.create_connection(NewConnection {
            app,
            environment: Environment::Sandbox,
            gateway: "acme".to_owned(),
            account_name: "Main".to_owned(),
            methods: Some(vec!["mtn_bj".to_owned()]),
            config: json!({}),
        });
        let connection = connection.await.unwrap().id;
        let payment = self.payment(key.secret.expose()).await;
        let stored = self.test.engine.transaction(payment.parse().unwrap());
        let customer = stored.await.unwrap().unwrap().customer.id;
        vec![
            ("{account}", account.to_string()),
            ("{app}", app.to_string()),
            ("{environment}", "sandbox".to_owned()),
            ("{transaction}", payment),
            ("{customer}", customer.to_string()),
            ("{connection}", connection.to_string()),
            ("{key}", key.key.id.to_string()),
            ("{webhook}", webhook.id.to_string()),
            ("{delivery}", DeliveryId::new(app.ulid()).to_string()),
            ("{approval}", approval.to_string()),
            ("{invitation}", invitation.to_string()),
            ("{batch}", batch.to_string()),
            ("{link}", link.to_string()),
        ]
    }

    /// A payment link.
    async fn payment_link(&self, account: AccountId, app: AppId, who: &Identity) -> PaymentLinkId {
        let action = Action::ManagePaymentLinks;
        let permit = self.users.authorize(who, action, Some(account)).unwrap();
        let new = NewPaymentLink {
            app,
            environment: Environment::Sandbox,
            terms: LinkTerms {
                title: "Tickets".to_owned(),
                amount: LinkAmount::Fixed {
                    amount: amount(2_500, "USD"),
                },
                description: None,
                asks_phone: false,
                methods: Vec::new(),
                max_uses: Some(2),
                expires_at: None,
                return_url: None,
                metadata: std::collections::BTreeMap::new(),
            },
        };
        let created = self.users.create_payment_link(&permit, new).await;
        created.unwrap().id
    }

    /// A draft of a batch of payouts.
    async fn batch(&self, account: AccountId, app: AppId, who: &Identity) -> BatchId {
        let permit = self
            .users
            .authorize(who, Action::CreatePayout, Some(account));
        let line = BatchLine {
            number: 2,
            request: json!({ "amount": "25" }),
        };
        let new = NewBatch {
            app,
            environment: Environment::Sandbox,
            name: "may.csv".to_owned(),
            lines: vec![line],
        };
        let uploaded = self.users.upload_batch(&permit.unwrap(), new).await;
        uploaded.unwrap().id
    }

    fn in_scope(&self, rest: &str) -> String {
        format!("/apps/{}/sandbox/{rest}", self.test.keys.app)
    }

    fn in_account(&self, rest: &str) -> String {
        format!("/accounts/{}/{rest}", self.account())
    }
}

fn invitation(email: &str, role: Role) -> NewInvitation {
    NewInvitation {
        email: email.to_owned(),
        name: "Ada Lovelace".to_owned(),
        language: Language::En,
        role,
    }
}
