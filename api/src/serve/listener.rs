//! Connections: how they are taken, how many there may be, how long a silent one may stay, and how
//! they end.
//!
//! Promises: never more than the listener's total at once, the next wait in the port's queue; one
//! address never has more than its share; silent connections time out; and a shutdown breaks no
//! connection with a request on it. For that the shutdown has two parts. At first everything is
//! served as before, but each response closes its connection, so that clients reconnect
//! elsewhere; balancers are notified by `/readyz`. Then the port is closed, after the connections
//! in its queue were accepted, and requests in flight are finished.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderValue, StatusCode, Version};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use switchyard_core::limits::{CONNECTION_IDLE_TIMEOUT, REQUEST_HEAD_BYTES};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tower::ServiceExt as _;

use super::admission::{self, Admission, ConnectionSlot};
use crate::operations::Draining;

/// State that all connections share.
#[derive(Clone)]
struct ServerContext {
    routes: Router,
    /// The end has begun: answers close their connections.
    draining: Draining,
    /// The port is closed: who has not asked for anything goes.
    closed: Draining,
    /// Timeout of an idle connection and of the head of a request.
    silence: Duration,
}

/// Serves until `draining` has begun and `drain_delay` has passed since; returns when the last
/// connection has ended.
pub async fn serve(
    listener: TcpListener,
    admission: Admission,
    routes: Router,
    draining: Draining,
    drain_delay: Duration,
) {
    let hall = ServerContext {
        routes,
        draining,
        closed: Draining::default(),
        silence: CONNECTION_IDLE_TIMEOUT,
    };
    receive(listener, admission, hall, drain_delay).await;
}

async fn receive(
    listener: TcpListener,
    admission: Admission,
    hall: ServerContext,
    drain_delay: Duration,
) {
    let draining = hall.draining.clone();
    let mut end = pin!(async move {
        draining.begun().await;
        tokio::time::sleep(drain_delay).await;
    });
    loop {
        let (stream, peer, room) = tokio::select! {
            () = &mut end => break,
            taken = take(&listener, &admission) => taken,
        };
        match admission.admit(room, peer) {
            Some(place) => {
                tokio::spawn(connection(hall.clone(), stream, peer, place));
            }
            None => admission::refuse(&stream),
        }
    }
    drain_accept_queue(listener, &admission, &hall);
    hall.closed.begin();
    admission.emptied().await;
}

/// The next connection, when there is room for it.
async fn take(
    listener: &TcpListener,
    admission: &Admission,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        let room = admission.room().await;
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, room),
            // The client went away while it stood in the queue.
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::error!(%error, "failed to accept a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// Lets in who stood in the queue of the port, which would throw them out as it closes.
fn drain_accept_queue(listener: TcpListener, admission: &Admission, hall: &ServerContext) {
    let Ok(listener) = listener.into_std() else {
        return;
    };
    while let Some(room) = admission.room_now()
        && let Ok((stream, peer)) = listener.accept()
    {
        let stream = stream
            .set_nonblocking(true)
            .and_then(|()| TcpStream::from_std(stream));
        if let Ok(stream) = stream
            && let Some(place) = admission.admit(room, peer)
        {
            tokio::spawn(connection(hall.clone(), stream, peer, place));
        }
    }
}

async fn connection(
    hall: ServerContext,
    stream: TcpStream,
    peer: SocketAddr,
    place: ConnectionSlot,
) {
    // Answers are small and complete: waiting to fill a packet only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    let has_asked = Arc::new(AtomicBool::new(false));
    let service = service_fn({
        let (hall, has_asked) = (hall.clone(), has_asked.clone());
        move |request| {
            has_asked.store(true, Ordering::Relaxed);
            answer(hall.clone(), peer, request)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(hall.silence)
        .max_buf_size(REQUEST_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let to_leave = async {
        hall.closed.begun().await;
        // A connection that was accepted last has sent no request yet.
        if !has_asked.load(Ordering::Relaxed) {
            tokio::time::sleep(GREETING).await;
        }
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = to_leave => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "connection ended early");
    }
    drop(place);
}

async fn answer(
    hall: ServerContext,
    peer: SocketAddr,
    request: axum::http::Request<Incoming>,
) -> Result<axum::response::Response, Infallible> {
    // Who else reads this connection, before us, may believe another end of a chunked body: nothing
    // after it is taken for a request (RFC 9112, 6.1).
    let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let is_ambiguous = !names_one_host(&request);
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    let mut response = match is_ambiguous {
        true => StatusCode::BAD_REQUEST.into_response(),
        false => hall.routes.oneshot(request).await?,
    };
    // The rest of a body that is too large is not read, so this connection ends: the client is
    // told.
    let is_cut_off = response.status() == StatusCode::PAYLOAD_TOO_LARGE;
    if is_chunked || is_ambiguous || is_cut_off || hall.draining.has_begun() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    Ok(response)
}

/// We do not read it; who reads this connection before us may route by it, and not by the one that
/// we would see (RFC 9112, 3.2).
fn names_one_host(request: &axum::http::Request<Incoming>) -> bool {
    let named = request.headers().get_all(HOST).iter().count();
    named == 1 || named == 0 && request.version() == Version::HTTP_10
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// Out of file descriptors, most likely: others have to end first.
const ACCEPT_RETRY: Duration = Duration::from_millis(200);
/// How long a connection that was taken at the very end has to say what it wants.
const GREETING: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn whoever_never_ends_a_head_is_shown_out_and_the_next_one_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hall = ServerContext {
            routes: Router::new().fallback(async || "served"),
            draining: Draining::default(),
            closed: Draining::default(),
            silence: Duration::from_millis(300),
        };
        let admission = Admission::new("public", 10, 0, Arc::default());
        tokio::spawn(receive(listener, admission, hall, Duration::ZERO));
        for said in [
            "",
            "G",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\nx: ",
        ] {
            let mut slow = TcpStream::connect(address).await.unwrap();
            slow.write_all(said.as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            slow.read_to_end(&mut heard).await.unwrap();
            let heard = String::from_utf8_lossy(&heard);
            assert!(!heard.contains("served"), "{said:?}: {heard}");
        }
        let mut quick = TcpStream::connect(address).await.unwrap();
        let asked = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        quick.write_all(asked).await.unwrap();
        let mut heard = String::new();
        quick.read_to_string(&mut heard).await.unwrap();
        assert!(heard.ends_with("served"), "{heard}");
    }
}
