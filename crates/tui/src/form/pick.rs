//! Fields that are picked and not typed: the schema lists what they may be.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::{Field, build};

/// The most values that are picked from; among more, typing is quicker.
const MAX_VALUES: usize = 30;

/// What a field may be, as it is typed and as it is shown; nothing, if it is typed.
pub(super) fn values(property: &Value, was: Option<&Value>, needed: bool) -> Vec<(String, String)> {
    let mut values: Vec<(String, String)> = match property["enum"].as_array() {
        // Whether it is text or JSON that is typed is known only by its type.
        Some(all) if all.len() <= MAX_VALUES && property["type"] == "string" => {
            let texts = all.iter().filter_map(Value::as_str).filter(|it| !it.is_empty());
            texts.map(|it| (it.to_owned(), it.to_owned())).collect()
        }
        None if property["type"] == "boolean" => {
            vec![("true".to_owned(), "yes".to_owned()), ("false".to_owned(), "no".to_owned())]
        }
        _ => Vec::new(),
    };
    // What is proposed must be among them, or nobody could leave it as it is.
    let was = was.map(build::written);
    if was.as_ref().is_some_and(|was| values.iter().all(|(value, _)| value != was)) {
        return Vec::new();
    }
    if !values.is_empty() && was.is_none() && !needed {
        values.insert(0, (String::new(), String::new()));
    }
    values
}

impl Field {
    /// Whether it is picked.
    pub(super) fn is_picked(&self) -> bool {
        !self.of.is_empty()
    }

    /// What stands there, in words.
    pub(super) fn said<'a>(&'a self, typed: &'a str) -> &'a str {
        self.of.iter().find(|(value, _)| value == typed).map_or(typed, |(_, label)| label)
    }

    /// Takes a key, if it is picked: arrows and Space go through the values, letters to the one that begins with them.
    pub(super) fn pick(&mut self, key: KeyEvent) -> bool {
        let count = self.of.len();
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        if count == 0 || !plain {
            return false;
        }
        let now = self.of.iter().position(|(value, _)| value == self.editor.text());
        let next = match key.code {
            KeyCode::Left => Some(now.map_or(count - 1, |now| (now + count - 1) % count)),
            KeyCode::Right | KeyCode::Char(' ') => Some(now.map_or(0, |now| (now + 1) % count)),
            KeyCode::Char(c) => return self.seek(c),
            _ => return false,
        };
        self.sought.clear();
        self.put(next);
        true
    }

    /// Goes to what begins with the letters that were typed one after the other, or with the last of them.
    fn seek(&mut self, c: char) -> bool {
        let begins = |sought: &str| {
            self.of.iter().position(|(_, label)| label.to_lowercase().starts_with(sought))
        };
        let last: String = c.to_lowercase().collect();
        let longer = format!("{}{last}", self.sought);
        let (sought, found) = match (begins(&longer), begins(&last)) {
            (Some(n), _) => (longer, Some(n)),
            (None, Some(n)) => (last, Some(n)),
            (None, None) => (String::new(), None),
        };
        self.sought = sought;
        self.put(found);
        true
    }

    fn put(&mut self, at: Option<usize>) {
        if let Some((value, _)) = at.and_then(|at| self.of.get(at)) {
            self.editor.set(value);
        }
    }
}
