//! The fence of a transaction: moves the heads of runs, if their leases are still good and their heads where their writers believe them to
//! be. All appends of a wave pass it by one statement.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::LazyLock;

use tokio::sync::oneshot;
use tokio_postgres::Error;

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::error::Stop;
use super::runs::{HEAD, UPDATED_AT};
use super::text::Text;
use crate::encoded::AppendEntries;
use crate::{Rest, StoreError};

/// Appends that wait before the fence.
#[derive(Debug, Default)]
pub(super) struct Fence(RefCell<Vec<Waiting>>);

#[derive(Debug)]
struct Waiting {
    row: Row,
    passed: oneshot::Sender<bool>,
}

#[derive(Debug)]
struct Row {
    run: i64,
    expected: i64,
    epoch: i64,
    node: crate::NodeId,
    head: i64,
    status: &'static str,
    at: Option<i64>,
    /// What becomes of the lease: 0 it is kept, 1 the run parks, 2 it is over.
    rest: i64,
    consumed: i64,
    error: Option<String>,
}

/// A column that is set to what it was does not count as changed: the usual case touches no index.
static PASS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "UPDATE runs SET head = v.head, status = v.status,
        updated_at = coalesce(v.at, {UPDATED_AT}),
        lease_node = CASE v.rest WHEN 0 THEN runs.lease_node END,
        lease_until = CASE v.rest WHEN 0 THEN runs.lease_until ELSE 0 END,
        ready = CASE v.rest WHEN 0 THEN runs.ready
            WHEN 1 THEN EXISTS (SELECT 1 FROM inputs i WHERE i.run = v.no AND i.no > v.consumed)
            ELSE false END,
        error = CASE v.rest WHEN 2 THEN v.error ELSE runs.error END
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::text[])
        AS v (no, expected, epoch, node, head, status, at, rest, consumed, error)
    WHERE runs.no = v.no AND runs.epoch = v.epoch AND runs.lease_node = v.node
        AND v.expected = {HEAD}
    RETURNING runs.no"
    )
});

impl Fence {
    /// Whether an append to run number `run` may be made. Its run's row is changed if so.
    pub(super) async fn pass(&self, append: &AppendEntries, run: i64) -> Result<bool, Stop> {
        let row = Row {
            run,
            expected: stored(append.expected),
            epoch: stored(append.lease.epoch),
            node: append.lease.node.clone(),
            head: stored(append.expected + append.count as u64),
            status: append.status.as_str(),
            at: append.updated_at.map(|at| at.0),
            rest: match append.rest {
                Rest::Keep => 0,
                Rest::Park => 1,
                Rest::End(_) => 2,
            },
            consumed: stored(append.consumed),
            error: append.error.clone(),
        };
        let (passed, answer) = oneshot::channel();
        self.0.borrow_mut().push(Waiting { row, passed });
        let lost = |_| StoreError::Failed("the batch was given up".to_owned());
        Ok(answer.await.map_err(lost)?)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Lets those pass that may. Each run is among them once: a wave has one command for each.
    pub(super) async fn open(&self, batch: &Batch<'_>) -> Result<(), Error> {
        let waiting = self.0.take();
        let rows: Vec<&Row> = waiting.iter().map(|waiting| &waiting.row).collect();
        let ints = |of: fn(&Row) -> i64| -> Vec<i64> { rows.iter().map(|row| of(row)).collect() };
        let texts = |of: fn(&Row) -> &str| -> Vec<Text<'_>> {
            rows.iter().map(|row| Text(of(row))).collect()
        };
        let at: Vec<Option<i64>> = rows.iter().map(|row| row.at).collect();
        let errors: Vec<Option<Text<'_>>> =
            rows.iter().map(|row| row.error.as_deref().map(Text)).collect();
        let changed = batch
            .conn()
            .rows(
                &PASS,
                &[
                    &ints(|row| row.run),
                    &ints(|row| row.expected),
                    &ints(|row| row.epoch),
                    &texts(|row| &row.node),
                    &ints(|row| row.head),
                    &texts(|row| row.status),
                    &at,
                    &ints(|row| row.rest),
                    &ints(|row| row.consumed),
                    &errors,
                ],
            )
            .await?;
        if !changed.is_empty() {
            batch.has_written();
        }
        let mut passed = HashSet::with_capacity(changed.len());
        for row in &changed {
            passed.insert(row.int(0)?);
        }
        for Waiting { row, passed: answer } in waiting {
            // Its command waits for it as long as the batch goes on.
            let _ = answer.send(passed.contains(&row.run));
        }
        Ok(())
    }
}
