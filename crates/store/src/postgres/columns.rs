//! Reads the columns of a row.

use tokio_postgres::{Error, Row};

use super::text::Stored;

/// The columns of a row, by their place.
pub(super) trait Columns {
    fn text(&self, column: usize) -> Result<String, Error>;
    fn text_if_any(&self, column: usize) -> Result<Option<String>, Error>;
    fn int(&self, column: usize) -> Result<i64, Error>;
    fn int_if_any(&self, column: usize) -> Result<Option<i64>, Error>;
    fn flag(&self, column: usize) -> Result<bool, Error>;
    /// A number that is never negative.
    fn number(&self, column: usize) -> Result<u64, Error> {
        self.int(column).map(read)
    }
    /// A small number that is never negative.
    fn small(&self, column: usize) -> Result<u32, Error> {
        self.int(column).map(|number| u32::try_from(number).unwrap_or(0))
    }
}

impl Columns for Row {
    fn text(&self, column: usize) -> Result<String, Error> {
        self.try_get::<_, Stored>(column).map(|text| text.0)
    }

    fn text_if_any(&self, column: usize) -> Result<Option<String>, Error> {
        self.try_get::<_, Option<Stored>>(column).map(|text| text.map(|text| text.0))
    }

    fn int(&self, column: usize) -> Result<i64, Error> {
        self.try_get(column)
    }

    fn int_if_any(&self, column: usize) -> Result<Option<i64>, Error> {
        self.try_get(column)
    }

    fn flag(&self, column: usize) -> Result<bool, Error> {
        self.try_get(column)
    }
}

/// A number as the database keeps it.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as it was before.
pub(super) fn read(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
