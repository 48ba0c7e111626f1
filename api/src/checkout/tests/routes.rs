//! The checkout routes, over a running engine without gateways: the response to every kind of
//! request.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{ClientContext, Status};
use switchyard_engine::engine::{EngineSettings, NewPayment};
use switchyard_engine::testing::{TestEngine, TestEngineBuilder, amount, customer};
use switchyard_gateway_host::Gateways;
use tower::ServiceExt;

use crate::checkout::answers::FormState;
use crate::operations::Draining;
use crate::state::{ApiState, HttpSettings};

struct House {
    test: TestEngine,
    router: Router,
    draining: Draining,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn leads_to(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.headers["location"].to_str().unwrap()
    }
}

impl House {
    async fn at(public_url: &str) -> Self {
        let settings = EngineSettings {
            public_url: public_url.to_owned(),
            ..EngineSettings::default()
        };
        let wanted = TestEngineBuilder {
            settings,
            ..TestEngineBuilder::with(Gateways::default())
        };
        let test = wanted.start().await;
        let draining = Draining::default();
        let state = ApiState::new(test.engine.clone(), HttpSettings::default());
        let router = crate::checkout::router(state, draining.clone());
        Self {
            test,
            router,
            draining,
        }
    }

    async fn new() -> Self {
        Self::at("http://127.0.0.1:8080").await
    }

    async fn payment(&self) -> TransactionId {
        let new = NewPayment {
            amount: amount(2500, "USD"),
            description: "A teapot".to_owned(),
            return_url: "https://shop.example/done".to_owned(),
            customer: customer(),
            metadata: BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: ClientContext::default(),
        };
        let caller = self.test.caller();
        self.test
            .engine
            .initialize_payment(&caller, new, None)
            .await
            .unwrap()
            .id
    }

    async fn ask(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    async fn post(&self, path: &str, form: &str) -> Answer {
        let request =
            Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        self.ask(request.body(Body::from(form.to_owned())).unwrap())
            .await
    }

    async fn status(&self, id: TransactionId) -> Status {
        self.test
            .engine
            .transaction(id)
            .await
            .unwrap()
            .unwrap()
            .status()
    }
}

#[tokio::test]
async fn what_is_no_payment_gets_a_page_that_says_so() {
    let house = House::new().await;
    let id = house.payment().await;
    let unknown = id.to_string().replace("py_0", "py_1");
    let payout = id.to_string().replace("py_", "po_");
    for id in [
        unknown.as_str(),
        &payout,
        "x",
        "%00",
        "py_%F0%9F%92%A9",
        "..%2f..%2fetc",
    ] {
        for step in [
            "", "/details", "/confirm", "/wait", "/result", "/events", "/status",
        ] {
            let answer = house.get(&format!("/checkout/{id}{step}")).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{id}{step}");
            assert!(
                answer.body.contains("There is no such payment"),
                "{id}{step}"
            );
        }
    }
    let answer = house
        .get(&format!("/checkout/{id}/elsewhere?lang=fr"))
        .await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.body.contains("Il n’y a pas de page ici"));
    let open = house.get(&format!("/checkout/{id}/")).await;
    assert_eq!(open.status, StatusCode::OK, "a slash too many is no matter");
    let wrong = ["/checkout".to_owned(), "/checkout/".to_owned()];
    for path in wrong {
        let answer = house.get(&path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.body.contains("There is no such payment"), "{path}");
    }
    let more = house.get(&format!("/checkout/{id}/details/more")).await;
    assert_eq!(more.status, StatusCode::NOT_FOUND);
    assert!(
        more.body.contains("There is no page here"),
        "the payment exists"
    );
}

#[tokio::test]
async fn every_answer_has_the_headers_that_protect_the_payer() {
    for (public_url, https) in [
        ("https://pay.example", true),
        ("http://127.0.0.1:8080", false),
    ] {
        let house = House::at(public_url).await;
        let id = house.payment().await;
        let mut answers = vec![house.get("/checkout/x").await];
        for step in ["", "/details", "/confirm", "/cancel", "/wait", "/status"] {
            answers.push(house.get(&format!("/checkout/{id}{step}")).await);
        }
        answers.push(house.post(&format!("/checkout/{id}/wait"), "").await);
        for answer in answers {
            let headers = &answer.headers;
            let policy = headers["content-security-policy"].to_str().unwrap();
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'")
            );
            assert!(!policy.contains("unsafe"));
            for (name, value) in [
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("cache-control", "no-store"),
                ("cross-origin-opener-policy", "same-origin"),
            ] {
                assert_eq!(headers[name], value);
            }
            assert!(headers.contains_key("permissions-policy"));
            assert_eq!(headers.contains_key("strict-transport-security"), https);
            assert!(!headers.contains_key("set-cookie"));
        }
    }
}

#[tokio::test]
async fn each_page_has_a_nonce_of_its_own_and_nothing_runs_without_it() {
    let house = House::new().await;
    let path = format!("/checkout/{}", house.payment().await);
    let nonce = |answer: &Answer| {
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        let start = policy.find("'nonce-").unwrap() + 7;
        policy[start..start + policy[start..].find('\'').unwrap()].to_owned()
    };
    let (first, second) = (house.get(&path).await, house.get(&path).await);
    assert_ne!(nonce(&first), nonce(&second));
    assert!(nonce(&first).len() >= 22);
    let named = format!("nonce=\"{}\"", nonce(&first));
    assert_eq!(first.body.matches(&named).count(), 2);
    assert_eq!(
        first.body.matches("<script").count() + first.body.matches("<style").count(),
        2
    );
}

#[tokio::test]
async fn the_language_is_the_addresss_then_the_browsers_then_english() {
    let house = House::new().await;
    let path = format!("/checkout/{}", house.payment().await);
    for (query, accept, lang) in [
        ("?lang=fr", "en", "fr"),
        ("?lang=xx", "fr-CI,fr;q=0.9,en;q=0.8", "fr"),
        ("", "fr", "fr"),
        ("", "sw", "en"),
        ("?lang=en", "fr", "en"),
    ] {
        let request = Request::get(format!("{path}{query}")).header("accept-language", accept);
        let answer = house.ask(request.body(Body::empty()).unwrap()).await;
        assert!(
            answer.body.contains(&format!("<html lang=\"{lang}\">")),
            "{query} {accept}"
        );
        let kept = answer.body.contains(&format!("/cancel?lang={lang}"));
        assert_eq!(
            kept,
            query.ends_with(lang),
            "{query}: links keep what the visitor chose, and only that"
        );
    }
}

#[tokio::test]
async fn a_payment_without_a_way_to_pay_says_so_and_begins_nothing() {
    let house = House::new().await;
    let id = house.payment().await;
    let page = house.get(&format!("/checkout/{id}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("There is no way to pay this right now."));
    let answer = house
        .post(
            &format!("/checkout/{id}/details"),
            "method=card_usd&country=US",
        )
        .await;
    assert_eq!(answer.leads_to(), format!("/checkout/{id}?notice=method"));
    for forged in ["", "a=v1.AAAA", "a=", "a=%00%ff"] {
        let answer = house.post(&format!("/checkout/{id}/confirm"), forged).await;
        assert_eq!(answer.leads_to(), format!("/checkout/{id}?notice=stale"));
    }
    assert_eq!(house.status(id).await, Status::Initiated);
}

#[tokio::test]
async fn cancelling_asks_first_and_twice_is_as_good_as_once() {
    let house = House::new().await;
    let id = house.payment().await;
    let cancel = format!("/checkout/{id}/cancel");
    let page = house.get(&cancel).await;
    assert!(page.body.contains("Cancel this payment?") && page.body.contains("method=\"post\""));
    assert_eq!(
        house.status(id).await,
        Status::Initiated,
        "looking changes nothing"
    );
    for _ in 0..2 {
        let answer = house.post(&cancel, "").await;
        assert_eq!(answer.leads_to(), format!("/checkout/{id}/result"));
    }
    assert_eq!(house.status(id).await, Status::Cancelled);
    let result = house.get(&format!("/checkout/{id}/result")).await;
    assert!(result.body.contains("Payment cancelled"));
    assert!(
        result
            .body
            .contains(&format!("paymentId={id}&#38;paymentStatus=cancelled"))
    );
    for old in ["", "/details", "/confirm", "/cancel", "/wait"] {
        let answer = house.get(&format!("/checkout/{id}{old}")).await;
        assert_eq!(answer.leads_to(), format!("/checkout/{id}/result"), "{old}");
    }
}

#[tokio::test]
async fn a_form_that_another_site_sent_changes_nothing_and_leads_to_the_payment() {
    let house = House::new().await;
    let id = house.payment().await;
    let send = |site: &'static str| {
        let request = Request::post(format!("/checkout/{id}/cancel"))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", site);
        house.ask(request.body(Body::empty()).unwrap())
    };
    for site in ["cross-site", "same-site"] {
        let answer = send(site).await;
        assert_eq!(answer.leads_to(), format!("/checkout/{id}"), "{site}");
        assert_eq!(house.status(id).await, Status::Initiated, "{site}");
    }
    send("same-origin").await;
    assert_eq!(house.status(id).await, Status::Cancelled);
}

#[tokio::test]
async fn a_payment_that_nobody_paid_in_time_says_that_its_time_has_run_out() {
    let house = House::new().await;
    let id = house.payment().await;
    house.test.clock.advance(Duration::from_secs(30 * 60 + 1));
    let answer = house.get(&format!("/checkout/{id}")).await;
    assert_eq!(answer.leads_to(), format!("/checkout/{id}/result"));
    let result = house.get(&format!("/checkout/{id}/result")).await;
    assert!(
        result.body.contains("The time to pay has run out"),
        "{}",
        result.body
    );
}

#[tokio::test]
async fn a_store_that_cannot_answer_is_a_page_with_advice() {
    let house = House::new().await;
    let id = house.payment().await;
    house.test.engine.store().close().await;
    let answer = house.get(&format!("/checkout/{id}?lang=fr")).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers["retry-after"], "30");
    assert!(answer.body.contains("ne payez pas à nouveau"));
    assert!(
        answer
            .body
            .contains(&format!("href=\"/checkout/{id}?lang=fr\""))
    );
}

#[tokio::test]
async fn too_much_text_and_strange_methods_get_a_page_and_change_nothing() {
    let house = House::new().await;
    let id = house.payment().await;
    let long = format!("msisdn={}", "9".repeat(20_000));
    let answer = house.post(&format!("/checkout/{id}/details"), &long).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer.body.contains("too much text"));
    let delete = Request::delete(format!("/checkout/{id}"))
        .body(Body::empty())
        .unwrap();
    let answer = house.ask(delete).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(answer.headers.contains_key("allow") && answer.body.contains("<h1>"));
    assert_eq!(house.status(id).await, Status::Initiated);
}

#[tokio::test]
async fn events_say_where_the_payment_stands_and_end_with_the_server() {
    let house = House::new().await;
    let id = house.payment().await;
    let status = house.get(&format!("/checkout/{id}/status")).await;
    assert!(status.body.len() <= 200 && status.body.starts_with("{\"stand\":\""));

    let request = Request::get(format!("/checkout/{id}/events"))
        .body(Body::empty())
        .unwrap();
    let response = house.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    house.test.engine.cancel(id).await.unwrap();
    let reading = tokio::spawn(axum::body::to_bytes(response.into_body(), usize::MAX));
    tokio::time::sleep(Duration::from_millis(200)).await;
    house.draining.begin();
    let told = tokio::time::timeout(Duration::from_secs(20), reading).await;
    let told = String::from_utf8(told.unwrap().unwrap().unwrap().to_vec()).unwrap();
    let after = house.get(&format!("/checkout/{id}/status")).await.body;
    let last = told
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("data: "))
        .unwrap();
    assert_eq!(after, format!("{{\"stand\":\"{last}\"}}"));
    assert_ne!(after, status.body);
}

#[tokio::test]
async fn a_service_below_a_path_links_to_itself_there() {
    let house = House::at("https://example.com/pay/").await;
    let id = house.payment().await;
    let page = house.get(&format!("/checkout/{id}")).await;
    assert!(
        page.body
            .contains(&format!("href=\"/pay/checkout/{id}/cancel\""))
    );
    assert!(
        page.body
            .contains(&format!("href=\"/pay/checkout/{id}?lang=fr\""))
    );
}

#[tokio::test]
async fn answers_from_before_the_last_attempt_open_no_form() {
    let house = House::new().await;
    let id = house.payment().await;
    let access = house.test.engine.access();
    let sealed = |attempts| {
        let answers = FormState {
            payment: id,
            method: "mtn_bj".to_owned(),
            country: "BJ".to_owned(),
            given: [("msisdn".to_owned(), "+2290197000000".to_owned())].into(),
            attempts,
            sent: false,
            agreed: None,
        };
        let account = house.test.caller().app.account;
        answers.seal(access.vault(), account).unwrap()
    };
    for (attempts, notice) in [(1, "stale"), (0, "method")] {
        let path = format!("/checkout/{id}/details?a={}", sealed(attempts));
        let answer = house.get(&path).await;
        assert_eq!(answer.leads_to(), format!("/checkout/{id}?notice={notice}"));
    }
}
