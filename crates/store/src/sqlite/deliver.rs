//! Brings inputs to runs.

use signoff_core::RunId;

use super::db::Db;
use super::writer::{Command, Stop};
use crate::StoreError;

/// An input for a run, encoded.
#[derive(Debug)]
pub(super) struct Deliver {
    pub(super) run: RunId,
    pub(super) input: String,
}

impl Command for Deliver {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let Some(known) = db.find(&self.run)? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        Ok(db.give_input(known.no, &self.input)?)
    }
}
