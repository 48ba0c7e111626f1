//! Entry point for fuzzing frames. Requires the feature `fuzzing`.

use super::frame;

/// Reads all frames. Returns the encoding of the frames that were read, and the total capacity of
/// their bodies.
pub fn frames(mut bytes: &[u8]) -> (Vec<u8>, usize) {
    let (mut again, mut room) = (Vec::new(), 0);
    while let Ok(Some(frame)) = frame::read(&mut bytes) {
        room += frame.body.capacity();
        // A frame that was read is short enough to be encoded.
        again.extend(frame::encode(frame.kind, frame.call, &frame.body).unwrap_or_default());
    }
    (again, room)
}
