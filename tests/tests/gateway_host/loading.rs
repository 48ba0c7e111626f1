//! Accepted and refused gateways: each refusal has a sentence with a remedy, and the engine
//! continues.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchyard_gateway_host::{DirectLibrary, Operation, Refused};
use switchyard_tests::demo_gateway;
use switchyard_tests::gateways::cc;

use crate::fixture::{Fixture, collection};

#[tokio::test]
async fn a_gateway_is_inspected_copied_by_its_hash_and_loaded() {
    let fixture = Fixture::new();
    let seen = fixture.gateways.inspect(&demo_gateway()).unwrap();
    assert_eq!(seen.manifest.name, "switchyard_demo");
    assert_eq!(seen.sha256.len(), 64);
    assert!(fixture.gateways.list().is_empty(), "to look is not to load");

    let version = fixture.gateways.add(&demo_gateway()).await.unwrap();
    assert_eq!(version.sha256, seen.sha256);
    let kept = fixture.kept().join(format!("{}.so", seen.sha256));
    assert_eq!(fs::read(&kept).unwrap(), fs::read(demo_gateway()).unwrap());
    assert_eq!(
        fs::read_dir(fixture.kept()).unwrap().count(),
        1,
        "nothing half-written is left"
    );

    let again = fixture.gateways.add(&demo_gateway()).await.unwrap();
    assert!(
        std::sync::Arc::ptr_eq(&version, &again),
        "the same file is the same version"
    );
    assert_eq!(fixture.gateways.list().len(), 1);
}

#[tokio::test]
async fn another_file_of_the_same_name_takes_over_and_the_old_version_stays() {
    let fixture = Fixture::new();
    let file = |number: &str| {
        let number = number.to_owned();
        let folder = fixture.folder().join(&number);
        fs::create_dir_all(&folder).unwrap();
        craft(
            &folder,
            "crafted",
            |source| source,
            |manifest| manifest["version"] = json!(number),
        )
    };
    let old = fixture.gateways.add(&file("1.0.0")).await.unwrap();
    let new = fixture.gateways.add(&file("2.0.0")).await.unwrap();
    assert_ne!(old.sha256, new.sha256);
    assert_eq!(
        fixture
            .gateways
            .current("crafted")
            .unwrap()
            .manifest
            .version,
        "2.0.0"
    );
    let found = fixture.gateways.version("crafted", &old.sha256).unwrap();
    assert_eq!(found.manifest.version, "1.0.0");
    // The operator's files may go: the engine has its own.
    fs::remove_dir_all(fixture.folder().join("1.0.0")).unwrap();
    let call = fixture.call(
        &found,
        fixture.attempt(),
        Operation::Collect,
        json!({}),
        collection(""),
    );
    fixture.gateways.call(call).await;
    // Going back is the same swap.
    fixture
        .gateways
        .add(&fixture.kept().join(format!("{}.so", old.sha256)))
        .await
        .unwrap();
    assert_eq!(
        fixture
            .gateways
            .current("crafted")
            .unwrap()
            .manifest
            .version,
        "1.0.0"
    );
}

#[tokio::test]
async fn a_version_that_an_attempt_began_on_is_loaded_from_the_engines_own_copy() {
    let fixture = Fixture::new();
    let hash = fixture.gateways.inspect(&demo_gateway()).unwrap().sha256;
    assert!(fixture.gateways.version("switchyard_demo", &hash).is_none());
    fs::create_dir_all(fixture.kept()).unwrap();
    fs::copy(demo_gateway(), fixture.kept().join(format!("{hash}.so"))).unwrap();
    assert!(fixture.gateways.version("another", &hash).is_none());
    assert!(
        fixture
            .gateways
            .version("switchyard_demo", "../gateways")
            .is_none()
    );
    assert!(fixture.gateways.version("switchyard_demo", &hash).is_some());
    assert!(
        fixture.gateways.current("switchyard_demo").is_none(),
        "it is no choice for new attempts"
    );
}

#[tokio::test]
async fn a_file_that_is_no_whole_library_is_refused_with_what_to_do() {
    let fixture = Fixture::new();
    let demo = fs::read(demo_gateway()).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = fixture.folder().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut other_machine = demo.clone();
    other_machine[18] = 0x28; // e_machine: 32-bit ARM
    let cases = [
        (fixture.folder().join("none.so"), "check that it is a file"),
        (fixture.folder().to_owned(), "no regular file"),
        (write("empty.so", b""), "not a whole ELF file"),
        (
            write("script.so", b"#!/bin/sh\necho hello\n"),
            "build it again as a `cdylib`",
        ),
        (write("half.so", &demo[..demo.len() / 2]), "copy it again"),
        (
            write("all_but_the_end.so", &demo[..demo.len() - 64]),
            "copy it again",
        ),
        (write("header.so", &demo[..64]), "copy it again"),
        (
            write("other_machine.so", &other_machine),
            "build it on and for this kind of machine",
        ),
        (
            std::env::current_exe().unwrap(),
            "does not export `gateway_plugin_v1`",
        ),
    ];
    for (path, sentence) in cases {
        assert_refused(&fixture, &path, sentence).await;
    }
}

#[tokio::test]
async fn a_library_that_is_no_gateway_is_refused_before_anything_of_it_runs() {
    let fixture = Fixture::new();
    let cases = [
        (
            "no_symbol",
            "visibility(\"default\")",
            "used",
            "does not export `gateway_plugin_v1`",
        ),
        (
            "two_symbols",
            "static void end(",
            EXTRA,
            "exports `extra` besides",
        ),
        (
            "function",
            "const gw_plugin_v1 gateway_plugin_v1 =",
            FUNCTION,
            "not the structure",
        ),
        (
            "no_manifest",
            ".pushsection .gateway",
            ".pushsection .another",
            "has no section `.gateway`",
        ),
    ];
    for (name, from, to, sentence) in cases {
        let path = craft(
            fixture.folder(),
            name,
            |source| source.replace(from, to),
            |_| {},
        );
        fixture.gateways.inspect(&path).expect_err(name);
        assert_refused(&fixture, &path, sentence).await;
    }
    assert!(!fixture.kept().exists(), "nothing was copied");
}

#[tokio::test]
async fn what_only_loading_shows_is_refused_too_and_the_engine_goes_on() {
    let fixture = Fixture::new();
    let cases = [
        (
            "abi_2",
            ".abi_major = 1",
            ".abi_major = 2",
            "says ABI 2 when it is loaded",
        ),
        (
            "short",
            ".size = sizeof(gw_plugin_v1)",
            ".size = 16",
            "an entry table of 16 bytes",
        ),
        (
            "unresolved",
            "return 2;",
            "extern int not_there(void); return not_there();",
            "cannot be loaded",
        ),
    ];
    for (name, from, to, sentence) in cases {
        let path = craft(
            fixture.folder(),
            name,
            |source| source.replace(from, to),
            |_| {},
        );
        fixture.gateways.inspect(&path).expect(name);
        assert_refused(&fixture, &path, sentence).await;
    }
    assert!(fixture.gateways.list().is_empty());
    let good = craft(fixture.folder(), "good", |source| source, |_| {});
    fixture
        .gateways
        .add(&good)
        .await
        .expect("a good one is still taken on");
}

async fn assert_refused(fixture: &Fixture, path: &Path, sentence: &str) {
    let refused = fixture.gateways.add(path).await.expect_err(sentence);
    assert!(
        refused.to_string().contains(sentence),
        "{}: {refused}",
        path.display()
    );
}

#[tokio::test]
async fn a_manifest_that_lies_is_refused_before_anything_is_loaded() {
    let fixture = Fixture::new();
    type Lie = fn(&mut Value);
    let lies: [(&str, Lie, &str); 7] = [
        (
            "abi",
            |manifest| manifest["abi"] = json!(2),
            "build the gateway with",
        ),
        (
            "path",
            |manifest| manifest["name"] = json!("../../etc/passwd"),
            "a name is 1 to 40",
        ),
        (
            "operations",
            |manifest| manifest["operations"] = json!(["query"]),
            "add it to `operations`",
        ),
        (
            "methods",
            |manifest| manifest["methods"][0]["currency"] = json!("dollars"),
            "ISO 4217",
        ),
        (
            "short_reference",
            |manifest| manifest["reference"] = json!({ "max": 12 }),
            "leave `reference` out",
        ),
        (
            "digits",
            |manifest| manifest["reference"] = json!({ "format": "digits", "max": 40 }),
            "a UUID of 36 characters",
        ),
        (
            "no_json",
            |manifest| *manifest = json!("a text"),
            "correct gateway.json",
        ),
    ];
    for (name, lie, sentence) in lies {
        let path = craft(fixture.folder(), name, |source| source, lie);
        let refused = fixture.gateways.add(&path).await.expect_err(name);
        assert!(
            matches!(refused, Refused::Manifest { .. }),
            "{name}: {refused}"
        );
        assert!(refused.to_string().contains(sentence), "{name}: {refused}");
    }
    assert!(!fixture.kept().exists(), "nothing was copied");
}

#[tokio::test]
async fn a_method_that_no_transaction_can_have_is_refused_in_the_same_words_everywhere() {
    let fixture = Fixture::new();
    type Lie = fn(&mut Value);
    let lies: [(&str, Lie, &str); 2] = [
        (
            "unknown_code",
            |manifest| manifest["methods"][0]["code"] = json!("acme_usd"),
            "the payment method `acme_usd` is not in the directory of methods",
        ),
        (
            "other_currency",
            |manifest| manifest["methods"][0]["currency"] = json!("EUR"),
            "EUR in the manifest and USD in the directory of methods",
        ),
    ];
    for (name, lie, sentence) in lies {
        let path = craft(fixture.folder(), name, |source| source, lie);
        let added = fixture.gateways.add(&path).await.expect_err(name);
        assert!(added.to_string().contains(sentence), "{name}: {added}");
        let inspected = fixture.gateways.inspect(&path).expect_err(name);
        assert_eq!(inspected.to_string(), added.to_string());
        let checked = DirectLibrary::inspect(&path).expect_err(name);
        assert_eq!(checked.to_string(), added.to_string());
    }
    assert!(!fixture.kept().exists(), "nothing was copied");
}

/// A small gateway in C that refuses every call; `change` rewrites its source, `lie` its manifest.
pub fn craft(
    folder: &Path,
    name: &str,
    change: impl FnOnce(String) -> String,
    lie: impl FnOnce(&mut Value),
) -> PathBuf {
    let folder = folder.join(format!("{name}.d"));
    fs::create_dir_all(&folder).unwrap();
    let mut manifest = json!({
        "name": "crafted", "version": "1.0.0", "abi": 1, "title": "Crafted", "operations": ["collect", "query"],
        "methods": [{"code": "card_usd", "direction": "collect", "currency": "USD", "countries": ["US"]}]
    });
    lie(&mut manifest);
    fs::write(folder.join("gateway.json"), manifest.to_string()).unwrap();
    let source = folder.join("gateway.c");
    fs::write(&source, change(SOURCE.to_owned())).unwrap();
    cc(&source, &folder, name, &["-Wno-unused"]).unwrap()
}

const EXTRA: &str =
    "__attribute__((visibility(\"default\"))) void extra(void) {}\nstatic void end(";
const FUNCTION: &str = "int gateway_plugin_v1(void) { return 1; }\nconst gw_plugin_v1 unused =";
const SOURCE: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef struct { const uint8_t *ptr; size_t len; } gw_bytes;
typedef struct { void *ctx; void (*put)(void *ctx, gw_bytes part); } gw_sink;
typedef struct {
  uint32_t abi_major;
  uint32_t size;
  int32_t (*begin)(gw_bytes message, gw_sink answer, void **call);
  int32_t (*resume)(void *call, gw_bytes message, gw_sink answer);
  void (*end)(void *call);
} gw_plugin_v1;
__asm__(".pushsection .gateway,\"a\"\n.incbin \"gateway.json\"\n.popsection");
static int dummy;
static const uint8_t zeros[65536];
static void say(gw_sink answer, const char *text) {
  gw_bytes part = { (const uint8_t *)text, strlen(text) };
  answer.put(answer.ctx, part);
}
static void put_zeros(gw_sink answer) {
  gw_bytes part = { zeros, sizeof zeros };
  answer.put(answer.ctx, part);
}
static int32_t fail(gw_sink answer) {
  say(answer, "{\"fault\":{\"kind\":\"provider\",\"message\":\"crafted\"}}");
  return 2;
}
static int32_t begin(gw_bytes message, gw_sink answer, void **call) {
  (void)message;
  *call = NULL;
  return fail(answer);
}
static int32_t resume(void *call, gw_bytes message, gw_sink answer) {
  (void)call;
  (void)message;
  return fail(answer);
}
static void end(void *call) { (void)call; }
__attribute__((visibility("default"))) const gw_plugin_v1 gateway_plugin_v1 = {
  .abi_major = 1, .size = sizeof(gw_plugin_v1), .begin = begin, .resume = resume, .end = end,
};
"#;
