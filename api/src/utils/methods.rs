//! `GET /utils/payment/methods` and `GET /utils/payout/methods` (docs/contract/responses.md).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::directory::Method;
use switchyard_core::transaction::Kind;
use switchyard_engine::engine::Engine;
use switchyard_gateway_host::Manifest;

use crate::envelope;
use crate::merchant::render::method_list::{GatewayInList, MethodInList};
use crate::merchant::schema::OpenRefusals;
use crate::openapi::Success;
use crate::state::ApiState;

/// List payment methods
///
/// Every payment method with its currency and countries, and whether a gateway serves it now. No
/// key is needed.
#[utoipa::path(
    get,
    path = "/utils/payment/methods",
    operation_id = "listPaymentMethods",
    tag = "Methods",
    responses((status = 200, description = "All payment methods.", body = Success<Vec<MethodInList>>), OpenRefusals),
    security(()),
)]
pub async fn payment_methods(State(state): State<ApiState>) -> Response {
    let methods = state.engine().directory().payment_methods();
    list(
        state.engine(),
        Kind::Payment,
        methods,
        "Payment methods fetched successfully",
    )
}

/// List payout methods
///
/// Every payout method with its currency, countries and what the recipient must give, and whether a
/// gateway serves it now. No key is needed.
#[utoipa::path(
    get,
    path = "/utils/payout/methods",
    operation_id = "listPayoutMethods",
    tag = "Methods",
    responses((status = 200, description = "All payout methods.", body = Success<Vec<MethodInList>>), OpenRefusals),
    security(()),
)]
pub async fn payout_methods(State(state): State<ApiState>) -> Response {
    let methods = state.engine().directory().payout_methods();
    list(
        state.engine(),
        Kind::Payout,
        methods,
        "Payout methods fetched successfully",
    )
}

fn list(engine: &Engine, kind: Kind, methods: &[Arc<Method>], message: &str) -> Response {
    let public_url = engine.settings().public_url.as_str();
    let gateways = |method: &Method| {
        let serving = engine.gateways_serving(kind, &method.code);
        serving
            .iter()
            .map(|version| gateway(public_url, &version.manifest))
            .collect()
    };
    let data: Vec<_> = methods
        .iter()
        .map(|method| MethodInList::new(public_url, method, gateways(method)))
        .collect();
    envelope::success(StatusCode::OK, message, &data)
}

fn gateway(public_url: &str, manifest: &Manifest) -> GatewayInList {
    GatewayInList {
        name: manifest.title.clone(),
        short_code: manifest.name.clone(),
        description: manifest.description.clone(),
        icon_url: format!("{public_url}/icons/gateways/{}.svg", manifest.name),
    }
}
