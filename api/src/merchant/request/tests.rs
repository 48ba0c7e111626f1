//! Tables of requests: valid ones, and refused ones with their status, codes and fields.

use serde_json::{Value, json};
use switchyard_core::directory::Directory;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{ClientContext, Restriction};
use switchyard_engine::engine::{NewPayment, NewPayout};

use super::{payment, payout};
use crate::error::ApiError;

fn directory() -> Directory {
    Directory::new("switchyard")
}

fn read_payment(body: &[u8]) -> Result<NewPayment, ApiError> {
    let context = ClientContext::default();
    payment::read(body, &directory(), Environment::Sandbox, false, context)
}

fn read_payout(body: &[u8]) -> Result<NewPayout, ApiError> {
    payout::read(
        body,
        &directory(),
        Environment::Sandbox,
        ClientContext::default(),
    )
}

fn good_payment() -> Value {
    json!({
        "amount": 25, "currency": "USD", "description": "Order 1", "return_url": "https://shop.example/done",
        "customer": {"email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace"},
    })
}

fn good_payout() -> Value {
    json!({
        "amount": 200, "currency": "XOF", "description": "Salary", "method": "mtn_bj",
        "customer": {"email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace"},
        "recipient": {"msisdn": "2290197000000"},
    })
}

/// `base` with the members of `changes` in it; `customer.email` is a path. A change to `"-"` takes
/// the member away.
fn with(mut base: Value, changes: Value) -> Value {
    for (path, value) in changes.as_object().unwrap() {
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let object = match parent {
            "" => base.as_object_mut(),
            parent => base[parent].as_object_mut(),
        };
        let object = object.unwrap();
        if value == "-" {
            object.remove(name);
        } else {
            object.insert(name.to_owned(), value.clone());
        }
    }
    base
}

fn payment_with(changes: Value) -> Result<NewPayment, ApiError> {
    read_payment(with(good_payment(), changes).to_string().as_bytes())
}

fn payout_with(changes: Value) -> Result<NewPayout, ApiError> {
    read_payout(with(good_payout(), changes).to_string().as_bytes())
}

/// Status, and each problem as `code field`.
fn refusal<T>(result: Result<T, ApiError>) -> (u16, Vec<String>) {
    let error = result.err().expect("the request is refused");
    let problems = error.problems().iter().map(|problem| {
        assert!(!problem.message.is_empty());
        let field = problem.field.as_deref().unwrap_or("-");
        format!("{} {field}", problem.code.as_str())
    });
    (error.status().as_u16(), problems.collect())
}

#[test]
fn a_plain_request_is_read() {
    let new = payment_with(json!({})).unwrap();
    assert_eq!(new.amount.decimal(), "25.00");
    assert_eq!(new.customer.email, "ada@example.com");
    assert!(new.metadata.is_empty() && new.methods.is_empty() && new.restriction.is_none());
    let new = payout_with(json!({})).unwrap();
    assert_eq!(new.recipient["msisdn"], "+2290197000000");
}

#[test]
fn amounts_are_read_exactly_whatever_their_spelling() {
    let table = [
        ("25", 2500),
        ("25.5", 2550),
        ("25.00", 2500),
        ("2.5e1", 2500),
        ("\"25.00\"", 2500),
        ("\" 25 \"", 2500),
        ("0.29", 29),
        ("999999999999.99", 99_999_999_999_999),
    ];
    for (text, minor) in table {
        let body = good_payment()
            .to_string()
            .replace("\"amount\":25", &format!("\"amount\":{text}"));
        assert_eq!(
            read_payment(body.as_bytes()).unwrap().amount.minor(),
            minor,
            "{text}"
        );
    }
}

#[test]
fn null_is_as_good_as_absent_for_every_optional_field() {
    let new = payment_with(json!({
        "metadata": null, "methods": null, "restrict_country_code": null, "restricted_phone": null,
        "customer.phone": null, "customer.address": null, "customer.city": null, "customer.state": null,
        "customer.country": null, "customer.zip": null,
    }));
    assert!(new.is_ok());
    assert!(payout_with(json!({"metadata": null, "customer.phone": null})).is_ok());
}

#[test]
fn what_real_clients_send_is_accepted() {
    let new = payment_with(
        json!({"metadata": [], "customer.phone": 2290197000000_i64, "methods": [], "colour": {"deep": [1]}}),
    );
    assert_eq!(
        new.unwrap().customer.phone.as_deref(),
        Some("+2290197000000")
    );
    let new = payment_with(json!({"customer.phone": "4149518161"})).unwrap();
    assert_eq!(new.customer.phone.as_deref(), Some("4149518161"));
    let new =
        payment_with(json!({"customer.phone": "97 00 00 00", "customer.country": "tg"})).unwrap();
    assert_eq!(new.customer.phone.as_deref(), Some("+22897000000"));
    let new = payment_with(json!({"methods": ["card_usd", "crypto_usd", "card_usd"]})).unwrap();
    assert_eq!(new.methods, ["card_usd", "crypto_usd"]);
    let new = payment_with(json!({"description": "Zwei Zeilen\nund ein Bild \u{1F6D2}", "customer.first_name": " Ada "})).unwrap();
    assert_eq!(new.customer.first_name, "Ada");
    assert!(new.description.contains('\n'));
}

#[test]
fn a_restriction_is_read() {
    let new = payment_with(json!({"restrict_country_code": "us"})).unwrap();
    assert_eq!(
        new.restriction,
        Some(Restriction::Country {
            country_code: "US".to_owned()
        })
    );
    let phone = json!({"restricted_phone": {"number": 97000000, "country_code": "TG"}});
    let expected = Restriction::Phone {
        number: "+22897000000".to_owned(),
        country_code: "TG".to_owned(),
    };
    assert_eq!(payment_with(phone).unwrap().restriction, Some(expected));
}

#[test]
fn the_recipient_may_stand_at_the_top_level_and_be_a_number() {
    for changes in [
        json!({"recipient": {"msisdn": 2290197000000_i64}}),
        json!({"recipient": "-", "msisdn": "2290197000000"}),
        json!({"recipient": [], "msisdn": 2290197000000_i64}),
        json!({"recipient": null, "msisdn": "2290197000000"}),
    ] {
        let new = payout_with(changes.clone()).unwrap();
        assert_eq!(new.recipient["msisdn"], "+2290197000000", "{changes}");
    }
    let new = payout_with(json!({"msisdn": "1111111111"})).unwrap();
    assert_eq!(
        new.recipient["msisdn"], "+2290197000000",
        "recipient counts before the top level"
    );
}

/// Change of a valid request, and the response to it.
const PAYMENT_FAULTS: &str = r#"
{"amount": "-"}                                 => 400 field_required amount
{"amount": null}                                => 400 field_required amount
{"amount": true}                                => 422 field_wrong_type amount
{"amount": "twenty"}                            => 422 amount_not_number amount
{"amount": "NaN"}                               => 422 amount_not_number amount
{"amount": 0}                                   => 422 amount_not_positive amount
{"amount": -5}                                  => 422 amount_not_positive amount
{"amount": 25.001}                              => 422 amount_too_many_decimals amount
{"amount": 1000000000001}                       => 422 amount_too_large amount
{"currency": "-"}                               => 400 field_required currency
{"currency": "usd"}                             => 422 currency_unknown currency
{"currency": 840}                               => 422 field_wrong_type currency
{"description": "-"}                            => 400 field_required description
{"description": ""}                             => 422 field_blank description
{"description": "a\u0000b"}                     => 422 field_has_control_characters description
{"return_url": "-"}                             => 400 field_required return_url
{"return_url": "/done"}                         => 422 url_invalid return_url
{"return_url": "javascript:alert(1)"}           => 422 url_invalid return_url
{"return_url": "https://"}                      => 422 url_invalid return_url
{"return_url": "https://ada@shop.example/done"} => 422 url_invalid return_url
{"return_url": "https://:x@shop.example/done"}  => 422 url_invalid return_url
{"customer": "-"}                               => 400 field_required customer
{"customer": []}                                => 422 field_wrong_type customer
{"customer.email": "-"}                         => 400 field_required customer.email
{"customer.email": "ada"}                       => 422 email_invalid customer.email
{"customer.email": "ada@localhost"}             => 422 email_invalid customer.email
{"customer.email": "a b@example.com"}           => 422 email_invalid customer.email
{"customer.first_name": 5}                      => 422 field_wrong_type customer.first_name
{"customer.first_name": "a\nb"}                 => 422 field_has_control_characters customer.first_name
{"customer.last_name": "  "}                    => 422 field_blank customer.last_name
{"customer.phone": 1.5}                         => 422 field_wrong_type customer.phone
{"customer.phone": -5}                          => 422 field_wrong_type customer.phone
{"customer.country": "Benin"}                   => 422 country_unknown customer.country
{"customer.zip": "123456789012345678901"}       => 422 field_too_long customer.zip
{"metadata": "x"}                               => 422 metadata_not_object metadata
{"metadata": [1]}                               => 422 metadata_not_object metadata
{"metadata": {"order": 5}}                      => 422 metadata_value_not_string metadata.order
{"metadata": {"order": null}}                   => 422 metadata_value_not_string metadata.order
{"metadata": {"": "v"}}                         => 422 metadata_key_invalid metadata
{"methods": "card_usd"}                         => 422 field_wrong_type methods
{"methods": [5]}                                => 422 field_wrong_type methods.0
{"methods": ["card_usd", "nope"]}               => 422 method_unknown methods.1
{"methods": ["mtn_bj"]}                         => 422 method_currency_mismatch methods.0
{"restrict_country_code": "XX"}                 => 422 country_unknown restrict_country_code
{"restrict_country_code": "BJ", "methods": ["switchyard_payment_demo"]} => 422 restriction_unservable restrict_country_code
{"restricted_phone": "x"}                       => 422 field_wrong_type restricted_phone
{"restricted_phone": {"country_code": "BJ"}}    => 400 field_required restricted_phone.number
{"restricted_phone": {"number": "97000000"}}    => 400 field_required restricted_phone.country_code
{"restricted_phone": {"number": "abc", "country_code": "BJ"}} => 422 phone_invalid restricted_phone.number
{"restricted_phone": {"number": "+22997000000", "country_code": "US"}} => 422 phone_country_mismatch restricted_phone.number
{"restrict_country_code": "BJ", "restricted_phone": {"number": "97000000", "country_code": "TG"}}=>422 restriction_conflict restricted_phone
"#;

const PAYOUT_FAULTS: &str = r#"
{"method": "-"}                                 => 400 field_required method
{"method": "nope"}                              => 422 method_unknown method
{"method": "card_usd"}                          => 422 method_unknown method
{"currency": "USD"}                             => 422 method_currency_mismatch method
{"recipient": "-"}                              => 400 field_required recipient.msisdn
{"recipient": {}}                               => 400 field_required recipient.msisdn
{"recipient": {"msisdn": null}}                 => 400 field_required recipient.msisdn
{"recipient": {"msisdn": ""}}                   => 422 field_blank recipient.msisdn
{"recipient": {"msisdn": "abc"}}                => 422 recipient_field_invalid recipient.msisdn
{"recipient": {"msisdn": 12}}                   => 422 recipient_field_invalid recipient.msisdn
{"recipient": {"msisdn": {}}}                   => 422 field_wrong_type recipient.msisdn
{"recipient": "x"}                              => 422 field_wrong_type recipient
{"recipient": {}, "msisdn": []}                 => 422 field_wrong_type msisdn
"#;

fn faults(table: &str) -> impl Iterator<Item = (Value, (u16, Vec<String>))> {
    let lines = table.lines().filter(|line| !line.is_empty());
    lines.map(|line| {
        let (changes, refusal) = line.split_once("=>").unwrap();
        let (status, problem) = refusal.trim().split_once(' ').unwrap();
        let refusal = (status.parse().unwrap(), vec![problem.to_owned()]);
        (serde_json::from_str(changes).unwrap(), refusal)
    })
}

#[test]
fn every_fault_of_a_payment_has_its_status_code_and_field() {
    for (changes, expected) in faults(PAYMENT_FAULTS) {
        assert_eq!(
            refusal(payment_with(changes.clone())),
            expected,
            "{changes}"
        );
    }
}

#[test]
fn every_fault_of_a_payout_has_its_status_code_and_field() {
    for (changes, expected) in faults(PAYOUT_FAULTS) {
        assert_eq!(refusal(payout_with(changes.clone())), expected, "{changes}");
    }
}

#[test]
fn what_is_too_long_or_too_many_is_refused() {
    let long = |length: usize| "x".repeat(length);
    let many: serde_json::Map<_, _> = (0..51).map(|n| (n.to_string(), json!("v"))).collect();
    let table = [
        (
            json!({"description": long(256)}),
            "field_too_long description",
        ),
        (
            json!({"customer.first_name": long(101)}),
            "field_too_long customer.first_name",
        ),
        (json!({"metadata": many}), "metadata_too_many_keys metadata"),
        (
            json!({"metadata": {"order": long(501)}}),
            "metadata_value_too_long metadata.order",
        ),
        (
            json!({"metadata": {long(41): "v"}}),
            "metadata_key_invalid metadata",
        ),
    ];
    for (changes, problem) in table {
        assert_eq!(
            refusal(payment_with(changes)),
            (422, vec![problem.to_owned()])
        );
    }
    let longest = json!({"description": "\u{e9}".repeat(255), "metadata": {long(40): long(500)}});
    assert!(payment_with(longest).is_ok(), "characters count, not bytes");
}

#[test]
fn all_faults_come_at_once_in_the_documented_order() {
    let body = json!({
        "methods": ["nope"], "metadata": {"a": 1}, "customer": {"last_name": "L", "phone": []}, "return_url": "x",
        "currency": "XYZ", "amount": "x",
    });
    let (status, problems) = refusal(read_payment(body.to_string().as_bytes()));
    assert_eq!(status, 400);
    let expected = [
        "amount_not_number amount",
        "currency_unknown currency",
        "field_required description",
        "url_invalid return_url",
        "field_required customer.email",
        "field_required customer.first_name",
        "field_wrong_type customer.phone",
        "metadata_value_not_string metadata.a",
        "method_unknown methods.0",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn a_body_that_is_no_json_object_is_refused_with_400() {
    let good = good_payment().to_string();
    let deep = format!(
        "{{\"metadata\":{}1{}}}",
        "[".repeat(30_000),
        "]".repeat(30_000)
    );
    let table: [(&[u8], &str); 12] = [
        (b"", "malformed_json -"),
        (b"   \n", "malformed_json -"),
        (b"{", "malformed_json -"),
        (b"{\"amount\": 25,}", "malformed_json -"),
        (b"{'amount': 25}", "malformed_json -"),
        (b"amount=25&currency=USD", "malformed_json -"),
        (b"{\"amount\": 025}", "malformed_json -"),
        (b"{\"amount\": NaN}", "malformed_json -"),
        (b"{\"description\": \"\xff\"}", "malformed_json -"),
        (b"[]", "body_not_object -"),
        (b"null", "body_not_object -"),
        (b"\"text\"", "body_not_object -"),
    ];
    for (body, problem) in table {
        assert_eq!(
            refusal(read_payment(body)),
            (400, vec![problem.to_owned()]),
            "{}",
            String::from_utf8_lossy(body)
        );
    }
    let trailing = format!("{good} x");
    assert_eq!(
        refusal(read_payment(trailing.as_bytes())).1,
        ["malformed_json -"]
    );
    let (status, problems) = refusal(read_payment(deep.as_bytes()));
    assert_eq!(status, 400);
    assert!(
        problems.contains(&"metadata_not_object metadata".to_owned()),
        "{problems:?}"
    );
}

#[test]
fn what_is_given_twice_or_broken_is_refused() {
    let good = good_payment().to_string();
    let twice = good.replacen('{', "{\"amount\":1,", 1);
    assert_eq!(
        refusal(read_payment(twice.as_bytes())),
        (400, vec!["field_duplicated amount".to_owned()])
    );
    let unknown_twice = good.replacen('{', "{\"x\":1,\"x\":2,", 1);
    assert!(read_payment(unknown_twice.as_bytes()).is_ok());
    let metadata = good.replacen('{', "{\"metadata\":{\"a\":\"1\",\"a\":\"2\"},", 1);
    assert_eq!(
        refusal(read_payment(metadata.as_bytes())).1,
        ["field_duplicated metadata.a"]
    );
    let surrogate = good.replace("Order 1", "\\ud800");
    assert_eq!(
        refusal(read_payment(surrogate.as_bytes())),
        (400, vec!["malformed_json description".to_owned()])
    );
    let escaped = good.replace("Order 1", "\\u004frder 1");
    assert_eq!(
        read_payment(escaped.as_bytes()).unwrap().description,
        "Order 1"
    );
    let nul = good.replace("Order 1", "\\u0000");
    assert_eq!(
        refusal(read_payment(nul.as_bytes())).1,
        ["field_has_control_characters description"]
    );
}

#[test]
fn an_answer_names_a_bounded_number_of_problems() {
    let methods: Vec<String> = (0..5_000).map(|n| n.to_string()).collect();
    let (_, problems) = refusal(payment_with(json!({ "methods": methods })));
    assert_eq!(problems.len(), crate::error::PROBLEMS);
}
