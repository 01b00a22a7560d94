//! What people are shown before they decide, made so that it cannot deceive them.
//!
//! Characters that are not seen, or that change what is seen, are named; padding that pushes something out of sight is
//! folded; secrets are masked. What is *bound* stays exact: the proposal that is carried out, its digest, the answers
//! that can be chosen. So a form for the eye stands beside the value, never in its place.

mod characters;
mod request;
mod secrets;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub use secrets::Secrets;

/// What was found in a text that somebody could be deceived with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    hidden: bool,
    padding: bool,
    secret: bool,
}

/// `text` as it may be shown: nothing in it is hidden, and no secret is in it.
pub fn text(text: &str, secrets: &Secrets) -> String {
    look(text, secrets).0
}

/// `text` with what is not seen, or changes what is seen, named, and otherwise as it is. For what a terminal is sent.
pub fn plain(text: &str) -> String {
    characters::named(text)
}

/// All texts in `value` as they may be shown, the names of fields included.
pub fn value(value: &Value, secrets: &Secrets) -> Value {
    Look::new(secrets).value("", value)
}

/// `value` without secrets, and otherwise as it is.
pub fn masked(value: &Value, secrets: &Secrets) -> Value {
    match value {
        Value::String(text) => secrets.mask(text).into(),
        Value::Array(items) => items.iter().map(|item| masked(item, secrets)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    Value::String(text) => secrets.mask_field(name, text).into(),
                    other => masked(other, secrets),
                };
                (secrets.mask(name), value)
            })
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn look(text: &str, secrets: &Secrets) -> (String, Found) {
    let (seen, hidden, padding) = characters::seen(text);
    // Only what is seen as a whole can be recognised as a secret.
    let shown = secrets.mask(&seen);
    let secret = shown != seen;
    (shown, Found { hidden, padding, secret })
}

/// Goes through values, and keeps where something was found.
struct Look<'a> {
    secrets: &'a Secrets,
    hidden: BTreeSet<String>,
    padding: BTreeSet<String>,
    secret: BTreeSet<String>,
    words: BTreeSet<&'static str>,
}

impl<'a> Look<'a> {
    fn new(secrets: &'a Secrets) -> Self {
        Self {
            secrets,
            hidden: BTreeSet::new(),
            padding: BTreeSet::new(),
            secret: BTreeSet::new(),
            words: BTreeSet::new(),
        }
    }

    fn text(&mut self, place: &str, text: &str) -> String {
        let (shown, found) = look(text, self.secrets);
        self.note(place, &found);
        shown
    }

    fn field(&mut self, place: &str, name: &str, text: &str) -> String {
        let (shown, mut found) = look(text, self.secrets);
        let masked = self.secrets.mask_field(name, &shown);
        found.secret |= masked != shown;
        self.note(place, &found);
        masked
    }

    fn note(&mut self, place: &str, found: &Found) {
        let places = [&mut self.hidden, &mut self.padding, &mut self.secret];
        for (places, found) in places.into_iter().zip([found.hidden, found.padding, found.secret]) {
            if found {
                places.insert(place.to_owned());
            }
        }
    }

    fn value(&mut self, place: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(place, text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(place, item)).collect(),
            Value::Object(fields) => Value::Object(self.fields(place, fields)),
            other => other.clone(),
        }
    }

    fn fields(&mut self, place: &str, fields: &Map<String, Value>) -> Map<String, Value> {
        let mut shown = Map::new();
        for (name, value) in fields {
            let seen = self.text(place, name);
            let inner = if place.is_empty() { seen.clone() } else { format!("{place}.{seen}") };
            let value = match value {
                Value::String(text) => self.field(&inner, name, text).into(),
                other => self.value(&inner, other),
            };
            // Two names that look the same are told apart all the same.
            let again = if shown.contains_key(&seen) { "⟨again⟩" } else { "" };
            shown.insert(format!("{seen}{again}"), value);
        }
        shown
    }

    /// Looks for words that press or claim authority.
    fn words(&mut self, text: &str) {
        self.words.extend(words::pressing(text));
    }

    /// What a person is warned of.
    fn warnings(self) -> Vec<String> {
        let at = |what: &str, places: BTreeSet<String>| {
            let places: Vec<String> = places.into_iter().collect();
            (!places.is_empty()).then(|| format!("{what} in {}", places.join(", ")))
        };
        let words: Vec<&str> = self.words.into_iter().collect();
        let pressing = (!words.is_empty()).then(|| format!("urgency words: {}", words.join(", ")));
        [
            at("invisible characters", self.hidden),
            at("padding", self.padding),
            at("a secret", self.secret),
            pressing,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
