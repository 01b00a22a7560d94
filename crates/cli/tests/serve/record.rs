//! What the record says besides decisions: who looked, who was told, who looked after it, who stopped a run.

use reqwest::Method;
use serde_json::{Value, json};

use crate::access::{add, get, post};
use crate::deciders::{pending, start};
use crate::gates::{WRITE, clerk};
use crate::receiver::Receiver;
use crate::support::{Client, Place, text};

const GATE: &str = "  - { name: before_file_edit, within: 1h }\n";
const ENV: &str = "OPS_SECRET";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Who did what about a request or a run, as the record has it; of a request, after it was asked.
async fn said(client: &Client, token: &str, about: &str) -> Vec<(String, Value)> {
    let (status, lines) = get(client, token, "/v1/audit?limit=500").await;
    assert_eq!(status, 200, "{lines}");
    after_it_was_asked(&lines, about)
}

fn after_it_was_asked(lines: &Value, about: &str) -> Vec<(String, Value)> {
    let of_it = lines["data"].as_array().unwrap().iter().filter(|it| it["request"] == about);
    let mut said: Vec<_> = of_it.map(|it| (text(&it["by"]), it["decision"].clone())).collect();
    if about.starts_with("req_") {
        let (by, asked) = said.remove(0);
        assert_eq!((by.as_str(), &asked["decision"]), ("system", &json!("requested")), "{asked}");
    }
    let again = said.iter().find(|(_, said)| said["decision"] == "requested");
    assert_eq!(again, None, "once, and first of all");
    said
}

fn viewed(by: &str, version: u32) -> (String, Value) {
    (by.to_owned(), json!({ "decision": "viewed", "version": version }))
}

#[tokio::test]
async fn who_looks_is_noted_once_for_each_version() {
    let place = Place::new();
    let (ann, bob) = (add(&place, &["ann"]), add(&place, &["bob"]));
    let server = clerk(&place, GATE, WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let path = format!("/v1/requests/{request}");
    for _ in 0..5 {
        assert_eq!(get(&server, &ann, &path).await.0, 200);
    }
    assert_eq!(said(&server, &ann, &request).await, [viewed("ann", 1)], "once, however often");
    // Lists and counts say nothing of who opened what.
    for list in ["/v1/requests", "/v1/requests?status=pending", "/v1/requests/count"] {
        assert_eq!(get(&server, &bob, list).await.0, 200);
    }
    assert_eq!(said(&server, &ann, &request).await.len(), 1);
    // Whoever comes after this server knows it too.
    server.process.kill();
    let server = place.serve();
    for token in [&ann, &bob, &bob] {
        assert_eq!(get(&server, token, &path).await.0, 200);
    }
    assert_eq!(said(&server, &ann, &request).await, [viewed("ann", 1), viewed("bob", 1)]);
    // What changes is another version.
    let yes = json!({ "decision": "approve" });
    assert_eq!(post(&server, &bob, &format!("{path}/decision"), yes).await.0, 200);
    get(&server, &ann, &path).await;
    get(&server, &ann, &path).await;
    let lines = said(&server, &ann, &request).await;
    assert_eq!(lines.last(), Some(&viewed("ann", 2)), "{lines:?}");
    let views = lines.iter().filter(|(_, said)| said["decision"] == "viewed").count();
    assert_eq!(views, 3, "{lines:?}");
    assert!(place.command(&["audit", "verify"]).output().unwrap().status.success());
}

#[tokio::test]
async fn whoever_opens_a_link_is_noted_with_it() {
    let place = Place::new();
    let (ann, _bob) = (add(&place, &["ann", "--role", "admin"]), add(&place, &["bob"]));
    let server = clerk(&place, GATE, WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let (status, link) =
        post(&server, &ann, &format!("/v1/requests/{request}/link"), json!({ "for": "bob" })).await;
    assert!(status < 300, "{link}");
    let page = text(&link["url"]);
    for _ in 0..2 {
        let opened = server.request(Method::GET, &page).send().await.unwrap();
        assert_eq!(opened.status(), 200);
        let shown = opened.text().await.unwrap();
        assert!(shown.contains("If nobody decides by"), "{shown}");
    }
    let lines = said(&server, &ann, &request).await;
    let by_link: Vec<_> = lines.iter().filter(|(by, _)| by == "bob").collect();
    assert_eq!(by_link.len(), 1, "{lines:?}");
    let made = lines.iter().find(|(_, said)| said["decision"] == "linked").unwrap();
    assert_eq!(by_link[0].1["link"], made.1["link"], "{lines:?}");
}

#[tokio::test]
async fn who_looks_after_it_and_who_stops_a_run_is_noted() {
    let place = Place::new();
    let ann = add(&place, &["ann"]);
    let server = clerk(&place, GATE, WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let path = format!("/v1/requests/{request}");
    let marks = [
        ("claim", json!({})),
        ("comment", json!({ "text": "who knows the tulip" })),
        ("release", json!({})),
    ];
    for (what, body) in marks {
        let (status, answer) = post(&server, &ann, &format!("{path}/{what}"), body).await;
        assert!(status < 300, "{what}: {answer}");
    }
    for (what, body) in
        [("pause", json!({ "reason": "lunch" })), ("resume", json!({})), ("cancel", json!({}))]
    {
        let (status, answer) = post(&server, &ann, &format!("/v1/runs/{run}/{what}"), body).await;
        assert!(status < 300, "{what}: {answer}");
    }
    let lines = said(&server, &ann, &request).await;
    let words: Vec<String> = lines.iter().map(|(_, said)| text(&said["decision"])).collect();
    assert_eq!(words, ["viewed", "claimed", "commented", "released"], "{lines:?}");
    assert!(!json!(lines).to_string().contains("tulip"), "only what binds it: {lines:?}");
    let lines = said(&server, &ann, &run).await;
    let words: Vec<String> = lines.iter().map(|(_, said)| text(&said["decision"])).collect();
    assert_eq!(words, ["asked", "run_paused", "run_resumed", "run_cancelled"], "{lines:?}");
    assert_eq!((lines[1].0.as_str(), &lines[1].1["reason"]), ("ann", &json!("lunch")));
}

#[tokio::test]
async fn who_was_told_is_noted_once_for_each_delivery() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    crate::gates::describe(&place, GATE, WRITE);
    let tools = std::fs::read_to_string(place.path("signoff.toml")).unwrap();
    let hook = format!(
        "{tools}[webhooks.ops]\nurl = \"http://127.0.0.1:{}/hook/s3cret\"\nsecret_env = \"{ENV}\"\nallow_private = true\n",
        receiver.port
    );
    std::fs::write(place.path("signoff.toml"), hook).unwrap();
    receiver.down();
    let server = place.serve_in(&[(ENV, SECRET)], &[]);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    assert!(said_locally(&server, &request).await.is_empty(), "nobody was told yet");
    // It is told by whoever comes next, and noted once.
    server.process.kill();
    receiver.up();
    let server = place.serve_in(&[(ENV, SECRET)], &[]);
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    let wanted = |event: &str| {
        let said = json!({
            "decision": "notified", "event": event, "channel": "webhook", "to": ["127.0.0.1"],
        });
        ("webhook:ops".to_owned(), said)
    };
    let since = std::time::Instant::now();
    loop {
        let told: Vec<_> = said_locally(&server, &request)
            .await
            .into_iter()
            .filter(|(_, said)| said["decision"] == "notified")
            .collect();
        if told.len() >= 2 {
            assert_eq!(told, [wanted("requested"), wanted("decided")]);
            break;
        }
        assert!(since.elapsed() < signoff_testkit::process::PATIENCE, "{told:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let all = server.read("/v1/audit?limit=500").await.to_string();
    assert!(!all.contains("s3cret"), "the address may be a secret: {all}");
    assert!(place.command(&["audit", "verify"]).output().unwrap().status.success());
}

async fn said_locally(client: &Client, about: &str) -> Vec<(String, Value)> {
    after_it_was_asked(&client.read("/v1/audit?limit=500").await, about)
}

/// Who is asked by which gates, by which way the decision came, and after what time.
#[tokio::test]
async fn a_decision_says_by_which_way_it_came() {
    let place = Place::new();
    let (ann, bob) = (add(&place, &["ann"]), add(&place, &["bob"]));
    let server = clerk(&place, GATE, WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let yes = json!({ "decision": "approve" });
    let path = format!("/v1/requests/{request}/decision");
    assert_eq!(post(&server, &bob, &path, yes).await.0, 200);
    let (_, lines) = get(&server, &ann, "/v1/audit?limit=500").await;
    let lines: Vec<&Value> = lines["data"].as_array().unwrap().iter().collect();
    let of = |decision: &str| {
        let mut found = lines.iter().filter(|line| line["decision"]["decision"] == decision);
        let line = found.next().unwrap_or_else(|| panic!("no {decision}: {lines:?}"));
        (text(&line["by"]), line["decision"].clone())
    };
    let (by, asked) = of("asked");
    assert_eq!(by, "policy");
    assert!(asked["digest"].is_string() && !asked["reasons"].as_array().unwrap().is_empty());
    let (by, decided) = of("approve");
    assert_eq!((by.as_str(), &decided["channel"]), ("bob", &json!("http")), "{decided}");
    assert_eq!(decided["address"], "127.0.0.1", "{decided}");
    assert!(decided["waited_ms"].as_u64().is_some_and(|waited| waited < 3_600_000), "{decided}");
    assert!(place.command(&["audit", "verify"]).output().unwrap().status.success());
}
