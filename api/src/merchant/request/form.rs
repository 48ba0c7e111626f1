//! Reads fields one after the other, in their documented order, and collects all their
//! problems.

use std::borrow::Cow;

use super::json::{Object, Value};
use crate::error::{ApiError, ErrorCode, PROBLEMS, Problem};

/// One object of a request, and the problems of the whole request.
pub struct Form<'f, 'a> {
    pub object: &'f Object<'a>,
    /// `customer.` for the fields of the customer; empty at the top.
    prefix: &'static str,
    problems: &'f mut Vec<Problem>,
}

/// Limits of a text field.
#[derive(Clone, Copy)]
pub struct TextRule {
    /// Characters.
    pub longest: usize,
    /// Whether line breaks and tabs belong into it.
    pub lines: bool,
}

pub const LINE: TextRule = TextRule {
    longest: 255,
    lines: false,
};

impl<'f, 'a> Form<'f, 'a> {
    pub fn new(object: &'f Object<'a>, problems: &'f mut Vec<Problem>) -> Self {
        Self {
            object,
            prefix: "",
            problems,
        }
    }

    /// The form of an object inside this one.
    pub fn inner<'g>(&'g mut self, object: &'g Object<'a>, prefix: &'static str) -> Form<'g, 'a> {
        Form {
            object,
            prefix,
            problems: self.problems,
        }
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub fn push(&mut self, problem: Problem) {
        // One more than is shown, so that the vector cannot grow with the request.
        if self.problems.len() <= PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// A problem with the field `name`.
    pub fn refuse(&mut self, name: &str, code: ErrorCode, says: impl AsRef<str>) {
        let field = self.path(name);
        let problem = Problem::new(code, format!("{field} {}", says.as_ref()));
        self.push(problem.at(field));
    }

    pub fn missing(&mut self, name: &str) {
        self.refuse(name, ErrorCode::FieldRequired, "is required");
    }

    pub fn wrong_type(&mut self, name: &str, wanted: &str, found: &Value<'_>) {
        let says = format!("must be {wanted}, not {}", found.name());
        self.refuse(name, ErrorCode::FieldWrongType, says);
    }

    /// The value of an optional field; null is treated as missing. A field given twice is refused,
    /// since it is ambiguous.
    pub fn optional(&mut self, name: &str) -> Option<Value<'a>> {
        let (value, is_repeated) = self.object.look_up(name);
        if is_repeated {
            self.refuse(name, ErrorCode::FieldDuplicated, "is given more than once");
            return None;
        }
        match value {
            Some(Value::Broken) => {
                self.refuse(
                    name,
                    ErrorCode::MalformedJson,
                    "is no text: it has half of a surrogate pair",
                );
                None
            }
            value => value,
        }
    }

    pub fn required(&mut self, name: &str) -> Option<Value<'a>> {
        let problems = self.problems.len();
        let value = self.optional(name);
        if value.is_none() && self.problems.len() == problems {
            self.missing(name);
        }
        value
    }

    /// A text that must be there and say something.
    pub fn required_text(&mut self, name: &str, rule: TextRule) -> Option<Cow<'a, str>> {
        let value = self.required(name)?;
        let text = self.checked_text(name, value, rule)?;
        if text.trim().is_empty() {
            self.refuse(name, ErrorCode::FieldBlank, "must not be blank");
            return None;
        }
        Some(text)
    }

    /// An optional text. A blank one is treated as missing.
    pub fn optional_text(&mut self, name: &str, rule: TextRule) -> Option<Cow<'a, str>> {
        let value = self.optional(name)?;
        let text = self.checked_text(name, value, rule)?;
        (!text.trim().is_empty()).then_some(text)
    }

    fn checked_text(
        &mut self,
        name: &str,
        value: Value<'a>,
        rule: TextRule,
    ) -> Option<Cow<'a, str>> {
        let text = match value {
            Value::Text(text) => text,
            other => {
                self.wrong_type(name, "a string", &other);
                return None;
            }
        };
        self.check_text(name, &text, rule).then_some(text)
    }

    /// Whether `text` keeps the rule; when not, that is a problem of the field.
    pub fn check_text(&mut self, name: &str, text: &str, rule: TextRule) -> bool {
        if has_control_characters(text, rule.lines) {
            self.refuse(
                name,
                ErrorCode::FieldHasControlCharacters,
                "has a control character, such as NUL, in it",
            );
            return false;
        }
        if is_longer(text, rule.longest) {
            self.refuse(
                name,
                ErrorCode::FieldTooLong,
                format!("has more than {} characters", rule.longest),
            );
            return false;
        }
        true
    }

    /// A phone number or another run of digits: a string or an integer.
    pub fn digits(&mut self, name: &str, value: Value<'a>) -> Option<Cow<'a, str>> {
        match value {
            Value::Text(text) => self.check_text(name, &text, DIGITS).then_some(text),
            Value::Number(number)
                if number.bytes().all(|byte| byte.is_ascii_digit())
                    && number.len() <= DIGITS.longest =>
            {
                Some(Cow::Borrowed(number))
            }
            other => {
                self.wrong_type(name, "a string or an integer", &other);
                None
            }
        }
    }
}

/// Result of the whole form, once all fields were read.
pub fn verdict(problems: Vec<Problem>) -> Result<(), ApiError> {
    ApiError::of(problems).map_or(Ok(()), Err)
}

pub fn has_control_characters(text: &str, lines: bool) -> bool {
    // Most texts are plain ASCII: bytes are looked at first.
    text.bytes()
        .any(|byte| byte < b' ' || byte == 0x7f || byte == 0xc2)
        && text
            .chars()
            .any(|c| c.is_control() && !(lines && matches!(c, '\n' | '\r' | '\t')))
}

pub fn is_longer(text: &str, characters: usize) -> bool {
    text.len() > characters && text.chars().count() > characters
}

const DIGITS: TextRule = TextRule {
    longest: 40,
    lines: false,
};
