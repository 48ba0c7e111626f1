//! Integers of the chain: 256 bits without a sign.

pub use ruint::aliases::U256;
use serde::{Deserialize, Deserializer, Serializer};

/// Ten to this power. `None`: above 77.
pub fn power_of_ten(exponent: u32) -> Option<U256> {
    U256::from(10).checked_pow(U256::from(exponent))
}

/// The quotient, rounded up. `None`: by zero.
pub fn divided_up(number: U256, divisor: U256) -> Option<U256> {
    (!divisor.is_zero()).then(|| number.div_ceil(divisor))
}

/// Reads `0x1f`, as a node writes quantities and words: 1 to 64 digits.
pub fn from_hex(text: &str) -> Option<U256> {
    read(text.strip_prefix("0x")?, 16, 64)
}

/// Reads at most 78 decimal digits.
pub fn from_decimal(text: &str) -> Option<U256> {
    read(text, 10, 78)
}

fn read(digits: &str, radix: u32, most: usize) -> Option<U256> {
    // The library ignores `_` between digits.
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    let fits = (1..=most).contains(&digits.len());
    if !is_number || !fits {
        return None;
    }
    U256::from_str_radix(digits, radix.into()).ok()
}

/// Decimal text in JSON, for `#[serde(with = …)]`.
pub mod decimal {
    use super::{Deserialize, Deserializer, Serializer, U256, number};

    pub fn serialize<S: Serializer>(units: &U256, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(units)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
        number(&String::deserialize(deserializer)?)
    }
}

/// The same for a list.
pub mod decimals {
    use super::{Deserialize, Deserializer, Serializer, U256, number};

    pub fn serialize<S: Serializer>(units: &[U256], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(units.iter().map(U256::to_string))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<U256>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| number(text)).collect()
    }
}

fn number<E: serde::de::Error>(text: &str) -> Result<U256, E> {
    from_decimal(text).ok_or_else(|| E::custom("no whole number of 256 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: &str =
        "115792089237316195423570985008687907853269984665640564039457584007913129639935";

    #[test]
    fn numbers_are_read_in_both_notations() {
        let most = from_hex(&format!("0x{}", "f".repeat(64))).unwrap();
        assert_eq!(most, U256::MAX);
        assert_eq!(from_decimal(MOST), Some(most));
        assert_eq!(from_hex("0x0"), Some(U256::ZERO));
        let ether = from_hex("0xDE0b6B3a7640000").unwrap();
        assert_eq!(ether.to_string(), "1000000000000000000");
        let long = format!("0x1{}", "0".repeat(64));
        for wrong in ["", "0x", "12", "0xg", "0x1_0", &long] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
        let too_much = MOST.replace("9935", "9936");
        for wrong in ["", "-1", "1.0", "1_000", &too_much] {
            assert_eq!(from_decimal(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn powers_and_quotients_are_exact_or_none() {
        assert_eq!(power_of_ten(0), Some(U256::from(1)));
        assert_eq!(power_of_ten(18), from_decimal("1000000000000000000"));
        assert!(power_of_ten(77).is_some());
        assert_eq!(power_of_ten(78), None);
        let quotient = |a: u64, b: u64| divided_up(U256::from(a), U256::from(b));
        assert_eq!(quotient(7, 2), Some(U256::from(4)));
        assert_eq!(quotient(8, 2), Some(U256::from(4)));
        assert_eq!(quotient(8, 0), None);
        assert_eq!(divided_up(U256::MAX, U256::from(1)), Some(U256::MAX));
    }
}
