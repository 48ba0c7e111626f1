//! The core's tests: a table of every command in every state, histories in the words of the domain, and properties over random ones.

mod bounds;
mod calling_off;
mod codes;
mod currencies;
mod edges;
pub(crate) mod fixtures;
mod histories;
mod in_question;
mod late_money;
mod matrix;
mod operators;
mod parts;
mod properties;
mod recovery;
mod reports;
mod restored;
mod reversals;
mod settling;
mod unsent;
