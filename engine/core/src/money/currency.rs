//! A currency is a row of a table that is part of the program: comparing two is comparing two
//! codes, and there is no other kind.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::currencies::CURRENCIES;

/// A currency as docs/contract/resources.md shows it. `decimals` and `decimal_digits` there are
/// both [`CurrencyInfo::decimals`].
#[derive(Debug)]
pub struct CurrencyInfo {
    /// ISO 4217.
    pub code: &'static str,
    pub name: &'static str,
    pub name_plural: &'static str,
    /// Unambiguous among the table's currencies in common use: the code where the local symbol is
    /// shared or not widely known.
    pub symbol: &'static str,
    /// As written at home.
    pub symbol_native: &'static str,
    /// Name of the smaller unit, also where it is no longer struck or counted.
    pub subunit: &'static str,
    pub decimal_mark: &'static str,
    pub thousands_separator: &'static str,
    pub symbol_first: bool,
    /// Digits after the decimal mark, by ISO 4217.
    pub decimals: u8,
    /// Step to which amounts are rounded, 0 for none. No currency here has one: an amount is never
    /// rounded.
    pub rounding: u8,
}

impl CurrencyInfo {
    /// Smallest units in one unit: 100 for USD, 1 for XOF.
    pub const fn subunit_to_unit(&self) -> i64 {
        10_i64.pow(self.decimals as u32)
    }

    /// Path of the currency's icon below the public URL.
    pub fn icon_path(&self) -> String {
        format!("/icons/currencies/{}.svg", self.code.to_ascii_lowercase())
    }
}

/// A handle on a row of the table.
#[derive(Clone, Copy)]
pub struct Currency(&'static CurrencyInfo);

/// No currency has this code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{code:?} is not a currency we know: give its three-letter ISO 4217 code in capitals, such as XOF"
)]
pub struct UnknownCurrency {
    pub code: String,
}

impl Currency {
    /// The currency with this ISO 4217 code, in capitals.
    pub fn from_code(code: &str) -> Option<Self> {
        let row = CURRENCIES.binary_search_by(|row| row.code.cmp(code)).ok()?;
        Some(Self(&CURRENCIES[row]))
    }

    /// For constants and statics, where a code that does not exist stops the build. Elsewhere it
    /// would panic: use `from_code`.
    pub(crate) const fn known(code: &str) -> Self {
        let mut row = 0;
        while row < CURRENCIES.len() {
            let [a, b, c] = CURRENCIES[row].code.as_bytes() else {
                panic!("a currency's code has three letters");
            };
            if let [x, y, z] = code.as_bytes()
                && *a == *x
                && *b == *y
                && *c == *z
            {
                return Self(&CURRENCIES[row]);
            }
            row += 1;
        }
        panic!("no currency has this code")
    }

    /// Every currency, in order of code.
    pub fn all() -> impl Iterator<Item = Self> {
        CURRENCIES.iter().map(Self)
    }

    pub const fn code(self) -> &'static str {
        self.0.code
    }

    pub const fn info(self) -> &'static CurrencyInfo {
        self.0
    }

    /// Digits after the decimal mark.
    pub const fn decimals(self) -> u8 {
        self.0.decimals
    }
}

impl PartialEq for Currency {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl Eq for Currency {}

impl PartialOrd for Currency {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Currency {
    fn cmp(&self, other: &Self) -> Ordering {
        self.code().cmp(other.code())
    }
}

impl Hash for Currency {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code().hash(state);
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Currency {
    type Err = UnknownCurrency;
    fn from_str(code: &str) -> Result<Self, UnknownCurrency> {
        // The code goes into a message: what no code can be is cut short.
        let unknown = || UnknownCurrency {
            code: code.chars().take(8).collect(),
        };
        Self::from_code(code).ok_or_else(unknown)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::word::read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_every_row_is_found_by_its_code() {
        assert!(CURRENCIES.is_sorted_by(|a, b| a.code < b.code));
        for currency in Currency::all() {
            assert_eq!(Currency::from_code(currency.code()), Some(currency));
            assert_eq!(Currency::known(currency.code()), currency);
        }
    }

    #[test]
    fn currencies_have_hashes_of_their_own() {
        use std::hash::BuildHasher as _;

        let hasher = std::hash::RandomState::new();
        let hashes: std::collections::BTreeSet<u64> = Currency::all()
            .map(|currency| hasher.hash_one(currency))
            .collect();
        assert_eq!(hashes.len(), CURRENCIES.len());
    }

    #[test]
    fn every_row_is_fit_to_print() {
        for row in CURRENCIES {
            assert!(
                row.code.len() == 3 && row.code.bytes().all(|byte| byte.is_ascii_uppercase()),
                "{}",
                row.code
            );
            for text in [
                row.name,
                row.name_plural,
                row.symbol,
                row.symbol_native,
                row.subunit,
            ] {
                assert!(!text.is_empty() && text.trim() == text, "{}", row.code);
            }
            assert!([".", ","].contains(&row.decimal_mark), "{}", row.code);
            assert!(
                [".", ",", " ", "'"].contains(&row.thousands_separator),
                "{}",
                row.code
            );
            assert_ne!(row.decimal_mark, row.thousands_separator, "{}", row.code);
        }
    }

    #[test]
    fn decimals_are_those_of_iso_4217() {
        let table = [
            (
                0,
                "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
            ),
            (
                2,
                "CDF MWK NGN TZS ZMW GHS KES ZAR EUR USD GBP CHF MGA MRU LAK IDR HUF TWD",
            ),
            (3, "BHD IQD JOD KWD LYD OMR TND"),
        ];
        for (decimals, codes) in table {
            for code in codes.split(' ') {
                assert_eq!(
                    Currency::from_code(code).map(Currency::decimals),
                    Some(decimals),
                    "{code}"
                );
            }
        }
        // Four decimals would not fit through a JSON number at the largest amount.
        assert!(CURRENCIES.iter().all(|row| row.decimals <= 3));
    }

    #[test]
    fn a_unit_has_as_many_subunits_as_its_decimals_say() {
        for (code, subunits) in [("USD", 100), ("XOF", 1), ("TND", 1000)] {
            assert_eq!(
                Currency::from_code(code).map(|currency| currency.info().subunit_to_unit()),
                Some(subunits)
            );
        }
    }

    #[test]
    fn a_currency_travels_as_its_code() {
        let currency: Currency = serde_json::from_str("\"XOF\"").unwrap();
        assert_eq!(serde_json::to_string(&currency).unwrap(), "\"XOF\"");
        assert_eq!(currency.info().icon_path(), "/icons/currencies/xof.svg");
        for text in ["\"xof\"", "\"\"", "\"XXX\"", "\"DOLLARS\"", "5"] {
            assert!(serde_json::from_str::<Currency>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn currencies_are_in_the_order_of_their_codes() {
        let [euro, franc] = ["EUR", "XOF"].map(|code| Currency::from_code(code).unwrap());
        assert!(euro < franc);
        assert_eq!(franc.partial_cmp(&euro), Some(Ordering::Greater));
    }

    #[test]
    fn an_unknown_code_is_named_but_not_at_any_length() {
        let error = "A".repeat(1000).parse::<Currency>().unwrap_err();
        assert!(
            error.to_string().contains("AAAAAAAA\"") && error.to_string().len() < 150,
            "{error}"
        );
    }
}
