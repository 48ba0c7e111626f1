//! Callbacks: trusted ones, and everything that must not be.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use gateway_pawapay::PawaPay;
use gateway_pawapay::signature::{PublicKey, Signed};
use serde_json::{Value, json};
use switchyard_gateway::testing::{Call, answer, no_provider};
use switchyard_gateway::wire::Body;
use switchyard_gateway::{Amount, Callback, CallbackResult, Fault, Operation, Outcome};
use switchyard_testkit::{NOW_SECONDS, ProviderCallback};

use simulator::{Scheme, Signer};

const URL: &str = "https://pay.example.com/callbacks/con_1";
const ID: &str = "8917c345-4791-4285-a416-62f24b6982db";

/// pawaPay's published example, and the text that it signs.
fn vector() -> (Value, Callback) {
    let vector: Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    let headers = vector["headers"].as_object().unwrap().iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
    let callback = Callback {
        method: "POST".into(),
        path: "/callbacks/pawapay".into(),
        query: String::new(),
        url: Some(vector["url"].as_str().unwrap().into()),
        headers: headers.collect(),
        body: Body::Text(vector["body"].as_str().unwrap().into()),
    };
    (vector, callback)
}

#[test]
fn the_known_vector_has_its_signature_base_and_verifies_with_its_signature_in_der() {
    let (vector, callback) = vector();
    let signed = Signed::read(&callback, vector["url"].as_str().unwrap()).unwrap();
    assert_eq!(signed.base(), vector["signature_base"].as_str().unwrap());
    let key = PublicKey::from_pem(vector["public_key_pem"].as_str().unwrap()).unwrap();
    let body = vector["body"].as_str().unwrap().as_bytes();
    signed.check(body, 1_760_000_030).unwrap();
    signed.verify(&key).unwrap();
    for (now, body) in [
        (1_759_999_900, body),
        (1_760_000_200, body),
        (1_760_000_030, &body[1..]),
    ] {
        assert!(signed.check(body, now).is_err());
    }
}

#[test]
fn a_key_is_read_with_lines_of_any_width_and_refused_unless_it_is_of_a_known_kind() {
    let (vector, _) = vector();
    let pem = vector["public_key_pem"].as_str().unwrap();
    let key = PublicKey::from_pem(pem).unwrap();
    let lines: Vec<&str> = pem.lines().collect();
    let (base64, ends) = (
        lines[1..lines.len() - 1].concat(),
        [lines[0], lines[lines.len() - 1]],
    );
    let wrapped = |width: usize, line_end: &str| {
        let lines = base64.as_bytes().chunks(width);
        let lines = lines.map(|line| String::from_utf8(line.to_vec()).unwrap());
        [
            vec![ends[0].to_owned()],
            lines.collect(),
            vec![ends[1].to_owned()],
        ]
        .concat()
        .join(line_end)
    };
    for right in [wrapped(64, "\n"), wrapped(76, "\r\n"), wrapped(1000, "\n")] {
        assert_eq!(PublicKey::from_pem(&right).as_ref(), Some(&key), "{right}");
    }
    let ed25519 = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    let of = |base64: &str| format!("{}\n{base64}\n{}", ends[0], ends[1]);
    for wrong in [
        String::new(),
        base64.clone(),
        of(&base64[4..]),
        of(&base64[..base64.len() - 4]),
        of(&format!("{base64}AAAA")),
        of(ed25519),
        pem.replace("PUBLIC", "PRIVATE"),
    ] {
        assert_eq!(PublicKey::from_pem(&wrong), None, "{wrong}");
    }
}

fn news() -> String {
    json!({
        "depositId": ID, "status": "COMPLETED", "amount": "100", "currency": "XOF", "country": "BEN",
        "providerTransactionId": "MP1", "metadata": { "transactionId": "py_1" }
    })
    .to_string()
}

fn signed(signer: &Signer) -> ProviderCallback {
    signer.sign(URL, "2026-11-20T10:00:00.000Z", NOW_SECONDS - 5, news())
}

/// Result of the gateway with these keys.
fn read(
    letter: &ProviderCallback,
    url: Option<&str>,
    keys: &Value,
) -> Result<CallbackResult, Fault> {
    let end = Call::new(Operation::Callback)
        .config(json!({ "api_token": "t" }))
        .input(&letter.as_callback("/callbacks/con_1", url))
        .run_as::<PawaPay, CallbackResult>(|request| {
            assert_eq!(
                request.url,
                "https://api.sandbox.pawapay.io/v2/public-key/http"
            );
            answer(200, keys.clone())
        })?;
    Ok(end.outcome)
}

fn trusted() -> CallbackResult {
    let outcome = Outcome::Succeeded {
        provider_id: Some("MP1".into()),
        amount: Some(Amount::decimal("100", "XOF")),
        fees: None,
        provider_status: Some("COMPLETED".into()),
    };
    CallbackResult {
        reference: Some(ID.into()),
        provider_id: None,
        trusted: true,
        outcome: Some(outcome),
        ..CallbackResult::default()
    }
}

fn hint() -> CallbackResult {
    CallbackResult {
        reference: Some(ID.into()),
        ..CallbackResult::default()
    }
}

#[test]
fn a_callback_signed_in_any_of_pawapays_ways_is_trusted_with_its_outcome() {
    for scheme in [
        Scheme::EcdsaP256,
        Scheme::EcdsaP256Bare,
        Scheme::EcdsaP384,
        Scheme::RsaPkcs1,
        Scheme::RsaPss,
    ] {
        let signer = Signer::new(scheme);
        // The key is found by its name, wherever it stands in the list.
        let other = Signer::new(Scheme::EcdsaP256).public()["key"].clone();
        let keys = json!([{ "id": "HTTP_EC_P256_KEY:0", "key": other }, signer.public()]);
        let result = read(&signed(&signer), Some(URL), &keys);
        assert_eq!(result.unwrap(), trusted(), "{scheme:?}");
    }
}

#[test]
fn an_unsigned_callback_is_a_hint_and_no_key_is_fetched_for_it() {
    let letter = ProviderCallback {
        method: "POST".into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: news(),
    };
    let end = Call::new(Operation::Callback)
        .config(json!({ "api_token": "t" }))
        .input(&letter.as_callback("/callbacks/con_1", Some(URL)))
        .run_as::<PawaPay, CallbackResult>(no_provider);
    assert_eq!(end.unwrap().outcome, hint());
}

/// Changes one header.
fn with(
    letter: &ProviderCallback,
    name: &str,
    change: impl Fn(&str) -> String,
) -> ProviderCallback {
    let mut letter = letter.clone();
    for (header, value) in &mut letter.headers {
        if header == name {
            *value = change(value);
        }
    }
    letter
}

#[test]
fn a_callback_that_somebody_else_wrote_is_a_hint() {
    let signer = Signer::new(Scheme::EcdsaP256);
    let keys = json!([signer.public()]);
    let good = signed(&signer);
    assert_eq!(read(&good, Some(URL), &keys).unwrap(), trusted());
    let forger = Signer::new(Scheme::EcdsaP256);
    let richer = ProviderCallback {
        body: news().replace("100", "100000"),
        ..good.clone()
    };
    let digest = gateway_pawapay::signature::content_digest(richer.body.as_bytes());
    let rehashed = with(&richer, "Content-Digest", |_| digest.clone());
    let rerouted = ProviderCallback {
        method: "PUT".into(),
        ..good.clone()
    };
    let at = |url: &str, created| signer.sign(url, "2026-11-20T10:00:00.000Z", created, news());
    for (what, forgery) in [
        ("another key under the same name", signed(&forger)),
        ("another body", richer),
        ("another body with its own digest", rehashed),
        ("another method", rerouted),
        (
            "signed for another's address",
            at("https://shop.example/callbacks/con_1", NOW_SECONDS),
        ),
        ("from yesterday", at(URL, NOW_SECONDS - 86_400)),
        ("from tomorrow", at(URL, NOW_SECONDS + 86_400)),
    ] {
        assert_eq!(read(&forgery, Some(URL), &keys).unwrap(), hint(), "{what}");
    }
    assert_eq!(
        read(&good, None, &keys).unwrap(),
        hint(),
        "our address is not known"
    );
    assert_eq!(
        read(&good, Some(URL), &json!("no keys")).unwrap(),
        hint(),
        "the keys cannot be had"
    );
}

#[test]
fn a_signature_that_was_bent_makes_a_hint() {
    let signer = Signer::new(Scheme::EcdsaP256);
    let keys = json!([signer.public()]);
    let good = signed(&signer);
    for (what, header, from, to) in [
        ("a longer life", "Signature-Input", "expires=", "expires=9"),
        ("a covered header changed", "Signature-Date", "2026", "2030"),
        ("an unknown key", "Signature-Input", "_KEY:1", "_KEY:7"),
        (
            "another algorithm",
            "Signature-Input",
            "ecdsa-p256-sha256",
            "rsa-pss-sha512",
        ),
        (
            "no digest covered",
            "Signature-Input",
            " \"content-digest\"",
            "",
        ),
        (
            "no address covered",
            "Signature-Input",
            " \"@authority\"",
            "",
        ),
        ("no end", "Signature-Input", ";expires=", ";ends="),
        ("no key", "Signature-Input", ";keyid=", ";kid="),
        ("no such signature", "Signature", "sig-pp", "sig-qq"),
        ("no bytes", "Signature", "sig-pp=:", "sig-pp=:?"),
        ("no list", "Signature-Input", "(", ""),
        ("no known digest", "Content-Digest", "sha-512", "md5"),
    ] {
        let bent = with(&good, header, |value| value.replace(from, to));
        assert_ne!(bent, good, "{what}");
        assert_eq!(read(&bent, Some(URL), &keys).unwrap(), hint(), "{what}");
    }
}

#[test]
fn the_address_is_ours_however_it_is_written_and_the_connections_own_word_counts_first() {
    let signer = Signer::new(Scheme::EcdsaP256);
    let keys = json!([signer.public()]);
    for ours in [
        "https://PAY.example.com:443/callbacks/con_1",
        "https://pay.example.com/callbacks/con_1?a=1",
    ] {
        assert_eq!(
            read(&signed(&signer), Some(ours), &keys).unwrap(),
            trusted(),
            "{ours}"
        );
    }
    let end = Call::new(Operation::Callback)
        .config(json!({ "api_token": "t", "callback_url": URL }))
        .input(
            &signed(&signer).as_callback("/inner/con_1", Some("http://10.0.0.7:8080/inner/con_1")),
        )
        .run_as::<PawaPay, CallbackResult>(|_| answer(200, keys.clone()));
    assert_eq!(end.unwrap().outcome, trusted());
}

#[test]
fn what_is_no_news_of_pawapays_is_a_fault_and_never_an_outcome() {
    for body in [
        "",
        "hello",
        "[]",
        "{}",
        "{\"status\":\"COMPLETED\"}",
        "{\"depositId\":7,\"status\":\"COMPLETED\"}",
    ] {
        let letter = ProviderCallback {
            method: "POST".into(),
            headers: Vec::new(),
            body: body.into(),
        };
        assert!(read(&letter, Some(URL), &json!([])).is_err(), "{body}");
    }
}
