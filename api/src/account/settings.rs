//! Settings of an app.

use axum::extract::State;
use switchyard_engine::access;
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::settings::OwnAppChange;
use super::place::InApp;
use crate::app_facts;
use crate::openapi::Success;
use crate::operator::contract::apps::{App, AppChange};
use crate::operator::error::{Answer, Refused};
use crate::operator::input::{Body, ok};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show, update))
}

/// Retrieve an app with its settings
///
/// Action: `view_app_settings`.
#[utoipa::path(
    get,
    path = "/apps/{app}",
    operation_id = "retrieveApp",
    tag = "Settings",
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn show(app: InApp) -> Answer {
    app.place.permit(Action::ViewAppSettings)?;
    ok("App fetched successfully", &App::from(&*app.app))
}

/// Change an app
///
/// Action: `manage_app_settings`.
#[utoipa::path(
    patch,
    path = "/apps/{app}",
    operation_id = "updateApp",
    tag = "Settings",
    request_body = OwnAppChange,
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn update(
    State(state): State<ApiState>,
    app: InApp,
    Body(change): Body<OwnAppChange>,
) -> Answer {
    let permit = app.place.permit(Action::ManageAppSettings)?;
    let (before, change) = (&app.app, AppChange::from(change));
    let change = |now: &access::App| Ok::<_, Refused>(change.of(now));
    let access = state.engine().access();
    let after = access.update_app_as(before.id, change).await?;
    let entry = permit.entry(before.id);
    let entry = entry.changing(app_facts::of(before), app_facts::of(&after));
    app.place.audit(entry).await?;
    ok("App changed successfully", &App::from(&*after))
}
