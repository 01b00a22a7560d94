//! Who has opened which request.

use rusqlite::{OptionalExtension as _, params};
use signoff_core::Tenant;

use super::db::Db;
use super::decide::add_audit_line;
use super::writer::{Command, Stop};
use crate::{StoreError, View};

impl Command for View {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let unknown = || StoreError::UnknownRequest(self.request.clone());
        let (run, number) = self.request.split().ok_or_else(unknown)?;
        let found: Option<(i64, String)> = db
            .connection
            .prepare_cached(
                "SELECT u.no, r.tenant FROM runs u CROSS JOIN requests r
                     ON r.run = u.no AND r.number = ?2
                 WHERE u.id = ?1",
            )?
            .query_row(params![run.as_str(), number], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (run, tenant) = found.ok_or_else(unknown)?;
        let new = db
            .connection
            .prepare_cached(
                "INSERT INTO views (run, number, person, version) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (run, number, person) DO UPDATE SET version = excluded.version
                     WHERE excluded.version > version",
            )?
            .execute(params![run, number, self.by.as_str(), self.version])?;
        if new == 0 {
            return Ok(false);
        }
        let (by, request) = (self.by.clone(), self.request.clone());
        add_audit_line(db, self.at, by, request, Tenant::new(tenant), self.said())?;
        Ok(true)
    }
}
