//! The targets, each with inputs that make sense to it.

use std::sync::Arc;

use serde_json::Value;
use signoff_core::answer::{self, Answers};
use signoff_core::expr::Expr;
use signoff_core::journal::{decode, encode};
use signoff_core::policy::PolicyFile;
use signoff_core::visible::{Secrets, masked};
use signoff_core::workflow::{Known, NoFiles, Workflow};
use signoff_core::{Decision, RequestBody, RequestId, RunState, Span, Timestamp};
use signoff_models::{ModelRequest, ProviderKind};
use signoff_tui::theme::Theme;

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
