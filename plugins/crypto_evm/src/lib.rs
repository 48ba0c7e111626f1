//! Coins and tokens on any EVM chain, straight into the merchant's own wallet: a fresh address a
//! payment, derived from an account's extended *public* key. There is no private key here, and
//! nothing to steal.
//!
//! Promises:
//! - An address is given once: its number comes from the engine's durable counter, and an address
//!   that was ever used is passed over. Sandbox and live have numbers of their own, so one wallet
//!   may serve both.
//! - Money counts when a confirmed block has it: see `watch`.
//! - "Declined" is said only when nothing came. A node that is away, lags, lies about its chain or
//!   contradicts itself ends nothing.
//!
//! Left out: payouts and refunds (they need a private key), and moving the money on from the
//! addresses.

pub mod address;
mod coins;
mod config;
mod node;
mod rates;
mod u256;
mod watch;
pub mod xpub;

use switchyard_gateway::{
    Collect, ConfigCheck, Context, DeclineReason, Fault, FaultKind, Gateway, LogLevel, Money,
    OptionList, Options, Outcome, Query, gateway,
};

use self::address::Address;
use self::coins::RequestedCoin;
use self::config::{ConfigError, Settings};
use self::node::{Ask, Block, Node, NodeAnswer};
use self::u256::U256;
use self::watch::{AttemptState, Deadline, Look};

#[derive(Default)]
pub struct CryptoEvm;

impl Gateway for CryptoEvm {
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let checked = match Settings::check(cx)? {
            Ok(settings) => check_chain(cx, &settings).await?,
            Err(wrong) => Err(wrong),
        };
        Ok(match checked {
            Ok(account) => ConfigCheck::Works {
                account: Some(account),
            },
            Err(wrong) => ConfigCheck::Refused {
                message: wrong.message,
                field: Some(wrong.field.to_owned()),
            },
        })
    }

    /// Asked again, it answers with the address that it has given already.
    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        if let Some(kept) = cx.state::<AttemptState>()? {
            return Ok(waiting(&kept, &ask.amount));
        }
        let settings = Settings::read(cx)?;
        let coins = settings.wanted(&ask.amount);
        let Some(first) = coins.first() else {
            return Err(Fault::config(format!(
                "rates: no coin of this connection has a price in {}",
                ask.amount.currency
            )));
        };
        let coin = match ask.fields.get("coin").map(str::trim).unwrap_or_default() {
            "" => first.symbol.clone(),
            typed => match coins
                .iter()
                .find(|coin| coin.symbol.eq_ignore_ascii_case(typed))
            {
                Some(coin) => coin.symbol.clone(),
                None => return Ok(not_offered(&coins)),
            },
        };
        let (index, address) = fresh_address(cx, &settings, &coins).await?;
        let kept = AttemptState {
            chain_id: settings.chain_id,
            chain: settings.chain,
            address: address.to_string(),
            index,
            expires: cx.now().unix_seconds() + settings.quote_s,
            coin,
            coins,
            seen: None,
            confirmed: None,
        };
        cx.set_state(&kept)?;
        Ok(waiting(&kept, &ask.amount))
    }

    /// The coins of the connection that have a price in the method's currency.
    async fn options(&self, cx: &Context, ask: Options) -> Result<OptionList, Fault> {
        let coins = Settings::read(cx)?.wanted(&ask.unit).into_iter();
        Ok(OptionList::named(
            coins.map(|coin| (coin.symbol.clone(), coin.symbol)),
        ))
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let Some(mut kept) = cx.state::<AttemptState>()? else {
            // The address is kept before anybody is shown it.
            return Ok(Outcome::NotFound {
                why: "no address was given for this attempt".into(),
            });
        };
        let settings = Settings::read(cx)?;
        if settings.chain_id != kept.chain_id {
            return Err(Fault::config(format!(
                "chain_id: this attempt's address is watched on chain {}, and the connection is now for {}",
                kept.chain_id, settings.chain_id
            )));
        }
        let before = kept.clone();
        let look = look(cx, &settings, &kept).await?;
        let deadline = Deadline {
            now: cx.now().unix_seconds(),
            grace: settings.grace_s,
        };
        let verdict = kept.judge(&look, &ask.amount, &deadline)?;
        for line in verdict.news {
            cx.log(LogLevel::Warn, line);
        }
        if kept != before {
            cx.set_state(&kept)?;
        }
        Ok(verdict.outcome)
    }
}

gateway!(CryptoEvm);

fn waiting(kept: &AttemptState, asked: &Money) -> Outcome {
    Outcome::Pending {
        provider_id: Some(kept.address.clone()),
        payer_action: kept.action(None, asked.into()),
        poll_after: None,
        received: None,
    }
}

fn not_offered(coins: &[RequestedCoin]) -> Outcome {
    let symbols: Vec<&str> = coins.iter().map(|coin| coin.symbol.as_str()).collect();
    let message = format!(
        "This coin is not taken here. Taken: {}.",
        symbols.join(", ")
    );
    Outcome::declined(DeclineReason::NotPermitted, message)
        .with_provider_code("coin_not_taken")
        .about_field("coin")
        .and_retryable()
}

/// The number of the next address in this environment: `first_index` at least, and higher than each
/// that any connection with this xpub has given.
///
/// Earlier versions counted payments from zero and added `first_index`. Their series is continued,
/// so that this connection gives none of its earlier addresses again.
async fn next_number(cx: &Context, settings: &Settings) -> Result<u64, Fault> {
    let xpub = settings.receiving.fingerprint();
    let payments = cx.next_number(xpub.clone()).await?;
    let from = u64::from(settings.first_index).saturating_add(payments);
    cx.next_number_from(format!("{xpub}/index"), from).await
}

/// An unused address. After a restored backup the counter has an older value: addresses that it
/// assigned already are skipped if they were paid or emptied.
async fn fresh_address(
    cx: &Context,
    settings: &Settings,
    coins: &[RequestedCoin],
) -> Result<(u32, Address), Fault> {
    let node = Node::new(cx, &settings.rpc_url);
    // Before a number is taken: a node that is away must not use them up.
    node.head(settings.chain_id).await?;
    for _ in 0..TRIES {
        let number = next_number(cx, settings).await?;
        let index = settings
            .index(number)
            .ok_or_else(|| Fault::config("account_xpub: its numbers are used up"))?;
        let Some(address) = settings.receiving.address(index) else {
            continue;
        };
        let mut asks = vec![node::sent(&address.to_string(), "latest")];
        asks.push(node::balance(address, None, "latest"));
        for contract in coins.iter().filter_map(|coin| coin.contract.as_deref()) {
            asks.push(node::balance(address, Some(contract), "latest"));
        }
        let replies = node.ask(&asks).await?;
        let amounts: Result<Vec<U256>, Fault> = replies.iter().map(node::amount).collect();
        if amounts?.iter().all(U256::is_zero) {
            return Ok((index, address));
        }
        cx.log(
            LogLevel::Warn,
            format!("address {index}, {address}, was used before: the next one is tried"),
        );
    }
    Err(Fault::config(format!(
        "first_index: the last {TRIES} addresses were used before; enter a higher one"
    )))
}

/// The heads first, then every balance at the newest and at the newest confirmed block.
async fn look(cx: &Context, settings: &Settings, kept: &AttemptState) -> Result<Look, Fault> {
    let address = Address::parse(&kept.address)
        .map_err(|why| Fault::config(format!("the attempt's address does not read: {why}")))?;
    let node = Node::new(cx, &settings.rpc_url);
    let latest = node.head(settings.chain_id).await?;
    let confirmed = confirmed_number(&latest, settings.confirmations);
    let mut asks: Vec<Ask> = vec![node::block(&node::at(confirmed))];
    for coin in &kept.coins {
        for number in [latest.number, confirmed] {
            asks.push(node::balance(
                address,
                coin.contract.as_deref(),
                &node::at(number),
            ));
        }
    }
    let sightings = [&kept.seen, &kept.confirmed];
    let known = sightings.map(|sighting| sighting.as_ref().map(|sighting| sighting.block));
    asks.extend(
        known
            .iter()
            .flatten()
            .map(|number| node::block(&node::at(*number))),
    );
    let replies = node.ask(&asks).await?;
    let (balances, blocks) = replies[1..].split_at(2 * kept.coins.len());
    let read = |from: usize| {
        let own = balances.iter().skip(from).step_by(2);
        own.map(|reply| node::amount(reply).ok()).collect()
    };
    let mut blocks = blocks.iter();
    let mut hash = |known: Option<u64>| -> Result<Option<String>, Fault> {
        let Some((_, reply)) = known.zip(blocks.next()) else {
            return Ok(None);
        };
        // Above the head there is no block: it was dropped.
        match reply {
            Ok(block) if block.is_null() => Ok(None),
            reply => node::read_block(reply).map(|block| Some(block.hash)),
        }
    };
    Ok(Look {
        confirmed: node::read_block(&replies[0])?,
        units_latest: read(0),
        units_confirmed: read(1),
        hash_of_seen: hash(known[0])?,
        hash_of_confirmed: hash(known[1])?,
        latest,
    })
}

/// The newest block that has `confirmations` blocks from itself to the head.
const fn confirmed_number(head: &Block, confirmations: u64) -> u64 {
    (head.number + 1).saturating_sub(confirmations)
}

/// Checks that the chain is the right one, that it has the tokens as they were entered, and that
/// the node keeps balances far enough back. A node with an error proves nothing about the entries:
/// that is a fault. A valid response of the node counts, and so does its refusal.
async fn check_chain(
    cx: &Context,
    settings: &Settings,
) -> Result<Result<String, ConfigError>, Fault> {
    let node = Node::new(cx, &settings.rpc_url);
    let replies = match node.ask(&node::head()).await {
        Err(refused) if refused.kind == FaultKind::Config => return Ok(Err(at_node(refused))),
        replies => replies?,
    };
    let head = match node::read_head(&replies, settings.chain_id) {
        Err(fault) => return Ok(Err(at_node(fault))),
        Ok(head) => head,
    };
    let number = settings.first_index;
    let Some(address) = settings.receiving.address(number) else {
        return Ok(Err(ConfigError {
            field: "first_index",
            message: "there is no address of this number: take the next one".into(),
        }));
    };
    let confirmed = node::at(confirmed_number(&head, settings.confirmations));
    let mut asks = vec![node::balance(address, None, &confirmed)];
    asks.extend(settings.coins.iter().filter_map(node::decimals));
    let replies = node.ask(&asks).await?;
    Ok(judge_chain(settings, address, &replies))
}

fn at_node(fault: Fault) -> ConfigError {
    let field = if fault.message.starts_with("chain_id: ") {
        "chain_id"
    } else {
        "rpc_url"
    };
    ConfigError {
        field,
        message: fault.message,
    }
}

/// The balance of the first address at a confirmed block, and the decimals of each token.
fn judge_chain(
    settings: &Settings,
    address: Address,
    replies: &[NodeAnswer],
) -> Result<String, ConfigError> {
    let number = settings.first_index;
    node::amount(&replies[0]).map_err(at_node)?;
    let tokens = settings.coins.iter().filter(|coin| coin.contract.is_some());
    for (coin, reply) in tokens.zip(&replies[1..]) {
        let wrong = |why: String| ConfigError {
            field: "tokens",
            message: format!("{}: {why}", coin.symbol),
        };
        let is = node::number(reply).map_err(|fault| wrong(fault.message))?;
        if is != u64::from(coin.decimals) {
            let why = format!("the contract has {is} decimals, not {}", coin.decimals);
            return Err(wrong(why));
        }
    }
    let symbols: Vec<&str> = settings
        .coins
        .iter()
        .map(|coin| coin.symbol.as_str())
        .collect();
    let begins = match settings.index(number.into()) {
        Some(given) if given != number => format!("; sandbox gives those from number {given} on"),
        _ => String::new(),
    };
    Ok(format!(
        "{}, {}; address {number} is {address}: compare it with your wallet{begins}",
        settings.chain,
        symbols.join(", ")
    ))
}

/// Addresses that one call passes over at most.
const TRIES: u32 = 6;
