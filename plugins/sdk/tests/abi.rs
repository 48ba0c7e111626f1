//! The C surface, driven as an engine drives it: by pointers. `cargo xtask test memory` runs this
//! under AddressSanitizer, and under Miri where it is installed: they see a byte that is read after
//! it was lent, a call that is used after its end, and one that is freed twice.

use std::ffi::c_void;
use std::time::Duration;

use serde_json::{Value, json};
use switchyard_gateway::abi::{Bytes, FAILED, PENDING, READY, Sink};
use switchyard_gateway::runtime::{Answering, Entry, c_begin, c_end, c_resume};
use switchyard_gateway::{Context, Fault, Operation, Outcome};

/// Does what its input says, and holds something whose drop may panic.
struct Told;

struct Held(bool);

impl Drop for Held {
    fn drop(&mut self) {
        assert!(!self.0, "a drop that panics, on purpose");
    }
}

impl Entry for Told {
    fn manifest() -> &'static [u8] {
        b"{}"
    }

    fn start(cx: Context, _: Operation, input: Value) -> Answering {
        Box::pin(async move {
            let word = input["do"].as_str().unwrap_or_default();
            let _held = Held(word == "drop");
            let long = vec![7_u8; 4_096];
            for _ in 0..input["waits"].as_u64().unwrap_or_default() {
                cx.sleep(Duration::from_millis(1)).await;
                assert!(word != "panic", "on purpose");
            }
            cx.set_state(&json!({ "kept": long.len() }))?;
            match word {
                "fail" => Err(Fault::provider("no")),
                _ => Ok(Outcome::pending().into()),
            }
        })
    }
}

/// An engine's side of one call.
struct Host {
    call: *mut c_void,
    said: Vec<u8>,
}

/// # Safety
/// `ctx` is the `Vec` of the step that runs, and `part` is readable.
unsafe extern "C" fn put(ctx: *mut c_void, part: Bytes) {
    // SAFETY: made of a `&mut Vec<u8>` that has no other user during the step.
    let said = unsafe { &mut *ctx.cast::<Vec<u8>>() };
    // SAFETY: lent for the duration of this call.
    said.extend_from_slice(unsafe { part.as_slice() });
}

impl Host {
    fn begin(message: &[u8]) -> (Self, i32) {
        let (mut said, mut call) = (Vec::new(), std::ptr::null_mut());
        // The message lives no longer than the call: what looks at it afterwards is seen.
        let lent = message.to_vec();
        // SAFETY: message, sink and the place for the call are valid until `c_begin` returns.
        let code = unsafe { c_begin::<Told>(Bytes::lend(&lent), sink(&mut said), &mut call) };
        (Self { call, said }, code)
    }

    fn told(what: &Value) -> (Self, i32) {
        let begin = json!({ "op": "collect", "call": "c", "now": "2026-11-20T10:00:00Z", "seed": "00ff", "input": what });
        Self::begin(begin.to_string().as_bytes())
    }

    fn resume(&mut self, message: &[u8]) -> i32 {
        self.said.clear();
        let lent = message.to_vec();
        // SAFETY: `call` came from `c_begin` and was not ended; the rest is valid until `c_resume`
        // returns.
        unsafe { c_resume(self.call, Bytes::lend(&lent), sink(&mut self.said)) }
    }

    fn answer(&self) -> Value {
        serde_json::from_slice(&self.said).expect("a gateway says JSON")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.call.is_null() {
            // SAFETY: it came from `c_begin`, and this is the one time that it is ended.
            unsafe { c_end(self.call) }
        }
    }
}

fn sink(said: &mut Vec<u8>) -> Sink {
    Sink {
        ctx: std::ptr::from_mut(said).cast(),
        put,
    }
}

fn slept(id: u64) -> Vec<u8> {
    json!({ "id": id, "slept": {} }).to_string().into_bytes()
}

#[test]
fn a_call_that_ends_at_once_leaves_nothing_behind() {
    let (host, code) = Host::told(&json!({}));
    assert_eq!((code, host.call.is_null()), (READY, true));
    assert_eq!(host.answer()["state"], json!({ "kept": 4_096 }));
    let (host, code) = Host::told(&json!({ "do": "fail" }));
    assert_eq!((code, host.call.is_null()), (FAILED, true));
}

#[test]
fn a_call_waits_is_resumed_and_ended_and_says_so_when_it_is_resumed_after_its_end() {
    let (mut host, code) = Host::told(&json!({ "waits": 3 }));
    assert_eq!((code, host.call.is_null()), (PENDING, false));
    assert_eq!(host.resume(&slept(1)), PENDING);
    assert_eq!(host.resume(&slept(2)), PENDING);
    assert_eq!(host.resume(&slept(3)), READY);
    assert_eq!(host.resume(&slept(4)), FAILED);
    assert_eq!(host.answer()["fault"]["kind"], "message");
}

#[test]
fn a_call_may_be_ended_in_the_middle_and_a_drop_that_panics_stays_inside() {
    for word in ["", "drop"] {
        let (host, code) = Host::told(&json!({ "waits": 2, "do": word }));
        assert_eq!(code, PENDING);
        drop(host);
    }
    let (mut host, _) = Host::told(&json!({ "waits": 1, "do": "drop" }));
    assert_eq!(host.resume(&slept(1)), FAILED);
}

#[test]
fn a_panic_is_a_fault_and_the_call_can_still_be_ended() {
    let (mut host, code) = Host::told(&json!({ "waits": 2, "do": "panic" }));
    assert_eq!(code, PENDING);
    assert_eq!(host.resume(&slept(1)), FAILED);
    assert_eq!(host.answer()["fault"]["kind"], "panic");
}

#[test]
fn messages_that_are_none_are_faults_whatever_their_bytes() {
    for message in [
        &b""[..],
        b"{",
        b"\xff\xfe",
        b"{\"op\":\"collect\"}",
        &[b'['; 10_000],
    ] {
        let (host, code) = Host::begin(message);
        assert_eq!((code, host.call.is_null()), (FAILED, true));
        let (mut host, _) = Host::told(&json!({ "waits": 2 }));
        assert_eq!(host.resume(message), FAILED);
        assert_eq!(host.resume(&slept(1)), FAILED, "it is over");
    }
    let nothing = Bytes {
        ptr: std::ptr::null(),
        len: 0,
    };
    // SAFETY: null with the length 0 is readable.
    assert!(unsafe { nothing.as_slice() }.is_empty());
}
