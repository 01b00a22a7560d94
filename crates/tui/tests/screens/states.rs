//! Each command and each state that other tests do not show.

use crossterm::event::KeyCode;
use serde_json::{Value, json};
use signoff_client::{Asked, ClientError, Refused, Run, RunEvent, Said};
use signoff_core::request::RequestKind;
use signoff_core::{RequestId, RunId, Timestamp};
use signoff_tui::chat::{Chat, Effect, Told};
use signoff_tui::saved::{Saved, Session};
use signoff_tui::screen::Input;
use signoff_tui::theme::Theme;

use crate::inbox::inbox_in;
use crate::support::{
    NOW, THEMES, budget, control, deletion, diet, diets, edit_file, object, painted, plan, shown,
    step, text, within,
};
use crate::talking::{
    asked, asked_of, asking, chat, later, pending, press, run, running, running_in, said, seen,
    tell, typed,
};

fn refused(code: &str, message: &str, hint: Option<&str>) -> ClientError {
    ClientError::Refused(Box::new(Refused {
        status: 409,
        code: code.into(),
        message: message.into(),
        hint: hint.map(Into::into),
    }))
}

/// A question of each kind in the chat, wide and in 60 columns.
#[test]
fn questions_of_every_kind() {
    for (name, body) in [
        ("approval", budget()),
        ("clarification", diet()),
        ("object", object()),
        ("several", diets()),
        ("tool_call", edit_file()),
        ("risky", deletion()),
        ("plan", plan()),
        ("step_before", step(RequestKind::StepBefore)),
        ("step_after", step(RequestKind::StepAfter)),
        ("step_error", step(RequestKind::StepError)),
        ("deadline_near", within(diet(), 90)),
        ("deadline_over", within(diet(), -5)),
    ] {
        let chat = asking(body);
        insta::assert_snapshot!(format!("question_{name}"), seen(&chat, 90, 40));
        insta::assert_snapshot!(format!("question_{name}_60"), seen(&chat, 60, 26));
    }
}

/// What each command shows; those that open something else are shown by what they ask for.
#[test]
fn every_command() {
    let mut saved = Saved::default();
    saved.settings.theme = Theme::Plain;
    saved.remember(Session {
        place: "http://127.0.0.1:8484".into(),
        conversation: "conv_7".into(),
        workflow: "support_handoff".into(),
        about: "I need help with order 12345".into(),
        at: NOW.0,
    });
    for (name, command) in [
        ("settings", "/settings"),
        ("settings_set", "/settings bell off"),
        ("theme", "/theme"),
        ("theme_wrong", "/theme pink"),
        ("events", "/events on"),
        ("tools", "/tools on"),
        ("sessions", "/sessions"),
        ("new", "/new"),
        ("handoff_cancel", "/handoff-cancel"),
        ("answer_nothing", "/answer yes"),
        ("cancel_nothing", "/cancel"),
        ("fork_nothing", "/fork 3"),
        ("comment_nothing", "/comment"),
        ("unknown", "/nonsense"),
        ("ambiguous", "/c"),
    ] {
        let mut chat = Chat::new("me", "http://127.0.0.1:8484", saved.clone(), NOW);
        chat.begin(Some("event_planner".into()), None);
        said(&mut chat, command);
        insta::assert_snapshot!(format!("command_{name}"), seen(&chat, 70, 16));
    }
    assert_eq!(said(&mut chat(), "/inbox"), [Effect::Inbox]);
    assert_eq!(said(&mut chat(), "/editor"), [Effect::Edit(String::new())]);
    assert_eq!(said(&mut chat(), "/exit"), [Effect::Quit]);
    assert!(matches!(&said(&mut running(), "/export x.md")[..],
        [Effect::Export(path, text)] if path.ends_with("x.md") && text.contains("Plan a party")));
    assert_eq!(said(&mut chat(), "/workflows ask"), [Effect::Workflow("ask".into())]);
    // Completions of what follows a command.
    let mut chat = chat();
    typed(&mut chat, "/theme ");
    insta::assert_snapshot!("command_completes_theme", seen(&chat, 70, 12));
    press(&mut chat, KeyCode::Esc);
    typed(&mut chat, "/settings ");
    insta::assert_snapshot!("command_completes_settings", seen(&chat, 70, 12));
}

#[test]
fn lists_to_choose_from() {
    let mut chat = Chat::new("me", "http://127.0.0.1:8484", Saved::default(), NOW);
    chat.begin(None, None);
    let workflows = serde_json::from_value(json!([
        { "id": "event_planner", "description": "Plans an event with four specialists." },
        { "id": "support_handoff" }]));
    chat.update(Told::Workflows(Ok(workflows.unwrap())));
    insta::assert_snapshot!("chat_which_workflow", seen(&chat, 70, 12));
    press(&mut chat, KeyCode::Down);
    assert_eq!(press(&mut chat, KeyCode::Enter), [Effect::Workflow("support_handoff".into())]);
    // Help that does not fit is scrolled, and any other key closes it.
    said(&mut chat, "/help");
    insta::assert_snapshot!("chat_help_60", seen(&chat, 60, 16));
    for _ in 0..90 {
        press(&mut chat, KeyCode::Down);
    }
    let shown = seen(&chat, 60, 16);
    assert!(shown.contains("/workflows [ID]"), "{shown}");
    // Two lines back are two lines back: it went no further than to the end.
    press(&mut chat, KeyCode::Up);
    press(&mut chat, KeyCode::Up);
    assert!(!seen(&chat, 60, 16).contains("/workflows [ID]"));
    press(&mut chat, KeyCode::Esc);
    assert!(!seen(&chat, 60, 16).contains("Keys and commands"));
}

#[test]
fn what_goes_wrong_in_a_chat() {
    let mut chat = running();
    chat.at(Timestamp(NOW.0 + 75_000));
    insta::assert_snapshot!("chat_running_long", seen(&chat, 80, 16));
    tell(
        &mut chat,
        5,
        &[
            json!({ "run_failed": { "error": { "code": "model_failed", "message": "the model is not there" } } }),
        ],
    );
    chat.update(Told::Ended(Ok(Box::new(run("failed", &Value::Null)))));
    insta::assert_snapshot!("chat_failed", seen(&chat, 80, 18));
    let mut chat = crate::talking::chat();
    said(&mut chat, "Plan a party");
    let hint = Some("start one with `signoff serve`");
    chat.update(Told::Started(Err(refused("unavailable", "the server is being stopped", hint))));
    insta::assert_snapshot!("chat_not_sent", seen(&chat, 80, 16));
    let mut chat = asked();
    later(&mut chat);
    typed(&mut chat, "1");
    press(&mut chat, KeyCode::Enter);
    let late = refused("already_decided", "already decided by ada: answered: The Glasshouse", None);
    chat.update(Told::Answered(RequestId::new("req_1_1"), Err(late)));
    insta::assert_snapshot!("chat_too_late", seen(&chat, 80, 30));
    let mut chat = running();
    chat.update(Told::Run(RunId::new("run_1"), RunEvent::Strange("an event `x`".into())));
    insta::assert_snapshot!("chat_strange", seen(&chat, 80, 16));
    tell(&mut chat, 5, &[json!({ "run_cancelled": { "by": "ada", "reason": "too dear" } })]);
    chat.update(Told::Ended(Ok(Box::new(run("cancelled", &Value::Null)))));
    insta::assert_snapshot!("chat_cancelled", seen(&chat, 80, 18));
}

/// A question that was read just before it was answered does not come back.
#[test]
fn an_answered_question_stays_away() {
    let mut chat = asked();
    let decided = json!({ "decided": { "request": 1, "decision": { "decision": "respond", "content": "Union Hall" }, "by": "ada" } });
    tell(&mut chat, 5, &[decided]);
    assert!(seen(&chat, 100, 36).contains("already answered by ada: answered: Union Hall"));
    pending(&mut chat, vec![asked_of()]);
    assert!(!seen(&chat, 100, 36).contains("The workflow asks you"));
    // And one that others voted on has the version that counts.
    let mut chat = asked();
    later(&mut chat);
    let mut voted = asked_of();
    voted.version = 2;
    pending(&mut chat, vec![voted]);
    typed(&mut chat, "1");
    let effects = press(&mut chat, KeyCode::Enter);
    assert!(matches!(&effects[..], [Effect::Answer(_, 2, _)]), "{effects:?}");
}

/// What earlier runs of a conversation gave is shown where it belongs.
#[test]
fn earlier_runs_are_told_with_what_they_gave() {
    let mut chat = Chat::new("me", "http://127.0.0.1:8484", Saved::default(), NOW);
    chat.begin(None, Some("conv_1".into()));
    let ended = |id: &str, input: &str, output: &str| -> Run {
        serde_json::from_value(
            json!({ "id": id, "workflow": "w", "conversation": "conv_1", "status": "completed",
            "input": input, "output": output }),
        )
        .unwrap()
    };
    let runs =
        [ended("run_1", "First", "The first plan"), ended("run_2", "Second", "The second plan")];
    let effects = chat.update(Told::Restored("conv_1".into(), Ok(runs.to_vec())));
    assert!(effects.contains(&Effect::Follow(vec![RunId::new("run_1"), RunId::new("run_2")], 0)));
    for run in runs {
        let id = RunId::new(&*run.id);
        for (seq, event) in (1..).zip([
            json!({ "started": { "workflow": "w", "version": "v", "conversation": "conv_1", "input": run.input, "by": "me" } }),
            json!({ "run_completed": {} }),
        ]) {
            let entry = signoff_core::journal::Entry {
                seq,
                at: NOW,
                event: serde_json::from_value(event).unwrap(),
            };
            chat.update(Told::Run(id.clone(), RunEvent::Entry(Box::new(entry), None)));
        }
        chat.update(Told::Ended(Ok(Box::new(run))));
    }
    insta::assert_snapshot!("chat_picked_up_again", seen(&chat, 60, 26));
}

/// What a run gives as data is shown as data; what was said already is not said again.
#[test]
fn what_a_run_gives_that_is_no_text() {
    let mut chat = running();
    tell(&mut chat, 5, &[json!({ "run_completed": {} })]);
    let output = json!({ "decision": "approve", "by": "local", "amounts": [1, 2] });
    chat.update(Told::Ended(Ok(Box::new(run("completed", &output)))));
    insta::assert_snapshot!("chat_gives_data", seen(&chat, 60, 28));
    let mut chat = running();
    tell(&mut chat, 5, &[json!({ "run_completed": {} })]);
    let output = json!({ "answer": "I look for **venues**:\n\n- near\n- cheap", "conversation": [{ "text": "a" }, { "text": "b" }] });
    chat.update(Told::Ended(Ok(Box::new(run("completed", &output)))));
    let shown = seen(&chat, 60, 28);
    assert!(
        !shown.contains("═ Result") && shown.contains("the conversation has 2 messages"),
        "{shown}"
    );
}

#[test]
fn a_plain_endpoint_asks() {
    let mut saved = Saved::default();
    saved.settings.theme = Theme::Plain;
    let mut chat = Chat::new("you", "http://127.0.0.1:1/v1", saved, NOW).plain("studio", false);
    said(&mut chat, "Paint it");
    chat.update(Told::Said(Said::Text("Gladly.".into())));
    chat.update(Told::Said(Said::Asked(Box::new(Asked {
        id: "req-7".into(),
        source: "painter".into(),
        prompt: "Which colour?".into(),
        recent: vec![("user".into(), "Paint it".into()), ("painter".into(), "Gladly.".into())],
        allowed: Vec::new(),
    }))));
    chat.update(Told::Said(Said::End));
    later(&mut chat);
    insta::assert_snapshot!("chat_plain_asked", seen(&chat, 80, 26));
    press(&mut chat, KeyCode::Esc);
    said(&mut chat, "/status");
    insta::assert_snapshot!("chat_plain_status", seen(&chat, 80, 26));
    said(&mut chat, "/inbox");
    assert!(seen(&chat, 80, 26).contains("`/inbox` needs a Signoff server"));
    // The question is let go of, and it is a plain endpoint again.
    assert_eq!(said(&mut chat, "/handoff-cancel"), [Effect::Follow(Vec::new(), 0)]);
    said(&mut chat, "/status");
    assert!(seen(&chat, 80, 40).contains("plain Responses"));
}

/// The same screens in the colours of each theme; what is not only a colour stays the same in all.
#[test]
fn colours_of_each_theme() {
    for theme in THEMES {
        let mut chat = running_in(theme);
        pending(&mut chat, vec![asked_of()]);
        later(&mut chat);
        typed(&mut chat, "2");
        let screen = shown(|frame| chat.draw(frame), 80, 26);
        insta::assert_snapshot!(
            format!("painted_chat_{}", theme.as_str()),
            painted(&screen, 80, 26)
        );
        let inbox = inbox_in(theme, crate::inbox::all());
        let screen = shown(|frame| inbox.draw(frame), 100, 26);
        insta::assert_snapshot!(
            format!("painted_inbox_{}", theme.as_str()),
            painted(&screen, 100, 26)
        );
    }
}

/// In the chat the bell rings only when nobody looks, and never where it is turned off.
#[test]
fn it_calls_only_when_nobody_looks() {
    let mut chat = running();
    assert!(pending(&mut chat, vec![asked_of()]).is_empty());
    let mut chat = running();
    chat.update(Told::Input(Input::LookedAt(false)));
    let effects = pending(&mut chat, vec![asked_of()]);
    assert!(
        matches!(&effects[..], [Effect::Bell(text)] if text.contains("Which one do you prefer?"))
    );
    let mut chat = running();
    said(&mut chat, "/settings bell off");
    chat.update(Told::Input(Input::LookedAt(false)));
    assert!(pending(&mut chat, vec![asked_of()]).is_empty());
    assert_eq!(chat.update(Told::Input(Input::Key(control('c')))), [Effect::Quit]);
    let greeting = text(|frame| crate::talking::chat().draw(frame), 30, 6);
    assert!(greeting.lines().all(|line| line.chars().count() <= 30));
}
