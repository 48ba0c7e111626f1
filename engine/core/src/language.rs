//! Languages in which pages and mails are written, and how each writes dates.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

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
}
