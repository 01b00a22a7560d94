//! The checks that say "two instances", with two nodes that share nothing but a PostgreSQL database and the folder that
//! their tools work in.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::postgres;
use signoff_testkit::process::PATIENCE;

use crate::checks::{APPEND, EDITS, audit, lines};
use crate::gates::{WRITE, describe};
use crate::support::{Client, Place, Server, text};

/// A node of a clerk's.
fn node(place: &Place, address: &str) -> Server {
    place.serve_in(&[("SIGNOFF_STORE", address)], &[])
}

#[tokio::test]
async fn check_1_asked_on_one_node_and_answered_on_another_it_is_done_once() {
    let (place, address) = (Place::new(), postgres::fresh());
    describe(&place, EDITS, APPEND);
    let (one, two) = (node(&place, &address), node(&place, &address));
    let run = one.start("clerk", "go").await;
    let request = two.pending(&run).await;
    one.process.kill();
    assert_eq!(two.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(two.at_rest(&run).await["status"], "completed");
    // The node that asked comes back, and has nothing to do.
    let one = node(&place, &address);
    assert_eq!(one.at_rest(&run).await["status"], "completed");
    two.process.kill();
    assert_eq!(one.at_rest(&run).await["status"], "completed");
    let (status, again) = one.decide(&request, &json!({ "decision": "approve" })).await;
    assert_eq!(status, 200, "the same again is no other: {again}");
    assert_eq!(lines(&place, "workspace/log"), 1);
    assert_eq!((audit(&one, "approve").await, audit(&one, "consumed").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_2_of_a_hundred_on_two_nodes_one_decides() {
    let (place, address) = (Place::new(), postgres::fresh());
    describe(&place, EDITS, APPEND);
    let (one, two) = (node(&place, &address), node(&place, &address));
    let run = one.start("clerk", "go").await;
    let request = two.pending(&run).await;
    let deciding: Vec<_> = (0..100)
        .map(|n| {
            let client = if n % 4 < 2 { one.client.clone() } else { two.client.clone() };
            let (request, yes) = (request.clone(), n % 2 == 0);
            let (word, name) = if yes { ("approve", "note") } else { ("reject", "reason") };
            let decision = json!({ "decision": word, name: format!("{n}") });
            tokio::spawn(async move { client.decide(&request, &decision).await })
        })
        .collect();
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    for one in deciding {
        let (status, told) = one.await.unwrap();
        match status {
            200 => won.push(told),
            _ => lost.push((status, told)),
        }
    }
    assert_eq!((won.len(), lost.len()), (1, 99));
    let winner = &won[0]["decision"];
    for (status, told) in lost {
        assert_eq!((status, &told["error"]["code"]), (409, &json!("already_decided")), "{told}");
        assert_eq!(&told["error"]["details"]["decision"], winner, "all are told who won: {told}");
    }
    let done = two.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    let (yes, no) = (audit(&one, "approve").await, audit(&one, "reject").await);
    assert_eq!(yes + no, 1);
    assert_eq!(lines(&place, "workspace/log"), yes, "done once, or not at all");
}

/// All requests of a run, oldest first.
async fn requests(client: &Client, run: &str) -> Vec<Value> {
    let all = client.read(&format!("/v1/requests?run={run}")).await;
    let mut all = all["data"].as_array().unwrap().clone();
    all.sort_by_key(|request| text(&request["created_at"]));
    all
}

#[tokio::test]
async fn check_8_with_two_nodes_it_is_escalated_once() {
    let (place, address) = (Place::new(), postgres::fresh());
    let gate = "  - name: before_file_edit\n    within: 1500ms\n    remind: 500ms\n    on_timeout: escalate\n    \
                escalation: [{ who: { roles: [lead] }, within: 1500ms }, { who: { roles: [boss] }, within: 1h }]\n";
    describe(&place, gate, WRITE);
    let (one, two) = (node(&place, &address), node(&place, &address));
    let mut runs = Vec::new();
    for n in 0..12 {
        let server = if n % 2 == 0 { &one } else { &two };
        runs.push(server.start("clerk", "go").await);
    }
    for (n, run) in runs.iter().enumerate() {
        let (here, there) = if n % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let since = Instant::now();
        let all = loop {
            let all = requests(here, run).await;
            if all.len() >= 3 {
                break all;
            }
            assert!(since.elapsed() < PATIENCE, "{all:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let status: Vec<String> = all.iter().map(|request| text(&request["status"])).collect();
        assert_eq!(status, ["expired", "expired", "pending"], "{all:#?}");
        for (request, server) in all.iter().zip([there, here]) {
            let id = text(&request["id"]);
            let (status, late) = server.decide(&id, &json!({ "decision": "approve" })).await;
            assert_eq!((status, &late["error"]["code"]), (410, &json!("expired")), "{late}");
        }
    }
    // Nothing more follows, on either node: every stage was reached once, and every time that ran out was noted once.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for run in &runs {
        assert_eq!(requests(&two, run).await.len(), 3, "{run}");
        let asked = two.journal(run).await;
        let asked = asked.iter().filter(|entry| entry["type"] == "asked").count();
        assert_eq!(asked, 3, "{run}");
    }
    assert_eq!(audit(&one, "expired").await, 2 * runs.len());
    assert!(!place.path("workspace/a.txt").exists(), "nothing is done that nobody approved");
    let last = requests(&one, &runs[0]).await.pop().unwrap();
    assert_eq!(two.decide(&text(&last["id"]), &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(one.at_rest(&runs[0]).await["status"], "completed");
    assert!(place.path("workspace/a.txt").exists());
}
