//! No dumps: the memory of a process is not written to a disk when it crashes.
//!
//! The master key, the merchants' credentials and the payers' codes are in there in clear. A
//! worker, which has less of them, has this as one of its walls.

use std::io;

/// After this call the process leaves no core dump, whatever collects them, and no other process of
/// its user may read its memory. Neither can be undone without rights that an engine does not have.
///
/// # Errors
/// When the system refuses one of them, or does not keep what it took; the other one may hold.
pub fn forbid() -> io::Result<()> {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a live `rlimit` of ours, which the call reads and does not keep.
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    let limited = if limited == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    };
    // A collector that dumps are piped to does not ask for the limit.
    // SAFETY: this option takes a number, and no pointer.
    if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: this option takes nothing.
    match unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) } {
        0 => limited,
        -1 => Err(io::Error::last_os_error()),
        _ => Err(io::Error::other(
            "the system took the ban on dumps and does not keep it",
        )),
    }
}
