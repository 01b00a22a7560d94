//! The event planner over HTTP, from its first question to its plan.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{COMPLETE, PARTY, Place, text};

#[tokio::test]
async fn it_asks_what_it_must_and_plans() {
    let place = Place::new();
    let server = place.serve();
    let body = json!({ "workflow": "event_planner", "input": PARTY });
    let response = server.request(Method::POST, "/v1/runs").json(&body).send().await.unwrap();
    assert_eq!(response.status(), 201);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let run: Value = response.json().await.unwrap();
    let id = text(&run["id"]);
    assert_eq!(location, format!("/v1/runs/{id}"));
    assert_eq!((&run["input"], &run["by"]), (&json!(PARTY), &json!("local")));

    let request = server.pending(&id).await;
    let asked = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!((&asked["kind"], &asked["status"]), (&json!("selection"), &json!("pending")));
    assert_eq!(server.read("/v1/requests/count?status=pending").await["count"], 1);
    let found =
        server.read("/v1/requests?status=pending&kind=selection&agent=venue&text=venues").await;
    assert_eq!(found["data"][0], asked);
    assert_eq!(server.read("/v1/requests?status=pending&kind=approval").await["data"], json!([]));
    assert_eq!(
        server.read("/v1/runs?status=waiting").await["data"][0]["pending"],
        json!([request])
    );

    let done = server.answer_party(&id).await;
    assert_eq!(done["status"], "completed", "{done}");
    let plan = text(&done["output"]);
    for part in ["The Glasshouse", "vegan", "$3,000"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert_eq!(done["pending"], json!([]));
    let journal = server.journal(&id).await;
    let seqs: Vec<u64> = journal.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=done["head"].as_u64().unwrap()).collect::<Vec<_>>());
    let decided = server.read(&format!("/v1/runs/{id}/journal?type=decided,asked&limit=500")).await;
    assert_eq!(decided["data"].as_array().unwrap().len(), 6);
    assert_eq!(decided["data"][0]["request_id"], json!(request));
    let all = server.read("/v1/audit?limit=500").await["data"].as_array().unwrap().clone();
    let count = |word: &str| all.iter().filter(|line| line["decision"]["decision"] == word).count();
    let (asked, looked) = (count("requested"), count("viewed"));
    assert_eq!(
        (asked, looked, all.len() - asked - looked),
        (3, 1, 3),
        "three questions, who looked, and three decisions: {all:?}"
    );
    let audit = server.read("/v1/audit?limit=2").await;
    assert_eq!(audit["data"].as_array().unwrap().len(), 2);
    let rest = server.read(&format!("/v1/audit?cursor={}", text(&audit["next_cursor"]))).await;
    assert_eq!(rest["data"].as_array().unwrap().len(), all.len() - 2);

    let metrics = text(&server.get("/metrics").await.1);
    for line in [
        "signoff_runs_started_total 1",
        "signoff_runs_ended_total{status=\"completed\"} 1",
        "signoff_requests_pending 0",
        "signoff_decisions_total{result=\"taken\"} 3",
        "signoff_http_requests_total{method=\"POST\",route=\"/v1/runs\",status=\"201\"} 1",
        "signoff_streams 0",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}: {metrics}");
    }
    let _ = server.stop().exits(0);
}

#[tokio::test]
async fn nothing_is_asked_where_all_is_said() {
    let server = Place::new().serve();
    let run = server.start("event_planner", COMPLETE).await;
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(server.read("/v1/requests").await["data"], json!([]));
}

#[tokio::test]
async fn a_killed_server_goes_on_when_it_is_back() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("event_planner", PARTY).await;
    let request = server.pending(&run).await;
    let mut stream = server.stream(&run, None).await;
    let mut seen = stream.until("asked").await;
    assert!(server.process.kill().was_killed());
    assert!(stream.entry().await.is_none());

    let server = place.serve();
    let waiting = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(waiting["status"], "pending");
    let last = seen.last().unwrap().id;
    let mut stream = server.stream(&run, last).await;
    let done = server.answer_party(&run).await;
    assert_eq!(done["status"], "completed");
    while let Some(event) = stream.entry().await {
        seen.push(event);
    }
    let streamed: Vec<Value> = seen.into_iter().map(|event| event.data).collect();
    assert_eq!(streamed, server.journal(&run).await, "no gap, no repeat, over the restart");
}
