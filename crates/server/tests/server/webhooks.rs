//! A webhook whose receiver never takes an event, as the days go by.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use signoff_core::{Span, Timestamp};
use signoff_runtime::{Engine, ManualClock, StartRun};
use signoff_server::{Webhook, WebhookConfig};
use signoff_store::MemoryStore;

use crate::support::{Running, asking, rest};

/// A receiver that refuses everything until it is told otherwise, and the ids of what came.
fn receiver(takes: Arc<Mutex<bool>>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                reader.read_line(&mut head).unwrap();
            }
            let field = |name: &str| {
                let line = head.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap().trim().to_owned()
            };
            let mut body = vec![0; field("content-length:").parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let status = if *takes.lock().unwrap() { 204 } else { 500 };
            keeps.lock().unwrap().push(field("webhook-id:"));
            // Time enough for a day to pass before it is answered.
            std::thread::sleep(Duration::from_millis(500));
            let answer =
                format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (port, seen)
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_mins(1), "{what} does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_given_up_after_a_day_and_the_next_one_is_sent() {
    let takes = Arc::new(Mutex::new(false));
    let (port, seen) = receiver(Arc::clone(&takes));
    let config = WebhookConfig {
        url: format!("http://127.0.0.1:{port}/"),
        secret_env: "SECRET".to_owned(),
        events: None,
        tenants: None,
        allow_private: true,
    };
    let webhook = Webhook::new("ops", &config, |_| Some("a secret".to_owned())).unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp(1_700_000_000_000)));
    let builder = Engine::builder(Arc::new(MemoryStore::new())).clock(clock.clone());
    let engine = builder.built(asking()).build().unwrap();
    let server =
        Running::around(engine, |settings| settings.channels = vec![std::sync::Arc::new(webhook)])
            .await;
    // Nothing is kept before the webhook is known.
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.engine.start(StartRun::new("asking", "x")).await.unwrap();
    until("the attempt", || seen.lock().unwrap().len() == 1).await;
    clock.advance(Span::seconds(24 * 3600));
    *takes.lock().unwrap() = true;
    server.engine.start(StartRun::new("asking", "x")).await.unwrap();
    until("the next event", || seen.lock().unwrap().len() == 2).await;
    let ids = seen.lock().unwrap().clone();
    assert_ne!(ids[0], ids[1]);
    let metrics = server.send("GET /metrics HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n").await;
    let metrics = rest(metrics).await;
    for (outcome, count) in [("failed", 1), ("given_up", 1)] {
        let line = format!("{{webhook=\"ops\",outcome=\"{outcome}\"}} {count}");
        assert!(metrics.contains(&line), "{metrics}");
    }
    server.stop().await;
}
