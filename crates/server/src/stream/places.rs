//! How many streams are open, and whose: one user of many cannot take the places of all.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use signoff_core::Actor;

/// The streams of each user who has some.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<HashMap<Actor, usize>>);

impl Places {
    /// How many a user has.
    pub(crate) fn of(&self, user: &Actor) -> usize {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(user).copied().unwrap_or(0)
    }

    /// A user has one more.
    pub(crate) fn take(&self, user: &Actor) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *places.entry(user.clone()).or_default() += 1;
    }

    /// A user has one less.
    pub(crate) fn give_back(&self, user: &Actor) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = places.get_mut(user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                places.remove(user);
            }
        }
    }
}
