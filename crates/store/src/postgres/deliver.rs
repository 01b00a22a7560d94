//! Brings inputs to runs.

use signoff_core::{Actor, RequestId, RunId, Tenant, Timestamp};

use super::audit::add_line;
use super::batch::Batch;
use super::columns::Columns as _;
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
    /// What the audit says of it, and who did it.
    pub(super) line: Option<(Actor, String)>,
    pub(super) at: Timestamp,
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
        let given = give_input(batch, known.no, &self.input).await?;
        if let Some((by, said)) = self.line.clone().filter(|_| given) {
            let sql = "SELECT tenant FROM runs WHERE no = $1";
            if let Some(row) = batch.conn().row(sql, &[&known.no]).await? {
                let subject = RequestId::new(self.run.as_str());
                add_line(batch, self.at, by, subject, Tenant::new(row.text(0)?), said);
            }
        }
        Ok(given)
    }
}
