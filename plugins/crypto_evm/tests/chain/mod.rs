//! A real chain on this machine: anvil, one for each test, with contracts of our own and the
//! accounts that it pays from.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

pub const CHAIN_ID: u64 = 31337;
/// Has all the money there is.
pub const PAYER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

const PATIENCE: u32 = 1_000;

pub struct Chain {
    pub url: String,
    port: u16,
    anvil: Child,
}

impl Chain {
    /// A new chain whose first block is of this time, in seconds since 1970.
    pub fn start(time: i64) -> Self {
        let mut anvil = Command::new(program())
            .args(["--port", "0", "--chain-id", &CHAIN_ID.to_string()])
            .args(["--timestamp", &time.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("anvil starts");
        let output = anvil.stdout.take().expect("its output is a pipe");
        let mut lines = BufReader::new(output).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("Listening on ").map(str::to_owned))
            .expect("anvil says where it listens");
        // Read on, or anvil would wait for a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let port = address
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        Self {
            url: format!("http://{address}"),
            port: port.expect("it names its port"),
            anvil,
        }
    }

    /// Asks the node; an error of its own is a panic.
    pub fn rpc(&self, method: &str, params: Value) -> Value {
        let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.post(&ask.to_string());
        let answer: Value = serde_json::from_str(&answer).expect("anvil answers in JSON");
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    pub fn mine(&self, blocks: u64) {
        self.rpc("anvil_mine", json!([format!("0x{blocks:x}")]));
    }

    /// Lets time pass, and a block be made after it.
    pub fn pass(&self, seconds: u64) {
        self.rpc("evm_increaseTime", json!([seconds]));
        self.mine(1);
    }

    /// A payment in the chain's own coin, in a block of its own.
    pub fn pay(&self, to: &str, wei: u128) {
        self.send(json!({ "from": PAYER, "to": to, "value": format!("0x{wei:x}") }));
    }

    /// `transfer(to, units)` of a contract, with money for it to pass on; whether it went through.
    pub fn transfer(&self, contract: &str, to: &str, units: u128, wei: u128) -> bool {
        let data = format!("0xa9059cbb{:0>64}{units:064x}", &to[2..].to_lowercase());
        let gas = "0x30000";
        let receipt = self.send(json!({
            "from": PAYER, "to": contract, "data": data, "gas": gas, "value": format!("0x{wei:x}")
        }));
        receipt["status"] == "0x1"
    }

    /// A contract of `coins.sol` with its one argument.
    pub fn deploy(&self, name: &str, argument: u8) -> String {
        let built: Value =
            serde_json::from_str(include_str!("coins.json")).expect("coins.json is JSON");
        let code = built[name].as_str().expect("the contract was built");
        let receipt = self.send(json!({
            "from": PAYER, "data": format!("{code}{argument:064x}"), "gas": "0x200000"
        }));
        assert_eq!(receipt["status"], "0x1", "{name} is deployed");
        receipt["contractAddress"]
            .as_str()
            .expect("a contract has an address")
            .to_owned()
    }

    /// Sends a transaction, and returns its receipt once it is in a block: that happens at once,
    /// but not before the response.
    fn send(&self, transaction: Value) -> Value {
        let hash = self.rpc("eth_sendTransaction", json!([transaction]));
        for _ in 0..PATIENCE {
            let receipt = self.rpc("eth_getTransactionReceipt", json!([hash]));
            if !receipt.is_null() {
                return receipt;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("anvil puts no transaction into a block")
    }

    fn post(&self, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("anvil listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out can be set");
        let head = "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json";
        let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream
            .write_all(request.as_bytes())
            .expect("the request is sent");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("anvil answers in time");
        let (_, body) = answer.split_once("\r\n\r\n").expect("the answer is HTTP");
        body.to_owned()
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        let _ = self.anvil.kill();
        let _ = self.anvil.wait();
    }
}

/// `$SWITCHYARD_ANVIL`, what `cargo xtask test chain` installed, or the system's.
fn program() -> PathBuf {
    if let Some(set) = std::env::var_os("SWITCHYARD_ANVIL") {
        return set.into();
    }
    let installed = std::env::current_exe().ok().and_then(|test| {
        let tools = test
            .ancestors()
            .nth(3)?
            .join("tools/anvil/node_modules/@foundry-rs");
        ["anvil-linux-amd64", "anvil-linux-arm64"]
            .map(|package| tools.join(package).join("bin/anvil"))
            .into_iter()
            .find(|anvil| anvil.is_file())
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_system = || {
        std::env::split_paths(&path)
            .map(|folder| folder.join("anvil"))
            .find(|anvil: &PathBuf| Path::is_file(anvil))
    };
    installed.or_else(of_system).expect(
        "anvil, a local chain, is needed: run `cargo xtask test chain`, which installs it from npm, \
         or set SWITCHYARD_ANVIL to its path",
    )
}
