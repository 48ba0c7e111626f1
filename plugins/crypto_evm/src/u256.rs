//! The chain's own integers: 256 bits without a sign. Everything that could run over says so.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Least significant word first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct U256([u64; 4]);

impl U256 {
    pub const ZERO: Self = Self([0; 4]);

    /// Ten to this power, or nothing beyond 77.
    pub fn power_of_ten(exponent: u32) -> Option<Self> {
        (0..exponent).try_fold(Self::from(1), |power, _| power.times(Self::from(10)))
    }

    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    pub fn plus(self, other: Self) -> Option<Self> {
        let (mut sum, mut carry) = ([0; 4], false);
        for (at, word) in sum.iter_mut().enumerate() {
            let (part, over) = self.0[at].overflowing_add(other.0[at]);
            let (part, over_again) = part.overflowing_add(u64::from(carry));
            (*word, carry) = (part, over || over_again);
        }
        (!carry).then_some(Self(sum))
    }

    pub fn minus(self, other: Self) -> Option<Self> {
        (self >= other).then(|| self.difference(other))
    }

    pub fn times(self, other: Self) -> Option<Self> {
        let mut product = [0_u64; 8];
        for (i, left) in self.0.iter().enumerate() {
            let mut carry = 0_u128;
            for (j, right) in other.0.iter().enumerate() {
                // At most (2^64-1)^2 + 2 (2^64-1) = 2^128-1.
                let sum =
                    u128::from(*left) * u128::from(*right) + u128::from(product[i + j]) + carry;
                product[i + j] = low(sum);
                carry = sum >> 64;
            }
            product[i + 4] = low(carry);
        }
        let [a, b, c, d, rest @ ..] = product;
        (rest == [0; 4]).then_some(Self([a, b, c, d]))
    }

    /// Quotient and remainder; nothing by zero.
    pub fn divided_by(self, divisor: Self) -> Option<(Self, Self)> {
        if divisor.is_zero() {
            return None;
        }
        let (mut quotient, mut rest) = ([0; 4], Self::ZERO);
        for bit in (0..256).rev() {
            // A rest with its highest bit set is shifted out of the word: it surely is more than the divisor then.
            let overflows = rest.0[3] >> 63 == 1;
            rest = rest.doubled(self.0[bit / 64] >> (bit % 64) & 1);
            if overflows || rest >= divisor {
                rest = rest.difference(divisor);
                quotient[bit / 64] |= 1 << (bit % 64);
            }
        }
        Some((Self(quotient), rest))
    }

    /// The quotient, rounded up.
    pub fn divided_up(self, divisor: Self) -> Option<Self> {
        let (quotient, rest) = self.divided_by(divisor)?;
        if rest.is_zero() {
            Some(quotient)
        } else {
            quotient.plus(Self::from(1))
        }
    }

    /// Reads `0x1f`, as a node writes quantities and words: 1 to 64 digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("0x")?;
        if digits.is_empty() || digits.len() > 64 {
            return None;
        }
        let mut words = [0_u64; 4];
        for (at, digit) in digits.chars().rev().enumerate() {
            words[at / 16] |= u64::from(digit.to_digit(16)?) << (at % 16 * 4);
        }
        Some(Self(words))
    }

    pub fn from_decimal(text: &str) -> Option<Self> {
        if text.is_empty() || text.len() > 78 {
            return None;
        }
        text.chars().try_fold(Self::ZERO, |number, digit| {
            let digit = u64::from(digit.to_digit(10)?);
            number.times(Self::from(10))?.plus(Self::from(digit))
        })
    }

    pub fn to_u64(self) -> Option<u64> {
        let [low, high @ ..] = self.0;
        (high == [0; 3]).then_some(low)
    }

    fn doubled(self, bit: u64) -> Self {
        let [a, b, c, d] = self.0;
        Self([
            a << 1 | bit,
            b << 1 | a >> 63,
            c << 1 | b >> 63,
            d << 1 | c >> 63,
        ])
    }

    /// Modulo 2^256.
    fn difference(self, other: Self) -> Self {
        let (mut words, mut borrow) = ([0; 4], false);
        for (at, word) in words.iter_mut().enumerate() {
            let (part, under) = self.0[at].overflowing_sub(other.0[at]);
            let (part, under_again) = part.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (part, under || under_again);
        }
        Self(words)
    }
}

/// The lower half.
const fn low(wide: u128) -> u64 {
    wide as u64
}

impl From<u64> for U256 {
    fn from(small: u64) -> Self {
        Self([small, 0, 0, 0])
    }
}

impl PartialOrd for U256 {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for U256 {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

/// In decimal.
impl fmt::Display for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut digits, mut rest) = (Vec::new(), *self);
        while let Some((quotient, digit)) = rest.divided_by(Self::from(10)) {
            digits.push(char::from(b'0' + u8::try_from(digit.0[0]).unwrap_or(0)));
            rest = quotient;
            if rest.is_zero() {
                break;
            }
        }
        f.pad_integral(true, "", &digits.iter().rev().collect::<String>())
    }
}

impl Serialize for U256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for U256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_decimal(&text)
            .ok_or_else(|| serde::de::Error::custom("no whole number of 256 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: &str =
        "115792089237316195423570985008687907853269984665640564039457584007913129639935";

    fn number(text: &str) -> U256 {
        U256::from_decimal(text).unwrap()
    }

    #[test]
    fn numbers_read_and_write_in_both_notations() {
        let most = U256::from_hex(&format!("0x{}", "f".repeat(64))).unwrap();
        assert_eq!(most.to_string(), MOST);
        assert_eq!(number(MOST), most);
        assert_eq!(U256::from_hex("0x0"), Some(U256::ZERO));
        assert_eq!(U256::ZERO.to_string(), "0");
        assert_eq!(
            U256::from_hex("0xDE0b6B3a7640000").unwrap().to_string(),
            "1000000000000000000"
        );
        for wrong in ["", "0x", "12", "0xg", &format!("0x1{}", "0".repeat(64))] {
            assert_eq!(U256::from_hex(wrong), None, "{wrong}");
        }
        for wrong in [
            "",
            "-1",
            "1.0",
            "115792089237316195423570985008687907853269984665640564039457584007913129639936",
        ] {
            assert_eq!(U256::from_decimal(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn arithmetic_is_exact_and_says_when_it_runs_over() {
        let (most, one) = (number(MOST), U256::from(1));
        assert_eq!(most.plus(one), None);
        assert_eq!(U256::ZERO.minus(one), None);
        assert_eq!(most.times(U256::from(2)), None);
        assert_eq!(most.times(one), Some(most));
        assert_eq!(most.minus(most), Some(U256::ZERO));
        assert_eq!(U256::power_of_ten(78), None);
        let half = number("340282366920938463463374607431768211455");
        let square = half.times(half).unwrap();
        assert_eq!(
            square.to_string(),
            "115792089237316195423570985008687907852589419931798687112530834793049593217025"
        );
        assert_eq!(square.divided_by(half), Some((half, U256::ZERO)));
        assert_eq!(
            most.divided_by(number("10000000000000000000000000000000000000003")),
            Some((
                number("11579208923731619542357098500868790785"),
                number("3235247038869369180830512712410523267580")
            ))
        );
        assert_eq!(most.divided_by(U256::ZERO), None);
        let high = U256::from_hex(&format!("0x8{}", "0".repeat(63))).unwrap();
        assert_eq!(
            most.divided_by(high),
            Some((one, high.minus(one).unwrap())),
            "a divisor with its highest bit set"
        );
        assert_eq!(number("7").divided_up(number("2")), Some(number("4")));
        assert_eq!(number("8").divided_up(number("2")), Some(number("4")));
    }
}
