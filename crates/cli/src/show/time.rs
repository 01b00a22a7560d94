//! Points in time as people read them.

use jiff::tz::TimeZone;
use signoff_core::Timestamp;

/// The time here: `2026-11-15 18:04:05`.
pub(crate) fn local(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(
        |_| at.rfc3339(),
        |at| at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}
