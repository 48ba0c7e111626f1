//! The receivers of webhooks, all in one process of their own: 20,000 ends of connections are more
//! than one process may have open.
//!
//! Each has an address of its own in 127.0.0.0/8, as merchants' servers have: no connection serves
//! two of them. The behaviour of a receiver is in its path. Arrivals are printed on the standard
//! output, one line each: the time in microseconds, and the event; of an arrival at a dead
//! receiver, its path alone.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use switchyard_core::ids::EventId;
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::load::read_message;

/// Answers 200 at once.
pub const GOOD: &str = "/good";
/// Takes the request, and never answers.
pub const DEAD: &str = "/dead";
/// Answers 200 after 2.9 s, just before it would be too late.
pub const SLOW: &str = "/slow";
/// Answers 500 at once.
pub const REFUSING: &str = "/refusing";

/// The process with all receivers. It ends with this.
pub struct Receivers {
    pub port: u16,
    /// Attempts at dead receivers so far.
    at_dead: Arc<AtomicUsize>,
    arrivals: mpsc::UnboundedReceiver<Arrival>,
    _process: Child,
}

/// A webhook came to a good or to a refusing receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Timestamp,
    pub event: EventId,
}

impl Receivers {
    pub async fn start() -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("receive")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let said = process.stdout.take().context("it was piped")?;
        let mut lines = BufReader::new(said).lines();
        let port = lines.next_line().await?.context("the receivers ended")?;
        let (told, arrivals) = mpsc::unbounded_channel();
        let at_dead = Arc::<AtomicUsize>::default();
        let attempts = Arc::clone(&at_dead);
        tokio::spawn(async move {
            while let Some(line) = lines.next_line().await? {
                if line == DEAD {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let (at, event) = line.split_once(' ').context("a moment and an event")?;
                let arrival = Arrival {
                    at: Timestamp::from_micros(at.parse()?),
                    event: event.parse()?,
                };
                if told.send(arrival).is_err() {
                    break;
                }
            }
            anyhow::Ok(())
        });
        Ok(Self {
            port: port.parse()?,
            at_dead,
            arrivals,
            _process: process,
        })
    }

    /// How many attempts at dead receivers there were so far.
    pub fn attempts_at_dead(&self) -> usize {
        self.at_dead.load(Ordering::Relaxed)
    }

    /// The next arrival; `None` when there was none for `patience`.
    pub async fn next(&mut self, patience: Duration) -> Option<Arrival> {
        let next = tokio::time::timeout(patience, self.arrivals.recv()).await;
        next.ok().flatten()
    }
}

/// The other process.
pub async fn serve() -> Result<()> {
    switchyard_system::descriptors::raise_limit()?;
    let listener = TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).await?;
    let mut out = tokio::io::stdout();
    let port = listener.local_addr()?.port();
    out.write_all(format!("{port}\n").as_bytes()).await?;
    out.flush().await?;
    let (told, mut arrivals) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(answer(stream, told.clone()))),
                // One process may have so many connections and no more: the next waits until others
                // have ended.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    let mut some = Vec::new();
    while arrivals.recv_many(&mut some, 1_000).await > 0 {
        let lines: String = some.drain(..).collect();
        // Nobody listens any more: the measurement is over.
        if out.write_all(lines.as_bytes()).await.is_err() || out.flush().await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn answer(mut stream: TcpStream, told: mpsc::UnboundedSender<String>) -> Result<()> {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    const REFUSED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
    let clock = Clock::wall();
    let mut buffer = Vec::with_capacity(4_096);
    while read_message(&mut stream, &mut buffer).await? {
        let head = String::from_utf8_lossy(&buffer);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let said = match path {
            DEAD => {
                let _ = told.send(format!("{DEAD}\n"));
                // Until the sender gives it up: with retries there would soon be more of these than
                // one process may have.
                let mut more = [0];
                let gone = stream.read(&mut more);
                let _ = tokio::time::timeout(Duration::from_secs(60), gone).await;
                return Ok(());
            }
            SLOW => {
                tokio::time::sleep(Duration::from_millis(2_900)).await;
                OK
            }
            path => {
                let line = |line: &str| line.strip_prefix("webhook-id: ").map(str::to_owned);
                let id = head.lines().find_map(line).context("no webhook-id")?;
                // Before the answer: a retry is due its interval after the engine has it, which is
                // later still.
                let at = clock.now().as_micros();
                let _ = told.send(format!("{at} {}\n", id.trim()));
                if path == REFUSING { REFUSED } else { OK }
            }
        };
        stream.write_all(said).await?;
    }
    Ok(())
}
