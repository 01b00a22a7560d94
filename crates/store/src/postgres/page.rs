//! One page of a list, whatever is listed.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::clauses::Clauses;
use super::columns::{read, stored};
use super::conn::Conn;
use super::error::Stop;
use crate::Page;
use crate::entries::{page_limit, read_cursor, write_cursor};

/// A list in the order of its numbers.
pub(super) struct List {
    /// Columns and tables, to stand before the conditions.
    pub(super) select: String,
    /// What must hold.
    pub(super) clauses: Clauses,
    /// How it goes on after the last item of a page, and in what order.
    pub(super) order: Order,
    /// The letter of its cursors.
    pub(super) cursor: char,
}

/// Which items come first.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// Those with the lowest number; the column, as the query calls it, is compared so.
    Oldest { after: &'static str, by: &'static str },
    /// Those with the highest.
    Newest { before: &'static str, by: &'static str },
}

impl List {
    /// The page after `cursor`. `from_row` gives an item and its number.
    pub(super) async fn page<T>(
        mut self,
        conn: &Conn,
        cursor: Option<&str>,
        limit: usize,
        from_row: impl Fn(&Row) -> Result<(i64, T), Stop>,
    ) -> Result<Page<T>, Stop> {
        let limit = page_limit(limit);
        let (beyond, by, way) = match self.order {
            Order::Oldest { after, by } => (after, by, "ASC"),
            Order::Newest { before, by } => (before, by, "DESC"),
        };
        if let Some(seen) = read_cursor(self.cursor, cursor)? {
            self.clauses.and(beyond, [stored(seen)]);
        }
        self.clauses.push(stored(limit as u64 + 1));
        let (conditions, last) = (self.clauses.sql(), self.clauses.len());
        let sql = format!("{}{conditions} ORDER BY {by} {way} LIMIT ${last}", self.select);
        let rows = rows(conn, &sql, &self.clauses).await?;
        let mut items = Vec::new();
        let mut last = 0;
        for row in &rows {
            if items.len() == limit {
                return Ok(Page { items, next: Some(write_cursor(self.cursor, read(last))) });
            }
            let (no, item) = from_row(row)?;
            last = no;
            items.push(item);
        }
        Ok(Page { items, next: None })
    }
}

/// The rows of a query with conditions.
pub(super) async fn rows(conn: &Conn, sql: &str, clauses: &Clauses) -> Result<Vec<Row>, Stop> {
    let values = clauses.bound();
    let bound: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
    Ok(conn.rows(sql, &bound).await?)
}
