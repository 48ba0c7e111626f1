//! Apps and their settings.

use axum::extract::State;
use switchyard_core::ids::AppId;
use switchyard_engine::access;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::apps::{App, AppChange, AppFilter, NewApp};
use super::error::{Answer, Refused, not_found, second_person_needed};
use super::input::{Body, Id, QueryParams, created, ok};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update))
}

/// List apps
#[utoipa::path(
    get,
    path = "/apps",
    operation_id = "listApps",
    tag = "Apps",
    params(AppFilter),
    responses((status = 200, description = "Apps.", body = Success<Vec<App>>)),
)]
async fn list(
    State(state): State<ApiState>,
    QueryParams(filter): QueryParams<AppFilter>,
) -> Answer {
    let apps = state.engine().access().apps(filter.account);
    let views: Vec<_> = apps.iter().map(|app| App::from(&**app)).collect();
    ok("Apps fetched successfully", &views)
}

/// Create an app
#[utoipa::path(
    post,
    path = "/apps",
    operation_id = "createApp",
    tag = "Apps",
    request_body = NewApp,
    responses((status = 201, description = "The app.", body = Success<App>)),
)]
async fn create(State(state): State<ApiState>, Body(new): Body<NewApp>) -> Answer {
    let app = state.engine().access().create_app(new.into()).await?;
    created("App created successfully", &App::from(&*app))
}

/// Retrieve an app
#[utoipa::path(
    get,
    path = "/apps/{app}",
    operation_id = "retrieveApp",
    tag = "Apps",
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn show(State(state): State<ApiState>, Id(id): Id<AppId>) -> Answer {
    let app = state
        .engine()
        .access()
        .app(id)
        .ok_or_else(|| not_found("app"))?;
    ok("App fetched successfully", &App::from(&*app))
}

/// Change an app
///
/// The API keys of a disabled app are rejected. With the setting `operator.second_person` a change
/// of `second_person` after which one person may do more is refused.
#[utoipa::path(
    patch,
    path = "/apps/{app}",
    operation_id = "updateApp",
    tag = "Apps",
    request_body = AppChange,
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn update(
    State(state): State<ApiState>,
    Id(id): Id<AppId>,
    Body(change): Body<AppChange>,
) -> Answer {
    let is_guarded = state.settings().second_person;
    let change = |app: &access::App| {
        let (change, now) = (change.of(app), &app.settings.second_person);
        match change.settings.as_ref().map(|new| &new.second_person) {
            Some(new) if is_guarded && now.is_loosened_by(new) => Err(loosened()),
            _ => Ok(change),
        }
    };
    let app = state.engine().access().update_app_as(id, change).await?;
    ok("App changed successfully", &App::from(&*app))
}

fn loosened() -> Refused {
    let message = "Two people decide in this installation, and a token cannot let one person do \
                   what needs two in this app: nothing was changed.";
    let hint = "Set operator.second_person to false in the settings file, restart the server, and \
                change the app then.";
    second_person_needed(message, hint).into()
}
