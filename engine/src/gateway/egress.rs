//! Sends a gateway's requests: only to the hosts that its manifest lists, only over https, only to public addresses, without
//! following redirects, and with a cap on the answer. Development mode lifts https, ports and the ban on private addresses.
//!
//! The one thing that must be right here is [`Sent`]: `No` is said only when not one byte of the request can have left.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Once;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url, redirect, retry};
use switchyard_gateway::wire::{
    Body, EffectError, EffectErrorKind, HttpRequest, HttpResponse, Sent,
};

use crate::limits::{GATEWAY_BODY_BYTES, GATEWAY_CONNECT, GATEWAY_REQUEST};

/// The engine's way to the providers.
#[derive(Clone)]
pub(super) struct Egress {
    client: Client,
    development: bool,
}

/// A request that passed the rules and can be sent.
pub(super) struct Checked(reqwest::Request);

impl Egress {
    pub(super) fn new(development: bool) -> Result<Self, reqwest::Error> {
        use_ring();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            // A gateway decides what is sent twice.
            .retry(retry::never())
            // A proxy would resolve names by itself, past the guard.
            .no_proxy()
            .connect_timeout(GATEWAY_CONNECT)
            .dns_resolver(Guard { development })
            .user_agent(concat!("Switchyard/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self {
            client,
            development,
        })
    }

    /// Holds a request against the rules. Nothing leaves.
    pub(super) fn check(
        &self,
        request: &HttpRequest,
        hosts: &[String],
        left: Duration,
    ) -> Result<Checked, EffectError> {
        let url = Url::parse(&request.url)
            .map_err(|error| refused(format!("the gateway's URL cannot be read: {error}")))?;
        self.check_url(&url, hosts)?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| refused(format!("`{}` is no HTTP method", request.method)))?;
        let asked = request
            .timeout_ms
            .map_or(GATEWAY_REQUEST, Duration::from_millis);
        let mut builder = self
            .client
            .request(method, url)
            .headers(headers(&request.headers)?)
            .timeout(asked.min(left));
        builder = match &request.body {
            None => builder,
            Some(Body::Form(fields)) => builder.form(fields),
            Some(body) => {
                let bytes = body.bytes().map_err(|fault| refused(fault.message))?;
                builder.body(bytes.into_owned())
            }
        };
        let request = builder.build().map_err(|error| {
            refused(format!(
                "the gateway's request cannot be built: {}",
                reason(&error)
            ))
        })?;
        Ok(Checked(request))
    }

    /// Sends it. Whatever the provider answers is an answer; an error is an answer that never came whole.
    pub(super) async fn send(&self, request: Checked) -> Result<HttpResponse, EffectError> {
        let host = request.0.url().host_str().unwrap_or_default().to_owned();
        let mut response = self
            .client
            .execute(request.0)
            .await
            .map_err(|error| failure(&error, &host))?;
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect();
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| EffectError {
            // The provider had the request, or it would not answer.
            sent: Sent::Maybe,
            ..failure(&error, &host)
        })? {
            if body.len() + part.len() > GATEWAY_BODY_BYTES {
                return Err(EffectError {
                    sent: Sent::Maybe,
                    kind: EffectErrorKind::TooLarge,
                    message: format!("{host} answered more than {GATEWAY_BODY_BYTES} bytes"),
                });
            }
            body.extend_from_slice(&part);
        }
        Ok(HttpResponse {
            status,
            headers,
            body: Body::of(body),
        })
    }

    fn check_url(&self, url: &Url, hosts: &[String]) -> Result<(), EffectError> {
        let host = url
            .host_str()
            .ok_or_else(|| refused("the gateway's URL has no host".into()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(
                "the gateway's URL has credentials in it: use a header".into(),
            ));
        }
        let is_http = url.scheme() == "http" && self.development;
        if url.scheme() != "https" && !is_http {
            return Err(refused(format!("{host} is asked for without https")));
        }
        let port = url.port_or_known_default().unwrap_or(443);
        if !hosts
            .iter()
            .any(|listed| self.is_listed(listed, host, port))
        {
            return Err(refused(format!(
                "{host}:{port} is not among the hosts that the gateway's manifest lists for this environment"
            )));
        }
        // The resolver is not asked about addresses that are written out.
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(address) if !self.development && !is_public(address) => {
                Err(refused(format!("{host} is not a public address")))
            }
            _ => Ok(()),
        }
    }

    fn is_listed(&self, listed: &str, host: &str, port: u16) -> bool {
        let (name, listed_port) = match listed.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (listed, Some(443)),
        };
        let is_name = match name.strip_prefix("*.") {
            Some(parent) => host
                .strip_suffix(parent)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            None => host == name,
        };
        is_name && (self.development || listed_port == Some(port))
    }
}

/// Answers names with addresses that a gateway may talk to. The connection goes to what was checked here, so a name that changes
/// its mind gains nothing.
struct Guard {
    development: bool,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let development = self.development;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found
                .filter(|address| development || is_public(address.ip()))
                .collect();
            if allowed.is_empty() {
                return Err(format!("{} has no public address", name.as_str()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Is this an address on the public Internet? Everything that is set aside for something else is not.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || (a == 100 && (64..128).contains(&b)) // carriers' own (RFC 6598)
        || (a == 192 && b == 0 && c == 0) // protocol assignments
        || (a == 192 && b == 88 && c == 99) // 6to4 relays
        || (a == 198 && (18..20).contains(&b)) // benchmarks
        || a >= 224) // multicast, reserved, broadcast
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let [a, b, c, d, e, f, ..] = address.segments();
    let is_global = a & 0xe000 == 0x2000; // 2000::/3 is all that is given out
    // Teredo, ORCHID, benchmarks; documentation.
    let set_aside = (a == 0x2001 && (b < 0x0200 || b == 0x0db8))
        || a == 0x2002 // 6to4: an IPv4 address in disguise
        || (a == 0x3fff && b < 0x1000); // documentation
    let is_nat64 = (a, b, c, d, e, f) == (0x64, 0xff9b, 0, 0, 0, 0);
    is_global && !set_aside && !is_nat64
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, EffectError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused("a header name of the gateway's request is none".into()))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| refused(format!("the value of header `{header}` cannot be sent")))?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}

/// What an error of the client proves. Only a failure to connect (name, route, TLS) proves that nothing left.
fn failure(error: &reqwest::Error, host: &str) -> EffectError {
    if error.is_connect() {
        return EffectError {
            sent: Sent::No,
            kind: EffectErrorKind::Connect,
            message: format!("{host} cannot be reached: {}", reason(error)),
        };
    }
    if error.is_builder() {
        return refused(reason(error));
    }
    if error.is_timeout() {
        return EffectError {
            sent: Sent::Maybe,
            kind: EffectErrorKind::Timeout,
            message: format!("{host} did not answer in time"),
        };
    }
    EffectError {
        sent: Sent::Maybe,
        kind: EffectErrorKind::Broken,
        message: format!("the connection with {host} broke: {}", reason(error)),
    }
}

/// The innermost reason, without the URL (which may carry a secret).
fn reason(error: &reqwest::Error) -> String {
    let mut source = error.source();
    let mut innermost = None;
    while let Some(inner) = source {
        innermost = Some(inner.to_string());
        source = inner.source();
    }
    innermost.unwrap_or_else(|| "no reason is given".into())
}

fn refused(message: String) -> EffectError {
    EffectError {
        sent: Sent::No,
        kind: EffectErrorKind::Refused,
        message,
    }
}

/// TLS by ring for every client of the process. The first to come sets it; a second attempt is refused and harmless.
fn use_ring() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_on_the_public_internet_are_public() {
        for public in [
            "8.8.8.8",
            "196.1.2.3",
            "2606:4700::1111",
            "2a00::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "10.0.0.1",
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001:db8::1",
            "2001::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    fn check(development: bool, url: &str) -> Result<(), String> {
        let hosts = [
            "api.acme.example",
            "*.acme.example",
            "acme.example:8443",
            "127.0.0.1",
            "*.1",
        ];
        Egress::new(development)
            .unwrap()
            .check_url(&Url::parse(url).unwrap(), &hosts.map(String::from))
            .map_err(|error| error.message)
    }

    #[test]
    fn a_request_goes_to_listed_hosts_over_https_only() {
        for allowed in [
            "https://api.acme.example/charges",
            "https://API.acme.example:443/",
            "https://eu.acme.example/",
            "https://acme.example:8443/",
        ] {
            assert_eq!(check(false, allowed), Ok(()), "{allowed}");
        }
        for (url, why) in [
            ("http://api.acme.example/", "without https"),
            ("https://api.acme.example:8080/", "not among the hosts"),
            ("https://acme.example/", "not among the hosts"),
            ("https://evilacme.example/", "not among the hosts"),
            (
                "https://api.acme.example.evil.example/",
                "not among the hosts",
            ),
            ("https://key@api.acme.example/", "credentials"),
            ("https://127.0.0.1/", "not a public address"),
            ("https://2130706433/", "not a public address"),
            ("https://0x7f.1/", "not a public address"),
            ("ftp://api.acme.example/", "without https"),
        ] {
            let refusal = check(false, url).expect_err(url);
            assert!(refusal.contains(why), "{url}: {refusal}");
        }
    }

    #[test]
    fn development_mode_allows_local_ports_of_listed_hosts_and_no_other_hosts() {
        assert_eq!(check(true, "http://127.0.0.1:4321/charges"), Ok(()));
        assert!(check(true, "http://localhost:4321/").is_err());
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_not_reached_and_nothing_is_sent() {
        let egress = Egress::new(false).unwrap();
        let request = HttpRequest {
            method: "POST".into(),
            url: "https://localhost/".into(),
            headers: Vec::new(),
            body: None,
            timeout_ms: None,
            mutates: None,
        };
        let checked = egress.check(&request, &["localhost".into()], Duration::from_secs(5));
        let Ok(checked) = checked else {
            panic!("the host is listed");
        };
        let error = egress.send(checked).await.unwrap_err();
        assert_eq!(
            (error.sent, error.kind),
            (Sent::No, EffectErrorKind::Connect)
        );
        assert!(
            error.message.contains("no public address"),
            "{}",
            error.message
        );
    }
}
