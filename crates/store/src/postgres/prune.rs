//! Removes what is long over.

use signoff_core::{RequestId, RunId, RunStatus, Tenant};

use super::audit::add_line;
use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::error::Stop;
use super::job::Command;
use super::text::Text;
use super::touches::Touches;
use crate::upkeep::{Candidates, MAX_LOOKED_AT};
use crate::{Prune, Pruned, PrunedRun, StoreError};

/// Whether a conversation is over, by its tenant, its id, the point in time and the workflow. Something that was kept, told
/// of or asked for since is a reason to keep all of it.
const IS_OVER: &str = "SELECT NOT EXISTS (
        SELECT 1 FROM runs u
        WHERE u.conversation = $2 AND u.tenant = $1 AND (
            u.status NOT IN ('completed', 'failed', 'cancelled') OR u.updated_at >= $3
            OR ($4::text IS NOT NULL AND u.root IS NULL AND u.workflow <> $4)
            OR u.no = (SELECT runs FROM state)
            OR EXISTS (SELECT 1 FROM requests WHERE run = u.no AND no = (SELECT requests FROM state))
            OR EXISTS (SELECT 1 FROM notes WHERE run = u.no AND no = (SELECT notes FROM state))
            OR EXISTS (SELECT 1 FROM pushes WHERE run = u.no AND NOT done)
            OR EXISTS (SELECT 1 FROM events WHERE run = u.no)))
    AND NOT EXISTS (SELECT 1 FROM conversations WHERE tenant = $1 AND id = $2 AND updated_at >= $3)";

impl Command for Prune {
    type Output = Pruned;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Pruned, Stop> {
        let (conversations, next) = candidates(self, batch).await?;
        let mut pruned = Pruned { runs: Vec::new(), next };
        for (tenant, conversation) in conversations {
            let workflow = self.workflow.as_deref().map(Text);
            let bound: super::conn::Bound<'_> =
                &[&Text(&tenant), &Text(&conversation), &self.before.0, &workflow];
            let over = batch.conn().row(IS_OVER, bound).await?;
            if over.map_or(Ok(false), |row| row.flag(0))? {
                remove(self, batch, &tenant, &conversation, &mut pruned).await?;
            }
        }
        Ok(pruned)
    }
}

/// The conversations of the next runs that are over, and where to go on.
async fn candidates(prune: &Prune, batch: &Batch<'_>) -> Result<Candidates, Stop> {
    let rows = batch
        .conn()
        .rows(
            "SELECT no, tenant, conversation, root IS NULL
                     AND status IN ('completed', 'failed', 'cancelled') AND updated_at < $2
                 FROM runs WHERE no > $1 ORDER BY no LIMIT $3",
            &[&stored(prune.after), &prune.before.0, &stored(MAX_LOOKED_AT as u64)],
        )
        .await?;
    let mut found = Vec::new();
    for row in &rows {
        let place = (row.text(1)?, row.text(2)?);
        if row.flag(3)? && !found.contains(&place) {
            found.push(place);
        }
    }
    let last = rows.last().filter(|_| rows.len() == MAX_LOOKED_AT);
    Ok((found, last.map(|row| row.number(0)).transpose()?))
}

async fn remove(
    prune: &Prune,
    batch: &Batch<'_>,
    tenant: &str,
    conversation: &str,
    pruned: &mut Pruned,
) -> Result<(), Stop> {
    let place: super::conn::Bound<'_> = &[&Text(tenant), &Text(conversation)];
    let rows = batch
        .conn()
        .rows(
            "SELECT u.no, u.id, u.root IS NOT NULL, u.workflow, u.status, u.head,
                     (SELECT count(*) FROM runs WHERE root = u.id)
                 FROM runs u WHERE u.conversation = $2 AND u.tenant = $1 ORDER BY u.no",
            place,
        )
        .await?;
    let mut gone = Vec::new();
    let mut numbers = Vec::new();
    for row in &rows {
        numbers.push(row.int(0)?);
        let (id, status) = (row.text(1)?, row.text(4)?);
        batch.forget(&RunId::new(id.as_str()));
        if row.flag(2)? {
            continue;
        }
        gone.push(PrunedRun {
            status: RunStatus::from_word(&status)
                .ok_or_else(|| StoreError::Corrupt(format!("{id} has the status `{status}`")))?,
            run: RunId::new(id),
            workflow: row.text(3)?.into(),
            entries: row.number(5)?,
            parts: row.number(6)?,
        });
    }
    if !prune.dry_run {
        for table in
            ["journal", "snapshots", "requests", "inputs", "timers", "notes", "views", "pushes"]
        {
            let sql = format!("DELETE FROM {table} WHERE run = ANY($1)");
            batch.write(&sql, &[&numbers]).await?;
        }
        batch.write("DELETE FROM runs WHERE no = ANY($1)", &[&numbers]).await?;
        batch.write("DELETE FROM conversations WHERE tenant = $1 AND id = $2", place).await?;
        for run in &gone {
            let (subject, tenant) = (RequestId::new(run.run.as_str()), Tenant::new(tenant));
            add_line(batch, prune.at, prune.by.clone(), subject, tenant, run.said());
        }
    }
    pruned.runs.extend(gone);
    Ok(())
}
