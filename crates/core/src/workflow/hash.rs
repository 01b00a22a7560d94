//! The content hash of a definition: the same for the same meaning, whatever the file looks like.

use sha2::{Digest, Sha256};

use super::Workflow;

impl Workflow {
    /// The definition as JSON with all keys in order: what its version is the hash of.
    pub fn canonical_json(&self) -> String {
        // Plain data with text keys always is JSON.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        crate::schema::sort_keys(&mut value);
        value.to_string()
    }

    /// The version: `sha256:` and 64 hexadecimal digits.
    pub fn version(&self) -> String {
        let digest = Sha256::digest(self.canonical_json().as_bytes());
        digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
            text
        })
    }
}
