//! What is known of where an agent listens: its card, read anew when it is old or in doubt.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::card::{self, Interface};
use crate::failure::Failure;
use crate::line::{CardRead, Line};

/// How long a card is good for.
const GOOD_FOR: Duration = Duration::from_mins(5);

/// The last card, as far as it matters.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Option<Last>>);

#[derive(Debug)]
struct Last {
    interface: Interface,
    /// By which the agent says whether its card has changed.
    etag: Option<String>,
    /// When it was last seen to be so; none, if there is doubt.
    seen: Option<Instant>,
}

impl Known {
    /// Where the agent listens. An old card is better than none.
    pub(crate) async fn interface(&self, line: &Line<'_>) -> Result<Interface, Failure> {
        let mut known = self.0.lock().await;
        if let Some(Last { interface, seen: Some(seen), .. }) = &*known
            && seen.elapsed() < GOOD_FOR
        {
            return Ok(interface.clone());
        }
        let etag = known.as_ref().and_then(|last| last.etag.clone());
        let read = match line.card(etag.as_deref()).await {
            Ok(CardRead::New(card, etag)) => {
                card::choose(card, line.place).map(|interface| (interface, etag))
            }
            Ok(CardRead::Same) => match known.as_ref() {
                Some(last) => Ok((last.interface.clone(), last.etag.clone())),
                None => Err(Failure::Protocol("it says that nothing has changed".to_owned())),
            },
            Err(failure) => Err(failure),
        };
        match (read, &*known) {
            (Ok((interface, etag)), _) => {
                let seen = Some(Instant::now());
                *known = Some(Last { interface: interface.clone(), etag, seen });
                Ok(interface)
            }
            (Err(failure), Some(last)) if failure.passes() => Ok(last.interface.clone()),
            (Err(failure), _) => Err(failure),
        }
    }

    /// Something went wrong that another card would explain: it is read again before the next call.
    pub(crate) async fn doubt(&self) {
        if let Some(last) = &mut *self.0.lock().await {
            last.seen = None;
        }
    }
}
