//! How long a server wants to be left alone.

use std::time::Duration;

use jiff::fmt::rfc2822;
use signoff_core::Timestamp;

/// Reads a `Retry-After` header: seconds, with a fraction if need be, or an HTTP date.
pub(crate) fn parse(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    // An HTTP date is RFC 2822's but for the name of its zone, and that is always the same.
    let date = header.strip_suffix("GMT").map(|date| format!("{date}+0000"));
    let date = rfc2822::DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(date.as_deref().unwrap_or(header))
        .ok()?;
    let wait = date.as_millisecond().saturating_sub(now.0);
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let now = Timestamp(1_445_412_480_000); // Wed, 21 Oct 2015 07:28:00 GMT
        for (header, expected) in [
            ("120", Some(120_000)),
            (" 0 ", Some(0)),
            ("1.5", Some(1_500)),
            ("Wed, 21 Oct 2015 07:28:30 GMT", Some(30_000)),
            ("Wed, 21 Oct 2015 07:27:30 GMT", Some(0)),
            ("-5", None),
            ("NaN", None),
            ("1e400", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(parse(header, now), expected.map(Duration::from_millis), "{header}");
        }
    }
}
