//! Phone numbers as people write them, made into E.164 (`+2290197808080`).
//!
//! A number parses when its calling code exists and the rest has a length that occurs in a country
//! with that code. Whether a range is in use or a subscriber exists only the provider knows, and
//! ranges change faster than programs: they are not looked at. Extensions, letters and numbers
//! without an area code are not parsed.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::country::{Country, countries, country};

/// `text` in E.164, or `None` when it does not parse. `default_country` (alpha-2) is where a number
/// without a calling code belongs.
///
/// Accepted: spaces, dashes, dots, slashes and brackets anywhere; `+` or `00` before the calling
/// code, or nothing when the rest only makes sense as an international number (JSON integers lose
/// their plus); a trunk prefix such as the `0` of `06 12 34 56 78`.
pub fn normalise(text: &str, default_country: Option<&str>) -> Option<String> {
    let (plus, digits) = clean(text)?;
    let home = default_country.and_then(country);
    if plus {
        return international(&digits);
    }
    if let Some(digits) = digits.strip_prefix("00") {
        return international(digits);
    }
    if let Some(digits) = digits.strip_prefix("011")
        && home.is_some_and(|home| home.dial_code == NORTH_AMERICA)
    {
        return international(digits);
    }
    let at_home = home.and_then(|home| at_home(home, &digits));
    at_home.or_else(|| bare(&digits))
}

/// The last four digits of a number: enough to know one's own, on a page that stays open or is
/// shown around. No line breaks inside it.
pub fn masked(number: &str) -> String {
    let tail = number.len().saturating_sub(4);
    match number.get(tail..) {
        Some(last) if tail > 0 => format!("••••\u{a0}{last}"),
        _ => number.to_owned(),
    }
}

/// `text` with Arabic-Indic digits (`٠`–`٩`, `۰`–`۹`) as the digits 0 to 9.
pub fn plain_digits(text: &str) -> String {
    let plain = |letter: char| {
        let value = match letter {
            '\u{660}'..='\u{669}' => u32::from(letter) - 0x660,
            '\u{6f0}'..='\u{6f9}' => u32::from(letter) - 0x6f0,
            _ => return letter,
        };
        char::from_digit(value, 10).unwrap_or(letter)
    };
    text.chars().map(plain).collect()
}

/// Whether `text` is a number of Benin as it was before 30 November 2024: eight digits, without the
/// `01` before them.
pub fn is_old_number_of_benin(text: &str) -> bool {
    let Some((_, digits)) = clean(text) else {
        return false;
    };
    let national = ["00229", "229"]
        .iter()
        .find_map(|code| digits.strip_prefix(code))
        .unwrap_or(&digits);
    national.len() == 8 && !national.starts_with('0')
}

/// The digits of a text that may be a phone number in any spelling, with or without the calling
/// code. `None`: it has other letters, or fewer than [`SHORTEST_NATIONAL`] digits.
pub fn digits(text: &str) -> Option<String> {
    let (_, digits) = clean(text)?;
    (digits.len() >= SHORTEST_NATIONAL).then_some(digits)
}

/// Whether `typed` may be another spelling of the number `known`, both as [`digits`] returns them:
/// with or without the calling code, an international prefix, or the trunk prefix of a country.
/// Numbers that have one national number in two countries differ when both calling codes are given.
pub fn is_same(known: &str, typed: &str) -> bool {
    let dialled = INTERNATIONAL_PREFIXES.iter().chain(trunks());
    let stripped = dialled.filter_map(|prefix| typed.strip_prefix(prefix));
    let mut spellings = std::iter::once(typed).chain(stripped);
    spellings.any(|spelling| {
        let is_whole = spelling.len() >= SHORTEST_NATIONAL;
        is_whole && (known.ends_with(spelling) || spelling.ends_with(known))
    })
}

/// The trunk prefixes of all countries.
fn trunks() -> impl Iterator<Item = &'static &'static str> {
    static TRUNKS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
        let trunks = countries().iter().map(|country| country.numbering.trunk);
        trunks.filter(|trunk| !trunk.is_empty()).collect()
    });
    TRUNKS.iter()
}

/// The digits of `text`, and whether a plus stands before them.
fn clean(text: &str) -> Option<(bool, String)> {
    let text = plain_digits(text);
    let text = text.trim();
    let (plus, rest) = match text.strip_prefix(['+', '＋']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // "+44 (0)20 …" prints the trunk prefix that callers from abroad leave out.
    let (head, tail) = rest
        .split_once("(0)")
        .filter(|_| plus)
        .unwrap_or((rest, ""));
    let mut digits = String::with_capacity(rest.len());
    for letter in head.chars().chain(tail.chars()) {
        match letter {
            '0'..='9' => digits.push(letter),
            '-' | '.' | '/' | '(' | ')' | '[' | ']' | '\u{2010}'..='\u{2015}' => {}
            space if space.is_whitespace() => {}
            _ => return None,
        }
    }
    // A few more than E.164's fifteen leave room for the prefixes that are stripped.
    (digits.len() <= 20).then_some((plus, digits))
}

/// A number with its calling code.
fn international(digits: &str) -> Option<String> {
    owners(digits).find_map(|owner| {
        let national = national(owner, &digits[owner.dial_code.len()..])?;
        Some(e164(owner, national))
    })
}

/// A number as dialled in its own country. Without a trunk prefix it may also be an international
/// number without the plus: for a long number that begins with the country's own calling code this
/// is more likely, since few countries have national numbers of that length.
fn at_home(home: &'static Country, digits: &str) -> Option<String> {
    let trunk = home.numbering.trunk;
    let dialled = digits
        .strip_prefix(trunk)
        .filter(|rest| !trunk.is_empty() && fits(home, rest));
    let plain = || Some(digits).filter(|rest| fits(home, rest));
    let abroad = || {
        digits
            .strip_prefix(home.dial_code)
            .filter(|rest| fits(home, rest))
    };
    let undialled = || {
        if digits.len() < SHORTEST_BARE {
            plain().or_else(abroad)
        } else {
            abroad().or_else(plain)
        }
    };
    Some(e164(home, dialled.or_else(undialled)?))
}

/// A number with neither plus nor country. Shorter ones could as well be local numbers of anywhere.
fn bare(digits: &str) -> Option<String> {
    let international_length = digits.len() >= SHORTEST_BARE && !digits.starts_with('0');
    let owner = owners(digits).find(|owner| fits(owner, &digits[owner.dial_code.len()..]));
    owner
        .filter(|_| international_length)
        .map(|_| format!("+{digits}"))
}

/// The countries whose calling code `digits` begin with, in the order of the directory. Calling
/// codes are prefix-free: all of these share one code.
fn owners(digits: &str) -> impl Iterator<Item = &'static Country> {
    static BY_CODE: LazyLock<HashMap<&'static str, Vec<&'static Country>>> = LazyLock::new(|| {
        let mut by_code = HashMap::<_, Vec<_>>::new();
        for country in countries() {
            by_code.entry(country.dial_code).or_default().push(country);
        }
        by_code
    });
    let codes = (1..=LONGEST_CODE).filter_map(|length| digits.get(..length));
    let owners = codes.filter_map(|code| BY_CODE.get(code)).next();
    owners.into_iter().flatten().copied()
}

/// The national number in what follows the calling code, without a trunk prefix that was written by
/// mistake.
fn national<'a>(country: &Country, rest: &'a str) -> Option<&'a str> {
    if fits(country, rest) {
        return Some(rest);
    }
    let trunk = country.numbering.trunk;
    rest.strip_prefix(trunk)
        .filter(|rest| !trunk.is_empty() && fits(country, rest))
}

fn fits(country: &Country, national: &str) -> bool {
    let plan = &country.numbering;
    let length = usize::from(plan.shortest)..=usize::from(plan.longest);
    let whole = national.len() + country.dial_code.len();
    if plan.shortest == 0 || !length.contains(&national.len()) || whole > E164_DIGITS {
        return false;
    }
    // Where the plan has a trunk prefix 0, no national number begins with it.
    if plan.trunk == "0" && national.starts_with('0') {
        return false;
    }
    // In North America neither an area code nor an exchange begins with 0 or 1.
    let digit = |place: usize| national.as_bytes().get(place).copied();
    country.dial_code != NORTH_AMERICA || (digit(0) >= Some(b'2') && digit(3) >= Some(b'2'))
}

fn e164(country: &Country, national: &str) -> String {
    format!("+{}{national}", country.dial_code)
}

const NORTH_AMERICA: &str = "1";
const E164_DIGITS: usize = 15;
/// Digits of a calling code.
const LONGEST_CODE: usize = 3;
const SHORTEST_BARE: usize = 11;
/// Digits of the shortest number that [`digits`] takes for one. A few islands have shorter ones.
pub const SHORTEST_NATIONAL: usize = 7;
const INTERNATIONAL_PREFIXES: [&str; 2] = ["00", "011"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text, default country, E.164.
    type Row = (&'static str, Option<&'static str>, &'static str);

    fn check_table(table: &[Row]) {
        for (text, default, expected) in table {
            assert_eq!(
                normalise(text, *default).as_deref(),
                Some(*expected),
                "{text} in {default:?}"
            );
        }
    }

    #[test]
    fn arabic_indic_digits_are_digits() {
        check_table(&[
            ("٠١٩٧٨٠٨٠٨٠", Some("BJ"), "+2290197808080"),
            ("+۲۲۹ ۰۱ ۹۷ ۸۰ ۸۰ ۸۰", None, "+2290197808080"),
        ]);
        assert_eq!(plain_digits("٤٢ PIN ۷"), "42 PIN 7");
    }

    #[test]
    fn an_old_number_of_benin_is_recognised() {
        for old in ["97 80 80 80", "+229 97808080", "00229-97808080", "٩٧٨٠٨٠٨٠"] {
            assert!(is_old_number_of_benin(old), "{old}");
            assert_eq!(normalise(old, Some("BJ")), None, "{old}");
        }
        for other in [
            "01 97 80 80 80",
            "+229 01 97 80 80 80",
            "978080",
            "",
            "letters",
        ] {
            assert!(!is_old_number_of_benin(other), "{other}");
        }
    }

    #[test]
    fn african_numbers_become_e164() {
        check_table(&[
            ("+2290197808080", None, "+2290197808080"),
            ("+229 01 97 80 80 80", Some("BJ"), "+2290197808080"),
            ("00229 01 97 80 80 80", None, "+2290197808080"),
            ("01 97 80 80 80", Some("BJ"), "+2290197808080"),
            ("2290197808080", Some("BJ"), "+2290197808080"),
            ("2290197808080", None, "+2290197808080"),
            ("2290197808080", Some("US"), "+2290197808080"),
            ("+225 07 07 12 34 56", None, "+2250707123456"),
            ("07 07 12 34 56", Some("CI"), "+2250707123456"),
            ("2250707123456", Some("CI"), "+2250707123456"),
            ("+221 77 123 45 67", None, "+221771234567"),
            ("771234567", Some("SN"), "+221771234567"),
            ("+228 90 12 34 56", None, "+22890123456"),
            ("90123456", Some("TG"), "+22890123456"),
            ("22890123456", None, "+22890123456"),
            ("+223 76 12 34 56", None, "+22376123456"),
            ("+226 70 12 34 56", None, "+22670123456"),
            ("+227 96 12 34 56", None, "+22796123456"),
            ("+237 6 77 12 34 56", None, "+237677123456"),
            ("677123456", Some("CM"), "+237677123456"),
            ("237677123456", Some("CM"), "+237677123456"),
            ("+234 803 123 4567", None, "+2348031234567"),
            ("0803 123 4567", Some("NG"), "+2348031234567"),
            ("+234 0803 123 4567", None, "+2348031234567"),
            ("2348031234567", Some("NG"), "+2348031234567"),
            ("024 412 3456", Some("GH"), "+233244123456"),
            ("233244123456", Some("GH"), "+233244123456"),
            ("0712 345678", Some("KE"), "+254712345678"),
            ("254712345678", None, "+254712345678"),
            ("0712345678", Some("TZ"), "+255712345678"),
            ("0772 123456", Some("UG"), "+256772123456"),
            ("0788 123 456", Some("RW"), "+250788123456"),
            ("0977 123456", Some("ZM"), "+260977123456"),
            ("0991 23 45 67", Some("MW"), "+265991234567"),
            ("0812345678", Some("CD"), "+243812345678"),
            ("243812345678", Some("CD"), "+243812345678"),
            ("06 612 3456", Some("CG"), "+242066123456"),
            ("+242 06 612 3456", None, "+242066123456"),
            ("621 12 34 56", Some("GN"), "+224621123456"),
            ("082 123 4567", Some("ZA"), "+27821234567"),
        ]);
    }

    #[test]
    fn european_and_american_numbers_become_e164() {
        check_table(&[
            ("06 12 34 56 78", Some("FR"), "+33612345678"),
            ("+33 (0)6 12 34 56 78", None, "+33612345678"),
            ("+33 06.12.34.56.78", None, "+33612345678"),
            ("0033612345678", None, "+33612345678"),
            ("612345678", Some("FR"), "+33612345678"),
            ("+44 (0)20 7946 0958", None, "+442079460958"),
            ("(414) 951-8161", Some("US"), "+14149518161"),
            ("414-951-8161", Some("US"), "+14149518161"),
            ("1 414 951 8161", Some("US"), "+14149518161"),
            ("+1 (414) 951-8161", None, "+14149518161"),
            ("14149518161", None, "+14149518161"),
            ("011 229 01 97 80 80 80", Some("US"), "+2290197808080"),
            ("+1 684 733 1234", Some("FR"), "+16847331234"),
            ("+39 06 698 12345", None, "+390669812345"),
            ("06 20 123 4567", Some("HU"), "+36201234567"),
            ("4915112345678", Some("DE"), "+4915112345678"),
            ("0151 12345678", Some("DE"), "+4915112345678"),
            (
                "\u{a0}+33\u{202f}6\u{2011}12 34 56 78 ",
                None,
                "+33612345678",
            ),
        ]);
    }

    #[test]
    fn what_is_no_number_does_not_parse() {
        let table = [
            ("", None),
            ("+", None),
            ("abc", Some("FR")),
            ("06 12 34 56 78 ext. 9", Some("FR")),
            ("06 12 34 56 78", None),
            ("06 12 34 56 78", Some("XX")),
            ("0612345", Some("FR")),
            ("+33 6 12 34 56 7", None),
            ("+33 6 12 34 56 78 9", None),
            ("+999 123 456 789", None),
            ("4149518161", None),
            ("+1 014 951 8161", None),
            ("+1 414 151 8161", None),
            ("97808080", Some("BJ")), // eight digits: the plan before the end of 2024
            ("33+612345678", None),
            ("++33612345678", None),
            ("1234567890123456789012345", None),
        ];
        for (text, default) in table {
            assert_eq!(normalise(text, default), None, "{text} in {default:?}");
        }
    }

    #[test]
    fn a_number_is_recognised_in_each_spelling() {
        let known = digits("+2290197000000").unwrap();
        for same in [
            "+229 01 97 00 00 00",
            "00229 01 97 00 00 00",
            "011 229 01 97 00 00 00",
            "2290197000000",
            "0197000000",
            "01.97.00.00.00",
            "97 00 00 00",
            "٩٧٠٠٠٠٠٠",
        ] {
            assert!(is_same(&known, &digits(same).unwrap()), "{same}");
        }
        for other in [
            "+228 01 97 00 00 00",
            "+229 97 00 00 00",
            "97 00 00 01",
            "0297000000",
        ] {
            assert!(!is_same(&known, &digits(other).unwrap()), "{other}");
        }
        for (known, spelling) in [
            ("+33612345678", "06 12 34 56 78"),
            ("+33612345678", "+33 (0)6 12 34 56 78"),
            ("+36201234567", "06 20 123 4567"),
            ("+79123456789", "8 912 345-67-89"),
            ("+2203012345", "301 2345"),
            ("97000000", "+229 97 00 00 00"),
        ] {
            let known = digits(known).unwrap();
            assert!(is_same(&known, &digits(spelling).unwrap()), "{spelling}");
        }
        for text in ["", "+", "123 456", "97 00 00 0x", "9".repeat(21).as_str()] {
            assert_eq!(digits(text), None, "{text}");
        }
    }

    #[test]
    fn calling_codes_are_prefix_free() {
        for (a, b) in countries()
            .iter()
            .flat_map(|a| countries().iter().map(move |b| (a, b)))
        {
            assert!(
                a.dial_code == b.dial_code || !a.dial_code.starts_with(b.dial_code),
                "{} {}",
                a.alpha2,
                b.alpha2
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_what_parses_is_e164(text in "\\PC{0,30}", row in 0..249_usize) {
            check(&text, row)?;
        }

        #[test]
        fn numbers_of_any_shape_make_e164_or_nothing(text in "\\+?[0-9 ()-]{0,24}", row in 0..249_usize) {
            check(&text, row)?;
        }
    }

    fn check(text: &str, row: usize) -> Result<(), TestCaseError> {
        for default in [None, Some(countries()[row].alpha2)] {
            let Some(number) = normalise(text, default) else {
                continue;
            };
            let digits = number.strip_prefix('+').unwrap();
            prop_assert!(
                (6..=15).contains(&digits.len())
                    && digits.bytes().all(|byte| byte.is_ascii_digit()),
                "{}",
                number
            );
            // Made once, it stays.
            prop_assert_eq!(normalise(&number, default), Some(number.clone()));
        }
        Ok(())
    }

    #[test]
    fn a_number_is_shown_by_its_end() {
        let table = [
            ("+2290197000000", "••••\u{a0}0000"),
            ("1234", "1234"),
            ("", ""),
            ("é12345", "••••\u{a0}2345"),
        ];
        for (number, shown) in table {
            assert_eq!(masked(number), shown);
        }
    }
}
