//! Runs whose state is in memory already when it is their turn to be driven.

use signoff_core::journal::Input;
use signoff_core::{RunId, RunState, Seq};
use signoff_store::StoreError;

use super::{EngineInner, lock};

/// A run, ready to be driven.
#[derive(Clone, Debug)]
pub(crate) struct AtHand {
    pub(crate) state: RunState,
    /// The position of the snapshot it came from.
    pub(crate) snapshot_at: Seq,
    /// What waits to be put into its journal; to be read, if not known.
    pub(crate) inputs: Option<Vec<(u64, Input)>>,
}

impl AtHand {
    /// A run that has just begun.
    pub(crate) fn begun(state: RunState) -> Self {
        Self { state, snapshot_at: 0, inputs: Some(Vec::new()) }
    }

    /// The position of its last entry.
    pub(crate) fn head(&self) -> Seq {
        self.state.seq
    }
}

impl EngineInner {
    /// A run as the store has it.
    pub(crate) fn read(&self, run: &RunId) -> Result<AtHand, StoreError> {
        let loaded = self.store.load(run, None)?;
        let (state, snapshot_at) = self.state_of(&loaded)?;
        Ok(AtHand { state, snapshot_at, inputs: Some(loaded.inputs) })
    }

    /// A run that will probably be driven next, but for what it is about to be given. Nothing if it is
    /// under way here, or cannot be read: then whoever drives it says why.
    pub(crate) fn read_ahead(&self, run: &RunId) -> Option<AtHand> {
        if lock(&self.active).contains_key(run) {
            return None;
        }
        Some(AtHand { inputs: None, ..self.read(run).ok()? })
    }
}
