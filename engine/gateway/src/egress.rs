//! Sends a gateway's requests: only to the hosts that its manifest lists, only over https, only to
//! public addresses, without following redirects, and with a limit on the size of the response.
//!
//! A manifest may list `{config.field}`: the host of a URL that the operator configured for the
//! connection, such as their own node. Hosts that the operator's settings mark as private are
//! reached at private addresses and without https. Development mode allows http, all ports and
//! private addresses, and this machine, where simulators of providers run.
//!
//! [`Sent`] is safety-critical: `No` is returned only when not one byte of the request can have
//! been sent.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::error::Error as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url, redirect, retry};
use serde_json::Value;
use switchyard_gateway::manifest::config_field;
use switchyard_gateway::wire::{
    Body, EffectError, EffectErrorKind, HttpRequest, HttpResponse, Sent,
};

use switchyard_core::journal::Failure;
use switchyard_core::limits::{GATEWAY_BODY_BYTES, GATEWAY_CONNECT, GATEWAY_REQUEST};
use switchyard_system::egress::{Resolver, is_public};
use switchyard_system::trace::TraceContext;

/// The engine's HTTP clients for providers.
#[derive(Clone)]
pub(super) struct Egress {
    client: Client,
    /// Client for the hosts, with their ports, that may be private.
    private_client: Client,
    development: bool,
    private: Arc<[String]>,
}

/// Returns the hosts of a manifest, with `{config.field}` replaced by host and port of the URL in
/// that field. A field without a URL grants nothing.
pub(super) fn granted<'h>(hosts: &'h [String], config: &Value) -> Vec<Cow<'h, str>> {
    let of_config = |field: &str| {
        let url = Url::parse(config.get(field)?.as_str()?).ok()?;
        let port = url.port_or_known_default()?;
        Some(Cow::Owned(format!("{}:{port}", url.host_str()?)))
    };
    let granted = hosts.iter().map(|host| match config_field(host) {
        Some(field) => of_config(field),
        None => Some(Cow::Borrowed(host.as_str())),
    });
    granted.flatten().collect()
}

/// Request that passed the checks and can be sent.
pub(super) struct Checked {
    request: reqwest::Request,
    may_be_private: bool,
}

impl Checked {
    pub(super) fn host(&self) -> &str {
        self.request.url().host_str().unwrap_or_default()
    }

    pub(super) fn method(&self) -> &Method {
        self.request.method()
    }

    /// Adds the place in a trace, if the settings allow that for providers.
    pub(super) fn carry(&mut self, trace: &TraceContext) {
        trace.inject_for_provider(self.request.headers_mut());
    }
}

impl Egress {
    /// Creates the clients. `private`: hosts with their ports that may be private and without
    /// https.
    pub(super) fn new(development: bool, private: &[String]) -> Result<Self, reqwest::Error> {
        #[cfg(feature = "simulation")]
        if switchyard_system::simulation::is_on() {
            return simulated(development, private);
        }
        Self::resolving(development, private, &Resolver::system())
    }

    fn resolving(
        development: bool,
        private: &[String],
        names: &Resolver,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self {
            client: client(development, names)?,
            private_client: client(true, names)?,
            development,
            private: private.into(),
        })
    }

    /// Checks a request against the rules. Sends nothing.
    pub(super) fn check(
        &self,
        request: &HttpRequest,
        hosts: &[Cow<'_, str>],
        left: Duration,
    ) -> Result<Checked, EffectError> {
        let url = Url::parse(&request.url)
            .map_err(|error| refused(format!("the gateway's URL cannot be read: {error}")))?;
        let may_be_private = self.check_url(&url, hosts)?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| refused(format!("`{}` is no HTTP method", request.method)))?;
        let asked = request
            .timeout_ms
            .map_or(GATEWAY_REQUEST, Duration::from_millis);
        let mut builder = self
            .client_for(may_be_private)
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
        Ok(Checked {
            request,
            may_be_private,
        })
    }

    /// Sends a request. A response of any status is `Ok`; an error means that no complete response
    /// arrived.
    pub(super) async fn send(&self, checked: Checked) -> Result<HttpResponse, EffectError> {
        let Checked {
            request,
            may_be_private,
        } = checked;
        let host = request.url().host_str().unwrap_or_default().to_owned();
        #[cfg(feature = "simulation")]
        if let Some(line) = switchyard_system::simulation::line() {
            return over(&line, &request, &host).await;
        }
        let mut response = self
            .client_for(may_be_private)
            .execute(request)
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
            // The provider has started to respond, so it has the request.
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

    fn client_for(&self, may_be_private: bool) -> &Client {
        match may_be_private {
            true => &self.private_client,
            false => &self.client,
        }
    }

    /// Checks a URL. Returns whether the host may be at a private address at this port.
    fn check_url(&self, url: &Url, hosts: &[Cow<'_, str>]) -> Result<bool, EffectError> {
        let host = url
            .host_str()
            .ok_or_else(|| refused("the gateway's URL has no host".into()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(
                "the gateway's URL has credentials in it: use a header".into(),
            ));
        }
        let port = url.port_or_known_default().unwrap_or(443);
        let is_private = self
            .private
            .iter()
            .any(|private| names(private) == (host, Some(port)));
        let is_http = url.scheme() == "http" && (self.development || is_private);
        if url.scheme() != "https" && !is_http {
            return Err(refused(format!("{host} is asked for without https")));
        }
        let is_listed = hosts
            .iter()
            .any(|listed| self.is_listed(listed, host, port));
        let is_simulator = self.development && is_this_machine(host);
        if !is_listed && !is_simulator {
            return Err(refused(format!(
                "{host}:{port} is not among the hosts that the gateway's manifest lists for this environment"
            )));
        }
        // The resolver does not see literal addresses.
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(address) if !self.development && !is_private && !is_public(address) => {
                Err(refused(format!("{host} is not a public address")))
            }
            _ => Ok(is_private),
        }
    }

    fn is_listed(&self, listed: &str, host: &str, port: u16) -> bool {
        let (name, listed_port) = names(listed);
        let is_name = match name.strip_prefix("*.") {
            Some(parent) => host
                .strip_suffix(parent)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            None => host == name,
        };
        is_name && (self.development || listed_port == Some(port))
    }
}

/// Creates an egress for the simulation. These clients send nothing, so all simulated worlds share
/// one: building a client takes longer than a simulated history.
#[cfg(feature = "simulation")]
fn simulated(development: bool, private: &[String]) -> Result<Egress, reqwest::Error> {
    static CLIENTS: std::sync::OnceLock<Client> = std::sync::OnceLock::new();
    if CLIENTS.get().is_none() {
        let _ = CLIENTS.set(client(false, &Resolver::system())?); // another thread may have set it
    }
    let client = CLIENTS.get().cloned().unwrap_or_default();
    Ok(Egress {
        private_client: client.clone(),
        client,
        development,
        private: private.into(),
    })
}

/// Sends over the simulated network, within the timeout of the request.
#[cfg(feature = "simulation")]
async fn over(
    line: &switchyard_system::simulation::Network,
    request: &reqwest::Request,
    host: &str,
) -> Result<HttpResponse, EffectError> {
    use switchyard_system::simulation::{NetworkError, Request, To};
    let error = |sent, kind, message: &str| EffectError {
        sent,
        kind,
        message: format!("{host} {message}"),
    };
    let patience = request.timeout().copied().unwrap_or(GATEWAY_REQUEST);
    let answering = line(Request::of(To::Provider, request));
    match tokio::time::timeout(patience, answering).await {
        Ok(Ok(answer)) => Ok(HttpResponse {
            status: answer.status,
            headers: answer.headers,
            body: Body::of(answer.body),
        }),
        Ok(Err(NetworkError::Refused)) => Err(error(
            Sent::No,
            EffectErrorKind::Connect,
            "cannot be reached",
        )),
        Ok(Err(NetworkError::Broken)) => Err(error(
            Sent::Maybe,
            EffectErrorKind::Broken,
            "broke the line",
        )),
        Err(_) => Err(error(
            Sent::Maybe,
            EffectErrorKind::Timeout,
            "did not answer in time",
        )),
    }
}

/// Splits a listed host and its port; 443 when it has none, `None` when it is not a number.
fn names(listed: &str) -> (&str, Option<u16>) {
    match listed.rsplit_once(':') {
        // An IPv6 address is written in brackets.
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
        _ => (listed, Some(443)),
    }
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn client(may_be_private: bool, names: &Resolver) -> Result<Client, reqwest::Error> {
    use_ring();
    let names = names.clone();
    Client::builder()
        .redirect(redirect::Policy::none())
        // The gateway decides about retries.
        .retry(retry::never())
        // A proxy would resolve names itself and bypass the guard.
        .no_proxy()
        .connect_timeout(GATEWAY_CONNECT)
        .dns_resolver(Guard {
            may_be_private,
            names,
        })
        .user_agent(concat!("Switchyard/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Resolver that returns only addresses that a gateway may reach. The connection uses the checked
/// address, so DNS rebinding has no effect. A resolver does not receive the port, so hosts that may
/// be private have a separate client.
struct Guard {
    may_be_private: bool,
    names: Resolver,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (may_be_private, names) = (self.may_be_private, self.names.clone());
        Box::pin(async move {
            let found = names.all(name.as_str()).await?.into_iter();
            // The connector sets the port.
            let allowed: Vec<SocketAddr> = found
                .filter(|address| may_be_private || is_public(*address))
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if allowed.is_empty() {
                return Err(format!("{} has no public address", name.as_str()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
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

/// Translates an error of the client. Only a failure to connect (name, route, TLS) proves that
/// nothing was sent.
fn failure(error: &reqwest::Error, host: &str) -> EffectError {
    let (failure, kind, message) = if error.is_connect() {
        let message = format!("{host} cannot be reached: {}", reason(error));
        (Failure::Connect, EffectErrorKind::Connect, message)
    } else if error.is_builder() {
        (Failure::Refused, EffectErrorKind::Refused, reason(error))
    } else if error.is_timeout() {
        let message = format!("{host} did not answer in time");
        (Failure::Timeout, EffectErrorKind::Timeout, message)
    } else {
        let message = format!("the connection with {host} broke: {}", reason(error));
        (Failure::Broken, EffectErrorKind::Broken, message)
    };
    EffectError {
        sent: sent(failure),
        kind,
        message,
    }
}

const fn sent(failure: Failure) -> Sent {
    match failure.may_have_left() {
        true => Sent::Maybe,
        false => Sent::No,
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
        sent: sent(Failure::Refused),
        kind: EffectErrorKind::Refused,
        message,
    }
}

/// Sets ring as the TLS provider of the process. Later calls have no effect.
fn use_ring() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
