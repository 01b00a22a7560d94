use proptest::prelude::*;

use super::*;

fn press(editor: &mut Editor, code: KeyCode, modifiers: KeyModifiers) {
    editor.key(KeyEvent::new(code, modifiers));
}

fn typed(editor: &mut Editor, text: &str) {
    for c in text.chars() {
        press(editor, KeyCode::Char(c), KeyModifiers::NONE);
    }
}

#[test]
fn words_and_lines_are_moved_over_and_deleted() {
    let mut editor = Editor::lines();
    typed(&mut editor, "one two");
    press(&mut editor, KeyCode::Enter, KeyModifiers::ALT);
    typed(&mut editor, "three");
    assert_eq!(editor.text(), "one two\nthree");
    press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
    press(&mut editor, KeyCode::Char('w'), KeyModifiers::CONTROL);
    assert_eq!(editor.text(), "one wo\nthree");
    press(&mut editor, KeyCode::Char('u'), KeyModifiers::CONTROL);
    press(&mut editor, KeyCode::Char('k'), KeyModifiers::CONTROL);
    assert_eq!(editor.text(), "\nthree");
    press(&mut editor, KeyCode::Down, KeyModifiers::NONE);
    press(&mut editor, KeyCode::Right, KeyModifiers::CONTROL);
    press(&mut editor, KeyCode::Backspace, KeyModifiers::NONE);
    assert_eq!(editor.take(), "\nthre");
    assert!(editor.is_empty());
}

#[test]
fn one_line_stays_one_line_and_nothing_odd_gets_in() {
    let editor = Editor::line().with("a\nb\u{1b}[2J\tc\u{202e}");
    assert_eq!(editor.text(), "a b[2J    c");
    let long = Editor::lines().with(&"x".repeat(MAX_BYTES + 10));
    assert_eq!(long.text().len(), MAX_BYTES);
}

#[test]
fn long_text_is_laid_out_around_the_cursor() {
    let editor = Editor::lines().with("abcdef\ngh");
    assert_eq!(
        editor.layout(4, 2),
        Layout { lines: vec!["ef".into(), "gh".into()], cursor: (2, 1) }
    );
    assert_eq!(Editor::lines().with("abcd").layout(4, 9).cursor, (0, 1));
}

proptest! {
    #[test]
    fn any_keys_leave_the_cursor_in_the_text(keys in prop::collection::vec(0u8..14, 0..60), text in "[a-zé漢 \n]{0,20}") {
        let mut editor = Editor::lines().with(&text);
        for key in keys {
            let (code, modifiers) = match key {
                0 => (KeyCode::Left, KeyModifiers::NONE),
                1 => (KeyCode::Right, KeyModifiers::NONE),
                2 => (KeyCode::Up, KeyModifiers::NONE),
                3 => (KeyCode::Down, KeyModifiers::NONE),
                4 => (KeyCode::Backspace, KeyModifiers::NONE),
                5 => (KeyCode::Delete, KeyModifiers::NONE),
                6 => (KeyCode::Home, KeyModifiers::NONE),
                7 => (KeyCode::End, KeyModifiers::NONE),
                8 => (KeyCode::Char('w'), KeyModifiers::CONTROL),
                9 => (KeyCode::Char('u'), KeyModifiers::CONTROL),
                10 => (KeyCode::Left, KeyModifiers::CONTROL),
                11 => (KeyCode::Right, KeyModifiers::CONTROL),
                12 => (KeyCode::Enter, KeyModifiers::ALT),
                _ => (KeyCode::Char('漢'), KeyModifiers::NONE),
            };
            press(&mut editor, code, modifiers);
            prop_assert!(editor.text.is_char_boundary(editor.cursor));
            let layout = editor.layout(7, 4);
            prop_assert!(layout.cursor.1 < layout.lines.len() && layout.cursor.0 <= 7);
        }
    }
}
