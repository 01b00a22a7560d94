//! When an event is sent again.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use signoff_core::Span;

/// How long is waited after the first failure, the second, and so on; after all others as long as the last.
pub(super) const WAITS: [u64; 6] = [1, 5, 30, 120, 600, 3600];
/// An event that is older than this is not sent again.
const GIVEN_UP_AFTER: Span = Span::seconds(24 * 3600);

/// How long to wait after `failed` attempts at an event of this age; none, if it is given up.
pub(crate) fn wait(waits: &[u64], failed: usize, age: Span, event: &str) -> Option<Duration> {
    if age >= GIVEN_UP_AFTER {
        return None;
    }
    let seconds = waits.get(failed.saturating_sub(1)).or(waits.last())?;
    Some(Duration::from_secs(*seconds).mul_f64(spread(failed, event)))
}

/// A factor from 0.8 to 1.2, so that many who wait for one receiver do not all come at once.
fn spread(failed: usize, event: &str) -> f64 {
    let hash = Sha256::digest(format!("{event} {failed}").as_bytes());
    0.8 + 0.4 * f64::from(hash[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let at = |failed| wait(&WAITS, failed, Span::seconds(1), "evt_1").unwrap().as_secs_f64();
        for (failed, about) in [(1, 1.0), (2, 5.0), (3, 30.0), (6, 3600.0), (99, 3600.0)] {
            assert!((about * 0.8..=about * 1.2).contains(&at(failed)), "{failed}: {}", at(failed));
        }
        let spread: std::collections::BTreeSet<Duration> =
            (0..20).filter_map(|n| wait(&WAITS, 1, Span(0), &format!("evt_{n}"))).collect();
        assert!(spread.len() > 10);
        assert!(wait(&WAITS, 3, Span::seconds(24 * 3600 - 1), "evt_1").is_some());
        assert_eq!(wait(&WAITS, 3, Span::seconds(24 * 3600), "evt_1"), None);
    }
}
