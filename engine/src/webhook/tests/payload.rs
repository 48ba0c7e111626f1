//! Comparison of bodies with JavaScript's own output.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::super::payload::body;
use super::*;
use switchyard_core::transaction::{DeclineReason, Failure};
use switchyard_system::ids::Ids;

#[tokio::test]
async fn the_body_has_the_fields_of_the_contract_in_their_order() {
    let mut tx = blank();
    let event: EventId = "evt_01jd4m7zq0000000000000000a".parse().unwrap();
    tx.metadata = [
        ("order", "7"),
        ("10", "ten"),
        ("2", "two"),
        ("007", "James"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    tx.customer.phone = Some("+2290161000000".to_owned());
    tx = evolve(
        tx,
        &Event::Failed {
            failure: Failure {
                reason: DeclineReason::InsufficientFunds,
                message: "Trop peu d'argent é\u{2028}".to_owned(),
            },
        },
        START,
    );
    let text = String::from_utf8(body(&tx, EventName::PaymentFailed, event)).unwrap();
    let expected = format!(
        concat!(
            r#"{{"event":"payment.failed","data":{{"id":"{}","status":"failed","amount":25.5,"currency":"USD","#,
            r#""customer":{{"id":"{}","email":"awa@example.com","firstName":"Awa","lastName":"Diop","phone":"+2290161000000"}},"#,
            r#""metadata":{{"2":"two","10":"ten","007":"James","order":"7"}},"environment":"sandbox","#,
            r#""failure_code":"insufficient_funds","failure_message":"Trop peu d'argent é{}","#,
            r#""event_id":"evt_01jd4m7zq0000000000000000a","sequence":2}}}}"#
        ),
        tx.id, tx.customer.id, '\u{2028}'
    );
    assert_eq!(text, expected);
}

/// Prints each body of `lines` with JavaScript and returns the outputs that differ.
fn changed_by_javascript(bodies: &[String]) -> Vec<String> {
    let script = "const read = require('fs').readFileSync(0, 'utf8').split('\\u0000');\
                  for (const body of read) if (JSON.stringify(JSON.parse(body)) !== body) console.log(body)";
    let node = Command::new("node")
        .args(["-e", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut node = node.expect("this test needs Node.js (Debian: apt install nodejs)");
    node.stdin
        .take()
        .unwrap()
        .write_all(bodies.join("\0").as_bytes())
        .unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn javascript_prints_what_it_read_as_it_was() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let text = || {
        any::<Vec<char>>()
            .prop_map(|text| text.into_iter().filter(|c| *c != '\0').collect::<String>())
    };
    let awkward = proptest::sample::select(vec![
        "\u{2028}",
        "\u{7f}",
        "\u{1b}",
        "\u{8}\u{c}",
        "é\"\\/",
        "😀",
        "</script>",
        "",
    ]);
    let value = prop_oneof![text(), awkward.prop_map(str::to_owned)];
    let key = prop_oneof![
        text(),
        any::<u32>().prop_map(|n| n.to_string()),
        (0_u32..99).prop_map(|n| format!("{n:02}")),
        Just("__proto__".to_owned())
    ];
    let currency = proptest::sample::select(vec!["USD", "XOF", "KES", "NGN", "GNF"]);
    let any_body = (
        proptest::collection::btree_map(key, value.clone(), 0..8),
        value,
        1_i64..1_000_000_000_000,
        currency,
    )
        .prop_map(|(metadata, name, minor, currency)| {
            let mut tx = blank();
            tx.metadata = metadata;
            tx.customer.last_name = name;
            tx.amount = amount(minor, currency);
            let event = EventId::new(Ids::seeded(1).ulid(START));
            String::from_utf8(body(&tx, EventName::PaymentInitiated, event)).unwrap()
        });
    let bodies: Vec<String> = (0..2_000)
        .map(|_| proptest::strategy::ValueTree::current(&any_body.new_tree(&mut runner).unwrap()))
        .collect();
    assert_eq!(changed_by_javascript(&bodies), Vec::<String>::new());
    assert_eq!(
        changed_by_javascript(&["{\"a\": 1}".to_owned()]).len(),
        1,
        "the check sees nothing"
    );
}

fn blank() -> Transaction {
    let ids = Ids::seeded(7);
    let app = AppId::new(ids.ulid(START));
    payment(app, Environment::Sandbox, &ids, START)
}
