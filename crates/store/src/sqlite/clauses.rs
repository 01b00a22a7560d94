//! Conditions of a query. Their text is always part of this program; what users say is only bound.

use rusqlite::types::Value;

/// Conditions that must all hold, and what is bound to them in order.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    sql: String,
    pub(super) values: Vec<Value>,
}

impl Clauses {
    /// Adds a condition; each `?` in it takes one of `values`.
    pub(super) fn and(
        &mut self,
        condition: &'static str,
        values: impl IntoIterator<Item = impl Into<Value>>,
    ) {
        self.sql.push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        self.sql.push_str(condition);
        self.values.extend(values.into_iter().map(Into::into));
    }

    /// Adds a condition if there is something to compare with.
    pub(super) fn and_if(&mut self, condition: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.and(condition, [value.to_owned()]);
        }
    }

    /// The text, to stand after the tables.
    pub(super) fn sql(&self) -> &str {
        &self.sql
    }
}

/// A `LIKE` pattern (escaped with `\`) for texts that contain `text`.
pub(super) fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
