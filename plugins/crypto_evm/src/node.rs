//! The chain's node, asked in batches of JSON-RPC. It only ever reads: nothing here can move money.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_gateway::{Context, Fault};

use crate::address::Address;
use crate::coins::Coin;
use crate::u256::{self, U256};

pub struct Node<'c> {
    cx: &'c Context,
    url: &'c str,
}

/// A method with its parameters.
pub type Ask = (&'static str, Value);

/// Result of one call of a batch; an error in the node's own words.
pub type NodeAnswer = Result<Value, String>;

/// A block's header, as much as is needed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub number: u64,
    pub hash: String,
    /// Seconds since 1970, by those who made it.
    pub time: i64,
}

impl<'c> Node<'c> {
    pub fn new(cx: &'c Context, url: &'c str) -> Self {
        Self { cx, url }
    }

    /// One request for all of `asks`; the answers come in their order.
    pub async fn ask(&self, asks: &[Ask]) -> Result<Vec<NodeAnswer>, Fault> {
        let batch = asks.iter().enumerate().map(|(id, (method, params))| {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        });
        let batch: Vec<Value> = batch.collect();
        let request = self.cx.post(self.url).reads_only().timeout(NODE_TIMEOUT);
        let response = request.json(&batch).send().await?;
        match response.status {
            200..=299 => {}
            // Its address has the key, where it takes one.
            status @ (401 | 403 | 404) => {
                return Err(Fault::config(format!(
                    "rpc_url: the node answered {status}: look at the address, and at the key in it"
                )));
            }
            status => return Err(Fault::provider(format!("the node answered {status}"))),
        }
        let answers = match response.json::<Value>()? {
            Value::Array(answers) => answers,
            other => {
                let text = error(&other).unwrap_or_else(|| "something else".to_owned());
                return Err(Fault::provider(format!(
                    "the node does not answer a batch of {} requests: {text}",
                    asks.len()
                )));
            }
        };
        (0..asks.len()).map(|id| answer_to(&answers, id)).collect()
    }

    /// The newest block, of the chain that it has to be.
    pub async fn head(&self, chain_id: u64) -> Result<Block, Fault> {
        read_head(&self.ask(&head()).await?, chain_id)
    }
}

/// Calls for [`read_head`].
pub fn head() -> [Ask; 2] {
    [chain(), block("latest")]
}

/// The newest block, of the chain that it has to be.
pub fn read_head(replies: &[NodeAnswer], chain_id: u64) -> Result<Block, Fault> {
    let is = number(&replies[0])?;
    if is != chain_id {
        return Err(Fault::config(format!(
            "chain_id: the node at rpc_url is of chain {is}, and {chain_id} was entered"
        )));
    }
    read_block(&replies[1])
}

fn chain() -> Ask {
    ("eth_chainId", json!([]))
}

/// A header, without its transactions.
pub fn block(which: &str) -> Ask {
    ("eth_getBlockByNumber", json!([which, false]))
}

/// How many transactions the account has made.
pub fn sent(address: &str, at: &str) -> Ask {
    ("eth_getTransactionCount", json!([address, at]))
}

/// Balance of `address` in the chain's own coin, or in a token, at a block.
pub fn balance(address: Address, contract: Option<&str>, at: &str) -> Ask {
    match contract {
        None => ("eth_getBalance", json!([address.to_string(), at])),
        Some(contract) => {
            let data = format!("{BALANCE_OF}{}", address.argument());
            ("eth_call", json!([{ "to": contract, "data": data }, at]))
        }
    }
}

pub fn decimals(coin: &Coin) -> Option<Ask> {
    let contract = coin.contract?.to_string();
    Some((
        "eth_call",
        json!([{ "to": contract, "data": DECIMALS }, "latest"]),
    ))
}

/// As a node takes a block's number.
pub fn at(number: u64) -> String {
    format!("0x{number:x}")
}

/// A quantity or a word of 32 bytes.
pub fn amount(reply: &NodeAnswer) -> Result<U256, Fault> {
    let value = reply
        .as_ref()
        .map_err(|error| Fault::provider(format!("the node says: {error}")))?;
    value
        .as_str()
        .and_then(u256::from_hex)
        .ok_or_else(|| match value.as_str() {
            Some("0x") => Fault::provider("there is no such contract at this address"),
            _ => Fault::provider("the node answered something that is no number"),
        })
}

pub fn number(reply: &NodeAnswer) -> Result<u64, Fault> {
    u64::try_from(amount(reply)?)
        .map_err(|_| Fault::provider("the node answered a number that is too large"))
}

pub fn read_block(reply: &NodeAnswer) -> Result<Block, Fault> {
    let field = |name: &str| match reply {
        Ok(Value::Object(block)) => block
            .get(name)
            .cloned()
            .ok_or_else(|| Fault::provider(format!("the node's block has no `{name}`"))),
        Ok(_) => Err(Fault::provider("the node does not have this block")),
        Err(error) => Err(Fault::provider(format!("the node says: {error}"))),
    };
    let hash = field("hash")?;
    Ok(Block {
        number: number(&Ok(field("number")?))?,
        hash: hash
            .as_str()
            .ok_or_else(|| Fault::provider("the node's block has no hash"))?
            .to_owned(),
        time: i64::try_from(number(&Ok(field("timestamp")?))?)
            .map_err(|_| Fault::provider("the node's block has no time"))?,
    })
}

/// The answer with this number: a node may answer in any order.
fn answer_to(answers: &[Value], id: usize) -> Result<NodeAnswer, Fault> {
    let mine = |answer: &&Value| answer.get("id") == Some(&Value::from(id));
    let answer = answers
        .iter()
        .find(mine)
        .ok_or_else(|| Fault::provider("the node left out an answer of a batch"))?;
    if let Some(error) = error(answer) {
        return Ok(Err(error));
    }
    match answer.get("result") {
        Some(result) => Ok(Ok(result.clone())),
        None => Err(Fault::provider("the node answered without a result")),
    }
}

fn error(answer: &Value) -> Option<String> {
    let error = answer.get("error").filter(|error| !error.is_null())?;
    let message = error.get("message").and_then(Value::as_str);
    Some(message.unwrap_or("an error").chars().take(200).collect())
}

const BALANCE_OF: &str = "0x70a08231";
const DECIMALS: &str = "0x313ce567";
const NODE_TIMEOUT: Duration = Duration::from_secs(15);
