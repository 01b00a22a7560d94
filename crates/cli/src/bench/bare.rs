//! The barest program that groups commits in PostgreSQL: one connection, and one statement for all that waits.

use std::time::Instant;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS signoff_bench_bare (run BIGINT, seq BIGINT, body BYTEA, PRIMARY KEY (run, seq));
    TRUNCATE signoff_bench_bare";
const INSERT: &str =
    "INSERT INTO signoff_bench_bare SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])";

struct Row {
    run: i64,
    seq: i64,
    written: oneshot::Sender<()>,
}

/// Rows a second, of so many callers who each wait for their own.
pub(crate) async fn rate(address: &str, callers: usize, rows: usize) -> anyhow::Result<f64> {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(TABLE).await?;
    let insert = client.prepare(INSERT).await?;
    let (queue, mut waiting) = mpsc::unbounded_channel::<Row>();
    let since = Instant::now();
    let mut all = JoinSet::new();
    for run in 0..i64::try_from(callers)? {
        let queue = queue.clone();
        let count = i64::try_from(rows / callers)?;
        all.spawn(async move {
            for seq in 0..count {
                let (written, done) = oneshot::channel();
                // Whoever writes ends only after all callers.
                let _ = queue.send(Row { run, seq, written });
                let _ = done.await;
            }
        });
    }
    drop(queue);
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, 1_024).await > 0 {
        let runs: Vec<i64> = batch.iter().map(|row: &Row| row.run).collect();
        let seqs: Vec<i64> = batch.iter().map(|row| row.seq).collect();
        let bodies = vec![vec![b'x'; 512]; batch.len()];
        client.execute(&insert, &[&runs, &seqs, &bodies]).await?;
        for row in batch.drain(..) {
            // Nobody has to wait.
            let _ = row.written.send(());
        }
    }
    while all.join_next().await.is_some() {}
    let took = since.elapsed();
    client.batch_execute("DROP TABLE signoff_bench_bare").await?;
    #[allow(clippy::cast_precision_loss)]
    Ok(rows as f64 / took.as_secs_f64())
}
