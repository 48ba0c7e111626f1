//! The C surface between the engine and a gateway, whole. The same structures in C are in
//! `examples/gateway-c/gateway.c`.
//!
//! A library exports one symbol, [`SYMBOL`], of type [`Plugin`], and carries its manifest in the
//! ELF section [`SECTION`]. Nothing is freed across the boundary: bytes that are handed over are
//! lent for the duration of the call, and the receiver copies.

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
