//! One page of a list, whatever is listed.

use rusqlite::{Connection, Row, params_from_iter};

use super::clauses::Clauses;
use super::error::{read, stored};
use crate::entries::{page_limit, read_cursor, write_cursor};
use crate::{Page, StoreError};

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
    pub(super) fn page<T>(
        mut self,
        connection: &Connection,
        cursor: Option<&str>,
        limit: usize,
        from_row: impl Fn(&Row<'_>) -> Result<(i64, T), StoreError>,
    ) -> Result<Page<T>, StoreError> {
        let limit = page_limit(limit);
        let (beyond, by, way) = match self.order {
            Order::Oldest { after, by } => (after, by, "ASC"),
            Order::Newest { before, by } => (before, by, "DESC"),
        };
        if let Some(seen) = read_cursor(self.cursor, cursor)? {
            self.clauses.and(beyond, [stored(seen)]);
        }
        let sql = format!("{}{} ORDER BY {by} {way} LIMIT ?", self.select, self.clauses.sql());
        self.clauses.values.push(stored(limit as u64 + 1).into());
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&self.clauses.values))?;
        let mut items = Vec::new();
        let mut last = 0;
        while let Some(row) = rows.next()? {
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
