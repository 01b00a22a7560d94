//! Secrets: those whose values are known, and those that look like one.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The shortest value that is looked for. A shorter one is in every text.
const SHORTEST: usize = 6;
/// From this length on the last four characters are shown, to tell two secrets apart.
const LONG: usize = 12;

/// What tokens look like. Where there is a group `value`, only that is the secret.
const SHAPES: [&str; 6] = [
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    concat!(
        r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        r"|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"|AIza[A-Za-z0-9_-]{35}|sgn_[0-9a-f]{32,}|whsec_[A-Za-z0-9+/=]{16,})",
    ),
    r"(?i)\b(?:bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{12,})",
    r"://[^/\s:@⟨]+:(?P<value>[^/\s@⟨]+)@",
    concat!(
        r#"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"#,
        r#"(?:["']?\s*=\s*["']?|["']?\s*:\s*["'])(?P<value>[^\s"'&,;$%{(<⟨\\][^\s"'&,;⟨\\]{3,})"#,
    ),
];

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().filter_map(|shape| Regex::new(shape).ok()).collect());

/// What fields are called whose value is a secret.
static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = r"(?i)(?:^|[_.-])(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization)$";
    Regex::new(names).ok()
});

/// Values that are secrets: what is in the environment variables that the configuration names. It is shown by nothing.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// These values; what is too short to be told from other text is left out.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let trimmed = values.into_iter().map(|value| value.trim().to_owned());
        let mut values: Vec<String> = trimmed.filter(|value| value.len() >= SHORTEST).collect();
        // One that contains another goes first.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values)
    }

    /// `text` with what is a secret replaced by `⟨secret …last four⟩`.
    pub fn mask(&self, text: &str) -> String {
        let mut masked = Cow::Borrowed(text);
        for value in &self.0 {
            if masked.contains(value.as_str()) {
                masked = Cow::Owned(masked.replace(value.as_str(), &mark(value)));
            }
        }
        for pattern in &*PATTERNS {
            if pattern.is_match(&masked) {
                let replaced = pattern.replace_all(&masked, |found: &Captures<'_>| replaced(found));
                masked = Cow::Owned(replaced.into_owned());
            }
        }
        masked.into_owned()
    }

    /// The same for the value of a field: what is called a password is one.
    pub(crate) fn mask_field(&self, name: &str, value: &str) -> String {
        let is_secret = FIELD.as_ref().is_some_and(|names| names.is_match(name));
        if is_secret && !value.is_empty() && !value.contains("⟨secret") {
            return mark(value);
        }
        self.mask(value)
    }
}

fn replaced(found: &Captures<'_>) -> String {
    let (whole, secret) = (found.get_match(), found.name("value"));
    let Some(secret) = secret else {
        // A name that only begins like a token has no digit in it.
        let random = whole.as_str().bytes().any(|it| it.is_ascii_digit()) || is_key(whole.as_str());
        return if random { mark(whole.as_str()) } else { whole.as_str().to_owned() };
    };
    let before = &whole.as_str()[..secret.start() - whole.start()];
    let after = &whole.as_str()[secret.end() - whole.start()..];
    format!("{before}{}{after}", mark(secret.as_str()))
}

fn is_key(secret: &str) -> bool {
    secret.starts_with("-----BEGIN")
}

/// What stands for a secret.
fn mark(secret: &str) -> String {
    if is_key(secret) {
        return "⟨secret private key⟩".to_owned();
    }
    let end = secret.len().saturating_sub(4);
    match secret.get(end..) {
        Some(last) if secret.len() >= LONG && last.bytes().all(|it| it.is_ascii_alphanumeric()) => {
            format!("⟨secret …{last}⟩")
        }
        _ => "⟨secret⟩".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_can_be_read() {
        assert_eq!(PATTERNS.len(), SHAPES.len());
        assert!(FIELD.is_some());
    }
}
