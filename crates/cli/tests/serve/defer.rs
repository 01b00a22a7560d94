//! Requests that are put off, and come back by themselves.

use std::time::Duration;

use serde_json::{Value, json};

use crate::access::{add, post};
use crate::deciders::{pending, start};
use crate::gates::{WRITE, clerk};
use crate::support::{Place, Server, Stream, text};
use crate::ws_support::Socket;

async fn counts(server: &Server) -> (u64, u64) {
    let count = async |query: &str| {
        let found = server.read(&format!("/v1/requests/count?status=pending{query}")).await;
        found["count"].as_u64().unwrap()
    };
    (count("").await, count("&deferred=true").await)
}

#[tokio::test]
async fn a_request_is_out_of_sight_and_comes_back_after_a_restart() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let defer = format!("/v1/requests/{request}/defer");
    let (status, put_off) =
        server.post(&defer, &json!({ "for": "2s", "note": "after lunch" })).await;
    assert_eq!(status, 200, "{put_off}");
    assert_eq!((counts(&server).await, &put_off["version"]), ((0, 1), &json!(1)));
    let note = &put_off["notes"][0];
    assert_eq!(
        (&note["what"], &note["by"], &note["text"]),
        (&json!("deferred"), &json!("local"), &json!("after lunch"))
    );
    assert_eq!(note["until"], put_off["deferred_until"]);
    let listed = server.read("/v1/requests?deferred=true").await;
    assert_eq!(text(&listed["data"][0]["id"]), request);
    assert_eq!(server.read("/v1/requests?deferred=false").await["data"], json!([]));
    server.process.kill();
    let server = place.serve();
    assert_eq!(counts(&server).await.1, 1, "it is put off after a restart too");
    let mut inbox = Stream::open(&server, "/v1/requests/events").await;
    let told = tokio::time::timeout(Duration::from_secs(20), inbox.next()).await.unwrap().unwrap();
    assert_eq!(
        (&told.data["change"], &told.data["note"]["by"]),
        (&json!("reopened"), &json!("system")),
        "{:?}",
        told.data
    );
    assert_eq!(told.data["request"]["deferred_until"], Value::Null);
    assert_eq!(counts(&server).await, (1, 0));
}

#[tokio::test]
async fn what_is_put_off_can_be_decided_and_its_deadline_holds() {
    let place = Place::new();
    let soon = "workflow: soon\npattern: graph\nstart: ask\nexecutors:\n  \
                ask: { ask: { prompt: Now?, kind: approval, within: 1h } }\n";
    std::fs::write(place.path("flows/soon.yaml"), soon).unwrap();
    let server = place.serve();
    let run = server.start("soon", "x").await;
    let request = server.pending(&run).await;
    let defer = format!("/v1/requests/{request}/defer");
    for (body, status, code) in [
        (json!({ "for": "2h" }), 422, "invalid_deferral"),
        (json!({ "until": "2020-01-01T00:00:00Z" }), 422, "invalid_deferral"),
        (json!({ "until": "2999-01-01T00:00:00Z" }), 422, "invalid_deferral"),
        (json!({ "until": "tomorrow" }), 400, "invalid_body"),
        (json!({}), 400, "invalid_body"),
        (json!({ "for": "1m", "until": "2999-01-01T00:00:00Z" }), 400, "invalid_body"),
        (json!({ "for": "soon" }), 400, "invalid_body"),
        (json!({ "for": "1m", "note": "x".repeat(20_000) }), 422, "invalid_deferral"),
    ] {
        let (found, error) = server.post(&defer, &body).await;
        assert_eq!((found, &error["error"]["code"]), (status, &json!(code)), "{body}: {error}");
    }
    let (_, late) = server.post(&defer, &json!({ "for": "2h" })).await;
    let expires = server.read(&format!("/v1/requests/{request}")).await["expires_at"].clone();
    assert_eq!(late["error"]["details"]["expires_at"], expires);
    assert_eq!(server.post(&defer, &json!({ "for": "30m" })).await.0, 200);
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    let (status, late) = server.post(&defer, &json!({ "for": "1m" })).await;
    assert_eq!((status, &late["error"]["code"]), (409, &json!("already_decided")));
    let decided = server.read(&format!("/v1/requests?run={run}")).await;
    assert_eq!(decided["data"][0]["status"], "decided", "what is decided is never out of sight");
    let (status, unknown) =
        server.post("/v1/requests/req_x_1/defer", &json!({ "for": "1m" })).await;
    assert_eq!((status, &unknown["error"]["code"]), (404, &json!("unknown_request")));
}

#[tokio::test]
async fn the_command_line_puts_off_too() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let ran = |args: &[&str]| {
        let out = place.command(args).output().unwrap();
        let said = [out.stdout, out.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
        (out.status.code(), said)
    };
    let (code, said) = ran(&["inbox", "defer", &request, "2h", "--as", "ada"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is put off until"), "{said}");
    assert!(ran(&["inbox"]).1.contains("nothing waits"));
    assert!(ran(&["inbox", "list", "--deferred"]).1.contains(&request));
    let (code, said) = ran(&["inbox", "defer", &request, "soon"]);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(counts(&server).await, (0, 1));
    let shown = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(shown["notes"][0]["by"], "ada");
}

#[tokio::test]
async fn only_those_who_are_asked_put_off() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "owner"]);
    let bob = add(&place, &["bob", "--role", "owner"]);
    let cid = add(&place, &["cid", "--role", "intern"]);
    let gate = "  - { name: before_file_edit, who: { roles: [owner], not_initiator: true } }\n";
    let server = clerk(&place, gate, WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let path = format!("/v1/requests/{request}/defer");
    for (token, status, code) in [(&cid, 403, "not_asked"), (&ann, 403, "own_run")] {
        let (found, refused) = post(&server, token, &path, json!({ "for": "1h" })).await;
        assert_eq!((found, &refused["error"]["code"]), (status, &json!(code)), "{refused}");
    }
    let (status, put_off) = post(&server, &bob, &path, json!({ "for": "1h" })).await;
    assert_eq!((status, &put_off["notes"][0]["by"]), (200, &json!("bob")), "{put_off}");
}

#[tokio::test]
async fn a_socket_puts_off_and_hears_of_it() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let (mut socket, _) = Socket::native(&server).await;
    let defer = json!({ "type": "defer", "id": 7, "request": request, "for": "1h" });
    socket.send(defer.to_string()).await;
    let mut heard = (false, false);
    while heard != (true, true) {
        let told = socket.next().await;
        heard.0 |= told["type"] == "ack" && !told["request"]["deferred_until"].is_null();
        heard.1 |= told["type"] == "request" && told["change"] == "deferred";
        assert_ne!(told["type"], "error", "{told}");
    }
    let (_, snapshot) = Socket::native(&server).await;
    assert_eq!(snapshot["requests"], json!([]), "it is out of sight");
}
