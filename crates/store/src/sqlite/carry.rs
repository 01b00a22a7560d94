//! What is needed of a file to carry it over to another database, and to look at it without changing it.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::migrate::{MOVED, known, migrate};
use super::{nodes, open};
use crate::carry_over::CarriedTable;
use crate::carry_over::{Cell, Kind, Peek, Table, Tally};
use crate::{SqliteStore, StoreError};

/// A file that nobody else can write as long as this is there.
#[derive(Debug)]
pub(crate) struct Source {
    connection: Connection,
}

impl Source {
    /// Takes a file that no other process has open.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        let alive = nodes::count_alive(path);
        if alive > 0 {
            return Err(StoreError::Failed(format!(
                "{} is open in another process; stop what uses it first",
                path.display()
            )));
        }
        let connection = open::open_writer(path)?;
        migrate(&connection)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Self { connection })
    }

    /// Gives the rows of a table in groups, and says what they were.
    pub(crate) fn rows<E: From<StoreError>>(
        &self,
        table: &Table,
        most: usize,
        mut take: impl FnMut(Vec<Vec<Cell>>) -> Result<(), E>,
    ) -> Result<CarriedTable, E> {
        let failed = |error: rusqlite::Error| E::from(StoreError::from(error));
        let mut statement = self.connection.prepare(&table.select()).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let (mut tally, mut group) = (Tally::default(), Vec::new());
        while let Some(row) = rows.next().map_err(failed)? {
            let cells = cells(table, row).map_err(failed)?;
            tally.add(&cells);
            group.push(cells);
            if group.len() == most {
                take(std::mem::take(&mut group))?;
            }
        }
        if !group.is_empty() {
            take(group)?;
        }
        Ok(tally.done(table.name))
    }

    /// The last number that was given to an event; those that were told are gone.
    pub(crate) fn last_event(&self) -> Result<i64, StoreError> {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'events'";
        Ok(self.connection.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or(0))
    }

    /// Says in the file where everything has gone. From then on no version of this program opens it.
    pub(crate) fn retire(self, to: &str) -> Result<(), StoreError> {
        self.connection.execute(
            "INSERT INTO schema_migrations VALUES (?1, ?2, '', datetime('now'))",
            params![MOVED, to],
        )?;
        self.connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

fn cells(table: &Table, row: &Row<'_>) -> rusqlite::Result<Vec<Cell>> {
    let cell = |(column, (_, kind)): (usize, &(&str, Kind))| {
        Ok(match kind {
            Kind::Int => row.get::<_, Option<i64>>(column)?.map_or(Cell::Nothing, Cell::Int),
            Kind::Text => row.get::<_, Option<String>>(column)?.map_or(Cell::Nothing, Cell::Text),
            Kind::Blob => row.get::<_, Option<Vec<u8>>>(column)?.map_or(Cell::Nothing, Cell::Blob),
            Kind::Flag => row.get::<_, Option<bool>>(column)?.map_or(Cell::Nothing, Cell::Flag),
        })
    };
    table.columns.iter().enumerate().map(cell).collect()
}

impl SqliteStore {
    /// How a file is, without changing it.
    pub fn peek(path: &Path) -> Result<Peek, StoreError> {
        let connection = open::open_reader(path)?;
        let there: i64 = connection.query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'",
            [],
            |row| row.get(0),
        )?;
        let sql = "SELECT coalesce(max(version), 0) FROM schema_migrations";
        let schema = match there {
            0 => 0,
            _ => connection.query_row(sql, [], |row| row.get(0))?,
        };
        Ok(Peek { schema, known: known() })
    }

    /// Gives the room of what was removed back to the disk. Takes as long as copying the file, and nobody writes meanwhile.
    pub fn compact(path: &Path) -> Result<(), StoreError> {
        let connection = open::open_writer(path)?;
        connection.execute_batch("VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}
