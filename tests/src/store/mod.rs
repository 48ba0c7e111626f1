//! What the store's crash tests share: rows that show a loss, a process to kill, a disk that loses what was not synced. This
//! alone of the outside tests knows the engine: it holds the promise of [`switchyard_engine::store`], not of the service.

pub mod power_cut;
pub mod process;
pub mod rows;
