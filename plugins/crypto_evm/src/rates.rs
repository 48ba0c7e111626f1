//! Price of a coin: exact fractions along the operator's own table of rates. No float, and never
//! less than the requested amount.

use std::collections::{BTreeMap, VecDeque};

use switchyard_gateway::Money;

use crate::coins::{Coin, is_symbol};
use crate::u256::{self, U256};

/// The rates as written: units of the second currency for one of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates(Vec<Rate>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rate {
    of: String,
    is: String,
    numerator: U256,
    denominator: U256,
}

/// A product of rates.
#[derive(Clone, Copy)]
struct Fraction(U256, U256);

impl Rates {
    /// `ETH/USD=3120.50, EUR/USD=1.0845`: units of the second for one of the first. The two CFA
    /// francs have their fixed rate to the euro.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim);
        let rates: Result<Vec<_>, _> = entries
            .filter(|entry| !entry.is_empty())
            .map(rate)
            .collect();
        let mut rates = rates?;
        for franc in ["XOF", "XAF"] {
            let fixed = rates
                .iter()
                .any(|rate| [&rate.of, &rate.is].iter().any(|one| *one == franc));
            if !fixed {
                rates.push(Rate {
                    of: "EUR".into(),
                    is: franc.into(),
                    numerator: U256::from(655_957),
                    denominator: U256::from(1_000),
                });
            }
        }
        Ok(Self(rates))
    }

    /// How many smallest units of `coin` are `money`, rounded up: nothing if no rate leads there.
    pub fn price(&self, money: &Money, coin: &Coin) -> Option<U256> {
        let Fraction(numerator, denominator) = self.between(&money.currency, coin)?;
        let minor = U256::from(u64::try_from(money.minor).ok()?);
        let over = minor
            .checked_mul(u256::power_of_ten(coin.decimals.into())?)?
            .checked_mul(numerator)?;
        let under = denominator.checked_mul(u256::power_of_ten(money.decimals.into())?)?;
        written_short(u256::divided_up(over, under)?, coin.decimals)
    }

    /// The shortest way from the currency to the coin.
    fn between(&self, currency: &str, coin: &Coin) -> Option<Fraction> {
        let one = U256::from(1);
        let mut known = BTreeMap::from([(currency.to_owned(), Fraction(one, one))]);
        let mut open = VecDeque::from([currency.to_owned()]);
        let own = self.0.iter().any(|rate| rate.of == coin.symbol);
        while let Some(here) = open.pop_front() {
            let Fraction(over, under) = *known.get(&here)?;
            // A rate of the operator's own for the token counts for more than its peg.
            if here == coin.symbol || (!own && coin.peg.as_deref() == Some(&here)) {
                return Some(Fraction(over, under));
            }
            for rate in &self.0 {
                let (to, times, by) = if rate.of == here {
                    (&rate.is, rate.numerator, rate.denominator)
                } else if rate.is == here {
                    (&rate.of, rate.denominator, rate.numerator)
                } else {
                    continue;
                };
                if !known.contains_key(to) {
                    let there = Fraction(over.checked_mul(times)?, under.checked_mul(by)?);
                    known.insert(to.clone(), there);
                    open.push_back(to.clone());
                }
            }
        }
        None
    }
}

/// Rounds up so that a payer can type it: to eight decimals where a coin has more.
pub fn written_short(units: U256, decimals: u8) -> Option<U256> {
    let step = u256::power_of_ten(decimals.saturating_sub(TYPED_DECIMALS).into())?;
    u256::divided_up(units, step)?.checked_mul(step)
}

fn rate(entry: &str) -> Result<Rate, String> {
    let wrong = || {
        format!(
            "`{entry}` is no rate: write BASE/QUOTE=PRICE with at most 15 digits, as in ETH/USD=3120.50"
        )
    };
    let (pair, price) = entry.split_once('=').ok_or_else(wrong)?;
    let (of, is) = pair.split_once('/').ok_or_else(wrong)?;
    let [of, is] = [of, is].map(|name| name.trim().to_ascii_uppercase());
    let (whole, fraction) = price.trim().split_once('.').unwrap_or((price.trim(), ""));
    let digits = format!("{whole}{fraction}");
    let reads = is_symbol(&of) && is_symbol(&is) && of != is && digits.len() <= 15;
    let numerator = u256::from_decimal(&digits).filter(|number| reads && !number.is_zero());
    let places = u32::try_from(fraction.len()).ok();
    Ok(Rate {
        of,
        is,
        numerator: numerator.filter(|_| !whole.is_empty()).ok_or_else(wrong)?,
        denominator: places.and_then(u256::power_of_ten).ok_or_else(wrong)?,
    })
}

const TYPED_DECIMALS: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coins::decimal;

    fn coin(symbol: &str, decimals: u8, peg: Option<&str>) -> Coin {
        Coin {
            symbol: symbol.into(),
            contract: None,
            decimals,
            peg: peg.map(str::to_owned),
        }
    }

    fn price(rates: &str, money: Money, coin: &Coin) -> Option<String> {
        let rates = Rates::parse(rates).unwrap();
        Some(decimal(rates.price(&money, coin)?, coin.decimals))
    }

    #[test]
    fn a_price_follows_the_rates_and_is_never_less_than_was_asked() {
        let usdc = coin("USDC", 6, Some("USD"));
        let eth = coin("ETH", 18, None);
        let rates = "ETH/USD=3120.50,EUR/USD=1.0845, NGN/USD=0.00065";
        let usd = |minor| Money::from_minor(minor, "USD", 2);
        let xof = |minor| Money::from_minor(minor, "XOF", 0);
        for (money, coin, wanted) in [
            (usd(1_250), &usdc, "12.5"),
            (usd(1_250), &eth, "0.00400577"),
            // 5000 / 655.957 = 7.62245… EUR, at 1.0845 8.26654796… USD
            (xof(5_000), &usdc, "8.266548"),
            (Money::from_minor(100_000, "NGN", 2), &usdc, "0.65"),
            (Money::from_minor(1, "EUR", 2), &usdc, "0.010845"),
        ] {
            assert_eq!(price(rates, money, coin).as_deref(), Some(wanted));
        }
        // The same token with 18 decimals, as on BNB Chain, costs the same.
        let wide = coin("USDT", 18, Some("USD"));
        assert_eq!(price(rates, xof(5_000), &wide).unwrap(), "8.26654796");
    }

    #[test]
    fn without_a_rate_there_is_no_price_and_an_own_rate_beats_the_peg() {
        let usdc = coin("USDC", 6, Some("USD"));
        let ghs = Money::from_minor(1_000, "GHS", 2);
        assert_eq!(price("ETH/USD=3000", ghs, &usdc), None);
        let usd = Money::from_minor(1_000, "USD", 2);
        assert_eq!(price("USDC/USD=0.5", usd.clone(), &usdc).unwrap(), "20");
        let huge = Money::from_minor(i64::MAX, "USD", 0);
        let tiny = "AAA/USD=0.00000000000001,BBB/AAA=0.00000000000001,CCC/BBB=0.00000000000001,\
                    DDD/CCC=0.00000000000001,EEE/DDD=0.00000000000001";
        assert_eq!(price(tiny, huge, &coin("EEE", 18, None)), None, "too many");
        assert_eq!(price("", usd, &coin("ETH", 18, None)), None);
    }

    #[test]
    fn a_rate_that_does_not_read_is_refused_by_name() {
        for wrong in [
            "ETH/USD",
            "ETH=1",
            "ETH/USD=0",
            "ETH/USD=-1",
            "ETH/USD=1e3",
            "ETH/USD=.5",
            "ETH/ETH=1",
            "ETH/USD=1.0000000000000000",
            "E/USD=1",
        ] {
            assert!(Rates::parse(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
