//! How the server starts and stops.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::json;
use signoff_testkit::Process;

use crate::support::{PARTY, Place};

#[tokio::test]
async fn it_stops_with_a_word_to_who_listens() {
    let server = Place::new().serve();
    assert_eq!(server.read("/ready").await["status"], "ready");
    assert_eq!(server.read("/health").await["status"], "ok");
    let run = server.start("event_planner", PARTY).await;
    server.pending(&run).await;
    let mut stream = server.stream(&run, None).await;
    stream.until("asked").await;
    server.process.terminate();
    let bye = stream.next().await.unwrap();
    assert_eq!((bye.name.as_str(), bye.id), ("bye", None));
    assert!(stream.next().await.is_none());
    let ended = server.process.wait().exits(0);
    assert!(ended.stderr.contains("stopping"), "{}", ended.stderr);
}

#[tokio::test]
async fn runs_under_way_come_to_rest_before_it_ends() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("slow", "hi").await;
    let mut stream = server.stream(&run, None).await;
    stream.until("delivered").await;
    server.process.terminate();
    while stream.next().await.is_some_and(|event| event.name != "bye") {}
    let (status, refused) = server.get("/ready").await;
    assert_eq!((status, &refused["error"]["code"]), (503, &json!("not_ready")), "{refused}");
    let (status, refused) =
        server.post("/v1/runs", &json!({ "workflow": "slow", "input": "hi" })).await;
    assert_eq!((status, &refused["error"]["code"]), (503, &json!("shutting_down")), "{refused}");
    let _ = server.process.wait().exits(0);
    let runs = Process::start(&mut place.command(&["runs", "--json"])).wait().exits(0).json();
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("completed")));
}

#[test]
fn it_says_why_it_does_not_start() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (args, says, hint) in [
        (["serve", "--addr", &taken], "another program listens on", "take another port"),
        (["serve", "--addr", "0.0.0.0:0"], "can be reached by other machines", "take 127.0.0.1:0"),
        (["serve", "--addr", "[::]:0"], "can be reached by other machines", "take 127.0.0.1"),
        (
            ["serve", "--addr", "nonsense"],
            "is not an address and a port",
            "for example 127.0.0.1:8484",
        ),
        (["serve", "--log", "a=b=c"], "--log:", "signoff_server=debug"),
        (["serve", "--log-format", "xml"], "'xml'", "[possible values: text, json]"),
        (["runs", "--addr", "127.0.0.1:1"], "--addr", ""),
    ] {
        let ended = Process::start(&mut place.command(&args)).wait().exits(2);
        assert!(ended.stderr.contains(says) && ended.stderr.contains(hint), "{}", ended.stderr);
    }
    let ended =
        Process::start(&mut place.command(&["--addr", "127.0.0.1:1", "runs"])).wait().exits(2);
    assert!(ended.stderr.contains("an option of `signoff serve`"), "{}", ended.stderr);
}

#[test]
fn alone_it_serves_and_says_what_to_try() {
    let place = Place::new();
    let mut process = Process::start(&mut place.command(&["--addr", "localhost:0"]));
    let mut said = String::new();
    while !said.contains("Ctrl-C") {
        said.push_str(&process.line().unwrap());
        said.push('\n');
    }
    for part in ["http://127.0.0.1:", "Nothing waits here.", "curl ", "/events", "signoff inbox"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    process.terminate();
    let _ = process.wait().exits(0);
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let server = Place::new().serve();
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!("GET /health HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(100_000));
    // The server may hang up before it has read all.
    let _ = stream.write_all(head.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}
