//! How often people are reminded of a question: every so often, or by a share of the time there is for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Span;

/// How often people are reminded. Written `4h` or `50%` in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remind {
    /// Every so often.
    Every(Span),
    /// Whenever so many hundredths of the time there is for an answer are over.
    Share(u8),
}

/// How often people are reminded who have this long, by a share of it. Never at the very end, when it is too late.
pub fn share_of(time: Span, share: u8) -> Span {
    Span(time.0.saturating_mul(share.into()) / 100 + 1)
}

impl fmt::Display for Remind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(span) => span.fmt(f),
            Self::Share(share) => write!(f, "{share}%"),
        }
    }
}

impl FromStr for Remind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(share) = text.strip_suffix('%') else { return text.parse().map(Self::Every) };
        match share.parse() {
            Ok(share @ 1..=99) => Ok(Self::Share(share)),
            _ => Err(format!("`{text}` is not a share of the time; write for example 50%")),
        }
    }
}

impl Serialize for Remind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Remind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Remind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Remind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^([0-9]+(ms|s|m|h|d)|[1-9][0-9]?%)$",
            "description": "A length of time, for example 4h, or a share of the time there is for an answer, for example 50%."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_read_and_write() {
        for text in ["4h", "50%", "1%", "99%"] {
            assert_eq!(text.parse::<Remind>().unwrap().to_string(), text);
        }
        for wrong in ["0%", "100%", "half", "%", "-5%", "5.5%", ""] {
            assert!(wrong.parse::<Remind>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_share_is_over_when_it_is_too_late() {
        let hour = Span::seconds(3_600);
        assert_eq!(share_of(hour, 50), Span(1_800_001));
        assert!(share_of(hour, 50).0 * 2 > hour.0, "once, not also at the end");
        assert_eq!(share_of(Span(0), 50), Span(1));
        assert!(share_of(Span(u64::MAX), 99).0 > 0);
    }
}
