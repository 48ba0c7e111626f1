//! Which connections a listener takes: a total that leaves files for everything else, and a share
//! of it for each client address.
//!
//! One client can hold as many connections as it likes to open, so without a share of its own it
//! could hold all of them. Proxies in front stand for many clients and are not counted. Operators,
//! balancers and Prometheus have a listener of their own, with its own total.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::Mutex;
use switchyard_core::limits::{CONNECTIONS, CONNECTIONS_PER_STREAM, FILES_RESERVED};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::config::{Settings, TrustedProxies};
use crate::operations::quota::{ClientPermit, ClientQuota};

/// How many connections and event streams there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub connections: usize,
    pub streams: usize,
}

/// The totals of these settings in a process that may have `files` files open.
///
/// # Errors
/// The setting that asks for more files than there are, and a sentence for the operator.
pub fn totals(settings: &Settings, files: u64) -> Result<Totals, (&'static str, String)> {
    let server = &settings.server;
    let reserved = FILES_RESERVED.min(files / 2);
    let room = usize::try_from(files - reserved).unwrap_or(usize::MAX);
    let connections = match server.max_connections {
        None => CONNECTIONS.min(room),
        Some(set) if set as usize <= room => set as usize,
        Some(set) => {
            return Err((
                "server.max_connections",
                format!(
                    "server.max_connections is {set}, and this process may have {files} files open, of which {reserved} are for the store, \
                 providers and webhooks: set at most {room}, or raise the limit (`LimitNOFILE` in \
                 systemd, `ulimit -n`)"
                ),
            ));
        }
    };
    let most = (connections / 2).max(1);
    let streams = match server.max_streams {
        None => (connections / CONNECTIONS_PER_STREAM).max(1),
        Some(set) if set as usize <= most => set as usize,
        Some(set) => {
            return Err((
                "server.max_streams",
                format!(
                    "server.max_streams is {set}, and there are {connections} connections: streams stay open, so set at most {most}, half \
                 of the connections"
                ),
            ));
        }
    };
    Ok(Totals {
        connections,
        streams,
    })
}

/// Limits of one listener, with the connections that it has. A handle.
#[derive(Clone)]
pub struct Admission {
    room: Arc<Semaphore>,
    total: u32,
    of_address: ClientQuota,
    proxies: Arc<TrustedProxies>,
    warned: Arc<Mutex<Option<Instant>>>,
    open: Gauge,
    refused: Counter,
}

/// The place of one connection, until this is dropped.
pub struct ConnectionSlot {
    open: Gauge,
    _room: OwnedSemaphorePermit,
    _of_address: Option<ClientPermit>,
}

impl Admission {
    /// `listener`: its name in metrics. `total`: connections at once. `of_address`: those of one
    /// client address, 0 for any number; connections of `proxies` are not counted there.
    pub fn new(
        listener: &'static str,
        total: usize,
        of_address: u32,
        proxies: Arc<TrustedProxies>,
    ) -> Self {
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        // A counter and a gauge that exist from the start.
        let open = gauge!("switchyard_connections", "listener" => listener);
        open.increment(0.0);
        let refused = counter!("switchyard_connections_refused_total", "listener" => listener);
        refused.increment(0);
        gauge!("switchyard_connections_limit", "listener" => listener).set(total);
        Self {
            room: Arc::new(Semaphore::new(total as usize)),
            total,
            of_address: ClientQuota::new(of_address as usize),
            proxies,
            warned: Arc::default(),
            open,
            refused,
        }
    }

    /// Waits until there is room for one more connection.
    pub async fn room(&self) -> OwnedSemaphorePermit {
        match self.room.clone().acquire_owned().await {
            Ok(room) => room,
            // Unreachable, since this semaphore is never closed; waiting for ever takes no
            // connection, as is meant then.
            Err(_) => std::future::pending().await,
        }
    }

    /// Room for one more connection, if there is some now.
    pub fn room_now(&self) -> Option<OwnedSemaphorePermit> {
        self.room.clone().try_acquire_owned().ok()
    }

    /// A place for the connection of `peer`; `None` when its address is at its limit.
    pub fn admit(&self, room: OwnedSemaphorePermit, peer: SocketAddr) -> Option<ConnectionSlot> {
        let address = peer.ip().to_canonical();
        let of_address = if self.proxies.contains(address) {
            None
        } else if let Some(permit) = self.of_address.take(address) {
            Some(permit)
        } else {
            self.refused.increment(1);
            self.warn(address);
            return None;
        };
        self.open.increment(1.0);
        Some(ConnectionSlot {
            open: self.open.clone(),
            _room: room,
            _of_address: of_address,
        })
    }

    /// Returns when the last connection has ended.
    pub async fn emptied(&self) {
        // An error means a closed semaphore, and this one is never closed.
        let _ = self.room.acquire_many(self.total).await;
    }

    fn warn(&self, address: IpAddr) {
        let mut warned = self.warned.lock();
        if warned.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
            *warned = Some(Instant::now());
            tracing::warn!(
                client.address = %address,
                setting = "server.max_connections_per_address",
                "connection refused, address has too many open"
            );
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.decrement(1.0);
    }
}

/// Sends 429 to a client that has too many connections, without waiting for it.
pub fn refuse(stream: &TcpStream) {
    // An error means that the client does not get the reason; the connection ends in any case.
    let _ = stream.try_write(TOO_MANY);
}

const TOO_MANY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain\r\ncontent-length: 41\r\nretry-after: 5\r\n\
connection: close\r\n\r\nToo many connections from your address.\r\n";
/// One line of the log for a flood.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(connections: Option<u32>, streams: Option<u32>) -> Settings {
        let mut settings = Settings::default();
        settings.server.max_connections = connections;
        settings.server.max_streams = streams;
        settings
    }

    #[test]
    fn connections_leave_files_for_the_rest_and_streams_leave_connections() {
        for (files, connections) in [
            (1_024, 512),
            (4_096, 2_048),
            (10_000, 5_904),
            (65_536, 10_000),
            (u64::MAX, 10_000),
        ] {
            let totals = totals(&settings(None, None), files).unwrap();
            assert_eq!(totals.connections, connections, "{files}");
            assert_eq!(totals.streams, connections / 4, "{files}");
        }
        let chosen = totals(&settings(Some(20_000), Some(10_000)), 65_536).unwrap();
        assert_eq!((chosen.connections, chosen.streams), (20_000, 10_000));
    }

    #[test]
    fn more_than_the_system_allows_is_refused_with_what_to_do() {
        let refused = totals(&settings(Some(1_000), None), 1_024).unwrap_err();
        assert!(refused.1.contains("set at most 512"), "{refused:?}");
        let refused = totals(&settings(Some(1_000), Some(501)), 65_536).unwrap_err();
        assert!(refused.1.contains("set at most 500"), "{refused:?}");
    }

    #[test]
    fn the_refusal_is_a_whole_response() {
        let text = std::str::from_utf8(TOO_MANY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
    }
}
