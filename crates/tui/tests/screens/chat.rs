//! The chat.

use crossterm::event::KeyCode;
use proptest::prelude::*;
use serde_json::{Value, json};
use signoff_client::{Noted, Run, RunEvent, Workflow};
use signoff_core::journal::{Entry, Event};
use signoff_core::{Decision, Request, RequestId, RunId, Timestamp};
use signoff_tui::chat::{Chat, Effect, Told};
use signoff_tui::saved::Saved;
use signoff_tui::screen::Input;
use signoff_tui::theme::Theme;

use crate::support::{NOW, budget, control, key, letter, request, text, venue};

fn press(chat: &mut Chat, code: KeyCode) -> Vec<Effect> {
    chat.update(Told::Input(Input::Key(key(code))))
}

fn typed(chat: &mut Chat, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| chat.update(Told::Input(Input::Key(letter(c))))).collect()
}

fn said(chat: &mut Chat, text: &str) -> Vec<Effect> {
    typed(chat, text);
    press(chat, KeyCode::Enter)
}

fn seen(chat: &Chat, columns: u16, lines: u16) -> String {
    text(|frame| chat.draw(frame), columns, lines)
}

fn run(status: &str, output: Value) -> Run {
    serde_json::from_value(json!({ "id": "run_1", "workflow": "event_planner", "conversation": "conv_1", "status": status,
        "input": "Plan a party", "output": output }))
    .unwrap()
}

fn plain() -> Saved {
    let mut saved = Saved::default();
    saved.settings.theme = Theme::Plain;
    saved
}

/// A chat with a workflow.
fn chat() -> Chat {
    let mut chat = Chat::new("me", "http://127.0.0.1:8484", plain(), NOW);
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
fn tell(chat: &mut Chat, from: u64, events: &[Value]) -> Vec<Effect> {
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

fn working() -> Vec<Value> {
    vec![
        json!({ "started": { "workflow": "event_planner", "version": "v", "conversation": "conv_1", "input": "Plan a party", "by": "me" } }),
        json!({ "delivered": { "activation": 1, "to": "venue", "payload": "input" } }),
        json!({ "effect": { "activation": 1, "key": "m1", "kind": "model", "outcome": { "reply": { "parts": [
            { "text": "I look for **venues**:\n\n- near\n- cheap" },
            { "tool_call": { "id": "c1", "name": "web_search", "arguments": { "query": "venues for 30" } } } ] } } } }),
        json!({ "effect": { "activation": 1, "key": "m1/c1", "kind": "tool", "outcome": { "ok": { "venues": ["Union Hall", "The Glasshouse"] } } } }),
    ]
}

fn asked_of() -> Request {
    let mut asked = request(1, venue(), 3);
    asked.run = RunId::new("run_1");
    asked.id = RequestId::new("req_1_1");
    asked
}

fn running() -> Chat {
    let mut chat = chat();
    let effects = said(&mut chat, "Plan a party");
    assert!(
        matches!(&effects[0], Effect::Start { workflow, input, conversation: None } if workflow == "event_planner" && input == "Plan a party")
    );
    let effects = chat.update(Told::Started(Ok(Box::new(run("running", Value::Null)))));
    assert_eq!(effects[0], Effect::Follow(vec![RunId::new("run_1")], 0));
    assert!(
        matches!(&effects[1], Effect::Save(saved) if saved.sessions[0].conversation == "conv_1")
    );
    tell(&mut chat, 1, &working());
    chat
}

fn asked() -> Chat {
    let mut chat = running();
    pending(&mut chat, vec![asked_of()]);
    chat
}

fn pending(chat: &mut Chat, requests: Vec<Request>) -> Vec<Effect> {
    let noted = requests.into_iter().map(|request| Noted { request, notes: Vec::new() }).collect();
    chat.update(Told::Pending(RunId::new("run_1"), noted))
}

/// Long enough after a question that keys count.
fn later(chat: &mut Chat) {
    chat.at(Timestamp(NOW.0 + 1_000));
    chat.update(Told::Input(Input::Tick(Timestamp(NOW.0 + 1_000))));
}

#[test]
fn from_the_beginning_to_the_end() {
    let mut chat = chat();
    insta::assert_snapshot!("chat_begins", seen(&chat, 80, 16));
    chat = running();
    chat.update(Told::Run(
        RunId::new("run_1"),
        RunEvent::Delta { agent: "venue".into(), text: "Both are *fr".into() },
    ));
    insta::assert_snapshot!("chat_running", seen(&chat, 80, 24));
    let mut chat = asked();
    insta::assert_snapshot!("chat_asked", seen(&chat, 100, 36));
    insta::assert_snapshot!("chat_asked_60", seen(&chat, 60, 24));
    later(&mut chat);
    typed(&mut chat, "2");
    let effects = press(&mut chat, KeyCode::Enter);
    assert_eq!(
        effects,
        [Effect::Answer(RequestId::new("req_1_1"), 1, Decision::respond("The Glasshouse"))]
    );
    assert!(press(&mut chat, KeyCode::Enter).is_empty(), "it is sent once");
    insta::assert_snapshot!("chat_answering", seen(&chat, 80, 30));
    let mut decided = asked_of();
    decided.status = signoff_core::RequestStatus::Decided;
    chat.update(Told::Answered(RequestId::new("req_1_1"), Ok(Box::new(decided))));
    assert!(seen(&chat, 80, 30).contains("continuing"));
    let effects = tell(
        &mut chat,
        5,
        &[
            json!({ "decided": { "request": 1, "decision": { "decision": "respond", "content": "The Glasshouse" }, "by": "me" } }),
            json!({ "completed": { "activation": 1, "output": { "text": 0 } } }),
            json!({ "run_completed": {} }),
        ],
    );
    assert_eq!(effects, [Effect::Ended(RunId::new("run_1"))]);
    let output = json!("# The plan\n\n| Item | Cost |\n|---|---:|\n| Venue | $1,500 |");
    chat.update(Told::Ended(Ok(Box::new(run("completed", output)))));
    insta::assert_snapshot!("chat_done", seen(&chat, 80, 36));
    // What is said next goes on in the conversation.
    let effects = said(&mut chat, "Smaller, please");
    assert!(matches!(&effects[0], Effect::Start { conversation: Some(it), .. } if it == "conv_1"));
}

#[test]
fn a_question_does_not_interrupt_who_is_typing() {
    let mut chat = running();
    typed(&mut chat, "and y");
    pending(&mut chat, vec![asked_of()]);
    // The next keys are still text, and Enter sends nothing: neither as chat nor as an answer.
    typed(&mut chat, "es");
    assert!(press(&mut chat, KeyCode::Enter).is_empty());
    let shown = seen(&chat, 100, 36);
    assert!(shown.contains("> and yes") && shown.contains("what you typed stays here"), "{shown}");
    press(&mut chat, KeyCode::Tab);
    typed(&mut chat, "1");
    assert_eq!(press(&mut chat, KeyCode::Enter).len(), 1);
    assert!(seen(&chat, 100, 36).contains("> and yes"));
}

#[test]
fn an_enter_that_was_on_its_way_answers_nothing() {
    let mut chat = asked();
    typed(&mut chat, "1");
    assert!(press(&mut chat, KeyCode::Enter).is_empty());
    later(&mut chat);
    assert_eq!(press(&mut chat, KeyCode::Enter).len(), 1);
}

#[test]
fn esc_puts_it_away_and_several_queue() {
    let mut chat = running();
    let mut second = request(1, budget(), 2);
    second.id = RequestId::new("req_1_2");
    pending(&mut chat, vec![asked_of(), second]);
    later(&mut chat);
    insta::assert_snapshot!("chat_two_questions", seen(&chat, 80, 30));
    chat.update(Told::Input(Input::Key(control('n'))));
    assert!(seen(&chat, 80, 40).contains("Is this allocation all right?"));
    assert!(press(&mut chat, KeyCode::Esc).is_empty());
    insta::assert_snapshot!("chat_put_away", seen(&chat, 80, 24));
    chat.update(Told::Input(Input::Key(control('r'))));
    assert!(seen(&chat, 80, 40).contains("The workflow asks you (1 of 2)"));
    press(&mut chat, KeyCode::Esc);
    said(&mut chat, "/handoff-cancel");
    let shown = seen(&chat, 80, 24);
    assert!(shown.contains("2 left in the inbox, undecided") && shown.contains("idle"), "{shown}");
}

#[test]
fn somebody_else_answered() {
    let mut chat = asked();
    tell(
        &mut chat,
        5,
        &[
            json!({ "decided": { "request": 1, "decision": { "decision": "respond", "content": "Union Hall" }, "by": "ada" } }),
        ],
    );
    let shown = seen(&chat, 100, 36);
    assert!(
        shown.contains("✓ ada answered: Union Hall") && !shown.contains("The workflow asks you"),
        "{shown}"
    );
}

#[test]
fn the_way_to_the_server_breaks_and_is_mended() {
    let mut chat = asked();
    let problem = "127.0.0.1: Connection refused".to_owned();
    chat.update(Told::Run(RunId::new("run_1"), RunEvent::Lost { problem }));
    typed(&mut chat, "1");
    insta::assert_snapshot!("chat_lost", seen(&chat, 80, 30));
    let effects = chat.update(Told::Run(RunId::new("run_1"), RunEvent::Back));
    assert_eq!(effects, [Effect::Pending(RunId::new("run_1"))]);
    assert!(!seen(&chat, 80, 30).contains("no server"));
    pending(&mut chat, vec![asked_of()]);
    assert!(seen(&chat, 80, 30).contains("(•) 1"), "what was chosen stays");
}

#[test]
fn everything_that_happens_and_tools_as_a_whole() {
    let mut chat = running();
    said(&mut chat, "/events on");
    chat.update(Told::Input(Input::Key(control('t'))));
    insta::assert_snapshot!("chat_events", seen(&chat, 80, 30));
}

#[test]
fn what_was_on_its_way_is_not_shown_twice() {
    let mut chat = running();
    let delta = |text: &str| {
        Told::Run(RunId::new("run_1"), RunEvent::Delta { agent: "venue".into(), text: text.into() })
    };
    chat.update(delta("**venues**:\n\n- near"));
    assert_eq!(seen(&chat, 80, 30).matches("near").count(), 1);
    chat.update(delta(" and new"));
    assert_eq!(seen(&chat, 80, 30).matches("near").count(), 2);
}

#[test]
fn commands() {
    let mut chat = chat();
    typed(&mut chat, "/");
    insta::assert_snapshot!("chat_completions", seen(&chat, 80, 20));
    typed(&mut chat, "th");
    press(&mut chat, KeyCode::Tab);
    typed(&mut chat, "light");
    assert!(
        matches!(&press(&mut chat, KeyCode::Enter)[..], [Effect::Save(saved)] if saved.settings.theme == Theme::Light)
    );
    said(&mut chat, "/settings bell off");
    assert!(!chat.settings().bell);
    said(&mut chat, "/settings colour on");
    assert!(seen(&chat, 90, 20).contains("there is no setting `colour`"));
    said(&mut chat, "/status");
    insta::assert_snapshot!("chat_status", seen(&chat, 80, 24));
    said(&mut chat, "/fork x");
    assert!(seen(&chat, 90, 20).contains("there is no run to fork yet"));
    assert_eq!(
        said(&mut running(), "/cancel too dear"),
        [Effect::Cancel(RunId::new("run_1"), "too dear".into())]
    );
    assert_eq!(
        said(&mut running(), "/fork 3 2"),
        [Effect::Fork(RunId::new("run_1"), 3, Some("2".into()))]
    );
    assert_eq!(said(&mut chat, "/q"), [Effect::Quit]);
    said(&mut chat, "/help");
    insta::assert_snapshot!("chat_help", seen(&chat, 80, 36));
    let effects = said(&mut asked(), "x");
    assert!(effects.is_empty());
    let mut chat = asked();
    press(&mut chat, KeyCode::Esc);
    assert_eq!(
        said(&mut chat, "/answer union"),
        [Effect::Answer(RequestId::new("req_1_1"), 1, Decision::respond("Union Hall"))]
    );
}

#[test]
fn what_was_typed_before_comes_back() {
    let mut chat = chat();
    said(&mut chat, "/status");
    typed(&mut chat, "half");
    press(&mut chat, KeyCode::Up);
    assert!(seen(&chat, 80, 30).contains("> /status"));
    // The completions of a command take the arrows; Esc drops it.
    press(&mut chat, KeyCode::Esc);
    typed(&mut chat, "one");
    assert!(seen(&chat, 80, 30).contains("> one"));
}

proptest! {
    /// Whatever is typed or pasted while a question is up, what is sent is an answer to it that was pressed there.
    #[test]
    fn no_text_is_ever_sent_as_something_else(keys in prop::collection::vec(0u8..12, 0..50), columns in 1u16..120, lines in 1u16..40) {
        let mut chat = asked();
        later(&mut chat);
        for n in keys {
            let effects = match n {
                0 => press(&mut chat, KeyCode::Enter),
                1 => press(&mut chat, KeyCode::Esc),
                2 => press(&mut chat, KeyCode::Tab),
                3 => press(&mut chat, KeyCode::Down),
                4 => press(&mut chat, KeyCode::Up),
                5 => chat.update(Told::Input(Input::Paste("2\r\nyes\r".into()))),
                6 => press(&mut chat, KeyCode::Backspace),
                7 => chat.update(Told::Input(Input::Key(control('r')))),
                n => typed(&mut chat, ["1", "yes", "x", " "][usize::from(n) - 8]),
            };
            for effect in effects {
                match effect {
                    Effect::Answer(_, _, decision) => {
                        prop_assert_eq!(n, 0);
                        prop_assert!(venue().check(&decision).is_ok());
                    }
                    other => prop_assert!(matches!(other, Effect::Save(_)), "{other:?}"),
                }
            }
        }
        crate::support::shown(|frame| chat.draw(frame), columns, lines);
    }
}
