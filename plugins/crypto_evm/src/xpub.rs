//! A wallet's extended public key (BIP-32): every receiving address, and not one private key.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use k256::elliptic_curve::sec1::ToSec1Point;
use k256::{FieldBytes, ProjectivePoint, PublicKey, Scalar};
use sha2::{Digest, Sha256, Sha512};

use crate::address::Address;

/// The key of the receiving chain, `m/44'/60'/0'/0` in most wallets: address `i` is its child `i`.
pub struct Receiving {
    key: PublicKey,
    chain_code: [u8; 32],
}

impl Receiving {
    /// Reads an account's xpub (depth 3: its chain 0 is taken) or the receiving chain's own (depth
    /// 4).
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.starts_with("xprv") {
            return Err(
                "this is a PRIVATE key (xprv): whoever saw it can take the money. Move the money to a new wallet, and enter its xpub",
            );
        }
        let bytes = decoded(text)?;
        if bytes[..4] != XPUB {
            return Err("this is no xpub of version 0488b21e: export one for Ethereum (BIP-44)");
        }
        let mut chain_code = [0; 32];
        chain_code.copy_from_slice(&bytes[13..45]);
        let key = PublicKey::from_sec1_bytes(&bytes[45..])
            .map_err(|_| "the key inside this xpub is no point of the curve: copy it again")?;
        let given = Self { key, chain_code };
        match bytes[4] {
            ACCOUNT => given
                .child(0)
                .ok_or("this account has no receiving chain: take another account"),
            CHAIN => Ok(given),
            _ => Err(
                "this xpub is neither an account's (m/44'/60'/0') nor its receiving chain's (m/44'/60'/0'/0): export one of those",
            ),
        }
    }

    /// The address with this number. One in 2^127 numbers has none.
    pub fn address(&self, index: u32) -> Option<Address> {
        self.child(index).map(|child| Address::of(&child.key))
    }

    /// A name for this chain of addresses, the same whichever of its two xpubs was given.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.key.to_sec1_point(true).as_bytes());
        hash.update(self.chain_code);
        let hash = hash.finalize();
        hash[..16].iter().fold(String::new(), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Public derivation, not hardened.
    fn child(&self, index: u32) -> Option<Self> {
        if index >= HARDENED {
            return None;
        }
        let mut mac = Hmac::<Sha512>::new_from_slice(&self.chain_code).ok()?;
        mac.update(self.key.to_sec1_point(true).as_bytes());
        mac.update(&index.to_be_bytes());
        let hash = mac.finalize().into_bytes();
        let (left, right) = hash.split_at(32);
        let tweak = scalar(left)?;
        let point = ProjectivePoint::GENERATOR * tweak + self.key.to_projective();
        let mut chain_code = [0; 32];
        chain_code.copy_from_slice(right);
        Some(Self {
            key: PublicKey::from_affine(point.to_affine()).ok()?,
            chain_code,
        })
    }
}

/// `None` for a number that is not below the order of the curve.
fn scalar(bytes: &[u8]) -> Option<Scalar> {
    use k256::elliptic_curve::ff::PrimeField;
    let bytes = FieldBytes::try_from(bytes).ok()?;
    Scalar::from_repr(bytes).into_option()
}

/// The 78 bytes, once their four bytes of checksum are right.
fn decoded(text: &str) -> Result<Vec<u8>, &'static str> {
    let damaged = "this is no xpub, or a letter of it is wrong: copy it again";
    let mut bytes = bs58::decode(text.trim()).into_vec().map_err(|_| damaged)?;
    if bytes.len() != BYTES + 4 {
        return Err(damaged);
    }
    let checksum = bytes.split_off(BYTES);
    if Sha256::digest(Sha256::digest(&bytes))[..4] != checksum[..] {
        return Err(damaged);
    }
    Ok(bytes)
}

const XPUB: [u8; 4] = [0x04, 0x88, 0xb2, 0x1e];
const BYTES: usize = 78;
const ACCOUNT: u8 = 3;
const CHAIN: u8 = 4;
const HARDENED: u32 = 1 << 31;
