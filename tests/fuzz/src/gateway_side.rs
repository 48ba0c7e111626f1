//! Input of providers to the bundled gateways: callbacks, and responses to requests.
//!
//! A sample is parts with a line `---` between them: the first is the operation (`callback signed`,
//! `collect`, `query`), then come the provider's answers, each with its status on the first line. A
//! callback's own part follows the operation: headers, an empty line, body.
//!
//! Without the secret no callback is trusted, no code panics or hangs, and a provider that only
//! fails neither declined nor paid.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use gateway_crypto_evm::CryptoEvm;
use gateway_demo::Demo;
use gateway_flutterwave::Flutterwave;
use gateway_pawapay::PawaPay;
use gateway_stripe::Stripe;
use ring::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchyard_gateway::runtime::{self, Entry, Step};
use switchyard_gateway::testing::{self, Call};
use switchyard_gateway::wire::{Body, EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Callback, CallbackResult, ConfigCheck, Direction, Fault, FaultKind, Operation, Outcome,
    TransactionPage,
};

use crate::host_side::money;

pub fn demo(bytes: &[u8]) {
    let config = json!({ "callback_secret": SECRET });
    play::<Demo>(
        bytes,
        &config,
        ("switchyard_payment_demo", "USD", 2),
        |body| ("x-demo-signature", hex(SECRET, body)),
    );
}

pub fn pawapay(bytes: &[u8]) {
    // No key to sign with: the known signature is in the corpus.
    let config = json!({ "api_token": SECRET, "base_url": "" });
    play::<PawaPay>(bytes, &config, ("mtn_bj", "XOF", 0), |_| {
        ("signature", String::new())
    });
}

pub fn flutterwave(bytes: &[u8]) {
    let config = json!({ "secret_key": "FLWSECK_TEST-key", "secret_hash": SECRET });
    play::<Flutterwave>(bytes, &config, ("mtn_ug", "UGX", 0), |body| {
        ("flutterwave-signature", BASE64.encode(mac(SECRET, body)))
    });
}

pub fn stripe(bytes: &[u8]) {
    let config = json!({ "secret_key": "sk_test_key", "webhook_secret": SECRET });
    play::<Stripe>(bytes, &config, ("card_usd", "USD", 2), |body| {
        // The time of `testing`'s calls.
        let at = 1_795_168_800;
        let signed = [format!("{at}.").as_bytes(), body].concat();
        (
            "stripe-signature",
            format!("t={at},v1={}", hex(SECRET, &signed)),
        )
    });
}

pub fn crypto_evm(bytes: &[u8]) {
    let config = json!({
        "account_xpub": XPUB, "rpc_url": "https://node.example/", "chain_id": 31337, "native_enabled": true,
        "tokens": "USDC:0x5FbDB2315678afecb367f032d93F642f64180aa3:6:USD", "rates": "ETH/USD=2500", "confirmations": 3,
    });
    play::<CryptoEvm>(bytes, &config, ("crypto_usd", "USD", 2), |_| {
        ("signature", String::new())
    });
}

/// The engine's messages to a gateway, byte for byte: `begin`, and after it as many `resume` as
/// there are, with a line `---` between.
pub fn steps(bytes: &[u8]) {
    let mut parts = parts(bytes);
    let mut step = runtime::begin::<Stripe>(parts.next().unwrap_or_default());
    loop {
        let (said, call) = match step {
            Step::Ready(said) | Step::Failed(said) => (said, None),
            Step::Pending(said, call) => (said, Some(call)),
        };
        let said: Value = serde_json::from_slice(&said).expect("a gateway says JSON");
        assert_ne!(said["fault"]["kind"], "panic", "{said}");
        let Some(call) = call else {
            return;
        };
        match parts.next() {
            Some(message) => step = runtime::resume(call, message),
            None => return runtime::end(call),
        }
    }
}

/// Plays a sample; `sign` gives the header that proves a callback.
fn play<G: Entry>(
    bytes: &[u8],
    config: &Value,
    method: (&str, &str, u8),
    sign: impl Fn(&[u8]) -> (&'static str, String),
) {
    let mut parts = parts(bytes);
    let first = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let mut words = first.split_whitespace();
    let (operation, word) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let (code, currency, decimals) = method;
    let mut ask = testing::collect(code, 2_500, currency, decimals);
    ask.fields = [("msisdn", "22951345789"), ("coin", word)].into();
    match operation {
        "callback" => {
            let is_signed = word == "signed";
            let callback = callback(parts.next().unwrap_or_default(), is_signed.then_some(&sign));
            let end = run::<G, CallbackResult>(Operation::Callback, config, &callback, parts);
            if let Some(result) = end {
                // pawaPay's one known signature is too old to count.
                assert!(
                    is_signed || !result.trusted,
                    "trusted without a signature: {result:?}"
                );
                assert!(
                    result.refused.is_none() || result.outcome.is_none(),
                    "{result:?}"
                );
                if let Some(outcome) = result.outcome {
                    money(outcome);
                }
            }
        }
        "check" => drop(run::<G, ConfigCheck>(
            Operation::CheckConfig,
            config,
            &Value::Null,
            parts,
        )),
        "payout" => {
            let mut payout = testing::payout(code, 2_500, currency, decimals);
            payout.recipient = [("msisdn", "22951345789")].into();
            settle::<G>(Operation::Payout, config, &payout, parts);
        }
        "collect" => settle::<G>(Operation::Collect, config, &ask, parts),
        "code" => {
            let input = json!({
                "reference": testing::REFERENCE, "method": code, "amount": ask.amount, "input": { "code": word }
            });
            settle::<G>(Operation::SubmitInput, config, &input, parts);
        }
        "refund" => {
            let input = json!({
                "reference": testing::REFERENCE, "of": testing::REFERENCE, "provider_id": word, "method": code, "amount": ask.amount
            });
            settle::<G>(Operation::Refund, config, &input, parts);
        }
        "list" => list::<G>(config, word, parts),
        _ => {
            let direction = direction(word);
            let query = testing::query(code, direction, 2_500, currency, decimals);
            settle::<G>(Operation::Query, config, &query, parts);
        }
    }
}

/// A call for a page of a list.
fn list<'b, G: Entry>(config: &Value, word: &str, answers: impl Iterator<Item = &'b [u8]>) {
    let ask = testing::list(direction(word));
    drop(run::<G, TransactionPage>(
        Operation::List,
        config,
        &ask,
        answers,
    ));
}

fn direction(word: &str) -> Direction {
    match word {
        "payout" => Direction::Payout,
        _ => Direction::Collect,
    }
}

/// A call that comes to an outcome.
fn settle<'b, G: Entry>(
    operation: Operation,
    config: &Value,
    input: &impl Serialize,
    answers: impl Iterator<Item = &'b [u8]>,
) {
    let answers: Vec<&[u8]> = answers.collect();
    let all_failed = answers.iter().all(|answer| status(answer) >= 500);
    let outcome = run::<G, Outcome>(operation, config, input, answers.into_iter());
    if let Some(outcome) = outcome {
        let is_end = matches!(
            outcome,
            Outcome::Succeeded { .. } | Outcome::Declined { .. }
        );
        assert!(
            !(all_failed && is_end && operation == Operation::Query),
            "of failures only: {outcome:?}"
        );
        assert!(
            !(all_failed && matches!(outcome, Outcome::Succeeded { .. })),
            "of failures only: {outcome:?}"
        );
        money(outcome);
    }
}

fn run<'b, G: Entry, T: DeserializeOwned>(
    operation: Operation,
    config: &Value,
    input: &impl Serialize,
    mut answers: impl Iterator<Item = &'b [u8]>,
) -> Option<T> {
    let mut asked = 0;
    let call = Call::new(operation).config(config.clone()).input(input);
    let end = call.run_as::<G, T>(|request| {
        asked += 1;
        assert!(
            asked < 500,
            "it asks without end: {} {}",
            request.method,
            request.url
        );
        answer(request, answers.next())
    });
    match end {
        Ok(end) => Some(end.outcome),
        Err(Fault { kind, message, .. }) => {
            assert!(
                !matches!(kind, FaultKind::Panic | FaultKind::Stalled),
                "{message}"
            );
            None
        }
    }
}

/// Every host that is asked belongs to a provider; the answer is the sample's next, or none in
/// time.
fn answer(request: &HttpRequest, answer: Option<&[u8]>) -> Result<HttpResponse, EffectError> {
    assert!(request.url.starts_with("https://"), "{}", request.url);
    let Some(answer) = answer else {
        return testing::timeout();
    };
    let end = answer.iter().position(|byte| *byte == b'\n');
    let body = end.map_or(&[][..], |end| &answer[end + 1..]);
    Ok(HttpResponse {
        status: status(answer),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Body::of(body.to_vec()),
    })
}

fn status(answer: &[u8]) -> u16 {
    let line = answer
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let number = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.trim().parse().ok());
    number
        .filter(|status| (100..600).contains(status))
        .unwrap_or(200)
}

fn callback(part: &[u8], sign: Option<impl Fn(&[u8]) -> (&'static str, String)>) -> Callback {
    let gap = part.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = gap.map_or((&[][..], part), |gap| (&part[..gap], &part[gap + 2..]));
    let mut headers = Vec::new();
    for line in String::from_utf8_lossy(head).lines() {
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    if let Some(sign) = sign {
        let (name, value) = sign(body);
        headers.retain(|(other, _)| other != name);
        headers.push((name.to_owned(), value));
    }
    Callback {
        method: "POST".to_owned(),
        path: "/callbacks/pawapay".to_owned(),
        query: String::new(),
        url: Some("https://pay.example.com/callbacks/pawapay".to_owned()),
        headers,
        body: Body::of(body.to_vec()),
    }
}

/// The parts of a sample.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let at = bytes.windows(GAP.len()).position(|window| window == GAP);
        rest = at.map(|at| &bytes[at + GAP.len()..]);
        Some(at.map_or(bytes, |at| &bytes[..at]))
    })
}

fn mac(secret: &str, body: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::sign(&key, body).as_ref().to_vec()
}

fn hex(secret: &str, body: &[u8]) -> String {
    base16ct::lower::encode_string(&mac(secret, body))
}

const GAP: &[u8] = b"\n---\n";
const SECRET: &str = "whsec_of_the_fuzzer";
/// The first account of the mnemonic of eleven times `test` and `junk`.
const XPUB: &str = "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP";
