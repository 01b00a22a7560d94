//! A response ends where its run rests, as soon as that is so, whoever drives the run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_runtime::StartRun;

use crate::support::{Running, rest};

/// Half of what a stream waits before it looks by itself.
const AT_ONCE: Duration = Duration::from_millis(25);

/// The events of a response, to its end.
async fn told(server: &Running, method: &str, path: &str, body: &str) -> Vec<Value> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHOST\r\nConnection: close\r\nContent-Type: application/json\r\n"
    );
    let text =
        rest(server.send(&format!("{head}Content-Length: {length}\r\n\r\n{body}")).await).await;
    assert!(text.contains("data: [DONE]"), "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: {"));
    data.map(|data| serde_json::from_str(&format!("{{{data}")).unwrap()).collect()
}

async fn create(server: &Running, more: Value) -> Vec<Value> {
    let mut body = json!({ "stream": true, "metadata": { "entity_id": "asking" } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    told(server, "POST", "/v1/responses", &body.to_string()).await
}

fn last(events: &[Value]) -> (&str, &str) {
    let last = events.last().unwrap();
    let status = &last["response"]["metadata"]["signoff.status"];
    (last["type"].as_str().unwrap(), status.as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_ends_its_stream_at_once() {
    let server = Running::start(|_| {}).await;
    let mut took = Vec::new();
    for n in 0..15 {
        let since = Instant::now();
        let asked =
            create(&server, json!({ "input": "hi", "conversation": format!("c{n}") })).await;
        took.push(since.elapsed());
        assert_eq!(last(&asked), ("response.completed", "waiting"));
        let asked = asked.iter().find(|it| it["type"] == "response.request_info.requested");
        let id = asked.unwrap()["request_id"].as_str().unwrap();
        let answer = json!({ "type": "workflow_hil_response", "responses": { id: "yes" } });
        let answer = json!([{ "type": "message", "role": "user", "content": [answer] }]);
        let ended = create(&server, json!({ "input": answer })).await;
        assert_eq!(last(&ended), ("response.completed", "completed"));
    }
    took.sort();
    assert!(took[took.len() / 2] < AT_ONCE, "{took:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_a_run_that_others_drive_ends_its_stream() {
    let server = Running::start(|_| {}).await;
    let elsewhere = server.elsewhere();
    let run = elsewhere.start(StartRun::new("asking", "hi")).await.unwrap().run;
    let path = format!("/v1/responses/resp_{}_1d?stream=true", run.unique());
    let events = told(&server, "GET", &path, "").await;
    assert_eq!(last(&events), ("response.completed", "waiting"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_page_starts_is_a_session_and_so_is_what_it_answers() {
    let server = Running::start(|_| {}).await;
    create(&server, json!({ "input": "hi", "conversation": "begun" })).await;
    let conversation = Some("answered".into());
    let start = StartRun { conversation, ..StartRun::new("asking", "hi") };
    let run = server.engine.start(start).await.unwrap().run;
    server.engine.idle().await;
    let kept = |id: &str| server.engine.conversation(&id.into()).unwrap();
    assert!(kept("answered").is_none());
    let id = run.request(1).to_string();
    let answer = json!([{ "type": "workflow_hil_response", "responses": { id: "yes" } }]);
    let answer = json!([{ "type": "message", "role": "user", "content": answer }]);
    create(&server, json!({ "input": answer })).await;
    for id in ["begun", "answered"] {
        let metadata = Value::Object(kept(id).unwrap().metadata);
        assert_eq!(metadata, json!({ "entity_id": "asking", "type": "workflow_session" }));
    }
    server.stop().await;
}
