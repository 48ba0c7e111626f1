//! Shared parts of the store's crash tests: rows that show a loss, a process to kill, and a disk
//! that loses unsynced writes. Of the tests in this crate, only these use the engine as a library:
//! they check the guarantees of [`switchyard_store`], not of the service.

pub mod power_cut;
pub mod process;
pub mod rows;
