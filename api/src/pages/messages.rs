//! Messages of the pages in each language, and the language that a browser asks for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use fluent_templates::fluent_bundle::FluentValue;
use fluent_templates::{LanguageIdentifier, Loader, langid};
use loader::MESSAGES;
use switchyard_core::language::Language;

#[expect(
    clippy::disallowed_methods,
    reason = "the macro's code looks through a map of two languages, and sorts nothing by it"
)]
mod loader {
    use fluent_templates::static_loader;

    static_loader! {
        pub static MESSAGES = {
            locales: "./locales",
            fallback_language: "en",
            // Marks around values would be copied with them; the templates isolate values by
            // `<bdi>`.
            customise: |bundle| bundle.set_use_isolating(false),
        };
    }
}

static ENGLISH: LanguageIdentifier = langid!("en");
static FRENCH: LanguageIdentifier = langid!("fr");

/// Parsing the messages takes some milliseconds: done once, and before the first visitor if
/// [`warm_up`] was called.
static READY: LazyLock<()> = LazyLock::new(|| {
    LazyLock::force(&MESSAGES);
});

/// Reads the messages now rather than for the first visitor.
pub fn warm_up() {
    LazyLock::force(&READY);
}

/// Our language with the highest weight in `Accept-Language`. `q=0` excludes a language.
pub fn accepted(header: &str) -> Option<Language> {
    let mut best: Option<(u16, Language)> = None;
    for part in header.split(',').take(MOST_RANGES) {
        let (tag, parameters) = part.split_once(';').unwrap_or((part, ""));
        let weight = weight(parameters);
        if let Some(language) = Language::of(tag.trim())
            && weight > best.map_or(0, |(weight, _)| weight)
        {
            best = Some((weight, language));
        }
    }
    best.map(|(_, language)| language)
}

fn id(language: Language) -> &'static LanguageIdentifier {
    match language {
        Language::En => &ENGLISH,
        Language::Fr => &FRENCH,
    }
}

/// The message of that name.
pub fn say(language: Language, message: &str) -> String {
    MESSAGES.lookup(id(language), message)
}

/// The message of that name with values in it.
pub fn say_with(language: Language, message: &str, values: &[(&'static str, &str)]) -> String {
    let values: HashMap<Cow<'static, str>, FluentValue<'_>> = values
        .iter()
        .map(|(name, value)| (Cow::Borrowed(*name), FluentValue::from(*value)))
        .collect();
    MESSAGES.lookup_with_args(id(language), message, &values)
}

/// The message of that name with a number in it, in the grammatical number that goes with it.
pub fn say_count(language: Language, message: &str, name: &'static str, count: u64) -> String {
    let values = HashMap::from([(Cow::Borrowed(name), FluentValue::from(count))]);
    MESSAGES.lookup_with_args(id(language), message, &values)
}

/// Ranges of an `Accept-Language` that are looked at; browsers send a handful.
const MOST_RANGES: usize = 20;

/// The weight of a range in thousandths, read without a float.
fn weight(parameters: &str) -> u16 {
    let Some(quality) = parameters.trim().strip_prefix("q=") else {
        return 1000;
    };
    let (whole, fraction) = quality
        .trim()
        .split_once('.')
        .unwrap_or((quality.trim(), ""));
    if whole != "0" {
        return 1000;
    }
    format!("{fraction:0<3}")
        .get(..3)
        .and_then(|thousandths| thousandths.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_browsers_first_wish_that_we_can_meet_is_met() {
        use Language::{En, Fr};
        let table = [
            ("fr", Some(Fr)),
            ("fr-CI,fr;q=0.9,en;q=0.8", Some(Fr)),
            ("en-GB,en;q=0.9,fr;q=0.5", Some(En)),
            ("de, fr;q=0.7, en;q=0.3", Some(Fr)),
            ("de, en;q=0.30, fr;q=0.7", Some(Fr)),
            ("fr;q=0, en;q=0.001", Some(En)),
            ("sw, ha", None),
            ("*", None),
            ("", None),
            ("frisian;q=x", None),
        ];
        for (header, language) in table {
            assert_eq!(accepted(header), language, "{header}");
        }
    }

    /// Names of the messages, with the values that each takes.
    fn messages(ftl: &str) -> Vec<(String, BTreeSet<String>)> {
        let mut found: Vec<(String, BTreeSet<String>)> = Vec::new();
        for line in ftl.lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, _)) = line.split_once(" = ")
                && !name.starts_with([' ', '\t'])
            {
                found.push((name.to_owned(), BTreeSet::new()));
            }
            for part in line.split("{ $").skip(1) {
                let end = part.find([' ', '}']).unwrap_or(part.len());
                let (_, values) = found.last_mut().unwrap();
                values.insert(part[..end].to_owned());
            }
        }
        found
    }

    #[test]
    fn both_languages_say_the_same_things_with_the_same_values() {
        let english = messages(include_str!("../../locales/en/checkout.ftl"));
        let french = messages(include_str!("../../locales/fr/checkout.ftl"));
        assert!(english.len() > 100);
        assert_eq!(english, french);
        let names: BTreeSet<_> = english.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), english.len(), "a message is there twice");
    }

    #[test]
    fn every_message_that_templates_and_code_ask_for_exists_and_none_is_left_over() {
        let known: BTreeSet<String> = messages(include_str!("../../locales/en/checkout.ftl"))
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut text = String::new();
        for folder in ["templates/checkout", "src/checkout"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    text += &std::fs::read_to_string(path).unwrap();
                }
            }
        }
        // Names that are put together: `reason-` and the decline's word, `field-` and the field's
        // name, and so on.
        let composed = [
            "reason-",
            "field-",
            "result-",
            "wait-",
            "missing-",
            "unavailable-",
            "large-",
            "method-",
            "nowhere-",
            "too-many-",
            "busy-",
            "closed-",
            "paused-",
            "link-",
        ];
        let unused: Vec<_> = known
            .iter()
            .filter(|name| !text.contains(&format!("\"{name}\"")))
            .filter(|name| !composed.iter().any(|start| name.starts_with(start)))
            .collect();
        assert!(unused.is_empty(), "nobody says {unused:?}");
        for start in [
            ".t(\"",
            ".say(\"",
            ".say_with(\"",
            ".say_count(\"",
            ".with(\"",
        ] {
            for part in text.split(start).skip(1) {
                let name = &part[..part.find('"').unwrap()];
                assert!(known.contains(name), "{name} has no message");
            }
        }
    }

    #[test]
    fn a_value_stands_in_its_message_as_it_was_given() {
        let values = [("merchant", "Café <Zola>")];
        assert_eq!(
            say_with(Language::Fr, "leave-button", &values),
            "Retour chez Café <Zola>"
        );
        assert!(say_count(Language::En, "choose-attempts-left", "left", 1).contains("once more"));
    }
}
