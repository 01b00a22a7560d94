//! Words that press people, or claim that somebody else has agreed.

use std::sync::LazyLock;

use regex::RegexSet;

/// Each with the pattern it is found by. Between words there may be any white space.
const WORDS: [(&str, &str); 16] = [
    ("urgent", r"urgent(ly)?"),
    ("immediately", r"immediately"),
    ("asap", r"asap|as soon as possible"),
    ("right now", r"right\s+(now|away)"),
    ("time-sensitive", r"time[-\s]sensitive|time[-\s]critical"),
    ("last chance", r"last\s+chance|final\s+warning"),
    ("already approved", r"already\s+(been\s+)?(approved|authori[sz]ed|signed\s+off|agreed)"),
    ("pre-approved", r"pre[-\s]?(approved|authori[sz]ed)"),
    ("approved by", r"(approved|authori[sz]ed|cleared)\s+by"),
    ("safe to approve", r"safe\s+to\s+(approve|accept|ignore|run)"),
    ("just approve", r"(just|simply)\s+(approve|accept|say\s+yes|click)"),
    ("no need to review", r"no\s+need\s+to\s+(review|check|read|worry)"),
    ("do not review", r"(do\s+not|don't|without)\s+(review|check|read|verify|question)(ing)?"),
    ("ignore the warning", r"ignore\s+(the|this|any|all)\s+warnings?"),
    ("trust me", r"trust\s+me"),
    ("administrator", r"as\s+(the\s+|an\s+|your\s+)?(administrator|admin|owner|ceo)"),
];

static PATTERNS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new(WORDS.map(|(_, pattern)| format!(r"(?i)\b(?:{pattern})\b"))).ok()
});

/// Those that are in `text`.
pub(super) fn pressing(text: &str) -> impl Iterator<Item = &'static str> {
    let found = PATTERNS.as_ref().map(|patterns| patterns.matches(text));
    found.into_iter().flatten().map(|place| WORDS[place].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_press_are_found() {
        assert!(PATTERNS.is_some(), "the patterns can be read");
        let found = |text: &str| pressing(text).collect::<Vec<_>>();
        assert_eq!(
            found("URGENT: this was already approved by the CEO"),
            ["urgent", "already approved", "approved by"]
        );
        assert_eq!(found("Just approve right\n now"), ["right now", "just approve"]);
        assert!(found("Please approve the budget").is_empty());
        assert!(found("Which venue do you prefer? An insurgent one?").is_empty());
    }
}
