//! The check, run on the gateways of this repository: the honest ones pass, and the misbehaving one
//! is found out, rule by rule.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use switchyard_gateway_check::{Report, Samples, Verdict, check};
use switchyard_gateway_host::WorkerSettings;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A gateway of this workspace, built where this test was built. `cargo xtask test` has built the
/// whole workspace before.
fn built(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap().to_owned();
        if std::env::var_os("SWITCHYARD_STAGED").is_some() {
            return folder;
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--target-dir"]);
        cargo.arg(folder.parent().unwrap()).current_dir(root());
        for gateway in [
            "demo",
            "pawapay",
            "flutterwave",
            "stripe",
            "crypto-evm",
            "misbehaving",
        ] {
            cargo.args(["--package", &format!("gateway-{gateway}")]);
        }
        assert!(cargo.status().unwrap().success(), "the gateways build");
        folder
    });
    folder.join(format!("libgateway_{name}.so"))
}

async fn report(library: &Path, samples: &Samples) -> Report {
    let settings = WorkerSettings {
        program: env!("CARGO_BIN_EXE_switchyard-gateway-check").into(),
        ..WorkerSettings::default()
    };
    check(library, samples, &settings, &mut |_| ()).await
}

/// With the author's samples, which are found from the library.
async fn passes(library: &Path) -> Report {
    let report = report(library, &Samples::beside(library).unwrap()).await;
    assert!(report.is_good(), "{report}");
    let is_skipped = |row: &&switchyard_gateway_check::Row| row.verdict == Verdict::NotChecked;
    let skipped = report.rows.iter().filter(is_skipped);
    // Checks that do not apply to a gateway without requests; all others have their samples.
    for row in skipped {
        assert!(
            row.check.contains("echoed"),
            "{} {}: {}",
            row.part,
            row.check,
            row.says
        );
    }
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn the_honest_gateways_pass_in_everything() {
    passes(&built("demo")).await;
    let pawapay = passes(&built("pawapay")).await;
    assert!(pawapay.rows.len() > 80, "{pawapay}");
    for name in ["flutterwave", "stripe", "crypto_evm"] {
        passes(&built(name)).await;
    }
}

fn c_library(folder: &Path, change: impl Fn(String) -> String) -> PathBuf {
    let source = root().join("examples/gateway-c");
    for file in ["gateway.json", "check.json"] {
        std::fs::copy(source.join(file), folder.join(file)).unwrap();
    }
    let text = change(std::fs::read_to_string(source.join("gateway.c")).unwrap());
    std::fs::write(folder.join("gateway.c"), text).unwrap();
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-O2",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-o",
        "libgateway_c.so",
        "gateway.c",
    ]);
    assert!(
        cc.current_dir(folder).status().unwrap().success(),
        "cc is needed"
    );
    folder.join("libgateway_c.so")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_without_the_sdk_is_held_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let report = report(
        &c_library(folder.path(), |text| text),
        &Samples::beside(&folder.path().join("libgateway_c.so")).unwrap(),
    )
    .await;
    // It is an example of the surface, and says nothing of money that its provider named: the word
    // "paid" has no amount.
    let failed: Vec<_> = report
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Failed)
        .collect();
    assert!(
        !failed.is_empty() && failed.iter().all(|row| row.check.ends_with("echoed")),
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_library_takes_from_others_is_found_without_running_it() {
    let folder = tempfile::tempdir().unwrap();
    for (code, rule) in [
        (
            "extern int socket(int, int, int); return socket(1, 1, 0);",
            "no network",
        ),
        ("extern int fork(void); return fork();", "no processes"),
        ("extern long time(long *); return (int)time(0);", "no clock"),
        ("return rand();", "no chance"),
        (
            "extern int pthread_create(); return pthread_create(0, 0, 0, 0);",
            "no threads",
        ),
        ("return fopen(\"/etc/passwd\", \"r\") != 0;", "no files"),
    ] {
        let extra = format!(
            "__attribute__((used)) static int extra(void) {{ {code} }}\nstatic void end(void *call)"
        );
        let library = c_library(folder.path(), |text| {
            text.replace("static void end(void *call)", &extra)
        });
        let report = report(&library, &Samples::default()).await;
        let row = report.find("static", rule).unwrap();
        assert_eq!(row.verdict, Verdict::Failed, "{rule}: {report}");
        assert!(
            row.says.contains("cx.") || row.says.contains("a gateway"),
            "{}",
            row.says
        );
    }
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    assert!(!report(&text, &Samples::default()).await.is_good());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_our_reference_and_a_secret_in_a_fault_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let forgets = c_library(folder.path(), |text| {
        text.replace(
            "url, mine->reference, collects ? \"true\"",
            "url, \"1\", collects ? \"true\"",
        )
    });
    let report = report(&forgets, &Samples::default()).await;
    let row = report.find("collect", "reference in writes").unwrap();
    assert_eq!(row.verdict, Verdict::Failed, "{report}");
}

/// Instruction in the description, row of the operation that must fail, word of its sentence.
const HARM: &[(&str, &str, &str)] = &[
    ("", "502 with HTML", "succeeded"),
    ("", "200 that is not JSON", "succeeded"),
    ("", "200 cut short", "succeeded"),
    ("", "200 with nothing", "succeeded"),
    ("", "401", "succeeded"),
    ("", "429 with Retry-After", "succeeded"),
    ("panic", "good answer", "panics"),
    ("stall", "good answer", "stalls"),
    ("effects", "good answer", "16 effects"),
    ("elsewhere", "listed hosts only", "elsewhere.example"),
    ("talk", "no secret shown", "the fault"),
    ("other currency", "amount comes back", "does not name"),
    ("harm: abort", "good answer", "took its process down"),
    ("harm: null", "good answer", "took its process down"),
    ("harm: loop", "good answer", "took its process down"),
    ("never, then abort", "good answer", "took its process down"),
    ("habit: count", "same call twice", "other requests"),
    (
        "habit: submit again",
        "reference in writes",
        "lacks our reference",
    ),
    (
        "habit: submit under more",
        "one reference a call",
        "under another reference",
    ),
    ("habit: remember", "two calls at once", "shows in the other"),
    ("habit: mind", "cancelled anywhere", "do nothing in `Drop`"),
];

/// `(what its callback tells it to do, the row that must fail, a word of the sentence)`
const BELIEFS: &[(&str, &str, &str)] = &[
    // It looks for its key in a header, and at nothing of the body.
    ("", "bad signature", "is trusted"),
    ("believe", "no signature", "is trusted"),
    ("count", "replayed callback", "another result"),
    ("panic", "good callback", "panics"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_is_forged_or_sent_twice_and_counts_is_found() {
    let library = built("misbehaving");
    for (does, rule, word) in BELIEFS {
        let body =
            json!({ "reference": "{reference}", "status": "succeeded", "minor": 1, "do": does });
        let samples: Value = json!({
            "config": { "url": "https://127.0.0.1", "key": "the-key-of-the-check" },
            "callback": {
                "good": { "headers": [["x-key", "the-key-of-the-check"]], "body": body },
            },
        });
        let samples: Samples = serde_json::from_value(samples).unwrap();
        let report = report(&library, &samples).await;
        let row = report.find("callback", rule).unwrap();
        assert_eq!(row.verdict, Verdict::Failed, "{does} {rule}: {report}");
        assert!(row.says.contains(word), "{does} {rule}: {}", row.says);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_harm_of_the_misbehaving_gateway_has_its_finding() {
    let library = built("misbehaving");
    for (description, rule, word) in HARM {
        let charged =
            json!([{ "on": "POST /charges", "body": {} }, { "on": "GET /charges", "body": {} }]);
        let samples: Value = json!({
            "config": { "url": "https://127.0.0.1", "key": "the-key-of-the-check" },
            "collect": { "description": description, "good": charged },
        });
        let samples: Samples = serde_json::from_value(samples).unwrap();
        let report = report(&library, &samples).await;
        let row = report
            .find("collect", rule)
            .unwrap_or_else(|| panic!("no {rule}: {report}"));
        assert_eq!(
            row.verdict,
            Verdict::Failed,
            "{description} {rule}: {report}"
        );
        assert!(
            row.says.contains(word),
            "{description} {rule}: {}",
            row.says
        );
        // A gateway that breaks each rule: its check of the credentials sends a request that could
        // move money, and it sleeps on a clock of its own.
        for (part, rule) in [
            ("check_config", "moves no money"),
            ("check_config", "502 with HTML"),
            ("static", "no clock"),
        ] {
            assert_eq!(
                report.find(part, rule).unwrap().verdict,
                Verdict::Failed,
                "{report}"
            );
        }
    }
}

/// Too short to count as a secret: its gateway names it in faults.
const HONEST: &str = "fair";

/// `(the provider's pages, the key of the gateway, the row that must fail, a word of the sentence)`
fn lists() -> Vec<(Value, &'static str, &'static str, &'static str)> {
    let one =
        |id: &str, at: &str| json!({ "provider_id": id, "created_at": at, "state": "failed" });
    let at = "2026-11-20T09:30:00Z";
    let page = |rows: Value, next: Option<&str>| json!({ "transactions": rows, "next": next });
    let good = || {
        json!([
            page(json!([one("1", at)]), Some("2")),
            page(json!([one("2", at)]), None)
        ])
    };
    let first = |page: Value| json!([page]);
    let answer = "payments: good answer";
    vec![
        (
            first(page(json!([one("", at)]), None)),
            "",
            answer,
            "neither a reference",
        ),
        (
            first(page(json!([one("1", "2026-11-20T10:00:00Z")]), None)),
            "",
            answer,
            "outside of the span",
        ),
        (
            first(page(json!([one("1", at)]), Some("1"))),
            "",
            answer,
            "names itself as the next one",
        ),
        (first(page(json!([]), None)), "", answer, "lists nothing"),
        (
            first(json!({ "transactions": "none" })),
            "",
            answer,
            "fault",
        ),
        (
            good(),
            "invents",
            "payments: 502 with HTML",
            "returns a list",
        ),
        (good(), "invents", "payouts: 401", "returns a list"),
        (good(), "writes", "moves no money", "could move money"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_breaks_the_contract_is_found_and_an_honest_one_passes() {
    let library = built("misbehaving");
    let listed = async |pages: &Value, key: &str| {
        let pages = pages.as_array().unwrap().iter();
        let answers = pages.map(|page| json!({ "on": "POST /list", "body": page }));
        let config = json!({ "url": "https://127.0.0.1", "key": key });
        let list = json!({ "good": answers.collect::<Vec<_>>() });
        let samples = json!({ "config": config, "list": list });
        report(&library, &serde_json::from_value(samples).unwrap()).await
    };
    for (pages, key, rule, word) in lists() {
        let key = if key.is_empty() { HONEST } else { key };
        let report = listed(&pages, key).await;
        let row = report.find("list", rule);
        let row = row.unwrap_or_else(|| panic!("no {rule}: {report}"));
        assert_eq!(row.verdict, Verdict::Failed, "{rule}: {report}");
        assert!(row.says.contains(word), "{rule}: {}", row.says);
    }
    let (pages, ..) = lists().remove(5);
    let report = listed(&pages, HONEST).await;
    let rows = report.rows.iter().filter(|row| row.part == "list");
    for row in rows.clone() {
        assert_eq!(row.verdict, Verdict::Passed, "{}: {}", row.check, row.says);
    }
    assert!(rows.count() > 25, "{report}");
    let report = listed(&json!([pages[1]]), HONEST).await;
    let row = report.find("list", "payments: several pages").unwrap();
    assert_eq!(row.verdict, Verdict::NotChecked, "{report}");
}
