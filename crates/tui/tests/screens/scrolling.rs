//! Whoever reads what was said before is left in peace.

use crossterm::event::KeyCode;
use proptest::prelude::*;
use signoff_client::RunEvent;
use signoff_core::RunId;
use signoff_tui::chat::{Chat, Told};
use signoff_tui::screen::Input;

use crate::support::{budget, key};
use crate::talking::{asking, press, running, seen, typed};

const MORE: &str = "↓ more below";

fn streams(chat: &mut Chat, text: &str) {
    let delta = RunEvent::Delta { agent: "venue".into(), text: text.into() };
    chat.update(Told::Run(RunId::new("run_1"), delta));
}

/// A chat with more than a screen of text.
fn long() -> Chat {
    let mut chat = running();
    for n in 0..60 {
        streams(&mut chat, &format!("line number {n}\n\n"));
    }
    chat
}

/// What is seen of what was said, without the sign that there is more.
fn said(chat: &Chat) -> Vec<String> {
    let shown = seen(chat, 80, 24);
    let lines = shown.lines().take_while(|line| !line.starts_with('─'));
    lines.map(|line| line.split(MORE).next().unwrap_or_default().trim_end().to_owned()).collect()
}

#[test]
fn scrolled_back_nothing_moves_while_text_streams() {
    let mut chat = long();
    assert!(said(&chat).iter().any(|line| line.contains("number 59")));
    assert!(!seen(&chat, 80, 24).contains(MORE));
    press(&mut chat, KeyCode::PageUp);
    let before = said(&chat);
    assert!(seen(&chat, 80, 24).contains(MORE));
    for n in 60..90 {
        streams(&mut chat, &format!("line number {n}\n\n"));
        assert_eq!(said(&chat), before, "it moved at {n}");
    }
    insta::assert_snapshot!("chat_scrolled_back", seen(&chat, 80, 24));
    // Typing goes on there, and Esc goes to the end.
    typed(&mut chat, "hello");
    assert_eq!(said(&chat), before);
    press(&mut chat, KeyCode::Esc);
    let shown = seen(&chat, 80, 24);
    assert!(shown.contains("number 89") && shown.contains("> hello") && !shown.contains(MORE));
    // So does going on page by page; from there on it follows again.
    press(&mut chat, KeyCode::PageUp);
    for _ in 0..3 {
        press(&mut chat, KeyCode::PageDown);
    }
    streams(&mut chat, "and the end");
    assert!(seen(&chat, 80, 24).contains("and the end"));
}

#[test]
fn the_beginning_is_reached_and_stays() {
    let mut chat = long();
    for _ in 0..40 {
        press(&mut chat, KeyCode::PageUp);
    }
    assert_eq!(said(&chat)[0], "> you");
    seen(&chat, 40, 12);
    streams(&mut chat, "more");
    assert_eq!(said(&chat)[0], "> you");
}

#[test]
fn a_question_that_is_longer_than_the_screen_is_read_as_a_whole() {
    let mut body = budget();
    body.prompt = (0..40).map(|n| format!("reason {n}")).collect::<Vec<_>>().join("\n\n");
    let mut chat = asking(body);
    let shown = seen(&chat, 80, 24);
    assert!(shown.contains("[ Approve ]") && shown.contains("↑ more: PgUp"), "{shown}");
    for _ in 0..20 {
        chat.update(Told::Input(Input::Key(key(KeyCode::PageUp))));
        seen(&chat, 80, 24);
    }
    let shown = seen(&chat, 80, 24);
    assert!(shown.contains("Approval from") && shown.contains("reason 0"), "{shown}");
    assert!(shown.contains("↓ more: PgDn"), "{shown}");
    insta::assert_snapshot!("chat_long_question", shown);
    // The next key goes to where it works.
    chat.update(Told::Input(Input::Key(key(KeyCode::Right))));
    assert!(seen(&chat, 80, 24).contains("[▸Approve◂]"));
}

proptest! {
    /// However it is scrolled, resized and written to, it is drawn; and what is seen is part of what was said.
    #[test]
    fn any_way_of_scrolling(steps in prop::collection::vec(0u8..5, 0..40), columns in 1u16..100, lines in 1u16..40) {
        let mut chat = long();
        for step in steps {
            match step {
                0 | 1 => drop(press(&mut chat, KeyCode::PageUp)),
                2 => drop(press(&mut chat, KeyCode::PageDown)),
                3 => streams(&mut chat, "word "),
                _ => drop(seen(&chat, columns, lines)),
            }
        }
        let shown = said(&chat);
        prop_assert!(shown.iter().any(|line| !line.is_empty()));
    }
}
