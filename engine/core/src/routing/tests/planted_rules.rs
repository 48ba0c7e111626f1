//! Details of fees, rules and rates that a change of routing could lose unseen.

use super::*;
use crate::testing::START;

fn row(percent: Option<&str>, fixed: Option<&str>, min: Option<&str>) -> FeeRow {
    let text = |text: Option<&str>| text.map(str::to_owned);
    FeeRow {
        connection: id(1),
        kind: None,
        methods: Vec::new(),
        currency: Some(amount(1, "XOF").currency()),
        percent: percent.map(|text| text.parse().unwrap()),
        fixed: text(fixed),
        min: text(min),
        max: None,
    }
}

#[test]
fn a_fixed_fee_needs_no_percentage() {
    let fee = |row: FeeRow| row.fee(amount(10_000, "XOF"));
    let fixed = fee(row(None, Some("100"), None));
    assert_eq!(fixed, Some(amount(100, "XOF")));
}

#[test]
fn a_row_with_a_least_fee_alone_says_a_fee() {
    let row = row(None, None, Some("25"));
    assert_eq!(row.fee(amount(10_000, "XOF")), Some(amount(25, "XOF")));
    let set = RuleSet {
        fees: vec![row],
        ..RuleSet::default()
    };
    assert_eq!(set.check(), Ok(()));
}

#[test]
fn a_success_that_a_query_found_is_an_end() {
    let key = Key {
        connection: id(1),
        kind: Kind::Payment,
        method: "mtn_bj".to_owned(),
    };
    let found = Verdict {
        works: None,
        succeeded: Some(true),
        short_of_funds: false,
    };
    let mut health = Health::new(10);
    health.note(&key, found, START, START);
    let numbers = health.recent(&key, START).numbers;
    assert_eq!((numbers.ended, numbers.succeeded), (1, 1));
}

#[test]
fn a_bound_is_an_amount_of_each_currency_of_the_rule() {
    let set = one_rule(
        r#"{"match": {"currencies": ["USD", "XOF"], "min_amount": "0.50"},
            "strategy": {"type": "cheapest"}}"#,
    );
    let error = set.check().unwrap_err();
    assert_eq!(error.path, "rules.0.match.min_amount");
}

#[test]
fn metadata_with_an_empty_value_matches_only_an_empty_value() {
    let set =
        one_rule(r#"{"match": {"metadata": {"tier": ""}}, "strategy": {"type": "cheapest"}}"#);
    for (tier, matches) in [(None, false), (Some("gold"), false), (Some(""), true)] {
        let pairs = tier.map(|tier| ("tier".to_owned(), tier.to_owned()));
        let metadata = BTreeMap::from_iter(pairs);
        let route = planned(&set, &asked(&metadata), able(1));
        assert_eq!(route.decision.rule.is_some(), matches, "{tier:?}");
    }
}
