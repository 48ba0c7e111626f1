//! The worker's side: one library, its calls on a few threads, and walls around all of it.
//!
//! The walls are up before the first instruction of the library runs. What comes in on the engine's pipe is trusted, what the library
//! does is not: it may print, crash or loop, and the frames stay whole, because the library never sees the two pipes as its
//! standard input and output.

mod confine;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, OnceLock, PoisonError};

use super::frame::{self, Frame, Kind, Load, Loaded, Refusal};
use super::walls;
use crate::gateway::inspect::Refused;
use crate::gateway::library::{Library, Running, Step};
use crate::gateway::pieces;
use crate::limits::{GATEWAY_FILE_BYTES, GATEWAY_WORKER_THREADS};

/// Serves the engine that started this process until it closes its end. It takes over the process: nothing else may run in it.
pub fn run(hash: &str) -> ExitCode {
    match open(hash) {
        Ok(shop) => shop.work(),
        Err(error) => {
            eprintln!("this is no command for people: the engine starts it ({error})");
            ExitCode::from(2)
        }
    }
}

/// What all threads of the worker share.
struct Shop {
    /// Whoever has the lock reads the next frame, lets the next thread read, and does the work itself.
    input: Mutex<BufReader<File>>,
    output: Mutex<File>,
    calls: Mutex<BTreeMap<u32, Slot>>,
    library: OnceLock<Library>,
}

/// A call that the library holds something for.
enum Slot {
    Resting(Running),
    /// A thread is in it.
    Busy,
    /// A thread is in it, and is to end it.
    Ending,
}

/// Reads what is to be served, puts up the walls, loads the library, and says so.
fn open(hash: &str) -> io::Result<Arc<Shop>> {
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
    // To come here has cost a millisecond, and so do the walls.
    load.pace.moment();
    let shop = Arc::new(Shop {
        input: Mutex::new(input),
        output: Mutex::new(output),
        calls: Mutex::default(),
        library: OnceLock::new(),
    });
    // Opened while the process may still do so, and loaded from the same handle: what is loaded is what was hashed.
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
    // From here on there is no new thread, and the memory that there may be is counted from here.
    missing.extend(confine::before_loading(load.memory_bytes, account));
    // Loading runs code of the library.
    shop.refuse_without(&missing, &load.accepted);
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    let library = match Library::open(&path, None) {
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
    let found = pieces::read((&mut file).take(GATEWAY_FILE_BYTES + 1), load.pace, |_| ())?;
    if found != hash {
        return Err(io::Error::other("the engine's copy of it was changed"));
    }
    file.rewind()?;
    Ok(file)
}

impl Shop {
    fn work(&self) -> ! {
        loop {
            let next = frame::read(&mut *lock(&self.input));
            match next {
                Ok(Some(frame)) => self.serve(frame),
                // The engine has closed its end, or is no more.
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
                lock(&self.calls).insert(call, Slot::Busy);
                let (step, running) = library.begin(&body);
                self.stepped(call, step, running);
            }
            Kind::Resume => {
                let slot = lock(&self.calls).insert(call, Slot::Busy);
                let Some(Slot::Resting(mut running)) = slot else {
                    return self.stepped(call, Step::Nonsense("it is not there".into()), None);
                };
                let step = running.resume(&body);
                self.stepped(call, step, Some(running));
            }
            Kind::End => self.end(call),
            // The engine sends no others.
            _ => confine::exit(1),
        }
    }

    /// Keeps the call if it goes on, else ends it; then tells what the step said. So an answer that ends a call proves that its end
    /// did no harm.
    fn stepped(&self, call: u32, step: Step, running: Option<Running>) {
        let mut calls = lock(&self.calls);
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
        let is_wanted = !matches!(lock(&self.calls).remove(&call), Some(Slot::Ending));
        match step {
            _ if !is_wanted => self.say(Kind::Ended, call, &[]),
            Step::Ready(message) => self.say(Kind::Ready, call, &message),
            Step::Failed(message) => self.say(Kind::Failed, call, &message),
            Step::Pending(message) => self.say(Kind::Pending, call, &message),
            Step::Nonsense(what) => self.say(Kind::Nonsense, call, what.as_bytes()),
        }
    }

    fn end(&self, call: u32) {
        let mut calls = lock(&self.calls);
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

    /// Writes one frame. An engine that does not read any more is no more.
    fn say(&self, kind: Kind, call: u32, body: &[u8]) {
        let written =
            frame::encode(kind, call, body).and_then(|frame| lock(&self.output).write_all(&frame));
        if written.is_err() {
            confine::exit(1);
        }
    }

    /// Refuses to go on when a wall is missing that the operator did not accept by name.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
