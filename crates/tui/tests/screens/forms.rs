//! Forms: what they offer, and what they give.

use crossterm::event::KeyCode;
use proptest::prelude::*;
use serde_json::json;
use signoff_core::request::RequestBody;
use signoff_core::{Decision, DecisionKind};
use signoff_tui::form::{Form, Reply};
use signoff_tui::theme::Theme;

use crate::support::{budget, deletion, diet, key, letter, object, venue};

fn typed(form: &mut Form, text: &str) {
    for c in text.chars() {
        assert_eq!(form.key(letter(c)), Reply::Taken);
    }
}

fn drawn(form: &Form, columns: usize) -> String {
    let lines = form.draw(columns, Theme::Plain, true).lines;
    lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_option_is_chosen_and_sent() {
    let mut form = Form::new(&venue());
    // Nothing is chosen at first.
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Taken);
    assert!(drawn(&form, 60).contains("! choose one"));
    form.key(key(KeyCode::Down));
    form.key(key(KeyCode::Down));
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Decide(Decision::respond("The Glasshouse")));
    form.key(letter('1'));
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Decide(Decision::respond("Union Hall")));
}

#[test]
fn a_proposal_is_approved_as_it_is_or_with_changes() {
    let mut form = Form::new(&budget());
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Taken, "nothing is chosen at first");
    form.key(letter('a'));
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Decide(Decision::approve()));
    assert!(form.edit());
    typed(&mut form, "0");
    let shown = drawn(&form, 50);
    assert!(shown.contains("15000") && shown.contains("was 1500"), "{shown}");
    // What was changed cannot be approved as if it had not been.
    assert!(form.decision(DecisionKind::Approve).unwrap_err().contains("something was changed"));
    let value = json!({ "venue": 15000, "catering": 750, "note": "with a reserve" });
    assert_eq!(form.decision(DecisionKind::Edit), Ok(Decision::Edit { value, note: None }));
    typed(&mut form, "x");
    assert!(form.decision(DecisionKind::Edit).is_err(), "a number stays a number");
    form.undo();
    assert_eq!(form.decision(DecisionKind::Approve), Ok(Decision::approve()));
}

#[test]
fn a_word_that_is_typed_as_an_answer_is_an_answer() {
    let mut body = diet();
    body.allowed = vec![DecisionKind::Respond, DecisionKind::Abort];
    let mut form = Form::new(&body);
    typed(&mut form, "abort");
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Decide(Decision::respond("abort")));
    let mut form = Form::new(&diet());
    assert_eq!(form.key(key(KeyCode::Enter)), Reply::Taken);
    assert!(drawn(&form, 60).contains("! the answer is empty"));
    form.paste("a\nb\r");
    assert_eq!(form.key(key(KeyCode::Esc)), Reply::Hide);
}

#[test]
fn fields_follow_the_schema() {
    let mut form = Form::new(&object());
    typed(&mut form, "Ada");
    assert!(form.decision(DecisionKind::Respond).unwrap_err().contains("`guests` is missing"));
    form.key(key(KeyCode::Enter));
    typed(&mut form, "30");
    form.key(key(KeyCode::Tab));
    typed(&mut form, "yes");
    let content = json!({ "name": "Ada", "guests": 30, "vegan": true });
    assert_eq!(form.decision(DecisionKind::Respond), Ok(Decision::respond(content)));
    insta::assert_snapshot!("form_fields", drawn(&form, 50));
}

#[test]
fn forms_of_every_kind() {
    for (name, body) in [
        ("selection", venue()),
        ("approval", budget()),
        ("input", diet()),
        ("tool_call", deletion()),
    ] {
        insta::assert_snapshot!(format!("form_{name}"), drawn(&Form::new(&body), 60));
    }
}

fn any_key() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        Just(KeyCode::Enter),
        Just(KeyCode::Tab),
        Just(KeyCode::BackTab),
        Just(KeyCode::Esc),
        Just(KeyCode::Up),
        Just(KeyCode::Down),
        Just(KeyCode::Left),
        Just(KeyCode::Right),
        Just(KeyCode::Backspace),
        "[a-z0-9 ]".prop_map(|text| KeyCode::Char(text.chars().next().unwrap())),
    ]
}

proptest! {
    /// Whatever is pressed, what a form gives is what its request accepts; and it can always be drawn.
    #[test]
    fn only_what_is_accepted_is_given(
        keys in prop::collection::vec(any_key(), 0..60),
        which in 0usize..5,
        columns in 12usize..80,
    ) {
        let body: RequestBody = [venue, budget, diet, deletion, object][which]();
        let mut form = Form::new(&body);
        for code in keys {
            if let Reply::Decide(decision) = form.key(key(code)) {
                prop_assert!(body.check(&decision).is_ok(), "{decision:?}");
                prop_assert!(body.allowed.contains(&decision.kind()));
                prop_assert_eq!(code, KeyCode::Enter);
            }
            form.draw(columns, Theme::Dark, true);
        }
    }

    /// What is pasted decides nothing.
    #[test]
    fn nothing_is_pressed_by_pasting(text in "[a-z\\r\\n\\t ]{0,40}", which in 0usize..5) {
        let body: RequestBody = [venue, budget, diet, deletion, object][which]();
        let mut form = Form::new(&body);
        form.paste(&text);
        prop_assert_eq!(form.key(key(KeyCode::Esc)), Reply::Hide);
    }
}

#[test]
fn what_the_schema_lists_is_picked() {
    let proposal = json!({ "by": "train", "insured": true, "seat": "9" });
    let mut body = RequestBody::approval("Go?", proposal);
    body.response_schema = json!({ "type": "object", "properties": {
        "by": { "type": "string", "enum": ["train", "boat", "bike"] },
        "insured": { "type": "boolean" },
        "seat": { "type": "string", "enum": ["a", "b"] } } });
    let mut form = Form::new(&body);
    assert!(form.edit());
    // Letters and pastes never put anything else there.
    typed(&mut form, "zeppelin");
    form.paste("zeppelin");
    assert!(drawn(&form, 50).contains("◂ train ▸"), "{}", drawn(&form, 50));
    typed(&mut form, "boat");
    assert!(drawn(&form, 50).contains("◂ boat ▸"), "{}", drawn(&form, 50));
    typed(&mut form, "bi");
    form.key(key(KeyCode::Down));
    form.key(key(KeyCode::Right));
    let shown = drawn(&form, 50);
    assert!(shown.contains("◂ no ▸") && shown.contains("was yes"), "{shown}");
    // What is proposed and not listed is typed; it is checked all the same.
    form.key(key(KeyCode::Down));
    typed(&mut form, "x");
    assert!(drawn(&form, 50).contains("9x"), "{}", drawn(&form, 50));
    assert!(form.decision(DecisionKind::Edit).is_err());
    form.key(key(KeyCode::Backspace));
    form.key(key(KeyCode::Backspace));
    typed(&mut form, "a");
    let value = json!({ "by": "bike", "insured": false, "seat": "a" });
    assert_eq!(form.decision(DecisionKind::Edit), Ok(Decision::Edit { value, note: None }));
}
