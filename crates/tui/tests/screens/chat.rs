//! The chat.

use crossterm::event::KeyCode;
use proptest::prelude::*;
use serde_json::json;
use signoff_client::RunEvent;
use signoff_core::{Decision, RequestId, RunId};
use signoff_tui::chat::{Effect, Told};
use signoff_tui::screen::Input;
use signoff_tui::theme::Theme;

use crate::support::{budget, control, request, venue};
use crate::talking::{
    asked, asked_of, chat, later, pending, press, run, running, said, seen, tell, typed,
};

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
    chat.update(Told::Ended(Ok(Box::new(run("completed", &output)))));
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
    // However much happens after it.
    for seq in 0..20 {
        let next =
            json!({ "delivered": { "activation": 10 + seq, "to": "budget", "payload": "input" } });
        tell(&mut chat, 5 + seq, &[next]);
    }
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
    // A command among them does not hold the arrows up: further back, on again, and there is what was being typed.
    press(&mut chat, KeyCode::Up);
    press(&mut chat, KeyCode::Down);
    assert!(seen(&chat, 80, 30).contains("> half"));
    press(&mut chat, KeyCode::Up);
    assert!(!seen(&chat, 80, 30).contains("where the conversation stands"));
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
