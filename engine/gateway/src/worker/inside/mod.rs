//! The worker's side: one library, a few threads for its calls, and a sandbox.
//!
//! The sandbox is complete before the first instruction of the library runs. Input on the engine's
//! pipe is trusted, the library is not. It may print, crash or loop without breaking frames,
//! because the two pipes are not its standard input and output.

mod confine;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, OnceLock};

use parking_lot::Mutex;

use super::frame::{self, Frame, Kind, Load, Loaded, Refusal};
use super::walls;
use crate::inspect::Refused;
use crate::library::{Library, LibraryCall, Step};
use crate::throttled_io;
use switchyard_core::limits::{GATEWAY_FILE_BYTES, GATEWAY_WORKER_THREADS};

/// Serves the engine that started this process until the engine closes the pipe. Takes over the
/// process: no other code may run in it.
pub fn run(hash: &str) -> ExitCode {
    match open(hash) {
        Ok(shop) => shop.work(),
        Err(error) => {
            eprintln!("this is no command for people: the engine starts it ({error})");
            ExitCode::from(2)
        }
    }
}

/// Confines this process as a worker, without a library, and prints the restrictions that this
/// system refuses: a JSON list of texts, each beginning with a name of [`WALLS`](super::WALLS). The
/// process must be single-threaded.
pub fn missing_walls() -> ExitCode {
    let file = match File::open("/proc/self/exe") {
        Ok(file) => file,
        Err(error) => {
            eprintln!("failed to open this program: {error}");
            return ExitCode::FAILURE;
        }
    };
    let account = confine::account();
    let mut missing = confine::apart(&file);
    missing.extend(confine::before_loading(PROBE_MEMORY, account));
    missing.extend(confine::after_loading());
    let text = serde_json::to_string(&missing).unwrap_or_default();
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => confine::exit(0),
        Err(_) => confine::exit(1),
    }
}

/// Memory limit of a process that only probes its restrictions.
const PROBE_MEMORY: u64 = 64 << 20;

/// State shared by all threads of the worker.
struct WorkerServer {
    /// The thread with the lock reads the next frame, releases the lock for the next thread, and
    /// handles the frame itself.
    input: Mutex<BufReader<File>>,
    output: Mutex<File>,
    calls: Mutex<BTreeMap<u32, Slot>>,
    library: OnceLock<Library>,
}

/// Call for which the library holds state.
enum Slot {
    Resting(LibraryCall),
    /// A thread runs a step of it.
    Busy,
    /// A thread runs a step of it, and has to end it afterwards.
    Ending,
}

/// Reads the load frame, sets up the sandbox, loads the library, and sends the result.
fn open(hash: &str) -> io::Result<Arc<WorkerServer>> {
    let (input, output) = confine::pipes()?;
    let mut input = BufReader::new(input);
    let Some(Frame {
        kind: Kind::Load,
        body,
        ..
    }) = frame::read(&mut input)?
    else {
        return Err(io::Error::other(
            "the first frame does not say what to load",
        ));
    };
    let load: Load = serde_json::from_slice(&body)?;
    // Each of these phases takes about a millisecond: starting the process, and setting up the
    // sandbox.
    load.pace.moment();
    let shop = Arc::new(WorkerServer {
        input: Mutex::new(input),
        output: Mutex::new(output),
        calls: Mutex::default(),
        library: OnceLock::new(),
    });
    // Opened while the process may still open files. The library is loaded from this handle, so the
    // loaded file is the hashed one.
    let file = match the_file(&load, hash) {
        Ok(file) => file,
        Err(error) => shop.refuse(&Refusal::NotLoadable(error.to_string())),
    };
    let account = confine::account();
    let mut missing = confine::apart(&file);
    let gate = Arc::new(Barrier::new(GATEWAY_WORKER_THREADS));
    for _ in 1..GATEWAY_WORKER_THREADS {
        let (shop, gate) = (Arc::clone(&shop), Arc::clone(&gate));
        std::thread::Builder::new().spawn(move || {
            gate.wait();
            shop.work()
        })?;
    }
    load.pace.moment();
    // No thread is started after this. The memory limit is relative to the memory in use now.
    missing.extend(confine::before_loading(load.memory_bytes, account));
    // Refuse before loading, because loading runs code of the library.
    shop.refuse_without(&missing, &load.accepted);
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    let library = match Library::open(&path) {
        Ok(library) => library,
        Err(Refused::OtherAbi { found, .. }) => shop.refuse(&Refusal::OtherAbi(found)),
        Err(Refused::ShortTable { found, .. }) => shop.refuse(&Refusal::ShortTable(found)),
        Err(Refused::NotLoadable { reason, .. }) => shop.refuse(&Refusal::NotLoadable(reason)),
        Err(other) => shop.refuse(&Refusal::NotLoadable(other.to_string())),
    };
    drop(file);
    missing.extend(confine::after_loading());
    shop.refuse_without(&missing, &load.accepted);
    let _ = shop.library.set(library); // set once, here
    shop.say(Kind::Loaded, 0, &serde_json::to_vec(&Loaded { missing })?);
    gate.wait();
    Ok(shop)
}

fn the_file(load: &Load, hash: &str) -> io::Result<File> {
    let mut file = File::open(&load.library)?;
    let found = throttled_io::read((&mut file).take(GATEWAY_FILE_BYTES + 1), load.pace, |_| ())?;
    if found != hash {
        return Err(io::Error::other("the engine's copy of it was changed"));
    }
    file.rewind()?;
    Ok(file)
}

impl WorkerServer {
    fn work(&self) -> ! {
        loop {
            let next = frame::read(&mut *self.input.lock());
            match next {
                Ok(Some(frame)) => self.serve(frame),
                // The engine has closed its end of the pipe, or has exited.
                Ok(None) => confine::exit(0),
                Err(_) => confine::exit(1),
            }
        }
    }

    fn serve(&self, Frame { kind, call, body }: Frame) {
        match kind {
            Kind::Begin => {
                let Some(library) = self.library.get() else {
                    return;
                };
                self.calls.lock().insert(call, Slot::Busy);
                let (step, running) = library.begin(&body);
                self.stepped(call, step, running);
            }
            Kind::Resume => {
                let slot = self.calls.lock().insert(call, Slot::Busy);
                let Some(Slot::Resting(mut running)) = slot else {
                    return self.stepped(call, Step::Nonsense("it is not there".into()), None);
                };
                let step = running.resume(&body);
                self.stepped(call, step, Some(running));
            }
            Kind::End => self.end(call),
            // The engine sends no other frames.
            _ => confine::exit(1),
        }
    }

    /// Stores the call if it continues, otherwise ends it; then sends the result of the step. So an
    /// answer that ends a call proves that ending it succeeded.
    fn stepped(&self, call: u32, step: Step, running: Option<LibraryCall>) {
        let mut calls = self.calls.lock();
        let is_wanted = !matches!(calls.get(&call), Some(Slot::Ending));
        let step = match (step, running) {
            (Step::Pending(message), Some(running)) if is_wanted => {
                calls.insert(call, Slot::Resting(running));
                drop(calls);
                return self.say(Kind::Pending, call, &message);
            }
            (Step::Pending(_), None) => {
                drop(calls);
                Step::Nonsense("it waits, and left nothing to go on with".to_owned())
            }
            (step, running) => {
                drop(calls);
                drop(running);
                step
            }
        };
        let is_wanted = !matches!(self.calls.lock().remove(&call), Some(Slot::Ending));
        match step {
            _ if !is_wanted => self.say(Kind::Ended, call, &[]),
            Step::Ready(message) => self.say(Kind::Ready, call, &message),
            Step::Failed(message) => self.say(Kind::Failed, call, &message),
            Step::Pending(message) => self.say(Kind::Pending, call, &message),
            Step::Nonsense(what) => self.say(Kind::Nonsense, call, what.as_bytes()),
        }
    }

    fn end(&self, call: u32) {
        let mut calls = self.calls.lock();
        match calls.remove(&call) {
            Some(Slot::Busy | Slot::Ending) => {
                calls.insert(call, Slot::Ending);
            }
            resting_or_none => {
                drop(calls);
                drop(resting_or_none);
                self.say(Kind::Ended, call, &[]);
            }
        }
    }

    /// Writes one frame. Exits on an error, because the engine has then exited.
    fn say(&self, kind: Kind, call: u32, body: &[u8]) {
        let written =
            frame::encode(kind, call, body).and_then(|frame| self.output.lock().write_all(&frame));
        if written.is_err() {
            confine::exit(1);
        }
    }

    /// Refuses to continue when a sandbox restriction is missing that the operator did not accept
    /// by name.
    fn refuse_without(&self, missing: &[String], accepted: &[String]) {
        if let Some(why) = walls::refusal(missing, accepted) {
            self.refuse(&Refusal::Unconfined(why));
        }
    }

    fn refuse(&self, refusal: &Refusal) -> ! {
        if let Ok(body) = serde_json::to_vec(refusal) {
            self.say(Kind::Refused, 0, &body);
        }
        confine::exit(0)
    }
}
