//! Accepted coins: the chain's own coin, and tokens pinned by their contract.

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::u256::U256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coin {
    pub symbol: String,
    /// `None`: the chain's own coin.
    pub contract: Option<Address>,
    pub decimals: u8,
    /// The currency that one of it is worth one of.
    pub peg: Option<String>,
}

/// How much of a coin an attempt asks for; kept with the attempt, so that a changed configuration
/// changes nothing for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCoin {
    pub symbol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    pub decimals: u8,
    /// In the coin's smallest unit.
    #[serde(with = "crate::u256::decimal")]
    pub units: U256,
}

impl RequestedCoin {
    pub fn of(coin: &Coin, units: U256) -> Self {
        Self {
            symbol: coin.symbol.clone(),
            contract: coin.contract.map(|contract| contract.to_string()),
            decimals: coin.decimals,
            units,
        }
    }

    /// `2.5 USDC`
    pub fn amount(&self, units: U256) -> String {
        format!("{} {}", decimal(units, self.decimals), self.symbol)
    }

    /// `USDC (0x…)`: the contract distinguishes it from another token of that name.
    pub fn name(&self) -> String {
        match &self.contract {
            Some(contract) => format!("{} ({contract})", self.symbol),
            None => self.symbol.clone(),
        }
    }

    /// Link that a wallet opens (EIP-681).
    pub fn uri(&self, chain_id: u64, address: &str, units: U256) -> String {
        match &self.contract {
            Some(contract) => {
                format!("ethereum:{contract}@{chain_id}/transfer?address={address}&uint256={units}")
            }
            None => format!("ethereum:{address}@{chain_id}?value={units}"),
        }
    }
}

/// `SYMBOL:0xcontract:decimals[:PEG]`, separated by commas.
pub fn tokens(text: &str) -> Result<Vec<Coin>, String> {
    let entries = text.split(',').map(str::trim);
    let coins: Result<Vec<_>, _> = entries
        .filter(|entry| !entry.is_empty())
        .map(token)
        .collect();
    let coins = coins?;
    if coins.len() > MOST_TOKENS {
        return Err(format!(
            "at most {MOST_TOKENS} tokens: each is asked about in every look at the chain"
        ));
    }
    Ok(coins)
}

fn token(entry: &str) -> Result<Coin, String> {
    let wrong = |why: &str| {
        format!("`{entry}`: {why}; write SYMBOL:0xCONTRACT:DECIMALS:CURRENCY, as in USDC:0x…:6:USD")
    };
    let parts: Vec<&str> = entry.split(':').map(str::trim).collect();
    let (symbol, contract, decimals, peg) = match parts[..] {
        [symbol, contract, decimals] => (symbol, contract, decimals, None),
        [symbol, contract, decimals, peg] => (symbol, contract, decimals, Some(peg)),
        _ => return Err(wrong("it has not three or four parts")),
    };
    if !is_symbol(symbol) {
        return Err(wrong("a symbol is 2 to 12 letters and digits"));
    }
    if peg.is_some_and(|peg| peg.len() != 3 || !peg.bytes().all(|b| b.is_ascii_uppercase())) {
        return Err(wrong("the currency is three capital letters"));
    }
    let decimals = decimals.parse().ok().filter(|it| *it <= MOST_DECIMALS);
    Ok(Coin {
        symbol: symbol.to_ascii_uppercase(),
        contract: Some(Address::parse(contract).map_err(wrong)?),
        decimals: decimals.ok_or_else(|| wrong("the decimals are 0 to 18"))?,
        peg: peg.map(str::to_owned),
    })
}

pub fn is_symbol(text: &str) -> bool {
    (2..=12).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Smallest units as people write them, without zeros at the end: `0.0025`.
pub fn decimal(units: U256, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let digits = units.to_string();
    let digits = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

pub const MOST_DECIMALS: u8 = 18;
const MOST_TOKENS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const USDC: &str = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";

    #[test]
    fn tokens_are_read_from_one_line() {
        let list = format!("USDC:{USDC}:6:USD, weth : {} :18", USDC.to_lowercase());
        let coins = tokens(&list).unwrap();
        assert_eq!(coins.len(), 2);
        assert_eq!(coins[0].peg.as_deref(), Some("USD"));
        assert_eq!((coins[1].symbol.as_str(), coins[1].decimals), ("WETH", 18));
        assert_eq!(coins[1].peg, None);
        assert_eq!(tokens(" ").unwrap(), []);
    }

    #[test]
    fn a_token_that_does_not_read_is_named_with_what_is_wrong() {
        for (entry, why) in [
            ("USDC".to_owned(), "parts"),
            (format!("U$:{USDC}:6:USD"), "symbol"),
            (format!("USDC:{USDC}:19:USD"), "decimals"),
            (format!("USDC:{USDC}:6:usd"), "capital"),
            (
                format!("USDC:{}:6:USD", USDC.replace("A0b8", "a0b8")),
                "checksum",
            ),
            ("USDC:0x12:6:USD".to_owned(), "40"),
        ] {
            let said = tokens(&entry).unwrap_err();
            assert!(said.contains(why) && said.contains(&entry), "{said}");
        }
    }

    #[test]
    fn units_are_written_as_people_write_them() {
        for (units, decimals, text) in [
            (2_500_000, 6, "2.5"),
            (1, 18, "0.000000000000000001"),
            (0, 6, "0"),
            (7, 0, "7"),
            (10_000_000, 6, "10"),
        ] {
            assert_eq!(decimal(U256::from(units), decimals), text);
        }
    }
}
