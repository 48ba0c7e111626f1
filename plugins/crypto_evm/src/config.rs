//! Configuration of a connection, as the operator enters it.

use serde::Deserialize;
use switchyard_gateway::{Context, Environment, Fault, Money};

use crate::coins::{Coin, MOST_DECIMALS, RequestedCoin, is_symbol, tokens};
use crate::rates::Rates;
use crate::xpub::Receiving;

#[derive(Deserialize)]
struct ConfigFields {
    account_xpub: String,
    rpc_url: String,
    chain_id: u64,
    #[serde(default)]
    chain_name: String,
    #[serde(default)]
    native_enabled: bool,
    #[serde(default = "ether")]
    native_symbol: String,
    #[serde(default = "eighteen")]
    native_decimals: u8,
    #[serde(default)]
    tokens: String,
    #[serde(default)]
    rates: String,
    #[serde(default = "twelve")]
    confirmations: u64,
    #[serde(default = "half_an_hour")]
    quote_minutes: i64,
    #[serde(default = "an_hour")]
    grace_minutes: i64,
    #[serde(default)]
    first_index: u32,
}

/// The same, read and held against each other.
pub struct Settings {
    pub receiving: Receiving,
    pub rpc_url: String,
    pub chain_id: u64,
    pub chain: String,
    /// In the order in which they are offered.
    pub coins: Vec<Coin>,
    rates: Rates,
    pub confirmations: u64,
    pub quote_s: i64,
    pub grace_s: i64,
    pub first_index: u32,
    /// The numbers of addresses that this environment may give: an address is one on all chains, so
    /// no two payments may share it, be they in sandbox or live.
    share: Share,
}

/// The numbers of one environment: from `first` on, before `end`.
#[derive(Clone, Copy)]
struct Share {
    first: u32,
    end: u32,
}

impl Share {
    const fn of(environment: Environment) -> Self {
        match environment {
            Environment::Live => Self {
                first: 0,
                end: SANDBOX_FROM,
            },
            Environment::Sandbox => Self {
                first: SANDBOX_FROM,
                end: HARDENED,
            },
        }
    }
}

/// A field that does not fit.
pub struct ConfigError {
    pub field: &'static str,
    pub message: String,
}

impl From<ConfigError> for Fault {
    fn from(wrong: ConfigError) -> Self {
        Self::config(format!("{}: {}", wrong.field, wrong.message))
    }
}

impl Settings {
    pub fn read(cx: &Context) -> Result<Self, Fault> {
        Self::check(cx)?.map_err(Fault::from)
    }

    /// The inner result is about what was entered, the outer about whether it has the form of a
    /// configuration at all.
    pub fn check(cx: &Context) -> Result<Result<Self, ConfigError>, Fault> {
        let environment = cx.environment();
        cx.config::<ConfigFields>()
            .map(|entered| Self::of(entered, environment))
    }

    fn of(entered: ConfigFields, environment: Environment) -> Result<Self, ConfigError> {
        let wrong = |field, message: &str| ConfigError {
            field,
            message: message.to_owned(),
        };
        let receiving = Receiving::parse(entered.account_xpub.trim())
            .map_err(|why| wrong("account_xpub", why))?;
        let mut coins = tokens(&entered.tokens).map_err(|why| wrong("tokens", &why))?;
        if entered.native_enabled {
            if !is_symbol(&entered.native_symbol) {
                let why = "a symbol is 2 to 12 letters and digits";
                return Err(wrong("native_symbol", why));
            }
            if entered.native_decimals > MOST_DECIMALS {
                return Err(wrong(
                    "native_decimals",
                    "0 to 18; nearly every chain has 18",
                ));
            }
            coins.push(Coin {
                symbol: entered.native_symbol.to_ascii_uppercase(),
                contract: None,
                decimals: entered.native_decimals,
                peg: None,
            });
        }
        if coins.is_empty() {
            let why = "enter a token, or enable the chain's own coin: there is nothing to pay with";
            return Err(wrong("tokens", why));
        }
        for (at, coin) in coins.iter().enumerate() {
            let twice =
                |other: &Coin| other.symbol == coin.symbol || other.contract == coin.contract;
            if coins[..at].iter().any(twice) {
                let why = format!("{} or its contract is listed twice", coin.symbol);
                return Err(wrong("tokens", &why));
            }
        }
        if !(1..=MOST_CONFIRMATIONS).contains(&entered.confirmations) {
            let why = "1 to 100: nodes keep the balances of the last 128 blocks only";
            return Err(wrong("confirmations", why));
        }
        for (field, minutes) in [
            ("quote_minutes", entered.quote_minutes),
            ("grace_minutes", entered.grace_minutes),
        ] {
            if !(1..=MOST_MINUTES).contains(&minutes) {
                return Err(wrong(field, "1 to 10080 minutes, which is a week"));
            }
        }
        if entered.first_index >= SANDBOX_FROM {
            let why = "below 1073741824: the numbers from there on are those of sandbox payments";
            return Err(wrong("first_index", why));
        }
        Ok(Self {
            receiving,
            rpc_url: entered.rpc_url.trim().to_owned(),
            chain_id: entered.chain_id,
            chain: chain_name(entered.chain_id, &entered.chain_name),
            coins,
            rates: Rates::parse(&entered.rates).map_err(|why| wrong("rates", &why))?,
            confirmations: entered.confirmations,
            quote_s: entered.quote_minutes * 60,
            grace_s: entered.grace_minutes * 60,
            first_index: entered.first_index,
            share: Share::of(environment),
        })
    }

    /// Number, below the xpub, of the address with this number in its environment. `None`: the
    /// numbers are used up.
    pub fn index(&self, number: u64) -> Option<u32> {
        let index = self.share.first.checked_add(u32::try_from(number).ok()?)?;
        (index < self.share.end).then_some(index)
    }

    /// Price of `money` in every coin that has a rate.
    pub fn wanted(&self, money: &Money) -> Vec<RequestedCoin> {
        let priced = |coin: &Coin| Some(RequestedCoin::of(coin, self.rates.price(money, coin)?));
        self.coins.iter().filter_map(priced).collect()
    }
}

fn chain_name(id: u64, given: &str) -> String {
    if !given.trim().is_empty() {
        return given.trim().to_owned();
    }
    let known = match id {
        1 => "Ethereum",
        10 => "OP Mainnet",
        56 => "BNB Smart Chain",
        100 => "Gnosis",
        137 => "Polygon",
        8453 => "Base",
        42161 => "Arbitrum One",
        42220 => "Celo",
        43114 => "Avalanche C-Chain",
        11_155_111 => "Sepolia (test)",
        _ => return format!("EVM chain {id}"),
    };
    known.to_owned()
}

fn ether() -> String {
    "ETH".to_owned()
}

const fn eighteen() -> u8 {
    18
}

const fn twelve() -> u64 {
    12
}

const fn half_an_hour() -> i64 {
    30
}

const fn an_hour() -> i64 {
    60
}

/// The number of the first sandbox address: half of those that an xpub can derive.
const SANDBOX_FROM: u32 = 1 << 30;
/// Numbers of hardened keys begin here: they need the private key.
const HARDENED: u32 = 1 << 31;
const MOST_CONFIRMATIONS: u64 = 100;
const MOST_MINUTES: i64 = 7 * 24 * 60;
