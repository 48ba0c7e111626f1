//! Style rules of a merchant's accent colour, in the light and the dark scheme.

use switchyard_core::colour::{Colour, LEAST_CONTRAST};

/// Grounds of the style sheet's dark scheme: text in the accent colour stands on both.
const DARK_CARD: Colour = Colour::new(0x17, 0x20, 0x1d);
const DARK_GROUND: Colour = Colour::new(0x0e, 0x14, 0x12);

/// Rules that put a colour in place of the accent of the style sheet, for the elements of a
/// selector.
pub fn rules(selector: &str, own: Colour) -> String {
    let light = [
        ("accent", own),
        ("accent-deep", own.mixed(Colour::BLACK, 28)),
        ("on-accent", Colour::WHITE),
        ("tint", tint(own)),
    ];
    let accent = on_dark(own);
    let dark = [
        ("accent", accent),
        ("accent-deep", accent.mixed(Colour::WHITE, 30)),
        ("on-accent", DARK_GROUND),
        ("tint", DARK_CARD.mixed(accent, 10)),
    ];
    let rules = |rules: [(&str, Colour); 4]| -> String {
        rules
            .map(|(name, value)| format!("--{name}:{value};"))
            .concat()
    };
    format!(
        "{selector}{{{}}}@media (prefers-color-scheme:dark){{{selector}{{{}}}}}",
        rules(light),
        rules(dark)
    )
}

/// The colour, lightened until text in it is readable in the dark scheme.
fn on_dark(own: Colour) -> Colour {
    own.readable_on(DARK_CARD, Colour::WHITE, LEAST_CONTRAST + 1.0)
}

/// A pale ground on which text in the accent colour is readable.
fn tint(own: Colour) -> Colour {
    let pale = [90, 93, 96, 98].map(|percent| own.mixed(Colour::WHITE, percent));
    pale.into_iter()
        .find(|ground| own.contrast(*ground) >= LEAST_CONTRAST)
        .unwrap_or(Colour::WHITE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allowed_colour_is_readable_in_both_schemes() {
        for colour in [
            "#095f4b", "#767676", "#000000", "#001f5b", "#d00000", "#7a4b00",
        ] {
            let own = Colour::parse(colour).unwrap();
            assert!(own.contrast(Colour::WHITE) >= LEAST_CONTRAST, "{colour}");
            assert!(own.contrast(tint(own)) >= LEAST_CONTRAST, "{colour}");
            let accent = on_dark(own);
            assert!(accent.contrast(DARK_GROUND) >= LEAST_CONTRAST, "{colour}");
            let tinted = DARK_CARD.mixed(accent, 10);
            assert!(accent.contrast(tinted) >= LEAST_CONTRAST, "{colour}");
            let rules = rules(":root", own);
            assert!(rules.starts_with(&format!(":root{{--accent:{colour};")));
        }
    }
}
