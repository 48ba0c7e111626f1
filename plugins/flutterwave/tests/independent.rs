//! The simulator and the gateway's requests against an implementation that is not ours:
//! Flutterwave's own client for Node.js. It checks each request by its own schema before it sends
//! it. Without it, the gateway and the simulator could share a misunderstanding.
//!
//! `cargo xtask test doubles` installs the package and runs this; it is ignored otherwise.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use std::io::Write as _;
use std::process::{Command, Stdio};

use gateway_flutterwave::Flutterwave;
use gateway_flutterwave::methods::{CollectMode, METHODS, Method};
use serde_json::{Value, json};
use switchyard_gateway::wire::Body;
use switchyard_gateway::{Money, Operation, Outcome, testing};
use switchyard_testkit::{Driver, NOW_SECONDS};

use simulator::{KEY, Simulator};

/// Has the client make these calls.
fn client(flutterwave: &Simulator, calls: &[Value]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent.mjs");
    let mut child = Command::new("node")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js 20 or newer is needed");
    let mut input = child.stdin.take().unwrap();
    let ask = json!({ "url": flutterwave.url, "key": KEY, "calls": calls });
    input.write_all(ask.to_string().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "the script ended with {}",
        output.status
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn thousand(method: &Method) -> Money {
    let (minor, decimals) = match method.decimals() {
        0 => (1_000, 0),
        decimals => (100_050, decimals),
    };
    Money::from_minor(minor, method.currency, decimals)
}

/// Request of the gateway for a payment or a payout.
async fn sent(flutterwave: &Simulator, method: &Method, operation: Operation) -> Value {
    let driver = Driver::<Flutterwave>::new(flutterwave.config());
    let mut state = Value::Null;
    let begun: Outcome = if operation == Operation::Collect {
        let mut ask = testing::collect(method.code, 0, "", 0);
        ask.amount = thousand(method);
        ask.fields = [("msisdn", "0551234987"), ("account_bank", "058")].into();
        driver.call(operation, &ask, &mut state).await.unwrap()
    } else {
        let mut ask = testing::payout(method.code, 0, "", 0);
        ask.amount = thousand(method);
        ask.reference = format!("{}-{}", ask.reference, method.code);
        ask.recipient = [("msisdn", "0551234987")].into();
        driver.call(operation, &ask, &mut state).await.unwrap()
    };
    assert!(
        matches!(begun, Outcome::Pending { .. }),
        "{}: {begun:?}",
        method.code
    );
    let Some(Body::Text(text)) = driver.requests().remove(0).body else {
        panic!("{}: no body", method.code);
    };
    serde_json::from_str(&text).unwrap()
}

/// The client's name for a charge; it has none for pages and QR codes.
fn charge_call(way: CollectMode) -> Option<&'static str> {
    Some(match way {
        CollectMode::Page | CollectMode::Qr => return None,
        CollectMode::BankTransfer => "Charge.bank_transfer",
        CollectMode::Ussd => "Charge.ussd",
        CollectMode::Mobile("mobile_money_ghana", _) => "MobileMoney.ghana",
        CollectMode::Mobile("mobile_money_uganda", _) => "MobileMoney.uganda",
        CollectMode::Mobile("mobile_money_rwanda", _) => "MobileMoney.rwanda",
        CollectMode::Mobile("mobile_money_zambia", _) => "MobileMoney.zambia",
        CollectMode::Mobile("mobile_money_tanzania", _) => "MobileMoney.tanzania",
        CollectMode::Mobile("mobile_money_franco", _) => "MobileMoney.franco_phone",
        CollectMode::Mobile(..) => "MobileMoney.mpesa",
    })
}

/// The gateway's own requests as calls of the client, under references of their own.
async fn calls(flutterwave: &Simulator) -> Vec<Value> {
    let mut calls = Vec::new();
    for method in METHODS {
        if let Some(call) = method.collect.and_then(charge_call) {
            let mut data = sent(flutterwave, method, Operation::Collect).await;
            data["tx_ref"] = json!(format!("by-the-client-{}", method.code));
            // Documented for bank transfers, and unknown to the client.
            for unknown in ["narration", "is_permanent"] {
                data.as_object_mut().unwrap().remove(unknown);
            }
            calls.push(json!({ "call": call, "data": data }));
        }
        if method.payout.is_some() {
            let mut data = sent(flutterwave, method, Operation::Payout).await;
            data["reference"] = json!(format!("by-the-client-{}", method.code));
            calls.push(json!({ "call": "Transfer.initiate", "data": data }));
        }
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
async fn flutterwaves_own_client_sends_what_the_gateway_sends_and_reads_what_the_simulator_answers()
{
    let flutterwave = Simulator::start(NOW_SECONDS).await;
    let calls = calls(&flutterwave).await;
    let made = client(&flutterwave, &calls);
    assert_eq!((calls.len(), made.len()), (52, 52));
    for (call, answer) in calls.iter().zip(&made) {
        assert_eq!(answer["status"], "success", "{call}: {answer}");
    }
    let of = |name: &str| {
        let at = calls
            .iter()
            .position(|call| call["data"]["tx_ref"] == name || call["data"]["reference"] == name);
        &made[at.unwrap()]
    };
    assert_eq!(
        of("by-the-client-bank_transfer_ng")["meta"]["authorization"]["mode"],
        "banktransfer"
    );
    assert_eq!(
        of("by-the-client-ussd_ngn")["meta"]["authorization"]["mode"],
        "ussd"
    );
    let paid = of("by-the-client-mpesa_ke")["data"]["id"].clone();
    // The first of this name is the charge.
    assert_eq!(
        of("by-the-client-mpesa_ke")["data"]["tx_ref"],
        "by-the-client-mpesa_ke"
    );
    let sent = made
        .iter()
        .find(|answer| answer["data"]["reference"] == "by-the-client-airtel_mw");
    let sent = sent.unwrap()["data"]["id"].clone();
    let asked = client(
        &flutterwave,
        &[
            json!({ "call": "Transaction.verify_by_tx", "data": { "tx_ref": "by-the-client-mpesa_ke" } }),
            json!({ "call": "Transaction.verify", "data": { "id": paid } }),
            json!({ "call": "Transaction.refund", "data": { "id": paid.to_string(), "amount": 10 } }),
            json!({ "call": "Transfer.get_a_transfer", "data": { "id": sent } }),
            json!({ "call": "Bank.country", "data": { "country": "NG" } }),
            json!({ "call": "Transaction.verify_by_tx", "data": { "tx_ref": "unheard-of" } }),
        ],
    );
    let [by_ref, by_id, refund, transfer, banks, unknown] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    for charge in [by_ref, by_id] {
        assert_eq!(
            (&charge["status"], &charge["data"]["status"]),
            (&json!("success"), &json!("successful"))
        );
        assert_eq!(charge["data"]["amount"], json!(1000.5));
    }
    assert_eq!(refund["data"]["amount_refunded"], 10, "{refund}");
    assert_eq!(transfer["data"]["status"], "SUCCESSFUL", "{transfer}");
    assert_eq!(banks["data"][0]["code"], "044", "{banks}");
    assert_eq!(unknown["status"], "error", "{unknown}");
}
