//! Settings of an app.

use axum::body;
use axum::extract::State;
use switchyard_engine::access::{self, Logo};
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
use crate::operator::logo::of_body;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(show, update))
        .routes(routes!(upload_logo, remove_logo))
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

/// Upload the logo of an app
///
/// The body is a PNG, JPEG or WebP file of at most 1 MiB and 2,500 pixels in width and height. It
/// is encoded again as a PNG of at most 320 by 100 pixels and 20 KiB, without metadata. Checkout
/// pages and mails show it beside the name of the app. Action: `manage_app_settings`.
#[utoipa::path(
    put,
    path = "/apps/{app}/logo",
    operation_id = "uploadLogo",
    tag = "Settings",
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn upload_logo(state: State<ApiState>, app: InApp, body: body::Body) -> Answer {
    // Before the file is read.
    app.place.permit(Action::ManageAppSettings)?;
    let logo = of_body(body).await?;
    change_logo(state, app, Some(logo)).await
}

/// Remove the logo of an app
///
/// Action: `manage_app_settings`.
#[utoipa::path(
    delete,
    path = "/apps/{app}/logo",
    operation_id = "removeLogo",
    tag = "Settings",
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn remove_logo(state: State<ApiState>, app: InApp) -> Answer {
    change_logo(state, app, None).await
}

async fn change_logo(State(state): State<ApiState>, app: InApp, logo: Option<Logo>) -> Answer {
    let permit = app.place.permit(Action::ManageAppSettings)?;
    let before = &app.app;
    let after = state.engine().access().change_logo(before.id, logo).await?;
    let entry = permit.entry(before.id);
    let entry = entry.changing(app_facts::logo(before), app_facts::logo(&after));
    app.place.audit(entry).await?;
    ok("Logo changed successfully", &App::from(&*after))
}
