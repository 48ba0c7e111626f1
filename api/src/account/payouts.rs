//! Orders of payouts, under the rules of the merchant API and with a second person where the app's
//! settings ask for one.

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::Value;
use switchyard_core::ids::{ApprovalId, TransactionId};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::Caller;
use switchyard_engine::engine::NewPayout;
use switchyard_users::{Action, Permit, Proposal};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::payouts::OrderedPayout;
use super::place::InScope;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::merchant::initialize::{
    Initialization as _, Initialized, idempotency_key, initialize_once,
};
use crate::merchant::request::body;
use crate::merchant::schema::InitializePayout;
use crate::openapi::Success;
use crate::operator::error::{Answer, Refused, second_person_needed};
use crate::operator::input::{accepted, created, ok};
use crate::proposals::{self, payout};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(create))
}

/// Order a payout
///
/// The request is that of `POST /v1/payouts/initialize`, with the same checks and limits. The header
/// `Idempotency-Key` is required: the same key and body make one payout, also in the merchant API.
/// Where the app's settings ask for a second person, the answer is 202 and names a proposal, which a
/// session can make and a token cannot. Action: `create_payout`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/payouts",
    operation_id = "createPayout",
    tag = "Payouts",
    params(("Idempotency-Key" = String, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "Key of the order, such as a UUID.")),
    request_body = InitializePayout,
    responses(
        (status = 200, description = "The payout was made before.", body = Success<OrderedPayout>),
        (status = 201, description = "The payout was made.", body = Success<OrderedPayout>),
        (status = 202, description = "A second person has to approve it.",
            body = Success<OrderedPayout>),
    ),
)]
async fn create(State(state): State<ApiState>, scope: InScope, request: Request) -> Answer {
    let permit = scope.place.permit(Action::CreatePayout)?;
    let (parts, body) = request.into_parts();
    let body = body::read(&parts.headers, body).await?;
    let key = idempotency_key(&parts.headers)?.ok_or_else(key_missing)?;
    let caller = scope.caller(&state)?;
    let engine = state.engine();
    let new = NewPayout::read(&body, engine, &caller, ClientContext::default())?;
    if payout::needs_second_person(&caller, &new) {
        return propose(&state, &scope, &permit, &caller, (new, &body, key)).await;
    }
    match initialize_once(&state, &caller, new, key, None).await? {
        Initialized::First(id) => {
            scope.place.audit(permit.entry(id)).await?;
            made(id)
        }
        Initialized::Replayed(answer) => {
            let id = payout::id_of(&answer).ok_or_else(ApiError::internal)?;
            ok("Payout was made before", &OrderedPayout::made(id))
        }
    }
}

/// Stores the payout as a proposal. An order that is sent again leads to its open proposal.
async fn propose(
    state: &ApiState,
    scope: &InScope,
    permit: &Permit,
    caller: &Caller,
    (new, body, key): (NewPayout, &[u8], String),
) -> Answer {
    if scope.place.sender.who.session().is_none() {
        let message = "Two people decide about this payout, and a token is none: nothing was \
                       ordered.";
        let hint = "Sign in, and send the request with the token of the session.";
        return Err(second_person_needed(message, hint).into());
    }
    new.check(state, caller)?;
    let (console, account) = (&scope.place.sender.console, Some(scope.place.account));
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    match payout::open_with_key(&console.users, account, caller, &key) {
        Some((id, ordered)) if ordered == request => return proposed(id),
        Some(_) => return Err(ApiError::from(body_differs()).into()),
        None => {}
    }
    let (app, environment) = (caller.app.id, caller.environment);
    let payload = payout::Proposed {
        app,
        environment,
        key,
        request,
    };
    let proposal = Proposal {
        kind: payout::KIND.to_owned(),
        payload: serde_json::to_value(payload).unwrap_or_default(),
        reason: new.description,
    };
    let path = |id| proposals::page_path(app, environment, id);
    let id = proposals::propose(state, console, permit, proposal, path).await?;
    proposed(id)
}

fn body_differs() -> Problem {
    let message = "This Idempotency-Key was used for another request: the body differs";
    Problem::new(ErrorCode::IdempotencyBodyDiffers, message)
        .hint("Use a new key for a new request, and the same body with the same key.")
}

fn made(id: TransactionId) -> Answer {
    created("Payout created successfully", &OrderedPayout::made(id))
}

fn proposed(id: ApprovalId) -> Result<Response, Refused> {
    let order = OrderedPayout {
        payout: None,
        approval: Some(id),
    };
    accepted("A second person has to approve this payout", &order)
}

impl OrderedPayout {
    pub const fn made(id: TransactionId) -> Self {
        Self {
            payout: Some(id),
            approval: None,
        }
    }
}

fn key_missing() -> ApiError {
    let message = "The header Idempotency-Key is required: without it a repetition would pay twice";
    let problem = Problem::new(ErrorCode::IdempotencyKeyInvalid, message);
    problem.hint("A UUID is a good key.").into()
}
