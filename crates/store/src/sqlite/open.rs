//! Opens database files: private to their owner, durable, shared with other processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::is_busy;
use crate::{NodeId, StoreError};

/// The oldest `SQLite` that does not damage a WAL database written by two connections.
const OLDEST_SQLITE: i32 = 3_051_003;
/// Pages in the WAL before a commit moves them to the database: 16 MiB.
const CHECKPOINT_PAGES: i64 = 4096;
/// What is kept of the WAL file after that.
const WAL_BYTES_KEPT: i64 = 64 * 1024 * 1024;

/// How to open a [`SqliteStore`](crate::SqliteStore).
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The database file. It and its directory are made if they are not there.
    pub path: PathBuf,
    /// The name of this process, never used before: letters, digits, `.`, `_` and `-`.
    pub node: NodeId,
    /// How many connections read at the same time.
    pub readers: usize,
}

impl SqliteOptions {
    /// The usual options for a file.
    pub fn new(path: impl Into<PathBuf>, node: impl Into<NodeId>) -> Self {
        Self { path: path.into(), node: node.into(), readers: 4 }
    }
}

/// Makes the file, readable and writable by its owner only, and its directory likewise.
pub(super) fn create_file(path: &Path) -> Result<(), StoreError> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        create_directory(directory)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| cannot("create", path, &error))
}

/// Makes a directory that only its owner can enter. Leaves one that is there as it is.
pub(super) fn create_directory(path: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| cannot("create", path, &error))
}

/// The error of a file operation.
pub(super) fn cannot(do_what: &str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!("cannot {do_what} {}: {error}", path.display()))
}

/// The connection that writes.
pub(super) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    let found = rusqlite::version_number();
    if found < OLDEST_SQLITE {
        return Err(StoreError::Failed(format!(
            "SQLite {} is too old: 3.51.3 or newer is needed",
            rusqlite::version()
        )));
    }
    // Where others open or close it at the same moment, switching to WAL is refused without SQLite
    // waiting by itself.
    let mut tries = 0;
    let mut connection = loop {
        match in_wal_mode(path) {
            Err(error) if is_busy(&error) && tries < 2000 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => break opened?,
        }
    };
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    plan_once(&connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    // SQLite's own waiting goes up to 100 ms a step, far longer than a commit takes.
    connection.busy_handler(Some(|tries| {
        std::thread::sleep(Duration::from_micros(if tries < 20 { 200 } else { 2000 }));
        tries < 5000
    }))?;
    Ok(connection)
}

fn in_wal_mode(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    Ok(connection)
}

/// A connection that reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "cache_size", -2_048)?;
    plan_once(&connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Lets no bound value change a query's plan. Otherwise a statement is prepared anew each time it is
/// bound where a partial index might fit, which cost more than the query itself.
fn plan_once(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
