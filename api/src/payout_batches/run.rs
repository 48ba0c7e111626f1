//! Makes the payouts of a confirmed batch.

use std::time::Duration;

use switchyard_core::transaction::ClientContext;
use switchyard_engine::engine::NewPayout;
use switchyard_users::{BatchId, BatchLine, BatchState, PayoutBatch, RefusedLine, Users};

use super::progress::payouts_by_line;
use super::{key_of, request_of};
use crate::error::{ApiError, ErrorCode};
use crate::merchant::initialize::{Initialization as _, initialize_once};
use crate::state::ApiState;

/// Reason why the payouts of a batch are not all made yet.
#[derive(Debug, thiserror::Error)]
enum Interrupted {
    #[error(transparent)]
    Users(#[from] switchyard_users::UsersError),
    #[error("a payout could not be ordered: {}", first_message(.0))]
    Order(ApiError),
}

fn first_message(error: &ApiError) -> &str {
    let problem = error.problems().first();
    problem.map_or("", |one| one.message.as_ref())
}

/// Makes the payouts of a confirmed batch in the background, unless this process does so already.
/// After a failure of the store it tries again until all are made.
pub fn start(state: &ApiState, users: &Users, id: BatchId) {
    let Some(run) = users.claim_batch(id) else {
        return;
    };
    let (state, users) = (state.clone(), users.clone());
    tokio::spawn(async move {
        let (_run, mut wait) = (run, FIRST_WAIT);
        while let Err(error) = carry_out(&state, &users, id).await {
            tracing::warn!(batch.id = %id, %error, "failed to order a batch, retrying");
            state.engine().clock().sleep(wait).await;
            wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        }
    });
}

/// Continues the batches that were unfinished when the server ended.
pub async fn resume(state: &ApiState, users: &Users) {
    match users.unfinished_batches().await {
        Ok(open) => open.iter().for_each(|head| start(state, users, head.id)),
        Err(error) => tracing::error!(%error, "failed to read the batches of payouts"),
    }
}

async fn carry_out(state: &ApiState, users: &Users, id: BatchId) -> Result<(), Interrupted> {
    let Some(head) = users.batch_by_id(id).await? else {
        return Ok(());
    };
    if !matches!(head.state, BatchState::Confirmed { .. }) {
        return Ok(());
    }
    let lines = users.batch_lines(id).await?;
    let made = payouts_by_line(state, &head)
        .await
        .map_err(Interrupted::Order)?;
    for line in &lines {
        if made.contains_key(&line.number) || head.refused.contains_key(&line.number) {
            continue;
        }
        if let Some(why) = order(state, &head, line).await? {
            users.refuse_line(id, line.number, why).await?;
        }
    }
    Ok(users.finish_batch(id).await?)
}

/// Orders the payout of a line, once. Returns the reason why there is none and will be none.
async fn order(
    state: &ApiState,
    head: &PayoutBatch,
    line: &BatchLine,
) -> Result<Option<RefusedLine>, Interrupted> {
    let access = state.engine().access();
    let Some(caller) = access.on_behalf_of(head.app, head.environment) else {
        return Ok(Some(RefusedLine {
            code: ErrorCode::ResourceNotFound.as_str().to_owned(),
            message: "The app does not exist any more.".to_owned(),
        }));
    };
    let body = request_of(head.id, line).to_string();
    let new = NewPayout::read(
        body.as_bytes(),
        state.engine(),
        &caller,
        ClientContext::default(),
    );
    let key = key_of(head.id, line.number);
    let ordered = match new {
        Ok(new) => initialize_once(state, &caller, new, key, None)
            .await
            .map(drop),
        Err(error) => Err(error),
    };
    match ordered {
        Ok(()) => Ok(None),
        Err(error) if is_passing(&error) => Err(Interrupted::Order(error)),
        Err(error) => {
            let first = error.problems().first();
            Ok(first.map(|problem| RefusedLine {
                code: problem.code.as_str().to_owned(),
                message: problem.message.clone().into_owned(),
            }))
        }
    }
}

/// Whether the same order may succeed a little later, or may have been stored.
fn is_passing(error: &ApiError) -> bool {
    let code = error.problems().first().map(|problem| problem.code);
    error.status().is_server_error() || code == Some(ErrorCode::IdempotencyInFlight)
}

/// Time before the second try.
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// Longest time between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
