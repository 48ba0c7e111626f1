//! Proposals of an app in an environment: list, one, and the decision about it.
//!
//! Only a person in a session decides, and never about their own proposal.

use axum::extract::State;
use switchyard_core::ids::ApprovalId;
use switchyard_users::{self as users, Action, ApprovalState, proposing_action};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::approvals::{
    Approval, ApprovalFilter, Approvals, Approved, ProposedPayout, ProposedRules, Rejection,
};
use super::place::InScope;
use crate::error::ApiError;
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::error::{Answer, Refused, invalid, not_found};
use crate::operator::input::{Body, QueryParams, done, ok};
use crate::payout_batches;
use crate::privacy::masked;
use crate::proposals::{NotExecuted, name_of, payout, read, routing};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(approve))
        .routes(routes!(reject))
        .routes(routes!(withdraw))
}

/// Change of a proposal.
enum Proposed {
    Payout(payout::Proposed),
    Batch(payout_batches::Proposed),
    Routing(routing::Proposed),
}

impl Proposed {
    /// The proposed change, if it belongs to the app and environment, and the sender may see it.
    fn of(scope: &InScope, approval: &users::Approval) -> Option<Self> {
        let (app, environment) = (scope.app.id, scope.environment);
        match approval.kind.as_str() {
            payout::KIND => read::<payout::Proposed>(approval)
                .filter(|it| (it.app, it.environment) == (app, environment))
                .map(Self::Payout),
            payout_batches::KIND => read::<payout_batches::Proposed>(approval)
                .filter(|it| (it.app, it.environment) == (app, environment))
                .map(Self::Batch),
            routing::KIND => read::<routing::Proposed>(approval)
                .filter(|it| (it.app, it.environment) == (app, environment))
                .filter(|_| scope.place.may(Action::ViewRouting))
                .map(Self::Routing),
            _ => None,
        }
    }
}

/// List proposals
///
/// Open ones, or decided ones newest first. Routing rules only with the action `view_routing`.
/// Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/approvals",
    operation_id = "listApprovals",
    tag = "Approvals",
    params(ApprovalFilter),
    responses((status = 200, description = "Proposals.", body = Success<Approvals>)),
)]
async fn list(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(filter): QueryParams<ApprovalFilter>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let (users, account) = (scope.place.users(), Some(scope.place.account));
    let (found, more) = match filter.state.as_deref() {
        None | Some("open") => {
            let open = users.open_approvals(account);
            let open = open.iter().map(|one| users::Approval::clone(one));
            (open.collect::<Vec<_>>(), None)
        }
        Some("decided") => {
            let decided = users.decided_approvals(account, filter.before, PER_PAGE);
            decided.await?
        }
        Some(_) => return Err(invalid("state", "state is `open` or `decided`").into()),
    };
    let views = found.iter().filter_map(|one| view(&state, &scope, one));
    let page = Approvals {
        approvals: views.collect(),
        more,
    };
    ok("Approvals fetched successfully", &page)
}

/// Retrieve a proposal
///
/// Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/approvals/{approval}",
    operation_id = "retrieveApproval",
    tag = "Approvals",
    responses((status = 200, description = "The proposal.", body = Success<Approval>)),
)]
async fn show(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let (approval, _) = one_of_scope(&scope).await?;
    let view = view(&state, &scope, &approval);
    let view = view.ok_or_else(|| not_found("proposal"))?;
    ok("Approval fetched successfully", &view)
}

/// Approve a proposal
///
/// The change is made in one commit with the approval. For another person than the one who made the
/// proposal, in a session. Action: `approve_payout` or `approve_routing`, as `approving` of the
/// proposal says; `view_payments` to find it.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/approvals/{approval}/approve",
    operation_id = "approve",
    tag = "Approvals",
    responses((status = 200, description = "The change is made.", body = Success<Approved>)),
)]
async fn approve(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let (approval, proposed) = one_of_scope(&scope).await?;
    let permit = scope.place.permit(approval.approving)?;
    let users = scope.place.users();
    let made = match proposed {
        Proposed::Payout(one) => {
            let caller = scope.caller(&state)?;
            let made = payout::approve(&state, users, caller, &permit, &approval, one).await;
            made.map(Some)
        }
        Proposed::Batch(one) => {
            let id = approval.id;
            let made = payout_batches::approve(&state, users, &permit, id, one.batch).await;
            made.map(|()| None)
        }
        Proposed::Routing(one) => {
            let made = routing::approve(&state, users, &permit, approval.id, one).await;
            made.map(|()| None)
        }
    };
    let payout = made?;
    ok("Proposal approved successfully", &Approved { payout })
}

/// Reject a proposal
///
/// For another person than the one who made the proposal, in a session. Action: `approve_payout` or
/// `approve_routing`, as `approving` of the proposal says; `view_payments` to find it.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/approvals/{approval}/reject",
    operation_id = "reject",
    tag = "Approvals",
    request_body = Rejection,
    responses((status = 200, description = "It is rejected.", body = Success<Nothing>)),
)]
async fn reject(scope: InScope, Body(rejection): Body<Rejection>) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let (approval, _) = one_of_scope(&scope).await?;
    let permit = scope.place.permit(approval.approving)?;
    let users = scope.place.users();
    users
        .reject(&permit, approval.id, &rejection.reason)
        .await?;
    done("Proposal rejected successfully")
}

/// Withdraw a proposal
///
/// For the person who made it, in a session. Action: `create_payout` for payouts, `manage_routing`
/// for routing rules; `view_payments` to find it.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/approvals/{approval}/withdraw",
    operation_id = "withdraw",
    tag = "Approvals",
    responses((status = 200, description = "It is withdrawn.", body = Success<Nothing>)),
)]
async fn withdraw(scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let (approval, _) = one_of_scope(&scope).await?;
    let proposing = proposing_action(approval.approving);
    let permit = scope
        .place
        .permit(proposing.ok_or_else(|| not_found("proposal"))?)?;
    scope.place.users().withdraw(&permit, approval.id).await?;
    done("Proposal withdrawn successfully")
}

async fn one_of_scope(scope: &InScope) -> Result<(users::Approval, Proposed), Refused> {
    let id: ApprovalId = scope.place.sender.id("approval")?;
    let account = Some(scope.place.account);
    let approval = scope.place.users().approval(account, id).await?;
    let proposed = Proposed::of(scope, &approval);
    Ok((approval, proposed.ok_or_else(|| not_found("proposal"))?))
}

fn view(state: &ApiState, scope: &InScope, approval: &users::Approval) -> Option<Approval> {
    let (payout, batch, routing) = match Proposed::of(scope, approval)? {
        Proposed::Payout(one) => (payout_view(state, scope, &one), None, None),
        Proposed::Batch(one) => (None, Some(one.batch), None),
        Proposed::Routing(one) => {
            let rules = ProposedRules {
                replaces: one.replaces,
                rules: one.set.rules,
                fees: one.set.fees,
            };
            (None, None, Some(rules))
        }
    };
    let (name, decided_by, decided_at, because) = match &approval.state {
        ApprovalState::Open => ("open", None, None, None),
        ApprovalState::Executed { by, at } => ("executed", Some(*by), Some(*at), None),
        ApprovalState::Rejected { by, at, reason } => {
            ("rejected", Some(*by), Some(*at), Some(reason.clone()))
        }
        ApprovalState::Withdrawn { at } => ("withdrawn", None, Some(*at), None),
        ApprovalState::Expired => ("expired", None, None, None),
    };
    Some(Approval {
        id: approval.id,
        state: name.to_owned(),
        approving: approval.approving,
        reason: approval.reason.clone(),
        proposed_by: approval.proposed_by,
        proposed_by_name: name_of(scope.place.users(), approval.proposed_by),
        proposed_at: approval.proposed_at.into(),
        expires_at: approval.expires_at.into(),
        decided_by,
        decided_at: decided_at.map(Into::into),
        rejected_because: because,
        payout,
        batch,
        routing,
    })
}

/// The payout of a proposal. `None`: the rules of the merchant API refuse it by now.
fn payout_view(
    state: &ApiState,
    scope: &InScope,
    proposed: &payout::Proposed,
) -> Option<ProposedPayout> {
    let caller = scope.caller(state).ok()?;
    let new = proposed.read(state.engine(), &caller).ok()?;
    let may_see = scope.place.may(Action::ViewPersonalData);
    let shown = |text: String| match may_see {
        true => text,
        false => masked(&text),
    };
    let recipient = new.recipient.into_iter();
    Some(ProposedPayout {
        amount: new.amount.into(),
        method: new.method,
        description: new.description,
        recipient: recipient
            .map(|(name, value)| (name, shown(value)))
            .collect(),
        first_name: shown(new.customer.first_name),
        last_name: shown(new.customer.last_name),
        email: shown(new.customer.email),
    })
}

impl From<NotExecuted> for Refused {
    fn from(why: NotExecuted) -> Self {
        match why {
            NotExecuted::Users(error) => error.into(),
            NotExecuted::Change(refused) => refused,
            NotExecuted::Store => ApiError::unavailable().into(),
        }
    }
}

/// Decided proposals of an account that are read for a page.
const PER_PAGE: usize = 50;
