//! Everything that a request lists can be decided, from the question in the chat and from the inbox.

use crossterm::event::KeyCode;
use serde_json::json;
use signoff_core::decision::Then;
use signoff_core::policy::{Reach, Remember};
use signoff_core::request::{RequestBody, RequestKind};
use signoff_core::{Decision, DecisionKind, RequestId};
use signoff_tui::chat::{Effect, Told};
use signoff_tui::form::{Form, Reply};
use signoff_tui::inbox;
use signoff_tui::mark::Mark;
use signoff_tui::theme::Theme;

use crate::inbox::{inbox_in, press as inbox_press, seen as inbox_seen, typed as inbox_typed};
use crate::support::{
    budget, deletion, diet, diets, edit_file, key, letter, object, plan, request, step, venue,
};
use crate::talking::{asking, later, press, said, seen, typed};

fn every() -> Vec<RequestBody> {
    vec![
        venue(),
        budget(),
        diet(),
        deletion(),
        object(),
        diets(),
        plan(),
        edit_file(),
        step(RequestKind::StepBefore),
        step(RequestKind::StepAfter),
        step(RequestKind::StepError),
    ]
}

/// What is typed so that a decision of this kind can be given.
fn filled(form: &mut Form, body: &RequestBody, kind: DecisionKind) {
    let type_in = |form: &mut Form, text: &str| {
        for c in text.chars() {
            form.key(letter(c));
        }
    };
    match kind {
        DecisionKind::Respond if !body.options.is_empty() => drop(form.key(letter('1'))),
        DecisionKind::Respond if body.response_schema["type"] == "array" => {
            form.key(letter('1'));
        }
        DecisionKind::Respond
            if body.response_schema["properties"].is_object()
                && body.kind == RequestKind::Input =>
        {
            type_in(form, "Ada");
            form.key(key(KeyCode::Tab));
            type_in(form, "30");
        }
        DecisionKind::Respond if body.kind == RequestKind::ToolCall => {
            // Past what is proposed.
            for _ in 0..3 {
                form.key(key(KeyCode::Tab));
            }
            type_in(form, "as you like");
        }
        DecisionKind::Respond => type_in(form, "as you like"),
        _ => {}
    }
}

/// For every kind of request, each decision that it lists is given by keys alone.
#[test]
fn all_that_is_listed_can_be_given() {
    for body in every() {
        for kind in body.allowed.clone() {
            let mut form = Form::new(&body);
            filled(&mut form, &body, kind);
            assert!(form.choose(kind));
            let mut reply = Reply::Taken;
            for _ in 0..3 {
                reply = form.key(key(KeyCode::Enter));
                if reply != Reply::Taken {
                    break;
                }
            }
            let Reply::Decide(decision) = reply else {
                panic!("{:?} of {:?}: {reply:?}", kind, body.kind)
            };
            assert_eq!(decision.kind(), kind);
            assert!(body.check(&decision).is_ok());
        }
    }
}

#[test]
fn the_buttons_of_a_question_are_reached_by_keys() {
    let mut chat = asking(plan());
    typed(&mut chat, "r");
    assert!(seen(&chat, 90, 40).contains("[▸Revise◂]"));
    // What is to be revised is typed above.
    press(&mut chat, KeyCode::Up);
    let mut chat = asking(plan());
    assert!(
        said(&mut chat, "r").iter().any(|effect| matches!(
            effect,
            Effect::Answer(_, 1, Decision::Revise { feedback: None })
        ))
    );
    for (body, letter, wanted) in [
        (step(RequestKind::StepAfter), 'u', DecisionKind::Rollback),
        (step(RequestKind::StepError), 't', DecisionKind::Retry),
        (step(RequestKind::StepError), 's', DecisionKind::Skip),
        (step(RequestKind::StepBefore), 'd', DecisionKind::Reject),
    ] {
        let mut chat = asking(body);
        typed(&mut chat, &letter.to_string());
        let effects = press(&mut chat, KeyCode::Enter);
        let [Effect::Answer(_, _, decision)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(decision.kind(), wanted);
    }
}

#[test]
fn a_decision_is_remembered_where_that_is_offered() {
    let mut form = Form::new(&edit_file());
    let shown = |form: &Form| {
        let lines = form.draw(70, Theme::Plain, true).lines;
        lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(shown(&form).contains("Remember it  only this once"), "{}", shown(&form));
    form.choose(DecisionKind::Approve);
    // From the buttons back to what goes with them.
    form.key(key(KeyCode::BackTab));
    form.key(key(KeyCode::BackTab));
    form.key(key(KeyCode::Right));
    form.key(key(KeyCode::Right));
    assert!(shown(&form).contains("◂ for this conversation ▸"), "{}", shown(&form));
    let remembered = Some(Remember::Reach(Reach::Conversation));
    assert_eq!(
        form.decision(DecisionKind::Approve),
        Ok(Decision::Approve { note: None, remember: remembered.clone() })
    );
    // What cannot be remembered says so, and is not sent as if it had been.
    assert!(form.decision(DecisionKind::Abort).unwrap_err().contains("can be remembered"));
    // A denial may stop the run as well.
    form.key(key(KeyCode::Tab));
    form.key(letter(' '));
    let then = Then::Stop;
    assert_eq!(
        form.decision(DecisionKind::Reject),
        Ok(Decision::Reject { reason: None, then, siblings: None, remember: remembered })
    );
    assert!(form.decision(DecisionKind::Approve).unwrap_err().contains("only if it is denied"));
    form.undo();
    assert_eq!(form.decision(DecisionKind::Approve), Ok(Decision::approve()));
    // What nobody would know again is not offered to be remembered.
    for body in [budget(), plan(), deletion(), diet()] {
        assert!(!shown(&Form::new(&body)).contains("Remember it"));
    }
}

#[test]
fn several_can_be_chosen() {
    let mut form = Form::new(&diets());
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Taken, "at least one is wanted");
    form.key(letter(' '));
    form.key(key(KeyCode::Down));
    form.key(key(KeyCode::Down));
    form.key(letter(' '));
    let wanted = json!(["vegan", "gluten-free"]);
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Decide(Decision::respond(wanted)));
    form.key(letter('1'));
    let wanted = json!(["gluten-free"]);
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Decide(Decision::respond(wanted)));
}

/// What is done with a question besides deciding it, by commands of the chat.
#[test]
fn a_question_is_looked_after_from_the_chat() {
    let id = || RequestId::new("req_1_1");
    for (typed, mark) in [
        ("/claim", Mark::Claim),
        ("/release", Mark::Release),
        ("/reassign ada", Mark::Reassign(Some("ada".into()))),
        ("/reassign", Mark::Reassign(None)),
        ("/comment ask Bob first", Mark::Comment("ask Bob first".into())),
        ("/defer 2h", Mark::Defer("2h".into(), None)),
        ("/defer 1d after the meeting", Mark::Defer("1d".into(), Some("after the meeting".into()))),
    ] {
        let mut chat = asking(venue());
        press(&mut chat, KeyCode::Esc);
        let effects = said(&mut chat, typed);
        assert_eq!(effects, [Effect::Mark(id(), mark)], "{typed}");
    }
    let mut chat = asking(venue());
    press(&mut chat, KeyCode::Esc);
    assert!(said(&mut chat, "/defer soon").is_empty());
    assert!(seen(&chat, 90, 30).contains("how long? For example 30m"));
    // What was put off is out of the way, and nothing is decided.
    let mut deferred = crate::talking::asked_of();
    deferred.deferred_until = Some(signoff_core::Timestamp(crate::support::NOW.0 + 7_200_000));
    let mut chat = asking(venue());
    later(&mut chat);
    let mark = Mark::Defer("2h".into(), None);
    chat.update(Told::Marked(mark, Ok(Box::new(deferred))));
    let shown = seen(&chat, 90, 30);
    assert!(
        shown.contains("put off for 2h") && !shown.contains("The workflow asks you"),
        "{shown}"
    );
    assert!(said(&mut crate::talking::chat(), "/claim").is_empty());
}

/// The same by single keys of the inbox.
#[test]
fn a_request_is_looked_after_from_the_inbox() {
    let one = || inbox_in(Theme::Plain, vec![request(1, venue(), 60)]);
    let id = RequestId::new("req_1_1");
    let mut inbox = one();
    assert_eq!(inbox_typed(&mut inbox, "c"), [inbox::Effect::Mark(id.clone(), Mark::Claim)]);
    for (keys, text, mark) in [
        ("x", "ask Bob", Mark::Comment("ask Bob".into())),
        ("t", "ada", Mark::Reassign(Some("ada".into()))),
        ("t", "", Mark::Reassign(None)),
        ("z", "2h in a meeting", Mark::Defer("2h".into(), Some("in a meeting".into()))),
    ] {
        let mut inbox = one();
        inbox_typed(&mut inbox, keys);
        inbox_typed(&mut inbox, text);
        let effects = inbox_press(&mut inbox, KeyCode::Enter);
        assert_eq!(effects, [inbox::Effect::Mark(id.clone(), mark)]);
    }
    let mut inbox = one();
    inbox_typed(&mut inbox, "zwhenever");
    assert!(inbox_press(&mut inbox, KeyCode::Enter).is_empty());
    let shown = inbox_seen(&inbox, 90, 20);
    assert!(shown.contains("put off for: whenever") && shown.contains("! how long?"), "{shown}");
    insta::assert_snapshot!("inbox_put_off", shown);
    // What was put off leaves the list, also while it is looked at.
    let mut deferred = request(1, venue(), 60);
    deferred.deferred_until = Some(signoff_core::Timestamp(crate::support::NOW.0 + 7_200_000));
    let mut inbox = one();
    inbox.update(inbox::Told::Marked(Mark::Defer("2h".into(), None), Ok(deferred)));
    assert!(inbox_seen(&inbox, 90, 20).contains("Nothing waits for a person."));
}
