//! Logo of an app: a file from a request, as it is.

use std::pin::pin;

use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use switchyard_core::ids::AppId;
use switchyard_core::limits::LOGO_FILE_BYTES;
use switchyard_engine::access::{AccessError, Logo, LogoError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::Nothing;
use super::contract::apps::App;
use super::error::{Answer, Refused};
use super::input::{Id, done, ok};
use crate::error::{ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(upload, remove))
}

/// Upload the logo of an app
///
/// The body is a PNG, JPEG or WebP file of at most 1 MiB and 2,500 pixels in width and height. It
/// is encoded again as a PNG of at most 320 by 100 pixels and 20 KiB, without metadata. Checkout
/// pages and mails show it beside the name of the app.
#[utoipa::path(
    put,
    path = "/apps/{app}/logo",
    operation_id = "uploadLogo",
    tag = "Apps",
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 200, description = "The app.", body = Success<App>)),
)]
async fn upload(State(state): State<ApiState>, Id(id): Id<AppId>, body: Body) -> Answer {
    let logo = of_body(body).await?;
    let app = state.engine().access().change_logo(id, Some(logo)).await?;
    ok("Logo changed successfully", &App::from(&*app))
}

/// Remove the logo of an app
#[utoipa::path(
    delete,
    path = "/apps/{app}/logo",
    operation_id = "removeLogo",
    tag = "Apps",
    responses((status = 200, description = "The logo is removed.", body = Success<Nothing>)),
)]
async fn remove(State(state): State<ApiState>, Id(id): Id<AppId>) -> Answer {
    state.engine().access().change_logo(id, None).await?;
    done("Logo removed successfully")
}

/// The logo in the body of a request.
///
/// # Errors
/// When the file is no logo, or did not arrive whole.
pub async fn of_body(body: Body) -> Result<Logo, Refused> {
    let logo = received(body.into_data_stream()).await.map_err(|_| {
        let problem = Problem::new(ErrorCode::BodyIncomplete, "The file did not arrive whole.");
        Refused(problem.into())
    })?;
    Ok(logo.map_err(AccessError::from)?)
}

/// The logo that the parts of a file become.
///
/// # Errors
/// The outer error: the file did not arrive whole.
pub async fn received<E>(
    parts: impl Stream<Item = Result<Bytes, E>>,
) -> Result<Result<Logo, LogoError>, E> {
    let mut parts = pin!(parts);
    let (mut file, mut length) = (Vec::new(), 0_usize);
    while let Some(part) = parts.next().await {
        let part = part?;
        length = length.saturating_add(part.len());
        if length <= LOGO_FILE_BYTES {
            file.extend_from_slice(&part);
        } else if length > READ_BYTES {
            break;
        }
    }
    Ok(match length > LOGO_FILE_BYTES {
        true => Err(LogoError::FileTooLarge),
        false => Logo::from_file(file).await,
    })
}

/// Bytes that are still read of a file that is too large: a client that sends when the connection is
/// closed does not see the response.
const READ_BYTES: usize = 16 * LOGO_FILE_BYTES;
