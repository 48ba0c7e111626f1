//! Amounts as people type them: `25.00`, `25,00`, `USD 25`, `1 500 000 FCFA`.

use switchyard_core::money::{Amount, Currency};

/// An amount of a text. Without currencies: of any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedAmount {
    /// See [`decimal`].
    pub decimal: String,
    pub currencies: Vec<Currency>,
}

/// Major units without zeros at the end and the start: `25`, `0.5`. Amounts of two currencies have
/// the same text when a person writes them with the same digits.
pub(super) fn decimal(amount: Amount) -> String {
    let text = amount.decimal();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    joined(whole, fraction)
}

/// The amounts that `text` can be: none, one, or two where a mark may separate thousands or
/// decimals (`1,500`).
pub(super) fn typed(text: &str) -> Vec<TypedAmount> {
    let text = text.trim();
    let is_number = |letter: char| letter.is_ascii_digit();
    let (Some(start), Some(end)) = (text.find(is_number), text.rfind(is_number)) else {
        return Vec::new();
    };
    let (before, after) = (text[..start].trim(), text[end + 1..].trim());
    let currencies = match (before, after) {
        ("", "") => Vec::new(),
        ("", name) | (name, "") => match named(name) {
            currencies if currencies.is_empty() => return Vec::new(),
            currencies => currencies,
        },
        _ => return Vec::new(),
    };
    let amount = |decimal| TypedAmount {
        decimal,
        currencies: currencies.clone(),
    };
    decimals(&text[start..=end])
        .into_iter()
        .map(amount)
        .collect()
}

/// Currencies with this code or symbol. The CFA franc is one word for two of them.
fn named(text: &str) -> Vec<Currency> {
    let plain = |text: &str| text.split_whitespace().collect::<String>().to_uppercase();
    let name = plain(text);
    if let Some(currency) = Currency::from_code(&name) {
        return vec![currency];
    }
    let has_name = |currency: &Currency| {
        let info = currency.info();
        let is_cfa = matches!(currency.code(), "XOF" | "XAF") && matches!(&*name, "CFA" | "F");
        is_cfa || plain(info.symbol) == name || plain(info.symbol_native) == name
    };
    Currency::all().filter(has_name).collect()
}

/// The numbers that `text`, which starts and ends with a digit, can be.
fn decimals(text: &str) -> Vec<String> {
    let is_space = |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '\u{2019}');
    let text: String = text.chars().filter(|letter| !is_space(*letter)).collect();
    let is_mark = |letter: char| matches!(letter, '.' | ',');
    if text.contains(|letter: char| !letter.is_ascii_digit() && !is_mark(letter)) {
        return Vec::new();
    }
    let digits = |text: &str| text.replace(is_mark, "");
    let Some((whole, fraction)) = text.rsplit_once(is_mark) else {
        return bounded(vec![joined(&text, "")]);
    };
    let mark = &text[whole.len()..=whole.len()];
    let as_decimals = || joined(&digits(whole), fraction);
    let as_thousands = || joined(&digits(&text), "");
    bounded(match (whole.contains(mark), whole.contains(is_mark)) {
        (true, _) => vec![as_thousands()],
        (false, false) if fraction.len() == 3 => vec![as_thousands(), as_decimals()],
        _ => vec![as_decimals()],
    })
}

/// Leaves out numbers that no amount has.
fn bounded(mut decimals: Vec<String>) -> Vec<String> {
    decimals.retain(|decimal| decimal.len() <= LONGEST);
    decimals.dedup();
    decimals
}

fn joined(whole: &str, fraction: &str) -> String {
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// Digits and mark of an amount.
const LONGEST: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_however_it_is_written() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("25", &["25"], &[]),
            ("25.00", &["25"], &[]),
            ("25,50", &["25.5"], &[]),
            ("025.5", &["25.5"], &[]),
            ("0.05", &["0.05"], &[]),
            ("USD 25", &["25"], &["USD"]),
            ("25 usd", &["25"], &["USD"]),
            ("25usd", &["25"], &["USD"]),
            ("1,250.00", &["1250"], &[]),
            ("1.250,75 EUR", &["1250.75"], &["EUR"]),
            ("1 500 000 FCFA", &["1500000"], &["XAF", "XOF"]),
            ("1\u{202f}500\u{a0}F CFA", &["1500"], &["XAF", "XOF"]),
            ("5000 F", &["5000"], &["XAF", "XOF", "XPF"]),
            ("₦45,000.00", &["45000"], &["NGN"]),
            ("1'500", &["1500"], &[]),
            ("1,500", &["1500", "1.5"], &[]),
            ("1.500", &["1500", "1.5"], &[]),
            ("1,500,000", &["1500000"], &[]),
            ("1,234.567", &["1234.567"], &[]),
            ("", &[], &[]),
            ("USD", &[], &[]),
            ("25 apples", &[], &[]),
            ("USD 25 now", &[], &[]),
            ("-25", &[], &[]),
            ("2026-11-20", &[], &[]),
            ("12:30", &[], &[]),
            ("123456789012345678901", &[], &[]),
        ];
        for (text, expected, codes) in table {
            let found = typed(text);
            let decimals: Vec<_> = found.iter().map(|amount| &*amount.decimal).collect();
            assert_eq!(decimals, *expected, "{text}");
            for amount in found {
                let found: Vec<_> = amount.currencies.iter().map(|one| one.code()).collect();
                assert_eq!(found, *codes, "{text}");
            }
        }
        assert!(typed("$25").iter().any(|amount| {
            let usd = Currency::from_code("USD").unwrap();
            amount.currencies.contains(&usd)
        }));
    }

    #[test]
    fn every_amount_is_found_as_it_is_shown() {
        for currency in Currency::all() {
            for minor in [1, 5, 100, 2_500, 1_234_567, 1_000_000_000] {
                let amount = Amount::from_minor(minor, currency);
                for shown in [amount.format(), format!("{currency} {}", amount.decimal())] {
                    let found = typed(&shown);
                    let is_same = |one: &TypedAmount| {
                        one.decimal == decimal(amount) && one.currencies.contains(&currency)
                    };
                    assert!(found.iter().any(is_same), "{shown} {found:?}");
                }
            }
        }
    }
}
