//! How long it is waited before something is tried again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

/// Pauses that double up to a bound, until something works.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    failed: u32,
}

impl Pauses {
    /// It worked.
    pub(crate) fn worked(&mut self) {
        self.failed = 0;
    }

    /// It failed; how long to wait.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = FIRST.saturating_mul(1 << self.failed.min(10)).min(LONGEST);
        self.failed = self.failed.saturating_add(1);
        pause
    }

    /// Whether nothing has failed since it last worked.
    pub(crate) fn fresh(&self) -> bool {
        self.failed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let mut pauses = Pauses::default();
        let all: Vec<u128> = (0..8).map(|_| pauses.next().as_millis()).collect();
        assert_eq!(all, [200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        pauses.worked();
        assert!(pauses.fresh());
        assert_eq!(pauses.next(), FIRST);
    }
}
