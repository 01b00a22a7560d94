//! Endpoints of Responses that are not ours, and ours as such.

use serde_json::{Value, json};

use crate::garbage::{Fake, stream};
use crate::support::Place;

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn delta(text: &str) -> String {
    event(&json!({ "type": "response.output_text.delta", "delta": text }))
}

#[test]
fn a_plain_endpoint_is_talked_to() {
    let fake = Fake::start(|what, _, count| match (what, count) {
        ("POST /v1/responses", 0) => stream(&format!(
            "{}{}{}{}data: [DONE]\n\n",
            delta("Hello, **wor"),
            delta("ld**."),
            event(&json!({ "type": "response.output_text.done", "text": "Hello, **world**." })),
            event(&json!({ "type": "response.completed", "response": { "id": "resp_1" } })),
        )),
        _ => stream(&format!(
            "{}data: [DONE]\n\n",
            event(&json!({ "type": "error", "message": "no more for you" }))
        )),
    });
    let place = Place::new();
    let base = format!("{}/v1", fake.url);
    let env = [("OPENAI_BASE_URL", &*base), ("OPENAI_API_KEY", "key-1"), ("OPENAI_MODEL", "small")];
    let mut screen = place.open(&["chat"], &env, (80, 24));
    screen.shows("You talk to small");
    screen.say("Hi");
    let shown = screen.shows("Hello, world.");
    assert_eq!(shown.matches("Hello, world.").count(), 1, "{shown}");
    screen.shows("idle");
    screen.say("Again");
    screen.shows("! no more for you");
    let sent = fake.sent.lock().unwrap().clone();
    assert!(sent[0].1.to_lowercase().contains("authorization: bearer key-1"), "{}", sent[0].1);
    let second: Value = serde_json::from_str(&sent[1].2).unwrap();
    assert_eq!(second["model"], "small");
    assert_eq!(
        second["input"],
        json!([
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": "Hello, **world**." },
            { "role": "user", "content": "Again" },
        ])
    );
}

#[test]
fn a_question_turns_it_to_a_workflow() {
    let asked = json!({ "type": "response.trace.complete", "data": { "trace_type": "workflow_info", "event_type": "RequestInfoEvent",
        "data": { "request_info": { "request_id": "req-7", "source_executor_id": "gateway", "data": {
            "prompt": "Which colour?", "awaiting_agent_id": "painter",
            "conversation": [{ "role": "user", "text": "Paint it" }, { "role": "assistant", "author_name": "painter", "text": "Gladly" }] } } } } });
    let fake = Fake::start(move |what, _, _| match what {
        "POST /v1/responses" => {
            stream(&format!("{}{}data: [DONE]\n\n", delta("Gladly."), event(&asked)))
        }
        "POST /v1/workflows/studio/send_responses" => {
            stream(&format!("{}data: [DONE]\n\n", delta("It is green now.")))
        }
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
    });
    let place = Place::new();
    let base = format!("{}/v1", fake.url);
    let mut screen =
        place.open(&["chat"], &[("OPENAI_BASE_URL", &*base), ("OPENAI_MODEL", "studio")], (80, 36));
    screen.shows("You talk to studio");
    screen.say("Paint it");
    let shown = screen.shows("The workflow asks you");
    assert!(shown.contains("Which colour?") && shown.contains("painter: Gladly"), "{shown}");
    assert!(shown.contains("a workflow is behind this endpoint"), "{shown}");
    screen.keys("green");
    screen.shows("┃ green");
    screen.shows("Enter answers");
    screen.keys("\r");
    screen.shows("It is green now.");
    screen.hides("The workflow asks you");
    let sent = fake.sent.lock().unwrap().clone();
    let answer: Value = serde_json::from_str(&sent[1].2).unwrap();
    assert_eq!(answer["responses"], json!({ "req-7": "green" }));
}

/// The same conversation over two dialects of the real server.
#[tokio::test(flavor = "multi_thread")]
async fn our_own_server_is_an_endpoint_too() {
    let place = Place::new();
    let server = place.serve();
    let (bridge, openai) = (format!("{}/bridge/term", server.url), format!("{}/v1", server.url));
    for env in [
        [("AF_BRIDGE_BASE_URL", &*bridge), ("AF_MODEL", "support_handoff")],
        [("OPENAI_BASE_URL", &*openai), ("OPENAI_MODEL", "support_handoff")],
    ] {
        let mut screen = place.open(&["chat"], &env, (100, 40));
        screen.shows("You talk to support_handoff");
        screen.say("I need help with order 12345. I want a replacement and need to know when it will arrive.");
        screen.shows("The workflow asks you");
        for (answer, then) in [
            ("The box was crushed.", "Where should"),
            ("12 Main Street", "within three working days"),
        ] {
            screen.keys(answer);
            screen.shows(&format!("┃ {answer}"));
            screen.shows("Enter answers");
            screen.keys("\r");
            screen.shows(then);
        }
        screen.hides("The workflow asks you");
        screen.shows("idle");
        assert_eq!(server.pending(0).await.len(), 0);
    }
}
