//! Carries a file of SQLite over to this database: everything, in one transaction, read again before it is committed. What
//! is interrupted has left nothing behind.

use std::path::Path;

use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::Columns as _;
use super::conn::Conn;
use super::connect::{Connector, Work};
use super::conversations::texts;
use super::error::{Stop, parse};
use super::requests::searched;
use super::text::Text;
use super::wait::wait_for;
use super::{PostgresOptions, PostgresStore, migrate, prepared};
use crate::StoreError;
use crate::carry_over::{CarriedOver, CarriedTable, Cell, Kind, Peek, TABLES, Table, Tally};
use crate::sqlite::Source;

/// How many rows are written and read at once.
const ROWS: usize = 200;

impl PostgresStore {
    /// Carries everything over from a file that nobody has open, to a database that has nothing yet. `shown` is what the
    /// file says from then on of where it has gone. If all of it is there already, only that is noted.
    pub fn carry_over(
        from: &Path,
        to: PostgresOptions,
        shown: &str,
    ) -> Result<CarriedOver, StoreError> {
        let source = Source::take(from)?;
        let runtime = runtime()?;
        let connector = Connector::new(runtime.handle().clone(), to)?;
        let done = wait_for(async {
            let (conn, _) = prepared(&connector).await?;
            // Copying takes as long as it takes.
            conn.script(
                "BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0;
                 SET LOCAL idle_in_transaction_session_timeout = 0",
            )
            .await?;
            let done = carry(&source, &conn).await;
            conn.script(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            done
        });
        runtime.shutdown_background();
        let done = done.map_err(StoreError::from)?;
        source.retire(shown)?;
        Ok(done)
    }

    /// How a database is, without changing it.
    pub fn peek(options: PostgresOptions) -> Result<Peek, StoreError> {
        let runtime = runtime()?;
        let connector = Connector::new(runtime.handle().clone(), options)?;
        let schema: Result<i64, Stop> = wait_for(async {
            let conn = connector.connect(Work::Read).await?;
            let there =
                conn.row("SELECT to_regclass('schema_migrations') IS NOT NULL", &[]).await?;
            if !there.map_or(Ok(false), |row| row.flag(0))? {
                return Ok(0);
            }
            let sql = "SELECT coalesce(max(version), 0) FROM schema_migrations";
            Ok(conn.row(sql, &[]).await?.map_or(Ok(0), |row| row.int(0))?)
        });
        runtime.shutdown_background();
        Ok(Peek { schema: schema?, known: migrate::known() })
    }
}

fn runtime() -> Result<Runtime, StoreError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("signoff-postgres")
        .enable_all()
        .build()
        .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))
}

async fn carry(source: &Source, conn: &Conn) -> Result<CarriedOver, Stop> {
    // Other nodes write nothing until this is done.
    conn.rows("SELECT 1 FROM state FOR UPDATE", &[]).await?;
    let mut empty = true;
    for table in TABLES {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", table.name);
        empty &= !conn.row(&sql, &[]).await?.map_or(Ok(false), |row| row.flag(0))?;
    }
    let mut tables = Vec::new();
    for table in TABLES {
        let sent = if empty {
            let mut groups = Vec::new();
            let sent = source.rows::<Stop>(table, ROWS, |rows| {
                groups.push(rows);
                // Not all of a table at once in memory.
                if groups.len() == ROWS {
                    wait_for(write_all(conn, table, &mut groups))
                } else {
                    Ok(())
                }
            })?;
            write_all(conn, table, &mut groups).await?;
            sent
        } else {
            source.rows::<Stop>(table, ROWS, |_| Ok(()))?
        };
        let there = read(conn, table).await?;
        if sent != there {
            let problem = if empty {
                format!(
                    "{} of {} rows of {} arrived as they were",
                    there.rows, sent.rows, sent.table
                )
            } else {
                "the database is not empty, and what is in it is something else".to_owned()
            };
            return Err(StoreError::Failed(problem).into());
        }
        tables.push(there);
    }
    if empty {
        count(source, conn).await?;
        // Until PostgreSQL has looked at tables by itself it takes them for small, and sorts all of an inbox for one page.
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        conn.script(&format!("ANALYZE {}", names.join(", "))).await?;
    }
    Ok(CarriedOver { was_there: !empty, tables })
}

async fn write_all(
    conn: &Conn,
    table: &Table,
    groups: &mut Vec<Vec<Vec<Cell>>>,
) -> Result<(), Stop> {
    for rows in groups.drain(..) {
        write(conn, table, &rows).await?;
    }
    Ok(())
}

/// Writes rows, with what this database keeps besides, to search by.
async fn write(conn: &Conn, table: &Table, rows: &[Vec<Cell>]) -> Result<(), Stop> {
    let mut names = table.names();
    let mut types: Vec<&str> = table.columns.iter().map(|(_, kind)| sql_type(*kind)).collect();
    let mut columns: Vec<Box<dyn ToSql + Sync + '_>> = Vec::new();
    for (at, (_, kind)) in table.columns.iter().enumerate() {
        columns.push(column(*kind, rows.iter().map(move |row| &row[at])));
    }
    let bodies = |name: &str| table.columns.iter().position(|(column, _)| *column == name);
    if let (true, Some(body)) = (table.name == "requests", bodies("body")) {
        let mut derived: [Vec<Option<String>>; 3] = Default::default();
        for row in rows {
            let body: serde_json::Value = match &row[body] {
                Cell::Text(body) => parse("a request", body)?,
                _ => serde_json::Value::Null,
            };
            let text = |name: &str| body[name].as_str().map(str::to_owned);
            derived[0].push(text("risk"));
            derived[1].push(text("turn"));
            derived[2].push(Some(searched(&text("prompt").unwrap_or_default())));
        }
        names.push_str(", risk, turn, prompt");
        for texts in derived {
            types.push("text[]");
            let texts: Vec<Option<Owned>> = texts.into_iter().map(|it| it.map(Owned)).collect();
            columns.push(Box::new(texts));
        }
    }
    if table.name == "conversations" {
        // Filled below: lists in lists cannot be taken apart.
        names.push_str(", texts");
    }
    let taken: Vec<String> =
        types.iter().enumerate().map(|(n, it)| format!("${}::{it}", n + 1)).collect();
    let more = if table.name == "conversations" { ", '{}'::text[]" } else { "" };
    let sql = format!(
        "INSERT INTO {} ({names}) SELECT *{more} FROM unnest({})",
        table.name,
        taken.join(", ")
    );
    let bound: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|it| &**it as _).collect();
    conn.execute(&sql, &bound).await?;
    if let (true, Some(metadata)) = (table.name == "conversations", bodies("metadata")) {
        for row in rows {
            let (Cell::Int(no), Cell::Text(metadata)) = (&row[0], &row[metadata]) else { continue };
            let texts = texts(&parse("a conversation", metadata)?);
            let texts: Vec<Text<'_>> = texts.iter().map(|text| Text(text)).collect();
            let sql = "UPDATE conversations SET texts = $2 WHERE no = $1";
            conn.execute(sql, &[no, &texts]).await?;
        }
    }
    Ok(())
}

/// Text of one's own, as it is stored.
#[derive(Debug)]
struct Owned(String);

impl ToSql for Owned {
    fn to_sql(
        &self,
        ty: &tokio_postgres::types::Type,
        out: &mut tokio_postgres::types::private::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Text(&self.0).to_sql(ty, out)
    }

    fn accepts(ty: &tokio_postgres::types::Type) -> bool {
        <Text<'_> as ToSql>::accepts(ty)
    }

    tokio_postgres::types::to_sql_checked!();
}

fn sql_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "bigint[]",
        Kind::Text => "text[]",
        Kind::Blob => "bytea[]",
        Kind::Flag => "boolean[]",
    }
}

fn column<'a>(kind: Kind, cells: impl Iterator<Item = &'a Cell>) -> Box<dyn ToSql + Sync + 'a> {
    match kind {
        Kind::Int => {
            let int = |cell: &Cell| if let Cell::Int(it) = cell { Some(*it) } else { None };
            Box::new(cells.map(int).collect::<Vec<Option<i64>>>())
        }
        Kind::Text => {
            let text =
                |cell: &'a Cell| if let Cell::Text(it) = cell { Some(Text(it)) } else { None };
            Box::new(cells.map(text).collect::<Vec<Option<Text<'a>>>>())
        }
        Kind::Blob => {
            let blob =
                |cell: &'a Cell| if let Cell::Blob(it) = cell { Some(it.as_slice()) } else { None };
            Box::new(cells.map(blob).collect::<Vec<Option<&'a [u8]>>>())
        }
        Kind::Flag => {
            let flag = |cell: &Cell| if let Cell::Flag(it) = cell { Some(*it) } else { None };
            Box::new(cells.map(flag).collect::<Vec<Option<bool>>>())
        }
    }
}

/// Reads a table as it is here.
async fn read(conn: &Conn, table: &Table) -> Result<CarriedTable, Stop> {
    let name = table.name;
    conn.script(&format!("DECLARE read_{name} CURSOR FOR {}", table.select())).await?;
    let mut tally = Tally::default();
    loop {
        let rows = conn.rows(&format!("FETCH {ROWS} FROM read_{name}"), &[]).await?;
        for row in &rows {
            tally.add(&cells(table, row)?);
        }
        if rows.len() < ROWS {
            conn.script(&format!("CLOSE read_{name}")).await?;
            return Ok(tally.done(name));
        }
    }
}

fn cells(table: &Table, row: &Row) -> Result<Vec<Cell>, Stop> {
    let cell = |(column, (_, kind)): (usize, &(&str, Kind))| -> Result<Cell, Stop> {
        Ok(match kind {
            Kind::Int => row.int_if_any(column)?.map_or(Cell::Nothing, Cell::Int),
            Kind::Text => row.text_if_any(column)?.map_or(Cell::Nothing, Cell::Text),
            Kind::Blob => {
                row.try_get::<_, Option<Vec<u8>>>(column)?.map_or(Cell::Nothing, Cell::Blob)
            }
            Kind::Flag => row.try_get::<_, Option<bool>>(column)?.map_or(Cell::Nothing, Cell::Flag),
        })
    };
    table.columns.iter().enumerate().map(cell).collect()
}

/// Numbers go on where they ended.
async fn count(source: &Source, conn: &Conn) -> Result<(), Stop> {
    let last_event = source.last_event()?;
    conn.execute(
        "UPDATE state SET changes = changes + 1,
             runs = (SELECT coalesce(max(no), 0) FROM runs),
             requests = (SELECT coalesce(max(no), 0) FROM requests),
             notes = (SELECT coalesce(max(no), 0) FROM notes),
             events = greatest($1, (SELECT coalesce(max(no), 0) FROM events)),
             timers = (SELECT coalesce(max(no), 0) FROM timers),
             conversations = (SELECT coalesce(max(no), 0) FROM conversations),
             grants = (SELECT coalesce(max(no), 0) FROM grants),
             audit = (SELECT coalesce(max(no), 0) FROM audit),
             audit_hash = coalesce((SELECT hash FROM audit ORDER BY no DESC LIMIT 1), '')",
        &[&last_event],
    )
    .await?;
    Ok(())
}
