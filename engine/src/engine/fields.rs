//! Fields that a gateway asks of the payer: the values to choose from, and whether a value fits.

use std::collections::BTreeMap;

use regex::RegexBuilder;
use switchyard_gateway::Options;
use switchyard_gateway::manifest::{Field, FieldOption};

use super::availability::sandbox_connection;
use super::{Engine, EngineError, RoutePreview};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::Transaction;
use switchyard_gateway_host::{Direction, OptionsCall};

/// Reason for which a value does not fit its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldProblem {
    /// Not one of the values to choose from.
    NotOffered,
    /// Not matched by the field's pattern.
    Format,
}

impl FieldProblem {
    /// Judges a value by the pattern and the options of its field. A pattern that is no regular
    /// expression counts as none.
    pub fn of(pattern: Option<&str>, options: &[FieldOption], value: &str) -> Option<Self> {
        if !options.is_empty() && !options.iter().any(|option| option.value == value) {
            return Some(Self::NotOffered);
        }
        let whole = format!("^(?:{})$", pattern?);
        let pattern = RegexBuilder::new(&whole).size_limit(PATTERN_BYTES).build();
        let is_other = pattern.is_ok_and(|pattern| !pattern.is_match(value));
        is_other.then_some(Self::Format)
    }
}

impl Engine {
    /// The values to choose from, by field, of the connection that `preview` names. A field whose
    /// list is not there now is left out: the payer types freely. Waits for a moment at most.
    pub async fn field_options(
        &self,
        tx: &Transaction,
        preview: &RoutePreview,
        method: &str,
    ) -> BTreeMap<String, Vec<FieldOption>> {
        let mut lists = BTreeMap::new();
        for field in gateway_fields(preview, method) {
            let Some(call) = self.options_call(tx, preview, method, field) else {
                continue;
            };
            if let Some(list) = self.gateways().options(call).await {
                lists.insert(field.name.clone(), list.to_vec());
            }
        }
        lists
    }

    /// Refuses values that the gateway to which the payment would go first does not take.
    pub(super) fn check_fields(
        &self,
        tx: &Transaction,
        method: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        let Some(preview) = self.route_preview(tx, method) else {
            return Ok(());
        };
        for field in gateway_fields(&preview, method) {
            let Some(value) = values.get(&field.name).filter(|value| !value.is_empty()) else {
                continue;
            };
            let known = self
                .options_call(tx, &preview, method, field)
                .and_then(|call| self.gateways().known_options(&call));
            let options = known.as_deref().unwrap_or(&field.options);
            if let Some(problem) = FieldProblem::of(field.pattern.as_deref(), options, value) {
                return Err(EngineError::FieldRefused {
                    field: field.name.clone(),
                    problem,
                });
            }
        }
        Ok(())
    }

    /// The call for the list of a field that has a source.
    fn options_call(
        &self,
        tx: &Transaction,
        preview: &RoutePreview,
        method: &str,
        field: &Field,
    ) -> Option<OptionsCall> {
        let source = field.options_from.clone()?;
        let row = preview.gateway.method(Direction::Collect, method)?;
        let currency = Currency::from_code(&row.currency)?;
        let unit = Amount::parse_major("1", currency).ok()?;
        let config = match self.access().connection(preview.connection) {
            Some(connection) => self.access().connection_config(&connection).ok()?,
            None if preview.connection == sandbox_connection(tx.app) => serde_json::json!({}),
            None => return None,
        };
        Some(OptionsCall {
            gateway: preview.gateway.clone(),
            environment: tx.environment,
            config,
            ask: Options {
                source,
                method: method.to_owned(),
                direction: Direction::Collect,
                unit: switchyard_gateway::Money::from_minor(
                    unit.minor(),
                    currency.code(),
                    currency.decimals(),
                ),
            },
        })
    }
}

fn gateway_fields<'p>(preview: &'p RoutePreview, method: &str) -> &'p [Field] {
    let row = preview.gateway.method(Direction::Collect, method);
    row.map(|row| row.fields.as_slice()).unwrap_or_default()
}

/// A pattern that compiles to more is none that a form needs.
const PATTERN_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_of_the_options_and_matches_the_whole_pattern() {
        let option = |value: &str| FieldOption {
            value: value.to_owned(),
            label: BTreeMap::from([("en".to_owned(), value.to_owned())]),
        };
        let banks = [option("058"), option("070")];
        let judged = |pattern, value| FieldProblem::of(pattern, &banks, value);
        assert_eq!(judged(None, "058"), None);
        assert_eq!(judged(None, "999"), Some(FieldProblem::NotOffered));
        assert_eq!(judged(Some("[0-9]{2}"), "058"), Some(FieldProblem::Format));
        let typed = |pattern, value| FieldProblem::of(Some(pattern), &[], value);
        assert_eq!(typed("^[0-9]{3}$", "058"), None);
        assert_eq!(typed("[0-9]{3}", "058; drop"), Some(FieldProblem::Format));
        assert_eq!(typed("a|b", "ab"), Some(FieldProblem::Format));
        assert_eq!(typed("[", "anything"), None);
    }
}
