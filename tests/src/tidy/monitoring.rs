//! Alert rules, their tests, the dashboard and the runbook: each metric that they name exists, and
//! each alert has a section and a test.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Metrics that `docs/metrics.md` lists, with their type.
pub fn documented_metrics(page: &str) -> BTreeMap<&str, &str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| {
        let (name, rest) = row.split_once("` | ")?;
        Some((name, rest.split(' ').next()?))
    })
    .collect()
}

/// Metrics that a text names and the documents do not list. A histogram has series of three names.
pub fn unknown_metrics(text: &str, documented: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let is_listed = |name: &str| {
        let series = ["_bucket", "_sum", "_count"];
        let histogram = series.iter().find_map(|suffix| name.strip_suffix(suffix));
        match histogram.and_then(|name| documented.get(name)) {
            Some(kind) => *kind == "histogram",
            None => documented
                .get(name)
                .is_some_and(|kind| *kind != "histogram"),
        }
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        .filter(|name| !is_listed(name))
        .map(str::to_owned)
        .collect()
}

/// Beginnings of the names of our metrics.
const PREFIXES: [&str; 2] = ["switchyard_", "process_"];

/// An alert rule as far as these checks read it.
pub struct Alert<'a> {
    pub name: &'a str,
    text: &'a str,
}

/// Alerts of a file of rules, which promtool parses in full.
pub fn alerts(rules: &str) -> Vec<Alert<'_>> {
    let rules = rules.split("- alert: ").skip(1);
    rules
        .map(|text| Alert {
            name: text.lines().next().unwrap_or_default(),
            text,
        })
        .collect()
}

/// Alerts without one of the annotations, without a section of the runbook or without a test.
pub fn incomplete_alerts(alerts: &[Alert<'_>], runbook: &str, tests: &str) -> Vec<String> {
    let mut found = Vec::new();
    for alert in alerts {
        let name = alert.name;
        let link = format!("runbook: docs/runbook.md#{}\n", name.to_lowercase());
        let missing = [
            ("a link to its section", alert.text.contains(&link)),
            ("a summary", alert.text.contains("summary: ")),
            ("a severity", alert.text.contains("severity: ")),
            ("a test", tests.contains(&format!("alertname=\"{name}\""))),
            (
                "a section of the runbook",
                runbook.contains(&format!("\n## {name}\n")),
            ),
        ];
        let missing = missing.iter().filter(|(_, is_there)| !is_there);
        found.extend(missing.map(|(what, _)| format!("{name} has not {what}")));
    }
    found
}

/// Sections of the runbook that belong to no alert, or lack a part.
pub fn incomplete_sections(runbook: &str, alerts: &[Alert<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for section in runbook.split("\n## Switchyard").skip(1) {
        let name = format!("Switchyard{}", section.lines().next().unwrap_or_default());
        if alerts.iter().all(|alert| alert.name != name) {
            found.push(format!("{name} is no alert"));
        }
        let parts = [
            "**Meaning.**",
            "**Customers.**",
            "**Look.**",
            "**Do.**",
            "**Over when**",
        ];
        let missing = parts.iter().filter(|part| !section.contains(*part));
        found.extend(missing.map(|part| format!("{name} lacks {part}")));
    }
    found
}

/// Panels of a dashboard without a description, a unit or an expression, and ids that two have.
pub fn incomplete_panels(dashboard: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut ids = BTreeSet::new();
    let panels = dashboard["panels"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    for panel in panels {
        let title = panel["title"].as_str().unwrap_or("a panel without a title");
        if !ids.insert(panel["id"].as_u64()) {
            found.push(format!("{title}: its id is taken"));
        }
        if panel["type"] == "row" {
            continue;
        }
        let has = |pointer: &str| {
            let text = panel.pointer(pointer).and_then(Value::as_str);
            text.is_some_and(|text| !text.is_empty())
        };
        for part in [
            "/description",
            "/fieldConfig/defaults/unit",
            "/targets/0/expr",
        ] {
            if !has(part) {
                found.push(format!("{title}: {part} is missing"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PAGE: &str = "| name | type |\n| `switchyard_held` | gauge | – |\n| `switchyard_call_seconds` | histogram | – |\n";

    #[test]
    fn a_metric_is_known_by_its_name_and_a_histogram_by_those_of_its_series() {
        let documented = documented_metrics(PAGE);
        let known = "switchyard_held == 1 and switchyard_call_seconds_bucket{le=\"1\"}";
        assert!(unknown_metrics(known, &documented).is_empty());
        for unknown in [
            "switchyard_hold",
            "switchyard_held_count",
            "switchyard_call_seconds",
        ] {
            let found = unknown_metrics(&format!("sum({unknown})"), &documented);
            assert_eq!(found, BTreeSet::from([unknown.to_owned()]));
        }
    }

    #[test]
    fn an_alert_has_a_summary_a_severity_a_section_and_a_test() {
        let whole = "groups:\n- alert: SwitchyardHeld\n  severity: critical\n  summary: held\n  \
                     runbook: docs/runbook.md#switchyardheld\n";
        let section =
            "\n## SwitchyardHeld\n**Meaning.** **Customers.** **Look.** **Do.** **Over when**";
        let test = "{alertname=\"SwitchyardHeld\"}";
        assert!(incomplete_alerts(&alerts(whole), section, test).is_empty());
        assert!(incomplete_sections(section, &alerts(whole)).is_empty());
        let bare = alerts("- alert: SwitchyardHeld\n");
        assert_eq!(incomplete_alerts(&bare, "", "").len(), 5);
        assert_eq!(incomplete_sections("\n## SwitchyardHeld\n", &bare).len(), 5);
        assert_eq!(
            incomplete_sections(section, &[]),
            ["SwitchyardHeld is no alert"]
        );
    }

    #[test]
    fn a_panel_has_an_id_a_description_a_unit_and_an_expression() {
        let whole = json!({"id": 1, "title": "Hold", "description": "Held", "fieldConfig": {"defaults": {"unit": "none"}},
            "targets": [{"expr": "switchyard_held"}]});
        let row = json!({"id": 2, "type": "row", "title": "Now"});
        assert!(incomplete_panels(&json!({"panels": [whole, row]})).is_empty());
        let bare = json!({"id": 1, "title": "Hold"});
        assert_eq!(incomplete_panels(&json!({"panels": [bare]})).len(), 3);
        assert_eq!(
            incomplete_panels(&json!({"panels": [whole, whole]})).len(),
            1
        );
    }
}
