//! Adds entries to runs, with all that follows from them.

use signoff_core::RunId;
use signoff_core::journal::Input;
use signoff_core::time::Timestamp;

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::error::{Stop, json};
use super::events::tell_cancelled;
use super::job::Command;
use super::memory::{KnownRun, Memory};
use super::plain::PlainRow;
use super::project;
use super::runs::give_input;
use super::text::Text;
use super::touches::Touches;
use crate::encoded::AppendEntries;
use crate::{End, Rest, StoreError};

impl Command for AppendEntries {
    type Output = ();

    /// Its own run. What an end tells other runs is one statement each and can come between theirs.
    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.lease.run);
    }

    fn plain(&self, memory: &Memory) -> Option<PlainRow<'_>> {
        PlainRow::of(self, memory)
    }

    fn after_plain() -> Option<()> {
        Some(())
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<(), Stop> {
        let id = &self.lease.run;
        let Some(known) = batch.find(id).await? else {
            return Err(StoreError::UnknownRun(id.clone()).into());
        };
        if !batch.fence.pass(self, known.no).await? {
            return Err(StoreError::Fenced { run: id.clone() }.into());
        }
        if self.count > 0 {
            let first = self.expected + 1;
            batch.journal.borrow_mut().add(
                known.no,
                first,
                self.count,
                &self.body,
                self.updated_at,
            );
        }
        project::apply(batch, known.no, &self.changes).await?;
        if let Some(snapshot) = &self.snapshot {
            let sql = "INSERT INTO snapshots (run, seq, body) VALUES ($1, $2, $3)
                ON CONFLICT (run) DO UPDATE SET seq = $2, body = $3";
            batch.write(sql, &[&known.no, &stored(snapshot.seq), &snapshot.body]).await?;
        }
        if let Rest::End(end) = &self.rest {
            clear(batch, known.no, self.updated_at.unwrap_or(Timestamp(0))).await?;
            tell_parent(batch, known.no, end).await?;
            tell_children(batch, id).await?;
            batch.forget(id);
        } else if self.consumed > known.consumed {
            let sql = "DELETE FROM inputs WHERE run = $1 AND no <= $2";
            batch.write(sql, &[&known.no, &stored(self.consumed)]).await?;
            batch.remember(id, KnownRun { consumed: self.consumed, ..known });
        }
        let head = self.expected + self.count as u64;
        match self.rest {
            Rest::Keep => batch.memory.hold(&self.lease, head, self.status),
            Rest::Park | Rest::End(_) => batch.memory.let_go(id),
        }
        Ok(())
    }
}

/// What a run leaves behind when it is over.
pub(super) async fn clear(batch: &Batch<'_>, run: i64, at: Timestamp) -> Result<(), Stop> {
    tell_cancelled(batch, run, at).await?;
    for sql in [
        "UPDATE requests SET status = 'cancelled', version = version + 1
         WHERE run = $1 AND status = 'pending'",
        "DELETE FROM timers WHERE run = $1",
        "DELETE FROM inputs WHERE run = $1",
    ] {
        batch.write(sql, &[&run]).await?;
    }
    Ok(())
}

async fn tell_parent(batch: &Batch<'_>, run: i64, end: &End) -> Result<(), Stop> {
    let row = batch
        .conn()
        .row(
            "SELECT parent.no, child.parent_activation, child.parent_key
             FROM runs child JOIN runs parent ON parent.id = child.parent_run
             WHERE child.no = $1",
            &[&run],
        )
        .await?;
    let Some(row) = row else { return Ok(()) };
    let input = Input::ChildEnded {
        activation: row.small(1)?,
        key: row.text(2)?.into(),
        outcome: end.outcome.clone(),
        stopped_by: end.stopped_by.clone(),
    };
    give_input(batch, row.int(0)?, &json(&input)?).await?;
    Ok(())
}

/// Nobody waits any more for the runs that are part of this one.
async fn tell_children(batch: &Batch<'_>, id: &RunId) -> Result<(), Stop> {
    let sql = "SELECT no FROM runs
        WHERE parent_run = $1 AND status NOT IN ('completed', 'failed', 'cancelled') ORDER BY no";
    let children = batch.conn().rows(sql, &[&Text(id.as_str())]).await?;
    if children.is_empty() {
        return Ok(());
    }
    let input = json(&End::for_children())?;
    for child in &children {
        give_input(batch, child.int(0)?, &input).await?;
    }
    Ok(())
}
