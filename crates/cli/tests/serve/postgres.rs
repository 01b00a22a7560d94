//! Several servers on one PostgreSQL database.

use std::time::{Duration, Instant};

use serde_json::json;
use signoff_testkit::Process;
use signoff_testkit::postgres::{self, Server as Postgres};

use crate::support::{PARTY, Place, Server};

/// A server in a folder of its own: it shares nothing with others but the database.
fn node(address: &str) -> Server {
    Place::new().serve_in(&[("SIGNOFF_STORE", address)], &[])
}

#[tokio::test]
async fn any_node_answers_for_any_run() {
    let address = postgres::fresh();
    let (one, two) = (node(&address), node(&address));
    let run = one.start("event_planner", PARTY).await;
    let mut stream = two.stream(&run, None).await;
    stream.until("asked").await;
    let done = two.answer_party(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    // Who listened on one node saw what happened on either.
    stream.until("run_completed").await;
    assert_eq!(one.journal(&run).await, two.journal(&run).await);
    let (audit, other) = (one.read("/v1/audit").await, two.read("/v1/audit").await);
    assert_eq!(audit, other);
}

#[tokio::test]
async fn an_answer_counts_once_over_all_nodes() {
    let address = postgres::fresh();
    let (one, two) = (node(&address), node(&address));
    for n in 0..10 {
        let run = one.start("ask", "hi").await;
        let request = two.pending(&run).await;
        let (yes, no) = (json!({ "decision": "approve" }), json!({ "decision": "reject" }));
        let (first, second) = tokio::join!(one.decide(&request, &yes), two.decide(&request, &no));
        let mut codes = [first.0, second.0];
        codes.sort_unstable();
        assert_eq!(codes, [200, 409], "{n}: {first:?} {second:?}");
        let (on_one, on_two) = (one.at_rest(&run).await, two.at_rest(&run).await);
        assert_eq!(on_one["status"], on_two["status"]);
    }
}

#[tokio::test]
async fn a_killed_node_is_replaced() {
    let address = postgres::fresh();
    let (one, two) = (node(&address), node(&address));
    let run = one.start("slow", "hi").await;
    let mut stream = two.stream(&run, None).await;
    stream.until("delivered").await;
    let (Server { process, .. }, since) = (one, Instant::now());
    assert!(process.kill().was_killed());
    stream.until("run_completed").await;
    let took = since.elapsed();
    println!("taken over and done after {took:?}");
    // A lease lasts 9 s, and what it does takes 1.5 s.
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(two.at_rest(&run).await["status"], "completed");
}

#[tokio::test]
async fn a_restart_of_the_database_is_lived_through() {
    let mut database = Postgres::start();
    let address = database.create("runs");
    let (one, two) = (node(&address), node(&address));
    let parked = one.start("event_planner", PARTY).await;
    one.pending(&parked).await;
    let slow = one.start("slow", "hi").await;
    let mut stream = two.stream(&slow, None).await;
    stream.until("delivered").await;
    database.crash();
    database.begin();
    let (status, _) = two.get("/ready").await;
    assert_eq!(status, 200);
    assert_eq!(two.answer_party(&parked).await["status"], "completed");
    assert_eq!(two.at_rest(&slow).await["status"], "completed");
    // Both go on, and hear of each other.
    let run = two.start("ask", "hi").await;
    let request = one.pending(&run).await;
    let (status, decided) = one.decide(&request, &json!({ "decision": "approve" })).await;
    assert_eq!(status, 200, "{decided}");
    assert_eq!(two.at_rest(&run).await["status"], "completed");
    for server in [one, two] {
        let ended = server.stop().exits(0);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}

#[test]
fn commands_work_on_it() {
    let address = postgres::fresh();
    let place = Place::new();
    let store = ["--store", address.as_str()];
    let run = |args: &[&str]| Process::start(&mut place.command(&[args, &store].concat())).wait();
    let asked = run(&["run", "ask", "hi", "--no-prompt", "queue", "--json"]);
    assert!(asked.stderr.is_empty(), "{}", asked.stderr);
    let waiting = run(&["inbox", "list", "--json"]).exits(0).json();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let id = waiting[0]["id"].as_str().unwrap().to_owned();
    let _ = run(&["inbox", "answer", &id, "approve"]).exits(0);
    assert_eq!(run(&["runs", "--json"]).exits(0).json()[0]["status"], "completed");
    let _ = run(&["audit", "verify"]).exits(0);
}

#[test]
fn it_says_what_is_wrong_with_a_store() {
    let place = Place::new();
    let secret = "postgres://me:hunter2@127.0.0.1:1/runs";
    for (store, says) in [
        (secret, "refused"),
        ("postgres://me:hunter2@127.0.0.1:1/runs?pool=1", "pool is a number from 3"),
        ("postgres://me:hunter2@127.0.0.1:1/runs?nonsense=1", "nonsense"),
        ("mysql://me:hunter2@host/runs", "write sqlite:PATH or postgres://"),
    ] {
        let ended = Process::start(&mut place.command(&["runs", "--store", store])).wait().exits(2);
        assert!(ended.stderr.contains(says), "{store}: {}", ended.stderr);
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    }
}
