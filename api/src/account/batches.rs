//! Batches of payouts: upload of a CSV file with its dry run, confirmation, progress.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use switchyard_users::{Action, BatchId, NewBatch, PayoutBatch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::batches::{
    BatchConfirmation, BatchFile, BatchHead, BatchLineView, PayoutBatchDetail,
};
use super::place::InScope;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::error::{Answer, Refused, not_found, second_person_needed};
use crate::operator::input::{QueryParams, accepted, created, done, ok};
use crate::payout_batches::{self, Confirmed, Examined, FILE_BYTES};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    let with_file = OpenApiRouter::new()
        .routes(routes!(list, upload))
        .layer(DefaultBodyLimit::max(FILE_BYTES));
    OpenApiRouter::new()
        .merge(with_file)
        .routes(routes!(show, delete))
        .routes(routes!(confirm))
}

/// List batches of payouts
///
/// The newest 50. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/payout-batches",
    operation_id = "listPayoutBatches",
    tag = "Payouts",
    responses((status = 200, description = "Batches.", body = Success<Vec<BatchHead>>)),
)]
async fn list(scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let users = scope.place.users();
    let batches = users.batches(scope.app.id, scope.environment, LISTED);
    let batches = batches.await?;
    let views: Vec<_> = batches
        .iter()
        .map(|head| BatchHead::new(users, head))
        .collect();
    ok("Batches fetched successfully", &views)
}

/// Upload a batch of payouts
///
/// A dry run: each line is checked as an order, together with the limits of the app and with
/// references that the file or a stored payout has twice. The file is refused as a whole with every
/// problem, whose `field` is `lines.<number>.<column>`, at most 50 at once. Without a problem it is
/// stored as a draft, and nothing is ordered.
///
/// The body is a CSV file in UTF-8 with a heading, of at most 512 KiB and 1,000 lines. Columns:
/// `amount`, `currency`, `method`, `description`, `first_name`, `last_name`, `email`, the
/// recipient's fields such as `msisdn`, and optionally `phone` and `reference`. Action:
/// `create_payout`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/payout-batches",
    operation_id = "uploadPayoutBatch",
    tag = "Payouts",
    params(BatchFile),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 201, description = "The draft.", body = Success<PayoutBatchDetail>)),
)]
async fn upload(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(file): QueryParams<BatchFile>,
    bytes: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Answer {
    let permit = scope.place.permit(Action::CreatePayout)?;
    let bytes = bytes.map_err(|_| too_large())?;
    let caller = scope.caller(&state)?;
    let examined = payout_batches::examine(&state, &caller, &bytes).await?;
    let examined = without_problems(examined)?;
    let new = NewBatch {
        app: scope.app.id,
        environment: scope.environment,
        name: file.name.unwrap_or_else(|| "payouts.csv".to_owned()),
        lines: examined.lines,
    };
    let head = scope.place.users().upload_batch(&permit, new).await?;
    let view = detail(&state, &scope, &head).await?;
    created("Batch uploaded successfully", &view)
}

/// Retrieve a batch with its progress
///
/// Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/payout-batches/{batch}",
    operation_id = "retrievePayoutBatch",
    tag = "Payouts",
    responses((status = 200, description = "The batch.", body = Success<PayoutBatchDetail>)),
)]
async fn show(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let head = one_of_scope(&scope).await?;
    let view = detail(&state, &scope, &head).await?;
    ok("Batch fetched successfully", &view)
}

/// Confirm a batch
///
/// Its payouts are made in the background, each once, whatever is repeated. Where the app's settings
/// ask for a second person for one of the lines, the answer is 202 and names a proposal for the
/// whole batch, which a session can make and a token cannot. Action: `create_payout`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/payout-batches/{batch}/confirm",
    operation_id = "confirmPayoutBatch",
    tag = "Payouts",
    responses(
        (status = 200, description = "Its payouts are being made.",
            body = Success<BatchConfirmation>),
        (status = 202, description = "A second person has to approve it.",
            body = Success<BatchConfirmation>),
    ),
)]
async fn confirm(State(state): State<ApiState>, scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::CreatePayout)?;
    let head = one_of_scope(&scope).await?;
    let (sender, caller) = (&scope.place.sender, scope.caller(&state)?);
    let started = |approval| BatchConfirmation {
        batch: head.id,
        approval,
    };
    if head.state != switchyard_users::BatchState::Draft {
        payout_batches::start(&state, sender.users(), head.id);
        return ok("Batch was confirmed before", &started(None));
    }
    let lines = sender.users().batch_lines(head.id).await?;
    let examined = payout_batches::examine_lines(&state, &caller, lines).await?;
    let examined = without_problems(examined)?;
    let is_token = sender.who.session().is_none();
    if is_token && payout_batches::needs_second_person(&caller, &examined.payouts) {
        let message = "Two people decide about this batch, and a token is none: nothing was \
                       ordered.";
        let hint = "Sign in, and send the request with the token of the session.";
        return Err(second_person_needed(message, hint).into());
    }
    let console = &sender.console;
    let confirmed =
        payout_batches::confirm(&state, console, &permit, &caller, &head, &examined).await?;
    match confirmed {
        Confirmed::Started => ok("Batch confirmed successfully", &started(None)),
        Confirmed::Proposed(id) => accepted(
            "A second person has to approve this batch",
            &started(Some(id)),
        ),
    }
}

/// Delete a draft
///
/// A confirmed batch stays. The open proposal of a draft is withdrawn with it: then only the person
/// who made the proposal deletes the draft, in a session. Action: `create_payout`.
#[utoipa::path(
    delete,
    path = "/apps/{app}/{environment}/payout-batches/{batch}",
    operation_id = "deletePayoutBatch",
    tag = "Payouts",
    responses((status = 200, description = "The draft is deleted.", body = Success<Nothing>)),
)]
async fn delete(scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::CreatePayout)?;
    let head = one_of_scope(&scope).await?;
    scope.place.users().delete_batch(&permit, head.id).await?;
    done("Batch deleted successfully")
}

/// The batch of the path, if it is one of the app and environment.
async fn one_of_scope(scope: &InScope) -> Result<PayoutBatch, Refused> {
    let id: BatchId = scope.place.sender.id("batch")?;
    let head = scope.place.users().batch(scope.place.account, id).await?;
    match (head.app, head.environment) == (scope.app.id, scope.environment) {
        true => Ok(head),
        false => Err(not_found("batch").into()),
    }
}

async fn detail(
    state: &ApiState,
    scope: &InScope,
    head: &PayoutBatch,
) -> Result<PayoutBatchDetail, Refused> {
    let users = scope.place.users();
    let lines = users.batch_lines(head.id).await?;
    let progress = payout_batches::progress(state, head, lines).await?;
    let may_see = scope.place.may(Action::ViewPersonalData);
    Ok(PayoutBatchDetail {
        head: BatchHead::new(users, head),
        approval: payout_batches::open_proposal(users, head.account, head.id),
        counts: BatchLineView::counts(&progress),
        lines: progress
            .0
            .iter()
            .map(|line| BatchLineView::new(line, may_see))
            .collect(),
    })
}

/// Refuses a file with problems, each at its line and column.
fn without_problems(examined: Examined) -> Result<Examined, ApiError> {
    let problems = examined.problems.iter().map(|one| {
        let field = one.problem.field.as_deref();
        let at = field.map_or_else(
            || format!("lines.{}", one.line),
            |field| format!("lines.{}.{field}", one.line),
        );
        one.problem.clone().at(at)
    });
    match ApiError::of(problems.collect()) {
        Some(error) => Err(error),
        None => Ok(examined),
    }
}

fn too_large() -> ApiError {
    let message = "The file is larger than 512 KiB: divide it.";
    Problem::new(ErrorCode::BodyTooLarge, message).into()
}

const LISTED: usize = 50;
