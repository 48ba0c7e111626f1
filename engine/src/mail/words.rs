//! The languages that mails speak, and their sentences.

use std::borrow::Cow;
use std::collections::HashMap;

use fluent_templates::fluent_bundle::FluentValue;
use fluent_templates::{LanguageIdentifier, Loader, langid};
use serde::{Deserialize, Serialize};

use self::sentences::SENTENCES;

#[expect(
    clippy::disallowed_methods,
    reason = "the macro's code looks through a map of two languages, and sorts nothing by it"
)]
mod sentences {
    fluent_templates::static_loader! {
        pub static SENTENCES = {
            locales: "./src/mail/locales",
            fallback_language: "en",
            // Invisible marks around names and amounts would show in some mail programs.
            customise: |bundle| bundle.set_use_isolating(false),
        };
    }
}

/// A language that there are sentences in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    En,
    Fr,
}

/// What stands for `{ $name }` in sentences.
pub type Values<'a> = [(&'static str, &'a str)];

impl Language {
    pub const ALL: [Self; 2] = [Self::En, Self::Fr];

    /// The language of a locale such as `fr-BJ`; `None` when there are no sentences in it.
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

    /// The sentence of this name. A test holds that every name which is asked for has one in every language; were one missing after all,
    /// its name stands in for it, so that the mail goes out.
    pub fn say(self, name: &str, values: &Values<'_>) -> String {
        let values: HashMap<Cow<'static, str>, FluentValue<'_>> = values
            .iter()
            .map(|(name, value)| (Cow::Borrowed(*name), FluentValue::from(*value)))
            .collect();
        let said = SENTENCES.try_lookup_with_args(&self.identifier(), name, &values);
        said.unwrap_or_else(|| name.to_owned())
    }

    fn identifier(self) -> LanguageIdentifier {
        match self {
            Self::En => langid!("en"),
            Self::Fr => langid!("fr"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_sentence_is_there_in_every_language() {
        let keys = |text: &str| -> BTreeSet<String> {
            let lines = text.lines().filter(|line| !line.starts_with(['#', ' ']));
            lines
                .filter_map(|line| line.split_once(" = "))
                .map(|(key, _)| key.to_owned())
                .collect()
        };
        let english = keys(include_str!("locales/en/mail.ftl"));
        assert!(english.len() > 20);
        assert_eq!(english, keys(include_str!("locales/fr/mail.ftl")));
    }

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
}
