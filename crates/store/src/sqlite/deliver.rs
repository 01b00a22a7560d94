//! Brings inputs to runs.

use rusqlite::params;
use signoff_core::{Actor, RequestId, RunId, Tenant, Timestamp};

use super::db::Db;
use super::decide::add_audit_line;
use super::writer::{Command, Stop};
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

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let Some(known) = db.find(&self.run)? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        let given = db.give_input(known.no, &self.input)?;
        if let Some((by, said)) = self.line.clone().filter(|_| given) {
            let sql = "SELECT tenant FROM runs WHERE no = ?1";
            let tenant: String = db
                .connection
                .prepare_cached(sql)?
                .query_row(params![known.no], |row| row.get(0))?;
            let subject = RequestId::new(self.run.as_str());
            add_audit_line(db, self.at, by, subject, Tenant::new(tenant), said)?;
        }
        Ok(given)
    }
}
