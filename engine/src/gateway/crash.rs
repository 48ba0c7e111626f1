//! Crashes of the engine's process in code of a gateway that runs inside it.
//!
//! While a thread is in such code it names the version's line. A signal that ends the process
//! because of this thread's own fault, and an `exit` by it, append the line to a file. So a step
//! costs two writes to a thread-local and no I/O, and a kill from outside counts against no
//! version. The next start reads the file: see `life::deaths`.
//!
//! Limits: memory that one version damages may crash other code later, and the kernel may kill the
//! process for lack of memory. Neither is attributed to a version.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Line that is written when the process crashes in code of one version.
pub(super) struct CrashMark {
    /// The file that is written to.
    path: CString,
    /// The version's hash in hexadecimal, and a line feed.
    line: Vec<u8>,
}

impl CrashMark {
    /// For a version in `dir`. It is never freed, because its version is never unloaded.
    pub(super) fn new(dir: &Path, sha256: &str) -> io::Result<&'static Self> {
        watch_signals();
        let path = std::path::absolute(path(dir))?;
        Ok(Box::leak(Box::new(Self {
            path: CString::new(path.into_os_string().into_encoded_bytes())?,
            line: format!("{sha256}\n").into_bytes(),
        })))
    }
}

/// Runs code of a version.
pub(super) fn inside<T>(mark: Option<&'static CrashMark>, work: impl FnOnce() -> T) -> T {
    let _outer = Inside(CURRENT.replace(mark.map_or(ptr::null(), ptr::from_ref)));
    work()
}

/// Restores the mark that was current before.
struct Inside(*const CrashMark);

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Returns the crashes since they were last cleared, by the version's hash.
pub(super) fn deaths(dir: &Path) -> io::Result<BTreeMap<String, usize>> {
    let text = match fs::read_to_string(path(dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        read => read?,
    };
    let mut deaths = BTreeMap::new();
    for line in text.lines() {
        *deaths.entry(line.to_owned()).or_default() += 1;
    }
    Ok(deaths)
}

/// Clears the crashes, which are recorded elsewhere by now.
pub(super) fn forget(dir: &Path) -> io::Result<()> {
    fs::remove_file(path(dir))
}

fn path(dir: &Path) -> PathBuf {
    dir.join("crashes")
}

/// Records the crash of the process if this thread is in code of a version. Async-signal-safe.
fn note() {
    let mark = CURRENT.get();
    if mark.is_null() || IS_NOTED.swap(true, Ordering::SeqCst) {
        return;
    }
    // SAFETY: a mark is never freed.
    let mark = unsafe { &*mark };
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path is alive and ends with a zero.
    let file = unsafe { libc::open(mark.path.as_ptr(), flags, 0o600) };
    // SAFETY: the line is alive. A line that cannot be written is lost.
    unsafe { libc::write(file, mark.line.as_ptr().cast(), mark.line.len()) };
}

/// Once in the life of the process.
fn watch_signals() {
    BEFORE.get_or_init(|| {
        // SAFETY: `at_exit` may run on any thread at the end of the process.
        unsafe { libc::atexit(at_exit) };
        SIGNALS.map(action_of)
    });
    static IS_SET: OnceLock<()> = OnceLock::new();
    IS_SET.get_or_init(|| SIGNALS.iter().for_each(|signal| set_handler(*signal)));
}

fn action_of(signal: c_int) -> libc::sigaction {
    // SAFETY: all zeros is a valid `sigaction`: the default action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the second pointer is to a live variable of ours.
    unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    action
}

fn set_handler(signal: c_int) {
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as usize;
    // On the thread's other stack: its own may be what has overflowed.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the pointer is to a live variable, and the handler only does what it may.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}

extern "C" fn at_exit() {
    note();
}

/// Records the crash, then calls the previous handler.
extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    note();
    let place = SIGNALS.iter().position(|known| *known == signal);
    let before = BEFORE.get().zip(place).map(|(all, place)| &all[place]);
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
        // SAFETY: it is the handler that was set for this signal, of the kind that its flags say.
        let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
        // A handler of the simple kind ignores the arguments behind the first.
        return handler(signal, info, context);
    }
    // SAFETY: the default action takes the place of this handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: it ends the process, as the signal would have done without this handler.
    unsafe { libc::raise(signal) };
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Signals by which a thread ends its process.
const SIGNALS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGABRT,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
];
/// Previous handlers of these signals.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();
/// Whether the crash is recorded. One crash may raise several signals.
static IS_NOTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The mark of the code that this thread is in; null: the engine's own.
    static CURRENT: Cell<*const CrashMark> = const { Cell::new(ptr::null()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_are_counted_by_version_until_they_are_forgotten() {
        let dir = tempfile::TempDir::new().unwrap();
        assert!(deaths(dir.path()).unwrap().is_empty(), "no file yet");
        let mark = CrashMark::new(dir.path(), "aa").unwrap();
        fs::write(path(dir.path()), "aa\nbb\naa\n").unwrap();
        let expected = [("aa".to_owned(), 2), ("bb".to_owned(), 1)];
        assert_eq!(deaths(dir.path()).unwrap(), BTreeMap::from(expected));
        forget(dir.path()).unwrap();
        assert!(deaths(dir.path()).unwrap().is_empty());
        // Code of a version may call the engine, which is not the version's.
        let nested = inside(Some(mark), || inside(None, || CURRENT.get().is_null()));
        assert!(nested && CURRENT.get().is_null());
    }
}
