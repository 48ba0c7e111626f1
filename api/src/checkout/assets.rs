//! The style and the script of the pages. Both are written into each page: a first view is one
//! request.

use std::sync::LazyLock;

/// The style sheet of the checkout.
pub static STYLE: LazyLock<String> =
    LazyLock::new(|| packed_style(include_str!("../../assets/checkout/checkout.css")));

/// The script without its comments and indentation.
pub static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let source = include_str!("../../assets/checkout/checkout.js");
    packed(source, "//")
});

/// A style sheet behind the colours of all pages, without comments and indentation.
pub fn packed_style(source: &str) -> String {
    let colours = include_str!("../../assets/pages/tokens.css");
    packed(&format!("{colours}\n{source}"), "/*")
}

/// Lines without indentation, blank lines and whole-line comments. Line ends stay: they may matter
/// to a script.
fn packed(source: &str, comment: &str) -> String {
    let lines = source.lines().map(str::trim);
    let kept: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with(comment))
        .collect();
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_style_nor_script_can_end_its_element() {
        assert!(STYLE.len() > 1000 && !STYLE.to_lowercase().contains("</style"));
        assert!(SCRIPT.len() > 1000 && !SCRIPT.to_lowercase().contains("</script"));
    }

    #[test]
    fn comments_in_the_style_sheet_stand_on_lines_of_their_own_and_end_there() {
        for line in include_str!("../../assets/checkout/checkout.css").lines() {
            assert_eq!(line.contains("/*"), line.trim().ends_with("*/"), "{line}");
            assert_eq!(line.contains("/*"), line.trim().starts_with("/*"), "{line}");
        }
    }
}
