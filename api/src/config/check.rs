//! Which settings are refused: those that cannot work, and those that would quietly give up safety.
//! Every refusal is a sentence that names the setting, and says what to do. All of them are found
//! at once.

use std::collections::BTreeSet;
use std::time::Duration;

use base16ct::lower::encode_string;
use sha2::{Digest as _, Sha256};
use switchyard_core::directory::country;
use switchyard_engine::access::SettingsToken;
use switchyard_gateway_host::WALLS;
use switchyard_store::is_inside;

use super::check_network;
use super::check_openid;
use super::problem::{Fault, Faults};
use super::settings::{Settings, StoreBackend};
use super::units::DurationSetting;

/// Returns the faults of these settings, each with its setting.
pub fn check(settings: &Settings) -> Vec<Fault> {
    let mut refusals = Faults::default();
    service(settings, &mut refusals);
    gateways(settings, &mut refusals);
    check_network::server(settings, &mut refusals);
    check_network::console(settings, &mut refusals);
    check_openid::openid(settings, &mut refusals);
    check_network::proxies(settings, &mut refusals);
    storage(settings, &mut refusals);
    times(settings, &mut refusals);
    countries(settings, &mut refusals);
    check_network::webhooks(settings, &mut refusals);
    check_network::mail(settings, &mut refusals);
    check_network::exchange(settings, &mut refusals);
    if let Err(problem) = settings.limits.for_engine() {
        refusals.push(
            "limits.payout_amount_per_day",
            format!("limits.payout_amount_per_day {problem}"),
        );
    }
    check_network::observation(settings, &mut refusals);
    check_network::telemetry(settings, &mut refusals);
    rate_limit(settings, &mut refusals);
    warnings(settings, &mut refusals);
    refusals.0
}

/// Warns of settings that work and are seldom intended in production.
fn warnings(settings: &Settings, faults: &mut Faults) {
    let server = &settings.server;
    if settings.development {
        return;
    }
    let is_behind_proxy = server.listen.ip().is_loopback();
    if is_behind_proxy && server.trusted_proxies.is_empty() {
        faults.warn(
            "server.trusted_proxies",
            format!(
                "server.trusted_proxies is empty and server.listen is {}, a loopback address: the \
                 limits by client address count all clients behind a proxy as one; name the \
                 proxy's address",
                server.listen
            ),
        );
    }
    if !settings.gateways.accept_missing_walls.is_empty() {
        faults.warn(
            "gateways.accept_missing_walls",
            format!(
                "gateways.accept_missing_walls accepts gateways without {}: run the server where \
                 the kernel offers these restrictions, and empty the list",
                settings.gateways.accept_missing_walls.join(", ")
            ),
        );
    }
}

fn rate_limit(settings: &Settings, refusals: &mut Faults) {
    let limit = &settings.rate_limit;
    // The moments of a minute's requests are kept for each key: 8 bytes each.
    for (name, value) in [
        ("per_minute", limit.per_minute),
        ("public_key_per_minute", limit.public_key_per_minute),
        ("without_key_per_minute", limit.without_key_per_minute),
    ] {
        if value > MAX_PER_MINUTE {
            refusals.push(
                format!("rate_limit.{name}"),
                format!("rate_limit.{name} is {value}: it has to be at most {MAX_PER_MINUTE}"),
            );
        }
    }
    if limit.public_key_per_minute < limit.per_minute.max(1) {
        refusals.push("rate_limit.public_key_per_minute",
            "rate_limit.public_key_per_minute is the limit for all client addresses together: it cannot be lower than \
             rate_limit.per_minute, which is the limit for one of them"
                .to_owned(),
        );
    }
}

/// A hundred times what one connection to the server can do, and 8 MB for a key.
const MAX_PER_MINUTE: u32 = 1_000_000;

fn service(settings: &Settings, refusals: &mut Faults) {
    let code = &settings.service.code;
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if code.is_empty() || code.len() > 20 || !code.chars().all(lower) {
        refusals.push("service.code", format!(
            "service.code is `{code}`: it has to be 1 to 20 lower-case letters and digits, since every key begins with it"
        ));
    }
    let name = &settings.service.name;
    if name.trim().is_empty() || name.chars().count() > 60 || name.chars().any(char::is_control) {
        refusals.push(
            "service.name",
            "service.name has to be a text of 1 to 60 characters on one line".to_owned(),
        );
    }
    tokens(settings, refusals);
}

fn tokens(settings: &Settings, refusals: &mut Faults) {
    let mut names = BTreeSet::new();
    let of_operators = settings.operator.tokens.iter().enumerate();
    let of_metrics = settings.metrics.tokens.iter().enumerate();
    let of_operators = of_operators.map(|text| ("operator.tokens", text));
    let all = of_operators.chain(of_metrics.map(|text| ("metrics.tokens", text)));
    let mut hashes = BTreeSet::new();
    for (setting, (index, text)) in all {
        let place = || format!("{setting}[{index}]");
        let Some(token) = SettingsToken::parse(text) else {
            refusals.push(
                place(),
                format!(
                    "{setting} holds something other than a name, `:sha256:` and 64 hexadecimal \
                 characters: `switchyard operator-token --name ada` makes a token and prints the \
                 entry for this setting"
                ),
            );
            continue;
        };
        let hash = token.hash.to_string();
        if weak_tokens().any(|weak| hash == weak) {
            refusals.push(
                place(),
                format!(
                    "{setting} holds the hash of a word that anybody would try: `switchyard \
                 operator-token` makes a token that nobody can guess"
                ),
            );
        }
        if !hashes.insert(hash) {
            refusals.push(place(), format!(
                "{setting} has the token `{}` a second time: each entry needs a token of its own",
                token.name
            ));
        }
        let name = token.name.to_lowercase();
        if name == "engine" || !names.insert(name) {
            refusals.push(
                place(),
                format!(
                    "{setting} names `{}` twice, or as the engine is named: each token needs a \
                 name of its own, which the audit log shows",
                    token.name
                ),
            );
        }
    }
}

/// Hashes of what people write when they are in a hurry, by `sha256sum` from a file or from `echo`.
fn weak_tokens() -> impl Iterator<Item = String> {
    WEAK.iter()
        .flat_map(|word| [(*word).to_owned(), format!("{word}\n")])
        .map(|word| encode_string(&Sha256::digest(word.as_bytes())))
}

fn gateways(settings: &Settings, refusals: &mut Faults) {
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let pinned = settings.gateways.pinned.iter().enumerate();
    for (index, text) in pinned.filter(|(_, text)| !is_hash(text)) {
        refusals.push(format!("gateways.pinned[{index}]"), format!(
            "gateways.pinned holds `{text}`: each has to be the SHA-256 of a gateway's file, 64 hexadecimal characters as \
             `sha256sum` prints them"
        ));
    }
    let walls = settings.gateways.accept_missing_walls.iter().enumerate();
    for (index, name) in walls.filter(|(_, name)| !WALLS.contains(&name.as_str())) {
        refusals.push(
            format!("gateways.accept_missing_walls[{index}]"),
            format!(
                "gateways.accept_missing_walls names `{name}`: use {}",
                WALLS.join(", ")
            ),
        );
    }
}

fn storage(settings: &Settings, refusals: &mut Faults) {
    if settings.store.backend == StoreBackend::Memory && !settings.development {
        refusals.push("store.backend",
            "store.backend is `memory`: every payment would be forgotten when the server stops, so choose `sqlite` (memory is for \
             development mode)"
                .to_owned(),
        );
    }
    if settings.store.cache.0 < MIN_CACHE {
        refusals.push(
            "store.cache",
            format!(
                "store.cache is {}: it has to be at least 8MiB",
                settings.store.cache
            ),
        );
    }
    let (reserve, public) = (settings.store.reserve, settings.store.public_key_reserve);
    if public < reserve {
        refusals.push(
            "store.public_key_reserve",
            format!(
                "store.public_key_reserve is {public}, less than store.reserve ({reserve}): with a \
             public key, everybody could use up the disk until requests with secret keys are \
             refused, so set it to {reserve} or more"
            ),
        );
    }
    if settings.sandbox.retention_days == 0 {
        refusals.push("sandbox.retention_days",
            "sandbox.retention_days is 0: sandbox payments would be deleted as soon as they are made, so set it to 1 or more (90 by \
             default)"
                .to_owned(),
        );
    }
    backups(settings, refusals);
    let store = settings.store_path();
    if !settings.development && settings.gateways.dir.starts_with(&store) {
        refusals.push("gateways.dir",
            "gateways.dir is inside the store's folder: the store may delete what it does not know, so choose another".to_owned(),
        );
    }
    if settings.secrets.master_key.is_some() && settings.secrets.master_key_file.is_some() {
        refusals.push(
            "secrets.master_key",
            "secrets.master_key and secrets.master_key_file are both set: keep one of them"
                .to_owned(),
        );
    }
}

fn countries(settings: &Settings, refusals: &mut Faults) {
    let excluded = settings.payment.excluded_countries.iter().enumerate();
    for (index, code) in excluded.filter(|(_, code)| country(code).is_none()) {
        refusals.push(format!("payment.excluded_countries[{index}]"), format!(
            "payment.excluded_countries holds `{code}`: each has to be a country's two capital letters (ISO 3166-1), such as BJ"
        ));
    }
}

fn backups(settings: &Settings, refusals: &mut Faults) {
    let store = &settings.store;
    for (name, to) in [
        ("store.backup_to", &store.backup_to),
        ("store.copy_to", &store.copy_to),
    ] {
        let Some(to) = to else {
            continue;
        };
        if to.as_os_str().is_empty() {
            refusals.push(
                name,
                format!("{name} is empty: name a folder, or leave it out"),
            );
            continue;
        }
        if store.backend != StoreBackend::Sqlite {
            refusals.push(name, format!(
                "{name} needs store.backend `sqlite`: no other backend can be backed up while the \
                 server runs. Leave it out, and run `switchyard store backup` while the server is \
                 stopped"
            ));
        }
        if is_inside(to, &settings.store_path()) {
            refusals.push(
                name,
                format!("{name} is inside the store's folder: choose one on another disk"),
            );
        }
    }
    if store.backup_to.is_some() && store.backup_keep == 0 {
        refusals.push(
            "store.backup_keep",
            "store.backup_keep is 0: it has to be 1 or more".to_owned(),
        );
    }
}

fn times(settings: &Settings, refusals: &mut Faults) {
    let mut within = |name: &str, value: DurationSetting, least: u64, most: u64| {
        let (least, most) = (
            DurationSetting(Duration::from_secs(least)),
            DurationSetting(Duration::from_secs(most)),
        );
        if value < least || value > most {
            refusals.push(
                name,
                format!("{name} is {value}: it has to be from {least} to {most}"),
            );
        }
    };
    // Shorter than a minute is for watching a payment expire, not for people who pay.
    let least = if settings.development { 1 } else { 60 };
    within(
        "payment.expires_after",
        settings.payment.expires_after,
        least,
        30 * DAY,
    );
    within("actors.idle_after", settings.actors.idle_after, 1, DAY);
    within(
        "server.request_timeout",
        settings.server.request_timeout,
        10,
        10 * 60,
    );
    within(
        "server.shutdown_delay",
        settings.server.shutdown_delay,
        0,
        10 * 60,
    );
    within(
        "server.shutdown_timeout",
        settings.server.shutdown_timeout,
        1,
        10 * 60,
    );
    within(
        "store.backup_every",
        settings.store.backup_every,
        60,
        30 * DAY,
    );
    // A round and its flush come on top: together at most ten seconds are lost.
    within("store.copy_every", settings.store.copy_every, 1, 5);
    within(
        "store.check_every",
        settings.store.check_every,
        60 * 60,
        30 * DAY,
    );
    within("webhook.retry_after", settings.webhook.retry_after, 1, DAY);
}

const DAY: u64 = 24 * 60 * 60;
/// The first words of every list of passwords.
const WEAK: [&str; 10] = [
    "",
    "admin",
    "changeme",
    "operator",
    "password",
    "root",
    "secret",
    "switchyard",
    "test",
    "token",
];
/// Below it a store reads nearly every row from disk.
const MIN_CACHE: u64 = 8 << 20;

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
