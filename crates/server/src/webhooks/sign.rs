//! Signatures as Standard Webhooks has them: <https://www.standardwebhooks.com>.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use signoff_net::Secret;

/// How a secret begins that is written as base64.
const PREFIX: &str = "whsec_";

/// What is signed with. It is shown by nothing.
#[derive(Clone)]
pub(super) struct Key(hmac::Key);

impl Key {
    /// The key that a secret stands for: base64 after `whsec_`, or the text as it is.
    pub(super) fn read(secret: &Secret) -> Option<Self> {
        let secret = secret.expose();
        let bytes = match secret.strip_prefix(PREFIX) {
            Some(encoded) => STANDARD.decode(encoded).ok().filter(|bytes| !bytes.is_empty())?,
            None => secret.as_bytes().to_vec(),
        };
        Some(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The signature over an id, a time in seconds, and a body.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mut signed = hmac::Context::with_key(&self.0);
        signed.update(format!("{id}.{seconds}.").as_bytes());
        signed.update(body);
        format!("v1,{}", STANDARD.encode(signed.sign()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_signature_of_the_convention() {
        // From the test vectors of Standard Webhooks' own libraries.
        let key = Key::read(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signature = key.sign(id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        // The same bytes as text sign the same.
        let bytes = STANDARD.decode("c2VjcmV0IGJ5dGVz").unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let one = Key::read(&Secret::new("whsec_c2VjcmV0IGJ5dGVz")).unwrap();
        let other = Key::read(&Secret::new(&text)).unwrap();
        assert_eq!(one.sign("a", 1, b"x"), other.sign("a", 1, b"x"));
        assert!(Key::read(&Secret::new("whsec_")).is_none());
    }
}
