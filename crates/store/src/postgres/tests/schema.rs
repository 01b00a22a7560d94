//! Which databases are worked with.

use super::{open, open_dyn};
use crate::conformance::fixtures::{new_run, run, waiting};
use crate::{Store as _, StoreError};

#[tokio::test]
async fn many_start_at_once() {
    let address = signoff_test_postgres::fresh();
    let nodes: Vec<_> = (0..8)
        .map(|n| {
            let address = address.clone();
            std::thread::spawn(move || open(&address, &format!("node{n}")).unwrap())
        })
        .collect();
    let nodes: Vec<_> = nodes.into_iter().map(|node| node.join().unwrap()).collect();
    for (n, node) in nodes.iter().enumerate() {
        node.create_run(new_run(&format!("a{n}"))).await.unwrap();
    }
    for n in 0..8 {
        assert!(nodes[7 - n].run(&run(&format!("a{n}"))).unwrap().is_some());
    }
}

#[test]
fn a_newer_database_is_refused() {
    let server = signoff_test_postgres::Server::start();
    let address = server.create("runs");
    drop(open(&address, "first").unwrap());
    server.sql("runs", "INSERT INTO schema_migrations VALUES (99, 'later', 'x')");
    let refused = open(&address, "second");
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, known: 1.. })), "{refused:?}");
    server.sql("runs", "DELETE FROM schema_migrations WHERE version = 99");
    server.sql("runs", "UPDATE schema_migrations SET sha256 = 'other'");
    let refused = open(&address, "third");
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

#[test]
fn other_encodings_are_refused() {
    let server = signoff_test_postgres::Server::start();
    server.sql("postgres", "CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0");
    let refused = open(&server.address("old"), "first").unwrap_err();
    assert!(refused.to_string().contains("UTF8 is needed"), "{refused}");
}

#[test]
fn a_database_that_is_not_there_is_said_to_be() {
    let address = signoff_test_postgres::fresh();
    let nowhere = address.replace("/test", "/no_test");
    let refused = open(&nowhere, "first").unwrap_err();
    assert!(refused.to_string().contains("does not exist"), "{refused}");
    let since = std::time::Instant::now();
    let refused = open("postgres://me@127.0.0.1:1/runs", "first").unwrap_err();
    assert!(refused.to_string().contains("refused"), "{refused}");
    assert!(since.elapsed() < std::time::Duration::from_secs(5));
}

#[tokio::test]
async fn what_is_spoilt_is_said_to_be() {
    let server = signoff_test_postgres::Server::start();
    let (_, store) = open_dyn(&server.create("runs"), "own");
    waiting(&store, "a", None).await;
    let corrupt = |result: Result<_, StoreError>| matches!(result, Err(StoreError::Corrupt(_)));
    let load = || store.load(&run("a"), None).map(drop);
    assert!(load().is_ok());
    for spoil in [
        r"UPDATE journal SET body = '\x5b00ff'",
        "UPDATE journal SET body = '[]'",
        "DELETE FROM journal",
        "UPDATE runs SET status = 'dancing'",
    ] {
        server.sql("runs", spoil);
        assert!(corrupt(load()), "{spoil}");
    }
    server.sql("runs", "UPDATE requests SET body = '{}'");
    assert!(corrupt(store.request(&run("a").request(1)).map(drop)));
}
