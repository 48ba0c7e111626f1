//! Which settings are refused: those that cannot work, and those that would quietly give up safety. Every refusal is a sentence that
//! names the setting, and says what to do. All of them are found at once.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::HeaderName;
use sha2::{Digest as _, Sha256};
use switchyard_engine::access::SettingsToken;
use switchyard_engine::directory::country;
use switchyard_engine::store::is_inside;
use tracing_subscriber::EnvFilter;
use url::Url;

use super::proxy::TrustedProxies;
use super::settings::{Settings, StoreBackend};
use super::units::DurationSetting;

/// Returns the faults of these settings, a sentence each.
pub fn check(settings: &Settings) -> Vec<String> {
    let mut refusals = Vec::new();
    service(settings, &mut refusals);
    gateways(settings, &mut refusals);
    server(settings, &mut refusals);
    proxies(settings, &mut refusals);
    storage(settings, &mut refusals);
    times(settings, &mut refusals);
    countries(settings, &mut refusals);
    webhooks(settings, &mut refusals);
    mail(settings, &mut refusals);
    exchange(settings, &mut refusals);
    if let Err(problem) = settings.limits.for_engine() {
        refusals.push(format!("limits.payout_amount_per_day {problem}"));
    }
    observation(settings, &mut refusals);
    rate_limit(settings, &mut refusals);
    refusals
}

type Refusals = Vec<String>;

fn rate_limit(settings: &Settings, refusals: &mut Refusals) {
    let limit = &settings.rate_limit;
    // The moments of a minute's requests are kept for each key: 8 bytes each.
    for (name, value) in [
        ("per_minute", limit.per_minute),
        ("public_key_per_minute", limit.public_key_per_minute),
        ("without_key_per_minute", limit.without_key_per_minute),
    ] {
        if value > PER_MINUTE_MOST {
            refusals.push(format!(
                "rate_limit.{name} is {value}: it has to be at most {PER_MINUTE_MOST}"
            ));
        }
    }
    if limit.public_key_per_minute < limit.per_minute.max(1) {
        refusals.push(
            "rate_limit.public_key_per_minute is the limit for all client addresses together: it cannot be lower than \
             rate_limit.per_minute, which is the limit for one of them"
                .to_owned(),
        );
    }
}

/// A hundred times what one connection to the server can do, and 8 MB for a key.
const PER_MINUTE_MOST: u32 = 1_000_000;

fn service(settings: &Settings, refusals: &mut Refusals) {
    let code = &settings.service.code;
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if code.is_empty() || code.len() > 20 || !code.chars().all(lower) {
        refusals.push(format!(
            "service.code is `{code}`: it has to be 1 to 20 lower-case letters and digits, since every key begins with it"
        ));
    }
    let name = &settings.service.name;
    if name.trim().is_empty() || name.chars().count() > 60 || name.chars().any(char::is_control) {
        refusals.push("service.name has to be a text of 1 to 60 characters on one line".to_owned());
    }
    tokens(settings, refusals);
}

fn tokens(settings: &Settings, refusals: &mut Refusals) {
    let mut names = BTreeSet::new();
    let of_operators = settings.operator.tokens.iter();
    let of_metrics = settings.metrics.tokens.iter();
    let of_operators = of_operators.map(|text| ("operator.tokens", text));
    let all = of_operators.chain(of_metrics.map(|text| ("metrics.tokens", text)));
    let mut hashes = BTreeSet::new();
    for (setting, text) in all {
        let Some(token) = SettingsToken::parse(text) else {
            refusals.push(format!(
                "{setting} holds something other than a name, `:sha256:` and 64 hexadecimal \
                 characters: `switchyard operator-token --name ada` makes a token and prints the \
                 entry for this setting"
            ));
            continue;
        };
        let hash = token.hash.to_string();
        if weak_tokens().any(|weak| hash == weak) {
            refusals.push(format!(
                "{setting} holds the hash of a word that anybody would try: `switchyard \
                 operator-token` makes a token that nobody can guess"
            ));
        }
        if !hashes.insert(hash) {
            refusals.push(format!(
                "{setting} has the token `{}` a second time: each entry needs a token of its own",
                token.name
            ));
        }
        let name = token.name.to_lowercase();
        if name == "engine" || !names.insert(name) {
            refusals.push(format!(
                "{setting} names `{}` twice, or as the engine is named: each token needs a \
                 name of its own, which the audit log shows",
                token.name
            ));
        }
    }
}

/// Hashes of what people write when they are in a hurry, by `sha256sum` from a file or from `echo`.
fn weak_tokens() -> impl Iterator<Item = String> {
    WEAK.iter()
        .flat_map(|word| [(*word).to_owned(), format!("{word}\n")])
        .map(|word| {
            let hash = Sha256::digest(word.as_bytes());
            hash.iter().map(|byte| format!("{byte:02x}")).collect()
        })
}

fn gateways(settings: &Settings, refusals: &mut Refusals) {
    let is_hash = |text: &&String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let pinned = settings.gateways.pinned.iter();
    if let Some(text) = pinned.clone().find(|text| !is_hash(text)) {
        refusals.push(format!(
            "gateways.pinned holds `{text}`: each has to be the SHA-256 of a gateway's file, 64 hexadecimal characters as \
             `sha256sum` prints them"
        ));
    }
}

fn server(settings: &Settings, refusals: &mut Refusals) {
    let listen = settings.server.listen;
    if settings.development && !listen.ip().to_canonical().is_loopback() {
        refusals.push(format!(
            "development mode on {listen}: its keys are printed and its webhooks may reach private addresses, so server.listen has \
             to be a loopback address such as 127.0.0.1:{}, or development has to be off",
            listen.port()
        ));
    }
    listeners(settings, refusals);
    match &settings.server.public_url {
        Some(url) if settings.development && !is_local(url) => refusals.push(format!(
            "development mode with server.public_url `{url}`: its keys are printed and its \
             webhooks may reach private addresses, so the address has to be a loopback one such \
             as http://127.0.0.1:{}, or development has to be off",
            listen.port()
        )),
        Some(url) => public_url(settings, url, refusals),
        None if !settings.development && !listen.ip().to_canonical().is_loopback() => refusals.push(format!(
            "server.public_url is missing while server.listen is {listen}: payers are sent there, so set it to the https:// address \
             under which they reach this server"
        )),
        None => {}
    }
}

fn listeners(settings: &Settings, refusals: &mut Refusals) {
    let server = &settings.server;
    if settings.development && server.admin_listen.is_some() {
        refusals.push(
            "server.admin_listen is set in development mode, where one listener serves everything: take it out".to_owned(),
        );
    }
    if !settings.development && server.admin_listen.is_none() && settings.admin_listen().is_none() {
        refusals.push(format!(
            "server.listen is {}, the default of server.admin_listen: everybody could reach the operator API, so set \
             server.admin_listen to another address",
            server.listen
        ));
    }
    if server.max_connections == Some(0) || server.max_streams == Some(0) {
        refusals.push(
            "server.max_connections and server.max_streams have to be at least 1: without them, they are chosen by the limit on \
             open files"
                .to_owned(),
        );
    }
}

fn public_url(settings: &Settings, url: &Url, refusals: &mut Refusals) {
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        refusals.push(format!("server.public_url is `{url}`: it has to be an https:// address such as https://pay.example.com"));
        return;
    }
    if url.path() != "/"
        || url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
    {
        refusals.push(format!(
            "server.public_url is `{url}`: it has to be scheme, host and port only"
        ));
    }
    if url.scheme() == "http" && !settings.development && !is_local(url) {
        refusals.push(format!(
            "server.public_url is `{url}`: payers would give their details and merchants their keys over an open line, so it has to \
             begin with https:// (http:// is for loopback addresses and development mode)"
        ));
    }
}

fn proxies(settings: &Settings, refusals: &mut Refusals) {
    match TrustedProxies::parse(&settings.server.trusted_proxies) {
        Err(text) => refusals.push(format!(
            "server.trusted_proxies holds `{text}`: each has to be an address or a network such as 10.0.0.0/8"
        )),
        Ok(proxies) if proxies.trusts_everyone() => refusals.push(
            "server.trusted_proxies trusts the whole world, or half of it: every client could then name any address as its own, so list \
             the proxies"
                .to_owned(),
        ),
        Ok(_) => {}
    }
    let Some(header) = &settings.server.country_header else {
        return;
    };
    if HeaderName::try_from(header).is_err() {
        refusals.push(format!(
            "server.country_header is `{header}`, which is no header name"
        ));
    }
    if settings.server.trusted_proxies.is_empty() {
        refusals.push(
            "server.country_header is set and server.trusted_proxies is empty: any client could name its own country, so list the \
             proxies that set the header"
                .to_owned(),
        );
    }
}

fn storage(settings: &Settings, refusals: &mut Refusals) {
    if settings.store.backend == StoreBackend::Memory && !settings.development {
        refusals.push(
            "store.backend is `memory`: every payment would be forgotten when the server stops, so choose `sqlite` (memory is for \
             development mode)"
                .to_owned(),
        );
    }
    if settings.store.cache.0 < MIN_CACHE {
        refusals.push(format!(
            "store.cache is {}: it has to be at least 8MiB",
            settings.store.cache
        ));
    }
    let (reserve, public) = (settings.store.reserve, settings.store.public_key_reserve);
    if public < reserve {
        refusals.push(format!(
            "store.public_key_reserve is {public}, less than store.reserve ({reserve}): with a \
             public key, everybody could use up the disk until requests with secret keys are \
             refused, so set it to {reserve} or more"
        ));
    }
    if settings.sandbox.retention_days == 0 {
        refusals.push(
            "sandbox.retention_days is 0: sandbox payments would be deleted as soon as they are made, so set it to 1 or more (90 by \
             default)"
                .to_owned(),
        );
    }
    backups(settings, refusals);
    let store = settings.store_path();
    if !settings.development && settings.gateways.dir.starts_with(&store) {
        refusals.push(
            "gateways.dir is inside the store's folder: the store may delete what it does not know, so choose another".to_owned(),
        );
    }
    if settings.secrets.master_key.is_some() && settings.secrets.master_key_file.is_some() {
        refusals.push(
            "secrets.master_key and secrets.master_key_file are both set: keep one of them"
                .to_owned(),
        );
    }
}

fn countries(settings: &Settings, refusals: &mut Refusals) {
    let excluded = settings.payment.excluded_countries.iter();
    for code in excluded.filter(|code| country(code).is_none()) {
        refusals.push(format!(
            "payment.excluded_countries holds `{code}`: each has to be a country's two capital letters (ISO 3166-1), such as BJ"
        ));
    }
}

fn backups(settings: &Settings, refusals: &mut Refusals) {
    let store = &settings.store;
    for (name, to) in [
        ("store.backup_to", &store.backup_to),
        ("store.copy_to", &store.copy_to),
    ] {
        let Some(to) = to else {
            continue;
        };
        if to.as_os_str().is_empty() {
            refusals.push(format!("{name} is empty: name a folder, or leave it out"));
            continue;
        }
        if store.backend != StoreBackend::Sqlite {
            refusals.push(format!(
                "{name} needs store.backend `sqlite`: no other backend can be backed up while the \
                 server runs. Leave it out, and run `switchyard store backup` while the server is \
                 stopped"
            ));
        }
        if is_inside(to, &settings.store_path()) {
            refusals.push(format!(
                "{name} is inside the store's folder: choose one on another disk"
            ));
        }
    }
    if store.backup_to.is_some() && store.backup_keep == 0 {
        refusals.push("store.backup_keep is 0: it has to be 1 or more".to_owned());
    }
}

fn times(settings: &Settings, refusals: &mut Refusals) {
    let mut within = |name: &str, value: DurationSetting, least: u64, most: u64| {
        let (least, most) = (
            DurationSetting(Duration::from_secs(least)),
            DurationSetting(Duration::from_secs(most)),
        );
        if value < least || value > most {
            refusals.push(format!(
                "{name} is {value}: it has to be from {least} to {most}"
            ));
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

fn webhooks(settings: &Settings, refusals: &mut Refusals) {
    let webhook = &settings.webhook;
    if webhook.allow_private == Some(true) && !settings.development {
        refusals.push(
            "webhook.allow_private is on outside development mode: a merchant could make this server call machines of your own \
             network, so switch it off, and list the intended targets in \
             webhook.private_targets"
                .to_owned(),
        );
    }
    if let Err(text) = webhook.private_networks() {
        refusals.push(format!(
            "webhook.private_targets holds `{text}`: each has to be an address or one private \
             network such as 10.1.0.0/16"
        ));
    }
    if webhook.retries > MAX_RETRIES {
        refusals.push(format!(
            "webhook.retries is {}: it has to be at most {MAX_RETRIES}",
            webhook.retries
        ));
    }
    if !(1..=3_650).contains(&webhook.live_log_days) {
        refusals.push(format!(
            "webhook.live_log_days is {}: it has to be 1 to 3650",
            webhook.live_log_days
        ));
    }
    for header in &webhook.signature_headers {
        let name = header.to_ascii_lowercase();
        if HeaderName::try_from(header).is_err() {
            refusals.push(format!(
                "webhook.signature_headers holds `{header}`, which is no header name"
            ));
        } else if TAKEN_HEADERS.contains(&name.as_str()) {
            refusals.push(format!("webhook.signature_headers holds `{header}`, which every webhook request uses already"));
        }
    }
    if webhook.extra_ports.contains(&0) {
        refusals.push("webhook.extra_ports holds 0, which is no port".to_owned());
    }
}

fn mail(settings: &Settings, refusals: &mut Refusals) {
    if let Some(from) = &settings.mail.from
        && (from.matches('@').count() != 1 || from.chars().any(char::is_control))
    {
        refusals.push(format!("mail.from is `{from}`: it has to be an address such as `Switchyard <no-reply@pay.example.com>`"));
    }
    let Some(smtp) = &settings.mail.smtp_url else {
        return;
    };
    // The URL holds a password, so the message does not quote it.
    let Ok(url) = Url::parse(smtp.expose()) else {
        refusals.push(
            "mail.smtp_url is not a URL: it looks like smtps://user:password@mail.example.com"
                .to_owned(),
        );
        return;
    };
    if !matches!(url.scheme(), "smtp" | "smtps") || url.host().is_none() {
        refusals
            .push("mail.smtp_url has to begin with smtps:// or smtp:// and name a host".to_owned());
        return;
    }
    let sealed = url.scheme() == "smtps"
        || url
            .query_pairs()
            .any(|(name, value)| name == "tls" && value == "required");
    if !sealed && !settings.mail.allow_plaintext && !settings.development && !is_local(&url) {
        refusals.push(
            "mail.smtp_url sends mails over an open line: use smtps://, add ?tls=required, or \
             set mail.allow_plaintext if nobody can read the traffic"
                .to_owned(),
        );
        return;
    }
    if url.password().is_some() && !sealed && !is_local(&url) {
        refusals.push(
            "mail.smtp_url would send its password over an open line: use smtps://, or add ?tls=required".to_owned(),
        );
    }
}

fn exchange(settings: &Settings, refusals: &mut Refusals) {
    let exchange = &settings.exchange;
    let is_plain = |url: &&Url| url.scheme() != "https" && !settings.development;
    if let Some(url) = exchange.url.as_ref().filter(is_plain) {
        refusals.push(format!(
            "exchange.url begins with {}://: anybody on the way could change the rates at which money is taken, so use an https:// \
             address (http:// is for development mode)",
            url.scheme()
        ));
    }
    if !(1..=1_000).contains(&exchange.max_change_percent) {
        refusals.push(format!(
            "exchange.max_change_percent is {}: it has to be 1 to 1000",
            exchange.max_change_percent
        ));
    }
}

fn observation(settings: &Settings, refusals: &mut Refusals) {
    let server = &settings.server;
    let is_public = match settings.admin_listen() {
        Some(address) => !address.ip().to_canonical().is_loopback(),
        None => {
            !server.listen.ip().to_canonical().is_loopback()
                || server.public_url.as_ref().is_some_and(|url| !is_local(url))
        }
    };
    if settings.metrics.enabled && settings.metrics.open && is_public && !settings.development {
        refusals.push(
            "metrics.open is on while /metrics is reached from outside: everybody could read how many payments are made, so switch it \
             off and name a token for Prometheus in metrics.tokens, or set server.admin_listen to a loopback \
             address"
                .to_owned(),
        );
    }
    if let Err(why) = EnvFilter::try_new(&settings.log.level) {
        refusals.push(format!("log.level is `{}`: {why}", settings.log.level));
    }
}

/// Whether a URL leads to this machine only. In a URL that is not http a host is always a name, even when it is an address.
fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
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
/// With the longest interval, ten days of trying.
const MAX_RETRIES: u32 = 10;
/// Headers that a webhook request has anyway, in lower case.
const TAKEN_HEADERS: [&str; 10] = [
    "x-service-signature",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "content-type",
    "content-length",
    "user-agent",
    "host",
    "connection",
    "transfer-encoding",
];

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
