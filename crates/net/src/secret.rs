//! Keys, kept out of sight.

use std::fmt;
use std::sync::Arc;

/// A key. It is shown by nothing; only the request it authorises carries it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a key.
    pub fn new(key: &str) -> Self {
        Self(key.trim().into())
    }

    /// The key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the key, should it be there: some servers quote what they were sent.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, "[key]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
