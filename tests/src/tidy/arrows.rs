//! Who may know whom: crates by their manifests, rooms of the engine by what they name.

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
        "plugins/sdk/",
        &["switchyard", "switchyard-engine"],
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
const COMPUTES: &[&str] = &[
    "switchyard",
    "switchyard-engine",
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

const WORLD: &[&str] = &[
    "tokio",
    "actix",
    "reqwest",
    "async ",
    ".await",
    "std::fs",
    "std::net",
    "std::thread",
    "crate::store",
    "crate::processing",
    "crate::queue",
    "crate::runtime",
    "crate::gateway",
    "crate::webhook",
    "crate::mail",
];

/// `(room, names it may not use)`: routing → transaction → money, and no way up or out.
const ROOM_ARROWS: &[(&str, &[&str])] = &[
    (
        "engine/src/money",
        &["crate::transaction", "crate::routing", "crate::access"],
    ),
    ("engine/src/transaction", &["crate::routing"]),
    ("engine/src/routing", &[]),
];

pub(super) fn room_arrows(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for (room, above) in ROOM_ARROWS {
        let is_inside = source.path.starts_with(room) && source.has_extension(&["rs"]);
        for (at, line) in source.code.lines().enumerate().filter(|_| is_inside) {
            for name in above
                .iter()
                .chain(WORLD)
                .filter(|name| has_word(line, name))
            {
                let says = format!(
                    "`{room}` is pure and below it: it may not use `{}`",
                    name.trim()
                );
                found.push(finding(source, at + 1, says));
            }
        }
    }
    found
}
