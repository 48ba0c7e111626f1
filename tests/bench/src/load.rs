//! A closed loop of HTTP/1.1 connections: the same request again and again, each as soon as the last was answered.
//!
//! It writes prepared bytes and reads no more of an answer than its status and length, so that the client takes as little as possible of
//! the cores that it shares with the server.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// What one run came to.
#[derive(Clone, Debug, Default)]
pub struct Load {
    pub seconds: f64,
    /// In microseconds, sorted.
    pub latencies: Vec<u32>,
}

impl Load {
    pub fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// The latency below which `share` of the requests were answered, in milliseconds.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share) as usize;
        self.latencies
            .get(at)
            .map_or(0.0, |micros| f64::from(*micros) / 1_000.0)
    }

    /// Both runs as one.
    pub fn join(mut self, other: Self) -> Self {
        self.seconds += other.seconds;
        self.latencies.extend(other.latencies);
        self.latencies.sort_unstable();
        self
    }
}

/// Sends what `request` makes of a running number over `connections` connections for `time`. Every answer must have `status`.
pub async fn drive(
    address: SocketAddr,
    connections: u64,
    time: Duration,
    status: u16,
    request: impl Fn(u64) -> Vec<u8> + Clone + Send + 'static,
) -> Result<Load> {
    let start = Instant::now();
    let end = start + time;
    let mut loops = Vec::new();
    for connection in 0..connections {
        let request = request.clone();
        loops.push(tokio::spawn(async move {
            one(address, connection, end, status, request).await
        }));
    }
    let mut load = Load::default();
    for one in loops {
        load.latencies.extend(one.await??);
    }
    load.seconds = start.elapsed().as_secs_f64();
    load.latencies.sort_unstable();
    Ok(load)
}

async fn one(
    address: SocketAddr,
    connection: u64,
    end: Instant,
    status: u16,
    request: impl Fn(u64) -> Vec<u8>,
) -> Result<Vec<u32>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let expected = format!("HTTP/1.1 {status} ");
    let mut latencies = Vec::new();
    let mut buffer = Vec::with_capacity(16 * 1024);
    let mut number = connection << 40;
    while Instant::now() < end {
        let bytes = request(number);
        number += 1;
        let sent = Instant::now();
        stream.write_all(&bytes).await?;
        read_answer(&mut stream, &mut buffer).await?;
        latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        ensure!(
            buffer.starts_with(expected.as_bytes()),
            "unexpected answer: {}",
            String::from_utf8_lossy(&buffer)
        );
    }
    Ok(latencies)
}

async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<()> {
    ensure!(read_message(stream, buffer).await?, "the server hung up");
    Ok(())
}

/// Reads a head and the body behind it. `false`: the connection ended.
pub async fn read_message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<bool> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(false);
        }
        let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(&buffer[..head])?.to_ascii_lowercase();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .context("a message without a length")?;
        let total = head + 4 + length.trim().parse::<usize>()?;
        while buffer.len() < total {
            if stream.read_buf(buffer).await? == 0 {
                return Ok(false);
            }
        }
        return Ok(true);
    }
}
