//! From the bytes of a request to a checked request: everything that is wrong with it at once, in
//! their documented order.
//!
//! Nothing in here looks at the state of the service. Whether a method can work now is asked later.

mod amount;
pub mod body;
mod customer;
mod form;
pub mod json;
mod metadata;
pub mod payment;
pub mod payout;
pub mod query;
#[cfg(test)]
mod tests;
