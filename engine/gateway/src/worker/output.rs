//! Logs the output of a worker line by line, redacted, and at a limited rate.

use std::io::{self, BufReader, Read};
use std::time::Duration;

use tokio::time::Instant;

/// Reads until the worker ends. Reads on when the rate is exceeded: a worker must not block on its
/// output.
pub(super) fn log(name: &str, from: impl Read, redacted: impl Fn(&str) -> String) {
    let mut from = BufReader::new(from);
    let (mut since, mut shown, mut hidden) = (Instant::now(), 0, 0);
    while let Ok(Some(line)) = next_line(&mut from) {
        if since.elapsed() >= WINDOW {
            if hidden > 0 {
                tracing::warn!(
                    gateway.name = name,
                    hidden,
                    "gateway worker output suppressed"
                );
            }
            (since, shown, hidden) = (Instant::now(), 0, 0);
        }
        if shown == LINES_A_WINDOW {
            hidden += 1;
            continue;
        }
        let line = redacted(&String::from_utf8_lossy(&line));
        if !line.trim().is_empty() {
            shown += 1;
            tracing::warn!(
                gateway.name = name,
                gateway.text = line,
                "gateway worker output"
            );
        }
    }
}

/// Next line, cut to [`LINE_BYTES`]; `None` at the end.
fn next_line(from: &mut impl io::BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut is_there = false;
    loop {
        let part = from.fill_buf()?;
        if part.is_empty() {
            return Ok(is_there.then_some(line));
        }
        is_there = true;
        let end = part.iter().position(|byte| *byte == b'\n');
        let text = &part[..end.unwrap_or(part.len())];
        let room = LINE_BYTES.saturating_sub(line.len()).min(text.len());
        line.extend_from_slice(&text[..room]);
        let read = end.map_or(part.len(), |end| end + 1);
        from.consume(read);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// Longer than the part that is logged, so that a secret is complete when the redactor searches for
/// it.
const LINE_BYTES: usize = 16 * 1024;
const LINES_A_WINDOW: usize = 20;
const WINDOW: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart_and_a_long_one_is_cut() {
        let long = "x".repeat(LINE_BYTES + 100_000);
        let mut from = BufReader::new(io::Cursor::new(format!("a\n\n{long}\nlast")));
        let mut next = || next_line(&mut from).unwrap().map(|line| line.len());
        assert_eq!(
            [next(), next(), next(), next(), next()],
            [Some(1), Some(0), Some(LINE_BYTES), Some(4), None]
        );
    }
}
