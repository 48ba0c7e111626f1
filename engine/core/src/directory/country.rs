//! Countries: every one of ISO 3166-1, with its calling code, currency and names.

use super::countries::COUNTRIES;
use crate::money::Currency;

/// A row of the table.
#[derive(Debug)]
pub struct Country {
    pub alpha2: &'static str,
    pub alpha3: &'static str,
    /// In English.
    pub name: &'static str,
    pub name_fr: &'static str,
    /// Digits of the international calling code, without a plus: `229`. Countries may share one
    /// (`1`, `44`, `7`…).
    pub dial_code: &'static str,
    pub currency: Currency,
    pub currency_symbol: &'static str,
    /// The emoji.
    pub flag: &'static str,
    /// Member of the European Union.
    pub eu: bool,
    pub(super) numbering: Numbering,
}

/// How long the country's phone numbers are: digits of the national number, without calling code
/// and trunk prefix. Only numbers of persons and shops count, not emergency or service numbers.
#[derive(Debug)]
pub(super) struct Numbering {
    /// 0 where the country has no numbers of its own.
    pub shortest: u8,
    pub longest: u8,
    /// 0 where mobile numbers have several lengths.
    pub mobile: u8,
    /// Trunk prefix, dialled before a national number and omitted from abroad.
    pub trunk: &'static str,
}

impl PartialEq for Country {
    fn eq(&self, other: &Self) -> bool {
        self.alpha2 == other.alpha2
    }
}

impl Eq for Country {}

/// The country with this ISO 3166-1 alpha-2 code, in capitals.
pub fn country(alpha2: &str) -> Option<&'static Country> {
    let row = COUNTRIES
        .binary_search_by(|row| row.alpha2.cmp(alpha2))
        .ok()?;
    Some(&COUNTRIES[row])
}

/// Every country, in order of alpha-2 code.
pub fn countries() -> &'static [Country] {
    COUNTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_whole() {
        assert_eq!(countries().len(), 249);
        assert!(countries().is_sorted_by(|a, b| a.alpha2 < b.alpha2));
        for row in countries() {
            assert_eq!(country(row.alpha2), Some(row));
            assert!(
                !row.name.is_empty() && !row.name_fr.is_empty(),
                "{}",
                row.alpha2
            );
            assert_eq!((row.alpha2.len(), row.alpha3.len()), (2, 3));
            assert!(
                (1..=3).contains(&row.dial_code.len())
                    && row.dial_code.bytes().all(|byte| byte.is_ascii_digit()),
                "{}",
                row.alpha2
            );
            assert!(
                row.numbering.shortest <= row.numbering.longest,
                "{}",
                row.alpha2
            );
            assert_eq!(row.currency_symbol, row.currency.info().symbol);
        }
        let mut alpha3: Vec<_> = countries().iter().map(|row| row.alpha3).collect();
        alpha3.sort_unstable();
        alpha3.dedup();
        assert_eq!(alpha3.len(), 249);
    }

    #[test]
    fn a_flag_is_its_code_in_regional_indicators() {
        for row in countries() {
            let indicator =
                |letter: char| char::from_u32(0x1F1E6 + letter as u32 - 'A' as u32).unwrap();
            assert_eq!(
                row.flag,
                row.alpha2.chars().map(indicator).collect::<String>()
            );
        }
    }

    #[test]
    fn rows_say_what_is_known_of_their_countries() {
        let table = [
            "BJ BEN 229 XOF",
            "CD COD 243 CDF",
            "CG COG 242 XAF",
            "CI CIV 225 XOF",
            "CM CMR 237 XAF",
            "DE DEU 49 EUR",
            "FR FRA 33 EUR",
            "GB GBR 44 GBP",
            "GH GHA 233 GHS",
            "GN GIN 224 GNF",
            "GW GNB 245 XOF",
            "KE KEN 254 KES",
            "MW MWI 265 MWK",
            "NG NGA 234 NGN",
            "RW RWA 250 RWF",
            "TZ TZA 255 TZS",
            "UG UGA 256 UGX",
            "US USA 1 USD",
            "ZA ZAF 27 ZAR",
            "ZM ZMB 260 ZMW",
        ];
        for known in table {
            let row = country(&known[..2]).unwrap();
            assert_eq!(
                format!(
                    "{} {} {} {}",
                    row.alpha2, row.alpha3, row.dial_code, row.currency
                ),
                known
            );
        }
    }

    #[test]
    fn names_are_in_english_and_french_and_tell_the_congos_apart() {
        let table = [
            ("BJ", "Benin", "Bénin"),
            (
                "CD",
                "Democratic Republic of the Congo",
                "République démocratique du Congo",
            ),
            ("CG", "Republic of the Congo", "République du Congo"),
            ("CI", "Côte d'Ivoire", "Côte d'Ivoire"),
            ("DE", "Germany", "Allemagne"),
            ("US", "United States", "États-Unis"),
        ];
        for (alpha2, name, name_fr) in table {
            let row = country(alpha2).unwrap();
            assert_eq!((row.name, row.name_fr), (name, name_fr));
        }
    }

    #[test]
    fn the_union_has_27_members() {
        assert_eq!(countries().iter().filter(|row| row.eu).count(), 27);
        let eu = |alpha2| country(alpha2).is_some_and(|row| row.eu);
        assert!(eu("FR") && eu("HR") && !eu("GB") && !eu("CH") && !eu("GP"));
    }

    #[test]
    fn no_country_has_another_spelling_of_its_code() {
        for code in ["", "bj", "BEN", "World", "EU", "XX"] {
            assert_eq!(country(code), None, "{code}");
        }
    }
}
