//! The page of a payment link that takes no payment, in both languages, over an engine without
//! gateways. `tests/tests/payment_links.rs` has the links that are paid.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, PaymentId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_engine::access::AppChange;
use switchyard_engine::testing::{TestEngine, TestEngineBuilder, amount};
use switchyard_gateway_host::Gateways;
use switchyard_store::Batch;
use switchyard_system::secrets::Fingerprint;
use switchyard_users::{
    Acceptance, Action, EndedPayment, LinkAmount, LinkTerms, NewInvitation, NewPaymentLink,
    Options, Origin, PasswordCost, PaymentLink, Permit, Role, Sealer, SecondFactor, SignIn, Users,
};
use tower::ServiceExt as _;

use crate::operations::Draining;
use crate::state::{ApiState, ConsoleAccess, HttpSettings};

const PASSWORD: &str = "violet teapots hum softly";

/// Sealer of tests without second factors.
struct NoSealer;

impl Sealer for NoSealer {
    fn seal(&self, _: UserId, _: &[u8]) -> Option<String> {
        None
    }

    fn open(&self, _: UserId, _: &str) -> Option<Secret<Vec<u8>>> {
        None
    }
}

struct World {
    test: TestEngine,
    users: Users,
    router: Router,
}

impl World {
    async fn new() -> Self {
        let test = TestEngineBuilder::with(Gateways::default()).start().await;
        let users = Users::load(
            test.engine.store().clone(),
            Arc::new(NoSealer),
            test.clock.clone(),
            test.engine.ids().clone(),
            Options {
                second_factor: SecondFactor::Optional,
                password_cost: PasswordCost::MINIMUM,
                ..Options::default()
            },
        );
        let users = users.await.unwrap();
        let access = ConsoleAccess {
            users: users.clone(),
            url: "http://127.0.0.1:8080".to_owned(),
            openid: None,
        };
        let http = HttpSettings::default();
        let state = ApiState::with_console(test.engine.clone(), http, Some(access));
        let router = crate::checkout::router(state, Draining::default());
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

    /// The right of an owner to manage links.
    async fn permit(&self) -> Permit {
        let (email, origin) = ("ada@example.com", Origin::default());
        let invitation = NewInvitation {
            email: email.to_owned(),
            name: "Ada".to_owned(),
            language: Language::En,
            role: Role::Owner,
        };
        let account = Some(self.account());
        let made = self.users.invite_first(account, invitation, &origin).await;
        let acceptance = Acceptance {
            password: Some(Secret::from(PASSWORD)),
            ..Acceptance::default()
        };
        let token = made.unwrap().token;
        let accepted = self
            .users
            .accept_invitation(token.expose(), acceptance, &origin);
        accepted.await.unwrap();
        let password = Secret::from(PASSWORD);
        let signed_in = self.users.sign_in(email, password, &origin).await;
        let SignIn::SignedIn(session) = signed_in.unwrap() else {
            panic!("a second factor");
        };
        let token = session.token.expose();
        let who = self.users.authenticate_session(token, &origin).unwrap();
        let action = Action::ManagePaymentLinks;
        self.users.authorize(&who, action, account).unwrap()
    }

    async fn link(&self, permit: &Permit, max_uses: Option<u32>) -> PaymentLink {
        let end = self.test.clock.now().plus(Duration::from_secs(3_600));
        let new = NewPaymentLink {
            app: self.test.keys.app,
            environment: Environment::Sandbox,
            terms: LinkTerms {
                title: "Tickets <May>".to_owned(),
                amount: LinkAmount::Fixed {
                    amount: amount(2_500, "USD"),
                },
                description: None,
                asks_phone: false,
                methods: Vec::new(),
                max_uses,
                expires_at: Some(end),
                return_url: None,
                metadata: BTreeMap::new(),
            },
        };
        self.users.create_payment_link(permit, new).await.unwrap()
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        (status, String::from_utf8(body.unwrap().to_vec()).unwrap())
    }

    /// The page of a link has this status, and these words in English and in French.
    async fn says(&self, link: &PaymentLink, status: StatusCode, words: [&str; 2]) {
        for (language, words) in ["en", "fr"].into_iter().zip(words) {
            let page = self.get(&format!("/l/{}?lang={language}", link.code)).await;
            assert_eq!(page.0, status, "{words}");
            assert!(page.1.contains(words), "{words}: {}", page.1);
            assert!(page.1.contains("Tickets &#60;May&#62;"), "the order");
            assert!(!page.1.contains("<form"), "{words}");
        }
    }

    /// A payment of a form, as the commit of a payment stores it.
    async fn begun(&self, link: &PaymentLink) -> PaymentId {
        let content = Fingerprint::of("a");
        let claim = self.users.new_use(link.id, "a", content).await.unwrap();
        let now = self.test.clock.now();
        let payment = PaymentId::new(self.test.engine.ids().ulid(now));
        let mut batch = Batch::new();
        claim.unwrap().add_to(&mut batch, payment);
        self.test.engine.store().commit(batch).await.unwrap();
        payment
    }
}

#[tokio::test]
async fn a_link_that_takes_no_payment_says_why() {
    let world = World::new().await;
    let permit = world.permit().await;
    let link = world.link(&permit, None).await;
    let no_method = ["Nothing can be paid here", "Rien ne peut être payé ici"];
    world.says(&link, StatusCode::NOT_FOUND, no_method).await;
    let users = &world.users;
    users.disable_payment_link(&permit, link.id).await.unwrap();
    let closed = ["link is closed", "Ce lien de paiement est fermé"];
    world.says(&link, StatusCode::GONE, closed).await;

    let once = world.link(&permit, Some(1)).await;
    let payment = world.begun(&once).await;
    let received = Some(amount(2_500, "USD"));
    let ended = [EndedPayment { payment, received }];
    users.settle_uses(&once, &ended).await.unwrap();
    let used = ["link was used already", "a déjà servi"];
    world.says(&once, StatusCode::GONE, used).await;

    let short = world.link(&permit, None).await;
    world.test.clock.advance(Duration::from_secs(3_600));
    let expired = ["link has expired", "Ce lien de paiement a expiré"];
    world.says(&short, StatusCode::GONE, expired).await;

    let change = AppChange {
        is_enabled: Some(false),
        ..AppChange::default()
    };
    let access = world.test.engine.access();
    let app = world.test.keys.app;
    access.update_app(app, change).await.unwrap();
    let disabled = ["is not taking payments", "n’accepte pas de paiements"];
    world.says(&short, StatusCode::GONE, disabled).await;
}

#[tokio::test]
async fn a_code_that_no_link_has_leads_to_no_link() {
    let world = World::new().await;
    let link = world.link(&world.permit().await, None).await;
    for path in [
        "/l/0000000000000000".to_owned(),
        "/l/x".to_owned(),
        "/l/%00".to_owned(),
        format!("/l/{}", link.id),
        format!("/l/{}0/done", link.code),
    ] {
        let (status, page) = world.get(&path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.contains("There is no such payment"), "{path}: {page}");
    }
    let typed = link.code.to_string().to_uppercase();
    let (status, page) = world.get(&format!("/l/{typed}/done")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("You can close this page"));
}
