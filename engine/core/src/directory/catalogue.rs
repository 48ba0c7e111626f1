//! Reads the catalogue: two data files that are part of the program.
//!
//! Source of the files: the published lists of payment and payout methods of this API family.
//! `{service}` in a code stands for the code under which this installation runs.

use serde::Deserialize;

use super::country::{Country, countries, country};
use super::method::{Category, FieldType, Method, RecipientField};
use crate::money::Currency;
use crate::transaction::Kind;

#[derive(Deserialize)]
struct Row {
    name: String,
    code: String,
    currency: Currency,
    countries: Vec<String>,
    #[serde(default)]
    required_fields: Vec<FieldRow>,
}

#[derive(Deserialize)]
struct FieldRow {
    name: String,
    #[serde(rename = "type")]
    field_type: FieldType,
    example: String,
}

pub(super) fn payments(service_code: &str) -> Vec<Method> {
    read(
        include_str!("data/payment_methods.json"),
        Kind::Payment,
        service_code,
    )
}

pub(super) fn payouts(service_code: &str) -> Vec<Method> {
    read(
        include_str!("data/payout_methods.json"),
        Kind::Payout,
        service_code,
    )
}

fn read(file: &str, kind: Kind, service_code: &str) -> Vec<Method> {
    // The file is compiled in, and the tests below read both.
    let rows: Vec<Row> = serde_json::from_str(file).expect("the catalogue is valid");
    rows.into_iter()
        .map(|row| method(row, kind, service_code))
        .collect()
}

fn method(row: Row, kind: Kind, service_code: &str) -> Method {
    let category = Category::of(&row.code);
    let countries: Vec<_> = row.countries.iter().flat_map(|code| expand(code)).collect();
    let home = countries.first().copied();
    let fields = match kind {
        Kind::Payment => payer_fields(category, home),
        Kind::Payout => row
            .required_fields
            .into_iter()
            .map(|field| recipient_field(field, home))
            .collect(),
    };
    Method {
        code: row.code.replace("{service}", service_code),
        description: category.describe(kind, &row.name),
        name: row.name,
        kind,
        category,
        currency: row.currency,
        countries,
        fields,
    }
}

/// The countries that an entry of the catalogue stands for.
fn expand(code: &str) -> Vec<&'static Country> {
    match code {
        "World" => countries().iter().collect(),
        "EU" => countries().iter().filter(|country| country.eu).collect(),
        code => country(code).into_iter().collect(),
    }
}

/// Fields that a payer fills in before the request to the provider. The provider's own page asks
/// for all others (a card's digits never reach this server).
fn payer_fields(category: Category, home: Option<&Country>) -> Vec<RecipientField> {
    match category {
        Category::MobileMoney | Category::Test => home.map(msisdn).into_iter().collect(),
        Category::Card
        | Category::BankTransfer
        | Category::Qr
        | Category::Ussd
        | Category::Crypto
        | Category::Wallet => vec![],
    }
}

fn msisdn(home: &Country) -> RecipientField {
    let national = home.numbering.mobile;
    let digits = national.checked_add(home.dial_code.len() as u8); // a calling code has at most three digits
    RecipientField {
        name: "msisdn".to_owned(),
        label: "Phone number",
        field_type: FieldType::Integer,
        required: true,
        length: digits.filter(|_| national > 0),
        example: format!("{}{}", home.dial_code, "X".repeat(usize::from(national))),
    }
}

/// A field of the catalogue. Its examples print nine digits after each calling code; where the
/// country's numbering plan knows the length of mobile numbers, the plan is right (ten in Benin,
/// Côte d'Ivoire and Nigeria, eight in Mali and Togo).
fn recipient_field(row: FieldRow, home: Option<&Country>) -> RecipientField {
    let planned = home
        .filter(|country| row.name == "msisdn" && country.numbering.mobile > 0)
        .map(msisdn);
    RecipientField {
        label: label(&row.name),
        length: planned.as_ref().map_or_else(
            || u8::try_from(row.example.len()).ok(),
            |field| field.length,
        ),
        example: planned.map_or(row.example, |field| field.example),
        name: row.name,
        field_type: row.field_type,
        required: true,
    }
}

fn label(name: &str) -> &'static str {
    match name {
        "msisdn" => "Mobile money number",
        "account_number" => "Account number",
        _ => "Recipient",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_countries_that_exist() {
        for file in [
            include_str!("data/payment_methods.json"),
            include_str!("data/payout_methods.json"),
        ] {
            let rows: Vec<Row> = serde_json::from_str(file).unwrap();
            for row in rows {
                assert!(!row.countries.is_empty(), "{}", row.code);
                for code in &row.countries {
                    assert!(!expand(code).is_empty(), "{}: {code}", row.code);
                }
            }
        }
    }

    #[test]
    fn every_recipient_field_has_its_own_label() {
        for method in payouts("x") {
            for field in &method.fields {
                assert_ne!(field.label, "Recipient", "{}", field.name);
            }
        }
    }

    #[test]
    fn the_union_stands_for_its_members() {
        assert_eq!(expand("EU").len(), 27);
        assert_eq!(expand("World").len(), 249);
        assert_eq!(expand("BJ").len(), 1);
    }
}
