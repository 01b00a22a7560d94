//! Names and numbers by which things are known.
//!
//! A run has a global id. Everything inside a run is numbered within it, so that a journal never
//! contains its own run's id and can be forked by copying.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of an executor, an agent or a tool. Cheap to clone.
pub type Name = Arc<str>;
/// The key of an effect inside one activation.
pub type Key = Arc<str>;
/// The number of an activation inside its run, from 1.
pub type ActivationId = u32;
/// The number of a request inside its run, from 1.
pub type RequestNo = u32;
/// The position of an entry in its run's journal, from 1.
pub type Seq = u64;

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The prefix that says what kind of id this is.
            pub const PREFIX: &'static str = $prefix;

            /// An id from text that is already one, as read from a store or a client.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// A new id from a unique suffix.
            pub fn from_unique(unique: &str) -> Self {
                Self(format!(concat!($prefix, "{}"), unique).into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The part after the prefix.
            pub fn unique(&self) -> &str {
                self.0.strip_prefix($prefix).unwrap_or(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

string_id!(
    /// One execution of one workflow.
    RunId,
    "run_"
);
string_id!(
    /// What a client talks in: it owns runs, one after another.
    ConversationId,
    "conv_"
);
string_id!(
    /// A question to people. Made of its run's id and its number there.
    RequestId,
    "req_"
);

/// Whose runs these are: an organisation, a team. What belongs to one is not there for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tenant(Name);

impl Tenant {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// A tenant as read from a store.
    pub fn new(name: impl Into<Name>) -> Self {
        Self(name.into())
    }

    /// A tenant as a person names it: letters, digits, `_`, `-` and `.`.
    pub fn from_word(word: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let fits = (1..=Self::MAX_BYTES).contains(&word.len()) && word.chars().all(plain);
        fits.then(|| Self::new(word))
    }

    /// The one of whoever sits at this machine.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// Whether it is that one.
    pub fn is_local(&self) -> bool {
        &*self.0 == "local"
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self::local()
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RunId {
    /// The id of request `no` of this run.
    pub fn request(&self, no: RequestNo) -> RequestId {
        RequestId(format!("{}{}_{no}", RequestId::PREFIX, self.unique()).into())
    }

    /// The id of the run that `activation` of this run starts under `key`: always the same, so that
    /// starting it again after a crash finds it there.
    #[must_use]
    pub fn child(&self, activation: ActivationId, key: &str) -> RunId {
        RunId(format!("{}.{activation}.{key}", self.0).into())
    }
}

impl RequestId {
    /// The run this request belongs to and its number there.
    pub fn split(&self) -> Option<(RunId, RequestNo)> {
        let (run, no) = self.0.strip_prefix(Self::PREFIX)?.rsplit_once('_')?;
        Some((RunId::from_unique(run), no.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_names_its_run() {
        let run = RunId::from_unique("0199");
        let request = run.request(3);
        assert_eq!(request.as_str(), "req_0199_3");
        assert_eq!(request.split(), Some((run.clone(), 3)));
        let child = run.child(2, "sub");
        assert_eq!(child.request(1).split(), Some((child, 1)));
        assert_eq!(RequestId::new("nonsense").split(), None);
    }
}
