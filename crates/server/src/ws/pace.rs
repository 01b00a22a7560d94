//! How many messages a client may send.

use tokio::time::Instant;

/// How many are refused before the client is left. Each that is taken makes up for a few of them.
const MAX_REFUSED: u32 = 1000;
const MAKES_UP_FOR: u32 = 4;

/// Lets a number of messages through each second, and twice as many at once after a pause.
#[derive(Debug)]
pub(super) struct Pace {
    each_second: f64,
    left: f64,
    at: Instant,
    refused: u32,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Taken,
    TooMany,
    /// It does not stop.
    Enough,
}

impl Pace {
    pub(super) fn new(each_second: u32) -> Self {
        let each_second = f64::from(each_second.max(1));
        Self { each_second, left: 2.0 * each_second, at: Instant::now(), refused: 0 }
    }

    /// A message has come.
    pub(super) fn take(&mut self) -> Turn {
        let now = Instant::now();
        let earned = (now - self.at).as_secs_f64() * self.each_second;
        self.left = (self.left + earned).min(2.0 * self.each_second);
        self.at = now;
        if self.left >= 1.0 {
            self.left -= 1.0;
            self.refused = self.refused.saturating_sub(MAKES_UP_FOR);
            return Turn::Taken;
        }
        self.refused += 1;
        if self.refused > MAX_REFUSED { Turn::Enough } else { Turn::TooMany }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_lets_through_what_was_agreed() {
        let mut pace = Pace::new(10);
        let taken = |pace: &mut Pace| (0..100).filter(|_| pace.take() == Turn::Taken).count();
        assert_eq!(taken(&mut pace), 20);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(taken(&mut pace), 5);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(taken(&mut pace), 20, "a long pause earns no more");
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(pace.take(), Turn::Taken);
        let last = (0..1300).map(|_| pace.take()).last();
        assert_eq!(last, Some(Turn::Enough));
    }
}
