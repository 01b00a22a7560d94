//! Brings a database to the schema this program knows, and refuses what it does not.

use super::columns::Columns as _;
use super::conn::Conn;
use super::error::Stop;
use super::text::Text;
use crate::StoreError;
use crate::audit::hex_sha256;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// In order; the first is version 1. A released one never changes.
const MIGRATIONS: &[Migration] = &[
    Migration { name: "first", sql: include_str!("migrations/0001_first.sql") },
    Migration { name: "posts", sql: include_str!("migrations/0002_posts.sql") },
    Migration { name: "views", sql: include_str!("migrations/0003_views.sql") },
    Migration { name: "duties", sql: include_str!("migrations/0004_duties.sql") },
    Migration { name: "fences", sql: include_str!("migrations/0005_fences.sql") },
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now())";

/// Nodes that start at the same moment take turns by it. The number means nothing but that.
const TURN: i64 = 0x5167_6e6f_6666;

/// The version that this program brings a database to.
pub(super) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies what is missing. All of it or nothing, and by one process at a time.
pub(super) async fn migrate(conn: &Conn) -> Result<(), Stop> {
    // Another node may need a while; nobody else waits for this connection.
    conn.script(
        "BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0;
        SET LOCAL idle_in_transaction_session_timeout = '10s'",
    )
    .await?;
    let done = apply(conn).await;
    conn.script(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn apply(conn: &Conn) -> Result<(), Stop> {
    conn.rows("SELECT pg_advisory_xact_lock($1)", &[&TURN]).await?;
    conn.script(TABLE).await?;
    let applied = conn.rows("SELECT version, sha256 FROM schema_migrations", &[]).await?;
    let mut found = std::collections::BTreeMap::new();
    for row in &applied {
        found.insert(row.int(0)?, row.text(1)?);
    }
    let last = found.keys().next_back().copied().unwrap_or(0);
    let known = known();
    if last > known {
        return Err(StoreError::TooNew { found: last, known }.into());
    }
    for (migration, version) in MIGRATIONS.iter().zip(1_i64..) {
        let sha256 = hex_sha256(migration.sql.as_bytes());
        match found.get(&version) {
            Some(applied) if *applied == sha256 => {}
            Some(_) => {
                return Err(StoreError::Corrupt(format!(
                    "migration {version} ({}) of the database is not the one this program knows",
                    migration.name
                ))
                .into());
            }
            None if version <= last => {
                return Err(StoreError::Corrupt(format!("migration {version} is missing")).into());
            }
            None => {
                conn.script(migration.sql).await?;
                conn.execute(
                    "INSERT INTO schema_migrations (version, name, sha256) VALUES ($1, $2, $3)",
                    &[&version, &Text(migration.name), &Text(&sha256)],
                )
                .await?;
            }
        }
    }
    Ok(())
}
