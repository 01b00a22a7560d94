//! Removes what is long over.

use rusqlite::{Connection, params};
use signoff_core::{RequestId, RunId, RunStatus, Tenant};

use super::db::Db;
use super::decide::add_audit_line;
use super::error::{read, stored};
use super::writer::{Command, Stop};
use crate::upkeep::{Candidates, MAX_LOOKED_AT};
use crate::{Prune, Pruned, PrunedRun, StoreError};

/// Whether a conversation is over, by its tenant, its id, the point in time and the workflow. Something that was kept, told
/// of or asked for since is a reason to keep all of it. So is a number that must not be given again.
const IS_OVER: &str = "SELECT NOT EXISTS (
        SELECT 1 FROM runs u INDEXED BY runs_conversation
        WHERE u.conversation = ?2 AND u.tenant = ?1 AND (
            u.status NOT IN ('completed', 'failed', 'cancelled') OR u.updated_at >= ?3
            OR (?4 IS NOT NULL AND u.root IS NULL AND u.workflow <> ?4)
            OR u.no = (SELECT max(no) FROM runs)
            OR EXISTS (SELECT 1 FROM requests WHERE run = u.no AND no = (SELECT max(no) FROM requests))
            OR EXISTS (SELECT 1 FROM notes WHERE run = u.no AND no = (SELECT max(no) FROM notes))
            OR EXISTS (SELECT 1 FROM pushes WHERE run = u.no AND done = 0)
            OR EXISTS (SELECT 1 FROM events WHERE run = u.no)))
    AND NOT EXISTS (SELECT 1 FROM conversations WHERE tenant = ?1 AND id = ?2 AND updated_at >= ?3)";

/// A run: its number, id, the run at the top if that is another, workflow, status, and last entry.
type Row = (i64, String, Option<String>, String, String, i64);

impl Command for Prune {
    type Output = Pruned;

    fn apply(&self, db: &mut Db) -> Result<Pruned, Stop> {
        let (conversations, next) = self.candidates(&db.connection)?;
        let mut pruned = Pruned { runs: Vec::new(), next };
        for (tenant, conversation) in conversations {
            let over: bool = db.connection.prepare_cached(IS_OVER)?.query_row(
                params![tenant, conversation, self.before.0, self.workflow.as_deref()],
                |row| row.get(0),
            )?;
            if over {
                self.remove(db, &tenant, &conversation, &mut pruned)?;
            }
        }
        Ok(pruned)
    }
}

impl Prune {
    /// The conversations of the next runs that are over, and where to go on.
    fn candidates(&self, connection: &Connection) -> Result<Candidates, Stop> {
        let mut statement = connection.prepare_cached(
            "SELECT no, tenant, conversation,
                 root IS NULL AND status IN ('completed', 'failed', 'cancelled') AND updated_at < ?2
             FROM runs WHERE no > ?1 ORDER BY no LIMIT ?3",
        )?;
        let bounds = params![stored(self.after), self.before.0, stored(MAX_LOOKED_AT as u64)];
        let mut rows = statement.query(bounds)?;
        let (mut found, mut last, mut count) = (Vec::new(), 0, 0);
        while let Some(row) = rows.next()? {
            (last, count) = (row.get(0)?, count + 1);
            let place = (row.get(1)?, row.get(2)?);
            if row.get(3)? && !found.contains(&place) {
                found.push(place);
            }
        }
        Ok((found, (count == MAX_LOOKED_AT).then(|| read(last))))
    }

    fn remove(
        &self,
        db: &mut Db,
        tenant: &str,
        conversation: &str,
        pruned: &mut Pruned,
    ) -> Result<(), Stop> {
        let runs: Vec<Row> = db
            .connection
            .prepare_cached(
                "SELECT no, id, root, workflow, status, head FROM runs INDEXED BY runs_conversation
                 WHERE conversation = ?2 AND tenant = ?1 ORDER BY no",
            )?
            .query_map(params![tenant, conversation], |row| {
                let (no, id, root) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok((no, id, root, row.get(3)?, row.get(4)?, row.get(5)?))
            })?
            .collect::<Result<_, _>>()?;
        for (_, id, root, workflow, status, head) in &runs {
            if root.is_some() {
                continue;
            }
            let status = RunStatus::from_word(status)
                .ok_or_else(|| StoreError::Corrupt(format!("{id} has the status `{status}`")))?;
            let parts = runs.iter().filter(|run| run.2.as_ref() == Some(id)).count() as u64;
            pruned.runs.push(PrunedRun {
                run: RunId::new(id.as_str()),
                workflow: workflow.as_str().into(),
                status,
                entries: read(*head),
                parts,
            });
            if let Some(gone) = pruned.runs.last().filter(|_| !self.dry_run) {
                let (subject, tenant) = (RequestId::new(id.as_str()), Tenant::new(tenant));
                add_audit_line(db, self.at, self.by.clone(), subject, tenant, gone.said())?;
            }
        }
        if self.dry_run {
            return Ok(());
        }
        for (no, id, ..) in &runs {
            for table in
                ["journal", "snapshots", "requests", "inputs", "timers", "notes", "views", "pushes"]
            {
                db.connection
                    .prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?
                    .execute(params![no])?;
            }
            db.connection.prepare_cached("DELETE FROM runs WHERE no = ?1")?.execute(params![no])?;
            db.forget(&RunId::new(id.as_str()));
        }
        db.connection
            .prepare_cached("DELETE FROM conversations WHERE tenant = ?1 AND id = ?2")?
            .execute(params![tenant, conversation])?;
        Ok(())
    }
}
