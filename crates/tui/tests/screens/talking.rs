//! Conversations to show, told one thing after the other.

use crossterm::event::KeyCode;
use serde_json::{Value, json};
use signoff_client::{Noted, Run, RunEvent, Workflow};
use signoff_core::journal::{Entry, Event};
use signoff_core::request::RequestBody;
use signoff_core::{Request, RequestId, RunId, Timestamp};
use signoff_tui::chat::{Chat, Effect, Told};
use signoff_tui::saved::Saved;
use signoff_tui::screen::Input;
use signoff_tui::theme::Theme;

use crate::support::{NOW, key, letter, request, text, venue};

pub(crate) fn press(chat: &mut Chat, code: KeyCode) -> Vec<Effect> {
    chat.update(Told::Input(Input::Key(key(code))))
}

pub(crate) fn typed(chat: &mut Chat, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| chat.update(Told::Input(Input::Key(letter(c))))).collect()
}

pub(crate) fn said(chat: &mut Chat, text: &str) -> Vec<Effect> {
    typed(chat, text);
    press(chat, KeyCode::Enter)
}

pub(crate) fn seen(chat: &Chat, columns: u16, lines: u16) -> String {
    text(|frame| chat.draw(frame), columns, lines)
}

pub(crate) fn run(status: &str, output: &Value) -> Run {
    serde_json::from_value(json!({ "id": "run_1", "workflow": "event_planner", "conversation": "conv_1", "status": status,
        "input": "Plan a party", "output": output }))
    .unwrap()
}

/// A chat with a workflow.
pub(crate) fn chat() -> Chat {
    chat_in(Theme::Plain)
}

pub(crate) fn chat_in(theme: Theme) -> Chat {
    let mut saved = Saved::default();
    saved.settings.theme = theme;
    let mut chat = Chat::new("me", "http://127.0.0.1:8484", saved, NOW);
    let effects = chat.begin(Some("event_planner".into()), None);
    assert_eq!(effects, [Effect::Workflow("event_planner".into()), Effect::Workflows]);
    let workflow: Workflow = serde_json::from_value(json!({ "id": "event_planner", "input_schema": { "type": "string" },
        "definition": { "samples": ["Plan a party for 30 people"], "agents": {
            "coordinator": { "name": "Coordinator" }, "venue": { "name": "Venue specialist" }, "budget": {} } } }))
    .unwrap();
    chat.update(Told::Workflow(Ok(Box::new(workflow))));
    chat
}

/// What a run tells, one entry after the other.
pub(crate) fn tell(chat: &mut Chat, from: u64, events: &[Value]) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (seq, event) in (from..).zip(events) {
        let event: Event = serde_json::from_value(event.clone()).unwrap();
        let request = matches!(event, Event::Decided { .. }).then(|| RequestId::new("req_1_1"));
        let entry = Entry { seq, at: NOW, event };
        effects.extend(
            chat.update(Told::Run(RunId::new("run_1"), RunEvent::Entry(Box::new(entry), request))),
        );
    }
    effects
}

pub(crate) fn working() -> Vec<Value> {
    vec![
        json!({ "started": { "workflow": "event_planner", "version": "v", "conversation": "conv_1", "input": "Plan a party", "by": "me" } }),
        json!({ "delivered": { "activation": 1, "to": "venue", "payload": "input" } }),
        json!({ "effect": { "activation": 1, "key": "m1", "kind": "model", "outcome": { "reply": { "parts": [
            { "text": "I look for **venues**:\n\n- near\n- cheap" },
            { "tool_call": { "id": "c1", "name": "web_search", "arguments": { "query": "venues for 30" } } } ] } } } }),
        json!({ "effect": { "activation": 1, "key": "m1/c1", "kind": "tool", "outcome": { "ok": { "venues": ["Union Hall", "The Glasshouse"] } } } }),
    ]
}

pub(crate) fn asked_of() -> Request {
    let mut asked = request(1, venue(), 3);
    asked.run = RunId::new("run_1");
    asked.id = RequestId::new("req_1_1");
    asked
}

pub(crate) fn running() -> Chat {
    running_in(Theme::Plain)
}

pub(crate) fn running_in(theme: Theme) -> Chat {
    let mut chat = chat_in(theme);
    let effects = said(&mut chat, "Plan a party");
    assert!(
        matches!(&effects[0], Effect::Start { workflow, input, conversation: None } if workflow == "event_planner" && input == "Plan a party")
    );
    let effects = chat.update(Told::Started(Ok(Box::new(run("running", &Value::Null)))));
    assert_eq!(effects[0], Effect::Follow(vec![RunId::new("run_1")], 0));
    assert!(
        matches!(&effects[1], Effect::Save(saved) if saved.sessions[0].conversation == "conv_1")
    );
    tell(&mut chat, 1, &working());
    chat
}

pub(crate) fn asked() -> Chat {
    let mut chat = running();
    pending(&mut chat, vec![asked_of()]);
    chat
}

/// A chat in which a run asks this.
pub(crate) fn asking(body: RequestBody) -> Chat {
    let mut chat = running();
    let mut asked = asked_of();
    asked.body = body;
    pending(&mut chat, vec![asked]);
    later(&mut chat);
    chat
}

pub(crate) fn pending(chat: &mut Chat, requests: Vec<Request>) -> Vec<Effect> {
    let noted = requests.into_iter().map(|request| Noted { request, notes: Vec::new() }).collect();
    chat.update(Told::Pending(RunId::new("run_1"), noted))
}

/// Long enough after a question that keys count.
pub(crate) fn later(chat: &mut Chat) {
    chat.at(Timestamp(NOW.0 + 1_000));
    chat.update(Told::Input(Input::Tick(Timestamp(NOW.0 + 1_000))));
}
