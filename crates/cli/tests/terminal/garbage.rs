//! Servers that say what they should not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::Place;

/// A server that answers whatever it is told to.
pub(crate) struct Fake {
    pub(crate) url: String,
    /// What it was sent: method and path, headers, body.
    pub(crate) sent: Arc<Mutex<Vec<(String, String, String)>>>,
}

impl Fake {
    pub(crate) fn start(
        answer: impl Fn(&str, &str, usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&sent), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &log, &*answer));
            }
        });
        Self { url, sent }
    }
}

fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<(String, String, String)>>,
    answer: &dyn Fn(&str, &str, usize) -> Vec<u8>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    if reader.read_line(&mut head).unwrap_or(0) == 0 {
        return;
    }
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let what = head.rsplit_once(' ').unwrap().0.to_owned();
    let count = {
        let mut log = log.lock().unwrap();
        let count = log.iter().filter(|(before, ..)| *before == what).count();
        log.push((what.clone(), headers, body.clone()));
        count
    };
    // Whoever asked may be gone.
    let answer = answer(&what, &body, count);
    let _ = stream.write_all(&answer);
    if String::from_utf8_lossy(&answer).contains(HOLD) {
        // The line stays open although all is said.
        std::thread::sleep(std::time::Duration::from_mins(5));
    }
}

pub(crate) fn json(value: &Value) -> Vec<u8> {
    let body = value.to_string();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn stream(text: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{text}")
        .into_bytes()
}

fn missing() -> Vec<u8> {
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
}

/// A comment after which a stream is held open.
pub(crate) const HOLD: &str = ": held open\n\n";

const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2Jhi \u{202e}there";

#[test]
fn a_chat_goes_on_over_garbage() {
    let run = json!({ "id": "run_x", "workflow": "w", "version": "v", "conversation": "conv_x", "status": "completed",
        "input": "go", "output": "all is well", "pending": [] });
    let entry = |seq: u64, fields: Value| {
        let mut entry = json!({ "seq": seq, "at": "2026-11-15T00:00:00Z", "run": "run_x" });
        entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        format!("id: {seq}\nevent: entry\ndata: {entry}\n\n")
    };
    let started = entry(
        1,
        json!({ "type": "started", "workflow": "w", "version": "v", "conversation": "conv_x", "input": "go", "by": "me" }),
    );
    let strange = entry(2, json!({ "type": "from_the_future", "what": EVIL }));
    let evil = entry(
        3,
        json!({ "type": "effect", "activation": 1, "key": "k", "kind": "model",
        "outcome": { "reply": { "parts": [{ "text": EVIL }] } } }),
    );
    let end = entry(4, json!({ "type": "run_completed" }));
    let fake = Fake::start(move |what, _, count| match what {
        "GET /v1/session" => json(&json!({ "actor": "me", "roles": [] })),
        "GET /v1/workflows" => json(&json!({ "data": [{ "id": "w", "description": EVIL }] })),
        "GET /v1/workflows/w" => json(&json!({ "id": "w", "input_schema": { "type": "string" } })),
        "POST /v1/runs" | "GET /v1/runs/run_x" => json(&run),
        "GET /v1/runs/run_x/events?after=0" if count == 0 => {
            let long = json!({ "agent": "a", "text": "long ".repeat(250_000) });
            stream(&format!(
                "event: surprise\ndata: {{}}\n\ndata: this is no JSON\n\nevent: delta\ndata: {long}\n\nevent: entry\ndata: {{\"seq\":1,"
            ))
        }
        "GET /v1/runs/run_x/events?after=0" => stream(&format!("{started}{strange}{evil}{end}")),
        _ => missing(),
    });
    let place = Place::new();
    let mut screen = place.open(&["chat", "--server", &fake.url, "w"], &[], (90, 40));
    screen.shows("You talk to w");
    screen.say("go");
    let shown = screen.shows("all is well");
    assert!(shown.contains("an event `surprise` that is not known here"), "{shown}");
    assert!(shown.contains("not JSON: this is no JSON"), "{shown}");
    assert!(shown.contains("type `from_the_future` cannot be read"), "{shown}");
    assert!(shown.contains("⟨U+001B⟩]0;owned⟨U+0007⟩"), "{shown}");
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(!written.contains("\u{1b}]0;owned") && !written.contains('\u{202e}'));
    screen.say("/status");
    screen.shows("state: idle");
}

#[test]
fn an_inbox_shows_what_would_act_on_the_terminal_as_text() {
    let request = json!({ "id": "req_x_1", "version": 1, "status": "pending", "kind": "approval", "run": "run_x", "workflow": EVIL,
        "conversation": "c", "agent_path": [EVIL], "prompt": EVIL, "context": { "proposal": { (EVIL): EVIL } }, "response_schema": {},
        "allowed": ["approve", "reject"], "reasons": [EVIL], "who": EVIL, "assignee": EVIL, "created_at": "2026-11-15T00:00:00Z",
        "preview": { "summary": EVIL, "diff": format!("+{EVIL}") } });
    let listed = json!({ "data": [request.clone(), { "id": 7 }] });
    let good = json!({ "data": [request] });
    let fake = Fake::start(move |what, _, count| match what {
        "GET /v1/session" => json(&json!({ "actor": "me", "roles": [] })),
        "GET /v1/requests/events" if count == 0 => stream(
            "event: request\ndata: {\"change\":\"asked\",\"request\":{}}\n\nevent: what\ndata: 1\n\n",
        ),
        "GET /v1/requests/events" => stream(&": still here\n\n".repeat(3)),
        what if what.starts_with("GET /v1/requests?") => {
            json(if count == 0 { &listed } else { &good })
        }
        _ => missing(),
    });
    let place = Place::new();
    let mut screen = place.open(&["inbox", "--server", &fake.url], &[], (120, 40));
    screen.shows("1 waiting");
    let shown = screen.shows("⟨U+001B⟩]0;owned⟨U+0007⟩");
    assert!(shown.contains("⟨U+202E⟩there"), "{shown}");
    screen.keys("\r");
    screen.shows("Enter answers");
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(
        !written.contains("\u{1b}]0;owned")
            && !written.contains('\u{202e}')
            && !written.contains("\u{1b}[2Jhi")
    );
}
