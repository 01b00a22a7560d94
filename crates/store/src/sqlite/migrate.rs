//! Brings a database to the schema this program knows, and refuses what it does not.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::StoreError;
use crate::audit::hex_sha256;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// In order; the first is version 1. A released one never changes.
const MIGRATIONS: &[Migration] = &[
    Migration { name: "first", sql: include_str!("migrations/0001_first.sql") },
    Migration { name: "people", sql: include_str!("migrations/0002_people.sql") },
    Migration { name: "rules", sql: include_str!("migrations/0003_rules.sql") },
    Migration { name: "webhooks", sql: include_str!("migrations/0004_webhooks.sql") },
    Migration { name: "links", sql: include_str!("migrations/0005_links.sql") },
    Migration { name: "sent", sql: include_str!("migrations/0006_sent.sql") },
    Migration { name: "pushes", sql: include_str!("migrations/0007_pushes.sql") },
    Migration {
        name: "siblings_and_deferrals",
        sql: include_str!("migrations/0008_siblings_and_deferrals.sql"),
    },
    Migration { name: "posts", sql: include_str!("migrations/0009_posts.sql") },
    Migration { name: "views", sql: include_str!("migrations/0010_views.sql") },
    Migration { name: "duties", sql: include_str!("migrations/0011_duties.sql") },
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL)";

/// The version of a file from which everything has gone elsewhere. Versions of this program that do not know it refuse it
/// too, because it is newer than theirs.
pub(super) const MOVED: i64 = 1_000_000;

/// The version that this program brings a database to.
pub(super) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies what is missing. All of it or nothing, and by one process at a time.
pub(super) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    let done = apply(connection);
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    done
}

fn apply(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch(TABLE)?;
    let found: i64 = connection.query_row(
        "SELECT coalesce(max(version), 0) FROM schema_migrations",
        [],
        |row| row.get(0),
    )?;
    if found == MOVED {
        let to: String = connection.query_row(
            "SELECT name FROM schema_migrations WHERE version = ?1",
            params![MOVED],
            |row| row.get(0),
        )?;
        return Err(StoreError::Failed(format!("everything in it was carried over to {to}")));
    }
    let known = known();
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    for (migration, version) in MIGRATIONS.iter().zip(1_i64..) {
        let sha256 = hex_sha256(migration.sql.as_bytes());
        let applied: Option<String> = connection
            .query_row(
                "SELECT sha256 FROM schema_migrations WHERE version = ?1",
                params![version],
                |row| row.get(0),
            )
            .optional()?;
        match applied {
            Some(applied) if applied == sha256 => {}
            Some(_) => {
                return Err(StoreError::Corrupt(format!(
                    "migration {version} ({}) of the database is not the one this program knows",
                    migration.name
                )));
            }
            None if version <= found => {
                return Err(StoreError::Corrupt(format!("migration {version} is missing")));
            }
            None => {
                connection.execute_batch(migration.sql)?;
                connection.execute(
                    "INSERT INTO schema_migrations VALUES (?1, ?2, ?3, datetime('now'))",
                    params![version, migration.name, sha256],
                )?;
            }
        }
    }
    Ok(())
}
