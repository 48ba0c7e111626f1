//! A merchant's webhook endpoint: it records what comes, and is down, slow or wrong when a test
//! says so.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::server::free_port;

/// Response of the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Status(u16),
    /// 200, but only after this long.
    Slow(Duration),
}

/// One request that came in.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub at: Instant,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Response that was sent or prepared.
    pub answered: Manner,
}

impl Delivery {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// `payment.success`, say.
    pub fn event(&self) -> String {
        self.json()["event"].as_str().unwrap_or_default().to_owned()
    }

    /// The transaction's id.
    pub fn id(&self) -> String {
        self.json()["data"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Signature (docs/contract/webhooks.md): lower-case hexadecimal HMAC-SHA256 of the raw body.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        self.header("x-service-signature") == signature(secret, &self.body)
    }

    pub fn was_acknowledged(&self) -> bool {
        self.answered == Manner::Status(200)
    }
}

pub fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length will do");
    mac.update(body);
    base16ct::lower::encode_string(&mac.finalize().into_bytes())
}

/// The endpoint. It keeps its port while it is down.
pub struct Receiver {
    port: u16,
    shared: Arc<Mutex<Shared>>,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

struct Shared {
    received: Vec<Delivery>,
    next: VecDeque<Manner>,
    then: Manner,
}

impl Receiver {
    /// Up, and answers 200.
    pub async fn start() -> anyhow::Result<Self> {
        let shared = Shared {
            received: Vec::new(),
            next: VecDeque::new(),
            then: Manner::Status(200),
        };
        let mut receiver = Self {
            port: free_port()?,
            shared: Arc::new(Mutex::new(shared)),
            running: None,
        };
        receiver.up().await?;
        Ok(receiver)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/webhooks", self.port)
    }

    /// The next requests are answered like this, one each.
    pub fn next(&self, manners: impl IntoIterator<Item = Manner>) {
        self.lock().next.extend(manners);
    }

    /// All requests after those of [`Receiver::next`] are answered like this.
    pub fn always(&self, manner: Manner) {
        self.lock().then = manner;
    }

    /// All deliveries so far, in order of arrival.
    pub fn received(&self) -> Vec<Delivery> {
        self.lock().received.clone()
    }

    /// Refuses connections after this call.
    pub async fn down(&mut self) {
        if let Some((stop, task)) = self.running.take() {
            // The task may have ended already; then the signal has no receiver.
            let _ = stop.send(());
            let _ = task.await;
        }
    }

    /// Listens again, on the same port.
    pub async fn up(&mut self) -> anyhow::Result<()> {
        self.down().await;
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).await?;
        let app = Router::new()
            .fallback(receive)
            .with_state(self.shared.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let served =
            axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
        let task =
            tokio::spawn(async { served.await.expect("axum's serve has no errors of its own") });
        self.running = Some((stop, task));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

async fn receive(
    State(shared): State<Arc<Mutex<Shared>>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let manner = {
        let mut shared = lock(&shared);
        let manner = shared.next.pop_front().unwrap_or(shared.then);
        shared.received.push(Delivery {
            at: Instant::now(),
            headers,
            body,
            answered: manner,
        });
        manner
    };
    match manner {
        Manner::Status(status) => {
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
        }
        Manner::Slow(time) => {
            tokio::time::sleep(time).await;
            StatusCode::OK
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    #[tokio::test]
    async fn it_records_answers_as_told_and_goes_down_and_up() -> anyhow::Result<()> {
        let mut receiver = Receiver::start().await?;
        let sender = Client::new(receiver.url().trim_end_matches("/webhooks"), None);
        let event = serde_json::json!({ "event": "payment.success", "data": { "id": "py_1" } });
        let send = || sender.post("/webhooks", &event);
        receiver.next([Manner::Status(503)]);
        assert_eq!((send().await?.status, send().await?.status), (503, 200));
        receiver.down().await;
        assert!(send().await.is_err(), "nobody listens");
        receiver.up().await?;
        send().await?.expect(200)?;

        let received = receiver.received();
        assert_eq!(
            received
                .iter()
                .map(Delivery::was_acknowledged)
                .collect::<Vec<_>>(),
            [false, true, true]
        );
        assert_eq!(
            (received[0].event(), received[0].id()),
            ("payment.success".to_owned(), "py_1".to_owned())
        );
        Ok(())
    }

    #[test]
    fn the_signature_is_the_one_of_the_contract() {
        // RFC 4231, test case 2.
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature("Jefe", b"what do ya want for nothing?"), expected);
    }
}
