//! A client that costs little, so that what is measured is the server: one connection, one request at a time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that is opened when it is needed.
pub(super) struct Connection {
    host: String,
    stream: Option<TcpStream>,
    /// What was read and not used yet.
    left: Vec<u8>,
}

/// An answer, with when its first event and its end came.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    pub(super) first: Duration,
    pub(super) done: Duration,
}

impl Connection {
    pub(super) fn new(url: &str) -> Self {
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { host, stream: None, left: Vec::new() }
    }

    /// Asks and reads the whole answer.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Answer> {
        let asked = Instant::now();
        let status = self.send(method, path, body).await?;
        let mut answer = Answer {
            status: status.0,
            body: Vec::new(),
            first: Duration::ZERO,
            done: Duration::ZERO,
        };
        match status.1 {
            Length::Chunks => {
                while let Some(chunk) = self.chunk().await? {
                    answer.body.extend_from_slice(&chunk);
                    if answer.first.is_zero() && answer.body.windows(5).any(|it| it == b"data:") {
                        answer.first = asked.elapsed();
                    }
                }
            }
            Length::Bytes(count) => answer.body = self.take(count).await?,
        }
        answer.done = asked.elapsed();
        if answer.first.is_zero() {
            answer.first = answer.done;
        }
        Ok(answer)
    }

    /// Sends a request and reads the head of the answer.
    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Length)> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.host).await?;
            stream.set_nodelay(true)?;
            (self.stream, self.left) = (Some(stream), Vec::new());
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: text/event-stream, application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream()?.write_all(request.as_bytes()).await?;
        let head = self.until(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).context("no status")?;
        let field =
            |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let length = match field("transfer-encoding:") {
            Some("chunked") => Length::Chunks,
            _ => Length::Bytes(field("content-length:").unwrap_or("0").parse()?),
        };
        Ok((status, length))
    }

    /// The next piece of an answer that comes in pieces; none at its end.
    pub(super) async fn chunk(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let size = self.until(b"\r\n").await?;
        let size = std::str::from_utf8(&size)?.trim();
        let size = usize::from_str_radix(size.split(';').next().unwrap_or(size), 16)?;
        let mut chunk = self.take(size + 2).await?;
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }

    fn stream(&mut self) -> anyhow::Result<&mut TcpStream> {
        self.stream.as_mut().context("the connection is closed")
    }

    async fn until(&mut self, end: &[u8]) -> anyhow::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.left.windows(end.len()).position(|it| it == end) {
                let rest = self.left.split_off(at + end.len());
                return Ok(std::mem::replace(&mut self.left, rest));
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, count: usize) -> anyhow::Result<Vec<u8>> {
        while self.left.len() < count {
            self.more().await?;
        }
        let rest = self.left.split_off(count);
        Ok(std::mem::replace(&mut self.left, rest))
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        let stream = self.stream.as_mut().context("the connection is closed")?;
        self.left.reserve(16 * 1024);
        if stream.read_buf(&mut self.left).await? == 0 {
            self.stream = None;
            bail!("the server closed the connection");
        }
        Ok(())
    }
}

/// How an answer says where it ends.
pub(super) enum Length {
    Bytes(usize),
    Chunks,
}
