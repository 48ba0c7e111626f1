//! The C surface between the engine and a gateway, whole. The same structures in C are in
//! `examples/gateway-c/gateway.c`.
//!
//! A library exports one symbol, [`SYMBOL`], of type [`Plugin`], and carries its manifest in the
//! ELF section [`SECTION`]. Nothing is freed across the boundary: bytes that are handed over are
//! lent for the duration of the call, and the receiver copies.
//!
//! What a host does for the first step of a call:
//!
//! ```
//! use std::ffi::c_void;
//! use switchyard_gateway::abi::{self, Bytes, Plugin, Sink};
//! # use switchyard_gateway::runtime::{self, Answering, Entry, Input};
//! # use switchyard_gateway::{Context, Fault, Operation};
//! # struct Acme;
//! # impl Entry for Acme {
//! #     fn manifest() -> &'static [u8] { b"{}" }
//! #     fn start(_: Context, _: Operation, _: Input) -> Answering {
//! #         Box::pin(async { Err(Fault::provider("Acme is closed")) })
//! #     }
//! # }
//! # static PLUGIN: Plugin = Plugin {
//! #     abi_major: abi::ABI_MAJOR,
//! #     size: size_of::<Plugin>() as u32,
//! #     begin: runtime::c_begin::<Acme>,
//! #     resume: runtime::c_resume,
//! #     end: runtime::c_end,
//! # };
//!
//! /// Copies a part of the gateway's answer.
//! unsafe extern "C" fn keep(ctx: *mut c_void, part: Bytes) {
//!     // SAFETY: `ctx` is the vector of `begin`, and `part` is lent for this call.
//!     unsafe { (*ctx.cast::<Vec<u8>>()).extend_from_slice(part.as_slice()) }
//! }
//!
//! fn begin(plugin: &Plugin, message: &[u8]) -> (i32, Vec<u8>) {
//!     assert_eq!(plugin.abi_major, abi::ABI_MAJOR);
//!     let mut answer = Vec::new();
//!     let sink = Sink { ctx: (&raw mut answer).cast(), put: keep };
//!     let mut call = std::ptr::null_mut();
//!     // SAFETY: message, sink and the place of the call live until `begin` returns.
//!     let code = unsafe { (plugin.begin)(Bytes::lend(message), sink, &mut call) };
//!     if !call.is_null() {
//!         // SAFETY: the call was set, and is not used again.
//!         unsafe { (plugin.end)(call) };
//!     }
//!     (code, answer)
//! }
//!
//! let message = br#"{"op":"check_config","call":"c_1","now":"2026-11-20T10:00:00Z","seed":"5eed"}"#;
//! let (code, answer) = begin(&PLUGIN, message);
//! assert_eq!(code, abi::FAILED);
//! assert!(String::from_utf8(answer)?.contains("Acme is closed"));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

use std::ffi::c_void;

/// The generation of this surface. A change that is not an addition makes a new one.
///
/// ```
/// use switchyard_gateway::abi;
///
/// // `abi` of a manifest names the generation for which the gateway was built.
/// let manifest = serde_json::json!({ "name": "acme", "abi": 1 });
/// assert_eq!(manifest["abi"], abi::ABI_MAJOR);
/// ```
pub const ABI_MAJOR: u32 = 1;
/// The one symbol that a gateway exports.
///
/// ```
/// use switchyard_gateway::abi;
///
/// // For `dlsym`, which takes a string of C.
/// let symbol = std::ffi::CString::new(abi::SYMBOL)?;
/// assert_eq!(symbol.as_bytes(), b"gateway_plugin_v1");
/// # Ok::<(), std::ffi::NulError>(())
/// ```
pub const SYMBOL: &str = "gateway_plugin_v1";
/// The ELF section with the manifest (UTF-8 JSON), read without loading the library.
///
/// ```
/// use switchyard_gateway::abi;
///
/// // The manifest of a library, on the command line.
/// let library = "target/debug/libgateway_acme.so";
/// let command = format!("objcopy -O binary --only-section={} {library} out.json", abi::SECTION);
/// assert!(command.contains("--only-section=.gateway "));
/// ```
pub const SECTION: &str = ".gateway";

/// The step ended the call: the answer is the outcome.
///
/// ```
/// use switchyard_gateway::abi;
///
/// // A host reads the answer by the code of the step.
/// let message = |code: i32| match code {
///     abi::READY => "Ready",
///     abi::PENDING => "Pending",
///     abi::FAILED => "Failed",
///     _ => "none: the gateway broke the contract",
/// };
/// assert_eq!(message(0), "Ready");
/// ```
pub const READY: i32 = 0;
/// The call waits: the answer says which effects the engine is to perform.
///
/// ```
/// use switchyard_gateway::abi;
/// use switchyard_gateway::wire::Pending;
///
/// let (code, answer) = (1, r#"{ "do": [{ "id": 1, "sleep": { "ms": 500 } }] }"#);
/// assert_eq!(code, abi::PENDING);
/// let pending: Pending = serde_json::from_str(answer)?;
/// assert_eq!(pending.effects[0].id, 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const PENDING: i32 = 1;
/// The call ended in a fault: the answer says which.
///
/// ```
/// use switchyard_gateway::abi;
/// use switchyard_gateway::wire::Failed;
///
/// let (code, answer) = (2, r#"{ "fault": { "kind": "config", "message": "no `api_key`" } }"#);
/// assert_eq!(code, abi::FAILED);
/// let failed: Failed = serde_json::from_str(answer)?;
/// assert_eq!(failed.fault.to_string(), "no `api_key`");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const FAILED: i32 = 2;

/// Bytes that are lent for the duration of one call.
///
/// ```
/// use switchyard_gateway::abi::Bytes;
///
/// let message = br#"{"id":1,"slept":{}}"#;
/// let lent = Bytes::lend(message);
/// assert_eq!((lent.ptr, lent.len), (message.as_ptr(), 19));
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub ptr: *const u8,
    pub len: usize,
}

impl Bytes {
    /// Lends a slice. The caller keeps it alive and unchanged until the call has returned.
    ///
    /// ```
    /// use switchyard_gateway::abi::Bytes;
    ///
    /// // In a variable of its own: a temporary would end with the statement.
    /// let answer = String::from(r#"{"outcome":{"pending":{}}}"#);
    /// let lent = Bytes::lend(answer.as_bytes());
    /// assert_eq!(lent.len, answer.len());
    /// ```
    pub fn lend(bytes: &[u8]) -> Self {
        Self {
            ptr: bytes.as_ptr(),
            len: bytes.len(),
        }
    }

    /// The bytes as a slice.
    ///
    /// # Safety
    /// `ptr` is null with `len` 0, or points to `len` readable bytes that stay unchanged for `'a`.
    ///
    /// ```
    /// use switchyard_gateway::abi::Bytes;
    ///
    /// let answer = br#"{"outcome":{"pending":{}}}"#;
    /// let lent = Bytes::lend(answer);
    /// // SAFETY: `answer` outlives the copy.
    /// let copy = unsafe { lent.as_slice() }.to_vec();
    /// assert_eq!(copy, answer);
    /// ```
    pub unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.len == 0 {
            return &[];
        }
        // SAFETY: not null, and the caller promises `len` readable bytes for `'a`.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

/// Receiver of a result. It copies the bytes inside `put`, which may be called several times.
///
/// ```
/// use std::ffi::c_void;
/// use switchyard_gateway::abi::{Bytes, Sink};
///
/// unsafe extern "C" fn keep(ctx: *mut c_void, part: Bytes) {
///     // SAFETY: `ctx` is the vector of `answer`, and `part` is lent for this call.
///     unsafe { (*ctx.cast::<Vec<u8>>()).extend_from_slice(part.as_slice()) }
/// }
///
/// let mut answer: Vec<u8> = Vec::new();
/// let sink = Sink { ctx: (&raw mut answer).cast(), put: keep };
/// for part in ["{\"outcome\":", "{\"pending\":{}}}"] {
///     // SAFETY: `answer` outlives the sink, and only `keep` uses it in this loop.
///     unsafe { (sink.put)(sink.ctx, Bytes::lend(part.as_bytes())) };
/// }
/// assert_eq!(answer, br#"{"outcome":{"pending":{}}}"#);
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sink {
    pub ctx: *mut c_void,
    pub put: unsafe extern "C" fn(ctx: *mut c_void, part: Bytes),
}

/// Entry points of a gateway, the exported symbol. New entries come at its end; `size` is its
/// length in bytes.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::abi::{ABI_MAJOR, Plugin};
/// use switchyard_gateway::runtime;
///
/// // `gateway!` writes this for Rust. A host compares both numbers before it calls an entry.
/// static PLUGIN: Plugin = Plugin {
///     abi_major: ABI_MAJOR,
///     size: size_of::<Plugin>() as u32,
///     begin: runtime::c_begin::<Acme>,
///     resume: runtime::c_resume,
///     end: runtime::c_end,
/// };
/// assert!(PLUGIN.abi_major == ABI_MAJOR && PLUGIN.size as usize >= size_of::<Plugin>());
/// # }
/// ```
#[repr(C)]
pub struct Plugin {
    pub abi_major: u32,
    pub size: u32,
    /// Starts an operation. Sets `*call` when there is more to do, else leaves it null.
    pub begin: unsafe extern "C" fn(message: Bytes, answer: Sink, call: *mut *mut c_void) -> i32,
    /// Brings the result of one effect.
    pub resume: unsafe extern "C" fn(call: *mut c_void, message: Bytes, answer: Sink) -> i32,
    /// Exactly once for a call that was set; cancels it when it is unfinished.
    pub end: unsafe extern "C" fn(call: *mut c_void),
}
