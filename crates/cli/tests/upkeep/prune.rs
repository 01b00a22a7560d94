//! `signoff prune`, and `[retention]`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::postgres::Server as Postgres;
use signoff_testkit::process::PATIENCE;

use crate::kept::Kept;
use crate::support::{Client, Place, text};

/// A run that is over, in a conversation.
async fn over(server: &Client, conversation: &str) -> String {
    let body = json!({ "workflow": "ask", "input": "hi", "conversation": conversation });
    let (status, run) = server.post("/v1/runs", &body).await;
    assert_eq!(status, 201, "{run}");
    let run = text(&run["id"]);
    let request = server.pending(&run).await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    run
}

#[tokio::test]
async fn what_is_over_goes_and_what_lives_stays() {
    for kept in Kept::both() {
        let server = kept.serve();
        let (one, two) = (over(&server, "c1").await, over(&server, "c1").await);
        let on = over(&server, "c2").await;
        let body = json!({ "workflow": "ask", "input": "hi", "conversation": "c2" });
        let live = text(&server.post("/v1/runs", &body).await.1["id"]);
        let request = server.pending(&live).await;
        let newest = over(&server, "c3").await;
        let young = kept.run(&["prune", "--older-than", "1h"]).exits(0);
        assert!(young.stdout.is_empty(), "{young:?}");
        let prune = ["prune", "--older-than", "0s", "--json"];
        let dry = kept.run(&[&prune[..], &["--dry-run"]].concat()).exits(0);
        let pruned = kept.run(&prune).exits(0);
        assert_eq!(dry.stdout, pruned.stdout);
        assert!(dry.stderr.contains("would be removed"), "{dry:?}");
        for run in [&one, &two] {
            assert!(pruned.stdout.contains(run.as_str()), "{pruned:?}");
            assert_eq!(server.get(&format!("/v1/runs/{run}")).await.0, 404);
        }
        for run in [&on, &live, &newest] {
            assert!(!pruned.stdout.contains(run.as_str()), "{pruned:?}");
            assert_eq!(server.get(&format!("/v1/runs/{run}")).await.0, 200);
        }
        // The server goes on, in the conversation that stayed and in the one that went.
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
        assert_eq!(server.at_rest(&live).await["status"], "completed");
        over(&server, "c1").await;
        let audit = kept.run(&["audit", "export"]).exits(0).stdout;
        assert_eq!(audit.matches(r#""decision":"pruned""#).count(), 2, "{audit}");
        kept.run(&["audit", "verify"]).exits(0);
        drop(server.stop().exits(0));
        kept.run(&["prune", "--older-than", "0s", "--compact"]).exits(0);
        assert_eq!(kept.run(&["doctor", "--json"]).exits(0).json()["state"], "ok");
    }
}

#[test]
fn what_is_typed_wrong_is_said() {
    let kept = Kept::in_sqlite();
    let said = kept.run(&["prune", "--older-than", "soon"]).exits(2);
    assert!(said.stderr.contains("--older-than") && said.stderr.contains("30d"), "{said:?}");
    assert!(kept.run(&["prune"]).exits(2).stderr.contains("--older-than"));
    assert!(kept.run(&["prune", "--older-than", "1d"]).exits(2).stderr.contains("no runs"));
}

#[tokio::test]
async fn a_server_removes_what_is_over_by_itself() {
    let place = Place::new();
    std::fs::write(place.path("signoff.toml"), "[retention]\nfinished = '1s'\n").unwrap();
    let server = place.serve();
    let first = over(&server, "c1").await;
    let newest = over(&server, "c2").await;
    gone(&server, &first).await;
    assert_eq!(server.get(&format!("/v1/runs/{newest}")).await.0, 200, "numbers go on after it");
    let lines = server.read("/v1/audit").await;
    let pruned = |it: &&Value| it["by"] == "system" && it["decision"]["decision"] == "pruned";
    let pruned: Vec<&Value> = lines["data"].as_array().unwrap().iter().filter(pruned).collect();
    assert!(pruned.len() == 1 && pruned[0]["request"] == first, "{lines}");
    drop(server.stop().exits(0));
    std::fs::write(place.path("signoff.toml"), "[retention]\nfinished = '1ms'\n").unwrap();
    let refused = place.command(&["serve", "--addr", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// Waits until a run is removed.
async fn gone(server: &Client, run: &str) {
    let since = Instant::now();
    while server.get(&format!("/v1/runs/{run}")).await.0 != 404 {
        assert!(since.elapsed() < PATIENCE, "{run} stays");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn of_several_nodes_one_removes_what_is_over() {
    let database = Postgres::start();
    let address = database.create("runs");
    let place = Place::new();
    std::fs::write(place.path("signoff.toml"), "[retention]\nfinished = '1s'\n").unwrap();
    let node = || place.serve_in(&[("SIGNOFF_STORE", address.as_str())], &[]);
    let sql = |sql: &str| database.sql("runs", sql);
    let one = node();
    let first = sql("SELECT id FROM nodes");
    let two = node();
    let run = over(&two, "c1").await;
    over(&two, "c2").await;
    gone(&two, &run).await;
    // As if a third one did it just now: these two leave it to that, though they look every second.
    sql("UPDATE duties SET lease_node = 'third', lease_until = 9000000000000");
    let run = over(&two, "c3").await;
    over(&two, "c4").await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(two.get(&format!("/v1/runs/{run}")).await.0, 200, "it was not for them to remove");
    sql("UPDATE duties SET lease_until = 0");
    gone(&two, &run).await;
    // Whoever does it is killed: the other one is next.
    let holder = sql("SELECT lease_node FROM duties");
    let (left, killed) = if holder == first { (two, one) } else { (one, two) };
    assert!(killed.process.kill().was_killed());
    let run = over(&left, "c5").await;
    over(&left, "c6").await;
    gone(&left, &run).await;
    assert_ne!(sql("SELECT lease_node FROM duties"), holder);
    let audit = left.read("/v1/audit").await;
    let lines = audit["data"].as_array().unwrap();
    let removals = lines
        .iter()
        .filter(|line| line["decision"]["decision"] == "pruned" && line["request"] == run);
    assert_eq!(removals.count(), 1, "{audit}");
    drop(left.stop().exits(0));
}
