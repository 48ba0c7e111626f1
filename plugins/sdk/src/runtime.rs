//! Runs a gateway's future one step at a time, behind the C surface. Nothing here is for authors;
//! `gateway!` uses it.
//!
//! Promises: no panic crosses the boundary, not even from the drop of a cancelled future; a call
//! that waits for nothing is reported as stalled instead of hanging.

use std::any::Any;
use std::ffi::c_void;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::task::Poll;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::abi::{self, Bytes, Sink};
use crate::callback::CallbackResult;
use crate::context::{Context, EffectChannel, poll_once};
use crate::fault::{Fault, FaultKind};
use crate::list::TransactionPage;
use crate::outcome::{ConfigCheck, OptionList, Outcome};
use crate::wire::{Begin, Failed, Operation, Pending, Ready, Resume};

/// Trait that `gateway!` implements for the author's type.
pub trait Entry: 'static {
    /// The bytes of section `.gateway`.
    fn manifest() -> &'static [u8];
    fn start(context: Context, operation: Operation, input: Value) -> Answering;
}

pub use serde_json::Value as Input;

pub type Answering = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + Send>>;

/// Result of an operation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Outcome(Outcome),
    Config(ConfigCheck),
    Callback(CallbackResult),
    Options(OptionList),
    List(TransactionPage),
}

impl From<TransactionPage> for Answer {
    fn from(page: TransactionPage) -> Self {
        Self::List(page)
    }
}

impl From<OptionList> for Answer {
    fn from(list: OptionList) -> Self {
        Self::Options(list)
    }
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<ConfigCheck> for Answer {
    fn from(check: ConfigCheck) -> Self {
        Self::Config(check)
    }
}

impl From<CallbackResult> for Answer {
    fn from(result: CallbackResult) -> Self {
        Self::Callback(result)
    }
}

/// Reads an operation's input in its own type.
pub fn input<T: DeserializeOwned>(operation: Operation, input: Value) -> Result<T, Fault> {
    serde_json::from_value(input).map_err(|error| {
        Fault::message(format!(
            "the input of `{}` does not fit: {error}",
            operation.as_str()
        ))
    })
}

/// A call between two steps.
pub struct Call {
    future: Answering,
    channel: Arc<EffectChannel>,
}

/// Result of one step, with the message for the engine.
pub enum Step {
    Ready(Vec<u8>),
    Pending(Vec<u8>, Call),
    Failed(Vec<u8>),
}

/// `begin`, without the C surface. Panics are caught.
pub fn begin<G: Entry>(message: &[u8]) -> Step {
    guarded(|| {
        let begin: Begin<'static> = serde_json::from_slice(message).map_err(|error| {
            Fault::message(format!("the engine's message cannot be read: {error}"))
        })?;
        let operation = begin.op;
        let (context, channel, input) = Context::new(begin)?;
        let future = G::start(context, operation, input);
        Ok(Call { future, channel })
    })
    .map_or_else(|fault| failed(fault, None), step)
}

/// `resume`, without the C surface. Panics are caught.
pub fn resume(call: Call, message: &[u8]) -> Step {
    match serde_json::from_slice::<Resume>(message) {
        Ok(resume) => {
            call.channel.bring(resume.id, resume.result);
            step(call)
        }
        Err(error) => {
            let fault = Fault::message(format!("the engine's message cannot be read: {error}"));
            let channel = Arc::clone(&call.channel);
            end(call);
            failed(fault, Some(&channel))
        }
    }
}

/// `end`, without the C surface: drops the future, unfinished or not. A panic in a drop stays here.
pub fn end(call: Call) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(call))) {
        // Its own drop may panic again.
        std::mem::forget(panic);
    }
}

fn step(mut call: Call) -> Step {
    let polled = guarded(|| match poll_once(call.future.as_mut()) {
        Poll::Ready(result) => result.map(Some),
        Poll::Pending => Ok(None),
    });
    let channel = Arc::clone(&call.channel);
    let result = match polled {
        Ok(None) => {
            let mut papers = channel.papers();
            if papers.waiting == 0 {
                Err(Fault::new(
                    FaultKind::Stalled,
                    "the gateway waits for something that is no effect: only the context's own methods may be awaited",
                ))
            } else {
                let pending = Pending {
                    effects: std::mem::take(&mut papers.requests),
                    log: std::mem::take(&mut papers.log),
                    state: papers.changed_state(),
                };
                drop(papers);
                return Step::Pending(written(&pending), call);
            }
        }
        Ok(Some(answer)) => Ok(answer),
        Err(fault) => Err(fault),
    };
    end(call);
    match result {
        Ok(outcome) => {
            let mut papers = channel.papers();
            Step::Ready(written(&Ready {
                outcome,
                state: papers.changed_state(),
                log: std::mem::take(&mut papers.log),
            }))
        }
        Err(fault) => failed(fault, Some(&channel)),
    }
}

fn failed(fault: Fault, channel: Option<&EffectChannel>) -> Step {
    let (state, log) = channel.map_or((None, Vec::new()), |channel| {
        let mut papers = channel.papers();
        (papers.changed_state(), std::mem::take(&mut papers.log))
    });
    Step::Failed(written(&Failed { fault, state, log }))
}

fn written(message: &impl Serialize) -> Vec<u8> {
    // The messages are structs of strings and JSON values, which always can be written; an empty
    // answer is a fault at the host.
    serde_json::to_vec(message).unwrap_or_default()
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => {
            let message = panic_message(panic.as_ref());
            // The payload's own drop may panic: it is left alone.
            std::mem::forget(panic);
            Err(Fault::new(FaultKind::Panic, message))
        }
    }
}

/// The entries' own net, under those inside: whatever panics, the engine gets a fault.
fn contained(work: impl FnOnce() -> Step) -> Step {
    guarded(|| Ok(work())).unwrap_or_else(|fault| failed(fault, None))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned());
    format!("the gateway panicked: {text}")
}

/// The `begin` of the C surface.
///
/// # Safety
/// `message` is readable for the duration of the call, `answer.put` takes `answer.ctx`, and `call`
/// may be written to.
pub unsafe extern "C" fn c_begin<G: Entry>(
    message: Bytes,
    answer: Sink,
    call: *mut *mut c_void,
) -> i32 {
    quiet_panics();
    // The section is held in the library by this look at it: the linker drops what nothing refers
    // to.
    std::hint::black_box(G::manifest());
    // SAFETY: the host lends `message` for the duration of this call.
    let message = unsafe { message.as_slice() };
    let step = contained(|| begin::<G>(message));
    // SAFETY: `answer` is the host's for this call.
    let (code, left) = unsafe { hand_over(step, answer) };
    // SAFETY: the host gives a place to write the call to.
    unsafe { call.write(left) };
    code
}

/// The `resume` of the C surface.
///
/// # Safety
/// `call` came from `c_begin`, was not ended, and no other step of it runs; the rest as for
/// `c_begin`.
pub unsafe extern "C" fn c_resume(call: *mut c_void, message: Bytes, answer: Sink) -> i32 {
    let slot = call.cast::<Option<Call>>();
    // SAFETY: `call` points to the slot that `hand_over` made, which only `c_end` frees, and steps
    // do not overlap.
    let taken = unsafe { (*slot).take() };
    // SAFETY: the host lends `message` for the duration of this call.
    let message = unsafe { message.as_slice() };
    let step = match taken {
        Some(running) => contained(|| resume(running, message)),
        None => failed(
            Fault::message("this call is over: it cannot be resumed"),
            None,
        ),
    };
    let (code, bytes, left) = match step {
        Step::Ready(bytes) => (abi::READY, bytes, None),
        Step::Pending(bytes, running) => (abi::PENDING, bytes, Some(running)),
        Step::Failed(bytes) => (abi::FAILED, bytes, None),
    };
    // SAFETY: as above; the slot is empty, so nothing is dropped by the write.
    unsafe { slot.write(left) };
    // SAFETY: the sink is the host's for this call.
    unsafe { (answer.put)(answer.ctx, Bytes::lend(&bytes)) };
    code
}

/// The `end` of the C surface.
///
/// # Safety
/// `call` came from `c_begin` and is never used again.
pub unsafe extern "C" fn c_end(call: *mut c_void) {
    // SAFETY: the slot was made by `Box::into_raw` in `hand_over`, and the host ends a call exactly
    // once.
    let slot = unsafe { Box::from_raw(call.cast::<Option<Call>>()) };
    if let Some(call) = *slot {
        end(call);
    }
}

/// # Safety
/// `answer` is the host's for the duration of this call.
unsafe fn hand_over(step: Step, answer: Sink) -> (i32, *mut c_void) {
    let (code, bytes, left) = match step {
        Step::Ready(bytes) => (abi::READY, bytes, std::ptr::null_mut()),
        Step::Pending(bytes, call) => (
            abi::PENDING,
            bytes,
            Box::into_raw(Box::new(Some(call))).cast(),
        ),
        Step::Failed(bytes) => (abi::FAILED, bytes, std::ptr::null_mut()),
    };
    // SAFETY: the caller promises the sink.
    unsafe { (answer.put)(answer.ctx, Bytes::lend(&bytes)) };
    (code, left)
}

/// A panic's words go to the engine, which removes secrets from them; the standard hook would print
/// them as they are. The library has its own copy of the standard library, so this hook is its own,
/// too.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            if let Some(place) = panic.location() {
                eprintln!("gateway panicked at {}:{}", place.file(), place.line());
            }
        }));
    });
}
