//! No dumps: the memory of a process is not written to a disk when it crashes.
//!
//! The master key, the merchants' credentials and the payers' codes are in there in clear. A
//! worker, which has less of them, has this as one of its walls.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, dumpable_behavior, set_dumpable_behavior, setrlimit,
};

/// After this call the process leaves no core dump, whatever collects them, and no other process of
/// its user may read its memory. Neither can be undone without rights that an engine does not have.
///
/// # Errors
/// When the system refuses one of them, or does not keep what it took; the other one may hold.
pub fn forbid() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let limited = setrlimit(Resource::Core, none);
    // A collector that dumps are piped to does not ask for the limit.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    match dumpable_behavior()? {
        DumpableBehavior::NotDumpable => Ok(limited?),
        _ => Err(io::Error::other(
            "the system took the ban on dumps and does not keep it",
        )),
    }
}
