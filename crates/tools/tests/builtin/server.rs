//! A web server for tests: it says what it is told to and remembers what it was asked.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that answers every path with what is written for it, and remembers what it was asked.
pub(super) struct Server {
    pub(super) origin: String,
    pub(super) asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    let mut piece = [0; 4096];
                    loop {
                        let read = stream.read(&mut piece).await.unwrap_or(0);
                        request.extend_from_slice(&piece[..read]);
                        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
                        let Some((head, body)) = text.split_once("\r\n\r\n") else {
                            assert!(read > 0, "{text}");
                            continue;
                        };
                        let length =
                            head.lines().find_map(|line| line.strip_prefix("content-length: "));
                        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                            break;
                        }
                    }
                    let request = String::from_utf8(request).unwrap();
                    let path = request.split(' ').nth(1).unwrap().to_owned();
                    seen.lock().unwrap().push(request);
                    // A client that has enough may hang up.
                    let _ = stream.write_all(&answer(&path)).await;
                });
            }
        });
        Self { origin, asked }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    pub(super) fn last(&self) -> String {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

/// A whole response.
pub(super) fn page(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
