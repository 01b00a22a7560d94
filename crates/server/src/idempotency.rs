//! Starting the same run twice by the same key starts it once.
//!
//! The key is not stored: the run's id follows from it, and the store creates an id once. What the run
//! was started with is its first journal entry, so a repeat can be held against it.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use signoff_core::{ConversationId, RunId};

/// The longest key, in bytes.
pub(crate) const MAX_KEY: usize = 255;

/// The ids that follow from a key.
#[derive(Debug)]
pub(crate) struct Derived {
    pub(crate) run: RunId,
    /// For a run that names no conversation.
    pub(crate) conversation: ConversationId,
}

/// The ids of the run that `tenant` starts under `key`.
pub(crate) fn derive(tenant: &str, key: &str) -> Derived {
    // The length keeps the two apart, whatever they contain.
    let digest = Sha256::digest(format!("{}:{tenant}:{key}", tenant.len()));
    // Marked with a letter that is no hexadecimal digit: it never is an id made otherwise.
    let unique = digest.iter().take(16).fold("k".to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    Derived { run: RunId::from_unique(&unique), conversation: ConversationId::from_unique(&unique) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_run_of_one_tenant() {
        let id = |tenant, key| derive(tenant, key).run;
        assert_eq!(id("a", "x"), id("a", "x"));
        assert_ne!(id("a", "x"), id("b", "x"));
        assert_ne!(id("a", "b:x"), id("a:b", "x"));
        assert_ne!(id("a", "x"), id("a", "y"));
        assert_eq!(id("a", "x").as_str().len(), "run_k".len() + 32);
    }
}
