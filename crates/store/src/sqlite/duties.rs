//! What one node at a time does for all.

use rusqlite::params;

use super::db::Db;
use super::writer::{Command, Stop};
use crate::TakeDuty;

impl Command for TakeDuty {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        db.reap()?;
        let taken = db
            .connection
            .prepare_cached(
                "INSERT INTO duties (name, lease_node, lease_until) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET lease_node = ?2, lease_until = ?3
                 WHERE lease_node IS NULL OR lease_node = ?2 OR lease_until <= ?4",
            )?
            .execute(params![self.duty.as_str(), &*self.node, self.until.0, self.now.0])?;
        Ok(taken > 0)
    }
}
