//! What the outside tests share.

pub mod tidy;
