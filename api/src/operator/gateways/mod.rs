//! Gateways: one file per operation, each a call of the engine's function for it.

mod add;
mod approve;
mod candidates;
mod drain;
mod inspect;
mod list;
mod pins;
mod quarantine;
mod remove;
mod restore;
mod rollback;
mod show;
pub mod upload;
pub mod view;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use switchyard_engine::access::Operator;
use switchyard_gateway_host::{ChangeAuthor, LifeError, Version};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::{Answer, Refused, internal, not_found};
use super::input::{accepted, created};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::reason;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list::list, add::add))
        .routes(routes!(show::show))
        .routes(routes!(approve::approve))
        .routes(routes!(approve::reject))
        .routes(routes!(rollback::roll_back))
        .routes(routes!(drain::drain))
        .routes(routes!(remove::remove))
        .routes(routes!(quarantine::quarantine))
        .routes(routes!(restore::restore))
        .routes(routes!(inspect::inspect))
        .routes(routes!(candidates::list))
        .routes(routes!(candidates::accept))
        .routes(routes!(pins::list, pins::create))
        .routes(routes!(pins::remove))
        .routes(routes!(super::form::show))
}

/// The only text in a path: a gateway's name, or a hash.
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(Refused(not_found("gateway"))),
        }
    }
}

/// Operator of the request.
type Asking = Extension<Operator>;

fn by<'a>(operator: &'a Operator, why: Option<&'a str>) -> ChangeAuthor<'a> {
    ChangeAuthor {
        who: &operator.name,
        why: why.filter(|why| !why.trim().is_empty()),
        origin: Some(&operator.origin),
    }
}

/// The response to a file that was taken on, or that waits for a second operator.
async fn taken(state: &ApiState, added: Result<Arc<Version>, LifeError>) -> Answer {
    let gateways = state.engine().gateways();
    match added {
        Ok(version) => {
            let overview = gateways.overview(version.name()).await?;
            created("Gateway added successfully", &view::shown(&overview))
        }
        Err(LifeError::AwaitsApproval { name, .. }) => {
            let overview = gateways.overview(&name).await?;
            let message = "Gateway awaits the approval of a second operator";
            accepted(message, &view::shown(&overview))
        }
        Err(error) => Err(upload::without_path(error)),
    }
}

impl From<LifeError> for Refused {
    fn from(error: LifeError) -> Self {
        let because = reason::of_gateway(&error);
        let problem = |code| Problem::new(code, sentence(&error)).because(because.clone());
        Self(match &error {
            LifeError::Refused(_) => problem(ErrorCode::GatewayRefused).into(),
            LifeError::NoConsent { .. } | LifeError::OtherFile { .. } => {
                problem(ErrorCode::GatewayNeedsConsent).into()
            }
            LifeError::AwaitsApproval { .. }
            | LifeError::WidensMore { .. }
            | LifeError::WiderThanCurrent { .. } => problem(ErrorCode::GatewayNeedsApproval).into(),
            LifeError::NotIndependent { .. } => problem(ErrorCode::GatewayApprovalRefused).into(),
            LifeError::NotAHash(_) => problem(ErrorCode::FieldInvalid).at("sha256").into(),
            LifeError::HostNotListed { .. } => problem(ErrorCode::FieldInvalid).at("hosts").into(),
            LifeError::ManyVersions { .. } => problem(ErrorCode::FieldInvalid).at("version").into(),
            LifeError::BadReason => problem(ErrorCode::FieldInvalid).at("why").into(),
            LifeError::NotFound(_)
            | LifeError::NoSuchVersion { .. }
            | LifeError::NothingToApprove { .. }
            | LifeError::NotWaiting(_) => problem(ErrorCode::ResourceNotFound).into(),
            LifeError::NoEarlier(_)
            | LifeError::AlreadyThere { .. }
            | LifeError::InQuarantine { .. }
            | LifeError::WasRemoved(_) => problem(ErrorCode::GatewayStateConflict).into(),
            LifeError::Write(_) | LifeError::Read(_) | LifeError::Stopping => {
                tracing::warn!(%error, "failed to change a gateway");
                ApiError::unavailable()
            }
            _ => internal(&error),
        })
    }
}

/// As a sentence of an answer.
fn sentence(error: &LifeError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    // A name of a gateway or a path at the beginning stays as it is written.
    match error {
        LifeError::NotFound(_) | LifeError::NotWaiting(_) | LifeError::BadReason => {
            first.into_iter().chain(letters).chain(['.']).collect()
        }
        _ => format!("{text}."),
    }
}
