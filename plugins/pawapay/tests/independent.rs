//! Signatures against an implementation that is not ours: the npm package that pawaPay's own
//! example uses. Without it, the gateway and the simulator could share a misunderstanding.
//!
//! `cargo xtask test doubles` installs the package and runs these; they are ignored otherwise.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use std::io::Write as _;
use std::process::{Command, Stdio};

use gateway_pawapay::PawaPay;
use serde_json::{Value, json};
use switchyard_gateway::testing::{Call, answer};
use switchyard_gateway::{CallbackResult, Operation};
use switchyard_testkit::{NOW_SECONDS, ProviderCallback};

use simulator::{Scheme, Signer};

const URL: &str = "https://pay.example.com/callbacks/con_1";
const BODY: &str = r#"{"depositId":"8917c345-4791-4285-a416-62f24b6982db","status":"COMPLETED","amount":"100","currency":"XOF"}"#;

/// Has the script do one thing.
fn node(ask: &Value) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent.mjs");
    let mut child = Command::new("node")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js 20 or newer is needed");
    let mut input = child.stdin.take().unwrap();
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

fn verified(letter: &ProviderCallback, key: &Value) -> bool {
    let letter = json!({ "method": letter.method, "headers": letter.headers });
    let answer = node(&json!({ "verify": { "url": URL, "letter": letter, "key": key } }));
    answer["verified"] == true
}

#[test]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
fn the_simulators_signatures_are_verified_by_pawapays_own_choice_of_library() {
    let signer = Signer::new(Scheme::EcdsaP256);
    let letter = signer.sign(URL, "2026-11-20T10:00:00.000Z", NOW_SECONDS, BODY.into());
    assert!(verified(&letter, &signer.public()));
    let mut bent = letter;
    for (name, value) in &mut bent.headers {
        if name == "Signature-Date" {
            *value = "2030-01-01T00:00:00.000Z".into();
        }
    }
    assert!(!verified(&bent, &signer.public()));
}

#[test]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
fn the_gateway_trusts_what_that_library_signed_and_not_another_body_under_it() {
    let ask = json!({ "url": URL, "body": BODY, "created": NOW_SECONDS });
    let signed = node(&json!({ "sign": ask }));
    let letter = ProviderCallback {
        method: "POST".into(),
        headers: serde_json::from_value(signed["headers"].clone()).unwrap(),
        body: BODY.into(),
    };
    let is_trusted = |letter: &ProviderCallback| {
        let end = Call::new(Operation::Callback)
            .config(json!({ "api_token": "t" }))
            .input(&letter.as_callback("/callbacks/con_1", Some(URL)))
            .run_as::<PawaPay, CallbackResult>(|_| answer(200, json!([signed["key"]])));
        end.unwrap().outcome.trusted
    };
    assert!(is_trusted(&letter));
    let bent = ProviderCallback {
        body: BODY.replace("100", "1000"),
        ..letter
    };
    assert!(!is_trusted(&bent));
}
