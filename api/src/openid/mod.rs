//! Sign-in to the console by an OpenID Connect provider: the authorization code flow with PKCE,
//! `state` and `nonce`.
//!
//! ```text
//! begin     metadata of the provider; the browser is led there with state, nonce and challenge
//! take      the return: its state is of this browser, not used before, and 10 minutes old at most
//! identity  code and verifier for an ID token, whose signature and claims are verified
//! ```
//!
//! Promises: no step waits longer than [`OPENID_TIMEOUT`]; a response is bounded, and redirects are
//! not followed; every check of a token is in [`verify`], which is pure. Left out: the user of an
//! identity, which is [`switchyard_users`]'s, and pages.
//!
//! [`OPENID_TIMEOUT`]: switchyard_core::limits::OPENID_TIMEOUT

mod http;
mod pending;
mod provider;
mod verify;

pub use pending::{PendingReturn, Purpose};
pub use provider::{Answer, Departure, Fault, Provider, ProviderOptions};
