//! Whether a card is signed by the key that the operator named.
//!
//! A signature (JWS) is over the card without its signatures and without what is empty, written in one way (RFC 8785).

use std::fmt::Write as _;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The most signatures that are looked at.
const MAX_SIGNATURES: usize = 8;
/// How deep a card may be.
const MAX_DEPTH: usize = 64;

/// A public key, as a JWK has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardKey {
    /// `EC` or `OKP`.
    kty: String,
    /// `P-256` or `Ed25519`.
    crv: String,
    /// The key, or its first half.
    x: String,
    /// Its second half, for `P-256`.
    y: Option<String>,
}

/// The same, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey {
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl CardKey {
    pub(crate) fn read(&self) -> Result<PublicKey, String> {
        let bytes = |text: &str| BASE64.decode(text).ok().filter(|bytes| bytes.len() == 32);
        let wrong = || "`card_key` is not the public key of P-256 or Ed25519".to_owned();
        let x = bytes(&self.x).ok_or_else(wrong)?;
        match (self.kty.as_str(), self.crv.as_str(), &self.y) {
            ("EC", "P-256", Some(y)) => {
                let y = bytes(y).ok_or_else(wrong)?;
                Ok(PublicKey::P256([vec![4], x, y].concat()))
            }
            ("OKP", "Ed25519", None) => Ok(PublicKey::Ed25519(x)),
            _ => Err(wrong()),
        }
    }
}

impl PublicKey {
    /// Whether one of the card's signatures is by this key.
    pub(crate) fn check(&self, card: &Value) -> Result<(), Failure> {
        let wrong = |problem: &str| Failure::Card {
            problem: problem.to_owned(),
            hint: "look whether it comes from the agent; `card_key` is who must have signed it",
        };
        let Some(fields) = card.as_object() else { return Err(wrong("it is not one")) };
        let signatures = fields.get("signatures").and_then(Value::as_array);
        let Some(signatures) = signatures.filter(|all| !all.is_empty()) else {
            return Err(wrong("it is not signed"));
        };
        let mut signed = fields.clone();
        signed.remove("signatures");
        let signed = filled(Value::Object(signed), 0).unwrap_or_default();
        let mut payload = String::new();
        canonical(&signed, &mut payload);
        let payload = BASE64.encode(payload);
        let fits = |signature: &Value| self.fits(signature, &payload).unwrap_or(false);
        if signatures.iter().take(MAX_SIGNATURES).any(fits) {
            return Ok(());
        }
        Err(wrong("none of its signatures is by `card_key`"))
    }

    fn fits(&self, signature: &Value, payload: &str) -> Option<bool> {
        let protected = signature["protected"].as_str()?;
        let header: Value = serde_json::from_slice(&BASE64.decode(protected).ok()?).ok()?;
        let signed = BASE64.decode(signature["signature"].as_str()?).ok()?;
        let message = format!("{protected}.{payload}");
        // The key says how it signs, not the header; the header must agree.
        let verified = match (self, header["alg"].as_str()?) {
            (Self::P256(key), "ES256") => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
                .verify(message.as_bytes(), &signed),
            (Self::Ed25519(key), "EdDSA" | "Ed25519") => {
                UnparsedPublicKey::new(&ED25519, key).verify(message.as_bytes(), &signed)
            }
            _ => return None,
        };
        Some(verified.is_ok())
    }
}

/// A value without what is empty in it; none, if it is.
fn filled(value: Value, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
        Value::Array(items) => {
            let items: Vec<Value> =
                items.into_iter().filter_map(|item| filled(item, depth + 1)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(fields) => {
            let fields: Map<String, Value> = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, filled(value, depth + 1)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        other => Some(other),
    }
}

/// Writes a value in the one way.
fn canonical(value: &Value, to: &mut String) {
    match value {
        Value::Array(items) => {
            to.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    to.push(',');
                }
                canonical(item, to);
            }
            to.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            to.push('{');
            for (n, (name, value)) in fields.into_iter().enumerate() {
                if n > 0 {
                    to.push(',');
                }
                to.push_str(&Value::String(name.clone()).to_string());
                to.push(':');
                canonical(value, to);
            }
            to.push('}');
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            // A whole number has no point.
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => {
                // Writing to a string cannot fail.
                let _ = write!(to, "{float:.0}");
            }
            _ => to.push_str(&number.to_string()),
        },
        other => to.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A card that the protocol's own Python library has signed.
    fn signed() -> (PublicKey, Value) {
        let file: Value = serde_json::from_str(include_str!("../tests/signed.json")).unwrap();
        let key: CardKey = serde_json::from_value(file["key"].clone()).unwrap();
        (key.read().unwrap(), file["card"].clone())
    }

    #[test]
    fn what_the_library_signs_is_signed() {
        let (key, card) = signed();
        key.check(&card).unwrap();
        // In another order, and with what is empty.
        let text = serde_json::to_string(&card).unwrap();
        let mut other: Value = serde_json::from_str(&text).unwrap();
        other["documentationUrl"] = json!("");
        other["capabilities"]["extensions"] = json!([]);
        key.check(&other).unwrap();
    }

    #[test]
    fn what_was_changed_is_not() {
        let (key, card) = signed();
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut card = card.clone();
            change(&mut card);
            key.check(&card).unwrap_err().to_string()
        };
        let elsewhere = |card: &mut Value| {
            card["supportedInterfaces"][0]["url"] = json!("https://evil.example/");
        };
        assert!(refused(&elsewhere).contains("none of its signatures"));
        assert!(refused(&|card| card["signatures"] = json!([])).contains("not signed"));
        assert!(
            refused(&|card| card["signatures"] = json!([{ "protected": "x" }])).contains("none")
        );
        // Without a key that is asked for, nobody's word counts: `alg` says nothing.
        let none = BASE64.encode(r#"{"alg":"none"}"#);
        let unsigned = json!([{ "protected": none, "signature": "" }]);
        assert!(refused(&|card| card["signatures"] = unsigned.clone()).contains("none"));
        let other = PublicKey::Ed25519(vec![1; 32]);
        assert!(other.check(&card).is_err());
    }

    #[test]
    fn there_is_one_way_to_write_it() {
        let mut text = String::new();
        canonical(&json!({ "b": [1.0, 2.5, true], "a": { "ü": "x\n", "z": null } }), &mut text);
        assert_eq!(text, "{\"a\":{\"z\":null,\"ü\":\"x\\n\"},\"b\":[1,2.5,true]}");
    }
}
