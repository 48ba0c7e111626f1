//! The real program under load, killed repeatedly, and compared with its provider's ledger
//! afterwards. [`restores`] does the same with backups.
//!
//! Merchants order payments and payouts at a steady rate, whether or not the program is up; payers
//! submit the page's forms. The provider, the merchants' inbox and the load run in the test
//! process, which is not killed. [`promises`] has the conditions that must hold in the end.

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
