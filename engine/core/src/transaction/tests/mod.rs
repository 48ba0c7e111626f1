//! The core's tests: a table of every command in every state, histories in the words of the domain,
//! and properties over random ones.

mod ambiguous_ids;
mod bounds;
mod calling_off;
mod cases_of_charges;
mod charge_reports;
mod charges;
mod codes;
mod contradictions;
mod currencies;
mod decided;
mod details;
mod edges;
mod fees;
mod further_charges;
mod further_ids;
mod histories;
mod in_question;
mod largest_sums;
mod late_money;
mod ledger;
mod matrix;
mod operators;
mod orders_after_holds;
mod parts;
mod planted;
mod planted_calls;
mod planted_charges;
mod planted_ends;
mod planted_events;
mod planted_evidence;
mod planted_more;
mod planted_orders;
mod properties;
mod recovery;
mod reports;
mod restored;
mod restored_ends;
mod reversals;
mod second_reports;
mod settling;
mod unreadable;
mod unsent;

use crate::testing::fixtures;
