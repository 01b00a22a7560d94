//! A listener that does not read for a while misses nothing, and holds up nobody.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

use std::sync::Arc;

use serde_json::json;
use signoff_runtime::{Context, Effect, Engine, StartRun, WorkflowBuilder};
use signoff_server::{Server, Settings};
use signoff_store::MemoryStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::sync::oneshot;

/// Many entries, large enough together that no buffer of the system takes them all, in many commits.
const ENTRIES: usize = 8_000;

fn chatter() -> WorkflowBuilder {
    WorkflowBuilder::new("chatter").function("talk", |ctx: Context, _| async move {
        for n in 0..ENTRIES {
            let text = "x".repeat(1000);
            ctx.effect(&format!("e{n}"), Effect::repeatable(), |_| async move { Ok(json!(text)) })
                .await?;
            if n % 16 == 0 {
                ctx.durable().await?;
            }
        }
        Ok(json!("done"))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_listener_reads_everything_in_the_end() {
    let engine = Engine::builder(Arc::new(MemoryStore::new())).built(chatter()).build().unwrap();
    let settings = Settings::new(([127, 0, 0, 1], 0).into());
    let server = Server::bind(engine.clone(), settings).await.unwrap();
    let address = server.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));

    let run = engine.start(StartRun::new("chatter", "hi")).await.unwrap().run;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let head = format!("GET /v1/runs/{run}/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    engine.idle().await;

    let head = engine.store().run(&run).unwrap().unwrap().head;
    let mut read = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    // A chunk of no length is the end.
    while !read.ends_with(b"\r\n0\r\n\r\n") {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "it was cut off");
        read.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8(read).unwrap();
    let ids: Vec<u64> =
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (1..=head).collect::<Vec<_>>());
    stop.send(()).unwrap();
    serving.await.unwrap();
}
