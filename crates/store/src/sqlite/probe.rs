//! The barest journal there is, through the same writer: what everything else is measured by.

use rusqlite::params;

use super::db::Db;
use super::writer::{Command, Stop};

/// A row at a place of its own, in a table that nothing reads.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) run: i64,
    pub(super) seq: i64,
    pub(super) body: Vec<u8>,
}

impl Command for Probe {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        // Only where it is measured, so it is no part of the schema.
        let insert = "INSERT INTO probe (run, seq, body) VALUES (?1, ?2, ?3)";
        if let Ok(mut statement) = db.connection.prepare_cached(insert) {
            statement.execute(params![self.run, self.seq, self.body])?;
            return Ok(());
        }
        db.connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL,
                 body BLOB NOT NULL);
             CREATE UNIQUE INDEX IF NOT EXISTS probe_run ON probe (run, seq)",
        )?;
        db.connection.prepare_cached(insert)?.execute(params![self.run, self.seq, self.body])?;
        Ok(())
    }
}
