//! Requests and responses of the account API that no other API has, one file per subject. What the
//! operator API has too is in [`crate::operator::contract`].

pub mod approvals;
pub mod audit;
pub mod batches;
pub mod customers;
pub mod own;
pub mod payment_links;
pub mod payouts;
pub mod routing;
pub mod settings;
pub mod team;
pub mod transactions;
