//! Lengths of time as people read them.

use signoff_core::Timestamp;

/// How long ago it was, roughly.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", rough(now.since(at).0))
}

/// How long it is until then, roughly.
pub fn until(at: Timestamp, now: Timestamp) -> String {
    if at <= now { "now".to_owned() } else { format!("in {}", rough(at.since(now).0)) }
}

/// A length of time in milliseconds, roughly.
pub fn rough(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
