//! Messages and numbers of the console in the reader's language.

use std::time::Duration;

use switchyard_core::language::Language;
use switchyard_core::time::Timestamp;

use crate::pages::messages;

/// Reader's language, with the messages of the pages in it.
#[derive(Clone, Copy)]
pub struct Text(pub Language);

impl Text {
    pub const fn language(self) -> Language {
        self.0
    }

    /// The message of that name.
    pub fn say(self, message: &str) -> String {
        messages::say(self.0, message)
    }

    /// The message of that name with values in it.
    pub fn with(self, message: &str, values: &[(&'static str, &str)]) -> String {
        messages::say_with(self.0, message, values)
    }

    /// The message of that name with a number in it.
    pub fn count(self, message: &str, name: &'static str, count: u64) -> String {
        messages::say_count(self.0, message, name, count)
    }

    /// A number in groups of three digits.
    pub fn number(self, number: u64) -> String {
        let digits = number.to_string();
        let mut text = String::with_capacity(digits.len() * 2);
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                text.push(NO_BREAK_SPACE);
            }
            text.push(digit);
        }
        text
    }

    /// A large round number with its thousands, millions or billions as a letter: `20 k`.
    pub fn short(self, number: u64) -> String {
        let billion = match self.0 {
            Language::En => "bn",
            Language::Fr => "Md",
        };
        let units = [(1_000_000_000, billion), (1_000_000, "M"), (1_000, "k")];
        let unit = units
            .into_iter()
            .find(|(size, _)| number >= *size && number.is_multiple_of(*size));
        match unit {
            Some((size, unit)) if number >= 10_000 => {
                format!("{}{NO_BREAK_SPACE}{unit}", self.number(number / size))
            }
            _ => self.number(number),
        }
    }

    /// A rate per thousand as per cent, with a decimal unless it is zero: `93.7%`, `93,7 %`.
    pub fn percent(self, permille: u64) -> String {
        let (whole, rest) = (permille / 10, permille % 10);
        match (self.0, rest) {
            (Language::En, 0) => format!("{whole}%"),
            (Language::En, rest) => format!("{whole}.{rest}%"),
            (Language::Fr, 0) => format!("{whole}{NO_BREAK_SPACE}%"),
            (Language::Fr, rest) => format!("{whole},{rest}{NO_BREAK_SPACE}%"),
        }
    }

    /// A day of the month, in UTC: `24 Nov`, `24 nov.`
    pub fn short_day(self, at: Timestamp) -> String {
        // ISO 8601: `2026-11-24T14:30:00.000000Z`.
        let iso = at.to_string();
        let part = |range| iso.get(range).unwrap_or_default();
        let month = part(5..7).parse::<usize>().unwrap_or(1);
        let months = self.say("console-months");
        let name = months.split(' ').nth(month.saturating_sub(1));
        let day = part(8..10).trim_start_matches('0');
        format!("{day}{NO_BREAK_SPACE}{}", name.unwrap_or_default())
    }

    /// A round duration in its largest unit: `20 s`, `5 min`, `1 h`.
    pub fn duration(self, duration: Duration) -> String {
        let seconds = duration.as_secs();
        let (number, unit) = match seconds {
            3_600.. => (seconds / 3_600, "h"),
            60.. => (seconds / 60, "min"),
            _ => (seconds, "s"),
        };
        format!("{number}{NO_BREAK_SPACE}{unit}")
    }
}

const NO_BREAK_SPACE: char = '\u{a0}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_each_language_writes_them() {
        let (english, french) = (Text(Language::En), Text(Language::Fr));
        assert_eq!(english.number(5_214), "5\u{a0}214");
        assert_eq!(english.number(999), "999");
        assert_eq!(french.short(2_000_000_000), "2\u{a0}Md");
        assert_eq!(english.short(20_000), "20\u{a0}k");
        assert_eq!(english.short(1_000), "1\u{a0}000");
        assert_eq!(
            (english.percent(937), english.percent(800)),
            ("93.7%".into(), "80%".into())
        );
        assert_eq!(french.percent(937), "93,7\u{a0}%");
        let at = Timestamp::parse("2026-11-04").unwrap();
        assert_eq!(english.short_day(at), "4\u{a0}Nov");
        assert_eq!(french.short_day(at), "4\u{a0}nov.");
        assert_eq!(english.duration(Duration::from_secs(300)), "5\u{a0}min");
    }
}
