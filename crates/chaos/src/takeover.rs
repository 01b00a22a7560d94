//! How long it takes until somebody goes on with the runs of a node that is gone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

/// How far a run is. Its row may be behind its journal.
const HEAD: &str = "(SELECT max(seq + count - 1) FROM journal WHERE run = runs.no)";
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A run that nobody has taken up by then is counted with this.
const LONGEST: Duration = Duration::from_mins(2);

/// A database, looked at from outside. It may be down for a while.
#[derive(Clone, Debug)]
pub(crate) struct Database(pub(crate) String);

impl Database {
    async fn connect(&self) -> Client {
        loop {
            if let Ok((client, connection)) = tokio_postgres::connect(&self.0, NoTls).await {
                tokio::spawn(connection);
                return client;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// What a statement finds, as soon as there is somebody to ask.
    async fn rows(&self, sql: &str, bound: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        loop {
            match self.connect().await.query(sql, bound).await {
                Ok(rows) => return rows,
                // The first node makes the tables.
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
                    return Vec::new();
                }
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// The names of all nodes.
    pub(crate) async fn nodes(&self) -> Vec<String> {
        let rows = self.rows("SELECT id FROM nodes", &[]).await;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// How many runs there are.
    pub(crate) async fn runs(&self) -> i64 {
        self.rows("SELECT count(*) FROM runs", &[]).await[0].get(0)
    }

    /// The runs that a node holds, and how far they are.
    pub(crate) async fn held(&self, node: &str) -> BTreeMap<String, i64> {
        let sql = format!("SELECT id, {HEAD} FROM runs WHERE lease_node = $1");
        let rows = self.rows(&sql, &[&node]).await;
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// How long after `since` each of these runs went on.
    pub(crate) async fn went_on(
        &self,
        since: Instant,
        held: BTreeMap<String, i64>,
    ) -> Vec<Duration> {
        let (mut held, mut took) = (held, Vec::new());
        let mut client = self.connect().await;
        while !held.is_empty() && since.elapsed() < LONGEST {
            tokio::time::sleep(LOOK_EVERY).await;
            let ids: Vec<&String> = held.keys().collect();
            let sql = format!("SELECT id, {HEAD} FROM runs WHERE id = ANY($1)");
            let Ok(rows) = client.query(&sql, &[&ids]).await else {
                client = self.connect().await;
                continue;
            };
            for row in rows {
                let (id, now): (String, i64) = (row.get(0), row.get(1));
                if held.get(&id).is_some_and(|before| now > *before) {
                    held.remove(&id);
                    took.push(since.elapsed());
                }
            }
        }
        took.extend(held.values().map(|_| LONGEST));
        took
    }
}
