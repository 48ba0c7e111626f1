//! `POST /v1/payouts/initialize` (docs/contract/requests.md).

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{ClientContext, Kind};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::{Engine, EngineError, NewPayout};
use switchyard_engine::idempotency::{KeyedResponse, Route};
use utoipa::ToSchema;

use super::guard::PayoutKey;
use super::initialize::{Initialization, initialize};
use super::initialize_payment::method_unavailable;
use super::missing::{self, Missing};
use super::schema::{InitializePayout, InitializePayoutRefusals};
use super::{fields, request};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::ApiState;

/// The payout that was made.
#[derive(Serialize, ToSchema)]
pub struct PayoutInitialized {
    #[schema(value_type = String, example = "po_01k0000000000000000000000")]
    id: TransactionId,
}

/// Initialize a payout
///
/// Makes a payout, which is sent in the background. Amounts are in major units.
#[utoipa::path(
    post,
    path = "/v1/payouts/initialize",
    operation_id = "initializePayout",
    tag = "Payouts",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body are answered the same, once.",
        min_length = 1, max_length = 255, pattern = "^[!-~]+$")),
    request_body = InitializePayout,
    responses((status = 201, description = "The payout was made.", body = Success<PayoutInitialized>, links(
            ("retrievePayout" = (operation_id = "retrievePayout", parameters(("payoutId" = "$response.body#/data/id")))),
            ("verifyPayout" = (operation_id = "verifyPayout", parameters(("payoutId" = "$response.body#/data/id")))),
        )), InitializePayoutRefusals),
    security(("secret_key" = [])),
)]
pub async fn initialize_payout(
    State(state): State<ApiState>,
    PayoutKey(guard): PayoutKey,
    request: Request,
) -> Response {
    let result = initialize::<NewPayout>(&state, &guard.caller, request).await;
    guard.answer(result)
}

impl Initialization for NewPayout {
    const ROUTE: Route = Route::InitializePayout;
    const MESSAGE: &'static str = "Payout transaction initialized successfully";
    type Made = PayoutInitialized;

    fn read(
        body: &[u8],
        engine: &Engine,
        caller: &Caller,
        context: ClientContext,
    ) -> Result<Self, ApiError> {
        request::payout::read(body, engine.directory(), caller.environment, context)
    }

    fn check(&self, state: &ApiState, caller: &Caller) -> Result<(), ApiError> {
        let engine = state.engine();
        let can_serve = |amount| {
            let (app, environment) = (caller.app.id, caller.environment);
            engine.can_serve(app, environment, Kind::Payout, &self.method, amount)
        };
        if can_serve(Some(self.amount)) {
            return Ok(());
        }
        let (app, environment) = (caller.app.id, caller.environment);
        let amount = Some(self.amount);
        if engine.is_held_back(app, environment, Kind::Payout, &self.method, amount) {
            let method = &self.method;
            let message = format!("{method} takes no new payouts at the moment");
            return Err(method_unavailable(message));
        }
        if can_serve(None) {
            let message = format!("No gateway of {} takes {}", self.method, self.amount);
            return Err(Problem::new(ErrorCode::AmountNotServed, message)
                .at("amount")
                .into());
        }
        let message = format!("No gateway serves the payout method {} now", self.method);
        let problem = match missing::find(engine, caller, Kind::Payout) {
            Some(Missing { reason, hint }) => {
                Problem::new(ErrorCode::MethodNotEnabled, format!("{message}: {reason}")).hint(hint)
            }
            None => Problem::new(ErrorCode::MethodNotEnabled, message)
                .hint("Add a connection that serves it to this app, or use another method."),
        };
        Err(problem.at("method").into())
    }

    fn fields(&self) -> Vec<(String, String)> {
        fields::of_payout(self)
    }

    async fn carry_out(
        self,
        engine: &Engine,
        caller: &Caller,
        keyed: Option<&KeyedResponse<'_>>,
    ) -> Result<TransactionId, EngineError> {
        let payout = engine.initialize_payout(caller, self, keyed).await?;
        Ok(payout.id)
    }

    fn made(_public_url: &str, id: TransactionId) -> PayoutInitialized {
        PayoutInitialized { id }
    }
}
