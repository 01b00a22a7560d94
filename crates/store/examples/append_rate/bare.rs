//! The barest program that groups commits: one connection, and one statement for all that waits.

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

pub(crate) struct Row {
    run: i64,
    seq: i64,
    written: oneshot::Sender<()>,
}

pub(crate) type Queue = mpsc::UnboundedSender<Row>;

/// Writes what is queued.
pub(crate) fn start(runtime: &Runtime, address: &str) -> Queue {
    let (queue, rows) = mpsc::unbounded_channel();
    let address = address.to_owned();
    runtime.spawn(write(address, rows));
    queue
}

async fn write(address: String, mut rows: mpsc::UnboundedReceiver<Row>) {
    let (client, connection) =
        tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let table = "CREATE TABLE IF NOT EXISTS bare (run BIGINT, seq BIGINT, body BYTEA, PRIMARY KEY (run, seq));
        TRUNCATE bare";
    client.batch_execute(table).await.unwrap();
    let insert = "INSERT INTO bare SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])";
    let insert = client.prepare(insert).await.unwrap();
    let mut batch = Vec::new();
    while rows.recv_many(&mut batch, 1024).await > 0 {
        let runs: Vec<i64> = batch.iter().map(|row: &Row| row.run).collect();
        let seqs: Vec<i64> = batch.iter().map(|row| row.seq).collect();
        let bodies = vec![vec![b'x'; 512]; batch.len()];
        client.execute(&insert, &[&runs, &seqs, &bodies]).await.unwrap();
        for row in batch.drain(..) {
            // Nobody has to wait.
            let _ = row.written.send(());
        }
    }
}

/// Writes one row after another.
pub(crate) async fn caller(queue: Queue, n: usize) {
    for seq in 1.. {
        let (written, done) = oneshot::channel();
        let row = Row { run: i64::try_from(n).unwrap(), seq, written };
        queue.send(row).ok().unwrap();
        done.await.unwrap();
        crate::tick().await;
    }
}
