//! The usual batch: entries for runs that this node holds, from which nothing follows in other tables. It gives no number, so
//! it need not wait for other nodes, and it is one statement that commits itself: one round trip, and one flush.
//!
//! It does not look at the rows of its runs. The writer knows which of them it holds, and how far they are; that they were not
//! taken from it since is told by the number of its fence, in the row that it changes anyway. Whoever takes a run from a node
//! changes that number in the same transaction, and so waits for a batch that is under way, and stops all that come later.
//!
//! All of it is written or nothing. What cannot be written so goes through the transaction that every batch can: there it
//! is found out why.

use tokio_postgres::Error;

use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::job::Job;
use super::journal::MAX_BYTES;
use super::memory::Memory;
use super::text::Text;
use crate::Rest;
use crate::encoded::AppendEntries;

/// An append that nothing follows from.
#[derive(Debug)]
pub(super) struct PlainRow<'a> {
    run: i64,
    append: &'a AppendEntries,
}

/// The batch's number is taken first: a statement that arrives when its node has given it up finds a later one there. Whether a
/// batch whose answer was lost is committed is seen by it too. The arrays are as long as each other; unfolded side by side here,
/// and not as a table to select from, they need not be written down before they are inserted, which is a quarter of the work.
const WRITE: &str = "WITH own AS (
        UPDATE nodes SET batch = $1 WHERE id = $2 AND batch < $1 AND fence = $3 RETURNING 1
    ), added AS (
        INSERT INTO journal (run, seq, count, body, at)
        SELECT unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bigint[]), unnest($7::bytea[]),
            unnest($8::bigint[])
        FROM own
    )
    SELECT count(*) FROM own";

impl<'a> PlainRow<'a> {
    /// Whether nothing follows from an append but its entries.
    pub(super) fn of(append: &'a AppendEntries, memory: &Memory) -> Option<Self> {
        let known = memory.get(&append.lease.run)?;
        let held = known.held?;
        let plain = matches!(append.rest, Rest::Keep)
            && append.count > 0
            && append.changes.is_empty()
            && append.snapshot.is_none()
            && append.consumed <= known.consumed
            && append.lease.node == memory.node
            && append.lease.epoch == held.epoch
            && append.expected == held.head
            && append.status == held.status;
        plain.then_some(Self { run: known.no, append })
    }
}

/// The rows of a batch, if all of its commands are such appends.
pub(super) fn rows<'a>(jobs: &'a [Box<dyn Job>], memory: &Memory) -> Option<Vec<PlainRow<'a>>> {
    memory.fence()?;
    let mut bytes = 0;
    let mut rows = Vec::with_capacity(jobs.len());
    for job in jobs {
        let row = job.plain(memory)?;
        bytes += row.append.body.len();
        rows.push(row);
    }
    // More goes in several statements, and so in a transaction.
    (bytes <= MAX_BYTES).then_some(rows)
}

/// Writes them and commits, as batch number `batch` of this node. False, if something was taken from the node since it was
/// found to hold these runs; then nothing is written.
pub(super) async fn write(
    conn: &Conn,
    memory: &Memory,
    batch: u64,
    rows: &[PlainRow<'_>],
) -> Result<bool, Error> {
    let ints = |of: fn(&PlainRow<'_>) -> i64| -> Vec<i64> { rows.iter().map(of).collect() };
    let at: Vec<Option<i64>> =
        rows.iter().map(|row| row.append.updated_at.map(|at| at.0)).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|row| row.append.body.as_slice()).collect();
    #[cfg(feature = "failpoints")]
    crate::failpoint::before_commit();
    let passed = conn
        .row(
            WRITE,
            &[
                &stored(batch),
                &Text(&memory.node),
                &memory.fence(),
                &ints(|row| row.run),
                &ints(|row| stored(row.append.expected + 1)),
                &ints(|row| stored(row.append.count as u64)),
                &bodies,
                &at,
            ],
        )
        .await?;
    let passed = passed.map_or(Ok(0), |row| row.int(0))? == 1;
    if passed {
        #[cfg(feature = "failpoints")]
        crate::failpoint::after_commit();
        for PlainRow { append, .. } in rows {
            let head = append.expected + append.count as u64;
            memory.hold(&append.lease, head, append.status);
        }
    }
    Ok(passed)
}
