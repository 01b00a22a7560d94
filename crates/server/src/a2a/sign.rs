//! Cards that are signed, so that a client can tell that nobody changed them on the way.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

/// The key that signs cards. Its `Debug` shows nothing of it.
pub struct CardKey {
    pair: EcdsaKeyPair,
    id: String,
}

impl std::fmt::Debug for CardKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl CardKey {
    /// Reads a private key for P-256 in a PEM file (PKCS#8: `BEGIN PRIVATE KEY`).
    pub fn read(pem: &str) -> Result<Self, String> {
        let wrong = || {
            "it holds no private key for P-256; `openssl genpkey -algorithm EC -pkeyopt \
             ec_paramgen_curve:P-256` makes one"
                .to_owned()
        };
        let inner = pem.split_once("-----BEGIN PRIVATE KEY-----").ok_or_else(wrong)?.1;
        let inner = inner.split_once("-----END PRIVATE KEY-----").ok_or_else(wrong)?.0;
        let inner: String = inner.split_whitespace().collect();
        let der = STANDARD.decode(inner).map_err(|_| wrong())?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der);
        let pair = pair.map_err(|_| wrong())?;
        let public = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        Ok(Self { id: signoff_core::text::digest(&public, 16), pair })
    }

    /// What the key is called.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The card with its signature. `keys` is where the public key can be had.
    pub(super) fn signed(&self, mut card: Value, keys: &str) -> Value {
        let head = json!({ "alg": "ES256", "typ": "JOSE", "kid": self.id, "jku": keys });
        let protected = URL_SAFE_NO_PAD.encode(head.to_string());
        let payload = URL_SAFE_NO_PAD.encode(canonical(&card));
        let signed =
            self.pair.sign(&SystemRandom::new(), format!("{protected}.{payload}").as_bytes());
        // It fails only where there is no randomness; who wants a signature then finds none.
        if let Ok(signature) = signed {
            let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
            card["signatures"] = json!([{ "protected": protected, "signature": signature }]);
        }
        card
    }

    /// The public key, as a set of one.
    pub(super) fn public(&self) -> Value {
        // One byte that says how it is written, and two numbers of 32.
        let point = self.pair.public_key().as_ref();
        let number =
            |from: usize| URL_SAFE_NO_PAD.encode(point.get(from..from + 32).unwrap_or_default());
        json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
            "x": number(1), "y": number(33),
        }] })
    }
}

/// The one way to write a card (RFC 8785): without its signatures and whatever is empty, keys in order.
fn canonical(card: &Value) -> String {
    let mut card = card.clone();
    if let Value::Object(fields) = &mut card {
        fields.remove("signatures");
    }
    kept(&card).map(|card| card.to_string()).unwrap_or_default()
}

/// What is not empty, with its keys in order. Cards hold no numbers, so the rest is as JSON is written here anyway.
fn kept(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, Value)> =
                fields.iter().filter_map(|(key, value)| Some((key, kept(value)?))).collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            let fields: Map<String, Value> =
                fields.into_iter().map(|(key, value)| (key.clone(), value)).collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(kept).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::String(text) if text.is_empty() => None,
        Value::Null => None,
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_written_in_one_way() {
        let card = json!({
            "version": "1", "name": "é \"x\"\n", "skills": [{ "tags": [], "id": "a" }],
            "capabilities": { "streaming": true, "extensions": [] }, "signatures": [{ "signature": "x" }],
            "description": "", "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
        });
        let expected = r#"{"capabilities":{"streaming":true},"name":"é \"x\"\n","skills":[{"id":"a"}],"version":"1"}"#;
        assert_eq!(canonical(&card), expected);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for wrong in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "x"] {
            assert!(CardKey::read(wrong).unwrap_err().contains("P-256"));
        }
    }
}
