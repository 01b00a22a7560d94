//! Connections of clients that are slow, silent or too many.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use signoff_core::RunStatus;
use signoff_runtime::StartRun;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::support::{Running, rest};

const PATIENCE: Duration = Duration::from_mins(1);

type Socket = WebSocketStream<TcpStream>;

/// Connects with little room for what is not read.
async fn open(server: &Running) -> Result<Socket, Error> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    let url = format!("ws://{}/v1/ws", server.address);
    client_async(url, stream).await.map(|(socket, _)| socket)
}

/// The next message, or the code it was closed with (0, if without a word).
async fn next(socket: &mut Socket) -> Result<Value, u16> {
    loop {
        match tokio::time::timeout(PATIENCE, socket.next()).await.unwrap() {
            Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(Some(frame)))) => return Err(frame.code.into()),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            _ => return Err(0),
        }
    }
}

/// How many streams the server counts.
async fn streams(server: &Running) -> String {
    let ask = "GET /metrics HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n";
    let metrics = rest(server.send(ask).await).await;
    let line = metrics.lines().find_map(|line| line.strip_prefix("signoff_streams "));
    line.unwrap().to_owned()
}

async fn until_none_is_open(server: &Running) {
    until_open(server, "0").await;
}

async fn until_open(server: &Running, wanted: &str) {
    for _ in 0..200 {
        if streams(server).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it is still counted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_late_misses_no_entry() {
    let server = Running::start(|_| {}).await;
    let engine = &server.engine;
    let run = engine.start(StartRun::new("chatter", "hi")).await.unwrap().run;
    let mut socket = open(&server).await.unwrap();
    let attach = json!({ "type": "attach", "run": run, "id": 1 });
    socket.send(Message::text(attach.to_string())).await.unwrap();
    engine.idle().await;
    let head = engine.store().run(&run).unwrap().unwrap().head;
    let mut seen = Vec::new();
    loop {
        let told = next(&mut socket).await.unwrap();
        match told["type"].as_str().unwrap() {
            "entry" => seen.push(told["entry"]["seq"].as_u64().unwrap()),
            "end" => break,
            _ => {}
        }
    }
    assert_eq!(seen, (1..=head).collect::<Vec<_>>());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_is_left() {
    let server =
        Running::start(|settings| settings.write_timeout = Duration::from_millis(300)).await;
    let engine = &server.engine;
    let run = engine.start(StartRun::new("chatter", "hi")).await.unwrap().run;
    let mut socket = open(&server).await.unwrap();
    let attach = json!({ "type": "attach", "run": run });
    socket.send(Message::text(attach.to_string())).await.unwrap();
    assert_eq!(streams(&server).await, "1");
    engine.idle().await;
    until_none_is_open(&server).await;
    let ended = loop {
        if let Err(code) = next(&mut socket).await {
            break code;
        }
    };
    assert!([0, 4008].contains(&ended), "{ended}");
    assert_eq!(engine.store().run(&run).unwrap().unwrap().status, RunStatus::Completed);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_misses_changes_is_told_again_what_waits() {
    let server = Running::start(|_| {}).await;
    let mut socket = open(&server).await.unwrap();
    assert_eq!(next(&mut socket).await.unwrap()["type"], "hello");
    assert_eq!(next(&mut socket).await.unwrap()["requests"], json!([]));
    // More than fits in any buffer on the way.
    for _ in 0..300 {
        server.engine.start(StartRun::new("lengthy", "hi")).await.unwrap();
    }
    server.engine.idle().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut asked = 0;
    let again = loop {
        let told = next(&mut socket).await.unwrap();
        match told["type"].as_str().unwrap() {
            "request" => asked += 1,
            "snapshot" => break told,
            other => panic!("{other}"),
        }
    };
    assert!(asked < 300, "{asked}");
    assert_eq!(again["requests"].as_array().unwrap().len(), 50);
    assert!(again["next_cursor"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn who_gives_no_sign_of_life_is_left() {
    let server = Running::start(|settings| settings.ping_every = Duration::from_millis(50)).await;
    // One that answers pings stays.
    let mut awake = open(&server).await.unwrap();
    let awake = tokio::spawn(async move {
        loop {
            if let Err(code) = next(&mut awake).await {
                return code;
            }
        }
    });
    let mut asleep = open(&server).await.unwrap();
    until_open(&server, "1").await;
    let ended = loop {
        if let Err(code) = next(&mut asleep).await {
            break code;
        }
    };
    // Answers to old pings may meet a closed door first.
    assert!([0, 1008].contains(&ended), "{ended}");
    assert!(!awake.is_finished());
    server.stop().await;
    assert_eq!(awake.await.unwrap(), 1001);
}

#[tokio::test]
async fn sockets_count_as_streams() {
    let server = Running::start(|settings| settings.max_streams = 1).await;
    let first = open(&server).await.unwrap();
    let Err(Error::Http(refused)) = open(&server).await else { panic!("there was room") };
    assert_eq!(refused.status(), 503);
    let ask = "GET /v1/requests/events HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n";
    let refused = rest(server.send(ask).await).await;
    assert!(refused.contains("too_many_streams"), "{refused}");
    drop(first);
    until_none_is_open(&server).await;
    assert!(open(&server).await.is_ok());
    server.stop().await;
}
