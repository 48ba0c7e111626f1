//! Changes of an account that one person proposes and another one approves: what a proposal holds,
//! and its execution in one commit with the approval.
//!
//! The console and the account API use the same functions. [`switchyard_users`] decides who may
//! propose and approve, and that nobody does both.

pub mod payout;
pub mod routing;

use serde::de::DeserializeOwned;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ApprovalId};
use switchyard_users::{Approval, Permit, Proposal, Users, UsersError};

use crate::operator::Refused;
use crate::state::{ApiState, ConsoleAccess};
use crate::user_mail;

/// Reason why an approved change was not made.
pub enum NotExecuted {
    Users(UsersError),
    Change(Refused),
    Store,
}

/// Path of a proposal's page below the console's own.
pub fn page_path(app: AppId, environment: Environment, id: ApprovalId) -> String {
    format!("apps/{app}/{environment}/approvals/{id}")
}

/// The payload of a proposal. `None`: it is of another form.
pub fn read<T: DeserializeOwned>(approval: &Approval) -> Option<T> {
    serde_json::from_value(approval.payload.clone()).ok()
}

/// Stores a proposal, and mails it to those who may decide. `path`: of its page by its id.
pub async fn propose(
    state: &ApiState,
    console: &ConsoleAccess,
    permit: &Permit,
    proposal: Proposal,
    path: impl FnOnce(ApprovalId) -> String,
) -> Result<ApprovalId, UsersError> {
    let approval = console.users.propose(permit, proposal).await?;
    announce(state, console, &approval, &path(approval.id)).await;
    Ok(approval.id)
}

/// Mails a proposal to those who may decide. `path`: of its page.
pub async fn announce(state: &ApiState, console: &ConsoleAccess, approval: &Approval, path: &str) {
    user_mail::send_proposal(state.engine(), console, approval, path).await;
}

/// Name of a user, or the id of one who does not exist any more.
pub fn name_of(users: &Users, user: switchyard_core::ids::UserId) -> String {
    let found = users.user(user);
    found.map_or_else(|| user.to_string(), |user| user.name.clone())
}
