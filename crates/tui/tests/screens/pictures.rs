//! The pictures of the documentation are what the screens show.

use std::path::Path;

use crossterm::event::KeyCode;
use serde_json::{Value, json};
use signoff_client::{Noted, RunEvent, Workflow};
use signoff_core::journal::{Entry, Event};
use signoff_core::request::{Choice, RequestBody, RequestKind};
use signoff_core::{Actor, Request, RequestId, RunId};
use signoff_tui::chat::{Chat, Told};
use signoff_tui::inbox;
use signoff_tui::saved::Saved;
use signoff_tui::theme::Theme;

use crate::inbox::{inbox_in, press};
use crate::support::{NOW, edit_file, plan, request, shown};
use crate::svg::svg;
use crate::talking::{later, said, typed};

fn kept(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures").join(name);
    if std::env::var("INSTA_UPDATE").is_ok_and(|it| it == "always") {
        std::fs::write(&path, picture).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == picture, "docs/pictures/{name} is old; INSTA_UPDATE=always writes it anew");
}

fn entry(chat: &mut Chat, seq: u64, event: Value) {
    let event: Event = serde_json::from_value(event).unwrap();
    let entry = Entry { seq, at: NOW, event };
    chat.update(Told::Run(RunId::new("run_1"), RunEvent::Entry(Box::new(entry), None)));
}

const HELP: &str =
    "I need help with order 12345. I want a replacement and need to know when it will arrive.";
const PHOTO: &str = "I can arrange a replacement for order 12345. Please send me a photo of the damage, or tell me in a sentence why you need it replaced.";

#[test]
fn of_the_chat() {
    let mut saved = Saved::default();
    saved.settings.theme = Theme::Dark;
    let mut chat = Chat::new("me", "http://127.0.0.1:8484", saved, NOW);
    chat.begin(Some("support_handoff".into()), None);
    let workflow: Workflow = serde_json::from_value(json!({ "id": "support_handoff", "input_schema": { "type": "string" },
        "definition": { "agents": { "triage": { "name": "Triage" }, "replacement": { "name": "Replacement specialist" } } } }))
    .unwrap();
    chat.update(Told::Workflow(Ok(Box::new(workflow))));
    said(&mut chat, HELP);
    let run = json!({ "id": "run_1", "workflow": "support_handoff", "conversation": "conv_1", "status": "running", "input": HELP });
    chat.update(Told::Started(Ok(Box::new(serde_json::from_value(run).unwrap()))));
    let reply = |activation: u32, parts: Value| json!({ "effect": { "activation": activation, "key": "m1", "kind": "model", "outcome": { "reply": { "parts": parts } } } });
    let delivered = |activation: u32, to: &str| json!({ "delivered": { "activation": activation, "to": to, "payload": "input" } });
    entry(
        &mut chat,
        1,
        json!({ "started": { "workflow": "support_handoff", "version": "v", "conversation": "conv_1", "input": HELP, "by": "me" } }),
    );
    entry(&mut chat, 2, delivered(1, "triage"));
    entry(
        &mut chat,
        3,
        reply(
            1,
            json!([
        { "text": "Thank you for writing. I pass you to our replacement specialist, who takes care of order 12345." },
        { "tool_call": { "id": "c1", "name": "handoff_to_replacement", "arguments": {} } } ]),
        ),
    );
    entry(&mut chat, 4, delivered(2, "replacement"));
    entry(&mut chat, 5, reply(2, json!([{ "text": PHOTO }])));
    let mut asked = request(1, RequestBody::input(PHOTO), 2);
    asked.body.agent_path = vec!["replacement".into()];
    asked.workflow = "support_handoff".into();
    asked.id = RequestId::new("req_1_1");
    let noted = vec![Noted { request: asked, notes: Vec::new() }];
    chat.update(Told::Pending(RunId::new("run_1"), noted));
    later(&mut chat);
    typed(&mut chat, "The box was crushed.");
    let screen = shown(|frame| chat.draw(frame), 100, 32);
    let about = "The chat: triage hands a customer over to the replacement specialist, who asks for a photo or a reason; the answer is being typed";
    kept("terminal-chat.svg", &svg(&screen, 100, 32, about));
}

fn venues() -> Request {
    let choice = |label: &str, about: &str| Choice {
        value: label.into(),
        label: label.into(),
        description: Some(about.into()),
    };
    let options = vec![
        choice(
            "Union Hall",
            "Plain, bright hall with a kitchen and a courtyard. Up to 60 guests, $600 for the evening.",
        ),
        choice(
            "The Glasshouse",
            "Former greenhouse with plants, a bar and sound. Up to 80 guests, $1,500 for the evening.",
        ),
        choice(
            "Grand Meridian Ballroom",
            "Classic ballroom with stage and own staff. Up to 200 guests, $2,400 for the evening.",
        ),
    ];
    let mut body = RequestBody::selection(
        "I found three venues for 30 people. Which one do you prefer?",
        options,
    );
    body.agent_path = vec!["coordinator".into(), "venue".into()];
    body.context = json!({ "event": "Party for 30 people", "guests": 30 });
    let mut request = request(1, body, 130);
    request.assignee = Some(Actor::new("ada"));
    request
}

#[test]
fn of_the_inbox() {
    let mut edits = request(3, edit_file(), 8);
    edits.workflow = "research_task".into();
    let mut plans = request(2, plan(), 45);
    plans.workflow = "research_task".into();
    plans.body.prompt = "Here is the plan. Approve it, edit it, or have it revised.".into();
    let mut refund = request(4, crate::support::deletion(), 3);
    refund.body.prompt = "Delete the folder build?".into();
    refund.workflow = "research_task".into();
    assert_eq!(refund.body.kind, RequestKind::ToolCall);
    let mut inbox = inbox_in(Theme::Dark, vec![venues(), plans, edits, refund]);
    let looked = inbox::Looked {
        notes: Vec::new(),
        said: vec![signoff_tui::Spoken {
            by: "local".into(),
            text: "Plan a party for 30 people".into(),
        }],
    };
    inbox.update(inbox::Told::Looked(RequestId::new("req_1_1"), Box::new(looked)));
    let screen = shown(|frame| inbox.draw(frame), 104, 34);
    let about = "The inbox: four requests of two workflows, and the first of them with three venues to choose from";
    kept("terminal-inbox.svg", &svg(&screen, 104, 34, about));
    press(&mut inbox, KeyCode::Down);
    press(&mut inbox, KeyCode::Down);
    press(&mut inbox, KeyCode::Enter);
    let screen = shown(|frame| inbox.draw(frame), 104, 30);
    let about = "A tool call in the inbox: what it would change as a diff, its arguments as fields, and what can be decided";
    kept("terminal-call.svg", &svg(&screen, 104, 30, about));
}
