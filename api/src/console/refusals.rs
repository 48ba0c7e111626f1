//! Refusals of the engine's functions in the reader's language, by the code of their reason or of
//! the error.
//!
//! The errors of fields are as many as the fields, and have no codes of their own: an English
//! reader gets the engine's sentence, others a message about the field.

use switchyard_core::language::Language;

use super::text::Text;
use crate::error::{ErrorCode, Problem};
use crate::reason::{Because, Reason};

/// The sentence about a problem.
pub fn sentence(problem: &Problem, text: Text) -> String {
    if let Some(because) = &problem.because {
        return because_sentence(because, text);
    }
    let is_about_a_field = problem.code == ErrorCode::FieldInvalid;
    match text.language() {
        Language::En if is_about_a_field => problem.message.clone().into_owned(),
        _ if is_about_a_field => of_field(problem.field.as_deref().unwrap_or_default(), text),
        _ => text.say(&of_code(problem.code)),
    }
}

/// The sentence about a reason.
pub fn because_sentence(because: &Because, text: Text) -> String {
    let values: Vec<_> = because
        .values
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    text.with(&of_reason(because.reason), &values)
}

/// The sentence about a field that the engine refuses for `problem`, which continues its name.
pub fn field_sentence(field: &str, problem: &str, text: Text) -> String {
    match text.language() {
        Language::En => format!("This value {problem}."),
        Language::Fr => of_field(field, text),
    }
}

/// The message about a field, by the last part of its path.
fn of_field(field: &str, text: Text) -> String {
    let message = match field.rsplit('.').next().unwrap_or_default() {
        "name" | "account_name" => "console-name-invalid",
        "website_url" | "icon_url" => "console-website-invalid",
        "merchant_email" | "support_email" => "console-email-invalid",
        "support_phone" => "console-phone-invalid",
        "amount" | "min" | "max" | "fixed" | "min_amount" | "max_amount" => {
            "console-error-amount-not-number"
        }
        _ => "console-error-field-invalid",
    };
    text.say(message)
}

/// Name of the message about a reason.
fn of_reason(reason: Reason) -> String {
    format!("console-refusal-{}", reason.as_str().replace('_', "-"))
}

/// Name of the message about an error.
fn of_code(code: ErrorCode) -> String {
    format!("console-error-{}", code.as_str().replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the messages of a language.
    fn names(file: &str) -> Vec<&str> {
        let lines = file.lines().filter_map(|line| line.split_once(" = "));
        lines.map(|(name, _)| name).collect()
    }

    #[test]
    fn every_code_has_a_message_in_both_languages_and_no_message_is_left_over() {
        let codes = ErrorCode::ALL.iter().map(|code| of_code(*code));
        let reasons = Reason::ALL.iter().map(|reason| of_reason(*reason));
        let mut needed: Vec<_> = codes.chain(reasons).collect();
        needed.sort();
        for file in [
            include_str!("../../locales/en/console.ftl"),
            include_str!("../../locales/fr/console.ftl"),
        ] {
            let starts = ["console-error-", "console-refusal-"];
            let mut known = names(file);
            known.retain(|name| starts.iter().any(|start| name.starts_with(start)));
            known.sort_unstable();
            assert_eq!(known, needed);
        }
    }

    /// Names of all values that a message can have.
    const VALUES: [&str; 10] = [
        "address", "allowed", "amount", "detail", "known", "least", "method", "most", "pattern",
        "port",
    ];

    #[test]
    fn no_french_sentence_repeats_the_english_one() {
        let (english, french) = (Text(Language::En), Text(Language::Fr));
        for code in ErrorCode::ALL {
            let problem = Problem::new(*code, "The engine's sentence.");
            assert_ne!(sentence(&problem, french), sentence(&problem, english));
            assert!(!sentence(&problem, french).contains("engine's"), "{code:?}");
        }
        for reason in Reason::ALL {
            let problem = Problem::new(ErrorCode::FieldInvalid, "The engine's sentence.");
            let values = VALUES.map(|name| (name, "9".to_owned())).into();
            let reason = *reason;
            let problem = problem.because(Because { reason, values });
            assert_ne!(sentence(&problem, french), sentence(&problem, english));
        }
    }

    #[test]
    fn a_field_without_a_reason_has_the_engines_words_in_english_and_a_message_in_french() {
        let problem = Problem::new(ErrorCode::FieldInvalid, "Too short.").at("config.name");
        assert_eq!(sentence(&problem, Text(Language::En)), "Too short.");
        let french = sentence(&problem, Text(Language::Fr));
        assert_eq!(french, Text(Language::Fr).say("console-name-invalid"));
        let most = problem.because(Reason::ConfigTooLong.with("most", 9));
        assert!(sentence(&most, Text(Language::Fr)).contains('9'));
    }
}
