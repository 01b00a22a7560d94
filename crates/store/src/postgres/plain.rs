//! The usual batch: entries for runs whose leases are kept, from which nothing follows in other tables. It gives no number, so
//! it need not wait for other nodes, and it is one statement that commits itself: one round trip, and one flush.
//!
//! All of it is written or nothing. What cannot be written so goes through the transaction that every batch can: there it
//! is found out why.

use tokio_postgres::Error;

use super::columns::stored;
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
/// batch whose answer was lost is committed is seen by it too. The last line fails if somebody could not pass.
const WRITE: &str = "WITH own AS (
        UPDATE nodes SET batch = $1 WHERE id = $2 AND batch < $1 RETURNING id
    ), passed AS (
        UPDATE runs SET head = v.head, status = v.status, updated_at = coalesce(v.at, runs.updated_at)
        FROM own, unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
            AS v (no, expected, epoch, head, status, at)
        WHERE runs.no = v.no AND runs.head = v.expected AND runs.epoch = v.epoch
            AND runs.lease_node = own.id
        RETURNING 1
    ), added AS (
        INSERT INTO journal (run, seq, count, body)
        SELECT v.run, v.expected + 1, v.head - v.expected, v.body
        FROM unnest($3::bigint[], $4::bigint[], $6::bigint[], $9::bytea[]) AS v (run, expected, head, body)
    )
    SELECT 1 / (count(*) = $10)::int AS all_of_them_could_be_written FROM passed";

impl<'a> PlainRow<'a> {
    /// Whether nothing follows from an append but its entries.
    pub(super) fn of(append: &'a AppendEntries, memory: &Memory) -> Option<Self> {
        let known = memory.get(&append.lease.run)?;
        let plain = matches!(append.rest, Rest::Keep)
            && append.count > 0
            && append.changes.is_empty()
            && append.snapshot.is_none()
            && append.consumed <= known.consumed
            && append.lease.node == memory.node;
        plain.then_some(Self { run: known.no, append })
    }
}

/// The rows of a batch, if all of its commands are such appends.
pub(super) fn rows<'a>(jobs: &'a [Box<dyn Job>], memory: &Memory) -> Option<Vec<PlainRow<'a>>> {
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

/// Writes them and commits, as batch number `batch` of this node.
pub(super) async fn write(
    conn: &Conn,
    memory: &Memory,
    batch: u64,
    rows: &[PlainRow<'_>],
) -> Result<(), Error> {
    let ints = |of: fn(&PlainRow<'_>) -> i64| -> Vec<i64> { rows.iter().map(of).collect() };
    let statuses: Vec<&str> = rows.iter().map(|row| row.append.status.as_str()).collect();
    let at: Vec<Option<i64>> =
        rows.iter().map(|row| row.append.updated_at.map(|at| at.0)).collect();
    let bodies: Vec<&[u8]> = rows.iter().map(|row| row.append.body.as_slice()).collect();
    #[cfg(feature = "failpoints")]
    crate::failpoint::before_commit();
    conn.rows(
        WRITE,
        &[
            &stored(batch),
            &Text(&memory.node),
            &ints(|row| row.run),
            &ints(|row| stored(row.append.expected)),
            &ints(|row| stored(row.append.lease.epoch)),
            &ints(|row| stored(row.append.expected + row.append.count as u64)),
            &statuses,
            &at,
            &bodies,
            &stored(rows.len() as u64),
        ],
    )
    .await?;
    #[cfg(feature = "failpoints")]
    crate::failpoint::after_commit();
    Ok(())
}
