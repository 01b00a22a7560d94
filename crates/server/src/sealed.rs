//! What clients keep for us and cannot change: said in the open, and signed.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest token that is looked at, in bytes.
pub(crate) const MAX_TOKEN: usize = 4096;

/// Signs tokens of one kind. What it is made of is shown by nothing.
pub(crate) struct Key(hmac::Key);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    pub(crate) fn new(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// The token that says this.
    pub(crate) fn sign(&self, said: &impl Serialize) -> Result<String, serde_json::Error> {
        let said = BASE64.encode(serde_json::to_vec(said)?);
        let signature = BASE64.encode(hmac::sign(&self.0, said.as_bytes()));
        Ok(format!("{said}.{signature}"))
    }

    /// What a token says, if it was signed here.
    pub(crate) fn open<T: DeserializeOwned>(&self, token: &str) -> Option<T> {
        let (said, signature) = token.split_once('.').filter(|_| token.len() <= MAX_TOKEN)?;
        let signature = BASE64.decode(signature).ok()?;
        // Takes as long for any wrong signature.
        hmac::verify(&self.0, said.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&BASE64.decode(said).ok()?).ok()
    }
}
