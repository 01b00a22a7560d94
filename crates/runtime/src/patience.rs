//! How leases of others are judged after a time in which nobody could have renewed them.
//!
//! When a database was away, or a machine slept, all leases have run out at once. Whoever looks first would take the runs of all
//! the others, who live and are about to renew, and what is under way there would be in doubt. So leases are judged as they
//! stood before, for as long as it takes everybody to renew once.

use std::sync::{Mutex, PoisonError};

use signoff_core::{Span, Timestamp};

/// Remembers when leases were last looked at.
#[derive(Debug, Default)]
pub(crate) struct Patience(Mutex<Looks>);

#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    last: Option<Timestamp>,
    /// When it was noticed that nobody had looked for too long, and when the look before was.
    gap: Option<(Timestamp, Timestamp)>,
}

impl Patience {
    /// Until when a lease must have lasted to be over, for somebody who looks now. Leases are renewed every `renewal`.
    pub(crate) fn judge(&self, now: Timestamp, renewal: Span) -> Timestamp {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = looks.last
            && now > last.plus(renewal)
        {
            looks.gap = Some((now, last));
        }
        looks.last = Some(now);
        match looks.gap {
            // A clock that was set back says nothing of what was before.
            Some((noticed, before)) if noticed <= now && now < noticed.plus(renewal) => before,
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENEWAL: Span = Span::seconds(3);

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000)
    }

    #[test]
    fn leases_that_nobody_could_renew_are_waited_for() {
        let patience = Patience::default();
        let judge = |now| patience.judge(at(now), RENEWAL);
        // Whoever has just started has missed nothing.
        assert_eq!((judge(100), judge(101), judge(104)), (at(100), at(101), at(104)));
        // Nobody could look for twenty seconds.
        assert_eq!((judge(124), judge(125), judge(126)), (at(104), at(104), at(104)));
        assert_eq!((judge(127), judge(128)), (at(127), at(128)));
    }

    #[test]
    fn a_node_that_is_always_slow_still_judges() {
        let patience = Patience::default();
        for now in [0, 10, 20, 30] {
            let judged = patience.judge(at(now), RENEWAL);
            assert_eq!(judged, at((now - 10).max(0)));
        }
    }

    #[test]
    fn a_clock_that_went_and_came_back_holds_nothing_up() {
        let patience = Patience::default();
        assert_eq!(patience.judge(at(0), RENEWAL), at(0));
        assert_eq!(patience.judge(at(3_600), RENEWAL), at(0));
        assert_eq!(patience.judge(at(1), RENEWAL), at(1));
    }
}
