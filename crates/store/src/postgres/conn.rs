//! One connection, and the statements it has prepared.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

/// How many statements are kept. Filters make many texts; nobody uses them all.
const MAX_STATEMENTS: usize = 256;

/// What is bound to a statement.
pub(super) type Bound<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection.
pub(super) struct Conn {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conn").field("closed", &self.client.is_closed()).finish_non_exhaustive()
    }
}

impl Conn {
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: Mutex::default() }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// All rows of a query.
    pub(super) async fn rows(&self, sql: &str, bound: Bound<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql).await?;
        self.client.query(&statement, bound).await
    }

    /// The row of a query that has one at most.
    pub(super) async fn row(&self, sql: &str, bound: Bound<'_>) -> Result<Option<Row>, Error> {
        let statement = self.statement(sql).await?;
        self.client.query_opt(&statement, bound).await
    }

    /// Carries out a statement. How many rows it concerned.
    pub(super) async fn execute(&self, sql: &str, bound: Bound<'_>) -> Result<u64, Error> {
        let statement = self.statement(sql).await?;
        self.client.execute(&statement, bound).await
    }

    /// Carries out several statements that nothing is bound to.
    pub(super) async fn script(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// Prepares statements.
    pub(super) async fn prepare(&self, statements: &[&str]) -> Result<(), Error> {
        for sql in statements {
            self.statement(sql).await?;
        }
        Ok(())
    }

    async fn statement(&self, sql: &str) -> Result<Statement, Error> {
        let known = self.lock().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.lock();
        if statements.len() >= MAX_STATEMENTS {
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
