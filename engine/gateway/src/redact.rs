//! Redaction: removes secrets from all stored and logged text about exchanges with providers.
//!
//! The value of a header is secret unless the header is in [`OPEN_HEADERS`]. A field of a JSON body
//! or a form is secret when its name contains a word of [`SECRET_WORDS`]. Independently of the
//! name, secrets of the connection's configuration and tokens that the gateway cached are removed
//! from every text (also from names), in every form in which they may be encoded. The same holds
//! for codes that the payer typed and for card numbers. The remaining text is cut to a readable
//! length.

mod cards;
mod forms;

use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::wire::Body;

use switchyard_core::limits::{GATEWAY_TEXT_BYTES, JOURNAL_BODY_BYTES};

/// Redactor of one call, with its secrets; clones share the secrets that are learned later.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    secrets: Arc<Mutex<Vec<String>>>,
    /// Codes that the payer typed. They are so short that a provider's id may contain one by
    /// chance: see [`Redactor::id`].
    typed: Arc<[String]>,
}

impl Redactor {
    /// Creates the redactor of a configuration. The manifest lists the secret fields; without a
    /// schema all fields are secret.
    pub(super) fn new(manifest: &Manifest, config: &Value) -> Self {
        let listed = manifest
            .config
            .is_object()
            .then(|| manifest.secret_fields());
        let mut secrets = Vec::new();
        for (name, value) in config.as_object().into_iter().flatten() {
            if listed
                .as_ref()
                .is_none_or(|listed| listed.contains(&name.as_str()))
            {
                collect(value, &mut secrets);
            }
        }
        let redactor = Self::default();
        for secret in &secrets {
            redactor.learn(secret);
        }
        redactor
    }

    /// Adds the codes that the payer typed.
    pub(super) fn with_typed(mut self, input: &Value) -> Self {
        let fields = input.get("input").and_then(Value::as_object);
        let texts = fields
            .into_iter()
            .flat_map(|fields| fields.values())
            .filter_map(Value::as_str);
        self.typed = texts
            .filter(|text| text.len() >= SHORTEST_CODE)
            .map(str::to_owned)
            .collect();
        self
    }

    /// Adds a secret: a token that the gateway cached.
    pub(super) fn learn(&self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            let mut secrets = self.secrets.lock();
            secrets.extend(forms::of(secret));
            // The longest first: otherwise a secret that begins with a shorter one would keep its
            // rest.
            secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
            secrets.dedup();
        }
    }

    /// Redacts a sentence: removes secrets and control characters, and cuts it.
    pub(super) fn sentence(&self, text: &str) -> String {
        readable(&self.without_secrets(text))
    }

    /// Redacts an id, which has to stay intact: it may contain the digits of a typed code by
    /// chance, so typed codes are kept.
    pub(super) fn id(&self, text: &str) -> String {
        let text = self.without_configured(text);
        let id = readable(&text);
        match id == text {
            true => id,
            // Two ids stay two, although the difference is not shown.
            false => format!(
                "{id}#{:.16}",
                base16ct::lower::encode_string(&Sha256::digest(text))
            ),
        }
    }

    /// Redacts a URL: secrets in its path, and query values whose names are secret words.
    pub(super) fn url(&self, url: &str) -> String {
        let Ok(mut parsed) = Url::parse(url) else {
            return self.sentence(url);
        };
        if parsed.query().is_some() {
            let pairs: Vec<(String, String)> = parsed
                .query_pairs()
                .map(|(name, value)| (self.without_secrets(&name), self.field(&name, &value)))
                .collect();
            parsed.query_pairs_mut().clear().extend_pairs(pairs);
        }
        let mut text = self.without_secrets(parsed.as_str());
        cut(&mut text, GATEWAY_TEXT_BYTES);
        text
    }

    pub(super) fn headers(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        headers
            .iter()
            .map(|(name, value)| {
                let name = self.without_secrets(name).to_ascii_lowercase();
                let value = if OPEN_HEADERS.contains(&name.as_str()) {
                    self.sentence(value)
                } else {
                    MASK.to_owned()
                };
                (name, value)
            })
            .collect()
    }

    pub(super) fn body(&self, body: &Body) -> String {
        let mut text = match body {
            Body::Base64(encoded) => format!("({} bytes, no text)", encoded.len() / 4 * 3),
            Body::Form(fields) => fields
                .iter()
                .map(|(name, value)| {
                    format!("{}={}", self.without_secrets(name), self.field(name, value))
                })
                .collect::<Vec<_>>()
                .join("&"),
            Body::Text(text) => match serde_json::from_str::<Value>(text) {
                Ok(mut json) => {
                    self.mask(&mut json);
                    json.to_string()
                }
                // A truncated JSON document may contain a part of a secret whose name is cut off.
                Err(_) if text.trim_start().starts_with(['{', '[']) => {
                    format!("({} bytes of broken JSON)", text.len())
                }
                Err(_) => self.without_secrets(text),
            },
        };
        cut(&mut text, JOURNAL_BODY_BYTES);
        text
    }

    fn mask(&self, json: &mut Value) {
        match json {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if sounds_secret(name) && !matches!(value, Value::Null | Value::Bool(_)) {
                        *value = Value::from(MASK);
                    } else {
                        self.mask(value);
                    }
                }
                if fields
                    .keys()
                    .any(|name| self.without_secrets(name) != *name)
                {
                    let named = std::mem::take(fields).into_iter();
                    fields.extend(named.map(|(name, value)| (self.without_secrets(&name), value)));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::String(text) => *text = self.without_secrets(text),
            Value::Number(number) => {
                let text = number.to_string();
                let card = cards::without(&text, MASK) != text;
                if card || self.is_secret(&text) || self.without_configured(&text) != text {
                    *json = Value::from(MASK);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn is_secret(&self, text: &str) -> bool {
        let secrets = self.secrets.lock();
        secrets
            .iter()
            .chain(&*self.typed)
            .any(|secret| secret == text)
    }

    fn field(&self, name: &str, value: &str) -> String {
        if sounds_secret(name) {
            MASK.to_owned()
        } else {
            self.without_secrets(value)
        }
    }

    pub(super) fn without_secrets(&self, text: &str) -> String {
        let text = self.without_configured(text);
        let typed = self.typed.iter();
        let text = typed.fold(text, |text, code| text.replace(code.as_str(), MASK));
        cards::without(&text, MASK).into_owned()
    }

    fn without_configured(&self, text: &str) -> String {
        let secrets = self.secrets.lock();
        let mut text = text.to_owned();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        text
    }
}

fn collect(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= SHORTEST_SECRET => secrets.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= SHORTEST_SECRET => {
            secrets.push(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, secrets)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, secrets)),
        _ => {}
    }
}

/// Whether a name contains a secret word: `clientSecret`, `client_secret` and `Client-Secret` all
/// contain `secret`.
fn sounds_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for char in name.chars() {
        if !char.is_alphanumeric() || (char.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if char.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(char.to_lowercase());
        }
        was_lower = char.is_lowercase();
    }
    words
        .iter()
        .any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// Replaces control characters by spaces, and cuts the text.
fn readable(text: &str) -> String {
    let mut text: String = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    cut(&mut text, GATEWAY_TEXT_BYTES);
    text
}

fn cut(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        let mut end = bytes;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}

const MASK: &str = "***";
/// Minimum length of a secret in bytes. Shorter texts are words of the protocol ("on", "XOF")
/// rather than secrets, and masking them would make bodies unreadable.
const SHORTEST_SECRET: usize = 5;
/// Minimum length of a typed code. Codes that payers type have four digits or more.
const SHORTEST_CODE: usize = 3;
const SECRET_WORDS: [&str; 22] = [
    "secret",
    "secrets",
    "token",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "pass",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "cvv2",
    "authorization",
    "auth",
    "credential",
    "credentials",
    "key",
    "apikey",
    "signature",
    "bearer",
    "accesstoken",
];
const OPEN_HEADERS: [&str; 18] = [
    "accept",
    "accept-language",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "date",
    "idempotency-key",
    "request-id",
    "retry-after",
    "server",
    "user-agent",
    "vary",
    "x-correlation-id",
    "x-request-id",
    "x-reference-id",
];

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn two_ids_stay_two_when_they_are_cut_or_have_control_characters() {
        let redactor = Redactor::default();
        let long = "7".repeat(GATEWAY_TEXT_BYTES);
        assert_eq!(redactor.id("ch_7"), "ch_7");
        assert_eq!(redactor.id(&long), long);
        for [one, other] in [
            [format!("{long}1"), format!("{long}2")],
            ["a\nb".to_owned(), "a\0b".to_owned()],
            ["a\nb".to_owned(), "a b".to_owned()],
        ] {
            let shown = [redactor.id(&one), redactor.id(&other)];
            assert_ne!(shown[0], shown[1]);
            assert!(shown[0].len() < long.len() + 24 && !shown[0].contains('\n'));
            assert_eq!(redactor.id(&one), shown[0]);
        }
    }

    #[test]
    fn a_secret_in_a_name_is_no_less_secret() {
        let redactor = Redactor::default();
        redactor.learn("s3cr3t-t0ken");
        let pair = || vec![("a-s3cr3t-t0ken".to_owned(), "x".to_owned())];
        let json = r#"{"s3cr3t-t0ken":1,"a":[{"of s3cr3t-t0ken":{"b":2}}]}"#;
        let shown = [
            redactor.body(&Body::Text(json.into())),
            redactor.body(&Body::Form(pair())),
            redactor.url("https://a.example/?of-s3cr3t-t0ken=1"),
            format!("{:?}", redactor.headers(&pair())),
        ];
        assert_eq!(shown[0], r#"{"***":1,"a":[{"of ***":{"b":2}}]}"#);
        redactor.learn("1234567");
        let within = redactor.body(&Body::Text(r#"{"a":91234567.25}"#.into()));
        assert_eq!(within, r#"{"a":"***"}"#, "nor is one within a number");
        assert!(
            shown.iter().all(|shown| !shown.contains("s3cr3t-t0ken")),
            "{shown:?}"
        );
    }

    fn redactor() -> Redactor {
        let manifest = Manifest::parse(
            json!({
                "name": "acme", "version": "1.0.0", "abi": 1, "title": "Acme", "operations": ["collect", "query"],
                "methods": [{"code": "acme", "direction": "collect", "currency": "USD", "countries": ["US"]}],
                "config": {"type": "object", "properties": {
                    "api": {"type": "string", "writeOnly": true}, "shop": {"type": "string"}
                }}
            })
            .to_string()
            .as_bytes(),
        )
        .unwrap();
        Redactor::new(
            &manifest,
            &json!({ "api": "sk_live_12345", "shop": "my-shop" }),
        )
    }

    #[test]
    fn a_secret_is_no_less_secret_in_another_form_and_none_of_a_longer_one_is_left() {
        let redactor = Redactor::default();
        redactor.learn("pass/w\"rd 12");
        redactor.learn("sk_live_12345");
        redactor.learn("sk_live_12345_and_more");
        let url = redactor.url("https://a.example/pass/w\"rd 12/x");
        assert_eq!(url, "https://a.example/***/x");
        let basic = base64::engine::general_purpose::STANDARD.encode("user:pass/w\"rd 12");
        let seen = redactor.sentence(&format!("ask with {basic}, please"));
        assert!(
            seen.contains("***") && !seen.contains(&basic[8..16]),
            "{seen}"
        );
        assert_eq!(redactor.sentence("pass%2Fw%22rd+12"), "***");
        assert_eq!(redactor.sentence("sk_live_12345_and_more!"), "***!");
        let nested = json!({ "echo": "{\"key\":\"pass/w\\\"rd 12\"}", "pan": 4_242_424_242_424_242_u64, "to": "4242 4242 4242 4242" });
        let seen = redactor.body(&Body::Text(nested.to_string()));
        assert!(!seen.contains("rd 12") && !seen.contains("4242"), "{seen}");
    }

    #[test]
    fn a_header_is_secret_unless_it_is_listed() {
        let seen = redactor().headers(&[
            ("Authorization".into(), "Bearer abc".into()),
            ("X-Whatever".into(), "v".into()),
            ("Content-Type".into(), "application/json".into()),
            ("X-Request-Id".into(), "r sk_live_12345".into()),
        ]);
        let expected = [
            ("authorization", "***"),
            ("x-whatever", "***"),
            ("content-type", "application/json"),
            ("x-request-id", "r ***"),
        ];
        assert_eq!(
            seen,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn a_body_loses_what_sounds_secret_and_what_is_secret() {
        let redactor = redactor();
        redactor.learn("cached-token-1");
        let json = json!({
            "amount": "25.00", "clientSecret": "s", "card": {"cvv": 123, "pin_code": "0000"}, "shipping": "s", "shop": "my-shop",
            "list": [{"access_token": "t"}], "text": "with sk_live_12345 and cached-token-1", "token": null
        });
        let expected = json!({
            "amount": "25.00", "clientSecret": "***", "card": {"cvv": "***", "pin_code": "***"}, "shipping": "s", "shop": "my-shop",
            "list": [{"access_token": "***"}], "text": "with *** and ***", "token": null
        });
        let seen = redactor.body(&Body::Text(json.to_string()));
        assert_eq!(serde_json::from_str::<Value>(&seen).unwrap(), expected);
        let form = Body::Form(vec![
            ("grant_type".into(), "client".into()),
            ("client_secret".into(), "abc".into()),
        ]);
        assert_eq!(redactor.body(&form), "grant_type=client&client_secret=***");
        assert_eq!(
            redactor.body(&Body::Text("<p>sk_live_12345</p>".into())),
            "<p>***</p>"
        );
        assert_eq!(
            redactor.body(&Body::of(vec![0xff; 6])),
            "(6 bytes, no text)"
        );
        assert_eq!(
            redactor.body(&Body::Text("{\"token\":\"abc".into())),
            "(13 bytes of broken JSON)"
        );
    }

    #[test]
    fn a_code_that_the_payer_typed_is_nowhere_and_an_id_with_the_same_digits_stays() {
        let redactor = redactor().with_typed(&json!({ "input": { "code": "4711" } }));
        let json = json!({ "code": "4711", "value": 4711, "note": "the code 4711", "amount": 25 });
        let seen = redactor.body(&Body::Text(json.to_string()));
        assert!(!seen.contains("4711") && seen.contains("25"), "{seen}");
        let form = Body::Form(vec![("validation".into(), "4711".into())]);
        assert_eq!(redactor.body(&form), "validation=***");
        let url = redactor.url("https://a.example/validate/4711?v=4711");
        assert!(!url.contains("4711"), "{url}");
        assert_eq!(redactor.sentence("4711 is wrong"), "*** is wrong");
        assert_eq!(redactor.id("tx-847112-sk_live_12345"), "tx-847112-***");
    }

    #[test]
    fn a_url_and_a_sentence_lose_their_secrets_and_their_length() {
        let redactor = redactor();
        let url = redactor.url("https://a.example/sk_live_12345/x?api_key=abc&shop=my-shop");
        assert_eq!(url, "https://a.example/***/x?api_key=***&shop=my-shop");
        assert_eq!(redactor.sentence("bad\nkey sk_live_12345"), "bad key ***");
        let long = redactor.sentence(&"é".repeat(GATEWAY_TEXT_BYTES));
        assert!(long.len() <= GATEWAY_TEXT_BYTES + '…'.len_utf8());
    }

    #[test]
    fn without_a_schema_every_configured_text_is_secret() {
        let mut manifest =
            Manifest::parse(include_bytes!("../../../plugins/demo/gateway.json")).unwrap();
        manifest.config = Value::Null;
        let redactor = Redactor::new(&manifest, &json!({ "anything": "my-shop" }));
        assert_eq!(redactor.sentence("my-shop"), "***");
    }
}
