//! Users: people, roles, sign-in, sessions, single-use links, API tokens, approvals by a second
//! person, batches of payouts, payment links, and the audit log.
//!
//! Users, sessions, links, tokens and open approvals are in memory, loaded at the start: a request
//! is authenticated without a read of the store. The audit log is in the store only. Changes are
//! written to the store first and made in memory after, one at a time, in one commit with their
//! entries of the audit log. A change is finished even if its caller has disconnected.
//!
//! [`Users::authorize`] is the one place that decides what a person or a token may do, by the table
//! in [`role`](allows). It returns a [`Permit`], which the functions that change other users take.
//!
//! Left out: HTTP, pages and mails. The caller sends the links and shows the secrets.

mod approval;
mod approvals;
mod audit;
mod authorize;
mod batch_retention;
mod change;
mod error;
mod identity;
mod invite;
mod link;
mod log;
mod openid;
mod password;
mod payment_link;
mod payment_link_uses;
mod payment_links;
mod payout_batch;
mod payout_batches;
mod pending;
mod purge;
mod refusal;
mod refusal_log;
mod reset;
mod role;
mod rows;
mod second_factor;
mod session;
mod set;
mod sign_in;
mod team;
#[cfg(test)]
mod tests;
mod throttle;
mod token;
mod totp;
mod user;
mod user_tokens;
mod users;

pub use self::approval::{Approval, ApprovalState};
pub use self::approvals::Proposal;
pub use self::audit::{
    Actor, AuditResult, ChainFault, ChainHead, ChainReport, Channel, Entry, NewEntry, Origin,
};
pub use self::authorize::{Identity, Permit, Via};
pub use self::error::UsersError;
pub use self::identity::ProviderIdentity;
pub use self::invite::{Acceptance, NewInvitation};
pub use self::link::{Link, NewLink, Purpose};
pub use self::log::{AuditPage, AuditQuery};
pub use self::openid::{IdentityRefusal, ProviderConfirmation, ProviderSignIn};
pub use self::password::{PasswordCost, PasswordProblem, check_password};
pub use self::payment_link::{
    Disabled, LinkAmount, LinkCode, LinkTerms, LinkUses, NewPaymentLink, NotALinkCode, PaymentLink,
    Unusable,
};
pub use self::payment_link_uses::{EndedPayment, FormPayment, NewUse};
pub use self::payout_batch::{
    BATCH_PROPOSAL, BatchId, BatchLine, BatchState, NewBatch, NotABatch, PayoutBatch,
    ProposedBatch, RefusedLine,
};
pub use self::payout_batches::{BATCH_LINES, BatchRun};
pub use self::refusal::Refusal;
pub use self::reset::PasswordReset;
pub use self::role::{
    Action, Role, Scope, allowed_roles, allows, approving_action, proposing_action,
    requires_recent_authentication, requires_totp,
};
pub use self::second_factor::FirstSetup;
pub use self::session::{NewSession, Session, csrf_token, is_csrf_token};
pub use self::sign_in::{Factors, FirstFactor, SignIn};
pub use self::throttle::network;
pub use self::token::{NewUserToken, UserToken};
pub use self::totp::{RecoveryCodes, TotpSetup};
pub use self::user::{Membership, User, UserState};
pub use self::user_tokens::TokenRequest;
pub use self::users::{Options, Sealer, SecondFactor, Staged, Users};
