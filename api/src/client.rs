//! Address and user agent of a client.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::header::{ACCEPT_LANGUAGE, USER_AGENT};
use axum::http::{Extensions, HeaderMap};
use switchyard_core::directory::country;
use switchyard_core::transaction::ClientContext;

use crate::state::HttpSettings;

/// The context of a request. Whether the two headers that name address and country can be believed
/// was settled before it came here.
pub fn context(
    settings: &HttpSettings,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> ClientContext {
    let named = |header: &Option<String>| text(headers, header.as_deref()?);
    let address = named(&settings.client_address_header).map(str::to_owned);
    let ip = address.or_else(|| Some(peer(extensions)?.to_string()));
    let located = || {
        let country = settings
            .geoip
            .as_ref()?
            .country(ip.as_deref()?.parse().ok()?)?;
        known_country(&country)
    };
    ClientContext {
        country: named(&settings.client_country_header)
            .and_then(known_country)
            .or_else(located),
        ip,
        user_agent: text(headers, USER_AGENT.as_str())
            .map(|agent| shortened(agent, USER_AGENT_BYTES)),
        locale: text(headers, ACCEPT_LANGUAGE.as_str()).and_then(first_language),
    }
}

/// The address alone, as [`context`] has it. `None` when it is not one.
pub fn address(
    settings: &HttpSettings,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Option<IpAddr> {
    let header = settings.client_address_header.as_deref();
    match header.and_then(|header| text(headers, header)) {
        Some(named) => named.parse().ok(),
        None => peer(extensions),
    }
}

fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let info = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(info.0.ip().to_canonical())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers
        .get(name)?
        .to_str()
        .ok()
        .filter(|text| !text.is_empty())
}

fn known_country(code: &str) -> Option<String> {
    country(&code.to_ascii_uppercase()).map(|country| country.alpha2.to_owned())
}

/// The first language of an `Accept-Language` header: `fr-BJ` of `fr-BJ,fr;q=0.9`.
fn first_language(header: &str) -> Option<String> {
    let tag = header.split([',', ';']).next()?.trim();
    let is_tag = (2..=35).contains(&tag.len())
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_tag.then(|| tag.to_owned())
}

/// Header values that are text are ASCII, so any place is one to cut at.
fn shortened(text: &str, bytes: usize) -> String {
    text[..text.len().min(bytes)].to_owned()
}

/// Real browsers stay below 300.
const USER_AGENT_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geoip::{self, GeoIp};

    fn request(headers: &[(&'static str, &'static str)]) -> (HeaderMap, Extensions) {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(SocketAddr::from(([9, 9, 9, 9], 1))));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        (map, extensions)
    }

    #[test]
    fn headers_count_only_where_the_settings_name_them() {
        let (headers, extensions) = request(&[("x-address", "41.85.1.2"), ("x-country", "bj")]);
        let named = HttpSettings {
            client_address_header: Some("x-address".to_owned()),
            client_country_header: Some("x-country".to_owned()),
            ..HttpSettings::default()
        };
        let known = context(&named, &headers, &extensions);
        assert_eq!(known.ip.as_deref(), Some("41.85.1.2"));
        assert_eq!(known.country.as_deref(), Some("BJ"));
        let unknown = context(&HttpSettings::default(), &headers, &extensions);
        assert_eq!(
            (unknown.ip.as_deref(), unknown.country),
            (Some("9.9.9.9"), None)
        );
    }

    #[test]
    fn without_a_header_the_country_is_that_of_the_address_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        let networks = [
            ("::41.85.0.0/112", Some("BJ")),
            ("::9.0.0.0/104", Some("US")),
            ("::203.0.113.0/120", Some("T1")),
        ];
        geoip::tests::write(&path, &networks);
        let settings = HttpSettings {
            client_address_header: Some("x-address".to_owned()),
            client_country_header: Some("x-country".to_owned()),
            geoip: Some(GeoIp::open(&path).unwrap()),
            ..HttpSettings::default()
        };
        for (headers, country) in [
            (&[][..], Some("US")),
            (&[("x-address", "41.85.1.2")], Some("BJ")),
            (
                &[("x-address", "41.85.1.2"), ("x-country", "CI")],
                Some("CI"),
            ),
            // A header or a file that names no country leaves the question open.
            (
                &[("x-address", "41.85.1.2"), ("x-country", "XX")],
                Some("BJ"),
            ),
            (&[("x-address", "203.0.113.7")], None),
            (&[("x-address", "198.51.100.7")], None),
        ] {
            let (headers, extensions) = request(headers);
            let known = context(&settings, &headers, &extensions);
            assert_eq!(known.country.as_deref(), country);
        }
    }

    #[test]
    fn the_first_language_is_the_locale() {
        for (header, locale) in [
            ("fr-BJ,fr;q=0.9,en;q=0.8", Some("fr-BJ")),
            ("en", Some("en")),
            ("*", None),
            ("<script>", None),
        ] {
            assert_eq!(first_language(header).as_deref(), locale);
        }
    }
}
