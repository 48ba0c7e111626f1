//! The core's tests: a table of every command in every state, histories in the words of the domain, and properties over random ones.

mod calling_off;
mod codes;
mod edges;
pub(crate) mod fixtures;
mod histories;
mod late_money;
mod matrix;
mod operators;
mod parts;
mod properties;
mod restored;
mod settling;
mod unsent;
