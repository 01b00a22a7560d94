//! Connections that break and servers that go away: what succeeded is said to have succeeded, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signoff_test_postgres::Server;

use super::open_dyn;
use crate::conformance::fixtures::{append, begin, decide, output, run, waiting};
use crate::{Decided, Store};

const CUT: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE application_name = 'signoff'";

/// Appends one after another. Each must succeed: a lost answer that was asked for again would find the head moved.
async fn append_all(store: Arc<dyn Store>, name: String, count: u64) {
    let lease = begin(&store, &name, "own", vec![]).await;
    for seq in 1..=count {
        store.append(append(&lease, seq, vec![output(seq + 1)])).await.unwrap();
        // What is acknowledged can be read at once.
        assert_eq!(store.run(&run(&name)).unwrap().unwrap().head, seq + 1);
    }
    assert_eq!(store.load(&run(&name), None).unwrap().entries.len() as u64, count + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cut_connections_are_made_again_and_nothing_is_done_twice() {
    let server = Arc::new(Server::start());
    let address = server.create("runs");
    let nodes = [open_dyn(&address, "one").1, open_dyn(&address, "two").1];
    let stop = Arc::new(AtomicBool::new(false));
    let cutter = {
        let (server, stop) = (server.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut cuts = 0;
            while !stop.load(Ordering::SeqCst) {
                server.sql("postgres", CUT);
                cuts += 1;
                std::thread::sleep(Duration::from_millis(100));
            }
            cuts
        })
    };
    let work: Vec<_> = (0..8)
        .map(|n| tokio::spawn(append_all(nodes[n % 2].clone(), format!("a{n}"), 60)))
        .collect();
    for one in work {
        one.await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    let cuts = cutter.join().unwrap();
    assert!(cuts > 3, "{cuts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_restarts_holds_up_work_and_loses_none() {
    let mut server = Server::start();
    let address = server.create("runs");
    let nodes = [open_dyn(&address, "one").1, open_dyn(&address, "two").1];
    for n in 0..40 {
        waiting(&nodes[0], &format!("asks{n}"), None).await;
    }
    let mut work: Vec<_> = (0..6)
        .map(|n| tokio::spawn(append_all(nodes[n % 2].clone(), format!("a{n}"), 150)))
        .collect();
    // Every question is answered by both nodes; one of them counts.
    let answers: Vec<_> = nodes
        .iter()
        .map(|node| {
            let node = node.clone();
            tokio::spawn(async move {
                let mut won = 0;
                for n in 0..40 {
                    let name = format!("asks{n}");
                    let decided = node.decide(decide(&run(&name), 1, "yes", "ann", 20)).await;
                    won += usize::from(matches!(decided.unwrap(), Decided::Taken { .. }));
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
                won
            })
        })
        .collect();
    for crash in [true, false, true] {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| {
            if crash {
                server.crash();
            } else {
                server.stop();
            }
            server.begin();
        });
    }
    let mut won = 0;
    for answers in answers {
        won += answers.await.unwrap();
    }
    assert_eq!(won, 40);
    for one in work.drain(..) {
        one.await.unwrap();
    }
    let audit = nodes[1].audit(None, 0, 99).unwrap();
    assert_eq!(audit.len(), 80, "each was asked and decided");
    // And what one does the other hears, by a new connection.
    let before = nodes[1].changes().unwrap();
    waiting(&nodes[0], "after", None).await;
    super::until("it is not heard", async || nodes[1].changes().unwrap() != before).await;
}

#[tokio::test]
async fn a_server_that_stays_away_is_told_of() {
    let mut server = Server::start();
    let address = server.create("runs");
    let mut options = crate::PostgresOptions::new(&address, "own").unwrap();
    options.patience = Duration::from_millis(300);
    let store: Arc<dyn Store> = Arc::new(crate::PostgresStore::open(options).unwrap());
    let lease = begin(&store, "a", "own", vec![]).await;
    server.stop();
    let refused = store.append(append(&lease, 1, vec![output(2)])).await.unwrap_err();
    assert!(refused.to_string().contains("PostgreSQL"), "{refused}");
    assert!(store.run(&run("a")).is_err());
    server.begin();
    store.append(append(&lease, 1, vec![output(2)])).await.unwrap();
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 2);
}

/// A transaction of a node that does not move (stopped, swapped out, cut off) holds up nobody for long.
#[tokio::test]
async fn a_stalled_node_is_thrown_out() {
    let server = Server::start();
    let address = server.create("runs");
    let (_, store) = open_dyn(&address, "own");
    // Another node's writer, in the middle of a batch, that never comes back.
    let options = crate::PostgresOptions::new(&address, "stalled").unwrap();
    let handle = tokio::runtime::Handle::current();
    let connector = crate::postgres::connect::Connector::new(handle, options).unwrap();
    let stalled = connector.connect(crate::postgres::connect::Work::Write).await.unwrap();
    stalled.script("BEGIN; SELECT * FROM state FOR UPDATE").await.unwrap();
    let since = std::time::Instant::now();
    begin(&store, "a", "own", vec![]).await;
    let took = since.elapsed();
    assert!(took > Duration::from_millis(500) && took < Duration::from_secs(8), "{took:?}");
    assert!(stalled.script("COMMIT").await.is_err());
}
