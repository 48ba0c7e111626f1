//! Frames on the two pipes between the engine and a worker: `kind u8, call u32, len u32, body`,
//! numbers in little-endian.
//!
//! The bodies of steps are the same messages that a library receives and returns. The worker's own
//! messages about loading are JSON.

use std::fmt;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::throttled_io::Throttle;
use switchyard_core::limits::GATEWAY_FRAME_BYTES;

/// Type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// To the worker: library and memory limit. The first frame.
    Load = 1,
    /// To the worker: the steps of a call. `Ended` answers `End`; the result of the step answers
    /// the others.
    Begin = 2,
    Resume = 3,
    End = 4,
    /// From the worker: result of loading the library.
    Loaded = 16,
    Refused = 17,
    /// From the worker: result of a step. Only after `Pending` the worker keeps state for the call.
    Ready = 18,
    Pending = 19,
    Failed = 20,
    Nonsense = 21,
    Ended = 22,
}

pub(super) struct Frame {
    pub kind: Kind,
    pub call: u32,
    pub body: Vec<u8>,
}

/// Body of [`Kind::Load`].
#[derive(Serialize, Deserialize)]
pub(super) struct Load {
    pub library: std::path::PathBuf,
    /// Memory limit in bytes, on top of the memory in use before it loads the library.
    pub memory_bytes: u64,
    pub pace: Throttle,
    /// Names of sandbox restrictions that may be missing.
    #[serde(default)]
    pub accepted: Vec<String>,
}

/// Body of [`Kind::Loaded`].
#[derive(Serialize, Deserialize)]
pub(super) struct Loaded {
    /// Restrictions that could not be applied on this system, each as `name: what it is (why)`.
    pub missing: Vec<String>,
}

/// Body of [`Kind::Refused`].
#[derive(Serialize, Deserialize)]
pub(super) enum Refusal {
    OtherAbi(u32),
    ShortTable(u32),
    NotLoadable(String),
    /// Restrictions are missing that the operator did not accept.
    Unconfined(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherAbi(found) => write!(f, "its interface has version {found}"),
            Self::ShortTable(found) => write!(f, "its table of functions has {found} bytes"),
            Self::NotLoadable(reason) | Self::Unconfined(reason) => f.write_str(reason),
        }
    }
}

pub(super) fn encode(kind: Kind, call: u32, body: &[u8]) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::other("a message for a gateway is longer than a frame may be");
    if body.len() > GATEWAY_FRAME_BYTES {
        return Err(too_long());
    }
    let length = u32::try_from(body.len()).map_err(|_| too_long())?;
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.push(kind as u8);
    frame.extend_from_slice(&call.to_le_bytes());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(body);
    Ok(frame)
}

/// Reads the next frame; `None` when the other side has closed the pipe between two frames.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut header = [0; HEADER];
    let mut filled = 0;
    while filled < HEADER {
        match from.read(&mut header[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(some) => filled += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [kind, a, b, c, d, length @ ..] = header;
    let kind =
        Kind::of(kind).ok_or_else(|| io::Error::other(format!("no frame is of kind {kind}")))?;
    let length = u32::from_le_bytes(length);
    if length as usize > GATEWAY_FRAME_BYTES {
        return Err(io::Error::other(format!("a frame of {length} bytes")));
    }
    // The buffer grows with the bytes that arrive, not with the announced length.
    let mut body = Vec::with_capacity((length as usize).min(64 * 1024));
    from.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Frame {
        kind,
        call: u32::from_le_bytes([a, b, c, d]),
        body,
    }))
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        const ALL: [Kind; 11] = [
            Kind::Load,
            Kind::Begin,
            Kind::Resume,
            Kind::End,
            Kind::Loaded,
            Kind::Refused,
            Kind::Ready,
            Kind::Pending,
            Kind::Failed,
            Kind::Nonsense,
            Kind::Ended,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

const HEADER: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_went_one_after_the_other() {
        let mut bytes = encode(Kind::Begin, 7, b"{}").unwrap();
        assert_eq!(bytes, [2, 7, 0, 0, 0, 2, 0, 0, 0, b'{', b'}']);
        bytes.extend(encode(Kind::Ended, u32::MAX, b"").unwrap());
        let mut from = bytes.as_slice();
        let first = read(&mut from).unwrap().unwrap();
        assert_eq!(
            (first.kind, first.call, first.body.as_slice()),
            (Kind::Begin, 7, b"{}".as_slice())
        );
        let second = read(&mut from).unwrap().unwrap();
        assert_eq!(
            (second.kind, second.call, second.body.len()),
            (Kind::Ended, u32::MAX, 0)
        );
        assert!(read(&mut from).unwrap().is_none());
    }

    #[test]
    fn a_frame_that_is_none_is_an_error_and_costs_no_memory() {
        let cut = |bytes: &[u8]| read(&mut &*bytes).map(|frame| frame.is_some());
        assert!(cut(&[2, 0, 0]).is_err(), "half a header");
        assert!(
            cut(&[2, 0, 0, 0, 0, 5, 0, 0, 0, b'x']).is_err(),
            "half a body"
        );
        assert!(
            cut(&[99, 0, 0, 0, 0, 0, 0, 0, 0]).is_err(),
            "an unknown kind"
        );
        assert!(
            cut(&[2, 0, 0, 0, 0, 255, 255, 255, 255]).is_err(),
            "4 GiB announced"
        );
        assert!(encode(Kind::Begin, 0, &vec![0; GATEWAY_FRAME_BYTES + 1]).is_err());
    }
}
