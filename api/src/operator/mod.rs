//! `/operator/v1`: everything that the operator of an installation can see and do, for the command line and for programs.
//!
//! The same envelope as the merchant API, the same rules for errors. Every request carries an
//! operator token; every change has an audit line. One file for each family of endpoints.

mod accounts;
mod apps;
mod audit;
mod auth;
mod by_hand;
mod callbacks;
mod cases;
mod connections;
mod credentials;
mod deliveries;
mod error;
mod events;
mod form;
mod gateways;
#[cfg(test)]
mod guarded;
mod hold;
mod input;
mod keys;
mod provider_ids;
mod rates;
mod routing;
mod shape;
#[cfg(test)]
mod tests;
mod tokens;
mod transactions;
mod trigger;
mod view;
mod webhooks;

use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use axum::{Extension, Router};

pub use trigger::TRIGGERS;

use crate::operations::Draining;
use crate::state::ApiState;

/// All routes, to be nested under `/operator/v1`.
pub fn routes(state: ApiState, draining: Draining) -> Router<ApiState> {
    Router::new()
        .route("/accounts", get(accounts::list).post(accounts::create))
        .route(
            "/accounts/{account}",
            get(accounts::show).patch(accounts::update),
        )
        .route("/apps", get(apps::list).post(apps::create))
        .route("/apps/{app}", get(apps::show).patch(apps::update))
        .route("/apps/{app}/keys", get(keys::list).post(keys::create))
        .route("/keys/{key}", delete(keys::remove))
        .route("/keys/{key}/roll", post(keys::roll))
        .route(
            "/apps/{app}/webhooks",
            get(webhooks::list).post(webhooks::create),
        )
        .route(
            "/webhooks/{webhook}",
            get(webhooks::show)
                .patch(webhooks::update)
                .delete(webhooks::remove),
        )
        .route("/webhooks/{webhook}/secret", get(webhooks::secret))
        .route("/webhooks/{webhook}/deliveries", get(deliveries::list))
        .route(
            "/webhooks/{webhook}/deliveries/{delivery}",
            get(deliveries::show),
        )
        .route(
            "/webhooks/{webhook}/deliveries/{delivery}/replay",
            post(deliveries::replay),
        )
        .route("/webhooks/{webhook}/attempts", get(deliveries::attempts))
        .route(
            "/webhooks/{webhook}/replay",
            post(deliveries::replay_failed),
        )
        .route(
            "/webhooks/{webhook}/replay-missing",
            post(deliveries::replay_missing),
        )
        .route(
            "/apps/{app}/connections",
            get(connections::list).post(connections::create),
        )
        .route(
            "/connections/{connection}",
            get(connections::show)
                .patch(connections::update)
                .delete(connections::remove),
        )
        .route("/gateways/{gateway}/form", get(form::show))
        .merge(gateways::routes())
        .merge(provider_ids::routes())
        .merge(callbacks::routes())
        .merge(routing::routes())
        .merge(rates::routes())
        .merge(by_hand::routes())
        .merge(cases::routes())
        .merge(hold::routes())
        .route("/apps/{app}/transactions", get(transactions::list))
        .route("/transactions/{transaction}", get(transactions::show))
        .route("/apps/{app}/events", get(events::stream))
        .route("/apps/{app}/trigger", post(trigger::trigger))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/revoke", post(tokens::revoke))
        .route("/tokens/{token}", delete(tokens::remove))
        .layer(Extension(draining))
        .layer(from_fn_with_state(state, auth::require_operator))
}

#[cfg(test)]
mod documented {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Paths in quotes after `marker`.
    fn paths(text: &str, marker: &str, quote: char) -> BTreeSet<String> {
        let rests = text.split(marker).skip(1);
        rests
            .filter_map(|rest| {
                rest.trim_start()
                    .trim_start_matches(quote)
                    .split(quote)
                    .next()
            })
            .filter(|path| path.starts_with('/'))
            .map(str::to_owned)
            .collect()
    }

    /// Every path of this folder's files, so that a new file is not forgotten.
    pub(super) fn routes() -> BTreeSet<String> {
        let mut routes = BTreeSet::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operator")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let code = text.split("#[cfg(test)]\nmod documented").next();
                    routes.extend(paths(code.unwrap_or_default(), ".route(", '"'));
                }
            }
        }
        routes
    }

    #[test]
    fn every_path_is_in_the_document_and_every_path_of_the_document_exists() {
        let routes = routes();
        let document = paths(include_str!("../../../docs/operator-api.md"), "\n| ", '`');
        assert!(routes.len() > 20);
        assert_eq!(routes, document);
    }
}
