//! State of an attempt, and its outcome after a reading of the chain. Pure: the same reading gives
//! the same outcome.
//!
//! Only a balance at a confirmed block is credited. So a reverted transaction, a token that merely
//! says `Transfer`, and a payment that a reorganisation drops count for nothing, and money that a
//! contract sends counts like any other.
//!
//! The money rule here: "declined" is reported only when no money came, by a block that is
//! confirmed *and* younger than the deadline, so that a node that lags or has stopped declines no
//! payment. Insufficient money is reported as such: the engine opens a case for the operator, and
//! the attempt ends by a person's decision or the rest of the money.

use serde::{Deserialize, Serialize};
use switchyard_gateway::{Amount, DeclineReason, Fault, Money, Outcome, PayerAction};

use crate::coins::RequestedCoin;
use crate::node::Block;
use crate::rates::written_short;
use crate::u256::{self, U256};

/// Stored state of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptState {
    pub chain_id: u64,
    pub chain: String,
    pub address: String,
    /// The address's number below the receiving chain.
    pub index: u32,
    /// Seconds since 1970.
    pub expires: i64,
    /// The coin that the payer was asked for; any of `coins` counts.
    pub coin: String,
    pub coins: Vec<RequestedCoin>,
    /// Money in the newest block, when there was some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Sighting>,
    /// Money that is confirmed. It stays credited when the wallet's owner moves it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Sighting>,
}

/// Money, and the block by which it was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    pub block: u64,
    pub hash: String,
    /// In the order of [`AttemptState::coins`].
    #[serde(with = "crate::u256::decimals")]
    pub units: Vec<U256>,
}

/// One reading of the chain.
#[derive(Clone, Debug)]
pub struct Look {
    pub latest: Block,
    pub confirmed: Block,
    /// Balances in the order of [`AttemptState::coins`]; None where the node gave none.
    pub units_latest: Vec<Option<U256>>,
    pub units_confirmed: Vec<Option<U256>>,
    /// The hashes now of the blocks of the two sightings.
    pub hash_of_seen: Option<String>,
    pub hash_of_confirmed: Option<String>,
}

/// Conclusion from a reading.
pub struct Verdict {
    pub outcome: Outcome,
    /// Messages for the operator's log.
    pub news: Vec<String>,
}

/// The deadline after which an attempt ends.
pub struct Deadline {
    pub now: i64,
    pub grace: i64,
}

impl AttemptState {
    /// Tells the payer to send the coins that settle `worth`: `missing`, or all of the quote.
    pub fn action(&self, missing: Option<U256>, worth: Amount) -> Option<PayerAction> {
        let coin = self.coins.iter().find(|coin| coin.symbol == self.coin)?;
        let units = missing.unwrap_or(coin.units);
        Some(PayerAction::SendCrypto {
            address: self.address.clone(),
            chain: self.chain.clone(),
            token: Some(coin.name()),
            amount: crate::coins::decimal(units, coin.decimals),
            worth: Some(Box::new(worth)),
            uri: coin.uri(self.chain_id, &self.address, units),
            expires: Some(minutes_utc(self.expires)),
        })
    }

    /// Takes in a look, and says what it means for a payment of `asked`.
    pub fn judge(
        &mut self,
        look: &Look,
        asked: &Money,
        deadline: &Deadline,
    ) -> Result<Verdict, Fault> {
        let known = self.confirmed.clone();
        let mut news = Vec::new();
        self.take_confirmed(look, &mut news)?;
        self.take_seen(look, &mut news);
        let nothing = vec![U256::ZERO; self.coins.len()];
        let units = self
            .confirmed
            .as_ref()
            .map_or_else(|| nothing.clone(), |it| it.units.clone());
        let paid = self.credit(asked.minor, &units);
        let outcome = if paid >= asked.minor {
            self.succeeded(asked, &units, &mut news)
        } else if look.units_confirmed.contains(&None) || look.units_latest.contains(&None) {
            let why = "the node does not tell the balance of every coin: the rest may be there";
            return Err(Fault::provider(why));
        } else if look.units_latest != look.units_confirmed || !self.is_over(look, deadline) {
            let latest: Vec<U256> = look.units_latest.iter().copied().flatten().collect();
            self.pending(asked, &most(&units, &latest), look)
        } else if paid == 0 {
            self.nothing_came(&units)
        } else if self.confirmed != known {
            // AttemptState first, said at the next question.
            self.pending(asked, &units, look)
        } else {
            news.push(format!(
                "{} of {} came to {} (number {}) and no more followed: a person has to decide",
                self.amounts(&units),
                self.amount_of_quote(),
                self.address,
                self.index
            ));
            Outcome::Succeeded {
                provider_id: Some(self.address.clone()),
                amount: Some(Amount::minor(paid, &asked.currency)),
                fees: None,
                provider_status: Some(format!("underpaid: {}", self.amounts(&units))),
            }
        };
        Ok(Verdict { outcome, news })
    }

    /// Worth of these units at the quote of `asked`, each coin rounded down. `None`: more than an
    /// amount can express.
    fn worth(&self, asked: i64, units: &[U256]) -> Option<i64> {
        let asked = U256::from(u64::try_from(asked).ok()?);
        let mut sum = 0_i64;
        for (coin, units) in self.coins.iter().zip(units) {
            let worth = units.checked_mul(asked)?.checked_div(coin.units)?;
            sum = sum.checked_add(i64::try_from(worth).ok()?)?;
        }
        Some(sum)
    }

    /// The same, for comparisons.
    fn credit(&self, asked: i64, units: &[U256]) -> i64 {
        self.worth(asked, units).unwrap_or(i64::MAX)
    }

    /// Amount of a complete payment: the worth of all coins that came. The rest of a payment in
    /// several coins is asked for in whole steps of one coin, so one step too much is no surplus.
    fn captured(&self, asked: i64, units: &[U256]) -> Option<i64> {
        let worth = self.worth(asked, units)?;
        let several = units.iter().filter(|units| !units.is_zero()).count() > 1;
        let step = || {
            let coin = self.coins.iter().find(|coin| coin.symbol == self.coin)?;
            let step = written_short(U256::from(1), coin.decimals)?;
            let worth = step.checked_mul(U256::from(u64::try_from(asked).ok()?))?;
            i64::try_from(u256::divided_up(worth, coin.units)?).ok()
        };
        let is_rounding = several && step().is_some_and(|step| worth - asked <= step);
        Some(if is_rounding { asked } else { worth })
    }

    fn take_confirmed(&mut self, look: &Look, news: &mut Vec<String>) -> Result<(), Fault> {
        if let Some(known) = &self.confirmed {
            if known.block > look.confirmed.number {
                return Err(Fault::provider(format!(
                    "the node is behind: it confirms block {}, and block {} was confirmed before",
                    look.confirmed.number, known.block
                )));
            }
            if look.hash_of_confirmed.as_deref() != Some(known.hash.as_str()) {
                news.push(format!(
                    "the chain was reorganised below block {}, which was confirmed: {} at {} counts anew; raise `confirmations`",
                    known.block,
                    self.amounts(&known.units),
                    self.address
                ));
                self.confirmed = None;
            }
        }
        let now = present(&look.units_confirmed);
        let known = self.confirmed.as_ref().map_or(&[][..], |it| &it.units);
        let units = most(&now, known);
        if units != known && units.iter().any(|units| !units.is_zero()) {
            self.confirmed = Some(Sighting {
                block: look.confirmed.number,
                hash: look.confirmed.hash.clone(),
                units,
            });
        }
        Ok(())
    }

    fn take_seen(&mut self, look: &Look, news: &mut Vec<String>) {
        let units = present(&look.units_latest);
        let there = units.iter().any(|units| !units.is_zero());
        if let Some(known) = &self.seen {
            let same_block = look.hash_of_seen.as_deref() == Some(known.hash.as_str());
            if same_block && known.units == units {
                return;
            }
            if !same_block && known.units != units {
                news.push(format!(
                    "{} at {} was in block {}, which the chain has dropped: now there is {}",
                    self.amounts(&known.units),
                    self.address,
                    known.block,
                    self.amounts(&units)
                ));
            }
        }
        self.seen = there.then(|| Sighting {
            block: look.latest.number,
            hash: look.latest.hash.clone(),
            units,
        });
    }

    /// Past the deadline by the engine's clock and by the chain's own.
    fn is_over(&self, look: &Look, deadline: &Deadline) -> bool {
        let end = self.expires.saturating_add(deadline.grace);
        deadline.now >= end && look.confirmed.time >= end
    }

    fn succeeded(&self, asked: &Money, units: &[U256], news: &mut Vec<String>) -> Outcome {
        let mut status = format!("paid {}", self.amounts(units));
        if let Some(surplus) = self.surplus(units) {
            status = format!("{status}, {surplus} more than asked");
            news.push(format!("{status}, at {}", self.address));
        }
        Outcome::Succeeded {
            provider_id: Some(self.address.clone()),
            // Without an amount the engine opens a case: it is more than an amount can express.
            amount: self
                .captured(asked.minor, units)
                .map(|minor| Amount::minor(minor, &asked.currency)),
            fees: None,
            provider_status: Some(status),
        }
    }

    /// Money beyond the one coin that paid for all, which is the requested one if it did.
    fn surplus(&self, units: &[U256]) -> Option<String> {
        let enough = |at: &usize| units[*at] >= self.coins[*at].units;
        let asked_for = self.coins.iter().position(|coin| coin.symbol == self.coin);
        let payer = asked_for
            .filter(enough)
            .or_else(|| (0..self.coins.len()).find(enough))?;
        let mut over = units.to_vec();
        over[payer] = units[payer].checked_sub(self.coins[payer].units)?;
        let any = over.iter().any(|units| !units.is_zero());
        any.then(|| self.amounts(&over))
    }

    /// Pending: the page shows the missing amount, or that all of the money was seen.
    fn pending(&self, asked: &Money, units: &[U256], look: &Look) -> Outcome {
        let paid = self.credit(asked.minor, units);
        let on_its_way = look.units_latest != look.units_confirmed;
        Outcome::Pending {
            provider_id: Some(self.address.clone()),
            payer_action: if paid < asked.minor {
                let worth = Amount::minor(asked.minor - paid, &asked.currency);
                self.action(self.missing(asked.minor, paid, units), worth)
            } else {
                Some(PayerAction::Wait {})
            },
            poll_after: Some(if on_its_way {
                look.until_confirmed_s()
            } else {
                POLL_S
            }),
            received: self.received(asked),
        }
    }

    /// The worth of the coins that are confirmed so far.
    fn received(&self, asked: &Money) -> Option<Amount> {
        let units = self.confirmed.as_ref().map_or(&[][..], |it| &it.units);
        let minor = self.worth(asked.minor, units)?;
        Some(Amount::minor(minor, &asked.currency))
    }

    /// How much of the coin that was asked for is missing.
    fn missing(&self, asked: i64, paid: i64, units: &[U256]) -> Option<U256> {
        let at = self
            .coins
            .iter()
            .position(|coin| coin.symbol == self.coin)?;
        let coin = &self.coins[at];
        let only = (0..units.len()).all(|other| other == at || units[other].is_zero());
        if only {
            return coin.units.checked_sub(units[at]);
        }
        let rest = U256::from(u64::try_from(asked.checked_sub(paid)?).ok()?);
        let all = U256::from(u64::try_from(asked).ok()?);
        let units = coin.units.checked_mul(rest)?;
        written_short(u256::divided_up(units, all)?, coin.decimals)
    }

    fn nothing_came(&self, units: &[U256]) -> Outcome {
        let until = minutes_utc(self.expires);
        let came = if units.iter().all(|units| units.is_zero()) {
            "Nothing".to_owned()
        } else {
            // Not worth the smallest unit of the price: anybody can send this much to anybody.
            format!("No more than {}", self.amounts(units))
        };
        let message = format!(
            "{came} came to {} by {until}; {} was asked.",
            self.address,
            self.amount_of_quote()
        );
        // No provider has a code for it: the word is this gateway's.
        Outcome::declined(DeclineReason::Expired, message)
            .with_provider_code("not_paid")
            .with_provider_id(&self.address)
    }

    fn amount_of_quote(&self) -> String {
        let coin = self.coins.iter().find(|coin| coin.symbol == self.coin);
        coin.map_or_else(String::new, |coin| coin.amount(coin.units))
    }

    /// `2.5 USDC and 0.01 ETH`
    fn amounts(&self, units: &[U256]) -> String {
        let coins = self.coins.iter().zip(units);
        let present = coins.filter(|(_, units)| !units.is_zero());
        let texts: Vec<String> = present.map(|(coin, units)| coin.amount(*units)).collect();
        if texts.is_empty() {
            return "nothing".to_owned();
        }
        texts.join(" and ")
    }
}

impl Look {
    /// Time until the newest block is confirmed, if the chain continues at its speed, and a little
    /// more.
    fn until_confirmed_s(&self) -> u32 {
        let took = self.latest.time.saturating_sub(self.confirmed.time);
        let more = took.saturating_mul(5) / 4;
        u32::try_from(more.clamp(0, LONGEST_POLL_S)).map_or(POLL_S, |wait| wait + 5)
    }
}

fn present(units: &[Option<U256>]) -> Vec<U256> {
    units
        .iter()
        .map(|units| units.unwrap_or_default())
        .collect()
}

/// The larger amount of each coin; a coin that the second lacks counts as zero.
fn most(one: &[U256], other: &[U256]) -> Vec<U256> {
    let other = other.iter().copied().chain(std::iter::repeat(U256::ZERO));
    one.iter()
        .zip(other)
        .map(|(one, other)| (*one).max(other))
        .collect()
}

/// `2026-11-20 10:30 UTC` (Howard Hinnant's `civil_from_days`).
fn minutes_utc(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_of_year = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_of_year + 2) / 5 + 1;
    let month = if month_of_year < 10 {
        month_of_year + 3
    } else {
        month_of_year - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

const POLL_S: u32 = 30;
const LONGEST_POLL_S: i64 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_in_another_coin_is_rounded_up_and_makes_no_surplus() {
        let wanted = |symbol: &str, decimals, units: u64| RequestedCoin {
            symbol: symbol.to_owned(),
            contract: None,
            decimals,
            units: U256::from(units),
        };
        // 12.50 cost 13 whole coins of the one, and 12.5 of the other.
        let kept = AttemptState {
            chain_id: 1,
            chain: String::new(),
            address: String::new(),
            index: 0,
            expires: 0,
            coin: "WHOLE".to_owned(),
            coins: vec![wanted("WHOLE", 0, 13), wanted("USDC", 6, 12_500_000)],
            seen: None,
            confirmed: None,
        };
        let units = |whole: u64, usdc: u64| [whole, usdc].map(U256::from);
        let missing = kept.missing(1_250, 130, &units(0, 1_300_000));
        assert_eq!(missing, Some(U256::from(12)));
        for (units, minor) in [
            (units(12, 1_300_000), 1_250),
            (units(13, 1_300_000), 1_380),
            (units(13, 0), 1_250),
            (units(14, 0), 1_346),
            (units(26, 12_500_000), 3_750),
        ] {
            assert_eq!(kept.captured(1_250, &units), Some(minor), "{units:?}");
        }
        let most = [U256::from(u64::MAX), U256::ZERO];
        assert_eq!(kept.captured(i64::MAX, &most), None, "no amount says it");
    }

    #[test]
    fn a_moment_is_written_to_the_minute() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (1_795_168_800, "2026-11-20 10:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
        ] {
            assert_eq!(minutes_utc(seconds), text);
        }
    }
}
