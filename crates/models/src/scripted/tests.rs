use std::sync::Mutex;

use proptest::prelude::*;
use serde_json::json;
use signoff_core::message::ToolResult;
use signoff_core::{Message, Role};

use super::*;

fn script(value: Value) -> Scripted {
    Scripted::from_value(value).unwrap()
}

fn request(agent: &str, turn: u32, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        agent: agent.into(),
        model: "default".into(),
        turn,
        instructions: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([]),
        output: None,
        sent: None,
    }
}

fn say(script: &Scripted, request: &ModelRequest) -> Result<String, ModelError> {
    script
        .reply(request)
        .map(|(reply, _)| reply.parts.iter().map(view::part_text).collect::<Vec<_>>().join("|"))
}

fn asked(agent: &str, id: &str, answer: Value) -> [Message; 2] {
    let call = ToolCall {
        id: id.into(),
        name: "request_user_input".into(),
        arguments: json!({ "prompt": "?" }),
    };
    let result = ToolResult { id: id.into(), content: answer, is_error: false };
    [
        Message {
            role: Role::Assistant,
            author: Some(agent.into()),
            parts: vec![Part::ToolCall(call)],
        },
        Message {
            role: Role::Tool,
            author: Some("ann".into()),
            parts: vec![Part::ToolResult(result)],
        },
    ]
}

#[test]
fn the_first_rule_that_fits_replies() {
    let script = script(json!([
        { "agent": "a", "turn": 2, "text": "second" },
        { "agent": ["a", "b"], "messages": 3, "text": "three" },
        { "input": "^plan (?<what>\\w+)", "unless": "never", "text": "planning {{ captures.what }}" },
        { "last": "bye", "text": "ended" },
        { "when": "secret", "text": "found" },
        { "if": "turn > 5 and 'x' in input", "text": "if" },
    ]));
    let user = |text: &str| vec![Message::user(text)];
    let told = |agent: &str, turn, messages| say(&script, &request(agent, turn, messages)).unwrap();
    assert_eq!(told("a", 1, user("hi")), "second");
    assert_eq!(
        told("b", 0, vec![Message::user("x"), Message::user("y"), Message::user("z")]),
        "three"
    );
    assert_eq!(told("c", 0, user("PLAN parties")), "planning parties", "case does not matter");
    assert_eq!(
        told("c", 0, vec![Message::user("plan x"), Message::assistant("d", "never; bye")]),
        "ended"
    );
    assert_eq!(told("c", 0, vec![Message::user("the secret"), Message::user("y")]), "found");
    assert_eq!(told("c", 5, user("x")), "if");
}

#[test]
fn no_rule_is_an_error_that_says_for_what() {
    let script = script(json!([{ "agent": "a", "text": "hi" }]));
    let error = say(&script, &request("venue", 2, vec![Message::user("What now?")])).unwrap_err();
    assert_eq!(error.info.code, "script_no_match");
    assert!(!error.retryable);
    for word in ["call 3", "`venue`", "What now?"] {
        assert!(error.info.message.contains(word), "{}", error.info.message);
    }
    assert!(error.info.hint.unwrap().contains("agent: venue"));
}

#[test]
fn a_lone_expression_keeps_its_type() {
    let script = script(json!({
        "let": { "n": { "find": "(\\d+) people", "as": "number" }, "list": "{{ [n, 'x'] }}" },
        "rules": [{ "call": [{ "tool": "t", "arguments": {
            "number": "{{ n }}", "text": "{{ n }} guests", "list": "{{ list }}", "map": "{{ {'b': {'c': 1}, 'a': none} }}",
            "both": "{{ n }}{{ n }}", "flag": "{{ n > 3 }}", "plain": [1, null, { "deep": "{{ n * 1.5 }}" }]
        } }] }]
    }));
    let (reply, _) = script.reply(&request("a", 0, vec![Message::user("for 30 people")])).unwrap();
    let Part::ToolCall(call) = &reply.parts[0] else { panic!() };
    let expected = json!({
        "number": 30, "text": "30 guests", "list": [30, "x"], "map": { "b": { "c": 1 }, "a": null },
        "both": "3030", "flag": true, "plain": [1, null, { "deep": 45.0 }]
    });
    assert_eq!(
        call.arguments.to_string(),
        expected.to_string(),
        "in the order they were written, too"
    );
    assert_eq!(call.id, "a_1_1");
}

#[test]
fn what_was_asked_answered_and_found_is_at_hand() {
    let script = script(json!([{ "json": {
        "answers": "{{ answers | map(attribute='agent') | join(',') }}",
        "venue": "{{ answers_by_agent.venue.answer }}",
        "search": "{{ results.web_search }}",
        "own": "{{ results_by_agent.budget.web_search.error }}",
        "output": "{{ outputs.venue.summary }}",
        "called": "{{ called }}",
    } }]));
    let call = |id: &str| {
        Part::ToolCall(ToolCall { id: id.into(), name: "web_search".into(), arguments: json!({}) })
    };
    let result = |id: &str, content: Value, is_error| {
        Part::ToolResult(ToolResult { id: id.into(), content, is_error })
    };
    let mut messages = vec![Message::user("Plan")];
    messages.extend(asked("venue", "1", json!({ "answer": "first" })));
    // The same call id again, in another turn.
    messages.extend(asked("venue", "1", json!({ "answer": "second" })));
    messages.push(Message {
        role: Role::Assistant,
        author: Some("venue".into()),
        parts: vec![
            call("1"),
            result("1", json!(7), false),
            Part::Text("{\"summary\": \"done\"}".into()),
        ],
    });
    messages.push(Message {
        role: Role::Assistant,
        author: Some("budget".into()),
        parts: vec![call("1"), result("1", json!("down"), true)],
    });
    let said: Value =
        serde_json::from_str(&say(&script, &request("budget", 1, messages)).unwrap()).unwrap();
    assert_eq!(
        said,
        json!({ "answers": "venue,venue", "venue": "second", "search": { "error": "down" }, "own": "down",
                "output": "done", "called": ["web_search"] })
    );
}

#[test]
fn using_what_is_not_there_is_an_error_with_its_place() {
    for text in [
        "{{ answers_by_agent.venue.answer }}",
        "Hello {{ nobody }}",
        "{{ nobody }}",
        "{{ 'x' | thousands }}",
    ] {
        let script = script(json!([{ "json": { "summary": text } }]));
        let error = say(&script, &request("a", 0, vec![])).unwrap_err();
        assert_eq!(error.info.code, "script_template");
        assert!(error.info.message.starts_with("rules[0].json.summary:"), "{}", error.info.message);
    }
}

#[test]
fn templates_cannot_run_for_ever() {
    let script = script(
        json!([{ "text": "{% for a in range(9000) %}{% for b in range(9000) %}x{% endfor %}{% endfor %}" }]),
    );
    let error = say(&script, &request("a", 0, vec![])).unwrap_err();
    assert!(error.info.message.contains("fuel"), "{}", error.info.message);
}

#[test]
fn bad_scripts_are_refused_with_the_place() {
    let cases = [
        (json!("rules"), "script:"),
        (json!({ "rule": [] }), "script:"),
        (
            json!([{ "text": "a" }, { "agnet": "a", "text": "b" }]),
            "rules[1]: unknown field `agnet`",
        ),
        (json!([{ "agent": "a" }]), "rules[0]: needs one reply"),
        (json!([{ "text": "a", "json": {} }]), "rules[0]: needs one reply"),
        (
            json!([{ "fail": { "code": "a", "message": "b" }, "text": "c" }]),
            "rules[0]: needs one reply",
        ),
        (json!([{ "text": "a", "when": "(" }]), "rules[0].when:"),
        (json!([{ "text": "a", "last": "(a{100}){100}{100}" }]), "rules[0].last:"),
        (json!([{ "text": "a", "if": "a b" }]), "rules[0].if:"),
        (json!([{ "text": "{{ a" }]), "rules[0].text:"),
        (json!([{ "json": { "x": ["{% if %}"] } }]), "rules[0].json.x[0]:"),
        (
            json!([{ "call": [{ "tool": "t", "arguments": { "q": "{{ | }}" } }] }]),
            "rules[0].call[0].arguments.q:",
        ),
        (json!([{ "text": "a", "turn": 0 }]), "rules[0].turn:"),
        (json!([{ "text": "a", "chunk": 0 }]), "rules[0].chunk:"),
        (json!([{ "text": "a", "delay": "soon" }]), "rules[0]:"),
        (json!({ "let": { "n": { "find": "[" } }, "rules": [] }), "let.n.find:"),
        (json!({ "from": "[", "rules": [] }), "from:"),
    ];
    for (value, expected) in cases {
        let error = Scripted::from_value(value.clone()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{value}\n→ {error}");
    }
}

#[test]
fn numbers_are_found_as_people_write_them() {
    let script = script(json!({
        "let": { "money": { "find": "\\$([\\d,.]+k?)|([\\d,]+) dollars", "as": "number", "default": -1 } },
        "rules": [{ "text": "{{ money }}" }]
    }));
    for (text, number) in [
        ("$3,000", "3000"),
        ("$2.5k", "2500.0"),
        ("1,200 dollars", "1200"),
        ("nothing", "-1"),
        ("$,", "-1"),
    ] {
        assert_eq!(
            say(&script, &request("a", 0, vec![Message::user(text)])).unwrap(),
            number,
            "{text}"
        );
    }
}

#[test]
fn a_rule_can_fail() {
    let script = script(
        json!([{ "fail": { "code": "overloaded", "message": "Busy.", "retryable": true } }]),
    );
    let error = say(&script, &request("a", 0, vec![])).unwrap_err();
    assert_eq!((error.info.code.as_str(), error.retryable), ("overloaded", true));
}

async fn stream(script: &Scripted, request: &ModelRequest) -> (ModelReply, Vec<String>) {
    let pieces = Mutex::new(Vec::new());
    let sink = |delta| {
        let Delta::Text(piece) = delta else { return };
        pieces.lock().unwrap().push(piece);
    };
    let reply = script.complete(request, &sink).await.unwrap();
    let pieces = pieces.into_inner().unwrap();
    (reply, pieces)
}

#[tokio::test(start_paused = true)]
async fn text_is_streamed_in_pieces_and_in_its_time() {
    let script = script(json!({ "chunk": 2, "delay": "1h", "rules": [
        { "turn": 1, "text": "äöüß!", "pace": "10m", "call": [{ "tool": "t" }] },
        { "text": "äöüß!", "chunk": 100, "delay": "1ms" },
    ] }));
    let begun = tokio::time::Instant::now();
    let (reply, pieces) = stream(&script, &request("a", 0, vec![])).await;
    assert_eq!(begun.elapsed().as_secs(), 80 * 60);
    assert_eq!(pieces, ["äö", "üß", "!"]);
    assert_eq!(reply.parts.len(), 2);
    let (_, pieces) = stream(&script, &request("a", 1, vec![])).await;
    assert_eq!(pieces, ["äöüß!"]);
}

#[test]
fn the_scripts_in_the_guide_are_scripts() {
    let guide = include_str!("../../../../docs/scripted-model.md");
    let mut shown = 0;
    for block in guide.split("```yaml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let script = script(signoff_core::workflow::yaml(text).unwrap());
        assert!(say(&script, &request("greeter", 0, vec![Message::user("30 people")])).is_ok());
        shown += 1;
    }
    assert_eq!(shown, 2);
}

proptest! {
    #[test]
    fn pieces_add_up_to_the_text(text in any::<String>(), size in proptest::option::of(1usize..20)) {
        let pieces = pieces(&text, size);
        prop_assert_eq!(pieces.concat(), text.as_str());
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
        if let Some(size) = size {
            prop_assert!(pieces.iter().all(|piece| piece.chars().count() <= size));
        }
    }

    /// Nothing a person says is taken for a template, and the same request gets the same reply.
    #[test]
    fn what_people_say_is_data(text in any::<String>()) {
        let script = script(json!([{ "json": { "said": "{{ input }}", "again": "You said {{ input }}" } }]));
        let request = request("a", 0, vec![Message::user(text.clone())]);
        let said = say(&script, &request).unwrap();
        let json: Value = serde_json::from_str(&said).unwrap();
        prop_assert_eq!(json["said"].as_str(), Some(text.as_str()));
        prop_assert_eq!(json["again"].as_str().unwrap(), format!("You said {text}"));
        prop_assert_eq!(say(&script, &request).unwrap(), said);
    }
}
