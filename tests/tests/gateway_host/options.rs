//! Lists of options that a gateway answers: cached per connection, used while the provider is down,
//! and never waited for long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard_core::environment::Environment;
use switchyard_core::limits::{OPTIONS_FRESH, OPTIONS_RETRY, OPTIONS_USABLE};
use switchyard_core::transaction::{ClientContext, Status};
use switchyard_engine::access::NewConnection;
use switchyard_engine::engine::{ConfirmRequest, EngineError, FieldProblem};
use switchyard_gateway_host::{Direction, Money, Options, OptionsCall, Version};
use switchyard_records::NewCustomer;
use switchyard_tests::merchant::Merchant;
use switchyard_tests::{eventually, misbehaving_gateway};

use crate::fixture::{Fixture, KEY};

const SOON: Duration = Duration::from_secs(20);

/// A provider with a list of banks, or without one.
struct Banks {
    url: String,
    list: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Banks {
    async fn start() -> Self {
        let list = Arc::new(Mutex::new(Some(json!([["058", "GTBank"]]))));
        let asked = Arc::new(AtomicUsize::new(0));
        let (now, count) = (Arc::clone(&list), Arc::clone(&asked));
        let answer = async move || -> Response {
            count.fetch_add(1, Ordering::SeqCst);
            match now.lock().unwrap().clone() {
                Some(list) => axum::Json(list).into_response(),
                None => StatusCode::BAD_GATEWAY.into_response(),
            }
        };
        let routes = axum::Router::new().route("/options/banks", axum::routing::get(answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, list, asked }
    }

    fn say(&self, list: Option<Value>) {
        *self.list.lock().unwrap() = list;
    }
}

fn call(gateway: &Arc<Version>, url: &str) -> OptionsCall {
    OptionsCall {
        gateway: Arc::clone(gateway),
        environment: Environment::Sandbox,
        config: json!({ "url": url, "key": KEY }),
        ask: Options {
            source: "banks".into(),
            method: "card_usd".into(),
            direction: Direction::Collect,
            unit: Money::from_minor(100, "USD", 2),
        },
    }
}

async fn values(fixture: &Fixture, call: &OptionsCall) -> Option<Vec<String>> {
    let list = fixture.gateways.options(call.clone()).await?;
    Some(list.iter().map(|option| option.value.clone()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_fetched_once_an_hour_and_outlives_its_provider() {
    let fixture = Fixture::new();
    let gateway = fixture.gateways.add(&misbehaving_gateway()).await.unwrap();
    let banks = Banks::start().await;
    let call = call(&gateway, &banks.url);
    let first = Some(vec!["058".to_owned()]);
    assert_eq!(values(&fixture, &call).await, first);
    fixture.clock.advance(OPTIONS_FRESH);
    assert_eq!(values(&fixture, &call).await, first);
    assert_eq!(
        banks.asked.load(Ordering::SeqCst),
        1,
        "the cached list is used"
    );

    // Expired: the last list is used at once, and the next one comes in the background.
    banks.say(Some(json!([["058", "GTBank"], ["070", "Fidelity"]])));
    fixture.clock.advance(Duration::from_secs(1));
    assert_eq!(values(&fixture, &call).await, first);
    let second = Some(vec!["058".to_owned(), "070".to_owned()]);
    let fetched = || async { Ok((values(&fixture, &call).await == second).then_some(())) };
    eventually("the new list", SOON, fetched).await.unwrap();
    assert_eq!(banks.asked.load(Ordering::SeqCst), 2);

    // The provider is down: the last list stays, and the provider is asked now and then.
    for (number, broken) in [None, Some(json!([]))].into_iter().enumerate() {
        banks.say(broken);
        fixture.clock.advance(OPTIONS_FRESH + OPTIONS_RETRY);
        // A caller starts the next fetch, but only after the last one has ended.
        let is_asked = || async {
            assert_eq!(values(&fixture, &call).await, second);
            let asked = banks.asked.load(Ordering::SeqCst);
            Ok((asked == 3 + number).then_some(()))
        };
        eventually("a request for the list", SOON, is_asked)
            .await
            .unwrap();
        assert_eq!(values(&fixture, &call).await, second);
    }
    fixture.clock.advance(OPTIONS_USABLE);
    assert_eq!(values(&fixture, &call).await, None, "it is too old");
    banks.say(Some(json!([["070", "Fidelity"]])));
    fixture.clock.advance(OPTIONS_RETRY * 2);
    let third = Some(vec!["070".to_owned()]);
    assert_eq!(values(&fixture, &call).await, third);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_long_for_a_list() {
    let fixture = Fixture::new();
    let gateway = fixture.gateways.add(&misbehaving_gateway()).await.unwrap();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let since = tokio::time::Instant::now();
    assert_eq!(values(&fixture, &call(&gateway, &url)).await, None);
    let took = since.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// A merchant with one connection for cards, to the provider at `url`.
async fn merchant(url: &str) -> anyhow::Result<Merchant> {
    let mut merchant = Merchant::with(|_| ()).await?;
    let pages = checkout::router(merchant.state.clone(), Draining::default());
    merchant.router = merchant.router.merge(pages);
    let engine = &merchant.bench.engine;
    engine.gateways().add(&misbehaving_gateway()).await?;
    let connection = NewConnection {
        app: merchant.bench.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "misbehaving".into(),
        account_name: "Banks".into(),
        methods: None,
        config: json!({ "url": url, "key": KEY }),
    };
    engine.access().create_connection(connection).await?;
    Ok(merchant)
}

fn choice(bank: &str) -> ConfirmRequest {
    ConfirmRequest {
        method: "card_usd".into(),
        country: Some("US".into()),
        phone: None,
        fields: BTreeMap::from([("bank".to_owned(), bank.to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_the_list_and_the_engine_takes_one_of_it() -> anyhow::Result<()> {
    let banks = Banks::start().await;
    let merchant = merchant(&banks.url).await?;
    let id = merchant.payment().await?;
    let page = format!("/checkout/{id}/details?country=US&method=card_usd");
    let page = merchant.get(&page).await?.text;
    assert!(page.contains("<select id=\"f-bank\""), "{page}");
    assert!(
        page.contains("<option value=\"058\">GTBank</option>"),
        "{page}"
    );
    let engine = &merchant.bench.engine;
    let refused = engine.confirm(id.parse()?, choice("070")).await;
    let Err(EngineError::FieldRefused { field, problem }) = refused else {
        anyhow::bail!("{refused:?}");
    };
    assert_eq!(
        (field.as_str(), problem),
        ("bank", FieldProblem::NotOffered)
    );
    let paying = engine.confirm(id.parse()?, choice("058")).await?;
    assert_ne!(paying.status(), Status::Initiated, "the attempt began");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_list_the_payer_types_freely_within_the_pattern() -> anyhow::Result<()> {
    let banks = Banks::start().await;
    banks.say(None);
    let merchant = merchant(&banks.url).await?;
    let id = merchant.payment().await?;
    let page = format!("/checkout/{id}/details?country=US&method=card_usd");
    let page = merchant.get(&page).await?.text;
    assert!(page.contains("<input id=\"f-bank\""), "{page}");
    let engine = &merchant.bench.engine;
    let refused = engine.confirm(id.parse()?, choice("GTBank")).await;
    let Err(EngineError::FieldRefused { problem, .. }) = refused else {
        anyhow::bail!("{refused:?}");
    };
    assert_eq!(problem, FieldProblem::Format);
    let paying = engine.confirm(id.parse()?, choice("070")).await?;
    assert_ne!(paying.status(), Status::Initiated, "the attempt began");
    Ok(())
}
