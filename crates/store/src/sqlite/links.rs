//! Links by which people decide, and the secret that signs them.

use rusqlite::params;

use super::db::Db;
use super::decide::add_audit_line;
use super::requests::by_id;
use super::writer::{Command, Stop};
use crate::{AddLink, StoreError};

impl Command for AddLink {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        let Some(found) = by_id(&db.connection, &self.request)? else {
            return Err(StoreError::UnknownRequest(self.request.clone()).into());
        };
        let (by, request, tenant) = (self.by.clone(), self.request.clone(), found.request.tenant);
        add_audit_line(db, self.at, by, request, tenant, self.said())?;
        Ok(())
    }
}

/// A secret by its name; `new`, if there is none yet.
#[derive(Debug)]
pub(super) struct KeepSecret {
    pub(super) name: String,
    pub(super) new: String,
}

impl Command for KeepSecret {
    type Output = String;

    fn apply(&self, db: &mut Db) -> Result<String, Stop> {
        db.connection
            .prepare_cached("INSERT OR IGNORE INTO secrets (name, secret) VALUES (?1, ?2)")?
            .execute(params![self.name, self.new])?;
        let mut kept =
            db.connection.prepare_cached("SELECT secret FROM secrets WHERE name = ?1")?;
        Ok(kept.query_row(params![self.name], |row| row.get(0))?)
    }
}
