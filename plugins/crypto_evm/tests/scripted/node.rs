//! A node whose answers are given by a test, and calls of the gateway that meet it.

use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, End, answer};
use switchyard_gateway::wire::{Body, EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{Direction, Environment, Fault, Operation, Outcome};

use gateway_crypto_evm::CryptoEvm;

pub const TOKEN: &str = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
pub const USER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
/// The end of the quote and of the grace after [`testing`]'s time.
pub const OVER: i64 = 1_795_168_800 + 90 * 60;
pub const LATER: &str = "2026-11-20T11:30:00.000000Z";

/// A node with scripted responses.
#[derive(Clone)]
pub struct Node {
    pub chain: u64,
    pub head: u64,
    pub time: i64,
    pub block_time: i64,
    pub fork: &'static str,
    /// Token units at the newest and at the confirmed block.
    pub token: [u64; 2],
    pub coin: [u64; 2],
    pub sent: u64,
    pub decimals: u64,
    pub token_fails: bool,
}

impl Node {
    pub fn new() -> Self {
        Self {
            chain: 31337,
            head: 100,
            time: 1_795_168_800,
            block_time: 0,
            fork: "a",
            token: [0, 0],
            coin: [0, 0],
            sent: 0,
            decimals: 6,
            token_fails: false,
        }
    }

    pub fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, EffectError> {
        assert_eq!(request.mutates, Some(false), "it only ever reads");
        let Some(Body::Text(text)) = &request.body else {
            panic!("a body of text")
        };
        let batch: Vec<Value> = serde_json::from_str(text).unwrap();
        // In another order than asked: that is allowed.
        let answers = batch.iter().rev().map(|ask| self.one(ask));
        answer(200, answers.collect())
    }

    fn one(&self, ask: &Value) -> Value {
        let hex = |number: u64| json!(format!("0x{number:x}"));
        let at = |block: &Value| match block.as_str() {
            Some("latest") => 0,
            Some(number) if number == format!("0x{:x}", self.head) => 0,
            _ => 1,
        };
        let params = &ask["params"];
        let result = match ask["method"].as_str().unwrap() {
            "eth_chainId" => hex(self.chain),
            "eth_getTransactionCount" => hex(self.sent),
            "eth_getBalance" => hex(self.coin[at(&params[1])]),
            "eth_getBlockByNumber" => {
                let number = match params[0].as_str().unwrap() {
                    "latest" => self.head,
                    number => u64::from_str_radix(&number[2..], 16).unwrap(),
                };
                if number > self.head {
                    Value::Null
                } else {
                    json!({ "number": format!("0x{number:x}"), "hash": format!("{}{number}", self.fork),
                            "timestamp": format!("0x{:x}", self.time - self.block_time * (self.head - number).cast_signed()) })
                }
            }
            "eth_call" if self.token_fails => {
                return json!({ "jsonrpc": "2.0", "id": ask["id"], "error": { "code": 3, "message": "execution reverted" } });
            }
            "eth_call" if params[0]["data"] == "0x313ce567" => hex(self.decimals),
            "eth_call" => {
                assert_eq!(params[0]["to"], TOKEN);
                json!(format!("0x{:064x}", self.token[at(&params[1])]))
            }
            other => panic!("{other} was asked"),
        };
        json!({ "jsonrpc": "2.0", "id": ask["id"], "result": result })
    }
}

pub fn config() -> Value {
    let vectors: Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    json!({
        "account_xpub": vectors["account_xpub"], "rpc_url": "http://node.example:8545/v3/secret", "chain_id": 31337,
        "native_enabled": true, "tokens": format!("USDC:{TOKEN}:6:USD"), "rates": "ETH/USD=2500", "confirmations": 3
    })
}

pub fn call(operation: Operation) -> Call {
    Call::new(operation)
        .config(config())
        .environment(Environment::Live)
}

/// The payment of 12.50 USD, once it was given an address.
pub fn begun() -> Value {
    let node = Node::new();
    let end = call(Operation::Collect)
        .input(&testing::collect("crypto_usd", 1_250, "USD", 2))
        .run::<CryptoEvm>(|request| node.answer(request));
    end.unwrap().state
}

pub fn asked(state: &Value, now: &str, node: &Node) -> Result<End, Fault> {
    let query = testing::query("crypto_usd", Direction::Collect, 1_250, "USD", 2);
    let call = call(Operation::Query).state(state.clone()).now(now);
    call.input(&query)
        .run::<CryptoEvm>(|request| node.answer(request))
}

pub fn is_pending(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Pending { .. })
}
