//! The inbox.

use crossterm::event::KeyCode;
use proptest::prelude::*;
use signoff_client::{ClientError, InboxEvent, Refused};
use signoff_core::request::{RequestStatus, TakenDecision};
use signoff_core::{Actor, Decision, Request, Timestamp};
use signoff_tui::inbox::{Effect, Inbox, Told};
use signoff_tui::screen::Input;
use signoff_tui::theme::Theme;

use crate::support::{
    NOW, THEMES, budget, control, deletion, diet, has_colour, key, letter, object, request, shown,
    text, venue,
};

pub(crate) fn all() -> Vec<Request> {
    let mut claimed = request(3, diet(), 400);
    claimed.assignee = Some(Actor::new("ada"));
    let mut other = request(5, object(), 2);
    other.workflow = "logistics_day".into();
    vec![
        request(1, venue(), 9_000),
        request(2, budget(), 500),
        claimed,
        request(4, deletion(), 60),
        other,
    ]
}

pub(crate) fn inbox_in(theme: Theme, requests: Vec<Request>) -> Inbox {
    let mut inbox = Inbox::new("me", theme, true, NOW);
    assert_eq!(inbox.update(Told::Inbox(InboxEvent::Listening)), [Effect::Load]);
    inbox.update(Told::Loaded(Ok(requests)));
    // It was looked at for a while.
    inbox.update(Told::Input(Input::Tick(Timestamp(NOW.0 + 1_000))));
    inbox
}

pub(crate) fn inbox() -> Inbox {
    inbox_in(Theme::Plain, all())
}

pub(crate) fn press(inbox: &mut Inbox, code: KeyCode) -> Vec<Effect> {
    inbox.update(Told::Input(Input::Key(key(code))))
}

pub(crate) fn typed(inbox: &mut Inbox, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| inbox.update(Told::Input(Input::Key(letter(c))))).collect()
}

pub(crate) fn seen(inbox: &Inbox, columns: u16, lines: u16) -> String {
    text(|frame| inbox.draw(frame), columns, lines)
}

pub(crate) fn decided(mut request: Request, by: &str) -> Request {
    request.status = RequestStatus::Decided;
    request.version = 2;
    request.decision = Some(TakenDecision {
        decision: Decision::respond("The Glasshouse"),
        by: Actor::new(by),
        at: NOW,
        sent: None,
    });
    request
}

#[test]
fn what_waits() {
    insta::assert_snapshot!("inbox_170", seen(&inbox(), 170, 20));
    insta::assert_snapshot!("inbox_120", seen(&inbox(), 120, 30));
    insta::assert_snapshot!("inbox_80", seen(&inbox(), 80, 26));
    insta::assert_snapshot!("inbox_60", seen(&inbox(), 60, 20));
}

#[test]
fn before_and_without_anything() {
    let mut inbox = Inbox::new("me", Theme::Plain, true, NOW);
    insta::assert_snapshot!("inbox_connecting", seen(&inbox, 80, 10));
    inbox.update(Told::Loaded(Ok(Vec::new())));
    insta::assert_snapshot!("inbox_empty", seen(&inbox, 60, 10));
    inbox.update(Told::Inbox(InboxEvent::Lost { problem: "127.0.0.1: Connection refused".into() }));
    insta::assert_snapshot!("inbox_lost", seen(&inbox, 80, 10));
    inbox.update(Told::Inbox(InboxEvent::Strange("an event `x`".into())));
    assert!(seen(&inbox, 80, 10).contains("! the server said something strange: an event `x`"));
}

#[test]
fn requests_of_every_kind_are_opened() {
    for (n, name) in
        ["selection", "approval", "input", "tool_call", "object"].into_iter().enumerate()
    {
        let mut inbox = inbox();
        for _ in 0..n {
            press(&mut inbox, KeyCode::Down);
        }
        press(&mut inbox, KeyCode::Enter);
        insta::assert_snapshot!(format!("inbox_open_{name}"), seen(&inbox, 120, 34));
        insta::assert_snapshot!(format!("inbox_open_{name}_60"), seen(&inbox, 60, 24));
    }
}

#[test]
fn colours_change_no_text_and_plain_has_none() {
    let texts: Vec<String> =
        THEMES.iter().map(|theme| seen(&inbox_in(*theme, all()), 120, 30)).collect();
    assert!(texts.iter().all(|text| *text == texts[0]));
    let colour =
        |theme| has_colour(&shown(|frame| inbox_in(theme, all()).draw(frame), 120, 30), 120, 30);
    assert!(colour(Theme::Dark) && colour(Theme::Light) && !colour(Theme::Plain));
}

#[test]
fn single_keys_decide_from_the_list_only() {
    let mut inbox = inbox();
    press(&mut inbox, KeyCode::Down);
    let effects = typed(&mut inbox, "a");
    assert!(
        matches!(&effects[..], [Effect::Decide(id, 1, Decision::Approve { .. })] if id.as_str() == "req_2_1"),
        "{effects:?}"
    );
    // It is on its way and cannot be decided again.
    assert!(typed(&mut inbox, "a").is_empty());
    // What is risky is opened first.
    let mut inbox = self::inbox();
    press(&mut inbox, KeyCode::End);
    press(&mut inbox, KeyCode::Up);
    assert!(typed(&mut inbox, "a").is_empty());
    assert!(seen(&inbox, 120, 34).contains("[▸Approve◂]"));
    assert!(matches!(&press(&mut inbox, KeyCode::Enter)[..], [Effect::Decide(..)]));
    // In the search they are letters.
    let mut inbox = self::inbox();
    let effects = typed(&mut inbox, "/aded");
    assert!(effects.iter().all(|effect| matches!(effect, Effect::Look(..))), "{effects:?}");
    assert!(seen(&inbox, 120, 34).contains("search: aded"));
    // And pasted, nothing.
    let mut inbox = self::inbox();
    press(&mut inbox, KeyCode::Down);
    assert!(inbox.update(Told::Input(Input::Paste("aA\r".into()))).is_empty());
}

#[test]
fn a_request_that_has_just_come_under_the_cursor_is_not_decided() {
    let mut inbox = inbox_in(Theme::Plain, vec![request(1, budget(), 9), request(2, budget(), 5)]);
    let gone = decided(request(1, budget(), 9), "me");
    inbox.update(Told::Inbox(InboxEvent::Change {
        change: "decided".into(),
        request: Box::new(gone),
    }));
    // It stays until it is left; then the next one is there by a key, and counts.
    assert!(typed(&mut inbox, "a").is_empty());
    press(&mut inbox, KeyCode::Down);
    assert_eq!(typed(&mut inbox, "a").len(), 1);
    let mut inbox = Inbox::new("me", Theme::Plain, true, NOW);
    inbox.update(Told::Loaded(Ok(Vec::new())));
    let new = Box::new(request(7, budget(), 0));
    inbox.update(Told::Inbox(InboxEvent::Change { change: "asked".into(), request: new }));
    assert!(typed(&mut inbox, "a").is_empty());
    assert!(seen(&inbox, 90, 20).contains("another request has just come here"));
    inbox.update(Told::Input(Input::Tick(Timestamp(NOW.0 + 301))));
    assert_eq!(typed(&mut inbox, "a").len(), 1);
}

#[test]
fn somebody_else_was_faster() {
    let mut inbox = inbox();
    press(&mut inbox, KeyCode::Enter);
    let taken = decided(request(1, venue(), 9_000), "ada");
    inbox.update(Told::Inbox(InboxEvent::Change {
        change: "decided".into(),
        request: Box::new(taken),
    }));
    insta::assert_snapshot!("inbox_answered_by_ada", seen(&inbox, 120, 24));
    typed(&mut inbox, "1");
    assert!(press(&mut inbox, KeyCode::Enter).is_empty());
    let mut inbox = self::inbox();
    press(&mut inbox, KeyCode::Enter);
    typed(&mut inbox, "2");
    let effects = press(&mut inbox, KeyCode::Enter);
    let [Effect::Decide(id, ..)] = &effects[..] else { panic!("{effects:?}") };
    let late = ClientError::Refused(Box::new(Refused {
        status: 409,
        code: "already_decided".into(),
        message: "already decided by ada".into(),
        hint: None,
    }));
    inbox.update(Told::Decided(id.clone(), Err(late)));
    assert!(seen(&inbox, 120, 34).contains("! too late: already decided by ada"));
}

#[test]
fn several_are_shown_before_they_are_decided() {
    let mut inbox = inbox();
    assert!(typed(&mut inbox, "A").is_empty());
    assert!(seen(&inbox, 120, 24).contains("nothing is marked"));
    typed(&mut inbox, "*A");
    assert!(!seen(&inbox, 100, 24).contains("✓ Delete the old build?"));
    insta::assert_snapshot!("inbox_bulk", seen(&inbox, 100, 24));
    assert!(press(&mut inbox, KeyCode::Esc).is_empty());
    // What is of high risk is among them only if it was marked by itself.
    press(&mut inbox, KeyCode::End);
    press(&mut inbox, KeyCode::Up);
    typed(&mut inbox, " D");
    let effects = press(&mut inbox, KeyCode::Enter);
    let [Effect::Many(items)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(items.len(), 2);
    let mut inbox = self::inbox();
    typed(&mut inbox, "*");
    assert!(seen(&inbox, 100, 24).contains("5 waiting, 4 marked"));
    assert!(seen(&inbox, 100, 24).contains("1 of high risk left out"));
    typed(&mut inbox, "*");
    assert!(!seen(&inbox, 100, 24).contains("marked"));
}

#[test]
fn what_is_shown_is_narrowed() {
    let mut inbox = inbox();
    typed(&mut inbox, "/dietary");
    press(&mut inbox, KeyCode::Enter);
    insta::assert_snapshot!("inbox_search", seen(&inbox, 80, 26));
    press(&mut inbox, KeyCode::Esc);
    typed(&mut inbox, "f");
    assert!(seen(&inbox, 80, 26).contains("only: approval"));
    typed(&mut inbox, "ww");
    assert!(seen(&inbox, 80, 26).contains("only: approval, logistics_day"));
    press(&mut inbox, KeyCode::Esc);
    typed(&mut inbox, "!");
    assert!(
        seen(&inbox, 80, 26).contains("1 shown")
            && seen(&inbox, 80, 26).contains("Delete the old build?")
    );
    typed(&mut inbox, "!ii");
    assert!(seen(&inbox, 80, 26).contains("4 shown"));
    typed(&mut inbox, "?");
    insta::assert_snapshot!("inbox_help", seen(&inbox, 80, 26));
}

#[test]
fn it_calls_only_when_nobody_looks() {
    let asked = |n| {
        Told::Inbox(InboxEvent::Change {
            change: "asked".into(),
            request: Box::new(request(n, diet(), 0)),
        })
    };
    let mut inbox = inbox();
    assert!(inbox.update(asked(10)).is_empty());
    inbox.update(Told::Input(Input::LookedAt(false)));
    assert_eq!(inbox.update(asked(11)), [Effect::Bell("Are there dietary needs?".into())]);
    assert_eq!(inbox.update(Told::Input(Input::Key(control('c')))), [Effect::Quit]);
}

proptest! {
    /// Whatever is pressed and told, it is drawn in any size, and what is decided is what a request accepts.
    #[test]
    fn any_keys_and_any_size(keys in prop::collection::vec("[adecx*AD/ fwi!rjkgG?1-3]|\\PC", 0..40), enters in prop::collection::vec(0usize..40, 0..8),
        columns in 1u16..150, lines in 1u16..40) {
        let mut inbox = inbox();
        for (n, text) in keys.iter().enumerate() {
            let c = text.chars().next().unwrap();
            let mut effects = typed(&mut inbox, &c.to_string());
            if enters.contains(&n) {
                effects.extend(press(&mut inbox, KeyCode::Enter));
            }
            for effect in effects {
                if let Effect::Decide(id, _, decision) = effect {
                    let request = all().into_iter().find(|it| it.id == id).unwrap();
                    prop_assert!(request.body.check(&decision).is_ok());
                }
            }
        }
        shown(|frame| inbox.draw(frame), columns, lines);
    }
}
