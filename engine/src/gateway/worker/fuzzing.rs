//! A door for fuzzing. Behind the feature `fuzzing`.

use super::frame;

/// Reads frames until there are no more. Gives the bytes that those which could be read are made of, and the room that bodies took.
pub fn frames(mut bytes: &[u8]) -> (Vec<u8>, usize) {
    let (mut again, mut room) = (Vec::new(), 0);
    while let Ok(Some(frame)) = frame::read(&mut bytes) {
        room += frame.body.capacity();
        // One that was read is short enough to be written.
        again.extend(frame::encode(frame.kind, frame.call, &frame.body).unwrap_or_default());
    }
    (again, room)
}
