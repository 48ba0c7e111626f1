//! Checks of the settings about the network: listeners, proxies, webhooks, mail, rate feeds.

use std::net::IpAddr;

use axum::http::{HeaderName, HeaderValue};
use switchyard_engine::mail::is_sender;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use url::Url;

use super::problem::Faults;
use super::proxy::TrustedProxies;
use super::settings::{Settings, Webhook};

pub(super) fn server(settings: &Settings, refusals: &mut Faults) {
    let listen = settings.server.listen;
    if settings.development && !listen.ip().to_canonical().is_loopback() {
        refusals.push("server.listen", format!(
            "development mode on {listen}: its keys are printed and its webhooks may reach private addresses, so server.listen has \
             to be a loopback address such as 127.0.0.1:{}, or development has to be off",
            listen.port()
        ));
    }
    listeners(settings, refusals);
    match &settings.server.public_url {
        Some(url) if settings.development && !is_local(url) => refusals.push(
            "server.public_url",
            format!(
                "development mode with server.public_url `{url}`: its keys are printed and its \
                 webhooks may reach private addresses, so the address has to be a loopback one \
                 such as http://127.0.0.1:{}, or development has to be off",
                listen.port()
            ),
        ),
        Some(url) => web_address(settings, "server.public_url", url, refusals),
        None if !settings.development && !listen.ip().to_canonical().is_loopback() => refusals
            .push(
                "server.public_url",
                format!(
                    "server.public_url is missing while server.listen is {listen}: payers are sent \
                     there, so set it to the https:// address under which they reach this server"
                ),
            ),
        None => {}
    }
}

fn listeners(settings: &Settings, refusals: &mut Faults) {
    let server = &settings.server;
    if settings.development && server.admin_listen.is_some() {
        refusals.push("server.admin_listen",
            "server.admin_listen is set in development mode, where one listener serves everything: take it out".to_owned(),
        );
    }
    if !settings.development && server.admin_listen.is_none() && settings.admin_listen().is_none() {
        refusals.push("server.listen", format!(
            "server.listen is {}, the default of server.admin_listen: everybody could reach the operator API, so set \
             server.admin_listen to another address",
            server.listen
        ));
    }
    if server.max_connections == Some(0) || server.max_streams == Some(0) {
        refusals.push("server.max_connections",
            "server.max_connections and server.max_streams have to be at least 1: without them, they are chosen by the limit on \
             open files"
                .to_owned(),
        );
    }
}

/// Checks an address under which people reach this server.
fn web_address(settings: &Settings, name: &'static str, url: &Url, refusals: &mut Faults) {
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        refusals.push(
            name,
            format!(
                "{name} is `{url}`: it has to be an https:// address such as \
                 https://pay.example.com"
            ),
        );
        return;
    }
    if url.path() != "/"
        || url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
    {
        refusals.push(
            name,
            format!("{name} is `{url}`: it has to be scheme, host and port only"),
        );
    }
    if url.scheme() == "http" && !settings.development && !is_local(url) {
        refusals.push(name, format!(
            "{name} is `{url}`: people would give their details, passwords and keys over an open line, so it has to \
             begin with https:// (http:// is for loopback addresses and development mode)"
        ));
    }
}

pub(super) fn console(settings: &Settings, refusals: &mut Faults) {
    let Some(url) = &settings.console.public_url else {
        return;
    };
    if settings.development {
        refusals.push(
            "console.public_url",
            "console.public_url is set in development mode, where the server itself has the \
             console below /console: take it out"
                .to_owned(),
        );
        return;
    }
    web_address(settings, "console.public_url", url, refusals);
    let public = Url::parse(&settings.public_url()).ok();
    if public.is_some_and(|public| public.origin() == url.origin()) {
        refusals.push(
            "console.public_url",
            format!(
                "console.public_url `{url}` is the address of the checkout pages, whose faults \
                 would then reach signed-in users: give the console a host name of its own"
            ),
        );
    }
    let listen = settings.console.listen;
    if listen == settings.server.listen || Some(listen) == settings.admin_listen() {
        refusals.push(
            "console.listen",
            format!("console.listen is {listen}, where another listener is: choose another port"),
        );
    }
}

pub(super) fn proxies(settings: &Settings, refusals: &mut Faults) {
    for (index, text) in settings.server.trusted_proxies.iter().enumerate() {
        let place = format!("server.trusted_proxies[{index}]");
        match TrustedProxies::parse(std::slice::from_ref(text)) {
        Err(text) => refusals.push(place, format!(
            "server.trusted_proxies holds `{text}`: each has to be an address or a network such as 10.0.0.0/8"
        )),
        Ok(proxies) if proxies.trusts_everyone() => refusals.push(place,
            "server.trusted_proxies trusts the whole world, or half of it: every client could then name any address as its own, so list \
             the proxies"
                .to_owned(),
        ),
        Ok(_) => {}
    }
    }
    let Some(header) = &settings.server.country_header else {
        return;
    };
    if HeaderName::try_from(header).is_err() {
        refusals.push(
            "server.country_header",
            format!("server.country_header is `{header}`, which is no header name"),
        );
    }
    if settings.server.trusted_proxies.is_empty() {
        refusals.push("server.country_header",
            "server.country_header is set and server.trusted_proxies is empty: any client could name its own country, so list the \
             proxies that set the header"
                .to_owned(),
        );
    }
}

pub(super) fn webhooks(settings: &Settings, refusals: &mut Faults) {
    let webhook = &settings.webhook;
    if webhook.allow_private == Some(true) && !settings.development {
        refusals.push("webhook.allow_private",
            "webhook.allow_private is on outside development mode: a merchant could make this server call machines of your own \
             network, so switch it off, and list the intended targets in \
             webhook.private_targets"
                .to_owned(),
        );
    }
    for (index, text) in webhook.private_targets.iter().enumerate() {
        if Webhook::private_network(text).is_some() {
            continue;
        }
        refusals.push(
            format!("webhook.private_targets[{index}]"),
            format!(
                "webhook.private_targets holds `{text}`: each has to be an address or one private \
             network such as 10.1.0.0/16"
            ),
        );
    }
    if webhook.retries > MAX_RETRIES {
        refusals.push(
            "webhook.retries",
            format!(
                "webhook.retries is {}: it has to be at most {MAX_RETRIES}",
                webhook.retries
            ),
        );
    }
    if !(1..=3_650).contains(&webhook.live_log_days) {
        refusals.push(
            "webhook.live_log_days",
            format!(
                "webhook.live_log_days is {}: it has to be 1 to 3650",
                webhook.live_log_days
            ),
        );
    }
    for (index, header) in webhook.signature_headers.iter().enumerate() {
        let place = format!("webhook.signature_headers[{index}]");
        let name = header.to_ascii_lowercase();
        if HeaderName::try_from(header).is_err() {
            refusals.push(
                place,
                format!("webhook.signature_headers holds `{header}`, which is no header name"),
            );
        } else if TAKEN_HEADERS.contains(&name.as_str()) {
            refusals.push(
                place,
                format!(
                    "webhook.signature_headers holds `{header}`, which every webhook request uses \
                     already"
                ),
            );
        }
    }
    if webhook.extra_ports.contains(&0) {
        refusals.push(
            "webhook.extra_ports",
            "webhook.extra_ports holds 0, which is no port".to_owned(),
        );
    }
}

pub(super) fn mail(settings: &Settings, refusals: &mut Faults) {
    if let Some(from) = &settings.mail.from
        && !is_sender(from)
    {
        refusals.push(
            "mail.from",
            format!(
                "mail.from is `{from}`: it has to be an address such as \
                 `Switchyard <no-reply@pay.example.com>`"
            ),
        );
    }
    let Some(smtp) = &settings.mail.smtp_url else {
        return;
    };
    // The URL holds a password, so the message does not quote it.
    let Ok(url) = Url::parse(smtp.expose()) else {
        refusals.push(
            "mail.smtp_url",
            "mail.smtp_url is not a URL: it looks like smtps://user:password@mail.example.com"
                .to_owned(),
        );
        return;
    };
    if !matches!(url.scheme(), "smtp" | "smtps") || url.host().is_none() {
        refusals.push(
            "mail.smtp_url",
            "mail.smtp_url has to begin with smtps:// or smtp:// and name a host".to_owned(),
        );
        return;
    }
    let sealed = url.scheme() == "smtps"
        || url
            .query_pairs()
            .any(|(name, value)| name == "tls" && value == "required");
    if !sealed && !settings.mail.allow_plaintext && !settings.development && !is_local(&url) {
        refusals.push(
            "mail.smtp_url",
            "mail.smtp_url sends mails over an open line: use smtps://, add ?tls=required, or \
             set mail.allow_plaintext if nobody can read the traffic"
                .to_owned(),
        );
        return;
    }
    if url.password().is_some() && !sealed && !is_local(&url) {
        refusals.push("mail.smtp_url",
            "mail.smtp_url would send its password over an open line: use smtps://, or add ?tls=required".to_owned(),
        );
    }
}

pub(super) fn exchange(settings: &Settings, refusals: &mut Faults) {
    let exchange = &settings.exchange;
    let is_plain = |url: &&Url| url.scheme() != "https" && !settings.development;
    if let Some(url) = exchange.url.as_ref().filter(is_plain) {
        refusals.push("exchange.url", format!(
            "exchange.url begins with {}://: anybody on the way could change the rates at which money is taken, so use an https:// \
             address (http:// is for development mode)",
            url.scheme()
        ));
    }
    if !(1..=1_000).contains(&exchange.max_change_percent) {
        refusals.push(
            "exchange.max_change_percent",
            format!(
                "exchange.max_change_percent is {}: it has to be 1 to 1000",
                exchange.max_change_percent
            ),
        );
    }
}

pub(super) fn observation(settings: &Settings, refusals: &mut Faults) {
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
            "metrics.open",
            "metrics.open is on while /metrics is reached from outside: everybody could read how \
             many payments are made, so switch it off and name a token for Prometheus in \
             metrics.tokens, or set server.admin_listen to a loopback address"
                .to_owned(),
        );
    }
    let level = &settings.log.level;
    if let Err(why) = EnvFilter::try_new(level) {
        refusals.push("log.level", format!("log.level is `{level}`: {why}"));
    } else if let Some(word) = level.split(',').find(|part| !is_log_directive(part)) {
        refusals.push(
            "log.level",
            format!(
                "log.level is `{level}`, and `{word}` is no level: each part has to be off, error, \
                 warn, info, debug or trace, or `module=level`"
            ),
        );
    }
}

pub(super) fn telemetry(settings: &Settings, refusals: &mut Faults) {
    let telemetry = &settings.telemetry;
    if !(0.0..=1.0).contains(&telemetry.sample_ratio) {
        refusals.push(
            "telemetry.sample_ratio",
            format!(
                "telemetry.sample_ratio is {}: it has to be from 0 to 1",
                telemetry.sample_ratio
            ),
        );
    }
    let authorization = telemetry.authorization.as_ref();
    if authorization.is_some_and(|value| HeaderValue::from_str(value.expose()).is_err()) {
        refusals.push(
            "telemetry.authorization",
            "telemetry.authorization is no header value: it looks like `Bearer <token>`".to_owned(),
        );
    }
    let Some(url) = &telemetry.otlp_url else {
        if authorization.is_some() {
            refusals.push(
                "telemetry.authorization",
                "telemetry.authorization is set and telemetry.otlp_url is not: name the collector, \
                 or leave both out"
                    .to_owned(),
            );
        }
        return;
    };
    // A URL with a password is not quoted.
    if !url.username().is_empty() || url.password().is_some() {
        refusals.push(
            "telemetry.otlp_url",
            "telemetry.otlp_url contains a user name or a password: use telemetry.authorization"
                .to_owned(),
        );
    } else if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
        refusals.push(
            "telemetry.otlp_url",
            format!(
                "telemetry.otlp_url is `{url}`: it has to be http:// or https:// and a host, such \
                 as http://127.0.0.1:4318"
            ),
        );
    } else if authorization.is_some() && url.scheme() == "http" && !is_local(url) {
        refusals.push(
            "telemetry.authorization",
            "telemetry.authorization would be sent over an open line: use https:// in \
             telemetry.otlp_url"
                .to_owned(),
        );
    }
}

/// Whether a part of `log.level` is a level, or a module with one. The filter takes a bare word for
/// the name of a module, and would log nothing else.
fn is_log_directive(part: &str) -> bool {
    let word = part.trim();
    let is_level = !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    is_level || word.contains('=')
}

/// Whether a URL leads to this machine only. In a URL that is not http a host is always a name,
/// even when it is an address.
pub(super) fn is_local(url: &Url) -> bool {
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
