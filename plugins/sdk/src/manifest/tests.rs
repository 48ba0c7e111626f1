//! Refusals of manifests, with their messages.

use serde_json::json;

use super::*;

fn sample() -> Value {
    json!({
        "name": "acme", "version": "1.0.0", "abi": 1, "title": "Acme Pay",
        "methods": [{"code": "acme_xof", "direction": "collect", "currency": "XOF", "countries": ["BJ"], "min": "100"}],
        "operations": ["collect", "query"],
        "hosts": {"sandbox": ["sandbox.acme.example"], "live": ["api.acme.example", "*.acme.example:8443"]},
        "config": {
            "type": "object", "required": ["key"],
            "properties": {"key": {"type": "string", "writeOnly": true}, "shop": {"type": "string"}}
        },
        "some_later_field": 1
    })
}

fn parsed(manifest: &Value) -> Result<Manifest, ManifestError> {
    Manifest::parse(manifest.to_string().as_bytes())
}

#[test]
fn a_good_manifest_reads_and_names_its_secrets() {
    let manifest = parsed(&sample()).unwrap();
    assert_eq!(manifest.secret_fields(), ["key"]);
    let ended_by_a_compiler = format!("{}\n\0", sample());
    assert_eq!(
        Manifest::parse(ended_by_a_compiler.as_bytes()).unwrap(),
        manifest
    );
}

/// Each lie, in the place of what a good manifest says, is refused with these words.
fn assert_refused<const N: usize>(lies: [(&str, Value, &str); N]) {
    for (place, lie, refusal) in lies {
        let mut manifest = sample();
        *manifest.pointer_mut(place).unwrap() = lie;
        let error = parsed(&manifest).expect_err(place).to_string();
        assert!(error.contains(refusal), "{place}: {error}");
    }
}

#[test]
fn a_manifest_that_lies_about_what_it_is_is_refused_with_what_to_do() {
    assert_refused([
        ("/abi", json!(2), "is for ABI 2, and this engine has ABI 1"),
        (
            "/name",
            json!("../../etc/passwd"),
            "names the gateway `../../etc/passwd`",
        ),
        ("/name", json!("Acme"), "begins with a letter"),
        ("/name", json!(""), "names the gateway ``"),
        ("/version", json!("one"), "write three numbers"),
        ("/title", json!(" "), "needs a `title`"),
        (
            "/operations",
            json!(["query"]),
            "does not list that operation",
        ),
        (
            "/operations",
            json!(["collect", "payout", "query"]),
            "has no method for it",
        ),
        ("/operations", json!(["collect"]), "does not list `query`"),
        (
            "/operations",
            json!(["collect", "query", "steal"]),
            "does not read as a manifest",
        ),
        (
            "/operations",
            json!(["collect", "query", "callback"]),
            "needs both or none",
        ),
    ]);
}

#[test]
fn a_text_that_turns_the_text_behind_it_is_refused_wherever_it_is() {
    let method = |change: Value| {
        let mut method = sample()["methods"][0].clone();
        let (method_fields, change) = (method.as_object_mut(), change.as_object());
        method_fields.unwrap().extend(change.unwrap().clone());
        json!([method])
    };
    for turned in [
        "\u{202e}yaP",
        "Acme \u{2066}Pay",
        "\u{202a}Acme",
        "Acme\u{2069}",
    ] {
        let option = json!([{"value": "1", "label": {"en": turned}}]);
        for (place, text) in [
            ("title", json!(turned)),
            ("methods", method(json!({"wake": {"en": turned}}))),
            (
                "methods",
                method(json!({"fields": [{"name": "bank", "label": {"fr": turned}}]})),
            ),
            (
                "methods",
                method(json!({"fields": [{"name": "bank", "options": option}]})),
            ),
            ("description", json!(turned)),
        ] {
            let mut manifest = sample();
            manifest[place] = text;
            let error = parsed(&manifest).expect_err(place).to_string();
            assert!(error.contains("changes the direction"), "{place} {error}");
        }
        let option: FieldOption = serde_json::from_value(option[0].clone()).unwrap();
        assert!(check_options(&[option], "answer").is_err());
    }
    // Hebrew, Arabic, and the marks that scripts need.
    for text in [
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        "\u{627}\u{200f}!",
        "a\u{200e}",
    ] {
        let mut manifest = sample();
        manifest["title"] = json!(text);
        parsed(&manifest).unwrap();
    }
}

#[test]
fn a_manifest_that_lies_about_what_it_has_is_refused_with_what_to_do() {
    assert_refused([
        ("/methods", json!([]), "has no method for it"),
        (
            "/methods/0/code",
            json!("acme/xof"),
            "has the method code `acme/xof`",
        ),
        (
            "/methods/0/currency",
            json!("xof"),
            "three letters of ISO 4217",
        ),
        ("/methods/0/countries", json!([]), "two letters of ISO 3166"),
        ("/methods/0/min", json!("1e3"), "no decimal"),
        (
            "/hosts/live/0",
            json!("https://api.acme.example/"),
            "without scheme or path",
        ),
        (
            "/hosts/live/0",
            json!("user@acme.example"),
            "without scheme or path",
        ),
        (
            "/config/type",
            json!("array"),
            "no JSON Schema of type `object`",
        ),
        (
            "/config/properties/key/type",
            json!("array"),
            "not string, integer or boolean",
        ),
        ("/config/required/0", json!("pin"), "does not describe it"),
    ]);
    let mut twice = sample();
    let method = twice["methods"][0].clone();
    twice["methods"].as_array_mut().unwrap().push(method);
    assert!(parsed(&twice).unwrap_err().to_string().contains("twice"));
    let mut needy = sample();
    needy["needs"] = json!(["threads"]);
    assert!(
        parsed(&needy)
            .unwrap_err()
            .to_string()
            .contains("upgrade the engine")
    );
    assert!(Manifest::parse(b"\xff").is_err());
    assert!(Manifest::parse(b"").is_err());
}

#[test]
fn a_rule_for_the_reference_that_a_uuid_does_not_fit_is_refused() {
    let with = |rule: Value| {
        let mut manifest = sample();
        manifest["reference"] = rule;
        parsed(&manifest)
    };
    for rule in [
        json!({}),
        json!({ "format": "uuid" }),
        json!({ "max": 36 }),
        json!({ "format": "uuid", "max": 64 }),
    ] {
        with(rule.clone()).unwrap_or_else(|error| panic!("{rule}: {error}"));
    }
    for rule in [
        json!({ "max": 35 }),
        json!({ "format": "uuid", "max": 12 }),
        json!({ "format": "alphanumeric" }),
        json!({ "format": "alphanumeric", "max": 64 }),
        json!({ "format": "digits", "max": 40 }),
    ] {
        let error = with(rule.clone()).expect_err(&rule.to_string()).to_string();
        assert!(
            error.contains("a UUID of 36 characters") && error.contains("ask.reference.replace"),
            "{rule}: {error}"
        );
    }
}

/// `sample()` with more members in its only method.
fn with_method(members: Value) -> Value {
    let mut manifest = sample();
    let method = manifest["methods"][0].as_object_mut().unwrap();
    method.extend(members.as_object().unwrap().clone());
    manifest
}

#[test]
fn a_method_names_its_times_how_to_wake_the_prompt_and_what_to_choose_from() {
    let manifest = parsed(&with_method(json!({
        "attempt_ends_after_s": 600, "usual_s": 60,
        "wake": {"en": "Dial *880#", "fr": "Composez le *880#"},
        "fields": [{"name": "bank", "options": [
            {"value": "058", "label": {"en": "GTBank"}},
            {"value": "070", "label": {"en": "Fidelity", "fr": "Fidélité"}},
        ]}]
    })))
    .unwrap();
    let method = &manifest.methods[0];
    assert_eq!(method.attempt_ends_after_s, Some(600));
    assert_eq!(method.usual_s, Some(60));
    assert_eq!(method.wake["fr"], "Composez le *880#");
    let bank = &method.fields[0];
    assert_eq!(bank.options[0].label("fr"), "GTBank");
    assert_eq!(bank.options[1].label("fr"), "Fidélité");
    assert!(bank.offers("058") && !bank.offers("GTBank"));
    let plain = &parsed(&sample()).unwrap().methods[0];
    assert_eq!((plain.attempt_ends_after_s, plain.usual_s), (None, None));
    assert!(plain.wake.is_empty());
}

#[test]
fn times_and_options_that_make_no_sense_are_refused() {
    let options = |options: Value| json!({"fields": [{"name": "bank", "options": options}]});
    let one = |value: &str, label: Value| json!({"value": value, "label": label});
    let english = || json!({"en": "GTBank"});
    let many: Vec<_> = (0..201).map(|n| one(&n.to_string(), english())).collect();
    for (members, refusal) in [
        (
            json!({"attempt_ends_after_s": 0}),
            "outside of 1 to 2592000",
        ),
        (
            json!({"attempt_ends_after_s": 2_592_001}),
            "outside of 1 to 2592000",
        ),
        (
            json!({"attempt_ends_after_s": -1}),
            "does not read as a manifest",
        ),
        (json!({"usual_s": 0}), "outside of 1 to 86400"),
        (
            json!({"usual_s": 61, "attempt_ends_after_s": 60}),
            "longer than its",
        ),
        (
            json!({"wake": {"fr": "Composez"}}),
            "lacks English in `wake`",
        ),
        (json!({"wake": {"en": " "}}), "not 1 to 300 characters"),
        (json!({"wake": {"en": "Dial\n*880#"}}), "on one line"),
        (
            options(json!([one("", english())])),
            "a value is 1 to 100 characters",
        ),
        (
            options(json!([one("058", json!({}))])),
            "lacks the label of option `058`",
        ),
        (
            options(json!([one("058", json!({"fr": "GT"}))])),
            "lacks English in the label",
        ),
        (
            options(json!([one("058", english()), one("058", english())])),
            "twice in the field",
        ),
        (options(json!(many)), "more than 200 options"),
    ] {
        let error = parsed(&with_method(members.clone()))
            .expect_err("refused")
            .to_string();
        assert!(error.contains(refusal), "{members}: {error}");
    }
}

#[test]
fn a_source_of_options_needs_the_operation_that_answers_it() {
    let with = |field: Value, operation: bool| {
        let mut manifest = with_method(json!({ "fields": [field] }));
        if operation {
            let operations = manifest["operations"].as_array_mut().unwrap();
            operations.push(json!("options"));
        }
        parsed(&manifest)
    };
    let field = || json!({ "name": "bank", "options_from": "banks" });
    let manifest = with(field(), true).unwrap();
    let bank = &manifest.methods[0].fields[0];
    assert_eq!(bank.options_from.as_deref(), Some("banks"));
    let both = json!({
        "name": "bank", "options_from": "banks",
        "options": [{ "value": "058", "label": { "en": "GTBank" } }],
    });
    for (field, operation, refusal) in [
        (field(), false, "it needs both or none"),
        (json!({ "name": "bank" }), true, "it needs both or none"),
        (both, true, "leave one out"),
        (
            json!({ "name": "bank", "options_from": "All banks" }),
            true,
            "use a-z",
        ),
    ] {
        let error = with(field, operation).expect_err(refusal).to_string();
        assert!(error.contains(refusal), "{error}");
    }
}

#[test]
fn a_reason_for_successes_without_an_amount_is_a_sentence() {
    let with = |reason: Value| {
        let mut manifest = sample();
        manifest["capabilities"] = json!({ "success_without_amount": reason });
        parsed(&manifest)
    };
    let manifest = with(json!("The provider's callback names no amount.")).unwrap();
    assert!(manifest.capabilities.success_without_amount.is_some());
    for reason in ["", "  ", "two\nlines", &"x".repeat(201)] {
        let error = with(json!(reason)).expect_err("refused").to_string();
        assert!(
            error.contains("write why the provider cannot name"),
            "{error}"
        );
    }
    assert!(with(json!(true)).is_err());
}
