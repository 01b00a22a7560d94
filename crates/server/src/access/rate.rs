//! How often a user may ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use signoff_core::Actor;
use tokio::time::Instant;

use crate::error::{ApiError, Problem};

/// How many wrong tokens are answered as such in a second; there is only one bucket for all.
const WRONG: u32 = 50;

/// A bucket that fills by itself and holds what comes in two seconds.
#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: u32) -> Self {
        Self { left: f64::from(rate) * 2.0, at: Instant::now() }
    }

    /// Takes one, if there is one.
    fn take(&mut self, rate: u32) -> bool {
        let (now, rate) = (Instant::now(), f64::from(rate));
        let grown = self.left + now.duration_since(self.at).as_secs_f64() * rate;
        (self.left, self.at) = (grown.min(rate * 2.0), now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }
}

/// Counts what users ask. There are as many buckets as users.
#[derive(Debug)]
pub(super) struct Rates {
    rate: u32,
    users: Mutex<HashMap<Actor, Bucket>>,
    wrong: Mutex<Bucket>,
}

impl Rates {
    /// `rate` requests in a second, for each user.
    pub(super) fn new(rate: u32) -> Self {
        Self { rate, users: Mutex::default(), wrong: Mutex::new(Bucket::full(WRONG)) }
    }

    /// Counts a request.
    pub(super) fn take(&self, actor: &Actor) -> Result<(), ApiError> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = users.entry(actor.clone()).or_insert_with(|| Bucket::full(self.rate));
        if bucket.take(self.rate) { Ok(()) } else { Err(too_many()) }
    }

    /// What somebody with a wrong token is told.
    pub(super) fn refusal(&self, error: ApiError) -> ApiError {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.take(WRONG) { error } else { too_many() }
    }
}

fn too_many() -> ApiError {
    ApiError::new(Problem::TooManyRequests, "there are too many requests")
        .hint("wait a second, then go on more slowly")
}
