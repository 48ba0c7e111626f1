//! Requests to addresses that others choose (protection against SSRF). Webhooks are sent through
//! [`Client`]; gateways have their own client, which applies their manifests and calls
//! [`is_public`]: there is one list of addresses.
//!
//! Promises: a name is resolved once, each of its addresses is checked, and the connection uses
//! exactly these addresses, so DNS rebinding between check and connection has no effect. Redirects
//! are not followed, proxies of the environment are not used, and a refusal happens before the
//! first packet.
//!
//! ```text
//! read_url(text)        -> Url            the form: http(s), no credentials, no disguised IPv4 address
//! vet(&Url, &Policy, …) -> [SocketAddr]   the addresses, all of them allowed
//! Client::request(…)    -> RequestBuilder the same, on a connection pool whose resolver vets
//! ```
//!
//! Limits of time and size are those of the caller.

mod address;
mod client;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use ipnet::IpNet;
use url::{Host, Url};

use self::address::AddressScope;
pub use self::client::{Client, ClientError, Failure, Probe, classify, probed, roots};

/// Reachable addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Development mode: loopback and private networks, and any port. Link-local addresses, cloud
    /// metadata, multicast and reserved ranges stay forbidden.
    pub allow_private: bool,
    /// Private networks that may be reached without development mode. Link-local addresses,
    /// metadata services and reserved ranges stay forbidden.
    pub private_networks: Vec<IpNet>,
    /// Whether `http://` is refused.
    pub https_only: bool,
    /// Ports that may be reached besides 443 and 80.
    pub extra_ports: BTreeSet<u16>,
}

/// Reason for which a target is forbidden. No byte was sent to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("it is not an absolute URL: write it like https://shop.example/hook")]
    NotAUrl,
    #[error("it begins with `{0}:`, and only https: and http: are allowed")]
    Scheme(String),
    #[error(
        "it begins with http: and would be sent unencrypted: use https:, or let the operator set \
         webhook.allow_http"
    )]
    PlainHttp,
    #[error("it contains a user name or a password: take them out, what is sent is signed instead")]
    UserInfo,
    #[error(
        "its IPv4 address is not written as four decimal numbers with points: write it like that, or use a name"
    )]
    DisguisedAddress,
    #[error("port {0} is not allowed: use 443 or 80, or let the operator allow it in the settings")]
    Port(u16),
    #[error("{address} is {what}, and only public addresses are allowed")]
    Address { address: IpAddr, what: &'static str },
}

/// Error of [`vet`].
#[derive(Debug, thiserror::Error)]
pub enum VetError {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("the name {name} cannot be resolved ({why}): check its DNS records")]
    Unresolved { name: String, why: io::Error },
}

/// Resolver of names: the system's, or a script in tests. Clones share it.
#[derive(Clone)]
pub struct Resolver(Arc<Lookup>);

type Lookup = dyn Fn(String) -> Resolving + Send + Sync;
type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

impl Policy {
    /// Whether a connection to this address may be made.
    pub fn check(&self, target: SocketAddr) -> Result<(), Forbidden> {
        self.check_address(target.ip())?;
        self.check_port(target.port())
    }

    /// Checks a URL without resolving its name.
    pub fn check_url(&self, url: &Url) -> Result<(), Forbidden> {
        check_form(url)?;
        if self.https_only && url.scheme() == "http" {
            return Err(Forbidden::PlainHttp);
        }
        let port = url.port_or_known_default().ok_or(Forbidden::NotAUrl)?;
        match url.host() {
            Some(Host::Ipv4(address)) => self.check((address, port).into()),
            Some(Host::Ipv6(address)) => self.check((address, port).into()),
            Some(Host::Domain(_)) => self.check_port(port),
            None => Err(Forbidden::NotAUrl),
        }
    }

    fn check_address(&self, address: IpAddr) -> Result<(), Forbidden> {
        match address::scope_of(address) {
            AddressScope::Public => Ok(()),
            AddressScope::Private(_) if self.allow_private || self.lists(address) => Ok(()),
            AddressScope::Private(what) | AddressScope::Never(what) => {
                Err(Forbidden::Address { address, what })
            }
        }
    }

    fn lists(&self, address: IpAddr) -> bool {
        self.private_networks
            .iter()
            .any(|network| network.contains(&address))
    }

    fn check_port(&self, port: u16) -> Result<(), Forbidden> {
        if self.allow_private || port == 443 || port == 80 || self.extra_ports.contains(&port) {
            return Ok(());
        }
        Err(Forbidden::Port(port))
    }
}

impl Resolver {
    pub fn system() -> Self {
        Self(Arc::new(|name| {
            Box::pin(async move {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        }))
    }

    /// Answers what `script` says, each time it is asked. No addresses: there is no such name.
    pub fn scripted(script: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |name| {
            let found = script(&name);
            Box::pin(async move { Ok(found) })
        }))
    }

    /// All addresses of a name, unchecked.
    pub async fn all(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        (self.0)(name.to_owned()).await
    }

    /// The addresses of a name, if every one of them may be reached.
    async fn vetted(&self, name: &str, policy: &Policy) -> Result<Vec<IpAddr>, VetError> {
        let unresolved = |why| VetError::Unresolved {
            name: name.to_owned(),
            why,
        };
        let found = self.all(name).await.map_err(unresolved)?;
        if found.is_empty() {
            return Err(unresolved(io::Error::other("it has no address")));
        }
        for address in &found {
            policy.check_address(*address)?;
        }
        Ok(found)
    }
}

/// Whether this is an address on the public Internet. Everything that is set aside for something
/// else is not.
pub fn is_public(address: IpAddr) -> bool {
    address::scope_of(address) == AddressScope::Public
}

/// Parses a URL. Besides the refusals of [`check_form`], it refuses an unusual form of an IPv4
/// address (`2130706433`, `0177.1`, full-width digits), which only an attacker writes.
pub fn read_url(text: &str) -> Result<Url, Forbidden> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Forbidden::NotAUrl);
    }
    let url = Url::parse(text).map_err(|_| Forbidden::NotAUrl)?;
    check_form(&url)?;
    match url.host() {
        Some(Host::Ipv4(address)) if written_host(text) != Some(address.to_string().as_str()) => {
            Err(Forbidden::DisguisedAddress)
        }
        _ => Ok(url),
    }
}

/// Resolves the URL's host, once, and answers its addresses if every one of them may be reached.
pub async fn vet(
    url: &Url,
    policy: &Policy,
    names: &Resolver,
) -> Result<Vec<SocketAddr>, VetError> {
    policy.check_url(url)?;
    let port = url.port_or_known_default().ok_or(Forbidden::NotAUrl)?;
    match url.host() {
        Some(Host::Ipv4(address)) => Ok(vec![(address, port).into()]),
        Some(Host::Ipv6(address)) => Ok(vec![(address, port).into()]),
        Some(Host::Domain(name)) => {
            let found = names.vetted(name, policy).await?;
            Ok(found.into_iter().map(|ip| (ip, port).into()).collect())
        }
        None => Err(Forbidden::NotAUrl.into()),
    }
}

fn check_form(url: &Url) -> Result<(), Forbidden> {
    if !matches!(url.scheme(), "https" | "http") {
        return Err(Forbidden::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Forbidden::UserInfo);
    }
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(()),
        _ => Err(Forbidden::NotAUrl),
    }
}

/// The host as it is written, before any parser made an address of it.
fn written_host(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    authority.split(':').next()
}
