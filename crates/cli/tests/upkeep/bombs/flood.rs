//! Somebody whom the server asks, and who does not stop answering.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Who answers without end, by the path that is asked for.
pub(super) struct Flood {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Flood {
    /// `packed` is a small body that is large when it is unpacked.
    pub(super) fn start(packed: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (all, packed) = (Arc::clone(&all), packed.clone());
                std::thread::spawn(move || answer(stream, &all, &packed));
            }
        });
        Self { port, asked }
    }

    /// The paths that were asked for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<String>>, packed: &[u8]) {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let word = "x".repeat(1000);
    let chat =
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}]}}\n\n");
    let response = format!(
        "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\
         \"output_index\":0,\"content_index\":0,\"delta\":\"{word}\"}}\n\n"
    );
    let claude = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{{\"type\":\"text_delta\",\"text\":\"{word}\"}}}}\n\n"
    );
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\n\
                 event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n\n";
    let (begin, again) = match path
        .trim_start_matches('/')
        .split(['/', '?'])
        .next()
        .unwrap_or_default()
    {
        "chat" => (events.to_owned(), chat),
        "responses" => (events.to_owned(), response),
        "claude" => (format!("{events}{start}"), claude),
        "notes" => (events.to_owned(), note.to_owned()),
        // One event, one line, for ever.
        "line" => (format!("{events}data: "), word),
        "head" => ("HTTP/1.1 200 OK\r\nx: ".to_owned(), word),
        "packed" | "brotli" => {
            let encoding = if path.contains("brotli") { "br" } else { "gzip" };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: {encoding}\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n",
                packed.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(packed);
            return;
        }
        _ => (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[".to_owned(),
            "1,".repeat(500),
        ),
    };
    if stream.write_all(begin.as_bytes()).is_err() {
        return;
    }
    // Some at once, so that it is quick.
    let again = again.repeat(16);
    while stream.write_all(again.as_bytes()).is_ok() {}
}
