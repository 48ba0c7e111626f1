//! Localized messages of mails.

use std::borrow::Cow;
use std::collections::HashMap;

use fluent_templates::fluent_bundle::FluentValue;
use fluent_templates::{LanguageIdentifier, Loader, langid};

use self::sentences::SENTENCES;
use switchyard_core::language::Language;

#[expect(
    clippy::disallowed_methods,
    reason = "the macro's code looks through a map of two languages, and sorts nothing by it"
)]
mod sentences {
    fluent_templates::static_loader! {
        pub static SENTENCES = {
            locales: "./src/mail/locales",
            fallback_language: "en",
            // Isolation marks around names and amounts are visible in some mail programs.
            customise: |bundle| bundle.set_use_isolating(false),
        };
    }
}

/// Values of the placeholders `{ $name }`.
pub(super) type Values<'a> = [(&'static str, &'a str)];

/// Localized message of this name. A test checks that every language has the same names. A missing
/// message is replaced by its name, so that the mail is still sent.
pub(super) fn message(language: Language, name: &str, values: &Values<'_>) -> String {
    let values: HashMap<Cow<'static, str>, FluentValue<'_>> = values
        .iter()
        .map(|(name, value)| (Cow::Borrowed(*name), FluentValue::from(*value)))
        .collect();
    let found = SENTENCES.try_lookup_with_args(&identifier(language), name, &values);
    found.unwrap_or_else(|| name.to_owned())
}

fn identifier(language: Language) -> LanguageIdentifier {
    match language {
        Language::En => langid!("en"),
        Language::Fr => langid!("fr"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
}
