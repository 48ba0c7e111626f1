//! Accounts of the chain: twenty bytes, written with their checksum (EIP-55).

use std::fmt;

use k256::PublicKey;
use k256::elliptic_curve::sec1::ToSec1Point;
use sha3::{Digest, Keccak256};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address([u8; 20]);

impl Address {
    /// Address of the account of this public key.
    pub fn of(key: &PublicKey) -> Self {
        let point = key.to_sec1_point(false);
        // Without the byte that says "uncompressed".
        let hash = Keccak256::digest(&point.as_bytes()[1..]);
        let mut address = [0; 20];
        address.copy_from_slice(&hash[12..]);
        Self(address)
    }

    /// Reads `0x` and forty digits. With letters of both cases the checksum must be right.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let digits = text
            .strip_prefix("0x")
            .filter(|digits| digits.len() == 40)
            .ok_or(NO_ADDRESS)?;
        let mut bytes = [0; 20];
        base16ct::mixed::decode(digits, &mut bytes).map_err(|_| NO_ADDRESS)?;
        let address = Self(bytes);
        let mixed = digits.bytes().any(|b| b.is_ascii_lowercase())
            && digits.bytes().any(|b| b.is_ascii_uppercase());
        if mixed && address.to_string() != text {
            return Err("its checksum is wrong: a digit was mistyped, copy it again");
        }
        Ok(address)
    }

    /// As an argument of a contract's function: 32 bytes in hexadecimal, without `0x`.
    pub fn argument(self) -> String {
        format!("{:0>64}", self.digits())
    }

    fn digits(self) -> String {
        base16ct::lower::encode_string(&self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits();
        let hash = Keccak256::digest(digits.as_bytes());
        f.write_str("0x")?;
        for (at, digit) in digits.chars().enumerate() {
            let nibble = hash[at / 2] >> (4 * (1 - at % 2)) & 0xf;
            let cased = if nibble >= 8 {
                digit.to_ascii_uppercase()
            } else {
                digit
            };
            write!(f, "{cased}")?;
        }
        Ok(())
    }
}

const NO_ADDRESS: &str = "an address is 0x and 40 hexadecimal digits";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_wrong_checksum_is_refused_and_one_without_is_taken() {
        let right = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        assert_eq!(Address::parse(right).unwrap().to_string(), right);
        let lower = right.to_lowercase();
        assert_eq!(Address::parse(&lower).unwrap().to_string(), right);
        for wrong in [
            "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "f39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226",
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226g",
            "",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }
}
