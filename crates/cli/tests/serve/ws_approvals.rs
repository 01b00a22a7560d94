//! The words of clients that know approvals only.

use serde_json::{Value, json};

use crate::support::{PARTY, Place, text};
use crate::ws_support::Socket;

async fn approvals(server: &crate::support::Client) -> Socket {
    let mut socket = Socket::open(server, "/v1/ws?words=approvals").await;
    let hello = socket.next().await;
    assert_eq!(
        (&hello["event_type"], &hello["data"]["actor"]),
        (&json!("connected"), &json!("local"))
    );
    socket
}

fn event<'a>(kind: &'a str, id: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |it| it["event_type"] == kind && it["data"]["approval_id"] == id
}

#[tokio::test]
async fn an_approval_is_requested_resolved_and_received_by_everybody() {
    let server = Place::new().serve();
    let first = server.start("event_planner", PARTY).await;
    let venue = server.pending(&first).await;
    let mut one = approvals(&server).await;
    let mut other = approvals(&server).await;
    let (mut native, _) = Socket::native(&server).await;

    // What waits is requested at once, in full.
    let requested = one.next().await;
    assert_eq!(requested["event_type"], "approval_requested", "{requested}");
    assert_eq!(
        (&requested["run_id"], &requested["data"]["approval_id"]),
        (&json!(first), &json!(venue))
    );
    let data = &requested["data"];
    for field in
        ["step_id", "action", "description", "message", "options", "checkpoint_type", "context"]
    {
        assert!(!data[field].is_null(), "{field}: {requested}");
    }
    assert_eq!(data["description"], data["message"]);
    assert_eq!(data["action"], data["checkpoint_type"]);
    assert_eq!(data["options"].as_array().unwrap().len(), 3);
    assert!(text(&requested["timestamp"]).ends_with('Z'), "{requested}");

    // An option is a resolution.
    let resolve = json!({ "type": "resolve_approval", "approval_id": venue, "resolution": data["options"][1] });
    let ack = one.ask(&resolve).await;
    assert_eq!(ack["type"], "ack", "{ack}");
    for socket in [&mut one, &mut other] {
        let received = socket.until(event("approval_received", &venue)).await;
        assert_eq!(
            (&received["data"]["approved"], &received["data"]["resolution"]),
            (&json!(true), &json!("submit"))
        );
        assert_eq!(received["data"]["by"], "local");
    }
    assert_eq!(native.told(&venue, "decided").await["status"], "decided");

    // The budget is changed, with words of the other spelling.
    let budget = other.until(|it| it["event_type"] == "approval_requested").await;
    let id = text(&budget["data"]["approval_id"]);
    assert_eq!(budget["data"]["options"], json!(["approve", "modify", "reject"]), "{budget}");
    let mut changed = budget["data"]["context"]["proposal"].clone();
    assert!(changed.is_object(), "{budget}");
    changed["total"] = changed["total"].clone();
    let resolve = json!({ "type": "approval_response", "approval_id": id, "resolution": "modified",
        "modifications": changed.to_string(), "feedback": "as agreed" });
    let ack = other.ask(&resolve).await;
    assert_eq!(ack["type"], "ack", "{ack}");
    let received = one.until(event("approval_received", &id)).await;
    assert_eq!(
        (
            &received["data"]["resolution"],
            &received["data"]["feedback"],
            &received["data"]["approved"]
        ),
        (&json!("modified"), &json!("as agreed"), &json!(true))
    );
    let late = json!({ "type": "resolve_approval", "approval_id": id, "approved": false });
    let refused = one.ask(&late).await;
    assert_eq!(
        (&refused["type"], &refused["event_type"]),
        (&json!("error"), &json!("error_occurred")),
        "{refused}"
    );
    assert_eq!(refused["data"]["code"], "already_decided");
    assert_eq!(one.ask(&json!({ "type": "ping" })).await["event_type"], "pong");
}

#[tokio::test]
async fn no_is_no_and_what_is_over_is_not_approved() {
    let server = Place::new().serve();
    let mut socket = approvals(&server).await;
    let run = server.start("ask", "hi").await;
    let id = server.pending(&run).await;
    socket.until(event("approval_requested", &id)).await;
    let no = json!({ "type": "resolve_approval", "approval_id": id, "approved": false, "feedback": "too much" });
    socket.send(no.to_string()).await;
    let received = socket.until(event("approval_received", &id)).await;
    assert_eq!(
        (
            &received["data"]["approved"],
            &received["data"]["resolution"],
            &received["data"]["feedback"]
        ),
        (&json!(false), &json!("rejected"), &json!("too much"))
    );
    let late = server.start("late", "hi").await;
    let id = format!("req_{}_1", late.trim_start_matches("run_"));
    let expired = socket.until(event("approval_received", &id)).await;
    assert_eq!(
        (&expired["data"]["approved"], &expired["data"]["resolution"]),
        (&json!(false), &json!("expired"))
    );
}

#[tokio::test]
async fn the_words_are_chosen_by_a_subprotocol_too_and_nothing_is_told_twice() {
    let server = Place::new().serve();
    let wanted = [("sec-websocket-protocol", "approvals")];
    let mut other = Socket::try_open(&server, "/v1/ws", &wanted).await.ok().unwrap();
    assert_eq!(other.protocol.as_deref(), Some("approvals"));
    assert_eq!(other.next().await["event_type"], "connected");
    let wanted = [("sec-websocket-protocol", "signoff.v1")];
    let mut native = Socket::try_open(&server, "/v1/ws", &wanted).await.ok().unwrap();
    assert_eq!(native.protocol.as_deref(), Some("signoff.v1"));
    let run = server.start("ask", "hi").await;
    let id = server.pending(&run).await;
    native.told(&id, "asked").await;
    other.until(event("approval_requested", &id)).await;
    native.hears_no(|it| !it["event_type"].is_null()).await;
    other.hears_no(|it| it["type"] == "request").await;
    server.decide(&id, &json!({ "decision": "approve" })).await;
    other.until(event("approval_received", &id)).await;
}
