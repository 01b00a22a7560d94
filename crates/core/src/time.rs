//! Points and spans of time as data. Reading a clock is an effect and happens elsewhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The point `span` later; stays at the end of time instead of wrapping.
    #[must_use]
    pub fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }

    /// Time passed since `earlier`, zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Span {
        Span(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC with milliseconds.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or_else(|_| format!("{}ms", self.0), |t| format!("{t:.3}"))
    }

    /// The point in time that a text names as [`Self::rfc3339`] writes it, or with any other offset.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }

    /// As HTTP writes it, `Sun, 15 Nov 2026 12:00:00 GMT`.
    pub fn http_date(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).map_or_else(
            |_| String::new(),
            |at| at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
        )
    }

    /// The UTC calendar date, `2026-11-15`.
    pub fn date(self) -> String {
        self.rfc3339().chars().take(10).collect()
    }
}

impl FromStr for Timestamp {
    type Err = String;

    /// A time as RFC 3339 has it: `2026-11-16T09:00:00Z`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed: Result<jiff::Timestamp, _> = text.trim().parse();
        parsed.map(|at| Self(at.as_millisecond())).map_err(|error| error.to_string())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// A length of time in milliseconds. Written `500ms`, `30s`, `15m`, `24h` or `7d` in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Span {
    /// A span of whole seconds.
    pub const fn seconds(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// The span as the standard library knows it.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0;
        match ms {
            0 => f.write_str("0s"),
            _ if ms.is_multiple_of(86_400_000) => write!(f, "{}d", ms / 86_400_000),
            _ if ms.is_multiple_of(3_600_000) => write!(f, "{}h", ms / 3_600_000),
            _ if ms.is_multiple_of(60_000) => write!(f, "{}m", ms / 60_000),
            _ if ms.is_multiple_of(1_000) => write!(f, "{}s", ms / 1_000),
            _ => write!(f, "{ms}ms"),
        }
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("`{text}` is not a length of time; write for example 30s, 15m or 24h");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        number.checked_mul(factor).map(Span).ok_or_else(wrong)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(ms|s|m|h|d)$",
            "description": "A length of time, for example 30s, 15m or 24h."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_write() {
        for text in ["0s", "500ms", "30s", "15m", "24h", "7d"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
        assert_eq!("24h".parse::<Span>().unwrap(), Span(86_400_000));
        for wrong in ["", "h", "5", "5 m", "-1s", "99999999999999999999d", "3x"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn timestamps_print() {
        assert_eq!(Timestamp(0).rfc3339(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_794_700_800_000).date(), "2026-11-15");
        assert_eq!(Timestamp(1_794_700_800_000).http_date(), "Sun, 15 Nov 2026 00:00:00 GMT");
        let at = Timestamp(1_794_700_800_123);
        assert_eq!(Timestamp::from_rfc3339(&at.rfc3339()), Some(at));
        assert_eq!(Timestamp::from_rfc3339("2026-11-15T01:00:00.123+01:00"), Some(at));
        assert_eq!(Timestamp::from_rfc3339("yesterday"), None);
    }
}
