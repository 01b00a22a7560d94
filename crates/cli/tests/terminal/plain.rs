//! Endpoints of Responses that are not ours, and ours as such.

use serde_json::{Value, json};

use crate::garbage::{Fake, HOLD, stream};
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

/// What other clients of such endpoints get wrong: text that is none, failures that are not told, data over several lines,
/// ends that are not seen, turns that cannot be stopped.
#[test]
fn only_the_answer_is_shown_and_a_turn_ends_and_can_be_stopped() {
    let named = |kind: &str, more: Value| {
        let mut told = more;
        told["type"] = kind.into();
        event(&told)
    };
    let fake = Fake::start(move |_, _, count| match count {
        0 => stream(&format!(
            "{}{}{}{}event: response.output_text.delta\ndata: {{\"type\": \"response.output_text.delta\",\ndata: \"delta\": \"D1 two lines\"}}\n\n{}data: [DONE]\n\n{HOLD}",
            named("response.reasoning_text.delta", json!({ "delta": "THOUGHTS" })),
            named("response.function_call_arguments.delta", json!({ "delta": "{\"leak\":1}" })),
            named(
                "response.output_item.done",
                json!({ "item": { "type": "message", "content": "TWICE" } })
            ),
            named("response.output_text.done", json!({ "text": "D1 two lines" })),
            named("response.completed", json!({ "response": {} })),
        )),
        1 => stream(&named(
            "response.failed",
            json!({ "response": { "error": { "message": "over budget" } } }),
        )),
        2 => stream(&format!(
            "data: this is no JSON\n\n{}event: surprise\ndata: {{}}\n\n{}",
            delta("Still "),
            delta("here.")
        )),
        3 => {
            b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
        }
        4 => stream(&format!("{}{HOLD}", delta("This goes on and"))),
        _ => stream(&format!("{}data: [DONE]\n\n", delta("Fresh."))),
    });
    let place = Place::new();
    let base = format!("{}/v1", fake.url);
    let env = [("OPENAI_BASE_URL", &*base), ("OPENAI_MODEL", "small")];
    let mut screen = place.open(&["chat"], &env, (90, 40));
    screen.shows("You talk to small");
    screen.say("one");
    let shown = screen.shows("D1 two lines");
    // The turn is over with what says so, and not only when the line is closed.
    screen.shows("idle");
    for leak in ["THOUGHTS", "leak", "TWICE"] {
        assert!(!shown.contains(leak), "{shown}");
    }
    assert_eq!(screen.text().matches("D1 two lines").count(), 1);
    screen.say("two");
    screen.shows("! over budget");
    screen.say("three");
    let shown = screen.shows("Still here.");
    assert!(shown.contains("not JSON: this is no JSON") && shown.contains("`surprise`"), "{shown}");
    screen.say("four");
    screen.shows("401");
    screen.say("five");
    screen.shows("This goes on and");
    screen.shows("running");
    screen.say("/cancel");
    screen.shows("not listened to any more");
    screen.shows("idle");
    // A new conversation sends nothing of the old one.
    screen.say("/new");
    screen.shows("a new conversation begins");
    screen.say("six");
    screen.shows("Fresh.");
    let last: Value = serde_json::from_str(&fake.sent.lock().unwrap().last().unwrap().2).unwrap();
    assert_eq!(last["input"], json!([{ "role": "user", "content": "six" }]));
    screen.say("/exit");
    assert_eq!(screen.ends().0, 0);
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
