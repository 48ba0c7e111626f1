//! Languages in which pages and mails are written, how each writes dates, and text direction.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The text without the characters that change the direction of the text behind them, which would
/// reverse what a page or mail says next. The direction of a script itself needs none of them.
pub fn without_embeddings(text: &str) -> Cow<'_, str> {
    let is_embedding =
        |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match text.contains(is_embedding) {
        true => Cow::Owned(text.replace(is_embedding, "")),
        false => Cow::Borrowed(text),
    }
}

/// A language of pages and mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    En,
    Fr,
}

impl Language {
    pub const ALL: [Self; 2] = [Self::En, Self::Fr];

    /// The language of a locale such as `fr-BJ`; `None` when pages and mails do not have it.
    pub fn of(locale: &str) -> Option<Self> {
        let primary = locale.split(['-', '_']).next().unwrap_or_default();
        Self::ALL
            .into_iter()
            .find(|language| language.code().eq_ignore_ascii_case(primary))
    }

    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Fr => "fr",
        }
    }

    /// Name of the language in the language itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::En => "English",
            Self::Fr => "Français",
        }
    }

    /// A moment to the minute, in UTC: `24 November 2026, 14:30 UTC`,
    /// `24 novembre 2026 à 14:30 UTC`.
    pub fn date(self, at: Timestamp) -> String {
        // ISO 8601: `2026-11-24T14:30:00.000000Z`.
        let text = at.to_string();
        let part = |range| text.get(range).unwrap_or_default();
        let month = part(5..7).parse::<usize>().unwrap_or(1);
        let name = self.months()[month.saturating_sub(1) % MONTHS];
        let (year, day) = (part(0..4), part(8..10).trim_start_matches('0'));
        let time = part(11..16);
        match self {
            Self::En => format!("{day} {name} {year}, {time} UTC"),
            Self::Fr if day == "1" => format!("1er {name} {year} à {time} UTC"),
            Self::Fr => format!("{day} {name} {year} à {time} UTC"),
        }
    }

    /// The day of a moment, in UTC: `Tuesday 24 November 2026`, `mardi 24 novembre 2026`.
    pub fn day(self, at: Timestamp) -> String {
        let text = at.to_string();
        let part = |range| text.get(range).unwrap_or_default();
        let month = part(5..7).parse::<usize>().unwrap_or(1);
        let name = self.months()[month.saturating_sub(1) % MONTHS];
        let weekday = self.weekdays()[at.weekday()];
        let (year, day) = (part(0..4), part(8..10).trim_start_matches('0'));
        match self {
            Self::Fr if day == "1" => format!("{weekday} 1er {name} {year}"),
            Self::En | Self::Fr => format!("{weekday} {day} {name} {year}"),
        }
    }

    /// The time of day of a moment to the minute, in UTC, as in [`Self::date`]: `16:20`.
    pub fn time_of_day(self, at: Timestamp) -> String {
        at.to_string().get(11..16).unwrap_or_default().to_owned()
    }

    const fn weekdays(self) -> [&'static str; WEEKDAYS] {
        match self {
            Self::En => [
                "Monday",
                "Tuesday",
                "Wednesday",
                "Thursday",
                "Friday",
                "Saturday",
                "Sunday",
            ],
            Self::Fr => [
                "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche",
            ],
        }
    }

    const fn months(self) -> [&'static str; MONTHS] {
        match self {
            Self::En => [
                "January",
                "February",
                "March",
                "April",
                "May",
                "June",
                "July",
                "August",
                "September",
                "October",
                "November",
                "December",
            ],
            Self::Fr => [
                "janvier",
                "février",
                "mars",
                "avril",
                "mai",
                "juin",
                "juillet",
                "août",
                "septembre",
                "octobre",
                "novembre",
                "décembre",
            ],
        }
    }
}

const MONTHS: usize = 12;
const WEEKDAYS: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_means_its_language() {
        for (locale, language) in [
            ("fr", Some(Language::Fr)),
            ("fr-BJ", Some(Language::Fr)),
            ("FR_ci", Some(Language::Fr)),
            ("en-GB", Some(Language::En)),
            ("pt-BR", None),
            ("french", None),
            ("", None),
        ] {
            assert_eq!(Language::of(locale), language, "{locale}");
        }
    }

    #[test]
    fn a_date_is_written_as_the_language_writes_it() {
        let at = Timestamp::from_seconds(1_795_168_800);
        assert_eq!(Language::En.date(at), "20 November 2026, 10:00 UTC");
        assert_eq!(Language::Fr.date(at), "20 novembre 2026 à 10:00 UTC");
        let first = Timestamp::from_seconds(1_796_083_200);
        assert_eq!(Language::En.date(first), "1 December 2026, 00:00 UTC");
        assert_eq!(Language::Fr.date(first), "1er décembre 2026 à 00:00 UTC");
    }
    #[test]
    fn a_day_has_its_weekday_and_a_time_its_minute() {
        let at = Timestamp::from_seconds(1_795_536_862);
        assert_eq!(Language::En.day(at), "Tuesday 24 November 2026");
        assert_eq!(Language::Fr.day(at), "mardi 24 novembre 2026");
        assert_eq!(Language::En.time_of_day(at), "16:14");
        assert_eq!(Language::Fr.time_of_day(at), "16:14");
        let first = Timestamp::from_seconds(0);
        assert_eq!(Language::En.day(first), "Thursday 1 January 1970");
        assert_eq!(Language::Fr.day(first), "jeudi 1er janvier 1970");
    }
}
