//! Reasons why an app has no method at all. Many newcomers see one in their first response.
//!
//! They name no gateway. Requests with a public key, which everybody can read, get none.

use switchyard_core::transaction::Kind;
use switchyard_engine::access::{Caller, KeyKind};
use switchyard_engine::engine::Engine;

/// The missing thing, and who can add it.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    /// The end of a sentence: `this app has no connection in live`.
    pub reason: String,
    pub hint: &'static str,
}

/// Finds the missing thing. `None`: some method of this kind works for the app, or the caller has a
/// public key.
pub fn find(engine: &Engine, caller: &Caller, kind: Kind) -> Option<Missing> {
    if caller.kind == KeyKind::Public {
        return None;
    }
    let (app, environment) = (caller.app.id, caller.environment);
    if !engine.enabled_currencies(app, environment, kind).is_empty() {
        return None;
    }
    let connections = engine.access().connections(app, environment);
    let mut enabled = connections.iter().filter(|one| one.is_enabled).peekable();
    let name = environment.as_str();
    let (reason, hint) = if engine.gateways().list().is_empty() {
        (
            "no gateway is loaded on this server".to_owned(),
            ADD_GATEWAY,
        )
    } else if connections.is_empty() {
        (format!("this app has no connection in {name}"), CONNECT)
    } else if enabled.peek().is_none() {
        let reason = format!("all connections of this app in {name} are disabled");
        (reason, ENABLE)
    } else if enabled.all(|one| engine.gateways().current(&one.gateway).is_none()) {
        let reason = format!("no gateway of this app's connections in {name} is loaded");
        (reason, ADD_GATEWAY)
    } else {
        let kind = match kind {
            Kind::Payment => "payments",
            Kind::Payout => "payouts",
        };
        let reason = format!("no connection of this app in {name} serves {kind} now");
        (reason, CONNECT)
    };
    Some(Missing { reason, hint })
}

const ADD_GATEWAY: &str = "The operator of this server can add one: `switchyard gateway list` \
    shows what is loaded or waits, `switchyard gateway add` takes one on.";
const CONNECT: &str = "The operator of this server can connect the app to a gateway: \
    `switchyard connections create`. In sandbox the test gateway serves every method without one, \
    when it is loaded.";
const ENABLE: &str = "The operator of this server can enable one: `switchyard connections enable`.";

#[cfg(test)]
mod tests {
    use switchyard_engine::testing::TestEngineBuilder;
    use switchyard_gateway_host::Gateways;

    use super::*;

    #[tokio::test]
    async fn a_server_without_a_gateway_says_so_to_a_secret_key() {
        let test = TestEngineBuilder::with(Gateways::default()).start().await;
        let engine = &test.engine;
        for (key, kind) in [
            (&test.keys.sandbox_secret_key, Kind::Payment),
            (&test.keys.live_secret_key, Kind::Payout),
        ] {
            let caller = engine.access().authenticate(key.expose()).unwrap();
            let missing = find(engine, &caller, kind).unwrap();
            assert_eq!(missing.reason, "no gateway is loaded on this server");
            assert!(missing.hint.contains("switchyard gateway add"));
        }
        let public = engine
            .access()
            .authenticate(test.keys.live_public_key.expose())
            .unwrap();
        assert_eq!(find(engine, &public, Kind::Payment), None);
    }
}
