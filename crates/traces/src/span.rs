//! One span.

use signoff_core::Timestamp;

/// The longest text of an attribute, in bytes.
const MAX_TEXT: usize = 256;
/// The longest code of an error.
const MAX_CODE: usize = 64;

/// Which side of a call a span shows. The numbers are OpenTelemetry's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Internal = 1,
    Client = 3,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    Text(String),
    Number(u64),
    Amount(f64),
    Flag(bool),
}

/// Something that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// Whether it failed. `error.type` says how.
    pub(crate) failed: bool,
    /// Other spans that it has to do with, by trace and id.
    pub(crate) links: Vec<(String, String)>,
}

impl Span {
    /// The same with an attribute.
    #[must_use]
    pub(crate) fn text(mut self, key: &'static str, value: &str) -> Self {
        self.attributes.push((key, Attribute::Text(clipped(value))));
        self
    }

    /// The same with an attribute, if there is a value.
    #[must_use]
    pub(crate) fn maybe(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// The same with a number.
    #[must_use]
    pub(crate) fn number(mut self, key: &'static str, value: u64) -> Self {
        self.attributes.push((key, Attribute::Number(value)));
        self
    }

    /// The same with an amount.
    #[must_use]
    pub(crate) fn amount(mut self, key: &'static str, value: f64) -> Self {
        self.attributes.push((key, Attribute::Amount(value)));
        self
    }

    /// The same with something that is so.
    #[must_use]
    pub(crate) fn flag(mut self, key: &'static str) -> Self {
        self.attributes.push((key, Attribute::Flag(true)));
        self
    }

    /// The same as something that failed.
    #[must_use]
    pub(crate) fn failed(mut self, code: &str) -> Self {
        self.failed = true;
        // A code is a word. Whatever else a program of others may put there is not passed on.
        let word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let plain = !code.is_empty() && code.len() <= MAX_CODE && code.chars().all(word);
        self.text("error.type", if plain { code } else { "_OTHER" })
    }
}

fn clipped(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
