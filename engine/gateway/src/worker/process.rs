//! One running worker process, seen from the engine.
//!
//! Three threads of the engine serve it. The *reader* starts the worker and passes its answers on.
//! The *keeper* watches its steps and writes data that the pipe did not accept at once. The third
//! thread reads its output. None of them waits for a call. The worker exits with the reader,
//! because the kernel ties `PR_SET_PDEATHSIG` to the thread that started the process.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::cpu::{self, CpuBudget};
use super::frame::{self, Frame, Kind, Load, Loaded};
use super::not_started::NotStarted;
use super::record::Record;
use super::{Launch, output};
use crate::library::Step;
use crate::redact::Redactor;
use crate::throttled_io::Throttle;
use switchyard_core::limits::{
    GATEWAY_STEP, GATEWAY_WORKER_QUEUE_BYTES, GATEWAY_WORKER_REDACTORS, GATEWAY_WORKER_START,
};

pub(super) struct Process {
    launch: Arc<Launch>,
    record: Arc<Record>,
    shared: Mutex<Shared>,
    wake: Condvar,
    child: Mutex<Child>,
    id: u32,
    /// Reason for which the engine kills it.
    reason: OnceLock<KillReason>,
    /// Reason for which it ended; a sentence.
    end: OnceLock<String>,
    /// Redactors of the latest calls, applied to its output.
    redactors: Mutex<VecDeque<Redactor>>,
}

/// Reason for which the engine kills a worker.
pub(super) enum KillReason {
    /// Idle or no longer used.
    NotNeeded,
    /// A step exceeded its time: it loops or sleeps.
    Stuck,
    /// Used CPU time while none of its steps was open.
    StrayCpu,
    /// Violated the protocol.
    ProtocolError(String),
}

struct Shared {
    /// The engine's end of its standard input, which never blocks; `None` when nothing more is
    /// sent.
    input: Option<UnixStream>,
    unsent: VecDeque<u8>,
    /// Open calls of the worker, by number.
    calls: BTreeMap<u32, Open>,
    next: u32,
    /// Time in ticks of the keeper. A pause of the machine does not advance it.
    tick: u64,
    cpu: CpuBudget,
    keeper_rests: bool,
    is_over: bool,
}

/// Open call of a worker.
struct Open {
    /// Receiver of the answer to the running step.
    waiting: Option<oneshot::Sender<Step>>,
    /// Tick at which the running step started, and its limit in ticks.
    since: Option<u64>,
    may_take: u64,
    is_ending: bool,
}

impl Process {
    /// Starts a worker and waits until it has loaded the library. Blocks.
    pub(super) fn start(
        launch: &Arc<Launch>,
        record: &Arc<Record>,
        pace: Throttle,
    ) -> Result<Arc<Self>, NotStarted> {
        let (tell, told) = mpsc::channel();
        let (launch, record) = (Arc::clone(launch), Arc::clone(record));
        thread::Builder::new()
            .name(format!("read {}", launch.name))
            .spawn(move || match Self::spawn(&launch, &record, pace) {
                Ok((process, output)) => read(&process, output, &tell),
                Err(why) => {
                    let why = format!("{} cannot be started ({why})", launch.program.display());
                    let _ = tell.send(Err(NotStarted::Failed(why))); // the caller is gone
                }
            })
            .map_err(|why| NotStarted::Failed(format!("there is no thread for it ({why})")))?;
        let ended = || NotStarted::Failed("it ended before it began".to_owned());
        told.recv().unwrap_or_else(|_| Err(ended()))
    }

    /// Starts the process. Runs on the reader's thread.
    fn spawn(
        launch: &Arc<Launch>,
        record: &Arc<Record>,
        pace: Throttle,
    ) -> io::Result<(Arc<Self>, ChildStdout)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut child = Command::new(&launch.program)
            .arg0("switchyard")
            .args(["gateway-worker", &launch.sha256])
            .env_clear()
            .current_dir("/")
            // A signal from the terminal is for the engine, which stops its workers when it exits.
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("it has no output"));
        };
        let process = Arc::new(Self {
            launch: Arc::clone(launch),
            record: Arc::clone(record),
            shared: Mutex::new(Shared {
                input: Some(ours),
                unsent: VecDeque::new(),
                calls: BTreeMap::from([(LOADING, Open::step(0, GATEWAY_WORKER_START, None))]),
                next: LOADING,
                tick: 0,
                cpu: CpuBudget::new(),
                keeper_rests: false,
                is_over: false,
            }),
            wake: Condvar::new(),
            id: child.id(),
            child: Mutex::new(child),
            reason: OnceLock::new(),
            end: OnceLock::new(),
            redactors: Mutex::default(),
        });
        let threads = process.threads(errors).and_then(|()| process.load(pace));
        match threads {
            Ok(()) => Ok((process, output)),
            Err(why) => {
                process.kill(KillReason::NotNeeded);
                let _ = process.child.lock().wait(); // it was killed
                Err(why)
            }
        }
    }

    fn threads(self: &Arc<Self>, errors: std::process::ChildStderr) -> io::Result<()> {
        let name = &self.launch.name;
        let process = Arc::clone(self);
        thread::Builder::new()
            .name(format!("keep {name}"))
            .spawn(move || process.keep())?;
        let process = Arc::clone(self);
        thread::Builder::new()
            .name(format!("hear {name}"))
            .spawn(move || output::log(&process.launch.name, errors, |line| process.redacted(line)))
            .map(drop)
    }

    fn load(&self, pace: Throttle) -> io::Result<()> {
        let load = Load {
            library: self.launch.library.clone(),
            memory_bytes: self.launch.memory_bytes,
            pace,
            accepted: self.launch.accepted.clone(),
        };
        let body = serde_json::to_vec(&load)?;
        self.shared
            .lock()
            .send(&frame::encode(Kind::Load, LOADING, &body)?);
        Ok(())
    }

    /// Whether it accepts steps.
    pub(super) fn is_open(&self) -> bool {
        self.shared.lock().input.is_some()
    }

    /// Begins a call. Returns its number and the receiver of the answer, or `None` when the worker
    /// accepts no more.
    pub(super) fn begin(
        &self,
        redactor: &Redactor,
        message: &[u8],
    ) -> Result<Option<(u32, oneshot::Receiver<Step>)>, String> {
        let mut redactors = self.redactors.lock();
        if redactors.len() >= GATEWAY_WORKER_REDACTORS {
            redactors.pop_front();
        }
        redactors.push_back(redactor.clone());
        drop(redactors);
        let mut shared = self.shared.lock();
        if shared.input.is_none() {
            return Ok(None);
        }
        shared.check_room()?;
        // No call lasts until four billion others have begun.
        shared.next = shared.next.wrapping_add(1).max(LOADING + 1);
        let call = shared.next;
        let frame = frame::encode(Kind::Begin, call, message).map_err(|why| why.to_string())?;
        let (answer, answered) = oneshot::channel();
        let open = Open::step(shared.tick, GATEWAY_STEP, Some(answer));
        shared.calls.insert(call, open);
        shared.cpu.opened();
        shared.send(&frame);
        self.nudge(&shared);
        Ok(Some((call, answered)))
    }

    /// Sends the result of one effect to a call. Returns the receiver of the answer.
    pub(super) fn resume(
        &self,
        call: u32,
        message: &[u8],
    ) -> Result<oneshot::Receiver<Step>, String> {
        let mut shared = self.shared.lock();
        shared.check_room()?;
        let frame = frame::encode(Kind::Resume, call, message).map_err(|why| why.to_string())?;
        let tick = shared.tick;
        let (answer, answered) = oneshot::channel();
        if let Some(open) = shared.calls.get_mut(&call) {
            *open = Open::step(tick, GATEWAY_STEP, Some(answer));
            shared.cpu.opened();
            shared.send(&frame);
            self.nudge(&shared);
        }
        // Without such a call the sender is dropped, and the receiver returns an error.
        Ok(answered)
    }

    /// Ends a call whose driver is done with it. A step that runs is still watched.
    pub(super) fn end(&self, call: u32) {
        let mut shared = self.shared.lock();
        let tick = shared.tick;
        let Some(open) = shared.calls.get_mut(&call) else {
            return;
        };
        open.is_ending = true;
        open.waiting = None;
        if open.since.is_none() {
            open.since = Some(tick);
            shared.cpu.opened();
        }
        if let Ok(frame) = frame::encode(Kind::End, call, &[]) {
            shared.send(&frame);
        }
        self.nudge(&shared);
    }

    /// Reason for which it ended, if known.
    pub(super) fn why(&self) -> &str {
        let why = self.end.get();
        why.map_or("its worker has ended", String::as_str)
    }

    pub(super) fn kill(&self, reason: KillReason) {
        let _ = self.reason.set(reason); // the first reason stays
        self.shared.lock().input = None;
        self.wake.notify_one();
        let _ = self.child.lock().kill(); // it fails when the process has ended
    }

    /// Wakes the keeper after a change of the idle timeout.
    pub(super) fn wake_keeper(&self) {
        let _shared = self.shared.lock(); // otherwise the keeper might be about to wait
        self.wake.notify_one();
    }

    /// Wakes the keeper if it is idle or there is data to send.
    fn nudge(&self, shared: &Shared) {
        if shared.keeper_rests || !shared.unsent.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Runs the keeper: sends data that the pipe did not accept at once, kills a stuck worker, and
    /// stops an idle one.
    fn keep(&self) {
        let mut shared = self.shared.lock();
        let mut ticked = Instant::now();
        let mut rested = Duration::ZERO;
        while shared.input.is_some() {
            shared.flush();
            shared.keeper_rests = shared.unsent.is_empty() && shared.calls.is_empty();
            let wait = if shared.keeper_rests {
                self.launch
                    .idle()
                    .saturating_sub(rested)
                    .min(CPU_CHECK_INTERVAL)
            } else if shared.unsent.is_empty() {
                TICK
            } else {
                FLUSH_EACH
            };
            let timeout = self.wake.wait_for(&mut shared, wait);
            if shared.keeper_rests && timeout.timed_out() && shared.calls.is_empty() {
                rested += wait;
                if rested >= self.launch.idle() {
                    // Before the lock is released: a call that began now would end with the worker.
                    shared.input = None;
                    drop(shared);
                    return self.kill(KillReason::NotNeeded);
                }
            } else {
                rested = Duration::ZERO;
            }
            let mut has_ticked = ticked.elapsed() >= TICK;
            if std::mem::take(&mut shared.keeper_rests) {
                ticked = Instant::now();
            } else if has_ticked {
                shared.tick += 1;
                ticked = Instant::now();
            }
            has_ticked |= !rested.is_zero();
            let reason = if shared.is_stuck() {
                KillReason::Stuck
            } else if has_ticked && self.uses_stray_cpu(&mut shared) {
                KillReason::StrayCpu
            } else {
                continue;
            };
            drop(shared);
            self.kill(reason);
            // Not left to the reader: a child of the worker might keep the pipe open.
            return self.ended();
        }
    }

    fn uses_stray_cpu(&self, shared: &mut Shared) -> bool {
        cpu::time_of(self.id).is_some_and(|used| shared.cpu.is_exceeded(used))
    }

    fn redacted(&self, line: &str) -> String {
        let redactors = self.redactors.lock();
        let mut line = line.to_owned();
        for redactor in redactors.iter() {
            line = redactor.without_secrets(&line);
        }
        Redactor::default().sentence(&line)
    }

    /// Passes on the answers of the worker until it ends.
    fn read_frames(&self, output: &mut impl io::Read) -> Result<(), String> {
        loop {
            match frame::read(output) {
                Ok(Some(frame)) => self.answered(frame)?,
                Ok(None) => return Ok(()),
                // The worker exited in the middle of a frame.
                Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(why) => return Err(why.to_string()),
            }
        }
    }

    /// Passes an answer on to its call.
    fn answered(&self, Frame { kind, call, body }: Frame) -> Result<(), String> {
        let step = match kind {
            Kind::Ended => {
                self.shared.lock().close(call);
                return Ok(());
            }
            Kind::Ready => Step::Ready(body),
            Kind::Pending => Step::Pending(body),
            Kind::Failed => Step::Failed(body),
            Kind::Nonsense => Step::Nonsense(String::from_utf8_lossy(&body).into_owned()),
            other => return Err(format!("a frame of kind {other:?} has no place here")),
        };
        let mut shared = self.shared.lock();
        let Some(open) = shared.calls.get_mut(&call) else {
            return Ok(());
        };
        if open.is_ending {
            return Ok(()); // `Ended` follows when the call has ended
        }
        let had_step = open.since.take().is_some();
        let waiting = open.waiting.take();
        if had_step {
            shared.cpu.closed();
        }
        if kind != Kind::Pending {
            shared.calls.remove(&call);
        }
        drop(shared);
        if let Some(waiting) = waiting {
            let _ = waiting.send(step); // a dropped call sends `End` by itself
        }
        Ok(())
    }

    /// Records the end of the worker and drops its calls. Only the first call has an effect.
    fn ended(&self) {
        let mut child = self.child.lock();
        let _ = child.kill(); // it fails when the process has ended
        let status = child.wait();
        let calls = {
            let mut shared = self.shared.lock();
            if std::mem::replace(&mut shared.is_over, true) {
                return;
            }
            shared.input = None;
            std::mem::take(&mut shared.calls)
        };
        drop(child);
        let why = match (self.reason.get(), status) {
            (Some(KillReason::NotNeeded), _) => "its worker was stopped".to_owned(),
            (Some(KillReason::Stuck), _) => STUCK.to_owned(),
            (Some(KillReason::StrayCpu), _) => STRAY_CPU.to_owned(),
            (Some(KillReason::ProtocolError(what)), _) => format!("its worker was ended: {what}"),
            (None, Ok(status)) => format!("its worker ended: {status}"),
            (None, Err(why)) => format!("its worker ended: {why}"),
        };
        self.wake.notify_one();
        let is_death = !matches!(self.reason.get(), Some(KillReason::NotNeeded));
        if is_death {
            let (name, sha256) = (&self.launch.name, &self.launch.sha256);
            let open = calls.len();
            tracing::error!(
                gateway.name = name,
                gateway.sha256 = sha256,
                open_calls = open,
                reason = %why,
                "gateway worker ended unexpectedly"
            );
            metrics::counter!("switchyard_gateway_worker_deaths_total", "gateway" => name.clone())
                .increment(1);
            if let Some(KillReason::StrayCpu) = self.reason.get() {
                let counter = metrics::counter!(
                    "switchyard_gateway_worker_stray_cpu_total", "gateway" => name.clone()
                );
                counter.increment(1);
            }
            self.record.record_crash(&why);
        }
        let _ = self.end.set(why); // set once, here
        metrics::gauge!("switchyard_gateway_workers").decrement(1.0);
        drop(calls); // after `end` is set: their receivers read it
    }
}

impl Shared {
    /// Closes a call that the worker has ended.
    fn close(&mut self, call: u32) {
        let open = self.calls.remove(&call);
        if open.is_some_and(|open| open.since.is_some()) {
            self.cpu.closed();
        }
    }

    /// Sends as much as the pipe accepts at once; the keeper sends the rest.
    fn send(&mut self, frame: &[u8]) {
        if !self.unsent.is_empty() {
            return self.unsent.extend(frame);
        }
        let sent = match &mut self.input {
            Some(input) => input.write(frame).unwrap_or(0),
            None => return,
        };
        self.unsent.extend(&frame[sent..]);
    }

    fn flush(&mut self) {
        while let (Some(input), (part, _)) = (&mut self.input, self.unsent.as_slices()) {
            // The reader detects a worker that has ended, and the time limit of steps one that does
            // not read.
            match input.write(part) {
                Ok(sent) if sent > 0 => drop(self.unsent.drain(..sent)),
                _ => return,
            }
        }
    }

    fn check_room(&self) -> Result<(), String> {
        if self.unsent.len() > GATEWAY_WORKER_QUEUE_BYTES {
            return Err("its worker does not keep up".to_owned());
        }
        Ok(())
    }

    fn is_stuck(&self) -> bool {
        self.calls.values().any(|open| {
            open.since
                .is_some_and(|since| self.tick - since > open.may_take)
        })
    }
}

impl Open {
    fn step(now: u64, limit: Duration, waiting: Option<oneshot::Sender<Step>>) -> Self {
        Self {
            waiting,
            since: Some(now),
            may_take: u64::try_from(limit.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX),
            is_ending: false,
        }
    }
}

/// Runs the reader: waits until the library is loaded, then passes on answers until the worker
/// ends.
fn read(
    process: &Arc<Process>,
    output: ChildStdout,
    tell: &mpsc::Sender<Result<Arc<Process>, NotStarted>>,
) {
    metrics::gauge!("switchyard_gateway_workers").increment(1.0);
    let mut output = BufReader::with_capacity(64 * 1024, output);
    let is_loaded = match loaded(frame::read(&mut output)) {
        Ok(missing) => {
            warn_of_missing(&missing);
            process.shared.lock().close(LOADING);
            // The caller may be gone; the worker then stops after its idle timeout.
            let _ = tell.send(Ok(Arc::clone(process)));
            true
        }
        Err(NotStarted::Refused(refusal)) => {
            let _ = tell.send(Err(NotStarted::Refused(refusal)));
            let _ = process.reason.set(KillReason::NotNeeded);
            false
        }
        Err(NotStarted::Failed(_)) => false,
    };
    if is_loaded && let Err(why) = process.read_frames(&mut output) {
        process.kill(KillReason::ProtocolError(why));
    }
    process.ended();
    if !is_loaded {
        let why = format!("{} while it loaded", process.why());
        let _ = tell.send(Err(NotStarted::Failed(why))); // ignored after a refusal
    }
}

fn loaded(first: io::Result<Option<Frame>>) -> Result<Vec<String>, NotStarted> {
    let failed = |why: &str| NotStarted::Failed(why.to_owned());
    let frame = first.map_err(|why| failed(&why.to_string()))?;
    let Frame { kind, body, .. } = frame.ok_or_else(|| failed("it said nothing"))?;
    let unclear = |why: serde_json::Error| failed(&why.to_string());
    match kind {
        Kind::Loaded => Ok(serde_json::from_slice::<Loaded>(&body)
            .map_err(unclear)?
            .missing),
        Kind::Refused => Err(NotStarted::Refused(
            serde_json::from_slice(&body).map_err(unclear)?,
        )),
        _ => Err(failed("its first word is none")),
    }
}

/// Logs missing restrictions once per engine process: the system lacks them, not a single worker.
fn warn_of_missing(missing: &[String]) {
    static WARNED: OnceLock<()> = OnceLock::new();
    if !missing.is_empty() && WARNED.set(()).is_ok() {
        let missing = missing.join("; ");
        tracing::warn!(missing, "gateway sandbox incomplete");
    }
}

/// Number of the loading step, which is not a call and is watched like one.
const LOADING: u32 = 0;
const TICK: Duration = Duration::from_millis(100);
const FLUSH_EACH: Duration = Duration::from_millis(1);
/// Interval at which the CPU time of a worker without calls is checked.
const CPU_CHECK_INTERVAL: Duration = Duration::from_secs(1);
const STUCK: &str = "its worker was ended, because a step took longer than a second";
const STRAY_CPU: &str =
    "its worker was ended, because it used CPU time while none of its steps was open";
