//! Conditions of a query. Their text is always part of this program; what users say is only bound.

use std::fmt::Write as _;

use tokio_postgres::types::ToSql;

use super::text::Text;

/// Conditions that must all hold, and what is bound to them in order.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    sql: String,
    values: Vec<Value>,
}

/// Something to bind.
#[derive(Debug)]
pub(super) enum Value {
    Int(i64),
    Text(String),
    Texts(Vec<String>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl Clauses {
    /// Adds a condition; each `?` in it takes one of `values`.
    pub(super) fn and<V: Into<Value>>(
        &mut self,
        condition: &'static str,
        values: impl IntoIterator<Item = V>,
    ) {
        self.sql.push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        let mut values = values.into_iter();
        for (n, part) in condition.split('?').enumerate() {
            if n > 0 {
                self.values.extend(values.next().map(Into::into));
                // Writing to a string cannot fail.
                let _ = write!(self.sql, "${}", self.values.len());
            }
            self.sql.push_str(part);
        }
    }

    /// Adds a condition that nothing is bound to.
    pub(super) fn and_so(&mut self, condition: &'static str) {
        self.and::<i64>(condition, []);
    }

    /// Adds a condition if there is something to compare with.
    pub(super) fn and_if(&mut self, condition: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.and(condition, [value]);
        }
    }

    /// The text, to stand after the tables.
    pub(super) fn sql(&self) -> &str {
        &self.sql
    }

    /// How many values are bound.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Binds one more, to what stands after the conditions.
    pub(super) fn push(&mut self, value: impl Into<Value>) {
        self.values.push(value.into());
    }

    /// What is bound, as the database takes it.
    pub(super) fn bound(&self) -> Vec<Box<dyn ToSql + Sync + '_>> {
        let bind = |value| -> Box<dyn ToSql + Sync + '_> {
            match value {
                &Value::Int(value) => Box::new(value),
                Value::Text(text) => Box::new(Text(text)),
                Value::Texts(texts) => {
                    Box::new(texts.iter().map(|text| Text(text)).collect::<Vec<_>>())
                }
            }
        };
        self.values.iter().map(bind).collect()
    }
}
