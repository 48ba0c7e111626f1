//! Short texts: ids, phone numbers, moments, addresses, keys. A text that is read is written the
//! same again.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use gateway_crypto_evm::address::Address;
use gateway_crypto_evm::xpub::Receiving;
use switchyard::config::{Bytes, DurationSetting, TrustedProxies};
use switchyard_core::directory::phone;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{CallbackId, ConnectionId, PaymentId, TransactionId};
use switchyard_core::limits::MAX_WEBHOOK_RETRY_AFTER;
use switchyard_core::money::Currency;
use switchyard_core::routing::Percent;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Status;
use switchyard_engine::access::fuzzing::is_token;
use switchyard_engine::webhook::WebhookSettings;
use switchyard_engine::webhook::fuzzing::next_retry;
use switchyard_system::egress::{Policy, is_public, read_url};
use switchyard_system::secrets::Fingerprint;
use url::Host;

use crate::money::split;

/// First byte: as what the text is read.
pub fn text(bytes: &[u8]) {
    let Some((choice, Ok(text))) = split(bytes) else {
        return;
    };
    match choice % 13 {
        0 => same::<TransactionId>(text),
        1 => same::<PaymentId>(text),
        2 => same::<ConnectionId>(text),
        3 => same::<CallbackId>(text),
        4 => phone_number(text),
        5 => moment(text),
        6 => {
            if is_token(text) {
                assert!(text.starts_with("switchyard_") && text.is_ascii());
            }
            if let Some(fingerprint) = Fingerprint::from_hex(text) {
                assert_eq!(fingerprint.to_string(), text.to_ascii_lowercase());
            }
        }
        7 => {
            let _ = (
                Environment::from_str(text),
                Status::parse(text),
                Currency::from_code(text),
            );
            let _ = Percent::from_str(text);
        }
        8 => {
            if let Ok(address) = Address::parse(text) {
                let written = address.to_string();
                assert!(
                    written.eq_ignore_ascii_case(text.trim()),
                    "{text} is {written}"
                );
                assert!(Address::parse(&written).is_ok());
            }
        }
        9 => {
            let _ = Receiving::parse(text);
        }
        10 => {
            let _ = (DurationSetting::from_str(text), Bytes::from_str(text));
        }
        11 => forwarded(text),
        _ => retry_after(text),
    }
}

/// A URL that a merchant typed: one that is let through is http(s), and its address is public.
pub fn egress_url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(url) = read_url(text) else {
        return;
    };
    assert!(
        url.username().is_empty() && url.password().is_none(),
        "{url}"
    );
    if Policy::default().check_url(&url).is_err() {
        return;
    }
    assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    assert!(
        matches!(url.port_or_known_default(), Some(80 | 443)),
        "{url}"
    );
    match url.host() {
        Some(Host::Ipv4(address)) => {
            assert!(is_public(IpAddr::V4(address)), "{url}");
            assert!(
                !address.is_private() && !address.is_loopback() && !address.is_link_local(),
                "{url}"
            );
        }
        Some(Host::Ipv6(address)) => {
            assert!(
                is_public(IpAddr::V6(address)) && address.to_ipv4_mapped().is_none(),
                "{url}"
            );
            assert!(
                !address.is_loopback() && !address.is_unique_local(),
                "{url}"
            );
        }
        // Its addresses are looked at when it is resolved.
        Some(Host::Domain(name)) => assert!(!name.is_empty(), "{url}"),
        None => panic!("{url} has no host"),
    }
}

fn same<T: FromStr + ToString>(text: &str) {
    if let Ok(id) = text.parse::<T>() {
        assert_eq!(id.to_string(), text, "an id has one writing");
    }
}

fn phone_number(text: &str) {
    for country in [
        None,
        Some("BJ"),
        Some("US"),
        Some("FR"),
        Some("GB"),
        Some("??"),
    ] {
        let Some(number) = phone::normalise(text, country) else {
            continue;
        };
        let digits = number.strip_prefix('+').expect("E.164 begins with a plus");
        assert!((5..=15).contains(&digits.len()), "{text}: {number}");
        assert!(
            digits.bytes().all(|byte| byte.is_ascii_digit()),
            "{text}: {number}"
        );
        let again = phone::normalise(&number, None);
        assert_eq!(again.as_deref(), Some(&*number), "{text} in {country:?}");
    }
}

fn moment(text: &str) {
    for read in [Timestamp::parse(text), Timestamp::parse_http(text)]
        .into_iter()
        .flatten()
    {
        let again = Timestamp::parse(&read.to_string());
        assert_eq!(again, Some(read), "{text}");
    }
}

/// An `X-Forwarded-For` of a client that forges its address: the last address that is no proxy's is
/// the client's.
fn forwarded(text: &str) {
    let proxies = TrustedProxies::parse(&["10.0.0.0/8".to_owned(), "fd00::/8".to_owned()]);
    let proxies = proxies.expect("two networks");
    let peer: IpAddr = "10.0.0.1".parse().expect("an address");
    let stranger: IpAddr = "198.51.100.7".parse().expect("an address");
    assert_eq!(
        proxies.client(stranger, Some(text)),
        stranger,
        "a stranger is not believed"
    );
    let through = format!("{text}, {stranger}");
    assert_eq!(
        proxies.client(peer, Some(&through)),
        stranger,
        "what stands before is not reached"
    );
    let _ = (
        proxies.client(peer, Some(text)),
        TrustedProxies::parse(&[text.to_owned()]),
    );
}

/// The `Retry-After` of a merchant's server that wants to be left alone, or to be asked at once for
/// ever: a retry is never earlier than the schedule has it, and never a day later.
fn retry_after(text: &str) {
    let now = Timestamp::from_seconds(1_795_168_800);
    let interval = WebhookSettings::default().interval;
    for chance in [0, u32::MAX] {
        for status in [429, 503] {
            let [deaf, hearing] = next_retry(status, text, now, chance);
            let deaf = deaf.expect("a first refusal is no end").since(now);
            let hearing = hearing.expect("a first refusal is no end").since(now);
            assert!(deaf >= interval && deaf <= interval * 2, "{text}: {deaf:?}");
            assert!(hearing >= FIRST, "{text}: {hearing:?}");
            assert!(
                hearing <= MAX_WEBHOOK_RETRY_AFTER + interval,
                "{text}: {hearing:?}"
            );
            if let Ok(seconds) = text.trim().parse::<u32>()
                && text.trim().bytes().all(|byte| byte.is_ascii_digit())
            {
                let asked = Duration::from_secs(seconds.into());
                assert!(hearing >= asked.min(MAX_WEBHOOK_RETRY_AFTER), "{text}");
            }
        }
        // Who says nothing of time with another status is not listened to.
        let plain = next_retry(500, "", now, chance);
        assert_eq!(next_retry(500, text, now, chance), plain, "{text}");
    }
}

/// The first pause of the schedule that listens.
const FIRST: Duration = Duration::from_secs(5);
