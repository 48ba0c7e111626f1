//! Amounts and rates as a language writes them, for pages and mails: `$25.00` in English, `25,00 $`
//! in French.
//!
//! Separators, sides and spaces are those of Unicode CLDR 48; the symbol is the currency table's.
//! Answers of the API use [`Amount::format`], which follows the currency alone.

use super::amount::grouped;
use super::rate::{Correction, Rate};
use super::{Amount, Currency};
use crate::language::Language;

/// Between a symbol and its number, so that no line break separates them.
const NO_BREAK_SPACE: char = '\u{a0}';
/// Between groups of digits in French.
const NARROW_NO_BREAK_SPACE: &str = "\u{202f}";
/// Significant digits of a displayed rate.
const RATE_DIGITS: u32 = 6;

impl Amount {
    /// The amount as `language` writes it.
    pub fn written(self, language: Language) -> String {
        let sign = if self.minor() < 0 { "-" } else { "" };
        let symbol = symbol(self.currency(), language);
        match language {
            Language::En => {
                let digits = self.digits(",", ".");
                // A symbol that ends with a letter is set apart from the number: `XOF 200`, but
                // `$25.00`.
                if symbol.ends_with(char::is_alphabetic) {
                    format!("{sign}{symbol}{NO_BREAK_SPACE}{digits}")
                } else {
                    format!("{sign}{symbol}{digits}")
                }
            }
            Language::Fr => {
                let digits = self.digits(NARROW_NO_BREAK_SPACE, ",");
                format!("{sign}{digits}{NO_BREAK_SPACE}{symbol}")
            }
        }
    }

    /// The number alone, for places that name the currency by its code: `148 500`, `45 000.00`,
    /// in French `45 000,00`.
    pub fn figures(self, language: Language) -> String {
        let sign = if self.minor() < 0 { "-" } else { "" };
        let mark = match language {
            Language::En => ".",
            Language::Fr => ",",
        };
        let digits = self.digits(&NO_BREAK_SPACE.to_string(), mark);
        format!("{sign}{digits}")
    }

    /// The amount behind the code of its currency: `XOF 148 500`, `NGN 45 000.00`.
    pub fn with_code(self, language: Language) -> String {
        let code = self.currency().code();
        format!("{code}{NO_BREAK_SPACE}{}", self.figures(language))
    }
}

impl Rate {
    /// The rate with at most six significant digits, as `language` writes it: `1,574.07`,
    /// `0,00152449`.
    pub fn written(self, language: Language) -> String {
        let rounded = self.rounded(RATE_DIGITS);
        let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
        let between = match language {
            Language::En => ",",
            Language::Fr => NARROW_NO_BREAK_SPACE,
        };
        let mut text = whole
            .parse()
            .map_or_else(|_| whole.to_owned(), |whole| grouped(whole, between));
        if !fraction.is_empty() {
            text.push_str(&decimal(".", language));
            text.push_str(fraction);
        }
        text
    }

    /// Between one unit of a currency and the written rate: `≈` where the rate has more digits than
    /// are written.
    pub fn sign(self) -> char {
        let is_whole = Self::parse(&self.rounded(RATE_DIGITS)).is_ok_and(|written| written == self);
        if is_whole { '=' } else { '≈' }
    }

    /// The rate with at most six significant digits and a decimal point, for answers of the API.
    pub fn short(self) -> String {
        self.rounded(RATE_DIGITS)
    }
}

impl Correction {
    /// The percentage as `language` writes it: `2.5%`, `2,5 %`.
    pub fn written(self, language: Language) -> String {
        let number = decimal(&self.to_string(), language);
        match language {
            Language::En => format!("{number}%"),
            Language::Fr => format!("{number}{NARROW_NO_BREAK_SPACE}%"),
        }
    }
}

fn decimal(text: &str, language: Language) -> String {
    match language {
        Language::En => text.to_owned(),
        Language::Fr => text.replace('.', ","),
    }
}

/// The table's symbol. French readers know the CFA franc by its own name, not by its code.
fn symbol(currency: Currency, language: Language) -> &'static str {
    match (language, currency.code()) {
        (Language::Fr, "XOF" | "XAF") => currency.info().symbol_native,
        _ => currency.info().symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(minor: i64, code: &str) -> Amount {
        Amount::from_minor(minor, Currency::from_code(code).unwrap())
    }

    #[test]
    fn nothing_has_no_sign_and_a_debt_has_one() {
        assert_eq!(amount(0, "USD").written(Language::En), "$0.00");
        assert_eq!(amount(-5, "USD").written(Language::En), "-$0.05");
    }

    #[test]
    fn an_amount_is_written_as_its_readers_language_writes_it() {
        let table = [
            (2_500, "USD", "$25.00", "25,00\u{a0}$"),
            (
                1_500_000,
                "XOF",
                "XOF\u{a0}1,500,000",
                "1\u{202f}500\u{202f}000\u{a0}F CFA",
            ),
            (5_000, "XAF", "XAF\u{a0}5,000", "5\u{202f}000\u{a0}FCFA"),
            (125_000, "EUR", "€1,250.00", "1\u{202f}250,00\u{a0}€"),
            (-125_000, "EUR", "-€1,250.00", "-1\u{202f}250,00\u{a0}€"),
            (5, "GHS", "GH₵0.05", "0,05\u{a0}GH₵"),
            (99_900, "KES", "KSh\u{a0}999.00", "999,00\u{a0}KSh"),
            (
                1_234_567,
                "TND",
                "TND\u{a0}1,234.567",
                "1\u{202f}234,567\u{a0}TND",
            ),
        ];
        for (minor, code, english, french) in table {
            assert_eq!(amount(minor, code).written(Language::En), english);
            assert_eq!(amount(minor, code).written(Language::Fr), french);
        }
    }

    #[test]
    fn an_amount_stands_behind_the_code_of_its_currency() {
        for (minor, code, english, french) in [
            (148_500, "XOF", "XOF 148 500", "XOF 148 500"),
            (4_500_000, "NGN", "NGN 45 000.00", "NGN 45 000,00"),
            (-5, "USD", "USD -0.05", "USD -0,05"),
        ] {
            let written = |language| amount(minor, code).with_code(language);
            assert_eq!(written(Language::En).replace('\u{a0}', " "), english);
            assert_eq!(written(Language::Fr).replace('\u{a0}', " "), french);
        }
    }

    #[test]
    fn a_rate_has_six_significant_digits_at_most() {
        let table = [
            ("655.957", "655.957", "655,957", '='),
            ("0.00152449017239", "0.00152449", "0,00152449", '≈'),
            ("1234567.5", "1,234,570", "1\u{202f}234\u{202f}570", '≈'),
            ("1574.07", "1,574.07", "1\u{202f}574,07", '='),
            ("1.5", "1.5", "1,5", '='),
            ("612.345678", "612.346", "612,346", '≈'),
        ];
        for (rate, english, french, sign) in table {
            let rate = Rate::parse_rounded(rate).unwrap();
            assert_eq!(rate.written(Language::En), english);
            assert_eq!(rate.written(Language::Fr), french);
            assert_eq!(rate.sign(), sign, "{english}");
            assert_eq!(rate.short(), english.replace(',', ""));
        }
        let correction = Correction::parse("2.5").unwrap();
        assert_eq!(correction.written(Language::En), "2.5%");
        assert_eq!(correction.written(Language::Fr), "2,5\u{202f}%");
    }
}
