//! Adds entries to runs, with all that follows from them.

use signoff_core::RunId;
use signoff_core::journal::Input;
use signoff_core::time::Timestamp;

use super::batch::{Batch, KnownRun};
use super::columns::{Columns as _, stored};
use super::error::{Stop, json};
use super::events::tell_cancelled;
use super::project;
use super::runs::give_input;
use super::text::Text;
use super::touches::Touches;
use super::writer::Command;
use crate::encoded::AppendEntries;
use crate::{End, Rest, StoreError};

impl Command for AppendEntries {
    type Output = ();

    /// Its own run. What an end tells other runs is one statement each and can come between theirs.
    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.lease.run);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<(), Stop> {
        let id = &self.lease.run;
        let Some(known) = batch.find(id).await? else {
            return Err(StoreError::UnknownRun(id.clone()).into());
        };
        if !pass_fence(self, batch, known.no).await? {
            return Err(StoreError::Fenced { run: id.clone() }.into());
        }
        if self.count > 0 {
            let first = self.expected + 1;
            batch.journal.borrow_mut().add(known.no, first, self.count, &self.body);
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
        Ok(())
    }
}

/// Moves the run's head, if the lease is still good and the head where the writer believes it
/// to be. This is the fence.
async fn pass_fence(append: &AppendEntries, batch: &Batch<'_>, run: i64) -> Result<bool, Stop> {
    let head = stored(append.expected + append.count as u64);
    let expected = stored(append.expected);
    let epoch = stored(append.lease.epoch);
    let node = Text(&append.lease.node);
    let status = Text(append.status.as_str());
    let at = append.updated_at.map(|at| at.0);
    // A column that is set has its indexes looked at, so the usual case sets as few as it can.
    let changed = match append.rest {
        Rest::Keep => {
            let sql =
                "UPDATE runs SET head = $5, status = $6, updated_at = coalesce($7, updated_at)
                WHERE no = $1 AND head = $2 AND epoch = $3 AND lease_node = $4";
            batch.write(sql, &[&run, &expected, &epoch, &node, &head, &status, &at]).await?
        }
        Rest::Park => {
            let sql =
                "UPDATE runs SET head = $5, status = $6, updated_at = coalesce($7, updated_at),
                    lease_node = NULL, lease_until = 0,
                    ready = EXISTS (SELECT 1 FROM inputs WHERE run = $1 AND no > $8)
                WHERE no = $1 AND head = $2 AND epoch = $3 AND lease_node = $4";
            let consumed = stored(append.consumed);
            let bound: super::conn::Bound<'_> =
                &[&run, &expected, &epoch, &node, &head, &status, &at, &consumed];
            batch.write(sql, bound).await?
        }
        Rest::End(_) => {
            let sql =
                "UPDATE runs SET head = $5, status = $6, updated_at = coalesce($7, updated_at),
                    lease_node = NULL, lease_until = 0, ready = false, error = $8
                WHERE no = $1 AND head = $2 AND epoch = $3 AND lease_node = $4";
            let error = append.error.as_deref().map(Text);
            let bound: super::conn::Bound<'_> =
                &[&run, &expected, &epoch, &node, &head, &status, &at, &error];
            batch.write(sql, bound).await?
        }
    };
    Ok(changed == 1)
}

/// What a run leaves behind when it is over.
async fn clear(batch: &Batch<'_>, run: i64, at: Timestamp) -> Result<(), Stop> {
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
