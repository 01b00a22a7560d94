//! Who is alive: each open store holds an advisory lock by the connection it listens on, and the server frees it when
//! that connection ends. So the leases of a killed process end long before they run out.
//!
//! A connection may also break while its node lives. Therefore a lock must have been free for a while, by the server's clock,
//! and the node takes it again as soon as it can. A server that was down says nothing of the nodes: all of them have just lost
//! their connections, so what was missed before it started counts no more. Whoever is wrongly taken for dead is stopped by the fence.

use std::time::Duration;

use super::batch::Batch;
use super::columns::Columns as _;
use super::conn::Conn;
use super::error::Stop;
use super::text::Text;
use crate::StoreError;
use crate::audit::hex_sha256;

/// How often dead nodes are looked for, at most.
const REAP_EVERY: Duration = Duration::from_millis(500);

/// The key of a node's advisory lock.
pub(super) fn lock_key(database: &str, node: &str) -> i64 {
    let hash = hex_sha256(format!("signoff {database} {node}").as_bytes());
    let half = hash.get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    half.unwrap_or_default().cast_signed()
}

/// Takes the node's lock by this connection and says that the node is there. `first` refuses a name that is in use; later
/// the one who holds it may be a connection of our own whose end the server has not noticed yet.
pub(super) async fn hold(conn: &Conn, node: &str, lock: i64, first: bool) -> Result<(), Stop> {
    if first {
        let row = conn.row("SELECT pg_try_advisory_lock($1)", &[&lock]).await?;
        if !row.map_or(Ok(false), |row| row.flag(0))? {
            return Err(StoreError::Failed(format!("node {node} is running already")).into());
        }
    } else {
        conn.rows("SELECT pg_advisory_lock($1)", &[&lock]).await?;
    }
    // A name may have been another process's, whose batches had numbers of their own.
    conn.execute(
        "INSERT INTO nodes (id, lock) VALUES ($1, $2)
         ON CONFLICT (id) DO UPDATE SET missing_since = NULL, gone = false,
             batch = CASE WHEN $3 THEN 0 ELSE nodes.batch END,
             fence = CASE WHEN $3 THEN nextval('fences') ELSE nodes.fence END",
        &[&Text(node), &lock, &first],
    )
    .await?;
    Ok(())
}

/// Ends the leases of nodes that died.
pub(super) async fn reap(batch: &Batch<'_>) -> Result<(), Stop> {
    if !batch.looks_for_dead(REAP_EVERY) {
        return Ok(());
    }
    // Their locks are ours until this is committed, so that none of them comes back meanwhile.
    let found = batch
        .conn()
        .rows(
            "SELECT id, coalesce(missing_since < pg_postmaster_start_time(), true), gone,
                 coalesce(missing_since < clock_timestamp() - interval '1500 milliseconds', false),
                 coalesce(missing_since < clock_timestamp() - interval '1 hour', false)
             FROM nodes WHERE id <> $1 AND pg_try_advisory_xact_lock(lock)",
            &[&Text(&batch.memory.node)],
        )
        .await?;
    for row in found {
        let id = row.text(0)?;
        let id: super::conn::Bound<'_> = &[&Text(&id)];
        let (is_news, gone, dead, old) = (row.flag(1)?, row.flag(2)?, row.flag(3)?, row.flag(4)?);
        if is_news {
            let sql = "UPDATE nodes SET missing_since = clock_timestamp() WHERE id = $1";
            batch.write(sql, id).await?;
        } else if old {
            batch.write("DELETE FROM nodes WHERE id = $1", id).await?;
        } else if dead && !gone {
            batch
                .write("UPDATE nodes SET gone = true, fence = nextval('fences') WHERE id = $1", id)
                .await?;
            end_leases(batch.conn(), id).await?;
        }
    }
    Ok(())
}

/// Ends what a node holds, and forgets it.
pub(super) async fn leave(conn: &Conn, node: &str) -> Result<(), Stop> {
    let id: super::conn::Bound<'_> = &[&Text(node)];
    conn.script("BEGIN; UPDATE state SET changes = changes + 1").await?;
    end_leases(conn, id).await?;
    conn.execute("DELETE FROM nodes WHERE id = $1", id).await?;
    conn.script("COMMIT").await?;
    Ok(())
}

async fn end_leases(conn: &Conn, node: super::conn::Bound<'_>) -> Result<(), Stop> {
    for sql in [
        "UPDATE runs SET lease_node = NULL, lease_until = 0 WHERE ready AND lease_node = $1",
        "UPDATE webhooks SET lease_node = NULL WHERE lease_node = $1",
        "UPDATE duties SET lease_node = NULL WHERE lease_node = $1",
        "UPDATE pushes SET lease_node = NULL, lease_until = 0 WHERE NOT done AND lease_node = $1",
    ] {
        conn.execute(sql, node).await?;
    }
    Ok(())
}
