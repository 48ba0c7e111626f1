//! The style and the script of the pages. Both are written into each page: a first view is one
//! request.

use std::sync::LazyLock;

use crate::pages::style::{packed, packed_style};

/// The style sheet of the checkout.
pub static STYLE: LazyLock<String> =
    LazyLock::new(|| packed_style(include_str!("../../assets/checkout/checkout.css")));

/// The script without its comments and indentation.
pub static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let source = include_str!("../../assets/checkout/checkout.js");
    packed(source, "//")
});

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
