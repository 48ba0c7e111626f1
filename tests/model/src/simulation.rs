//! Fault that is planted in the core, for the tests of the checker itself.

use std::cell::Cell;

use crate::planted::Fault;

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Returns the fault planted on this thread. The core asks for it.
pub fn planted() -> Option<Fault> {
    PLANTED.get()
}

/// Plants `fault` in the core on this thread, or removes it.
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}
