//! The table of methods against the manifest and the engine's catalogue, and how numbers, banks and
//! amounts are written.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeSet;

use gateway_flutterwave::methods::{CollectMode, METHODS, Method, USSD_BANKS, ussd_bank};
use serde_json::Value;
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::{Direction, Money};

fn manifest() -> Manifest {
    Manifest::parse(include_bytes!("../gateway.json")).unwrap()
}

/// Code, currency, countries of the catalogue's methods.
fn catalogue(text: &str) -> BTreeSet<(String, String, Vec<String>)> {
    let rows: Vec<Value> = serde_json::from_str(text).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |row: &Value| {
        let countries = row["countries"].as_array().unwrap();
        (
            text(&row["code"]),
            text(&row["currency"]),
            countries.iter().map(text).collect(),
        )
    };
    rows.iter().map(row).collect()
}

#[test]
fn the_manifest_has_one_row_for_each_method_and_direction_and_no_other() {
    let manifest = manifest();
    let mut rows = BTreeSet::new();
    for row in &manifest.methods {
        let method = Method::of(&row.code).unwrap();
        assert_eq!(row.currency, method.currency, "{}", row.code);
        assert_eq!(row.decimals, Some(method.decimals()), "{}", row.code);
        if let Some(country) = method.country {
            assert_eq!(row.countries, [country.alpha2], "{}", row.code);
        }
        let asks: Vec<&str> = row.fields.iter().map(|field| field.name.as_str()).collect();
        let wanted: &[&str] = match (row.direction, method.collect) {
            (Direction::Payout, _) | (_, Some(CollectMode::Mobile(..))) => &["msisdn"],
            (_, Some(CollectMode::Ussd)) => &["account_bank"],
            _ => &[],
        };
        assert_eq!(asks, wanted, "{}", row.code);
        rows.insert((row.code.clone(), row.direction));
    }
    let mut wanted = BTreeSet::new();
    for method in METHODS {
        if method.collect.is_some() {
            wanted.insert((method.code.to_owned(), Direction::Collect));
        }
        if method.payout.is_some() {
            wanted.insert((method.code.to_owned(), Direction::Payout));
        }
    }
    assert_eq!(rows, wanted);
    assert_eq!((METHODS.len(), rows.len()), (39, 62));
}

#[test]
fn every_method_is_one_of_the_catalogue_with_its_currency_and_countries() {
    let payments = catalogue(include_str!(
        "../../../engine/core/src/directory/data/payment_methods.json"
    ));
    let payouts = catalogue(include_str!(
        "../../../engine/core/src/directory/data/payout_methods.json"
    ));
    for row in manifest().methods {
        let known = match row.direction {
            Direction::Collect => &payments,
            Direction::Payout => &payouts,
        };
        let wanted = (row.code.clone(), row.currency, row.countries);
        assert!(known.contains(&wanted), "{wanted:?}");
    }
    // Every card of the catalogue goes by the page.
    for (code, ..) in payments
        .iter()
        .filter(|(code, ..)| code.starts_with("card_"))
    {
        assert_eq!(
            Method::of(code).unwrap().collect,
            Some(CollectMode::Page),
            "{code}"
        );
    }
}

#[test]
fn a_number_is_written_with_its_dial_code_and_nothing_else() {
    for (method, typed, written) in [
        ("mtn_gh", "(024) 345-6789", "233243456789"),
        ("mtn_gh", "+233 24 345 6789", "233243456789"),
        ("mpesa_ke", "0708 374 149", "254708374149"),
        ("mpesa_ke", "00254708374149", "254708374149"),
        ("orange_ci", "07 07 12 34 56", "2250707123456"),
        ("mtn_cm", "670000000", "237670000000"),
        ("mtn_ug", "256770000000", "256770000000"),
    ] {
        let method = Method::of(method).unwrap();
        assert_eq!(
            method.msisdn(Some(typed)).as_deref(),
            Some(written),
            "{typed}"
        );
    }
    let ghana = Method::of("mtn_gh").unwrap();
    assert_eq!(ghana.msisdn(Some(" + ")), None);
    assert_eq!(ghana.msisdn(None), None);
}

#[test]
fn a_bank_is_known_by_its_code_and_by_its_names() {
    for (typed, code) in [
        ("058", Some("058")),
        ("GT Bank", Some("058")),
        ("First-Bank", Some("011")),
        ("zenith", Some("057")),
        ("999", None),
        ("", None),
    ] {
        assert_eq!(ussd_bank(typed), code, "{typed}");
    }
    let codes: BTreeSet<&str> = USSD_BANKS.iter().map(|(code, _)| *code).collect();
    let names: Vec<&&str> = USSD_BANKS.iter().flat_map(|(_, names)| *names).collect();
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!(
        (codes.len(), different.len()),
        (USSD_BANKS.len(), names.len())
    );
}

#[test]
fn an_amount_has_decimals_only_when_it_needs_them_and_the_currency_has_them() {
    let amount = |method: &str, minor, currency: &str, decimals| {
        let method = Method::of(method).unwrap();
        method
            .amount(&Money::from_minor(minor, currency, decimals))
            .map_err(|fault| fault.message)
    };
    for (method, minor, currency, decimals, written) in [
        ("card_xof", 1_000, "XOF", 0, "1000"),
        ("card_ghs", 1_000, "GHS", 2, "10"),
        ("card_ghs", 1_050, "GHS", 2, "10.50"),
        ("card_usd", 5, "USD", 2, "0.05"),
        ("mtn_ug", 500_000, "UGX", 2, "5000"),
        (
            "card_ngn",
            900_719_925_474_099_301,
            "NGN",
            2,
            "9007199254740993.01",
        ),
    ] {
        assert_eq!(
            amount(method, minor, currency, decimals).as_deref(),
            Ok(written)
        );
    }
    assert!(
        amount("mtn_ug", 500_050, "UGX", 2)
            .unwrap_err()
            .contains("whole amounts")
    );
    assert!(
        amount("card_xof", 1_000, "XAF", 0)
            .unwrap_err()
            .contains("paid in XOF")
    );
    assert!(Method::of("barter").is_err());
}

#[test]
fn the_banks_to_choose_from_are_those_that_have_a_code_to_dial() {
    let manifest = manifest();
    let row = manifest.methods.iter().find(|row| row.code == "ussd_ngn");
    let field = &row.unwrap().fields[0];
    let mut offered: Vec<_> = field
        .options
        .iter()
        .map(|bank| bank.value.as_str())
        .collect();
    for bank in &field.options {
        let label = bank.label("en");
        let named = label.split_once(" (").map_or(label, |(name, _)| name);
        assert_eq!(ussd_bank(named), Some(bank.value.as_str()), "{named}");
    }
    offered.sort_unstable();
    let known: Vec<_> = USSD_BANKS.iter().map(|(code, _)| *code).collect();
    assert_eq!(offered, known);
}
