//! Clients that send too much, or never come to an end, cost the server little and others nothing.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::support::{Client, Place};

/// What a client wants to send in vain.
const HUGE: usize = 100 * 1024 * 1024;
/// How many clients do so at once.
const CLIENTS: usize = 4;
/// How much more memory the server may take for all of them.
const MORE: u64 = 32 * 1024 * 1024;

/// Memory that the server has, as it says itself.
async fn resident(server: &Client) -> u64 {
    let metrics = server.request(reqwest::Method::GET, "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}

fn connect(server: &Client) -> TcpStream {
    let stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

/// Sends a body of `HUGE` bytes for as long as the server takes it, and gives its answer and how much
/// it took.
fn send(server: &Client, framing: &str) -> (String, usize) {
    let mut stream = connect(server);
    let host = server.url.strip_prefix("http://").unwrap();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answers = stream.try_clone().unwrap();
    // The answer comes while we still send.
    let reading = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match answers.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => answer.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        String::from_utf8(answer).unwrap()
    });
    let piece = vec![b'x'; 64 * 1024];
    let chunked = framing.contains("chunked");
    let mut sent = 0;
    while sent < HUGE {
        let written = if chunked {
            let size = format!("{:x}\r\n", piece.len());
            stream
                .write_all(size.as_bytes())
                .and_then(|()| stream.write_all(&piece))
                .and_then(|()| stream.write_all(b"\r\n"))
        } else {
            stream.write_all(&piece)
        };
        if written.is_err() {
            break;
        }
        sent += piece.len();
    }
    let _ = stream.shutdown(Shutdown::Write);
    (reading.join().unwrap(), sent)
}

#[tokio::test]
async fn a_body_of_100_mb_is_not_taken_into_memory() {
    let server = Place::new().serve();
    // Once for everything that is made at the first use.
    server.read("/v1/runs").await;
    let before = resident(&server).await;
    for framing in [format!("Content-Length: {HUGE}"), "Transfer-Encoding: chunked".to_owned()] {
        let sending: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (client, framing) = (server.client.clone(), framing.clone());
                tokio::task::spawn_blocking(move || send(&client, &framing))
            })
            .collect();
        for sent in sending {
            let (answer, sent) = sent.await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 413"), "{framing}: {answer}");
            assert!(answer.contains("body_too_large"), "{framing}: {answer}");
            assert!(answer.contains("connection: close"), "{framing}: {answer}");
            assert!(sent < HUGE, "{framing}: all of it was taken");
        }
        let after = resident(&server).await;
        let more = after.saturating_sub(before);
        assert!(more < MORE, "{framing}: {before} bytes before, {after} after");
    }
    let run = server.start("ask", "hi").await;
    server.pending(&run).await;
}

#[tokio::test]
async fn a_head_has_its_bounds() {
    let server = Place::new().serve();
    let many: Vec<String> = (0..200).map(|n| format!("X-{n}: a\r\n")).collect();
    let many = many.concat();
    let large = format!("X: {}\r\n", "a".repeat(64 * 1024));
    let path = "a".repeat(64 * 1024);
    for (what, head) in [
        ("many headers", format!("GET /health HTTP/1.1\r\n{many}\r\n")),
        ("a large header", format!("GET /health HTTP/1.1\r\n{large}\r\n")),
        ("a long path", format!("GET /{path} HTTP/1.1\r\n\r\n")),
        ("no HTTP", "\u{16}\u{3}\u{1} hello\r\n\r\n".to_owned()),
        ("a bad name", "GET /health HTTP/1.1\r\nA B: c\r\n\r\n".to_owned()),
    ] {
        let mut stream = connect(&server);
        // The server may hang up before it has read all.
        let _ = stream.write_all(head.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let refused = ["HTTP/1.1 400", "HTTP/1.1 414", "HTTP/1.1 431"];
        assert!(refused.iter().any(|it| answer.starts_with(it)), "{what}: {answer}");
    }
    assert_eq!(server.read("/health").await["status"], "ok");
}

#[tokio::test]
async fn many_who_never_come_to_an_end_hold_up_nobody() {
    let server = Place::new().serve();
    let host = server.url.strip_prefix("http://").unwrap();
    let before = resident(&server).await;
    let mut open = Vec::new();
    for n in 0..600 {
        let mut stream = connect(&server);
        let begun = if n % 2 == 0 {
            "GET /health HTTP/1.1\r\nX: a".to_owned()
        } else {
            format!(
                "POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
                 Content-Length: 1000000\r\n\r\n{{"
            )
        };
        stream.write_all(begun.as_bytes()).unwrap();
        open.push(stream);
    }
    // A little more from each, as such clients do.
    for stream in &mut open {
        stream.write_all(b" ").unwrap();
    }
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let decided = server.decide(&request, &serde_json::json!({ "decision": "approve" })).await;
    assert_eq!(decided.0, 200);
    let more = resident(&server).await.saturating_sub(before);
    assert!(more < MORE, "{more} bytes for {} connections", open.len());
}
