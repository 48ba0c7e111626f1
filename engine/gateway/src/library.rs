//! Loaded library, in a worker process: the only place where code runs that the engine did not
//! compile.
//!
//! A library is copied to `<dir>/<sha256>.so` before it is opened, because overwriting an open
//! library in place crashes the process. It is never closed: a thread-local destructor inside it
//! may run when any thread ends.

use std::ffi::c_void;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use libloading::os::unix;
use switchyard_gateway::abi::{self, Bytes, Plugin, Sink};

use super::inspect::{Inspected, Refused};
use super::throttled_io::{self, Throttle};
use switchyard_core::limits::GATEWAY_ANSWER_BYTES;

/// Stores the bytes as `<dir>/<sha256>.so`, durably, and returns the path. An existing file with
/// the right hash is kept.
pub(super) fn keep(
    dir: &Path,
    path: &Path,
    inspected: &Inspected,
    pace: Throttle,
) -> Result<PathBuf, Refused> {
    let hash = &inspected.inspection.sha256;
    let kept = dir.join(format!("{hash}.so"));
    let not_kept = |source| Refused::NotKept {
        path: path.to_owned(),
        dir: dir.to_owned(),
        source,
    };
    let is_whole = |at: &Path| {
        let found = File::open(at).and_then(|file| throttled_io::read(file, pace, |_| ()));
        found.is_ok_and(|found| found == *hash)
    };
    if is_whole(&kept) {
        return Ok(kept);
    }
    fs::create_dir_all(dir).map_err(not_kept)?;
    write_durably(dir, &kept, &inspected.bytes, pace).map_err(not_kept)?;
    if !is_whole(&kept) {
        return Err(Refused::Changed {
            path: path.to_owned(),
        });
    }
    Ok(kept)
}

fn write_durably(dir: &Path, kept: &Path, bytes: &[u8], pace: Throttle) -> io::Result<()> {
    let partial = kept.with_extension(format!("{}.partial", std::process::id()));
    let mut file = File::create(&partial)?;
    throttled_io::write(&mut file, bytes, pace)?;
    fs::rename(&partial, kept)?;
    File::open(dir)?.sync_all()
}

/// Entry points of a library, which stays mapped until the process ends.
#[derive(Clone, Copy)]
pub(super) struct Library {
    plugin: &'static Plugin,
}

impl Library {
    /// Opens the engine's own copy of an inspected file.
    pub(super) fn open(kept: &Path) -> Result<Self, Refused> {
        let not_loadable = |error: libloading::Error| Refused::NotLoadable {
            path: kept.to_owned(),
            reason: error.to_string(),
        };
        let flags = unix::RTLD_NOW | unix::RTLD_LOCAL | libc::RTLD_NODELETE;
        // SAFETY: the file passed the inspection, and the engine's copy is not written to. Its
        // initialisers run here, within the sandbox of the worker.
        let library = unsafe { unix::Library::open(Some(kept), flags) }.map_err(not_loadable)?;
        // SAFETY: the inspection checked that the symbol is data of at least this size.
        let symbol = unsafe { library.get::<*const Plugin>(abi::SYMBOL.as_bytes()) };
        let table: *const Plugin = symbol.map_err(not_loadable)?.into_raw().cast();
        std::mem::forget(library); // never closed
        // SAFETY: `table` points into the library's data, which stays mapped and is not written to.
        // This field is the first of every ABI generation.
        let abi_major = unsafe { (*table).abi_major };
        // SAFETY: as above; it is the second.
        let size = unsafe { (*table).size };
        if abi_major != abi::ABI_MAJOR {
            return Err(Refused::OtherAbi {
                path: kept.to_owned(),
                found: abi_major,
            });
        }
        if (size as usize) < size_of::<Plugin>() {
            return Err(Refused::ShortTable {
                path: kept.to_owned(),
                found: size,
            });
        }
        // SAFETY: the table is of this ABI generation and long enough, so it is a `Plugin`. It
        // stays mapped until the process ends, so it is `'static`.
        let plugin = unsafe { &*table };
        Ok(Self { plugin })
    }

    /// Entry points of a gateway that is linked into this program.
    #[cfg(any(feature = "simulation", feature = "fuzzing"))]
    pub(super) fn linked(plugin: &'static Plugin) -> Self {
        Self { plugin }
    }

    /// Begins an operation. Returns a `LibraryCall` if the library holds state for the call.
    pub(super) fn begin(self, message: &[u8]) -> (Step, Option<LibraryCall>) {
        let mut answer = Answer::default();
        let mut call: *mut c_void = std::ptr::null_mut();
        // SAFETY: message, sink and the pointer for the call are valid until `begin` returns, as
        // the ABI requires.
        let code = unsafe { (self.plugin.begin)(Bytes::lend(message), answer.sink(), &mut call) };
        // Built only when there is a call, because dropping a `LibraryCall` ends it.
        let running = (!call.is_null()).then(|| LibraryCall {
            library: self,
            call,
        });
        (answer.step(code), running)
    }
}

/// Result of a step, by its code.
#[derive(Debug)]
pub(super) enum Step {
    Ready(Vec<u8>),
    Pending(Vec<u8>),
    Failed(Vec<u8>),
    /// A code that the ABI does not define, or more bytes than are allowed.
    Nonsense(String),
}

/// Call for which the library holds state; ended exactly once, on drop.
pub(super) struct LibraryCall {
    library: Library,
    call: *mut c_void,
}

// SAFETY: the ABI allows steps of one call on different threads as long as they do not overlap, and
// `resume` takes `&mut`.
unsafe impl Send for LibraryCall {}

impl LibraryCall {
    /// Resumes with the result of one effect.
    pub(super) fn resume(&mut self, message: &[u8]) -> Step {
        let mut answer = Answer::default();
        // SAFETY: `call` came from this library's `begin` and is ended only by `drop`; the other
        // arguments are valid until `resume` returns.
        let code =
            unsafe { (self.library.plugin.resume)(self.call, Bytes::lend(message), answer.sink()) };
        answer.step(code)
    }
}

impl Drop for LibraryCall {
    fn drop(&mut self) {
        // SAFETY: `call` came from this library's `begin`, and is ended only here.
        unsafe { (self.library.plugin.end)(self.call) };
    }
}

/// Collects the bytes of an answer, up to the limit.
#[derive(Default)]
struct Answer {
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl Answer {
    fn sink(&mut self) -> Sink {
        Sink {
            ctx: std::ptr::from_mut(self).cast(),
            put,
        }
    }

    fn step(self, code: i32) -> Step {
        match code {
            _ if self.is_too_long => {
                Step::Nonsense(format!("it said more than {GATEWAY_ANSWER_BYTES} bytes"))
            }
            abi::READY => Step::Ready(self.bytes),
            abi::PENDING => Step::Pending(self.bytes),
            abi::FAILED => Step::Failed(self.bytes),
            other => Step::Nonsense(format!("it answered with the code {other}")),
        }
    }
}

/// # Safety
/// `ctx` is the `Answer` of the step that runs, and `part` is readable.
unsafe extern "C" fn put(ctx: *mut c_void, part: Bytes) {
    // SAFETY: `ctx` was made from a `&mut Answer` that no other code uses during the step.
    let answer = unsafe { &mut *ctx.cast::<Answer>() };
    // SAFETY: the library lends `part` for the duration of this call.
    let part = unsafe { part.as_slice() };
    if part.len() > GATEWAY_ANSWER_BYTES - answer.bytes.len() {
        answer.is_too_long = true;
    } else if !answer.is_too_long {
        answer.bytes.extend_from_slice(part);
    }
}
