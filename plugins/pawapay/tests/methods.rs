//! The table of operators against the manifest, the engine's catalogue and pawaPay's own list.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use std::collections::BTreeSet;

use gateway_pawapay::operators::{Authorisation, OPERATORS, Operator};
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
fn the_manifest_has_one_row_for_each_operator_and_direction_and_no_other() {
    let manifest = manifest();
    let mut rows = BTreeSet::new();
    for row in &manifest.methods {
        let operator = Operator::of(&row.code).unwrap();
        assert_eq!(row.currency, operator.currency, "{}", row.code);
        assert_eq!(row.countries, [operator.country.alpha2], "{}", row.code);
        assert_eq!(row.decimals, Some(operator.decimals()), "{}", row.code);
        let asks: Vec<&str> = row.fields.iter().map(|field| field.name.as_str()).collect();
        let needs_code =
            row.direction == Direction::Collect && operator.authorisation == Authorisation::Preauth;
        let wanted: &[&str] = if needs_code {
            &["msisdn", "otp"]
        } else {
            &["msisdn"]
        };
        assert_eq!(asks, wanted, "{}", row.code);
        rows.insert((row.code.clone(), row.direction));
    }
    let mut wanted = BTreeSet::new();
    for operator in OPERATORS {
        wanted.insert((operator.code.to_owned(), Direction::Collect));
        if operator.pays_out {
            wanted.insert((operator.code.to_owned(), Direction::Payout));
        }
    }
    assert_eq!(rows, wanted);
    assert_eq!((OPERATORS.len(), rows.len()), (34, 66));
}

#[test]
fn every_method_is_one_of_the_catalogue_with_its_currency_and_country() {
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
}

#[test]
fn every_operator_is_in_pawapays_list_with_its_country_prefix_currency_and_way_to_confirm() {
    for operator in OPERATORS {
        let listed = simulator::providers()
            .find(|listed| listed.name == operator.provider && listed.currency == operator.currency)
            .unwrap_or_else(|| panic!("{} is not listed", operator.provider));
        assert_eq!(listed.country, operator.country.alpha3, "{}", operator.code);
        assert_eq!(
            listed.prefix, operator.country.dial_code,
            "{}",
            operator.code
        );
        let way = match operator.authorisation {
            Authorisation::Prompt => &["AUTOMATIC", "MANUAL"][..],
            Authorisation::Preauth => &["PREAUTH"],
            Authorisation::Redirect => &["REDIRECT_AUTH"],
        };
        assert!(way.contains(&listed.authorisation), "{}", operator.code);
    }
}

#[test]
fn a_number_is_written_with_its_dial_code_and_nothing_else() {
    for (method, typed, written) in [
        ("mtn_bj", "+229 51 34 57 89", "22951345789"),
        ("mtn_bj", "22951345789", "22951345789"),
        ("mtn_bj", "0022951345789", "22951345789"),
        ("mtn_bj", "51345789", "22951345789"),
        // Benin's numbers of ten digits keep their 0, and so do Côte d'Ivoire's.
        ("mtn_bj", "0151345789", "2290151345789"),
        ("mtn_bj", "+2290151345789", "2290151345789"),
        ("orange_ci", "07 07 12 34 56", "2250707123456"),
        ("mpesa_ke", "0708 374 149", "254708374149"),
        ("mpesa_ke", "254708374149", "254708374149"),
        ("mtn_gh", "(024) 345-6789", "233243456789"),
        ("orange_cm", "693456789", "237693456789"),
        // Of another country: pawaPay says what it thinks of it.
        ("mtn_bj", "+233 24 345 6789", "233243456789"),
    ] {
        let country = Operator::of(method).unwrap().country;
        assert_eq!(
            country.msisdn(typed).as_deref(),
            Some(written),
            "{method} {typed}"
        );
    }
    let country = Operator::of("mtn_bj").unwrap().country;
    assert_eq!(country.msisdn(" + "), None);
    for case in simulator::cases() {
        let Some(operator) = OPERATORS
            .iter()
            .find(|operator| operator.provider == case.provider)
        else {
            continue;
        };
        for typed in [case.msisdn.to_owned(), format!("+{}", case.msisdn)] {
            assert_eq!(
                operator.country.msisdn(&typed).as_deref(),
                Some(case.msisdn)
            );
        }
    }
}

#[test]
fn an_amount_has_decimals_only_when_it_needs_them_and_the_operator_takes_them() {
    let amount = |method: &str, minor, currency: &str, decimals| {
        let operator = Operator::of(method).unwrap();
        operator
            .amount(&Money::from_minor(minor, currency, decimals))
            .map_err(|fault| fault.message)
    };
    for (method, minor, currency, decimals, written) in [
        ("mtn_bj", 1_000, "XOF", 0, "1000"),
        ("mtn_gh", 1_000, "GHS", 2, "10"),
        ("mtn_gh", 1_050, "GHS", 2, "10.50"),
        ("mtn_gh", 5, "GHS", 2, "0.05"),
        ("mtn_ug", 500_000, "UGX", 2, "5000"),
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
        amount("mtn_bj", 1_000, "XAF", 0)
            .unwrap_err()
            .contains("paid in XOF")
    );
    assert!(Operator::of("card_xof").is_err());
}
