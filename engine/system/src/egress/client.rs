//! An HTTP client whose resolver vets. One for each purpose: webhooks, providers.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, RequestBuilder, redirect};
use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use tokio::time::Instant;
use tower::{Layer, Service};
use url::Url;

use super::{Forbidden, Policy, Resolver, VetError};

/// Sends requests to targets that the policy allows. Cloning shares the connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    policy: Arc<Policy>,
}

/// The client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the HTTP client cannot be set up")]
    Build(#[source] reqwest::Error),
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

/// Error class of an exchange, as in the delivery log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No answer in time.
    Timeout,
    /// The name has no address.
    Dns,
    /// Connection refused.
    Connect,
    /// No agreement on an encrypted connection, or a certificate that proves nothing.
    Tls,
    /// Something that is no HTTP answer, or not the one that was wanted.
    Http,
    /// The target may not be reached; nothing was sent.
    ForbiddenTarget,
}

/// Known facts about the path to the server.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// Time to resolve the name; `None` for an address, or a connection that was open already.
    pub dns: Option<Duration>,
    /// Time to connect, without resolving and TLS; `None` for a connection that was open already.
    pub connect: Option<Duration>,
    /// Time to agree on encryption; `None` without it, and for a connection that was open already.
    pub tls: Option<Duration>,
    /// The addresses of the name, in the order in which they are tried.
    pub addresses: Vec<IpAddr>,
    begun: Option<Instant>,
    /// When the TLS handshake began, from the beginning.
    greeted: Option<Duration>,
}

impl Client {
    pub fn new(policy: Policy, names: Resolver) -> Result<Self, ClientError> {
        #[cfg(feature = "simulation")]
        if crate::simulation::is_on() {
            return Self::simulated(policy, names);
        }
        Self::made(policy, names)
    }

    /// Client that sends nothing, shared by all simulated worlds: creating one takes longer than a
    /// history.
    #[cfg(feature = "simulation")]
    fn simulated(policy: Policy, names: Resolver) -> Result<Self, ClientError> {
        static HTTP: std::sync::OnceLock<reqwest::Client> = std::sync::OnceLock::new();
        let http = match HTTP.get() {
            Some(http) => http.clone(),
            None => {
                let made = Self::made(policy.clone(), names)?.http;
                HTTP.get_or_init(|| made).clone()
            }
        };
        Ok(Self {
            http,
            policy: Arc::new(policy),
        })
    }

    fn made(policy: Policy, names: Resolver) -> Result<Self, ClientError> {
        let policy = Arc::new(policy);
        let resolver = VettingResolver {
            policy: policy.clone(),
            names,
        };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(ClientError::Tls)?)
            .dns_resolver(resolver)
            .connector_layer(Timed)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_idle_timeout(IDLE_TIME)
            .build()
            .map_err(ClientError::Build)?;
        Ok(Self { http, policy })
    }

    /// Begins a request, if its URL may be reached. Names are vetted when the connection is made.
    pub fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, Forbidden> {
        self.policy.check_url(url)?;
        Ok(self.http.request(method, url.clone()))
    }
}

/// Runs `exchange` and says what was learned on the way to the server.
pub async fn probed<F: Future>(exchange: F) -> (F::Output, Probe) {
    let probe = Arc::new(Mutex::new(Probe::default()));
    let output = PROBE.scope(probe.clone(), exchange).await;
    let probe = probe.lock().clone();
    (output, probe)
}

/// Classifies an error, deepest cause first.
pub fn classify(error: &reqwest::Error) -> Failure {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = next {
        if let Some(failure) = known(cause) {
            return failure;
        }
        // An `io::Error` hides what it was made of from `source`.
        let made_of = cause.downcast_ref().and_then(io::Error::get_ref);
        next = made_of.map_or_else(|| cause.source(), |inner| Some(inner as _));
    }
    if error.is_timeout() {
        Failure::Timeout
    } else if error.is_connect() {
        Failure::Connect
    } else {
        Failure::Http
    }
}

fn known(cause: &(dyn Error + 'static)) -> Option<Failure> {
    match cause.downcast_ref::<VetError>() {
        Some(VetError::Forbidden(_)) => Some(Failure::ForbiddenTarget),
        Some(VetError::Unresolved { .. }) => Some(Failure::Dns),
        None => cause.is::<rustls::Error>().then_some(Failure::Tls),
    }
}

/// The resolver of a client: every connection to a name goes through it, and only through it.
struct VettingResolver {
    policy: Arc<Policy>,
    names: Resolver,
}

impl Resolve for VettingResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, names) = (self.policy.clone(), self.names.clone());
        let probe = PROBE.try_with(Arc::clone).ok(); // absent when nobody asked
        Box::pin(async move {
            let begun = Instant::now();
            // The port was checked with the URL; 0 lets the connector put in the URL's own.
            let found = names.vetted(name.as_str(), &policy).await?;
            if let Some(probe) = probe {
                let mut probe = probe.lock();
                probe.dns = Some(begun.elapsed());
                probe.addresses.clone_from(&found);
            }
            let targets: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(targets)
        })
    }
}

/// Notes how long a connection takes to be made.
#[derive(Clone, Copy)]
struct Timed;

#[derive(Clone)]
struct TimedConnector<S>(S);

impl<S> Layer<S> for Timed {
    type Service = TimedConnector<S>;

    fn layer(&self, connector: S) -> Self::Service {
        TimedConnector(connector)
    }
}

impl<S, R> Service<R> for TimedConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let Ok(probe) = PROBE.try_with(Arc::clone) else {
            return Box::pin(self.0.call(target)); // nobody asked
        };
        let begun = Instant::now();
        probe.lock().begun = Some(begun);
        let connected = self.0.call(target);
        // The connection may be finished by another task than the one that asked for it.
        Box::pin(PROBE.scope(probe.clone(), async move {
            let connected = connected.await;
            if connected.is_ok() {
                probe.lock().connected(begun.elapsed());
            }
            connected
        }))
    }
}

/// The cache of TLS sessions that rustls has anyway. It is read when a handshake begins, which is
/// when TCP has connected: no other hook marks that moment.
#[derive(Debug)]
struct TimedSessions(ClientSessionMemoryCache);

impl ClientSessionStore for TimedSessions {
    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let _ = PROBE.try_with(|probe| probe.lock().greeted()); // absent when nobody asked
        self.0.take_tls13_ticket(name)
    }

    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(name, group);
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(name)
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(name, value);
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(name)
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        self.0.remove_tls12_session(name);
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(name, value);
    }
}

impl Probe {
    /// TCP has connected, and the TLS handshake begins.
    fn greeted(&mut self) {
        let Some(begun) = self.begun else { return };
        let so_far = begun.elapsed();
        self.greeted = Some(so_far);
        self.connect = Some(so_far.saturating_sub(self.dns.unwrap_or_default()));
    }

    /// All is done, `took` after the beginning.
    fn connected(&mut self, took: Duration) {
        match self.greeted {
            Some(greeted) => self.tls = Some(took.saturating_sub(greeted)),
            None => self.connect = Some(took.saturating_sub(self.dns.unwrap_or_default())),
        }
    }
}

/// Trusted certificate authorities: Mozilla's, which are compiled in, and those that the machine's
/// owner added.
pub fn roots() -> rustls::RootCertStore {
    let mut roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let roots = roots();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let sessions = TimedSessions(ClientSessionMemoryCache::new(TLS_SESSIONS));
    config.resumption = Resumption::store(Arc::new(sessions));
    Ok(config)
}

tokio::task_local! {
    static PROBE: Arc<Mutex<Probe>>;
}

/// Idle connections per host, so that a busy receiver needs no handshake per event.
const IDLE_CONNECTIONS: usize = 4;
/// Servers drop idle connections after a minute or so; we do it first.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Servers whose TLS sessions are remembered, which saves a round trip with the next connection.
const TLS_SESSIONS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_greeting_is_encryption_and_what_comes_before_is_not() {
        let ms = Duration::from_millis;
        let mut probe = Probe {
            dns: Some(ms(10)),
            greeted: Some(ms(30)),
            connect: Some(ms(20)),
            ..Probe::default()
        };
        probe.connected(ms(75));
        assert_eq!((probe.connect, probe.tls), (Some(ms(20)), Some(ms(45))));
        let mut plain = Probe {
            dns: Some(ms(10)),
            ..Probe::default()
        };
        plain.connected(ms(30));
        assert_eq!((plain.connect, plain.tls), (Some(ms(20)), None));
    }
}
