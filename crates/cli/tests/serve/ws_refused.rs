//! What the WebSocket refuses: with a code for each message, or with the door.

use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::Place;
use crate::ws_support::Socket;

#[tokio::test]
async fn messages_that_make_no_sense_are_refused_and_change_nothing() {
    let server = Place::new().serve();
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let (mut socket, _) = Socket::native(&server).await;
    for (message, code, hint) in [
        ("{", "malformed_json", ""),
        ("[]", "invalid_body", "ping"),
        ("{}", "invalid_body", "one of attach"),
        (r#"{"type":"atach"}"#, "invalid_body", "`attach`"),
        (r#"{"type":"ping","id":{}}"#, "invalid_body", ""),
        (r#"{"type":"attach"}"#, "invalid_body", ""),
        (r#"{"type":"attach","run":"run_x","afer":1}"#, "invalid_body", "`after`"),
        (r#"{"type":"attach","run":"run_x"}"#, "unknown_run", ""),
        (r#"{"type":"requests","limit":501}"#, "invalid_body", ""),
        (r#"{"type":"requests","cursor":"x"}"#, "invalid_cursor", ""),
        (r#"{"type":"requests","filters":{"statis":"pending"}}"#, "invalid_body", "`status`"),
        (r#"{"type":"start","workflow":"asc","input":"hi"}"#, "unknown_workflow", "`ask`"),
        (
            r#"{"type":"decide","request":"req_x_1","decision":{"decision":"approve"}}"#,
            "unknown_request",
            "",
        ),
        (
            r#"{"type":"decide","request":"REQ","decision":{"decision":"skip"}}"#,
            "decision_not_allowed",
            "",
        ),
        (r#"{"type":"decide","request":"REQ","decision":{}}"#, "invalid_body", ""),
        (
            r#"{"type":"decide","request":"REQ","decision":{"decision":"approve"},"version":7}"#,
            "version_conflict",
            "",
        ),
        (
            r#"{"type":"decide","request":"REQ","decision":{"decision":"approve","by":"ada"}}"#,
            "invalid_body",
            "",
        ),
        (
            r#"{"type":"resolve_approval","approval_id":"REQ","resolution":"perhaps"}"#,
            "invalid_answer",
            "accepted",
        ),
    ] {
        socket.send(message.replace("REQ", &request)).await;
        let refused = socket.next().await;
        assert_eq!(
            (&refused["type"], &refused["error"]["code"]),
            (&json!("error"), &json!(code)),
            "{message}: {refused}"
        );
        let said = refused["error"]["hint"].as_str().unwrap_or_default();
        assert!(said.contains(hint), "{message}: {refused}");
    }
    let after = json!({ "type": "attach", "run": run, "after": 999 });
    assert_eq!(socket.ask(&after).await["error"]["code"], "invalid_cursor");
    socket.wire.send(Message::binary(b"{}".to_vec())).await.unwrap();
    assert_eq!(socket.next().await["error"]["code"], "unsupported_media_type");
    let waits = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!((&waits["status"], &waits["version"]), (&json!("pending"), &json!(1)));
    assert_eq!(socket.ask(&json!({ "type": "ping" })).await["type"], "ack", "it is still there");
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_it() {
    let server = Place::new().serve();
    let (mut socket, _) = Socket::native(&server).await;
    let large = json!({ "type": "start", "workflow": "ask", "input": "x".repeat(1024 * 1024) });
    socket.send(large.to_string()).await;
    assert_eq!(socket.next().await["error"]["code"], "body_too_large");
    assert_eq!(socket.receive().await.unwrap_err().0, 1009);
    let runs = server.read("/v1/runs").await;
    assert!(runs["data"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn too_many_messages_are_refused_and_in_the_end_nobody_is_there() {
    let server = Place::new().serve();
    let (mut socket, _) = Socket::native(&server).await;
    for id in 0..300 {
        socket.send(json!({ "type": "ping", "id": id }).to_string()).await;
    }
    let mut refused = 0;
    for id in 0..300 {
        let answer = socket.next().await;
        assert_eq!(answer["id"], id, "each is answered, in order");
        if answer["type"] == "error" {
            assert_eq!(answer["error"]["code"], "too_many_messages");
            refused += 1;
        }
    }
    assert!((50..=200).contains(&refused), "{refused}");
    let mut flood = 0;
    let closed = loop {
        for _ in 0..50 {
            // It may be closed already.
            let _ = socket.wire.send(Message::text(r#"{"type":"ping"}"#)).await;
        }
        flood += 50;
        assert!(flood < 10_000, "it goes on for ever");
        let mut closed = None;
        for _ in 0..50 {
            if let Err(why) = socket.receive().await {
                closed = Some(why);
                break;
            }
        }
        if let Some(closed) = closed {
            break closed;
        }
    };
    assert_eq!(closed.0, 1008, "{closed:?}");
}

#[tokio::test]
async fn only_so_many_runs_are_followed() {
    let server = Place::new().serve();
    let (mut socket, _) = Socket::native(&server).await;
    let mut last = Value::Null;
    for n in 0..33 {
        let run = server.start("ask", "hi").await;
        last = socket.ask(&json!({ "type": "attach", "run": run })).await;
        assert_eq!(last["type"] == "ack", n < 32, "{last}");
    }
    assert_eq!(last["error"]["code"], "too_many_attached");
}

#[tokio::test]
async fn pages_of_others_do_not_come_in() {
    let server = Place::new().serve();
    for headers in [[("origin", "http://evil.test")], [("origin", "null")], [("host", "evil.test")]]
    {
        let refused = Socket::try_open(&server, "/v1/ws", &headers).await;
        let (status, error) = refused.err().unwrap();
        assert_eq!(status, 403, "{headers:?} {error}");
    }
    let own = server.url.clone();
    assert!(Socket::try_open(&server, "/v1/ws", &[("origin", &own)]).await.is_ok());
    let (status, error) = Socket::try_open(&server, "/v1/ws?word=x", &[]).await.err().unwrap();
    assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_query")), "{error}");
    let (status, plain) = server.get("/v1/ws").await;
    assert_eq!((status, &plain["error"]["code"]), (426, &json!("upgrade_required")), "{plain}");
}
