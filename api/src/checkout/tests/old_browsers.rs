//! Style and script of the pages in Chromium 80, the oldest browser that they are made for: a
//! declaration, a list of selectors or a script that it does not know is dropped as a whole.

use crate::checkout::assets::{SCRIPT, STYLE};

/// A rule of a style sheet.
struct Rule<'s> {
    /// Context of the rule: `@media (…)`.
    conditions: Vec<&'s str>,
    selectors: Vec<&'s str>,
    /// Property and value, in their order.
    declarations: Vec<(&'s str, &'s str)>,
}

impl Rule<'_> {
    fn value(&self, property: &str) -> Option<&str> {
        let mut same = self.declarations.iter().rev();
        same.find(|(name, _)| *name == property)
            .map(|(_, value)| *value)
    }

    /// For browsers without gaps between flexible boxes.
    fn is_fallback(&self) -> bool {
        self.conditions.contains(&"@supports not (inset: 0)")
    }

    fn is_under_supports(&self) -> bool {
        let is_supports = |condition: &&str| condition.starts_with("@supports (");
        self.conditions.iter().any(is_supports)
    }
}

fn rules(style: &str) -> Vec<Rule<'_>> {
    let (mut rules, mut open, mut from) = (Vec::new(), Vec::new(), 0);
    for (at, _) in style.match_indices(['{', '}']) {
        let part = style[from..at].trim();
        from = at + 1;
        if style[at..].starts_with('{') {
            open.push(part);
            continue;
        }
        let selectors: &str = open.pop().expect("a rule that ends has begun");
        if part.is_empty() {
            continue;
        }
        let declarations = part.split(';').filter_map(|one| one.split_once(':'));
        rules.push(Rule {
            conditions: open.clone(),
            selectors: selectors.split(',').map(str::trim).collect(),
            declarations: declarations
                .map(|(name, value)| (name.trim(), value.trim()))
                .collect(),
        });
    }
    rules
}

/// Parts of a style sheet that Chromium 80 lacks.
fn style_lacks(style: &str) -> Vec<String> {
    let rules = rules(style);
    let mut lacks = Vec::new();
    for rule in rules.iter().filter(|rule| !rule.is_under_supports()) {
        let selectors = rule.selectors.join(", ");
        let newer = NEWER_SELECTORS.iter();
        let newer = newer.filter(|newer| selectors.contains(**newer));
        lacks.extend(newer.map(|newer| format!("{newer} in {selectors}")));
        for (property, value) in &rule.declarations {
            let newer = NEWER_PROPERTIES.contains(property) || property.starts_with("inset");
            if newer || is_without_older_value(rule, property, value) {
                lacks.push(format!("{property}: {value} of {selectors}"));
            }
        }
    }
    lacks.extend(gaps_without_fallback(&rules));
    lacks
}

/// Whether a value is newer, and no older one of the same property stands before it.
fn is_without_older_value(rule: &Rule<'_>, property: &str, value: &str) -> bool {
    let is_newer = |value: &str| NEWER_VALUES.iter().any(|newer| value.contains(newer));
    let same = rule.declarations.iter().take_while(|one| one.1 != value);
    let mut older = same.filter(|one| one.0 == property && !is_newer(one.1));
    is_newer(value) && older.next().is_none()
}

/// Flexible boxes with a gap, without a margin in its place.
fn gaps_without_fallback(rules: &[Rule<'_>]) -> Vec<String> {
    let has_gap = |rule: &&Rule<'_>| {
        ["gap", "column-gap"]
            .iter()
            .any(|gap| rule.value(gap).is_some())
    };
    let fallbacks = rules.iter().filter(|rule| rule.is_fallback());
    let fallbacks: Vec<&str> = fallbacks.flat_map(|rule| rule.selectors.clone()).collect();
    let display = |selector: &str| {
        let mut same = rules
            .iter()
            .filter(|rule| rule.selectors.contains(&selector));
        same.find_map(|rule| rule.value("display"))
    };
    let mut lacks = Vec::new();
    for rule in rules.iter().filter(has_gap) {
        for selector in &rule.selectors {
            let shown = rule.value("display").or_else(|| display(selector));
            let is_grid = shown == Some("grid");
            // A margin of the element's children or of its generated content.
            let inside = fallbacks
                .iter()
                .filter_map(|one| one.strip_prefix(selector));
            let mut inside = inside.filter(|rest| {
                let is_beside = rest.trim_start().starts_with(['+', '~']);
                rest.starts_with([' ', ':']) && !is_beside
            });
            if !is_grid && inside.next().is_none() {
                lacks.push(format!("gap of {selector}"));
            }
        }
    }
    lacks
}

/// Parts of a script that Chromium 80 lacks.
fn script_lacks(script: &str) -> Vec<&'static str> {
    let newer = NEWER_SCRIPT.iter().copied();
    newer.filter(|newer| script.contains(newer)).collect()
}

#[test]
fn the_style_is_one_that_chromium_80_knows() {
    let rules = rules(&STYLE);
    assert!(rules.len() > 100 && rules.iter().any(Rule::is_fallback));
    assert_eq!(style_lacks(&STYLE), Vec::<String>::new());
}

#[test]
fn the_script_is_one_that_chromium_80_knows() {
    assert_eq!(script_lacks(&SCRIPT), Vec::<&str>::new());
}

#[test]
fn what_chromium_80_lacks_is_found_and_what_has_an_older_form_is_let_through() {
    let fallback = "@supports not (inset: 0) { .a > * + * { margin-inline-start: 1rem; } }";
    for (lacks, style) in [
        (true, ".a { inset: 0; }".to_owned()),
        (
            true,
            "@supports not (inset: 0) { .a { inset: 0; } }".to_owned(),
        ),
        (
            false,
            "@supports (inset: 0) { .a { inset: 0; } }".to_owned(),
        ),
        (
            true,
            "@media (min-width: 1rem) { .a { inset-inline: 0; } }".to_owned(),
        ),
        (true, ".a:is(.b, .c) { top: 0; }".to_owned()),
        (true, ":where(.a) { top: 0; }".to_owned()),
        (true, ".a { aspect-ratio: 1; }".to_owned()),
        (true, ".a { padding-block: 1rem 0; }".to_owned()),
        (false, ".a { padding-block-start: 1rem; }".to_owned()),
        (true, ".a { margin-inline: auto; }".to_owned()),
        (true, ".a { min-block-size: 100dvh; }".to_owned()),
        (
            false,
            ".a { min-block-size: 100vh; min-block-size: 100dvh; }".to_owned(),
        ),
        (true, ".a { display: flex; gap: 1rem; }".to_owned()),
        (
            true,
            format!(".b {{ display: flex; gap: 1rem; }} {fallback}"),
        ),
        (
            true,
            format!(".ab {{ display: flex; gap: 1rem; }} {fallback}"),
        ),
        (
            false,
            format!(".a {{ display: flex; gap: 1rem; }} {fallback}"),
        ),
        (false, ".a { display: grid; } .a { gap: 1rem; }".to_owned()),
    ] {
        let found = style_lacks(&style);
        assert_eq!(!found.is_empty(), lacks, "{style}: {found:?}");
    }
    for script in [
        "a?.b",
        "a ?? b",
        "a ||= b",
        "a.replaceAll('b', '')",
        "a.at(-1)",
        "structuredClone(a)",
    ] {
        assert_eq!(script_lacks(script).len(), 1, "{script}");
    }
    let older = "a ? .5 : b; a.replace(/b/g, ''); data.attach(a)";
    assert_eq!(script_lacks(older), Vec::<&str>::new());
}

/// With the first version that knows it: 88, 88, 105, 105.
const NEWER_SELECTORS: [&str; 4] = [":is(", ":where(", ":has(", ":user-valid"];
/// Shorthands of version 87, and later properties. All properties that begin with `inset` are of 87
/// as well.
const NEWER_PROPERTIES: [&str; 8] = [
    "aspect-ratio",
    "padding-block",
    "padding-inline",
    "margin-block",
    "margin-inline",
    "translate",
    "rotate",
    "scale",
];
const NEWER_VALUES: [&str; 6] = ["dvh", "svh", "lvh", "color-mix(", "oklch(", "light-dark("];
const NEWER_SCRIPT: [&str; 13] = [
    "?.",
    "??",
    "||=",
    "&&=",
    ".replaceAll(",
    ".at(",
    "structuredClone(",
    ".findLast(",
    ".toSorted(",
    "Object.hasOwn(",
    "Promise.any(",
    "crypto.randomUUID(",
    ".replaceChildren(",
];
