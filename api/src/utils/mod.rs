//! Requests without a key: the method lists, and the icons to which responses link.

mod icons;
mod method_icons;
mod methods;

use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::method_icons::{MethodIcon, MethodIcons};
use crate::state::ApiState;

/// Every route that takes no key. The method lists answer under `/v1` too.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(methods::payment_methods))
        .routes(routes!(methods::payout_methods))
        .route("/v1/utils/payment/methods", get(methods::payment_methods))
        .route("/v1/utils/payout/methods", get(methods::payout_methods))
        .route("/icons/{kind}/{file}", get(icons::icon))
}
