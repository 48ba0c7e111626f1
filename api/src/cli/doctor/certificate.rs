//! The certificate of the public URL: whether clients trust it, and until when.
//!
//! The handshake accepts any certificate. Then the chain is verified at the present and at later
//! times, by the verifier of TLS clients, so that the first certificate to expire counts.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use switchyard_core::time::Timestamp;

/// End of the validity of a chain that clients trust now.
///
/// # Errors
/// The reason for which clients would refuse the server.
pub fn valid_until(
    host: &str,
    port: u16,
    roots: RootCertStore,
    now: Timestamp,
) -> Result<Timestamp, CertificateFault> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let verifier = WebPkiServerVerifier::builder(Arc::new(roots)).build();
    let verifier = verifier.map_err(io::Error::other)?;
    let recorder = Arc::new(Recorder {
        verifier,
        chain: Mutex::default(),
    });
    shake_hands(host, port, name.clone(), recorder.clone())?;
    let chain = recorder
        .chain
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let verified_at = |time: u64| {
        let (leaf, others) = chain.split_first()?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(time));
        Some(
            recorder
                .verifier
                .verify_server_cert(leaf, others, &name, &[], time),
        )
    };
    let now = u64::try_from(now.as_seconds()).unwrap_or_default();
    if let Some(Err(error)) = verified_at(now) {
        return Err(fault(error));
    }
    let mut until = FAR_AWAY;
    // Each round ends at the expiry of another certificate of the chain.
    for _ in 0..=chain.len() {
        match verified_at(until) {
            Some(Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
                not_after,
                ..
            }))) => until = not_after.as_secs(),
            _ => break,
        }
    }
    Ok(timestamp(until))
}

/// Reason for which clients refuse a server.
#[derive(Debug, thiserror::Error)]
pub enum CertificateFault {
    #[error("no TLS connection: {0}")]
    Connect(#[from] io::Error),
    #[error("it expired at {0}")]
    Expired(Timestamp),
    #[error("clients do not trust it: {0}")]
    Untrusted(rustls::Error),
}

fn fault(error: rustls::Error) -> CertificateFault {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
            not_after, ..
        }) => CertificateFault::Expired(timestamp(not_after.as_secs())),
        error => CertificateFault::Untrusted(error),
    }
}

fn timestamp(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
}

fn shake_hands(
    host: &str,
    port: u16,
    name: ServerName<'static>,
    recorder: Arc<Recorder>,
) -> io::Result<()> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(recorder)
        .with_no_client_auth();
    let mut tls =
        rustls::ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(mut stream) => {
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                while tls.is_handshaking() {
                    tls.complete_io(&mut stream)?;
                }
                return Ok(());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Records the chain of a server and accepts it.
#[derive(Debug)]
struct Recorder {
    verifier: Arc<WebPkiServerVerifier>,
    chain: Mutex<Vec<CertificateDer<'static>>>,
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let all = std::iter::once(leaf).chain(others);
        let all = all.map(|certificate| certificate.clone().into_owned());
        *self.chain.lock().unwrap_or_else(PoisonError::into_inner) = all.collect();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// The year 2200, later than certificates are valid.
const FAR_AWAY: u64 = 7_258_118_400;
const TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use rustls::pki_types::PrivateKeyDer;

    use super::*;

    /// Valid from February to the end of March 2025, for `localhost`.
    const LEAF: &[u8] = include_bytes!("../../../../tests/tls/leaf.der");
    const KEY: &[u8] = include_bytes!("../../../../tests/tls/leaf.key.der");
    /// Valid from January to the end of February 2025.
    const INTERMEDIATE: &[u8] = include_bytes!("../../../../tests/tls/intermediate.der");
    const AUTHORITY: &[u8] = include_bytes!("../../../../tests/tls/ca.der");

    /// The port of a TLS server with these certificates, which lives as long as the test.
    fn server() -> u16 {
        let chain = [LEAF, INTERMEDIATE].map(|der| CertificateDer::from(der.to_vec()));
        let key = PrivateKeyDer::try_from(KEY.to_vec()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.to_vec(), key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let mut tls = rustls::ServerConnection::new(config.clone()).unwrap();
                while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
            }
        });
        port
    }

    fn roots(der: &[u8]) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(der.to_vec())).unwrap();
        roots
    }

    #[test]
    fn a_chain_is_valid_until_its_first_certificate_expires() {
        let port = server();
        for (now, result) in [
            ("2025-02-10T00:00:00Z", "2025-03-01T00:00:00"),
            ("2025-03-02T00:00:00Z", "it expired at 2025-03-01"),
            ("2025-04-11T00:00:00Z", "it expired at 2025-04-01"),
            ("2025-01-10T00:00:00Z", "clients do not trust it"),
        ] {
            let at = Timestamp::parse(now).unwrap();
            let found = valid_until("localhost", port, roots(AUTHORITY), at);
            let found = match found {
                Ok(until) => until.to_string(),
                Err(fault) => fault.to_string(),
            };
            assert!(found.starts_with(result), "{now}: {found}");
        }
    }

    #[test]
    fn a_chain_of_an_unknown_authority_is_not_trusted_and_a_closed_port_has_none() {
        let now = Timestamp::parse("2025-02-10T00:00:00Z").unwrap();
        let other = roots(INTERMEDIATE);
        let mut unknown = RootCertStore::empty();
        unknown.roots.extend(egress_roots());
        let found = valid_until("localhost", server(), unknown, now).unwrap_err();
        assert!(matches!(found, CertificateFault::Untrusted(_)), "{found}");
        let closed = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let found = valid_until("localhost", closed.port(), other, now).unwrap_err();
        assert!(matches!(found, CertificateFault::Connect(_)), "{found}");
    }

    /// The authorities of every installation.
    fn egress_roots() -> Vec<rustls::pki_types::TrustAnchor<'static>> {
        switchyard_system::egress::roots().roots
    }
}
