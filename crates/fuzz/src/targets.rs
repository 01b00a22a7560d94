//! The targets, each with inputs that make sense to it.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use signoff_a2a::A2aConfig;
use signoff_a2a_grpc::Methods;
use signoff_core::answer::{self, Answers};
use signoff_core::expr::Expr;
use signoff_core::journal::{decode, encode};
use signoff_core::policy::PolicyFile;
use signoff_core::visible::{Secrets, masked};
use signoff_core::workflow::{Known, NoFiles, Workflow, yaml};
use signoff_core::{Decision, RequestBody, RequestId, RunState, Span, Timestamp};
use signoff_models::{ModelRequest, ProviderKind, Scripted};
use signoff_tui::theme::Theme;

use crate::files::{changes, files};

/// A decoder, and inputs that it takes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called.
    pub name: &'static str,
    /// Decodes any bytes.
    pub run: fn(&[u8]),
    /// What to begin with.
    pub seeds: &'static [&'static str],
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "journal",
        run: journal,
        seeds: &[
            r#"[[5,{"started":{"workflow":"w","version":"h","conversation":"c","input":"x","by":"local"}}],[6,{"run_completed":{}}]]"#,
            r#"[[5,{"asked":{"activation":1,"key":"k","request":1,"body":{"kind":"input","prompt":"?","response_schema":{},"allowed":["respond"]}}}],[6,{"decided":{"request":1,"decision":{"decision":"respond","content":"x"},"by":"ann"}}]]"#,
            r#"[[1,{"said":{"message":{"role":"user","parts":[{"text":"hi"}]}}}],[2,{"effect":{"activation":1,"key":"m","kind":"model","outcome":{"ok":{"text":"x"}},"took":3}}]]"#,
        ],
    },
    Target {
        name: "workflow",
        run: workflow,
        seeds: &[
            "workflow: w\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Hi. }\n",
            "workflow: g\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: Well?, kind: approval, within: 5m } }\n  b: { transform: 'input + 1' }\nedges:\n  - { from: ask, to: b, when: 'output == \"yes\"' }\n",
            "workflow: w\ntypes: { T: { type: object } }\ninput: { $ref: '#/types/T' }\npattern: concurrent\nconcurrent: { agents: [a, b] }\nagents: { a: &x { instructions: Hi. }, b: *x }\ngates:\n  - { name: g, when: 'action.kind == \"tool\"', ask: always }\n",
        ],
    },
    Target {
        name: "policy",
        run: policy,
        seeds: &[
            "gates:\n  - { name: deletions, when: 'action.tool.startsWith(\"delete\")', ask: always, who: { roles: [owner], count: 2 } }\n",
            "gates:\n  - { name: smart, ask: smart, within: 30m, on_timeout: deny }\n",
        ],
    },
    Target {
        name: "condition",
        run: condition,
        seeds: &[
            "action.kind == \"tool\" && \"file_edit\" in action.effects",
            "size(input.items) > 3 ? input.items[0].price * 2 : [1, 2].map(x, x + 1)[0]",
            "input.text.matches('^(a+)+$') || has(input.x.y)",
        ],
    },
    Target {
        name: "answers",
        run: answers,
        seeds: &[
            "- Union Hall\n- { match: { agent: budget }, decision: approve }\n",
            "1",
            "yes please",
        ],
    },
    Target {
        name: "sse",
        run: sse,
        seeds: &[
            "event: a\ndata: {\"x\":1}\nid: 4\n\n: note\r\ndata: one\rdata: two\n\n",
            "data\n\n",
        ],
    },
    Target {
        name: "responses_stream",
        run: responses,
        seeds: &[
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hi\"}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
        ],
    },
    Target {
        name: "chat_stream",
        run: chat,
        seeds: &[
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
        ],
    },
    Target {
        name: "anthropic_stream",
        run: anthropic,
        seeds: &[
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ],
    },
    Target {
        name: "a2a",
        run: a2a,
        seeds: &[
            r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"?"}]}}}}"#,
            r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"data","data":{"a":1}}]}},"artifacts":[]}"#,
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        ],
    },
    Target {
        name: "a2a_card",
        run: card,
        seeds: &[
            r#"{"name":"A","version":"1","capabilities":{"streaming":true},"skills":[{"id":"s"}],"supportedInterfaces":[{"url":"https://agent.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#,
            r#"{"protocolVersion":"0.3.0","name":"A","url":"/rpc","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"//other.example/","transport":"HTTP+JSON"}]}"#,
            r#"{"name":"A","supportedInterfaces":[],"signatures":[{"protected":"eyJhbGciOiJFUzI1NiJ9","signature":"AAAA"}]}"#,
        ],
    },
    Target {
        name: "a2a_grpc",
        run: grpc,
        // The tenant, a message with a text and data in it, and what is wanted of the answer; then a task by its id.
        seeds: &[
            "\n\u{3}ask\u{12}\u{1e}\n\u{2}m1 \u{1}*\u{4}\n\u{2}hi*\u{10}\"\u{e}*\u{c}\n\n\n\u{1}a\u{12}\u{5}\u{1a}\u{3}yes\u{1a}\u{2} \u{1}",
            "\n\u{3}ask\u{12}\u{5}run_x\u{18}\u{3}",
        ],
    },
    Target {
        name: "changes",
        run: changes,
        seeds: &["one\ntwo\nthree\n", "a\r\nb\n\nno end", "\u{feff}x\u{202e}y\n\n\n"],
    },
    Target {
        name: "files",
        run: files,
        seeds: &[
            r#"{"path":"a.txt","old_text":"one","new_text":"two","all":true}"#,
            r#"{"path":"b/c.txt","content":"x","expected_digest":"absent"}"#,
            r#"{"path":"../../etc/passwd"}"#,
            r#"{"path":".","glob":"**/*.{rs,md}","depth":3,"limit":5}"#,
        ],
    },
    Target {
        name: "script",
        run: script,
        seeds: &[
            "- { turn: 1, call: [{ tool: http_get, arguments: { url: 'https://a.example' } }] }\n- { if: 'turn > 2', text: 'You said {{ last }}', delay: 1s, chunk: 3 }\n",
            "let: { n: 'size(input)' }\nreplies:\n  - { match: 'a(b+)c', text: '{{ n }}' }\n  - { fail: { code: x, message: y } }\n",
        ],
    },
    Target {
        name: "markdown",
        run: markdown,
        seeds: &[
            "# A\n\n- *b* `c` [d](http://e)\n  1. f\n\n```rust\nx\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n",
            "<script>\u{202e}x\u{1b}[31m",
        ],
    },
    Target {
        name: "shown",
        run: shown,
        seeds: &[
            r#"{"token":"sk-12345678901234567890","text":"a\u202eb","url":"https://u:p@h/x"}"#,
        ],
    },
    Target {
        name: "words",
        run: words,
        seeds: &["req_01a1_3", "30d", "2026-11-16T09:00:00Z", "run_x", "req__99999999999"],
    },
    Target {
        name: "decision",
        run: decision,
        seeds: &[
            r#"{"decision":"approve","note":"fine","remember":"always"}"#,
            r#"{"decision":"edit","value":{"a":1}}"#,
            r#"{"decision":"respond","content":[1,{"b":null}]}"#,
        ],
    },
];

fn journal(bytes: &[u8]) {
    let Ok(entries) = decode(1, bytes) else { return };
    // What was read is written and read again as the same, and folds or says why not.
    let again = decode(1, &encode(&entries));
    assert_eq!(again.ok().as_ref(), Some(&entries), "a journal changes when it is written");
    let _ = RunState::fold(&entries);
}

fn workflow(bytes: &[u8]) {
    match Workflow::parse_bytes(bytes, &NoFiles, &Known::default()) {
        Ok(parsed) => assert!(parsed.workflow.graph().is_ok(), "what is valid can be drawn"),
        Err(problems) => assert!(!problems.is_empty(), "a refusal says why"),
    }
}

fn policy(bytes: &[u8]) {
    if let Err(problems) = PolicyFile::parse(&String::from_utf8_lossy(bytes)) {
        assert!(!problems.is_empty(), "a refusal says why");
    }
}

fn condition(bytes: &[u8]) {
    let _ = Expr::compile(&String::from_utf8_lossy(bytes), &["action", "input", "output"]);
}

fn answers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Answers::parse(&text);
    let request = RequestBody::input("Where to?");
    if let Ok(decision) = answer::from_text(&request, &text) {
        assert!(request.check(&decision).is_ok(), "what is understood is allowed");
    }
}

fn sse(bytes: &[u8]) {
    const LIMIT: usize = 4096;
    let whole = read_events(&[bytes], LIMIT);
    // However it is cut, it says the same.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read_events(&[first, second], LIMIT), whole, "a cut changes what is read");
}

fn read_events(pieces: &[&[u8]], limit: usize) -> Option<Vec<(String, String)>> {
    let mut decoder = signoff_net::sse::Decoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoder.push(piece).ok()?);
    }
    events.extend(decoder.finish().ok()?);
    Some(events.into_iter().map(|event| (event.name, event.data)).collect())
}

fn stream(kind: ProviderKind, bytes: &[u8]) {
    let request = ModelRequest {
        agent: "a".into(),
        model: "m".into(),
        turn: 0,
        instructions: Arc::from("Go."),
        messages: Vec::new(),
        tools: Arc::from([]),
        output: None,
        sent: None,
    };
    let _ = signoff_models::decode(kind, &request, &[bytes], &|_| {});
}

fn responses(bytes: &[u8]) {
    stream(ProviderKind::OpenAi, bytes);
}

fn chat(bytes: &[u8]) {
    stream(ProviderKind::OpenAiChat, bytes);
}

fn anthropic(bytes: &[u8]) {
    stream(ProviderKind::Anthropic, bytes);
}

fn a2a(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    let _ = signoff_a2a::wire::Told::read(value);
}

fn card(bytes: &[u8]) {
    let Ok(card) = serde_json::from_slice::<Value>(bytes) else { return };
    let config = A2aConfig {
        url: "https://agent.example/a".to_owned(),
        timeout: Span::seconds(1),
        ..A2aConfig::default()
    };
    if let Ok(url) = signoff_a2a::leads_to(&config, card) {
        let origin = url.origin().ascii_serialization();
        assert_eq!(origin, "https://agent.example", "a card leads elsewhere");
    }
}

fn grpc(bytes: &[u8]) {
    static METHODS: LazyLock<Option<Methods>> = LazyLock::new(|| Methods::read().ok());
    let methods = METHODS.as_ref();
    assert!(methods.is_some(), "the messages of the protocol can be read");
    for method in methods.into_iter().flat_map(Methods::iter) {
        if let Ok(value) = method.read(bytes) {
            assert!(value.is_object(), "a message is an object: {value}");
        }
    }
}

fn script(bytes: &[u8]) {
    let Ok(script) = yaml(&String::from_utf8_lossy(bytes)) else { return };
    if let Err(problem) = Scripted::from_value(script) {
        assert!(!problem.to_string().is_empty(), "a refusal says why");
    }
}

fn markdown(bytes: &[u8]) {
    for line in signoff_tui::markdown::lines(&String::from_utf8_lossy(bytes), 40, Theme::default())
    {
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        assert!(!text.contains('\u{1b}'), "nothing commands a terminal: {text:?}");
    }
}

fn shown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let plain = signoff_core::visible::plain(&text);
    assert_eq!(signoff_core::visible::plain(&plain), plain, "what is plain stays as it is");
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        let _ = masked(&value, &Secrets::default());
    }
}

fn words(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some((run, number)) = RequestId::new(text.as_ref()).split() {
        assert_eq!(run.request(number).split(), Some((run.clone(), number)));
    }
    let _ = text.parse::<Timestamp>();
    if let Ok(span) = text.parse::<Span>() {
        assert_eq!(span.to_string().parse(), Ok(span), "a length of time reads as it is written");
    }
}

fn decision(bytes: &[u8]) {
    let Ok(decision) = serde_json::from_slice::<Decision>(bytes) else { return };
    let _ = RequestBody::input("Where to?").check(&decision);
}
