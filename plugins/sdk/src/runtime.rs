//! Runs a gateway's future one step at a time, behind the C surface. Nothing here is for authors;
//! `gateway!` uses it.
//!
//! Promises: no panic crosses the boundary, not even from the drop of a cancelled future; a call
//! that waits for nothing is reported as stalled instead of hanging.
//!
//! A call, driven by the messages that the engine would send:
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
//! # fn main() {
//! use switchyard_gateway::runtime::{self, Step};
//!
//! let message = br#"{
//!     "op": "collect", "call": "c_1", "now": "2026-11-20T10:00:00Z", "seed": "5eed",
//!     "input": {
//!         "reference": "7d3f0c9e", "transaction": "py_1", "method": "mtn_bj",
//!         "amount": { "minor": 1000, "currency": "XOF", "decimals": 0, "decimal": "1000" }
//!     }
//! }"#;
//! let Step::Pending(effects, call) = runtime::begin::<Acme>(message) else {
//!     panic!("no request")
//! };
//! assert!(String::from_utf8_lossy(&effects).contains("https://sandbox.acme.example/charges"));
//! let answer = br#"{
//!     "id": 1,
//!     "http": { "status": 200, "body": { "text": "{\"id\":\"ch_1\",\"state\":\"open\"}" } }
//! }"#;
//! assert!(matches!(runtime::resume(call, answer), Step::Ready(_)));
//! # }
//! ```

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
///
/// ```
/// use switchyard_gateway::runtime::{Answer, Answering, Entry, Input, input};
/// use switchyard_gateway::{Context, Operation, Outcome, Query};
///
/// struct Acme;
///
/// impl Entry for Acme {
///     fn manifest() -> &'static [u8] {
///         br#"{ "name": "acme", "version": "1.0.0", "abi": 1 }"#
///     }
///
///     fn start(_: Context, operation: Operation, ask: Input) -> Answering {
///         Box::pin(async move {
///             let ask: Query = input(operation, ask)?;
///             Ok(Answer::from(Outcome::unknown(format!("{} is lost", ask.reference))))
///         })
///     }
/// }
/// assert!(Acme::manifest().starts_with(b"{"));
/// ```
pub trait Entry: 'static {
    /// The bytes of section `.gateway`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// use switchyard_gateway::manifest::Manifest;
    /// use switchyard_gateway::runtime::Entry;
    ///
    /// let manifest = Manifest::parse(Acme::manifest()).unwrap();
    /// assert_eq!(manifest.title, "Acme");
    /// # }
    /// ```
    fn manifest() -> &'static [u8];
    /// Creates the gateway and the future of the operation. Nothing runs before the first poll.
    ///
    /// ```
    /// use switchyard_gateway::runtime::{Answering, Input};
    /// use switchyard_gateway::{ConfigCheck, Context, Fault, FaultKind, Operation};
    ///
    /// // The body of `start` for a gateway with one operation.
    /// fn start(_: Context, operation: Operation, _: Input) -> Answering {
    ///     Box::pin(async move {
    ///         match operation {
    ///             Operation::CheckConfig => Ok(ConfigCheck::Works { account: None }.into()),
    ///             other => Err(Fault::new(FaultKind::Unsupported, other.as_str())),
    ///         }
    ///     })
    /// }
    /// # let _ = start;
    /// ```
    fn start(context: Context, operation: Operation, input: Value) -> Answering;
}

/// Input of an operation before it is read in its own type.
///
/// ```
/// use switchyard_gateway::runtime::Input;
///
/// let ask: Input = serde_json::json!({ "direction": "collect", "cursor": null });
/// assert_eq!(ask["direction"], "collect");
/// ```
pub use serde_json::Value as Input;

/// Future of an operation. It holds the gateway and the context.
///
/// ```
/// use switchyard_gateway::runtime::{Answer, Answering};
/// use switchyard_gateway::{Fault, Outcome};
///
/// let known: Answering = Box::pin(async { Ok(Answer::from(Outcome::pending())) });
/// let broken: Answering = Box::pin(async { Err(Fault::config("no `api_key`")) });
/// # drop((known, broken));
/// ```
pub type Answering = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + Send>>;

/// Result of an operation.
///
/// ```
/// use switchyard_gateway::runtime::Answer;
/// use switchyard_gateway::{ConfigCheck, Outcome};
///
/// let outcome = Answer::from(Outcome::pending());
/// assert_eq!(serde_json::to_string(&outcome)?, r#"{"pending":{}}"#);
/// let check = Answer::from(ConfigCheck::Works { account: Some("Ada's shop".into()) });
/// assert_eq!(serde_json::to_string(&check)?, r#"{"works":{"account":"Ada's shop"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
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
///
/// ```
/// use switchyard_gateway::runtime;
/// use switchyard_gateway::{Collect, List, Operation, testing};
///
/// let ask = serde_json::to_value(testing::collect("mtn_bj", 1_000, "XOF", 0))?;
/// let collect: Collect = runtime::input(Operation::Collect, ask.clone()).unwrap();
/// assert_eq!(collect.amount.minor, 1_000);
/// let fault = runtime::input::<List>(Operation::List, ask).unwrap_err();
/// assert!(fault.to_string().starts_with("the input of `list` does not fit"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn input<T: DeserializeOwned>(operation: Operation, input: Value) -> Result<T, Fault> {
    serde_json::from_value(input).map_err(|error| {
        Fault::message(format!(
            "the input of `{}` does not fit: {error}",
            operation.as_str()
        ))
    })
}

/// A call between two steps.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::runtime::{self, Call, Step};
///
/// # let message = QUERY;
/// // A host keeps the calls that wait, here by its own numbers.
/// let mut waiting: Vec<(u64, Call)> = Vec::new();
/// if let Step::Pending(_, call) = runtime::begin::<Acme>(message) {
///     waiting.push((7, call));
/// }
/// assert_eq!(waiting.len(), 1);
/// # }
/// ```
pub struct Call {
    future: Answering,
    channel: Arc<EffectChannel>,
}

/// Result of one step, with the message for the engine.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::abi;
/// use switchyard_gateway::runtime::{self, Step};
///
/// let code = |step: &Step| match step {
///     Step::Ready(_) => abi::READY,
///     Step::Pending(..) => abi::PENDING,
///     Step::Failed(_) => abi::FAILED,
/// };
/// assert_eq!(code(&runtime::begin::<Acme>(b"not a message")), abi::FAILED);
/// # }
/// ```
pub enum Step {
    Ready(Vec<u8>),
    Pending(Vec<u8>, Call),
    Failed(Vec<u8>),
}

/// `begin`, without the C surface. Panics are caught.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::runtime::{self, Step};
/// use switchyard_gateway::wire::{Effect, Pending};
///
/// # let message = QUERY;
/// // Acme's query begins with a number of its series.
/// let Step::Pending(effects, _call) = runtime::begin::<Acme>(message) else {
///     panic!("no effect")
/// };
/// let pending: Pending = serde_json::from_slice(&effects).unwrap();
/// assert!(matches!(pending.effects[0].effect, Effect::CounterNext { .. }));
/// # }
/// ```
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
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::runtime::{self, Step};
///
/// # let message = QUERY;
/// let Step::Pending(_, call) = runtime::begin::<Acme>(message) else { panic!("no effect") };
/// // The number arrives, and the gateway asks for its request.
/// let step = runtime::resume(call, br#"{"id":1,"counter":{"value":41}}"#);
/// let Step::Pending(effects, _call) = step else { panic!("no request") };
/// assert!(String::from_utf8_lossy(&effects).contains("/charges/7d3f0c9e"));
/// # }
/// ```
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
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::runtime::{self, Step};
///
/// # let message = QUERY;
/// // The deadline of the operation has passed: the host cancels the call.
/// if let Step::Pending(_, call) = runtime::begin::<Acme>(message) {
///     runtime::end(call);
/// }
/// # }
/// ```
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
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use std::ffi::c_void;
/// use switchyard_gateway::abi::{self, Bytes, Sink};
/// use switchyard_gateway::runtime;
///
/// unsafe extern "C" fn print(_: *mut c_void, part: Bytes) {
///     // SAFETY: `part` is lent for this call.
///     println!("{}", String::from_utf8_lossy(unsafe { part.as_slice() }));
/// }
/// let sink = Sink { ctx: std::ptr::null_mut(), put: print };
/// let mut call = std::ptr::null_mut();
/// // SAFETY: message, sink and the place of the call outlive `c_begin`.
/// let code = unsafe { runtime::c_begin::<Acme>(Bytes::lend(b"{}"), sink, &mut call) };
/// assert!(code == abi::FAILED && call.is_null(), "`{{}}` is no message");
/// # }
/// ```
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
///
/// ```
/// use std::ffi::c_void;
/// use switchyard_gateway::abi::{Bytes, Plugin, Sink};
/// use switchyard_gateway::runtime;
///
/// /// Brings the result of an effect; returns the code of the step.
/// ///
/// /// # Safety
/// /// `call` is a call of `plugin` that was not ended.
/// unsafe fn bring(plugin: &Plugin, call: *mut c_void, result: &[u8], answer: Sink) -> i32 {
///     // SAFETY: the caller promises the call; result and answer live until the entry returns.
///     unsafe { (plugin.resume)(call, Bytes::lend(result), answer) }
/// }
/// // The entry of a gateway in Rust.
/// let resume: unsafe extern "C" fn(*mut c_void, Bytes, Sink) -> i32 = runtime::c_resume;
/// # let _ = (bring, resume);
/// ```
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
///
/// ```
/// use std::ffi::c_void;
/// use switchyard_gateway::abi::Plugin;
///
/// /// A call that ends when its owner drops it, finished or not.
/// struct OpenCall<'p> {
///     plugin: &'p Plugin,
///     call: *mut c_void,
/// }
///
/// impl Drop for OpenCall<'_> {
///     fn drop(&mut self) {
///         // SAFETY: `begin` of this plugin set the call, and only this drop ends it.
///         unsafe { (self.plugin.end)(self.call) }
///     }
/// }
/// # assert!(std::mem::needs_drop::<OpenCall<'_>>());
/// # let _: unsafe extern "C" fn(*mut c_void) = switchyard_gateway::runtime::c_end;
/// ```
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
