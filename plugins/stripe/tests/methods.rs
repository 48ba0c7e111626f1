//! The table of cards against the manifest and the engine's catalogue, and amounts in Stripe's
//! notation.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeSet;

use gateway_stripe::cards::{CARDS, Card, LARGEST, named};
use serde_json::Value;
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::{Amount, Direction, Money};

fn manifest() -> Manifest {
    Manifest::parse(include_bytes!("../gateway.json")).unwrap()
}

#[test]
fn the_manifest_has_one_row_for_each_card_method_of_the_catalogue_and_no_other() {
    let catalogue = include_str!("../../../engine/core/src/directory/data/payment_methods.json");
    let catalogue: Vec<Value> = serde_json::from_str(catalogue).unwrap();
    let cards = catalogue
        .iter()
        .filter(|row| row["code"].as_str().unwrap().starts_with("card_"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let wanted: BTreeSet<_> = cards
        .map(|row| {
            let countries: Vec<String> = row["countries"]
                .as_array()
                .unwrap()
                .iter()
                .map(text)
                .collect();
            (text(&row["code"]), text(&row["currency"]), countries)
        })
        .collect();
    let manifest = manifest();
    let mut rows = BTreeSet::new();
    for row in &manifest.methods {
        let card = Card::of(&row.code).unwrap();
        assert_eq!(
            (row.direction, row.currency.as_str()),
            (Direction::Collect, card.currency)
        );
        assert_eq!(
            row.decimals,
            Some(if card.is_whole { 0 } else { 2 }),
            "{}",
            row.code
        );
        assert!(row.fields.is_empty());
        rows.insert((
            row.code.clone(),
            row.currency.clone(),
            row.countries.clone(),
        ));
    }
    assert_eq!(rows, wanted);
    assert_eq!((CARDS.len(), rows.len()), (9, 9));
}

#[test]
fn the_largest_amount_of_each_row_is_the_largest_that_stripe_takes() {
    for row in &manifest().methods {
        let max = row.max.as_deref().unwrap();
        let decimals = row.decimals.unwrap();
        let minor: i64 = max.replace('.', "").parse().unwrap();
        let card = Card::of(&row.code).unwrap();
        let largest = card
            .amount(&Money::from_minor(minor, card.currency, decimals))
            .unwrap();
        let unit = if card.is_whole {
            10_i64.pow(card.exponent)
        } else {
            1
        };
        assert!(
            largest <= LARGEST && largest + unit > LARGEST,
            "{}",
            row.code
        );
    }
}

#[test]
fn amounts_go_out_in_stripes_smallest_unit_and_come_back_equal() {
    for (method, minor, decimals, stripes, decimal) in [
        ("card_usd", 2_550, 2, 2_550, "25.50"),
        ("card_usd", 5, 2, 5, "0.05"),
        ("card_zar", 100, 2, 100, "1.00"),
        // Without decimals: the unit itself.
        ("card_xof", 1_000, 0, 1_000, "1000"),
        ("card_xaf", 500, 0, 500, "500"),
        // A currency without decimals that is nevertheless written in hundredths.
        ("card_ugx", 5, 0, 500, "5"),
        ("card_ugx", 20_000, 0, 2_000_000, "20000"),
        // However many decimals the engine has for it.
        ("card_ugx", 500, 2, 500, "5"),
        ("card_tzs", 1_500, 0, 150_000, "1500.00"),
    ] {
        let card = Card::of(method).unwrap();
        let money = Money::from_minor(minor, card.currency, decimals);
        assert_eq!(card.amount(&money).unwrap(), stripes, "{method}");
        let small = card.currency.to_ascii_lowercase();
        assert_eq!(
            named(stripes, &small),
            Some(Amount::decimal(decimal, card.currency)),
            "{method}"
        );
    }
    // A fraction of a shilling is neither sent nor made whole.
    let card = Card::of("card_ugx").unwrap();
    assert!(card.amount(&Money::from_minor(550, "UGX", 2)).is_err());
    assert_eq!(named(550, "ugx"), Some(Amount::decimal("5.50", "UGX")));
    assert!(card.amount(&Money::from_minor(500, "USD", 2)).is_err());
    assert_eq!(named(500, "eur"), None);
    assert!(card.amount(&Money::from_minor(i64::MAX, "UGX", 0)).is_err());
}
