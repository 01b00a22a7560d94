//! The smallest durable write there is, through the same writer: what everything else is measured by.

use rusqlite::params;

use super::db::Db;
use super::writer::{Command, Stop};

/// A row for a table that nothing reads.
#[derive(Debug)]
pub(super) struct Probe(pub(super) Vec<u8>);

impl Command for Probe {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        // Only where it is measured, so it is no part of the schema.
        let insert = "INSERT INTO probe (body) VALUES (?1)";
        if let Ok(mut statement) = db.connection.prepare_cached(insert) {
            statement.execute(params![self.0])?;
            return Ok(());
        }
        db.connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        )?;
        db.connection.prepare_cached(insert)?.execute(params![self.0])?;
        Ok(())
    }
}
