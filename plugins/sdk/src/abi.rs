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
pub const ABI_MAJOR: u32 = 1;
/// The one symbol that a gateway exports.
pub const SYMBOL: &str = "gateway_plugin_v1";
/// The ELF section with the manifest (UTF-8 JSON), read without loading the library.
pub const SECTION: &str = ".gateway";

/// The step ended the call: the answer is the outcome.
pub const READY: i32 = 0;
/// The call waits: the answer says which effects the engine is to perform.
pub const PENDING: i32 = 1;
/// The call ended in a fault: the answer says which.
pub const FAILED: i32 = 2;

/// Bytes that are lent for the duration of one call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub ptr: *const u8,
    pub len: usize,
}

impl Bytes {
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
    pub unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.len == 0 {
            return &[];
        }
        // SAFETY: not null, and the caller promises `len` readable bytes for `'a`.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

/// Receiver of a result. It copies the bytes inside `put`, which may be called several times.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sink {
    pub ctx: *mut c_void,
    pub put: unsafe extern "C" fn(ctx: *mut c_void, part: Bytes),
}

/// Entry points of a gateway, the exported symbol. New entries come at its end; `size` is its
/// length in bytes.
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
