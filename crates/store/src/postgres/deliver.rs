//! Brings inputs to runs.

use signoff_core::RunId;

use super::batch::Batch;
use super::error::Stop;
use super::job::Command;
use super::runs::give_input;
use super::touches::Touches;
use crate::StoreError;

/// An input for a run, encoded.
#[derive(Debug)]
pub(super) struct Deliver {
    pub(super) run: RunId,
    pub(super) input: String,
}

impl Command for Deliver {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.run);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let Some(known) = batch.find(&self.run).await? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        give_input(batch, known.no, &self.input).await
    }
}
