//! A node adds entries to what it holds without a look at the rows of its runs. Whoever takes one of them stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signoff_core::{Actor, RunStatus};
use signoff_test_postgres::Server;

use super::{open_dyn, until};
use crate::conformance::fixtures::{
    TTL, append, asked, at, begin, decide, node, output, question, run,
};
use crate::{Claim, Decided, Lease, MoveOut, Scope, Store, StoreError, export};

/// When the leases have run out.
const LATER: i64 = 20_000;

async fn adds(store: &Arc<dyn Store>, lease: &Lease, head: u64) -> Result<(), StoreError> {
    store.append(append(lease, head, vec![output(head + 1)])).await
}

async fn is_stopped(store: &Arc<dyn Store>, lease: &Lease, head: u64) {
    let refused = adds(store, lease, head).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
}

/// The ways to take a run whose lease has run out.
#[derive(Clone, Copy, Debug)]
enum Take {
    AnyReady,
    ThisOne,
    WithADecision,
    MoveOut,
}

async fn take(store: &Arc<dyn Store>, how: Take) -> Option<Lease> {
    let (two, now) = (node("two"), at(LATER));
    match how {
        Take::AnyReady => store.claim(Scope::All, &two, now, TTL, 1).await.unwrap().pop(),
        Take::ThisOne => store.claim_run(&run("a"), &two, now, TTL).await.unwrap(),
        Take::WithADecision => {
            let claim = Some(Claim { node: two, until: now.plus(TTL) });
            let yes = decide(&run("a"), 1, "yes", "ann", LATER);
            match store.decide(crate::Decide { claim, ..yes }).await.unwrap() {
                Decided::Taken { lease, head } => {
                    assert_eq!(head, 0, "what was read of it before may be old");
                    lease
                }
                other => panic!("{other:?}"),
            }
        }
        Take::MoveOut => {
            let seen = export(&**store, &run("a")).unwrap().unwrap().runs[0].seen();
            let out = MoveOut { runs: vec![seen], by: Actor::new("op"), at: now };
            assert!(store.move_out(out).await.unwrap());
            None
        }
    }
}

#[tokio::test]
async fn who_lost_a_run_adds_nothing_to_it() {
    for how in [Take::AnyReady, Take::ThisOne, Take::WithADecision, Take::MoveOut] {
        let server = Server::start();
        let address = server.create("runs");
        let (_, one) = open_dyn(&address, "one");
        let (_, two) = open_dyn(&address, "two");
        let lease = begin(&one, "a", "one", vec![asked(2, 1, question("?", None))]).await;
        let other = begin(&one, "b", "one", vec![]).await;
        for n in 0..5 {
            adds(&one, &lease, 2 + n).await.unwrap();
            adds(&one, &other, 1 + n).await.unwrap();
        }
        // This is what is tested here: the row of the run was not touched.
        let row = server.sql("runs", "SELECT head FROM runs WHERE id = 'run_a'");
        assert_eq!(row, "2");
        let record = two.run(&run("a")).unwrap().unwrap();
        assert_eq!((record.head, record.updated_at), (7, at(1007)));

        let taken = take(&two, how).await;
        // It learns from one run that something was taken, and forgets all that it held.
        adds(&one, &other, 6).await.unwrap();
        is_stopped(&one, &lease, 7).await;
        if let Some(taken) = taken {
            assert_eq!(two.load(&run("a"), None).unwrap().entries.len(), 7);
            adds(&two, &taken, 7).await.unwrap();
            adds(&two, &taken, 8).await.unwrap();
        }
        is_stopped(&one, &lease, 7).await;
        // It goes on with what was not taken.
        for n in 6..9 {
            adds(&one, &other, 1 + n).await.unwrap();
        }
        let problems = one.examine(at(LATER)).unwrap().problems;
        assert!(!problems.iter().any(|it| it.contains("journal")), "{problems:?}");
        let row = server.sql("runs", "SELECT head FROM runs WHERE id = 'run_b'");
        assert_eq!(row, "7", "the first of them found out, the others were plain again: {how:?}");
    }
}

/// Its leases are good, and its writer is connected; only what tells that it lives is cut off.
#[tokio::test]
async fn who_is_taken_for_dead_adds_nothing() {
    let server = Server::start();
    let address = server.create("runs");
    server.sql("runs", "CREATE ROLE app SUPERUSER LOGIN");
    let (_, one) = open_dyn(&address.replace("postgres@", "app@"), "one");
    let (_, two) = open_dyn(&address, "two");
    let lease = begin(&one, "a", "one", vec![]).await;
    adds(&one, &lease, 1).await.unwrap();
    server.sql("runs", "ALTER ROLE app NOLOGIN");
    let cut = server.sql(
        "runs",
        "SELECT count(pg_terminate_backend(pid)) FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE locktype = 'advisory' AND usename = 'app'",
    );
    assert_eq!(cut, "1");
    adds(&one, &lease, 2).await.unwrap();
    let claim = async || two.claim(Scope::All, &node("two"), at(1), TTL, 9).await.unwrap();
    until("it is taken for dead", async || !claim().await.is_empty()).await;
    is_stopped(&one, &lease, 3).await;
    assert_eq!(two.run(&run("a")).unwrap().unwrap().head, 3);
}

/// What is tested above can fail: with numbers that never change, who lost a run adds to it.
#[tokio::test]
async fn without_the_number_nothing_would_stop_it() {
    let server = Server::start();
    let address = server.create("runs");
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    server.sql(
        "runs",
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN NEW.fence = OLD.fence; RETURN NEW; END';
         CREATE TRIGGER keep BEFORE UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION keep()",
    );
    let lease = begin(&one, "a", "one", vec![]).await;
    adds(&one, &lease, 1).await.unwrap();
    take(&two, Take::ThisOne).await.unwrap();
    adds(&one, &lease, 2).await.unwrap();
}

#[tokio::test]
async fn who_takes_a_run_again_lets_go_of_the_lease_before() {
    let (_, store) = open_dyn(&signoff_test_postgres::fresh(), "one");
    let old = begin(&store, "a", "one", vec![]).await;
    adds(&store, &old, 1).await.unwrap();
    let taken = store.claim(Scope::All, &node("one"), at(LATER), TTL, 1).await.unwrap();
    is_stopped(&store, &old, 2).await;
    adds(&store, &taken[0], 2).await.unwrap();
    is_stopped(&store, &old, 3).await;
    store.release(taken[0].clone()).await.unwrap();
    is_stopped(&store, &taken[0], 3).await;
}

/// The row of a node that was forgotten and comes back is not the one it had.
#[tokio::test]
async fn a_node_made_anew_has_a_number_of_its_own() {
    let server = Server::start();
    let address = server.create("runs");
    let (_, store) = open_dyn(&address, "one");
    let lease = begin(&store, "a", "one", vec![]).await;
    adds(&store, &lease, 1).await.unwrap();
    for sql in [
        "UPDATE runs SET lease_node = NULL, lease_until = 0",
        "CREATE TABLE kept AS SELECT id, lock FROM nodes",
        "DELETE FROM nodes",
        "INSERT INTO nodes (id, lock) SELECT id, lock FROM kept",
    ] {
        server.sql("runs", sql);
    }
    is_stopped(&store, &lease, 2).await;
}

/// However they race: what a node has read when it took a run is all there is of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_comes_after_a_run_was_taken() {
    let address = signoff_test_postgres::fresh();
    let stores = [open_dyn(&address, "n0").1, open_dyn(&address, "n1").1];
    let mut lease = begin(&stores[0], "a", "n0", vec![]).await;
    let mut head = 1;
    for round in 1..=40 {
        let (writer, taker) = (&stores[(round + 1) % 2], &stores[round % 2]);
        let stop = Arc::new(AtomicBool::new(false));
        let adding = tokio::spawn({
            let (store, lease, stop) = (writer.clone(), lease.clone(), stop.clone());
            async move {
                let mut head = head;
                while !stop.load(Ordering::Relaxed) && adds(&store, &lease, head).await.is_ok() {
                    head += 1;
                }
                head
            }
        });
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let now = at(LATER * i64::try_from(round).unwrap());
        let name = node(&format!("n{}", round % 2));
        lease = taker.claim_run(&run("a"), &name, now, TTL).await.unwrap().unwrap();
        let loaded = taker.load(&run("a"), None).unwrap();
        let read = loaded.record.head;
        adds(taker, &lease, read).await.unwrap();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(adding.await.unwrap(), read, "the last that was answered is the last there is");
        head = read + 1;
    }
    let loaded = stores[0].load(&run("a"), None).unwrap();
    assert_eq!((loaded.record.head, loaded.record.status), (head, RunStatus::Running));
    assert_eq!(loaded.entries.len() as u64, head);
    assert!(head > 100, "{head} entries are no race");
}
