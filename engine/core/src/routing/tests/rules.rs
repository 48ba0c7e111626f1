//! Matching of rules, and rules that are refused.

use super::*;

fn matches(when: &str, asked: &RouteRequest<'_>) -> bool {
    let set = one_rule(&format!(
        r#"{{"match": {when}, "strategy": {{"type": "cheapest"}}}}"#
    ));
    set.check().unwrap();
    planned(&set, asked, able(1)).decision.rule.is_some()
}

#[test]
fn a_rule_matches_when_all_that_it_gives_holds() {
    let metadata = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
    let asked = asked(&metadata);
    let table = [
        ("{}", true),
        (r#"{"kind": "payment"}"#, true),
        (r#"{"kind": "payout"}"#, false),
        (r#"{"methods": ["moov_bj", "mtn_bj"]}"#, true),
        (r#"{"methods": ["mtn_*"]}"#, true),
        (r#"{"methods": ["mtn_bj*"]}"#, true),
        (r#"{"methods": ["mtn"]}"#, false),
        (r#"{"methods": ["card_*"]}"#, false),
        (r#"{"countries": ["CI", "BJ"]}"#, true),
        (r#"{"countries": ["CI"]}"#, false),
        (r#"{"currencies": ["XOF"]}"#, true),
        (r#"{"currencies": ["XAF"]}"#, false),
        (
            r#"{"currencies": ["XOF"], "min_amount": "10000", "max_amount": "10000"}"#,
            true,
        ),
        (r#"{"currencies": ["XOF"], "min_amount": "10001"}"#, false),
        (r#"{"currencies": ["XOF"], "max_amount": "9999"}"#, false),
        (r#"{"metadata": {"tier": "gold"}}"#, true),
        (r#"{"metadata": {"tier": "silver"}}"#, false),
        (r#"{"metadata": {"tier": "gold", "shop": "1"}}"#, false),
        (r#"{"methods": ["mtn_*"], "countries": ["CI"]}"#, false),
    ];
    for (when, holds) in table {
        assert_eq!(matches(when, &asked), holds, "{when}");
    }
    let unknown = RouteRequest {
        country: None,
        ..asked
    };
    assert!(!matches(r#"{"countries": ["BJ"]}"#, &unknown));
}

#[test]
fn the_first_rule_that_matches_is_the_one_that_counts() {
    let nothing = BTreeMap::new();
    let set = rules(
        r#"{"rules": [
            {"match": {"kind": "payout"}, "strategy": {"type": "priority", "connections": ["con3"]}},
            {"match": {"methods": ["mtn_*"]}, "strategy": {"type": "priority", "connections": ["con2"]}},
            {"strategy": {"type": "priority", "connections": ["con1"]}}
        ]}"#
        .to_owned(),
    );
    let route = planned(&set, &asked(&nothing), able(3));
    assert_eq!(numbers(&route), [2, 1, 3]);
    assert_eq!(route.decision.rule.unwrap().number, 2);
}

#[test]
fn what_is_wrong_with_a_rule_is_said_with_its_place() {
    let priority = |list: &str, more: &str| {
        let strategy = format!(r#"{{"type": "priority", "connections": {list}}}"#);
        format!(r#"{{"rules": [{{"strategy": {strategy}{more}}}]}}"#)
    };
    let weight = |weight: u32| {
        format!(
            r#"{{"rules": [{{"strategy": {{"type": "weighted", "weights": [{{"connection": "con1", "weight": {weight}}}]}}}}]}}"#
        )
    };
    let when = |when: &str| priority(r#"["con1"]"#, &format!(r#", "match": {when}"#));
    let table = [
        (priority("[]", ""), "rules.0.strategy.connections is empty"),
        (
            priority(r#"["con1", "con2", "con1"]"#, ""),
            "rules.0.strategy.connections.2 names a connection for the second time",
        ),
        (
            priority(r#"["con1"]"#, r#", "name": """#),
            "rules.0.name is a text of 1 to 100",
        ),
        (
            priority(r#"["con1"]"#, r#", "name": "two\nlines""#),
            "rules.0.name is a text of 1 to 100",
        ),
        (
            weight(0),
            "rules.0.strategy.weights.0.weight is a whole number from 1",
        ),
        (
            weight(1_001),
            "rules.0.strategy.weights.0.weight is a whole number",
        ),
        (
            r#"{"rules": [{"strategy": {"type": "cheapest"}, "only": true}]}"#.to_owned(),
            "rules.0.only needs connections",
        ),
        (
            when(r#"{"countries": ["bj"]}"#),
            "rules.0.match.countries.0 is a country",
        ),
        (
            when(r#"{"methods": ["m*n"]}"#),
            "rules.0.match.methods.0 is a method's code",
        ),
        (
            when(r#"{"min_amount": "5"}"#),
            "rules.0.match.min_amount says nothing without `currencies`",
        ),
        (
            when(r#"{"currencies": ["XOF"], "max_amount": "5.5"}"#),
            "rules.0.match.max_amount cannot be read: the amount has too many decimals",
        ),
        (
            when(r#"{"currencies": ["XOF"], "min_amount": "6", "max_amount": "5"}"#),
            "rules.0.match.min_amount is more than",
        ),
    ];
    refused(&table);
}

#[test]
fn what_is_wrong_with_a_fee_is_said_with_its_place() {
    let fee = |fee: &str| format!(r#"{{"fees": [{{"connection": "con1"{fee}}}]}}"#);
    refused(&[
        (fee(""), "fees.0 says no fee"),
        (
            fee(r#", "fixed": "5""#),
            "fees.0.fixed is an amount: say of which `currency`",
        ),
        (
            fee(r#", "currency": "USD", "min": "5", "max": "4.99""#),
            "fees.0.min is more than",
        ),
    ]);
    for fits in [
        r#", "percent": "1""#,
        r#", "currency": "USD", "fixed": "0.30""#,
        r#", "currency": "USD", "percent": "1", "min": "5", "max": "5""#,
    ] {
        assert_eq!(rules(fee(fits)).check(), Ok(()), "{fits}");
    }
    for text in ["1.55555", "101", "-1", "1,5", "", ".5", "1.", "1e1"] {
        assert!(text.parse::<Percent>().is_err(), "{text}");
    }
}

fn refused(table: &[(String, &str)]) {
    for (text, expected) in table {
        let error = rules(text.clone()).check().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn rules_read_back_as_they_were_written() {
    let text = r#"{
        "rules": [{"name": "n", "match": {"methods": ["card_*"], "metadata": {"a": "b"}},
                   "strategy": {"type": "weighted", "weights": [{"connection": "con1", "weight": 3}]}}],
        "fees": [{"connection": "con1", "currency": "XOF", "percent": "1.50", "fixed": "25"}]
    }"#;
    let set = rules(text.to_owned());
    let written = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<RuleSet>(&written).unwrap(), set);
    assert!(written.contains(r#""percent":"1.5""#), "{written}");
    let unknown = text.replace("\"name\"", "\"nmae\"");
    assert!(serde_json::from_str::<RuleSet>(&unknown.replace("con1", &id(1).to_string())).is_err());
}

#[test]
fn connections_are_named_with_the_path_where_they_stand() {
    let set = rules(
        r#"{"rules": [
            {"strategy": {"type": "priority", "connections": ["con1", "con2"]}},
            {"strategy": {"type": "weighted", "weights": [{"connection": "con3", "weight": 1}]}}
        ],
        "fees": [{"connection": "con4", "percent": "1"}]}"#
            .to_owned(),
    );
    let named = set.connections();
    let paths: Vec<&str> = named.iter().map(|(path, _)| path.as_str()).collect();
    let expected = [
        "rules.0.strategy.connections.0",
        "rules.0.strategy.connections.1",
        "rules.1.strategy.weights.0.connection",
        "fees.0.connection",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_pattern_is_a_methods_code_or_its_beginning() {
    let [longest, long] = [100, 101].map(|characters| "m".repeat(characters));
    for (pattern, fits) in [
        ("mtn_bj", true),
        ("mtn_*", true),
        ("*", true),
        ("", false),
        ("MTN", false),
        ("m*n", false),
        (longest.as_str(), true),
        (long.as_str(), false),
    ] {
        let set = one_rule(&format!(
            r#"{{"match": {{"methods": ["{pattern}"]}}, "strategy": {{"type": "cheapest"}}}}"#
        ));
        assert_eq!(set.check().is_ok(), fits, "{pattern}");
    }
}

#[test]
fn methods_are_named_with_the_path_where_they_stand() {
    let set = rules(
        r#"{"rules": [
                {"match": {"methods": ["mtn_*", "moov_bj"]}, "strategy": {"type": "cheapest"}}
            ],
            "fees": [{"connection": "con1", "methods": ["card_usd"], "percent": "1"}]}"#
            .to_owned(),
    );
    let named = set.methods();
    let paths: Vec<&str> = named.iter().map(|(path, _)| path.as_str()).collect();
    let expected = [
        "rules.0.match.methods.0",
        "rules.0.match.methods.1",
        "fees.0.methods.0",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_list_has_500_entries_at_most() {
    for (count, fits) in [(500, true), (501, false)] {
        let methods = vec![r#""mtn_bj""#; count].join(", ");
        let set = one_rule(&format!(
            r#"{{"match": {{"methods": [{methods}]}}, "strategy": {{"type": "cheapest"}}}}"#
        ));
        assert_eq!(set.check().is_ok(), fits, "{count}");
    }
}
