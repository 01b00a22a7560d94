//! Who opens requests: the audit has it, once for each person and version.
//!
//! The store knows what is noted already. What is remembered here only spares it those who look again and again.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use signoff_core::{Actor, Name, RequestId};
use signoff_store::View;

use crate::app::App;

/// How many views are remembered.
const REMEMBERED: usize = 8_192;
/// How long a reader waits for it to be noted. It is noted later all the same.
const PATIENCE: Duration = Duration::from_secs(2);

type Seen = (RequestId, u32, Actor);

/// Views that were noted.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashSet<Seen>>);

impl Views {
    /// Whether this one is not known to be noted. From now on it is.
    fn is_new(&self, seen: Seen) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(seen)
    }

    fn forget(&self, seen: &Seen) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(seen);
    }
}

impl App {
    /// Notes that somebody opened a request, before they see it. Whatever becomes of that, they see it.
    pub(crate) async fn viewed(
        &self,
        request: RequestId,
        version: u32,
        by: Actor,
        link: Option<Name>,
    ) {
        let seen = (request.clone(), version, by.clone());
        if !self.views.is_new(seen.clone()) {
            return;
        }
        let view = View { request, version, by, link, at: self.engine.clock().now() };
        let noted = self.engine.store().view(view);
        match tokio::time::timeout(PATIENCE, noted).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "who opened a request could not be noted");
                self.views.forget(&seen);
            }
            Err(_) => tracing::warn!("noting who opened a request takes long"),
        }
    }
}
