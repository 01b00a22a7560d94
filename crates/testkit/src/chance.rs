//! Chance that can be repeated.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::time::Duration;

/// The variable that holds the seed of a test to repeat.
pub const SEED: &str = "SIGNOFF_TEST_SEED";

/// Random numbers from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// From [`SEED`], or from anything. Says which, so that a failed test shows it.
    pub fn for_test(name: &str) -> Self {
        Self(Self::seed_for_test(name))
    }

    /// From this seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed in [`SEED`], or any. Says which, so that a failed test shows it.
    #[allow(clippy::print_stdout)]
    pub fn seed_for_test(name: &str) -> u64 {
        let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(name));
        println!("{name}: repeat with {SEED}={seed}");
        seed
    }

    /// Another one that goes its own way.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.number())
    }

    /// One for the `n`-th case of a test, whatever becomes of the others.
    #[must_use]
    pub fn for_case(&self, n: u64) -> Self {
        Self(self.0.wrapping_add(n)).split()
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of the range.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.number() % (range.end - range.start).max(1)
    }

    /// A span of time of the range.
    pub fn span(&mut self, range: Range<Duration>) -> Duration {
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.within(micros(range.start)..micros(range.end)))
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.number().is_multiple_of(n)
    }
}
