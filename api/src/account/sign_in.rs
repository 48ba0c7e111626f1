//! Sign-in of a person: a session for what needs a person, as in the console.

use axum::extract::State;
use axum::http::{Extensions, HeaderMap};
use axum::response::{IntoResponse as _, Response};
use switchyard_core::limits::SESSION_LIFETIME;
use switchyard_users::{NewSession, SignIn as Step, UsersError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::{console_of, origin, private};
use super::contract::own::{SignIn, SignedIn};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::operator::error::{Answer, Refused};
use crate::operator::input::{Body, created};
use crate::state::ApiState;
use crate::without_key;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(sign_in))
}

/// Sign in
///
/// Opens a session, for what needs a person: approvals, the team and API tokens. It ends 30 minutes
/// after its last request, and after 12 hours. Failed tries of an e-mail address or of a client are
/// slowed down. Users whose role needs a second factor set it up in the console first. For
/// everyone.
#[utoipa::path(
    post,
    path = "/sign-in",
    operation_id = "signIn",
    tag = "Own",
    request_body = SignIn,
    responses((status = 201, description = "The session.", body = Success<SignedIn>)),
)]
async fn sign_in(
    State(state): State<ApiState>,
    headers: HeaderMap,
    extensions: Extensions,
    Body(given): Body<SignIn>,
) -> Response {
    let session = session(&state, &headers, &extensions, given).await;
    private(session.into_response())
}

async fn session(
    state: &ApiState,
    headers: &HeaderMap,
    extensions: &Extensions,
    given: SignIn,
) -> Answer {
    let origin = origin(state, headers, extensions);
    if let Some(busy) = without_key::refusal(state, origin.address) {
        return Err(busy.into());
    }
    let users = &console_of(state)?.users;
    let step = users.sign_in(&given.email, given.password, &origin).await?;
    let step = match (step, &given.code) {
        (Step::NeedsTotp(pending), Some(code)) => {
            let code = code.expose().trim();
            users
                .confirm_second_factor(pending.expose(), code, &origin)
                .await?
        }
        (step, _) => step,
    };
    match step {
        Step::SignedIn(made) => created("Signed in successfully", &view(&made)),
        Step::TooMany { retry_after } => Err(UsersError::TooMany(retry_after).into()),
        Step::Refused => Err(refused(
            "The e-mail address, the password or the code is wrong.",
        )),
        Step::NeedsTotp(_) => {
            let needed = "This user has a second factor: send its code in `code`, too.";
            Err(refused(needed))
        }
        Step::NeedsTotpSetup(_) => Err(refused(
            "The role of this user needs a second factor: sign in to the console and set it up.",
        )),
    }
}

fn view(made: &NewSession) -> SignedIn {
    let session = &made.session;
    SignedIn {
        session: session.id,
        user: session.user,
        token: made.token.expose().clone(),
        expires_at: session.created_at.plus(SESSION_LIFETIME).into(),
    }
}

fn refused(message: &'static str) -> Refused {
    ApiError::from(Problem::new(ErrorCode::SignInRefused, message)).into()
}
