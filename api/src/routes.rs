//! The public side of the service as one router: merchant API, method lists, icons, the OpenAPI
//! document and its page.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;

use crate::frame::{frame, no_method, no_route};
use crate::state::ApiState;
use crate::{docs, merchant, openapi, slashes, utils};

/// Routes to be merged with those of other modules, before [`complete`] and [`framed`].
pub fn routes() -> Router<ApiState> {
    let (routes, document) = described().split_for_parts();
    let document = openapi::with_headers(document);
    // The document is made once and kept for as long as the program runs.
    let document: &'static str = document.to_json().unwrap_or_default().leak();
    routes
        .route(
            "/openapi.json",
            get(move || async move { openapi::serve(document) }),
        )
        .merge(docs::routes())
}

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    openapi::with_headers(described().into_openapi())
}

/// Gives routes their responses to unknown paths and methods. Layers that are added later go around
/// these too.
pub fn complete(routes: Router<ApiState>, state: &ApiState) -> Router<ApiState> {
    // For paths that are found only without their needless slashes: it has no second layers.
    let exact: Router = routes
        .clone()
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(state.clone());
    routes
        .fallback(async move |request| slashes::answer(exact, request).await)
        .method_not_allowed_fallback(no_method)
}

/// Puts the outermost layer around every request.
pub fn framed(routes: Router<ApiState>, state: ApiState) -> Router {
    routes
        .layer(from_fn_with_state(state.clone(), frame))
        .with_state(state)
}

/// Router of the public side only.
pub fn router(state: ApiState) -> Router {
    framed(complete(routes(), &state), state)
}

fn described() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(openapi::head())
        .merge(merchant::routes())
        .merge(utils::routes())
}
