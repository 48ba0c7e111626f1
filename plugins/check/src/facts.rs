//! Facts in the manifest on which the engine acts, said to the author in so many words.

use regex::Regex;
use switchyard_gateway::manifest::{Manifest, Method};

use crate::report::Report;

/// Says which promises about money and time the manifest makes, and whether each option of a field
/// fits the field's pattern.
pub(crate) fn judge(manifest: &Manifest, report: &mut Report) {
    if let Some(reason) = &manifest.capabilities.success_without_amount {
        let says = format!("the engine takes the amount that was asked for granted: {reason}");
        report.pass("static", "success without amount", says);
    }
    let ending = |method: &&Method| method.attempt_ends_after_s.is_some();
    let count = manifest.methods.iter().filter(ending).count();
    if count > 0 {
        let says = format!("{count} methods: the engine starts the next attempt after that time");
        report.pass("static", "attempts end", says);
    }
    for method in &manifest.methods {
        for field in &method.fields {
            let place = format!("field `{}` of `{}`", field.name, method.code);
            let Some(pattern) = &field.pattern else {
                continue;
            };
            let Ok(pattern) = Regex::new(pattern) else {
                let why = format!("the pattern of {place} is no regular expression: correct it");
                report.fail("static", "patterns", why);
                continue;
            };
            let misfit = field.options.iter().find(|it| !pattern.is_match(&it.value));
            if let Some(option) = misfit {
                let why = format!(
                    "the option `{}` of {place} does not fit its pattern: correct one of them",
                    option.value
                );
                report.fail("static", "options", why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::Verdict;

    #[test]
    fn an_option_that_its_own_pattern_refuses_is_found() {
        let judged = |pattern: &str| {
            let manifest = json!({
                "name": "acme", "version": "1.0.0", "abi": 1, "title": "Acme",
                "operations": ["collect", "query"],
                "methods": [{
                    "code": "ussd_ngn", "direction": "collect", "currency": "NGN",
                    "countries": ["NG"], "attempt_ends_after_s": 600,
                    "fields": [{"name": "bank", "pattern": pattern,
                                "options": [{"value": "058", "label": {"en": "GTBank"}}]}]
                }]
            });
            let manifest = Manifest::parse(manifest.to_string().as_bytes()).unwrap();
            let mut report = Report::default();
            judge(&manifest, &mut report);
            let failed = |row: &&crate::report::Row| row.verdict == Verdict::Failed;
            let rows = report.rows.iter().filter(failed);
            rows.map(|row| row.check.clone()).collect::<Vec<_>>()
        };
        assert!(judged("^[0-9]{3}$").is_empty());
        assert_eq!(judged("^[a-z]+$"), ["options"]);
        assert_eq!(judged("^["), ["patterns"]);
    }
}
