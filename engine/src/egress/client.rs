//! An HTTP client whose resolver vets. One for each purpose: webhooks, providers.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, RequestBuilder, redirect};
use tokio::time::Instant;
use tower::{Layer, Service};
use url::Url;

use super::{Forbidden, Names, Policy, VetError};

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

/// What went wrong with an exchange, in the words of the delivery log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No answer in time.
    Timeout,
    /// The name has no address.
    Dns,
    /// Nobody accepts connections there.
    Connect,
    /// No agreement on an encrypted connection, or a certificate that proves nothing.
    Tls,
    /// Something that is no HTTP answer, or not the one that was wanted.
    Http,
    /// The target may not be reached; nothing was sent.
    ForbiddenTarget,
}

/// What is known of the way to the server.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// Time to resolve the name; `None` for an address, or a connection that was open already.
    pub dns: Option<Duration>,
    /// Time to connect, resolving and TLS included; `None` for a connection that was open already.
    pub connect: Option<Duration>,
    /// The addresses of the name, in the order in which they are tried.
    pub addresses: Vec<IpAddr>,
}

impl Client {
    pub fn new(policy: Policy, names: Names) -> Result<Self, ClientError> {
        let policy = Arc::new(policy);
        let resolver = Vetting {
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
    let probe = probe.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (output, probe)
}

/// Sorts an error by what went wrong, deepest cause first.
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
struct Vetting {
    policy: Arc<Policy>,
    names: Names,
}

impl Resolve for Vetting {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, names) = (self.policy.clone(), self.names.clone());
        let probe = PROBE.try_with(Arc::clone).ok(); // absent when nobody asked
        Box::pin(async move {
            let begun = Instant::now();
            // The port was checked with the URL; 0 lets the connector put in the URL's own.
            let found = names.vetted(name.as_str(), &policy).await?;
            if let Some(probe) = probe {
                let mut probe = probe.lock().unwrap_or_else(PoisonError::into_inner);
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
        let probe = PROBE.try_with(Arc::clone).ok(); // absent when nobody asked
        let begun = Instant::now();
        let connected = self.0.call(target);
        Box::pin(async move {
            let connected = connected.await;
            if let (Some(probe), Ok(_)) = (probe, &connected) {
                let mut probe = probe.lock().unwrap_or_else(PoisonError::into_inner);
                probe.connect = Some(begun.elapsed());
            }
            connected
        })
    }
}

/// Certificates are judged by Mozilla's roots, which are compiled in, and by the roots that the machine's owner added.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

tokio::task_local! {
    static PROBE: Arc<Mutex<Probe>>;
}

/// Open connections that are kept for each host: a busy receiver is not greeted anew for each event.
const IDLE_CONNECTIONS: usize = 4;
/// Servers drop idle connections after a minute or so; we do it first.
const IDLE_TIME: Duration = Duration::from_secs(30);
