//! Garbage over the network: whatever is sent, it is answered or refused, never with an error of the server's own, and
//! everybody else is served on.

use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Method;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use crate::support::Place;

/// What makes sense, to be changed.
const SEEDS: &[(&str, &str)] = &[
    ("/v1/runs", r#"{"workflow":"ask","input":"x","conversation":"c","idempotency_key":"k"}"#),
    (
        "/v1/requests/req_x_1/decision",
        r#"{"decision":"respond","content":{"a":[1,null]},"version":1}"#,
    ),
    (
        "/v1/responses",
        r#"{"model":"ask","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}],"stream":true,"metadata":{"entity_id":"ask"}}"#,
    ),
    (
        "/v1/conversations",
        r#"{"metadata":{"a":"b"},"items":[{"type":"message","role":"user","content":"hi"}]}"#,
    ),
    (
        "/a2a/ask",
        r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#,
    ),
    (
        "/a2a/ask",
        r#"{"jsonrpc":"2.0","id":"1","method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#,
    ),
    (
        "/a2a/ask",
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","historyLength":3}}"#,
    ),
    (
        "/ag-ui/ask",
        r#"{"threadId":"t","runId":"r","state":{},"messages":[{"id":"1","role":"user","content":"hi"}],"tools":[],"context":[],"forwardedProps":{}}"#,
    ),
    (
        "/mcp",
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
    ),
    (
        "/mcp",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_person","arguments":{"question":"?"}}}"#,
    ),
    ("/bridge/v1/responses", r#"{"model":"ask","input":"hi","stream":false}"#),
    ("/v1/session", r#"{"token":"sgn_x"}"#),
];
const FRAMES: &[&str] = &[
    r#"{"type":"decide","id":"1","request":"req_x_1","decision":{"decision":"approve"}}"#,
    r#"{"type":"attach","id":"2","run":"run_x","after":0}"#,
    r#"{"type":"resolve_approval","approval_id":"req_x_1","decision":"approve"}"#,
];
const PATHS: &[&str] = &[
    "/v1/runs?cursor=r1&limit=3&status=waiting",
    "/v1/requests?cursor=q1&kind=approval&text=a",
    "/v1/audit?cursor=a1&after=0",
    "/v1/runs/run_x/events?after=1",
    "/decide/eyJhIjoxfQ.c2lnbmF0dXJl",
    "/v1/responses/resp_x_1?starting_after=2",
];
const BYTES: &[&str] = &[
    "\"", "{", "}", "[", "\\", "\\ud800", "null", "1e999", "%00", "\u{0}", "é", "-1", "\n", "💥",
    ",", "true",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    /// A text with some changes.
    fn changed(&mut self, text: &str) -> String {
        let mut all: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let place = self.below(all.len() + 1);
            match self.below(4) {
                0 => all.truncate(place),
                1 => drop(all.splice(place..place, BYTES[self.below(BYTES.len())].chars())),
                2 => {
                    let until = (place + self.below(12)).min(all.len());
                    drop(all.drain(place..until));
                }
                _ => {
                    let until = (place + self.below(30)).min(all.len());
                    let piece = all[place..until].repeat(1 + self.below(40));
                    drop(all.splice(place..place, piece));
                }
            }
        }
        all.into_iter().collect()
    }
}

#[tokio::test]
async fn garbage_is_refused_and_nothing_breaks() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|it| it.parse().ok()).unwrap_or(6);
    let seed = (u64::from(std::process::id()) << 7) | 1;
    let mut dice = Dice(seed);
    let server = Place::new().serve_with(&["--max-rate", "100000"]);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut sent = 0_u32;
    while Instant::now() < until || sent < 200 {
        let (path, seed_body) = SEEDS[dice.below(SEEDS.len())];
        let body = dice.changed(seed_body);
        let accept = "application/json, text/event-stream";
        let request = server
            .request(Method::POST, path)
            .header("content-type", "application/json")
            .header("accept", accept)
            .body(body.clone());
        let response =
            request.send().await.unwrap_or_else(|error| panic!("{path} {body}: {error}"));
        let status = response.status();
        // A stream of a run that waits does not end; what was refused does.
        if !status.is_success() {
            let told: Value =
                serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default();
            assert!(!status.is_server_error(), "seed {seed}: {path} {body}: {status} {told}");
        }
        let path = PATHS[dice.below(PATHS.len())];
        let path = dice.changed(path);
        let path: String = path.chars().filter(|c| c.is_ascii_graphic() && *c != '#').collect();
        let path = format!("/{}", path.trim_start_matches('/'));
        if let Ok(response) = server.request(Method::GET, &path).send().await {
            let status = response.status();
            assert!(!status.is_server_error(), "seed {seed}: {path}: {status}");
        }
        sent += 2;
    }
    let address = format!("{}/v1/ws", server.url.replacen("http", "ws", 1));
    for _ in 0..20 {
        let (mut socket, _) = tokio_tungstenite::connect_async(&address).await.unwrap();
        for _ in 0..10 {
            let frame = FRAMES[dice.below(FRAMES.len())];
            let frame = dice.changed(frame);
            if socket.send(Message::text(frame)).await.is_err() {
                break;
            }
        }
        let _ = socket.send(Message::binary(vec![0xff; 64])).await;
        let _ = tokio::time::timeout(Duration::from_millis(200), socket.next()).await;
    }
    // It is there, and works.
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let (status, _) = server.decide(&request, &serde_json::json!({ "decision": "approve" })).await;
    assert_eq!(status, 200);
    let ended = server.stop();
    assert!(!ended.stderr.contains("panicked"), "seed {seed}: {}", ended.stderr);
    drop(ended.exits(0));
    println!("{sent} requests");
}
