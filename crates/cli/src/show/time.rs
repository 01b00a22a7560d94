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

/// How long ago it was, roughly.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", rough(now.since(at).0))
}

/// How long it is until then, roughly.
pub(super) fn until(at: Timestamp, now: Timestamp) -> String {
    if at <= now { "now".to_owned() } else { format!("in {}", rough(at.since(now).0)) }
}

fn rough(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
