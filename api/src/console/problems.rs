//! Errors of the operator API's functions, shown beside the field of the form that they name.

use super::installation::view::Input;
use super::refusals;
use super::text::Text;
use crate::error::ApiError;

/// Errors by the path of their field, such as `config.api_key`.
#[derive(Default)]
pub struct Problems(Vec<(String, String)>);

impl Problems {
    /// The errors of a refusal in the reader's language.
    pub fn of(error: &ApiError, text: Text) -> Self {
        let problems = error.problems().iter().map(|problem| {
            let field = problem.field.as_deref().unwrap_or_default().to_owned();
            (field, refusals::sentence(problem, text))
        });
        Self(problems.collect())
    }

    pub fn one(field: &str, text: String) -> Self {
        Self(vec![(field.to_owned(), text)])
    }

    /// The same with a prefix of the paths left out.
    pub fn below(self, prefix: &str) -> Self {
        let problems = self.0.into_iter().map(|(field, text)| {
            let rest = field.strip_prefix(prefix).map(str::to_owned);
            (rest.unwrap_or(field), text)
        });
        Self(problems.collect())
    }

    /// Errors of a field, or of an entry of it such as `methods.2`.
    fn at(&self, name: &str) -> Option<String> {
        let texts = self.0.iter().filter(|(field, _)| is_at(field, name));
        joined(texts.map(|(_, text)| text.as_str()))
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Errors of no field that the form has.
    pub fn elsewhere(&self, inputs: &[Input]) -> Option<String> {
        let has_field = |field: &str| inputs.iter().any(|input| is_at(field, &input.name));
        let texts = self.0.iter().filter(|(field, _)| !has_field(field));
        joined(texts.map(|(_, text)| text.as_str()))
    }

    /// The field with its errors.
    pub fn beside(&self, input: Input) -> Input {
        let error = self.at(&input.name);
        input.with_error(error)
    }
}

fn is_at(field: &str, name: &str) -> bool {
    let rest = field.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_belongs_to_its_field_and_to_no_other_that_begins_alike() {
        let problems = Problems::one("config.key", "The gateway needs `key`.".to_owned());
        assert!(problems.at("config.key").is_some());
        assert!(problems.at("config.key_id").is_none());
        assert!(problems.at("config").is_some());
        let of_list = Problems::one("methods.2", "There is no such method.".to_owned());
        assert!(of_list.at("methods").is_some());
    }
}
