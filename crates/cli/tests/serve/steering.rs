//! Stopping, pausing, resuming and forking over HTTP.

use serde_json::json;

use crate::support::{PARTY, Place, text};

#[tokio::test]
async fn runs_are_paused_resumed_and_stopped() {
    let server = Place::new().serve();
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let path = |verb: &str| format!("/v1/runs/{run}/{verb}");
    let (status, paused) = server.post(&path("pause"), &json!({})).await;
    assert_eq!((status, &paused["status"]), (200, &json!("paused")), "{paused}");
    let (status, resumed) = server.post(&path("resume"), &json!({})).await;
    assert_eq!(status, 200, "{resumed}");
    assert_eq!(server.pending(&run).await, request);
    let (status, stopped) = server.post(&path("cancel"), &json!({ "reason": "no need" })).await;
    assert_eq!((status, &stopped["status"]), (200, &json!("cancelled")), "{stopped}");
    for verb in ["pause", "resume", "cancel"] {
        let (status, refused) = server.post(&path(verb), &json!({})).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("run_over")), "{refused}");
    }
    let (status, gone) = server.decide(&request, &json!({ "decision": "approve" })).await;
    assert_eq!((status, &gone["error"]["code"]), (410, &json!("cancelled")), "{gone}");
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    let server = Place::new().serve();
    let run = server.start("event_planner", PARTY).await;
    let request = server.pending(&run).await;
    let chosen = json!({ "decision": "respond", "content": "The Glasshouse" });
    assert_eq!(server.decide(&request, &chosen).await.0, 200);
    server.pending(&run).await;
    let decided = server.read(&format!("/v1/runs/{run}/journal?type=decided")).await;
    let at = &decided["data"][0]["seq"];
    let otherwise = json!({ "decision": "respond", "content": "Union Hall" });
    let path = format!("/v1/runs/{run}/fork");
    let (status, fork) = server.post(&path, &json!({ "at": at, "decision": otherwise })).await;
    assert_eq!(status, 201, "{fork}");
    let id = text(&fork["id"]);
    assert_eq!(fork["forked_from"]["run"], json!(run));
    let asked = server.pending(&id).await;
    let asked = server.read(&format!("/v1/requests/{asked}")).await;
    assert!(text(&asked["prompt"]).contains("Union Hall"), "{asked}");
    for (body, code) in [
        (json!({ "at": 10_000 }), "cannot_fork"),
        (json!({ "at": 0 }), "cannot_fork"),
        (json!({ "at": at, "decision": { "decision": "approve" } }), "decision_not_allowed"),
        (
            json!({ "at": at, "decision": { "decision": "respond", "content": 1 } }),
            "invalid_answer",
        ),
    ] {
        let (status, refused) = server.post(&path, &body).await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!(code)), "{refused}");
    }
}

#[tokio::test]
async fn what_nobody_answers_in_time_is_gone() {
    let server = Place::new().serve();
    let run = server.start("late", "hi").await;
    let request = format!("req_{}_1", run.strip_prefix("run_").unwrap());
    let mut stream = server.stream(&run, None).await;
    stream.until("expired").await;
    let (status, gone) =
        server.decide(&request, &json!({ "decision": "respond", "content": "x" })).await;
    assert_eq!((status, &gone["error"]["code"]), (410, &json!("expired")), "{gone}");
}
