//! A wallet's extended public key (BIP-32): every receiving address, and not one private key.

use bip32::{ChildNumber, ExtendedKey, ExtendedPublicKey, Prefix};
use k256::PublicKey;
use sha2::{Digest, Sha256};

use crate::address::Address;

/// Key of the receiving chain, `m/44'/60'/0'/0` in most wallets: address `i` is its child `i`.
pub struct Receiving(ExtendedPublicKey<PublicKey>);

impl Receiving {
    /// Reads an account's xpub (depth 3: its chain 0 is taken) or the receiving chain's own (depth
    /// 4).
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.starts_with("xprv") {
            return Err(
                "this is a PRIVATE key (xprv): whoever saw it can take the money. Move the money to a new wallet, and enter its xpub",
            );
        }
        let key: ExtendedKey = text
            .trim()
            .parse()
            .map_err(|_| "this is no xpub, or a letter of it is wrong: copy it again")?;
        if key.prefix != Prefix::XPUB {
            return Err("this is no xpub of version 0488b21e: export one for Ethereum (BIP-44)");
        }
        let key = ExtendedPublicKey::try_from(key)
            .map_err(|_| "the key inside this xpub is no point of the curve: copy it again")?;
        let given = Self(key);
        match given.0.attrs().depth {
            ACCOUNT => given
                .child(0)
                .map(Self)
                .ok_or("this account has no receiving chain: take another account"),
            CHAIN => Ok(given),
            _ => Err(
                "this xpub is neither an account's (m/44'/60'/0') nor its receiving chain's (m/44'/60'/0'/0): export one of those",
            ),
        }
    }

    /// Address of this number. One in 2^127 numbers has none.
    pub fn address(&self, index: u32) -> Option<Address> {
        self.child(index)
            .map(|child| Address::of(child.public_key()))
    }

    /// Name of this chain of addresses, the same for both of its xpubs.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.0.to_bytes());
        hash.update(self.0.attrs().chain_code);
        base16ct::lower::encode_string(&hash.finalize()[..16])
    }

    /// Public derivation, not hardened.
    fn child(&self, index: u32) -> Option<ExtendedPublicKey<PublicKey>> {
        let number = ChildNumber::new(index, false).ok()?;
        self.0.derive_child(number).ok()
    }
}

const ACCOUNT: u8 = 3;
const CHAIN: u8 = 4;
