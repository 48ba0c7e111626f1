//! Style sheets and scripts that are written into the pages.

/// A style sheet behind the colours of all pages, without comments and indentation.
pub fn packed_style(source: &str) -> String {
    let colours = include_str!("../../assets/pages/tokens.css");
    packed(&format!("{colours}\n{source}"), "/*")
}

/// Lines without indentation, blank lines and whole-line comments. Line ends stay: they may matter
/// to a script.
pub fn packed(source: &str, comment: &str) -> String {
    let lines = source.lines().map(str::trim);
    let kept: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with(comment))
        .collect();
    kept.join("\n")
}
