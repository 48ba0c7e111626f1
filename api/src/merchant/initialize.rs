//! Both initialize requests: parse, validate, look up the idempotency key, store, answer 201.
//!
//! This is the hot path: the body is read once and the answer is serialised once.

use std::future::Future;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use metrics::counter;
use serde::Serialize;
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::IDEMPOTENCY_KEY_BYTES;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::{Caller, KeyKind};
use switchyard_engine::engine::{Engine, EngineError};
use switchyard_engine::idempotency::{AddRows, Answer, Begin, KeyedRequest, KeyedResponse, Route};
use switchyard_records::RecordError;

use super::request::body;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::operations::note_transaction;
use crate::state::ApiState;
use crate::{client, envelope};

/// A request that becomes a transaction: a payment's or a payout's.
pub trait Initialization: Clone + Send + Sync {
    const ROUTE: Route;
    const MESSAGE: &'static str;
    /// The `data` of the answer.
    type Made: Serialize;

    fn read(
        body: &[u8],
        engine: &Engine,
        caller: &Caller,
        context: ClientContext,
    ) -> Result<Self, ApiError>;

    /// Checks that it can be served now. After the look-up of the idempotency key: a stored
    /// response is returned whatever has changed.
    fn check(&self, state: &ApiState, caller: &Caller) -> Result<(), ApiError>;

    /// Fields of the request in their documented order, for the comparison with another
    /// request under the same key.
    fn fields(&self) -> Vec<(String, String)>;

    fn carry_out(
        self,
        engine: &Engine,
        caller: &Caller,
        keyed: Option<&KeyedResponse<'_>>,
    ) -> impl Future<Output = Result<TransactionId, EngineError>> + Send;

    fn made(public_url: &str, id: TransactionId) -> Self::Made;
}

/// Result of a request with an idempotency key.
pub enum Initialized {
    First(TransactionId),
    /// The response to the first request with the key.
    Replayed(Answer),
}

/// Carries the request out, or answers what its twin was answered.
pub async fn initialize<R: Initialization>(
    state: &ApiState,
    caller: &Caller,
    request: Request,
) -> Result<Response, ApiError> {
    let engine = state.engine();
    let (parts, body) = request.into_parts();
    let body = body::read(&parts.headers, body).await?;
    let context = client::context(state.settings(), &parts.headers, &parts.extensions);
    let key = idempotency_key(&parts.headers)?;
    let new = R::read(&body, engine, caller, context)?;
    if let Some(key) = key {
        // Few requests have one: its room is taken when it is needed, not with every request.
        let initialized = Box::pin(initialize_once(state, caller, new, key, None)).await?;
        return Ok(match initialized {
            Initialized::First(id) => envelope::json(StatusCode::CREATED, answer::<R>(engine, id)),
            Initialized::Replayed(answer) => replayed(answer),
        });
    }
    check(state, caller, &new)?;
    let id = new.carry_out(engine, caller, None).await?;
    Ok(envelope::json(StatusCode::CREATED, answer::<R>(engine, id)))
}

/// Whether a new transaction can be made now. A replayed response needs none of it.
fn check<R: Initialization>(state: &ApiState, caller: &Caller, new: &R) -> Result<(), ApiError> {
    let reserve = state.settings().disk_reserve.as_ref();
    if reserve.is_some_and(|reserve| reserve.refuses(caller.kind)) {
        let key = match caller.kind {
            KeyKind::Secret => "secret",
            KeyKind::Public => "public",
        };
        counter!("switchyard_disk_reserve_refusals_total", "key" => key).increment(1);
        return Err(ApiError::disk_reserved());
    }
    new.check(state, caller)
}

/// Makes the transaction of the first request with a key. `with` adds rows to the commit of the
/// transaction.
pub async fn initialize_once<R: Initialization>(
    state: &ApiState,
    caller: &Caller,
    new: R,
    key: String,
    with: Option<&AddRows<'_>>,
) -> Result<Initialized, ApiError> {
    let engine = state.engine();
    let request = KeyedRequest {
        app: caller.app.id,
        environment: caller.environment,
        route: R::ROUTE,
        kind: caller.kind,
        key,
        fields: new.fields(),
    };
    let kept = |id| Answer {
        status: StatusCode::CREATED.as_u16(),
        // What serde_json writes is UTF-8.
        body: String::from_utf8(answer::<R>(engine, id)).unwrap_or_default(),
    };
    for _ in 0..TRIES {
        let begun = state.idempotency().begin(&request).await;
        let pending = match begun.map_err(not_begun)? {
            Begin::First(pending) => pending,
            Begin::Replay(answer) => return Ok(Initialized::Replayed(answer)),
            Begin::Differs(field) => return Err(differs(caller.kind, field)),
            Begin::InFlight => return Err(in_flight()),
        };
        check(state, caller, &new)?;
        let keyed = KeyedResponse {
            pending: &pending,
            answer: &kept,
            with,
        };
        match new.clone().carry_out(engine, caller, Some(&keyed)).await {
            Ok(id) => return Ok(Initialized::First(id)),
            // Another process was faster; its answer is there now.
            Err(EngineError::Overtaken) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(in_flight())
}

fn answer<R: Initialization>(engine: &Engine, id: TransactionId) -> Vec<u8> {
    note_transaction(id);
    envelope::success_body(R::MESSAGE, &R::made(&engine.settings().public_url, id))
}

/// The header `Idempotency-Key`, if there is one.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let key = value.to_str().ok().filter(|key| {
        let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic());
        (1..=IDEMPOTENCY_KEY_BYTES).contains(&key.len()) && is_visible && values.next().is_none()
    });
    let message = format!(
        "The header Idempotency-Key must be given once, with 1 to {IDEMPOTENCY_KEY_BYTES} visible ASCII characters"
    );
    let problem =
        || Problem::new(ErrorCode::IdempotencyKeyInvalid, message).hint("A UUID is a good key.");
    key.map(|key| Some(key.to_owned()))
        .ok_or_else(|| problem().into())
}

fn replayed(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::CREATED);
    let mut response = envelope::json(status, answer.body);
    response
        .headers_mut()
        .insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// A public key is known to everyone: for them the name of the field would reveal, guess by guess,
/// the fields of another client's request.
fn differs(kind: KeyKind, field: String) -> ApiError {
    let problem = match kind {
        KeyKind::Secret => {
            let message =
                format!("This Idempotency-Key was used for another request: {field} differs");
            Problem::new(ErrorCode::IdempotencyBodyDiffers, message).at(field)
        }
        KeyKind::Public => {
            let message = "This Idempotency-Key was used for another request: the body differs";
            Problem::new(ErrorCode::IdempotencyBodyDiffers, message)
        }
    };
    problem
        .hint("Use a new key for a new request, and the same body with the same key.")
        .into()
}

/// The response under this key is unreadable: the client may have received it, so a new key could
/// make the same payout again.
fn not_begun(error: RecordError) -> ApiError {
    if !matches!(error, RecordError::Damaged { .. }) {
        return EngineError::from(error).into();
    }
    tracing::error!(
        %error,
        "failed to read a stored response, request refused"
    );
    let message =
        "The stored response for this Idempotency-Key is unreadable. The request was not executed.";
    let problem = Problem::new(ErrorCode::InternalError, message).hint(
        "Look for the transaction in the list before you use another key: it may have been made. Give the X-Request-Id of this answer \
         when you ask for help.",
    );
    problem.into()
}

fn in_flight() -> ApiError {
    let message = "A request with this Idempotency-Key is still being carried out";
    let problem = Problem::new(ErrorCode::IdempotencyInFlight, message);
    ApiError::new(problem.hint("Send the same request again in a second.")).retry_after(1)
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Each try but the last means that another process was faster, and its answer is found by the
/// next.
const TRIES: usize = 3;
