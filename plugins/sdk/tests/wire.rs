//! Compares every message of the wire with its golden file. A file may gain fields; existing fields
//! stay.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchyard_gateway::wire::{
    Begin, Body, Effect, EffectError, EffectErrorKind, EffectResult, Failed, HttpRequest,
    HttpResponse, LogLine, Pending, Ready, Request, Resume, Sent,
};
use switchyard_gateway::{
    Amount, CallbackResult, ConfigCheck, DeclineReason, Direction, Environment, Fault, FaultKind,
    ListedState, ListedTransaction, LogLevel, Operation, OptionList, Outcome, PayerAction, Prompt,
    TransactionPage, testing,
};

/// The outcome says that money moved, so it must not be lost with its amount.
#[test]
fn an_outcome_whose_amount_fits_no_range_is_read_with_the_end_of_the_range() {
    for (minor, read) in [
        ("9223372036854775808", i64::MAX),
        ("1e30", i64::MAX),
        ("25.5", i64::MAX),
        (r#""2500""#, i64::MAX),
        ("{}", i64::MAX),
        ("-9223372036854775809", i64::MIN),
        ("2500", 2_500),
    ] {
        let amount = format!(r#"{{"currency":"USD","minor":{minor}}}"#);
        let text = format!(r#"{{"succeeded":{{"provider_id":"ch_1","amount":{amount}}}}}"#);
        let outcome: Outcome = serde_json::from_str(&text).unwrap();
        let Outcome::Succeeded { amount, .. } = outcome else {
            panic!("no success: {text}");
        };
        assert_eq!(amount.unwrap().minor, Some(read), "{minor}");
    }
}

#[test]
fn begin_reads_and_writes_as_its_golden_files() {
    let mut ask = testing::collect("mtn_bj", 200, "XOF", 0);
    ask.country = Some("BJ".into());
    ask.payer.msisdn = Some("22997000000".into());
    ask.fields = [("msisdn", "22997000000")].into();
    holds("begin.collect", &begin(Operation::Collect, &ask));

    let mut ask = testing::payout("switchyard_payout_demo", 2_500, "USD", 2);
    ask.recipient = [("account_number", "4149518161")].into();
    holds("begin.payout", &begin(Operation::Payout, &ask));

    let ask = testing::query("mtn_bj", Direction::Collect, 200, "XOF", 0);
    holds("begin.query", &begin(Operation::Query, &ask));
    let ask = testing::options("banks", "ussd_ngn", "NGN", 2);
    holds("begin.options", &begin(Operation::Options, &ask));
    let mut ask = testing::list(Direction::Payout);
    ask.cursor = Some("page-2".into());
    holds("begin.list", &begin(Operation::List, &ask));
    holds(
        "begin.check_config",
        &begin(Operation::CheckConfig, &Value::Null),
    );
    let news = switchyard_gateway::Callback {
        method: "POST".into(),
        path: "/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v".into(),
        query: "a=1".into(),
        url: Some("https://pay.example.com/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v".into()),
        headers: vec![("x-signature".into(), "abc".into())],
        body: Body::of(b"{\"id\":1}".to_vec()),
    };
    holds("begin.callback", &begin(Operation::Callback, &news));
}

#[test]
fn a_waiting_step_reads_and_writes_as_its_golden_file() {
    let http = HttpRequest {
        method: "POST".into(),
        url: "https://api.acme.example/charges".into(),
        headers: vec![("authorization".into(), "Bearer t".into())],
        body: Some(Body::Text("{}".into())),
        timeout_ms: Some(20_000),
        mutates: Some(true),
    };
    let form = HttpRequest {
        body: Some(Body::Form(vec![(
            "grant_type".into(),
            "client_credentials".into(),
        )])),
        timeout_ms: None,
        mutates: Some(false),
        ..http.clone()
    };
    let put = Effect::CachePut {
        key: "token".into(),
        value: "t".into(),
        ttl_s: 180,
    };
    let effects = [
        Effect::Http(http),
        Effect::Http(form),
        Effect::Sleep { ms: 500 },
        Effect::CacheGet {
            key: "token".into(),
        },
        put,
    ];
    let pending = Pending {
        effects: (1..)
            .zip(effects)
            .map(|(id, effect)| Request { id, effect })
            .collect(),
        log: vec![line()],
        state: Some(json!({ "charge": "ch_1" })),
    };
    holds("pending", &pending);
    let counter = Effect::CounterNext {
        series: "xpub-3442193e".into(),
        from: 0,
    };
    let counter_from = Effect::CounterNext {
        series: "xpub-3442193e".into(),
        from: 5,
    };
    for (name, effect) in [("counter", counter), ("counter_from", counter_from)] {
        let pending = Pending {
            effects: vec![Request { id: 1, effect }],
            ..Pending::default()
        };
        holds(&format!("pending.{name}"), &pending);
    }
}

#[test]
fn each_result_of_an_effect_reads_and_writes_as_its_golden_file() {
    let answer = HttpResponse {
        status: 200,
        headers: vec![("content-type".into(), "application/json".into())],
        body: Body::of(b"{\"ok\":true}".to_vec()),
    };
    holds("resume.http", &resume(EffectResult::Http(answer)));
    let image = HttpResponse {
        status: 200,
        headers: vec![],
        body: Body::of(vec![0xff, 0xd8]),
    };
    holds("resume.http_bytes", &resume(EffectResult::Http(image)));
    let error = EffectError {
        sent: Sent::Maybe,
        kind: EffectErrorKind::Timeout,
        message: "no answer within 20 s".into(),
    };
    holds("resume.error", &resume(EffectResult::Error(error)));
    holds("resume.slept", &resume(EffectResult::Slept {}));
    holds(
        "resume.cache",
        &resume(EffectResult::Cache {
            value: Some("t".into()),
        }),
    );
    holds(
        "resume.cache_empty",
        &resume(EffectResult::Cache { value: None }),
    );
    holds(
        "resume.counter",
        &resume(EffectResult::Counter { value: 41 }),
    );
}

#[test]
fn each_end_of_a_call_reads_and_writes_as_its_golden_file() {
    let succeeded = Outcome::Succeeded {
        provider_id: Some("ch_1".into()),
        amount: Some(Amount::decimal("25.00", "USD")),
        fees: Some(Amount::minor(75, "USD")),
        provider_status: Some("COMPLETED".into()),
    };
    holds("ready.succeeded", &ready(succeeded));
    let declined = Outcome::declined(DeclineReason::InsufficientFunds, "Not enough money")
        .with_provider_code("E51")
        .with_provider_id("ch_1");
    holds("ready.declined", &ready(declined));
    holds(
        "ready.unknown",
        &ready(Outcome::unknown("the provider answered 502")),
    );
    holds(
        "ready.not_found",
        &ready(Outcome::NotFound { why: "404".into() }),
    );
    let works = ConfigCheck::Works {
        account: Some("Acme Ltd".into()),
    };
    holds("ready.config_works", &ready(works));
    let refused = ConfigCheck::Refused {
        message: "The key is not known".into(),
        field: Some("key".into()),
    };
    holds("ready.config_refused", &ready(refused));
    let banks = [("058".to_owned(), "GTBank".to_owned())];
    holds("ready.options", &ready(OptionList::named(banks)));
    holds("ready.list", &ready(page()));
    let news = CallbackResult {
        reference: Some(testing::REFERENCE.into()),
        provider_id: Some("ch_1".into()),
        trusted: true,
        outcome: Some(Outcome::unknown("x")),
        refused: None,
    };
    holds("ready.callback", &ready(news));
    let forged = CallbackResult::refused("the signature does not fit");
    holds("ready.callback_refused", &ready(forged));
    let failed = Failed {
        fault: Fault::new(FaultKind::Provider, "the provider answered 200 with HTML"),
        state: None,
        log: vec![line()],
    };
    holds("failed", &failed);
}

fn page() -> TransactionPage {
    let listed = ListedTransaction {
        reference: Some(testing::REFERENCE.into()),
        provider_id: Some("tr_1".into()),
        amount: Some(Amount::decimal("25.00", "USD")),
        created_at: "2026-11-20T09:30:00Z".into(),
        state: ListedState::Succeeded,
    };
    TransactionPage {
        transactions: vec![listed],
        next: Some("page-3".into()),
    }
}

#[test]
fn each_payer_action_reads_and_writes_as_its_golden_file() {
    let texts = || BTreeMap::from([("en".to_owned(), "Look at your phone".to_owned())]);
    let qr = PayerAction::ShowQr {
        text: "acme:1".into(),
        image: None,
    };
    let dial = PayerAction::Dial {
        ussd: "*144*4#".into(),
    };
    let actions = [
        (
            "redirect",
            PayerAction::Redirect {
                url: "https://pay.acme.example/1".into(),
            },
        ),
        (
            "confirm_on_phone",
            PayerAction::ConfirmOnPhone {
                prompt: Prompt::Manual,
                steps: BTreeMap::from([("en".to_owned(), vec!["Dial *126#".to_owned()])]),
                ussd: Some("*126#".into()),
            },
        ),
        (
            "enter_code",
            PayerAction::EnterCode {
                label: "OTP".into(),
                length: Some(6),
                how: texts(),
            },
        ),
        ("dial", dial),
        (
            "transfer",
            PayerAction::Transfer {
                bank: "Acme Bank".into(),
                account: "0123456789".into(),
                name: "Acme Ltd".into(),
                amount: Amount::minor(2_500, "NGN"),
                fees: None,
                reference: Some("SY-1".into()),
                expires: Some("2026-11-20T10:30:00Z".into()),
            },
        ),
        ("show_qr", qr),
        (
            "send_crypto",
            PayerAction::SendCrypto {
                address: "0xabc".into(),
                chain: "eip155:1".into(),
                token: Some("0xdef".into()),
                amount: "1.5".into(),
                worth: None,
                uri: "ethereum:0xabc".into(),
                expires: None,
            },
        ),
        ("wait", PayerAction::Wait {}),
    ];
    for (name, action) in actions {
        let pending = Outcome::Pending {
            provider_id: Some("ch_1".into()),
            payer_action: Some(action),
            poll_after: Some(5),
            received: None,
        };
        holds(&format!("ready.pending_{name}"), &ready(pending));
    }
}

#[test]
fn a_part_that_came_reads_and_writes_as_its_golden_file() {
    let part = Outcome::Pending {
        provider_id: Some("ch_1".into()),
        payer_action: None,
        poll_after: None,
        received: Some(Amount::minor(1_000, "USD")),
    };
    holds("ready.pending_received", &ready(part));
}

#[test]
fn fields_that_this_version_does_not_know_are_ignored() {
    let outcome: Ready<Outcome> = serde_json::from_value(json!({
        "outcome": {"declined": {"reason": "a_later_reason", "mood": "blue"}}, "weather": "fine"
    }))
    .unwrap();
    assert!(matches!(
        outcome.outcome,
        Outcome::Declined {
            reason: DeclineReason::Other,
            ..
        }
    ));
    let resume: Resume = serde_json::from_value(json!({
        "id": 1, "took_ms": 3, "http": {"status": 200, "body": {"text": ""}, "version": "2"}
    }))
    .unwrap();
    assert!(matches!(resume.result, EffectResult::Http(_)));
}

fn begin(op: Operation, input: &impl Serialize) -> Begin<'static> {
    Begin {
        op,
        call: "c_01jd4v3z6q8k9m2n5p7r1s3t4v".into(),
        now: "2026-11-20T10:00:00.000000Z".into(),
        seed: "00ff".into(),
        environment: Environment::Sandbox,
        config: Cow::Owned(json!({ "key": "k" })),
        state: Cow::Owned(json!({})),
        input: Cow::Owned(serde_json::to_value(input).unwrap()),
    }
}

fn resume(result: EffectResult) -> Resume {
    Resume { id: 1, result }
}

fn ready<T>(outcome: T) -> Ready<T> {
    Ready {
        outcome,
        state: None,
        log: vec![],
    }
}

fn line() -> LogLine {
    LogLine {
        level: LogLevel::Info,
        text: "the charge was taken on".into(),
    }
}

/// The file reads as the sample, and the sample writes as the file. With `BLESS=1` a missing file
/// is written.
fn holds<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, sample: &T) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("wire")
        .join(format!("{name}.json"));
    let written = serde_json::to_value(sample).unwrap();
    if !path.exists() && std::env::var_os("BLESS").is_some() {
        fs::write(
            &path,
            serde_json::to_string_pretty(&written).unwrap() + "\n",
        )
        .unwrap();
    }
    let golden =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(
        &serde_json::from_str::<T>(&golden).unwrap(),
        sample,
        "{name} reads otherwise"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&golden).unwrap(),
        written,
        "{name} writes otherwise"
    );
}
