//! Colours, and whether text on them is readable (WCAG 2.2, 1.4.3).

use std::fmt;

/// An opaque sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    red: u8,
    green: u8,
    blue: u8,
}

/// Least contrast of text with its ground, as a ratio to 1.
pub const LEAST_CONTRAST: f64 = 4.5;

impl Colour {
    pub const WHITE: Self = Self::new(255, 255, 255);
    pub const BLACK: Self = Self::new(0, 0, 0);

    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue }
    }

    /// Reads `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        let mut channels = [0; 3];
        match base16ct::mixed::decode(digits, &mut channels).ok()? {
            &[red, green, blue] => Some(Self::new(red, green, blue)),
            _ => None,
        }
    }

    /// Contrast ratio with another colour, 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// This colour with `percent` of `other` mixed in.
    pub fn mixed(self, other: Self, percent: u8) -> Self {
        let percent = u32::from(percent.min(100));
        let mix = |own: u8, others: u8| {
            let sum = u32::from(own) * (100 - percent) + u32::from(others) * percent;
            u8::try_from((sum + 50) / 100).unwrap_or(u8::MAX)
        };
        Self::new(
            mix(self.red, other.red),
            mix(self.green, other.green),
            mix(self.blue, other.blue),
        )
    }

    /// This colour, moved toward `end` in steps of 4 % until its contrast with `ground` is at least
    /// `least`.
    pub fn readable_on(self, ground: Self, end: Self, least: f64) -> Self {
        let steps = (0..=100).step_by(4).map(|percent| self.mixed(end, percent));
        steps
            .into_iter()
            .find(|colour| colour.contrast(ground) >= least)
            .unwrap_or(end)
    }

    fn luminance(self) -> f64 {
        let channel = |value: u8| {
            let share = f64::from(value) / 255.0;
            if share <= 0.040_45 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(self.red) + 0.7152 * channel(self.green) + 0.0722 * channel(self.blue)
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        let contrast = |text: &str| Colour::parse(text).unwrap().contrast(Colour::WHITE);
        for (colour, ratio) in [
            ("#000000", 21.0),
            ("#ffffff", 1.0),
            ("#767676", 4.54),
            ("#ff0000", 4.0),
        ] {
            assert!((contrast(colour) - ratio).abs() < 0.01, "{colour}");
        }
        for wrong in ["", "#fff", "red", "#12345g", "123456", "#é1234"] {
            assert_eq!(Colour::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_colour_moves_until_it_is_readable() {
        let yellow = Colour::parse("#ffcc00").unwrap();
        let darker = yellow.readable_on(Colour::WHITE, Colour::BLACK, LEAST_CONTRAST);
        assert!(darker.contrast(Colour::WHITE) >= LEAST_CONTRAST);
        assert_ne!(darker, Colour::BLACK);
        let ground = Colour::parse("#17201d").unwrap();
        let navy = Colour::parse("#001f5b").unwrap();
        let lighter = navy.readable_on(ground, Colour::WHITE, LEAST_CONTRAST);
        assert!(lighter.contrast(ground) >= LEAST_CONTRAST);
        assert_eq!(yellow.to_string(), "#ffcc00");
    }
}
