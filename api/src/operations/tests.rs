//! Pages of this module, on a memory store.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use metrics_exporter_prometheus::PrometheusBuilder;
use switchyard_core::directory::Directory;
use switchyard_core::environment::Environment;
use switchyard_engine::access::{
    Access, ConnectionChange, MasterKey, NewConnection, Options, SettingsToken, Vault,
    make_for_settings,
};
use switchyard_engine::engine::{Dependencies, Engine, EngineSettings};
use switchyard_engine::exchange_rates::{ExchangeRates, FeedSettings};
use switchyard_engine::hold::{Hold, Reasons};
use switchyard_gateway_host::Gateways;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use tower::ServiceExt as _;

use super::{DiskReserve, Draining, Operations, Surroundings};
use crate::state::{ApiState, HttpSettings};

async fn engine() -> Engine {
    engine_with(Options::default()).await
}

async fn engine_with(options: Options) -> Engine {
    let (clock, ids, store) = (Clock::wall(), Ids::seeded(31), Store::memory());
    let vault = Vault::new(&MasterKey::random(&ids), ids.clone());
    let access = Access::load(store.clone(), vault, clock.clone(), ids.clone(), options)
        .await
        .unwrap();
    let hold = Hold::open(store.clone(), clock.clone(), Reasons::default())
        .await
        .unwrap();
    let exchange_rates =
        ExchangeRates::load(store.clone(), clock.clone(), FeedSettings::default(), true)
            .await
            .unwrap();
    Engine::start(Dependencies {
        store,
        access,
        gateways: Gateways::default(),
        exchange_rates,
        directory: Arc::new(Directory::new("switchyard")),
        clock,
        ids,
        hold,
        settings: EngineSettings::default(),
    })
    .unwrap()
}

async fn ask(router: &Router, path: &str, token: &str) -> (StatusCode, String) {
    let request = Request::get(path).header("authorization", format!("Bearer {token}"));
    let answer = router
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let status = answer.status();
    let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20)
        .await
        .unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

fn operations(engine: &Engine, is_open: bool, draining: &Draining) -> Router {
    let handle = PrometheusBuilder::new().build_recorder().handle();
    let surroundings = Surroundings {
        requires_live_gateway: true,
        ..Surroundings::default()
    };
    Operations::new(
        engine.clone(),
        Some(handle),
        is_open,
        draining.clone(),
        surroundings,
    )
    .router()
}

#[tokio::test]
async fn a_server_that_is_ending_is_alive_and_not_ready() {
    let (engine, draining) = (engine().await, Draining::default());
    let router = operations(&engine, true, &draining);
    assert_eq!(ask(&router, "/readyz", "").await.0, StatusCode::OK);
    draining.begin();
    let (status, said) = ask(&router, "/readyz", "").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(said.contains("has begun"), "{said}");
    assert_eq!(ask(&router, "/healthz", "").await.0, StatusCode::OK);
}

#[tokio::test]
async fn metrics_need_an_operator_token_unless_they_are_open() {
    let (engine, draining) = (engine().await, Draining::default());
    let token = engine
        .access()
        .create_operator_token("prometheus", None)
        .await
        .unwrap()
        .secret;
    let closed = operations(&engine, false, &draining);
    assert_eq!(
        ask(&closed, "/metrics", "").await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        ask(&closed, "/metrics", "switchyard_op_nonsense").await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        ask(&closed, "/metrics", token.expose()).await.0,
        StatusCode::OK
    );
    assert_eq!(
        ask(&operations(&engine, true, &draining), "/metrics", "")
            .await
            .0,
        StatusCode::OK
    );
    let off = Operations::new(engine, None, true, draining, Surroundings::default()).router();
    assert_eq!(
        ask(&off, "/metrics", token.expose()).await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_token_for_metrics_opens_metrics_and_nothing_else() {
    let (token, hash) = make_for_settings("switchyard", &Ids::seeded(32));
    let named = SettingsToken::parse(&format!("prometheus:{hash}")).unwrap();
    let engine = engine_with(Options {
        metrics_tokens: vec![named],
        ..Options::default()
    })
    .await;
    let closed = operations(&engine, false, &Draining::default());
    assert_eq!(
        ask(&closed, "/metrics", token.expose()).await.0,
        StatusCode::OK
    );
    let (other, _) = make_for_settings("switchyard", &Ids::seeded(33));
    assert_eq!(
        ask(&closed, "/metrics", other.expose()).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert!(
        engine
            .access()
            .authenticate_operator(token.expose())
            .is_err()
    );
}

#[tokio::test]
async fn a_live_connection_without_a_gateway_is_not_ready_and_a_new_installation_is() {
    let (engine, draining) = (engine().await, Draining::default());
    let router = operations(&engine, true, &draining);
    assert_eq!(ask(&router, "/readyz", "").await.0, StatusCode::OK);
    let app = engine
        .access()
        .seed_development(None)
        .await
        .unwrap()
        .keys
        .app;
    let connection = |environment| NewConnection {
        app,
        environment,
        gateway: "gone".to_owned(),
        account_name: "Main".to_owned(),
        methods: None,
        config: serde_json::json!({}),
    };
    let access = engine.access();
    let sandbox = connection(Environment::Sandbox);
    access.create_connection(sandbox).await.unwrap();
    let (status, said) = ask(&router, "/readyz", "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(said.contains(r#""gateways":"not loaded: gone""#), "{said}");
    let live = connection(Environment::Live);
    let live = access.create_connection(live).await.unwrap();
    let (status, said) = ask(&router, "/readyz", "").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(said.contains("no gateway of a live connection"), "{said}");
    let disabled = ConnectionChange {
        is_enabled: Some(false),
        ..ConnectionChange::default()
    };
    access.update_connection(live.id, disabled).await.unwrap();
    assert_eq!(ask(&router, "/readyz", "").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_disk_below_its_reserve_is_told_and_the_server_stays_ready() {
    let engine = engine().await;
    let folder = tempfile::tempdir().unwrap();
    for (reserve, told) in [
        (0, "\"disk\":\"ok\""),
        (u64::MAX, "less than store.reserve"),
    ] {
        let disk = DiskReserve::new(folder.path().to_owned(), reserve, 0);
        let surroundings = Surroundings {
            disk_reserve: Some(disk),
            ..Surroundings::default()
        };
        let draining = Draining::default();
        let router = Operations::new(engine.clone(), None, false, draining, surroundings).router();
        let (status, said) = ask(&router, "/readyz", "").await;
        assert_eq!(status, StatusCode::OK);
        assert!(said.contains(told), "{said}");
    }
}

#[tokio::test]
async fn a_store_whose_damage_was_found_is_not_ready() {
    let (engine, draining) = (engine().await, Draining::default());
    let router = operations(&engine, true, &draining);
    engine.store().report_damage("a row is damaged");
    engine.store().report_damage("another one is");
    let (status, said) = ask(&router, "/readyz", "").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(said.contains("switchyard store check"), "{said}");
    assert_eq!(
        engine.store().damage().unwrap().as_str(),
        "a row is damaged"
    );
    assert_eq!(ask(&router, "/healthz", "").await.0, StatusCode::OK);
}

#[tokio::test]
async fn damage_of_the_store_is_a_metric_and_stands_below_the_cases() {
    let (engine, draining) = (engine().await, Draining::default());
    let token = engine.access().create_operator_token("ada", None);
    let token = token.await.unwrap().secret;
    let state = ApiState::new(engine.clone(), HttpSettings::default());
    let cases = crate::operator::routes(state.clone(), draining.clone()).with_state(state);
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = Operations::new(
        engine.clone(),
        Some(recorder.handle()),
        true,
        draining,
        Surroundings::default(),
    )
    .router();
    let _here = metrics::set_default_local_recorder(&recorder);
    for (gauge, damage) in [("0", "null"), ("1", "\"a row is damaged\"")] {
        let (_, page) = ask(&metrics, "/metrics", "").await;
        let value = format!("switchyard_store_damaged {gauge}\n");
        assert!(page.contains(&value), "no {value}: {page}");
        let (status, listed) = ask(&cases, "/cases", token.expose()).await;
        assert_eq!(status, StatusCode::OK, "{listed}");
        let field = format!("\"store_damage\":{damage}");
        assert!(listed.contains(&field), "no {field}: {listed}");
        engine.store().report_damage("a row is damaged");
    }
}
