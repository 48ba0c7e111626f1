//! A test gateway moves no money: outside development mode no live transaction goes to it, also
//! over a connection that was made in development mode.

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::Kind;
use switchyard_engine::access::NewConnection;
use switchyard_engine::engine::EngineSettings;
use switchyard_engine::testing::{START, TestEngineBuilder};
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::demo_gateway;
use switchyard_tests::gateways::workers;
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread")]
async fn a_live_connection_of_a_test_gateway_serves_in_development_mode_only() {
    for development in [true, false] {
        let folder = TempDir::new().unwrap();
        let settings = GatewaySettings {
            dir: folder.path().join("gateways"),
            development: true,
            worker: workers(),
            ..GatewaySettings::default()
        };
        let gateways = Gateways::new(settings, Clock::manual(START), Ids::system()).unwrap();
        gateways.add(&demo_gateway()).await.unwrap();
        let mut wanted = TestEngineBuilder::with(gateways);
        wanted.settings = EngineSettings {
            live_test_gateways: development,
            ..EngineSettings::default()
        };
        let bench = wanted.start().await;
        let app = bench.caller().app.id;
        for environment in [Environment::Live, Environment::Sandbox] {
            let connection = NewConnection {
                app,
                environment,
                gateway: "switchyard_demo".into(),
                account_name: "Main".into(),
                methods: None,
                config: json!({}),
            };
            let made = bench.engine.access().create_connection(connection);
            made.await.unwrap();
            let served = bench
                .engine
                .can_serve(app, environment, Kind::Payment, "mtn_bj", None);
            let expected = development || environment == Environment::Sandbox;
            assert_eq!(served, expected, "{environment}, development {development}");
        }
    }
}
