//! Who is told elsewhere how a run goes on.

use signoff_core::id::{Name, RunId, Tenant};
use signoff_core::time::Timestamp;
use tokio_postgres::Row;

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::error::Stop;
use super::job::Command;
use super::nodes::reap;
use super::runs::HEAD;
use super::text::Text;
use super::touches::Touches;
use crate::entries::MAX_LIMIT;
use crate::pushes::MAX_PUSHES;
use crate::{MovePush, NextPush, Push, PutPush, StoreError, TakePushes, Told};

const COLUMNS: &str = "runs.id, runs.tenant, p.id, p.body, p.seq, p.parts, p.of_parts, p.failed,
    p.failing_since";

fn push(row: &Row) -> Result<Push, Stop> {
    Ok(Push {
        run: RunId::new(row.text(0)?),
        tenant: Tenant::new(row.text(1)?),
        id: row.text(2)?.into(),
        body: row.text(3)?,
        told: Told {
            seq: row.number(4)?,
            parts: row.flag(5)?,
            of_parts: row.text(6)?,
            failed: row.small(7)?,
            failing_since: row.int_if_any(8)?.map(Timestamp),
        },
    })
}

/// All of a run, by their names.
pub(super) async fn of_run(conn: &Conn, run: &RunId) -> Result<Vec<Push>, Stop> {
    let sql = format!(
        "SELECT {COLUMNS} FROM runs JOIN pushes p ON p.run = runs.no WHERE runs.id = $1
         ORDER BY p.id"
    );
    let rows = conn.rows(&sql, &[&Text(run.as_str())]).await?;
    rows.iter().map(push).collect()
}

impl Command for PutPush {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.run);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let Some(run) = batch.find(&self.run).await? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        let id = Text(&self.id);
        let sql = "SELECT count(*) FROM pushes WHERE run = $1 AND id <> $2";
        let others = batch.conn().row(sql, &[&run.no, &id]).await?;
        if others.map_or(Ok(0), |row| row.number(0))? >= MAX_PUSHES as u64 {
            return Ok(false);
        }
        batch
            .write(
                "INSERT INTO pushes (run, id, body, seq, parts) SELECT $1, $2, $3, $4,
                     EXISTS (SELECT 1 FROM runs WHERE root = $5)
                 ON CONFLICT (run, id) DO UPDATE SET body = $3, due_at = 0, failed = 0,
                     failing_since = NULL, done = false",
                &[&run.no, &id, &Text(&self.body), &stored(self.from), &Text(self.run.as_str())],
            )
            .await?;
        Ok(true)
    }
}

/// Somebody is told nothing more, and forgotten.
#[derive(Debug)]
pub(super) struct RemovePush {
    pub(super) run: RunId,
    pub(super) id: Name,
}

impl Command for RemovePush {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.run);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let Some(run) = batch.find(&self.run).await? else { return Ok(false) };
        let sql = "DELETE FROM pushes WHERE run = $1 AND id = $2";
        Ok(batch.write(sql, &[&run.no, &Text(&self.id)]).await? == 1)
    }
}

impl Command for TakePushes {
    type Output = Vec<Push>;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Vec<Push>, Stop> {
        reap(batch).await?;
        let limit = stored(self.limit.min(MAX_LIMIT) as u64);
        let sql = format!(
            "SELECT {COLUMNS}, p.run FROM pushes p JOIN runs ON runs.no = p.run
             WHERE NOT p.done AND p.due_at <= $1 AND p.lease_until <= $1
                 AND ({HEAD} > p.seq OR p.failed > 0 OR p.parts AND EXISTS
                     (SELECT 1 FROM runs c WHERE c.root = runs.id AND (c.updated_at >= p.looked_at OR c.ready
                         AND (SELECT at FROM journal WHERE run = c.no ORDER BY seq DESC LIMIT 1) >= p.looked_at)))
             ORDER BY p.due_at, p.run, p.id LIMIT $2"
        );
        let rows = batch.conn().rows(&sql, &[&self.now.0, &limit]).await?;
        let (node, until) = (Text(&self.node), self.now.plus(self.ttl).0);
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            let push = push(row)?;
            let sql = "UPDATE pushes SET lease_node = $3, lease_until = $4
                WHERE run = $1 AND id = $2";
            batch.write(sql, &[&row.int(9)?, &Text(&push.id), &node, &until]).await?;
            found.push(push);
        }
        Ok(found)
    }
}

impl Command for MovePush {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.run);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let Some(run) = batch.find(&self.run).await? else { return Ok(false) };
        let (due, done) = match self.next {
            NextPush::News => (0, false),
            NextPush::Again(at) => (at.0, false),
            NextPush::Nothing => (0, true),
        };
        let told = &self.told;
        let moved = batch
            .write(
                "UPDATE pushes SET seq = greatest(seq, $4), parts = $5, of_parts = $6, failed = $7,
                     failing_since = $8, looked_at = $9, due_at = $10, done = $11,
                     lease_node = NULL, lease_until = 0
                 WHERE run = $1 AND id = $2 AND lease_node = $3",
                &[
                    &run.no,
                    &Text(&self.id),
                    &Text(&self.node),
                    &stored(told.seq),
                    &told.parts,
                    &Text(&told.of_parts),
                    &i64::from(told.failed),
                    &told.failing_since.map(|at| at.0),
                    &self.looked_at.0,
                    &due,
                    &done,
                ],
            )
            .await?;
        Ok(moved == 1)
    }
}
