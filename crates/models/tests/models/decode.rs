//! Streams as servers really send them, cut where they like.

use std::sync::Mutex;

use proptest::prelude::*;
use serde_json::{Value, json};
use signoff_core::Part;
use signoff_models::{Delta, ModelError, ModelReply, ProviderKind, Usage, decode};

use super::support::{ALL, call, request, tool};

fn read(kind: ProviderKind, chunks: &[&[u8]]) -> (Result<ModelReply, ModelError>, Vec<Delta>) {
    let asked = request(Vec::new(), vec![tool("web_search"), tool("maps.find")], None);
    let deltas = Mutex::new(Vec::new());
    let reply = decode(kind, &asked, chunks, &|delta| deltas.lock().unwrap().push(delta));
    (reply, deltas.into_inner().unwrap())
}

fn stream(events: &[Value]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

fn chat(events: &[Value]) -> Result<ModelReply, ModelError> {
    read(ProviderKind::OpenAiChat, &[&stream(events)]).0
}

#[allow(clippy::needless_pass_by_value)] // it reads better where it is called
fn choice(delta: Value, reason: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

#[test]
fn chat_without_usage_done_mark_or_ids() {
    // As small local servers do.
    let reply = chat(&[
        choice(json!({ "role": "assistant", "content": null }), json!("")),
        choice(json!({ "content": "Hel", "reasoning_content": "hm" }), json!("")),
        choice(json!({ "content": "lo" }), Value::Null),
        choice(
            json!({ "tool_calls": [{ "function": { "name": "web_search", "arguments": { "query": "a" } } }] }),
            Value::Null,
        ),
        choice(
            json!({ "tool_calls": [{ "function": { "name": "web_search", "arguments": "{}" } }] }),
            json!("tool_calls"),
        ),
    ])
    .unwrap();
    assert_eq!(reply.usage, Usage::default());
    let calls = [
        call("call_1", "web_search", json!({ "query": "a" })),
        call("call_2", "web_search", json!({})),
    ];
    assert_eq!(reply.parts, [&[text("Hello")], &calls[..]].concat());
}

#[test]
fn chat_calls_that_all_have_index_zero_are_told_apart_by_id() {
    let one = |id: &str, name: &str, arguments: &str| {
        json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function",
            "function": { "name": name, "arguments": arguments } }] })
    };
    let reply = chat(&[
        choice(one("x", "web_search", "{\"query\":1}"), Value::Null),
        choice(one("y", "maps_find", "{\"street\":2}"), json!("tool_calls")),
    ])
    .unwrap();
    let expected = [
        call("x", "web_search", json!({ "query": 1 })),
        call("y", "maps.find", json!({ "street": 2 })),
    ];
    assert_eq!(reply.parts, expected);
}

#[test]
fn chat_arguments_in_pieces_with_and_without_repeated_names() {
    let piece = |index: u64, function: Value| json!({ "tool_calls": [{ "index": index, "function": function }] });
    let reply = chat(&[
        choice(piece(0, json!({ "name": "web_search", "arguments": "" })), Value::Null),
        choice(piece(1, json!({ "name": "maps_find" })), Value::Null),
        choice(piece(1, json!({ "name": "maps_find", "arguments": "{\"a\":" })), Value::Null),
        choice(piece(0, json!({ "arguments": "{\"b\": 2}" })), Value::Null),
        choice(piece(1, json!({ "arguments": "1}" })), json!("stop")),
    ])
    .unwrap();
    let expected = [
        call("call_1", "web_search", json!({ "b": 2 })),
        call("call_2", "maps.find", json!({ "a": 1 })),
    ];
    assert_eq!(reply.parts, expected);
}

#[test]
fn arguments_that_are_not_json_stay_text_and_ids_stay_unique() {
    let one = |id: &str, arguments: &str| json!({ "id": id, "function": { "name": "web_search", "arguments": arguments } });
    let body = json!({ "choices": [{ "message": { "content": "", "tool_calls": [
        one("", "{broken"), one("call_1", "\"{\\\"q\\\":1}\""),
    ] }, "finish_reason": "tool_calls" }] });
    let reply = chat(&[body]).unwrap();
    let expected = [
        call("call_1", "web_search", json!("{broken")),
        call("call_2", "web_search", json!({ "q": 1 })),
    ];
    assert_eq!(reply.parts, expected);
}

#[test]
fn endings_have_their_meaning() {
    let ends = |reason: &str| {
        chat(&[choice(json!({ "content": "Hi" }), json!(reason))]).map_err(|error| error.info.code)
    };
    assert!(ends("stop").is_ok());
    assert!(ends("something_new").is_ok());
    assert_eq!(ends("length").unwrap_err(), "model_cut");
    assert_eq!(ends("content_filter").unwrap_err(), "model_refused");
    assert_eq!(ends("").unwrap_err(), "model_cut");
    let code = |kind, events: &[Value]| read(kind, &[&stream(events)]).0.unwrap_err().info.code;
    let refusal = choice(json!({ "refusal": "I will not." }), json!("stop"));
    assert_eq!(code(ProviderKind::OpenAiChat, &[refusal]), "model_refused");
    let failed = json!({ "error": { "message": "the engine died", "code": 500 } });
    assert_eq!(code(ProviderKind::OpenAiChat, &[failed]), "model_unavailable");
    let event = |kind: &str, mut rest: Value| {
        rest["type"] = kind.into();
        rest
    };
    let incomplete = |reason: &str| {
        event(
            "response.incomplete",
            json!({ "response": { "status": "incomplete", "incomplete_details": { "reason": reason } } }),
        )
    };
    let openai = |event: Value| code(ProviderKind::OpenAi, &[event]);
    assert_eq!(openai(incomplete("max_output_tokens")), "model_cut");
    assert_eq!(openai(incomplete("content_filter")), "model_refused");
    let failed = |code: &str| {
        event(
            "response.failed",
            json!({ "response": { "status": "failed", "error": { "code": code, "message": "m" } } }),
        )
    };
    assert_eq!(openai(failed("server_error")), "model_unavailable");
    assert_eq!(openai(failed("rate_limit_exceeded")), "model_rate_limited");
    assert_eq!(openai(failed("context_length_exceeded")), "model_context_length");
    assert_eq!(openai(event("error", json!({ "code": "x", "message": "m" }))), "model_unavailable");
    let anthropic = |event: Value| code(ProviderKind::Anthropic, &[event]);
    let stopped =
        |reason: &str| event("message_delta", json!({ "delta": { "stop_reason": reason } }));
    assert_eq!(anthropic(stopped("max_tokens")), "model_cut");
    assert_eq!(anthropic(stopped("refusal")), "model_refused");
    assert_eq!(anthropic(stopped("model_context_window_exceeded")), "model_context_length");
    let broke = |kind: &str| event("error", json!({ "error": { "type": kind, "message": "m" } }));
    assert_eq!(anthropic(broke("overloaded_error")), "model_overloaded");
    assert_eq!(anthropic(broke("rate_limit_error")), "model_rate_limited");
    assert_eq!(anthropic(broke("invalid_request_error")), "model_bad_request");
    assert_eq!(anthropic(broke("api_error")), "model_unavailable");
}

#[test]
fn thoughts_and_arguments_stream_past() {
    let events = [
        json!({ "type": "message_start", "message": { "usage": {
            "input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2,
            "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "x" } }),
        json!({ "type": "content_block_start", "index": 1, "content_block": {
            "type": "tool_use", "id": "t1", "name": "maps_find", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"a\"" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": ":1}" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ];
    let (reply, deltas) = read(ProviderKind::Anthropic, &[&stream(&events)]);
    let reply = reply.unwrap();
    assert_eq!(reply.parts, [call("t1", "maps.find", json!({ "a": 1 }))]);
    assert_eq!(reply.usage, Usage { input: 17, output: 7, cached: 5, ..Usage::default() });
    let piece = |text: &str| Delta::ToolArguments {
        id: "t1".to_owned(),
        name: "maps.find".into(),
        text: text.to_owned(),
    };
    assert_eq!(deltas, [Delta::Reasoning("hm".to_owned()), piece("{\"a\""), piece(":1}")]);
    let events = [
        json!({ "type": "response.reasoning_summary_text.delta", "delta": "hm" }),
        json!({ "type": "response.completed", "response": { "status": "completed", "output": [
            { "type": "reasoning", "summary": [] },
            { "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] },
        ], "usage": { "input_tokens": 3, "output_tokens": 4,
            "input_tokens_details": { "cached_tokens": 1 },
            "output_tokens_details": { "reasoning_tokens": 2 } } } }),
    ];
    let (reply, deltas) = read(ProviderKind::OpenAi, &[&stream(&events)]);
    let expected = Usage { input: 3, output: 4, cached: 1, reasoning: 2, ..Usage::default() };
    assert_eq!(reply.unwrap(), ModelReply { parts: vec![text("Hi")], usage: expected, by: None });
    assert_eq!(deltas, [Delta::Reasoning("hm".to_owned()), Delta::Text("Hi".to_owned())]);
}

/// A stream of each protocol with text, two calls and things nobody knows.
fn sample(kind: ProviderKind) -> Vec<u8> {
    let events = match kind {
        ProviderKind::OpenAi => vec![
            json!({ "type": "response.created", "response": {} }),
            json!({ "type": "response.unheard.of", "x": [1, { "y": null }] }),
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Grüße ☂" }),
            json!({ "type": "response.output_item.added", "output_index": 1, "item": {
                "type": "function_call", "id": "f", "call_id": "c", "name": "web_search", "arguments": "" } }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"q\":" }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "\"é\"}" }),
            json!({ "type": "response.completed", "response": { "status": "completed", "usage": { "input_tokens": 1 } } }),
        ],
        ProviderKind::Anthropic => vec![
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
            json!({ "type": "ping" }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Grüße ☂" } }),
            json!({ "type": "content_block_start", "index": 1, "content_block": {
                "type": "tool_use", "id": "c", "name": "web_search", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"q\":\"é\"}" } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
            json!({ "type": "message_stop" }),
        ],
        _ => vec![
            choice(json!({ "content": "Grüße " }), Value::Null),
            choice(json!({ "content": "☂" }), Value::Null),
            choice(
                json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "web_search", "arguments": "{\"q\":" } }] }),
                Value::Null,
            ),
            choice(
                json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"é\"}" } }] }),
                Value::Null,
            ),
            choice(json!({}), json!("tool_calls")),
            json!({ "choices": [], "usage": { "prompt_tokens": 1 } }),
        ],
    };
    [b": a comment\r\n\r\n".to_vec(), stream(&events), b"data: [DONE]\n\n".to_vec()].concat()
}

fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn where_a_stream_is_cut_makes_no_difference(
        kind in prop::sample::select(&ALL[..]),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let bytes = sample(kind);
        let (reply, deltas) = read(kind, &cut(&bytes, &cuts));
        let usage = Usage { input: 1, ..Usage::default() };
        let parts = vec![text("Grüße ☂"), call("c", "web_search", json!({ "q": "é" }))];
        prop_assert_eq!(reply, Ok(ModelReply { parts, usage, by: None }));
        prop_assert_eq!(deltas, read(kind, &[&bytes]).1);
    }

    #[test]
    fn any_bytes_end_in_a_reply_or_an_error(
        kind in prop::sample::select(&ALL[..]),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        at in any::<prop::sample::Index>(),
    ) {
        let _ = read(kind, &[&bytes]);
        // The same in the middle of something sensible, and instead of some of it.
        let mut broken = sample(kind);
        let place = at.index(broken.len());
        let end = (place + bytes.len()).min(broken.len());
        broken.splice(place..end, bytes);
        let _ = read(kind, &[&broken]);
    }

    #[test]
    fn any_json_ends_in_a_reply_or_an_error(
        kind in prop::sample::select(&ALL[..]),
        name in prop::sample::select(&[
            "response.output_text.delta", "response.output_item.added", "response.output_item.done",
            "response.completed", "response.function_call_arguments.delta", "error", "message_start",
            "content_block_start", "content_block_delta", "message_delta", "message_stop", "",
        ][..]),
        fields in prop::collection::btree_map(
            prop::sample::select(&[
                "delta", "item", "response", "choices", "error", "index", "output_index", "usage",
                "content_block", "message", "output", "content", "tool_calls", "arguments",
            ][..]),
            prop::sample::select(&[
                "null", "0", "-1", "\"x\"", "[]", "[null]", "[[]]", "{}", "[{}]", "1e300",
                r#"{"type":"function_call"}"#, r#"{"type":"tool_use","input":3}"#,
                r#"[{"delta":{"tool_calls":[{"function":[]},{"index":-3},{}]}}]"#,
                r#"{"type":"message","content":[3,{"type":"output_text","text":[]}]}"#,
                r#"{"output":[{"type":"function_call","arguments":[1]}]}"#,
            ][..]),
            0..5,
        ),
    ) {
        let mut event = json!({ "type": name });
        for (field, value) in fields {
            event[field] = serde_json::from_str(value).unwrap();
        }
        let _ = read(kind, &[&stream(&[event.clone(), event])]);
    }
}

#[test]
fn no_event_is_larger_than_the_limit() {
    let chunk = vec![b'x'; 1024 * 1024];
    let mut chunks: Vec<&[u8]> = vec![b"data: "];
    chunks.extend(std::iter::repeat_n(&chunk[..], 10));
    for kind in ALL {
        assert_eq!(read(kind, &chunks).0.unwrap_err().info.code, "model_malformed");
    }
}
