//! QR codes as inline SVG, drawn by the server: no script and no request.

use askama::Template;
use fast_qr::QRBuilder;

/// Square of dark modules on a transparent background, with the quiet zone of four modules that
/// readers need.
///
/// `None` when the text is too long for a QR code.
pub fn svg(text: &str, label: &str) -> Option<String> {
    let code = QRBuilder::new(text).build().ok()?;
    let size = code.size;
    let mut path = String::new();
    for y in 0..size {
        let mut x = 0;
        while x < size {
            let start = x;
            while x < size && code[y][x].value() {
                x += 1;
            }
            if x > start {
                let (left, top, run) = (start + QUIET, y + QUIET, x - start);
                path.push_str(&format!("M{left} {top}h{run}v1h-{run}z"));
            }
            x += 1;
        }
    }
    let side = size + 2 * QUIET;
    Drawing { side, label, path }.render().ok()
}

const QUIET: usize = 4;

#[derive(Template)]
#[template(path = "checkout/qr.svg", escape = "html")]
struct Drawing<'a> {
    side: usize,
    label: &'a str,
    path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_drawn_in_runs_inside_its_quiet_zone() {
        let svg = svg("https://pay.example/1", "QR <code>").unwrap();
        assert!(svg.starts_with("<svg viewBox=\"0 0 33 33\"") || svg.contains("viewBox=\"0 0 "));
        assert!(svg.contains("aria-label=\"QR &#60;code&#62;\""));
        // The finder pattern in the first corner: seven modules, then a gap.
        assert!(svg.contains("M4 4h7v1h-7z"));
        assert!(!svg.contains("style="));
    }

    #[test]
    fn what_does_not_fit_is_not_drawn() {
        assert!(svg(&"x".repeat(4000), "label").is_none());
    }
}
