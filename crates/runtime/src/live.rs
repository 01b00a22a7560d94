//! What happens right now, for whoever wants to watch. Nothing here is needed to go on with a run.

use std::sync::{Arc, OnceLock};

use signoff_core::journal::Entry;
use signoff_core::{ActivationId, Key, Name, RunId, Seq};
use tokio::sync::broadcast;

/// Something a watcher may want to see.
#[derive(Clone, Debug)]
pub struct Live {
    /// In which run.
    pub run: RunId,
    /// The run at the top of it.
    pub root: RunId,
    /// What.
    pub event: LiveEvent,
}

/// What a watcher sees.
#[derive(Clone, Debug)]
pub enum LiveEvent {
    /// These entries are durable now.
    Committed(Arc<[Entry]>),
    /// A piece of text that a model is saying. It will be in the journal once it is whole.
    Delta {
        /// Which agent.
        agent: Name,
        /// In which of its calls.
        call: ModelCall,
        /// The piece.
        text: String,
    },
    /// What this agent's model was saying was cut off; it begins again.
    Restart {
        /// Which agent.
        agent: Name,
        /// In which of its calls.
        call: ModelCall,
    },
    /// The run was parked or has ended; nothing more comes until it is woken.
    Quiet {
        /// Its last entry; none, if somebody else may have written more.
        head: Option<Seq>,
    },
}

/// A call of a model: the effect of this key of that activation, once it is in the journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelCall {
    /// Whose call.
    pub activation: ActivationId,
    /// Which of its effects.
    pub key: Key,
}

/// Sends to all watchers; costs nothing when there are none, and until there is one not even memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Broadcaster(Arc<OnceLock<broadcast::Sender<Live>>>);

impl Broadcaster {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Live> {
        self.0.get_or_init(|| broadcast::Sender::new(4096)).subscribe()
    }

    pub(crate) fn watched(&self) -> bool {
        self.0.get().is_some_and(|sender| sender.receiver_count() > 0)
    }

    pub(crate) fn send(&self, run: &RunId, root: &RunId, event: LiveEvent) {
        if let Some(sender) = self.0.get() {
            // An error means that nobody watches any more.
            let _ = sender.send(Live { run: run.clone(), root: root.clone(), event });
        }
    }
}
