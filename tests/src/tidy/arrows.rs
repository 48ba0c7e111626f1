//! Dependencies between crates, by their manifests, and purity of the core.

use super::rules::{finding, has_word};
use super::{Finding, Source};

/// `(crates under, may not depend on, because)`
const CRATE_ARROWS: &[(&str, &[&str], &str)] = &[
    (
        "engine/",
        &["axum", "tower-http", "switchyard"],
        "the engine has no HTTP server in it: that is `api`",
    ),
    (
        "engine/core/",
        IO,
        "the core is pure: time, chance and results of I/O are arguments",
    ),
    (
        "engine/system/",
        ABOVE_SYSTEM,
        "it is below the store, the gateways and the engine",
    ),
    (
        "engine/store/",
        ABOVE_STORE,
        "it is below records, gateways and the engine",
    ),
    (
        "engine/records/",
        &["switchyard-gateway-host", "switchyard-engine"],
        "it is below gateways and the engine",
    ),
    (
        "engine/users/",
        ABOVE_USERS,
        "it is above the store alone: the engine and the API pass in what it needs",
    ),
    (
        "engine/gateway/",
        &["switchyard-engine"],
        "it is below the engine",
    ),
    (
        "plugins/sdk/",
        OURS,
        "authors depend on the SDK alone: it knows nothing of ours",
    ),
    (
        "plugins/",
        COMPUTES,
        "a gateway computes: the engine sends its requests, keeps its time and its state",
    ),
    (
        "api/",
        &["switchyard-gateway", "rusqlite", "sled"],
        "the API goes through the engine",
    ),
];
const IO: &[&str] = &[
    "actix",
    "libc",
    "rand",
    "reqwest",
    "rusqlite",
    "sled",
    "switchyard-engine",
    "switchyard-gateway-host",
    "switchyard-records",
    "switchyard-store",
    "switchyard-system",
    "switchyard-users",
    "tokio",
];
const ABOVE_SYSTEM: &[&str] = &[
    "switchyard-engine",
    "switchyard-gateway-host",
    "switchyard-records",
    "switchyard-store",
    "switchyard-users",
];
const ABOVE_STORE: &[&str] = &[
    "switchyard-engine",
    "switchyard-gateway-host",
    "switchyard-records",
    "switchyard-users",
];
const ABOVE_USERS: &[&str] = &[
    "switchyard-engine",
    "switchyard-gateway-host",
    "switchyard-records",
];
const OURS: &[&str] = &[
    "switchyard",
    "switchyard-core",
    "switchyard-engine",
    "switchyard-gateway-host",
    "switchyard-records",
    "switchyard-store",
    "switchyard-system",
    "switchyard-users",
];
const COMPUTES: &[&str] = &[
    "switchyard",
    "switchyard-core",
    "switchyard-engine",
    "switchyard-gateway-host",
    "switchyard-records",
    "switchyard-store",
    "switchyard-system",
    "switchyard-users",
    "tokio",
    "reqwest",
    "hyper",
    "axum",
    "actix",
    "rand",
    "ureq",
    "switchyard-testkit",
];
/// For authors and tests: they play the provider and the engine.
const PLAYERS: [&str; 2] = ["plugins/testkit/", "plugins/check/"];

pub(super) fn crate_arrows(source: &Source) -> Vec<Finding> {
    let plays = PLAYERS.iter().any(|path| source.path.starts_with(path));
    if plays || !source.path.ends_with("Cargo.toml") {
        return Vec::new();
    }
    let mut section = "";
    let mut found = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        for (under, never, because) in CRATE_ARROWS {
            if section == "dependencies" && source.path.starts_with(under) && never.contains(&name)
            {
                found.push(finding(
                    source,
                    at + 1,
                    format!("may not depend on `{name}`: {because}"),
                ));
            }
        }
    }
    found
}

/// Names that no file of the pure core may use. Its manifest excludes the crates of I/O.
const IMPURE: &[&str] = &[
    "async ",
    ".await",
    "std::env",
    "std::fs",
    "std::process",
    "std::thread",
];
const CORE: &str = "engine/core/src";

pub(super) fn impure_core(source: &Source) -> Vec<Finding> {
    let is_core = source.path.starts_with(CORE) && source.has_extension(&["rs"]);
    let lines = source.code.lines().enumerate().filter(|_| is_core);
    lines
        .flat_map(|(at, line)| {
            let names = IMPURE.iter().filter(move |name| has_word(line, name));
            names.map(move |name| (at, name.trim()))
        })
        .map(|(at, name)| {
            let says = format!("`{CORE}` is pure: it may not use `{name}`");
            finding(source, at + 1, says)
        })
        .collect()
}
