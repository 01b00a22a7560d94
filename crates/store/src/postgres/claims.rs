//! Who may write which run: takes, prolongs and gives back leases.

use std::collections::HashSet;

use signoff_core::RunId;
use signoff_core::time::Timestamp;

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::error::Stop;
use super::job::Command;
use super::nodes::reap;
use super::runs::take_lease;
use super::text::Text;
use super::touches::Touches;
use crate::entries::MAX_LIMIT;
use crate::{Claim, Lease, Scope, StoreError};

/// Leases runs that are ready.
#[derive(Debug)]
pub(super) struct ClaimReady {
    pub(super) scope: Scope,
    pub(super) claim: Claim,
    pub(super) now: Timestamp,
    pub(super) limit: usize,
}

const READY: &str = "SELECT no, lease_until, lease_node FROM runs WHERE ready AND lease_until <= $1
    ORDER BY lease_until, no LIMIT $2";
const READY_IN_TREE: &str = "SELECT runs.no, runs.lease_until, runs.lease_node FROM (
        WITH RECURSIVE tree (id) AS (
            SELECT $5::text COLLATE \"C\"
            UNION SELECT runs.id FROM tree JOIN runs ON runs.parent_run = tree.id)
        SELECT id FROM tree) tree JOIN runs ON runs.id = tree.id
    WHERE runs.ready AND runs.lease_until <= $1
    ORDER BY runs.lease_until, runs.no LIMIT $2";

impl Command for ClaimReady {
    type Output = Vec<Lease>;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Vec<Lease>, Stop> {
        reap(batch).await?;
        let take = |ready: &str| {
            format!(
                "WITH ready AS MATERIALIZED ({ready}),
                 fenced AS (UPDATE nodes SET fence = nextval('fences')
                     WHERE id IN (SELECT lease_node FROM ready)),
                 placed AS (SELECT no, row_number() OVER (ORDER BY lease_until, no) AS place FROM ready),
                 taken AS (
                     UPDATE runs SET lease_node = $3, lease_until = $4, epoch = epoch + 1
                     FROM placed WHERE runs.no = placed.no
                         AND runs.status NOT IN ('completed', 'failed', 'cancelled')
                     RETURNING runs.id, runs.epoch, placed.place)
                 SELECT id, epoch FROM taken ORDER BY place"
            )
        };
        let limit = stored(self.limit.min(MAX_LIMIT) as u64);
        let (node, until) = (Text(&self.claim.node), self.claim.until.0);
        let rows = match &self.scope {
            Scope::All => batch.change(&take(READY), &[&self.now.0, &limit, &node, &until]).await?,
            Scope::Tree(run) => {
                let bound: super::conn::Bound<'_> =
                    &[&self.now.0, &limit, &node, &until, &Text(run.as_str())];
                batch.change(&take(READY_IN_TREE), bound).await?
            }
        };
        let mut leases = Vec::with_capacity(rows.len());
        for row in &rows {
            let (run, epoch) = (RunId::new(row.text(0)?), row.number(1)?);
            batch.memory.let_go(&run);
            leases.push(Lease { run, node: self.claim.node.clone(), epoch });
        }
        Ok(leases)
    }
}

/// Leases one run.
#[derive(Debug)]
pub(super) struct ClaimRun {
    pub(super) run: RunId,
    pub(super) claim: Claim,
    pub(super) now: Timestamp,
}

impl Command for ClaimRun {
    type Output = Option<Lease>;

    /// Everything, because leases of dead nodes may be ended along with it.
    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Option<Lease>, Stop> {
        let Some(known) = batch.find(&self.run).await? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        reap(batch).await?;
        let epoch = take_lease(batch, known.no, &self.claim, self.now).await?;
        Ok(epoch.map(|epoch| {
            batch.memory.let_go(&self.run);
            Lease { run: self.run.clone(), node: self.claim.node.clone(), epoch }
        }))
    }
}

/// Prolongs leases.
#[derive(Debug)]
pub(super) struct Renew {
    pub(super) leases: Vec<Lease>,
    pub(super) until: Timestamp,
}

impl Command for Renew {
    type Output = Vec<Lease>;

    fn touches(&self, touches: &mut Touches) {
        self.leases.iter().for_each(|lease| touches.run(&lease.run));
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Vec<Lease>, Stop> {
        let runs: Vec<Text<'_>> = self.leases.iter().map(|it| Text(it.run.as_str())).collect();
        let epochs: Vec<i64> = self.leases.iter().map(|lease| stored(lease.epoch)).collect();
        let nodes: Vec<Text<'_>> = self.leases.iter().map(|lease| Text(&lease.node)).collect();
        let rows = batch
            .change(
                "UPDATE runs SET lease_until = $4
                 FROM unnest($1::text[], $2::bigint[], $3::text[]) AS held (id, epoch, node)
                 WHERE runs.id = held.id AND runs.epoch = held.epoch AND runs.lease_node = held.node
                 RETURNING runs.id, runs.epoch",
                &[&runs, &epochs, &nodes, &self.until.0],
            )
            .await?;
        let mut held = HashSet::new();
        for row in &rows {
            held.insert((RunId::new(row.text(0)?), row.number(1)?));
        }
        let still = |lease: &&Lease| held.contains(&(lease.run.clone(), lease.epoch));
        Ok(self.leases.iter().filter(still).cloned().collect())
    }
}

/// Gives a lease back.
#[derive(Debug)]
pub(super) struct Release(pub(super) Lease);

impl Command for Release {
    type Output = ();

    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.0.run);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<(), Stop> {
        let Lease { run, node, epoch } = &self.0;
        let sql = "UPDATE runs SET lease_node = NULL, lease_until = 0
            WHERE id = $1 AND epoch = $2 AND lease_node = $3";
        batch.memory.let_go(run);
        batch.write(sql, &[&Text(run.as_str()), &stored(*epoch), &Text(node)]).await?;
        Ok(())
    }
}
