//! The real program under load, killed again and again, and what the books of its provider say
//! afterwards. [`restores`] does the same with backups.
//!
//! Merchants order payments and payouts at a steady rate, whatever becomes of the program; payers go through the page's forms. The
//! provider, the merchants' inbox and the load live in this process, which nobody kills. What has to hold in the end is in
//! [`promises`].

mod asked;
mod callbacks;
mod faults;
mod figures;
pub mod inbox;
mod judge;
mod kills;
mod load;
mod operator;
mod promises;
mod rest;
pub mod restores;
pub mod site;

pub use faults::through;
pub use figures::Figures;
pub use kills::{Sweep, run};
pub use load::{Fate, Load, Told};
pub use promises::{Break, Broken, Rule};
pub use site::Site;
