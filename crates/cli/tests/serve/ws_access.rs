//! Who hears and decides what: users, roles and tenants on lasting connections, and terminals of several people.

use std::time::Duration;

use serde_json::{Value, json};

use crate::access::{add, asked, user};
use crate::qlaw::Qlaw;
use crate::support::{Client, Place, text};
use crate::ws_support::Socket;

async fn open(server: &Client, token: &str) -> Socket {
    let bearer = format!("Bearer {token}");
    let opened = Socket::try_open(server, "/v1/ws", &[("authorization", &bearer)]).await;
    let mut socket = opened.ok().unwrap();
    assert_eq!(socket.next().await["type"], "hello");
    assert_eq!(socket.next().await["type"], "snapshot");
    socket
}

#[tokio::test]
async fn a_token_is_needed_and_says_what_may_be_done() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let eve = add(&place, &["eve", "--role", "viewer"]);
    let server = place.serve();
    for headers in [&[][..], &[("authorization", "Bearer sgn_wrong")]] {
        let (status, _) = Socket::try_open(&server, "/v1/ws", headers).await.err().unwrap();
        assert_eq!(status, 401);
    }
    let mut viewer = open(&server, &eve).await;
    let mut worker = open(&server, &ada).await;
    let (_, request) = asked(&server, &ada).await;
    assert_eq!(viewer.told(&request, "asked").await["status"], "pending");
    let decide =
        json!({ "type": "decide", "request": request, "decision": { "decision": "approve" } });
    let resolve = json!({ "type": "resolve_approval", "approval_id": request, "approved": true });
    let start = json!({ "type": "start", "workflow": "ask", "input": "x" });
    for wish in [&decide, &resolve, &start] {
        assert_eq!(viewer.ask(wish).await["error"]["code"], "not_permitted", "{wish}");
    }
    let taken = worker.ask(&decide).await;
    assert_eq!(taken["request"]["decision"]["by"], "ada", "{taken}");
    assert_eq!(viewer.told(&request, "decided").await["decision"]["by"], "ada");
}

#[tokio::test]
async fn a_connection_is_worth_no_more_than_its_token() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let bob = add(&place, &["bob"]);
    let server = place.serve();
    let mut socket = open(&server, &ada).await;
    let (_, request) = asked(&server, &bob).await;
    assert!(user(&place, &["remove", "ada"]).0);
    // The server looks for users four times a second.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let decide =
        json!({ "type": "decide", "request": request, "decision": { "decision": "approve" } });
    assert_eq!(socket.ask(&decide).await["error"]["code"], "invalid_token");
    let mut other = open(&server, &bob).await;
    assert_eq!(other.ask(&decide).await["type"], "ack", "it was still there to decide");
}

#[tokio::test]
async fn tenants_do_not_hear_of_each_other() {
    let place = Place::new();
    let ada = add(&place, &["ada", "--tenant", "red"]);
    let bob = add(&place, &["bob", "--tenant", "blue"]);
    let server = place.serve();
    let mut red = open(&server, &ada).await;
    let mut blue = open(&server, &bob).await;
    let (run, request) = asked(&server, &ada).await;
    red.told(&request, "asked").await;
    let attach = json!({ "type": "attach", "run": run });
    assert_eq!(blue.ask(&attach).await["error"]["code"], "unknown_run");
    let decide =
        json!({ "type": "decide", "request": request, "decision": { "decision": "approve" } });
    assert_eq!(blue.ask(&decide).await["error"]["code"], "unknown_request");
    let resolve = json!({ "type": "resolve_approval", "approval_id": request, "approved": true });
    assert_eq!(blue.ask(&resolve).await["error"]["code"], "unknown_request");
    let listed = blue.ask(&json!({ "type": "requests" })).await;
    assert_eq!(listed["requests"], json!([]));
    assert_eq!(red.ask(&decide).await["type"], "ack");
    red.told(&request, "decided").await;
    blue.hears_no(|it| it["type"] == "request").await;
}

#[tokio::test]
async fn claims_and_comments_are_told() {
    let place = Place::new();
    let server = place.serve();
    let other = place.serve();
    let (mut socket, _) = Socket::native(&server).await;
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let steps: [(&Client, &str, Value, &str, Value); 4] = [
        (&server, "claim", json!({}), "claimed", json!("local")),
        (&other, "reassign", json!({ "to": "ada" }), "assigned", json!("ada")),
        (&other, "comment", json!({ "text": "look twice" }), "commented", json!("ada")),
        (&server, "reassign", json!({}), "assigned", Value::Null),
    ];
    for (client, what, body, change, assignee) in steps {
        let (status, _) = client.post(&format!("/v1/requests/{request}/{what}"), &body).await;
        assert_eq!(status, 200);
        let told = socket.until(|it| it["change"] == change).await;
        assert_eq!(
            (&told["request"]["id"], &told["request"]["assignee"]),
            (&json!(request), &assignee)
        );
        assert_eq!((&told["note"]["by"], &told["note"]["what"]), (&json!("local"), &json!(change)));
        if what == "comment" {
            assert_eq!(told["note"]["text"], "look twice");
        }
    }
    let mine =
        json!({ "type": "requests", "filters": { "assignee": "none", "status": "pending" } });
    assert_eq!(socket.ask(&mine).await["requests"][0]["id"], json!(request));
}

#[tokio::test]
async fn terminals_of_two_people_are_apart() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let bob = add(&place, &["bob"]);
    let server = place.serve();
    let terminal = |token: &str| Qlaw::new(&server, "/bridge", "ask").with_name("qlaw", token);
    let nobody = Qlaw::new(&server, "/bridge", "ask").say("hi").await;
    assert!(nobody.starts_with("[Error] HTTP 401 Unauthorized"), "{nobody}");
    for token in [&ada, &bob] {
        let asked = terminal(token).say("hi").await;
        assert!(asked.contains("Well?"), "{asked}");
    }
    let answered = terminal(&ada).say("yes").await;
    assert!(answered.contains("\"by\": \"ada\""), "{answered}");
    let listed = terminal(&bob).say("!list").await;
    assert!(listed.contains("Well?"), "bob's question still waits: {listed}");
    let watching = open(&server, &bob).await.ask(&json!({ "type": "requests" })).await;
    let status = |n: usize| text(&watching["requests"][n]["status"]);
    assert_eq!((status(0), status(1)), ("decided".to_owned(), "pending".to_owned()));
}
