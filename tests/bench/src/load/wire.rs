//! HTTP/1.1 with prepared bytes. It reads no more of an answer than it must, so that the client
//! takes as little as possible of the cores that it shares with the server.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Work;

/// A connection to a server.
pub struct Line {
    stream: TcpStream,
    /// The last answer.
    answer: Vec<u8>,
}

impl Line {
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let answer = Vec::with_capacity(16 * 1024);
        Ok(Self { stream, answer })
    }

    /// Sends a request and reads the answer, which must have `status`.
    pub async fn ask(&mut self, request: &[u8], status: u16) -> Result<()> {
        self.stream.write_all(request).await?;
        let read = read_message(&mut self.stream, &mut self.answer).await?;
        ensure!(read, "the server hung up");
        let found = self.answer.get(9..12).unwrap_or_default();
        ensure!(
            self.answer.starts_with(b"HTTP/1.1 ") && found == status.to_string().as_bytes(),
            "unexpected answer: {}",
            String::from_utf8_lossy(&self.answer)
        );
        Ok(())
    }

    /// The last response, head and body.
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// The text between `before` and the next `end` in the last answer.
    pub fn between(&self, before: &str, end: char) -> Result<&str> {
        let text = std::str::from_utf8(&self.answer)?;
        let found = text
            .split_once(before)
            .and_then(|(_, rest)| rest.split_once(end));
        Ok(found.with_context(|| format!("no {before} in {text}"))?.0)
    }
}

/// One request, made of its number.
#[derive(Clone)]
pub struct Request {
    pub address: SocketAddr,
    pub status: u16,
    pub bytes: Arc<dyn Fn(u64) -> Vec<u8> + Send + Sync>,
}

impl Work for Request {
    type Line = Line;

    async fn begin(&self) -> Result<Line> {
        Line::connect(self.address).await
    }

    async fn once(&self, line: &mut Line, number: u64) -> Result<()> {
        line.ask(&(self.bytes)(number), self.status).await
    }
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
