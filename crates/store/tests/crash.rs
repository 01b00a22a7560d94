//! A process that dies around a commit: what was accepted is there, what was not leaves no trace.
//!
//! The test starts itself again as the process to kill.

#![cfg(all(feature = "failpoints", feature = "conformance"))]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signoff_store::conformance::fixtures::{append, at, begin, decide, end, output, run, waiting};
use signoff_store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store};

const DATABASE: &str = "SIGNOFF_TEST_DATABASE";
const NOTE: &str = "SIGNOFF_TEST_NOTE";

/// A database, by its path or address.
fn open(database: &str, node: &str) -> Arc<dyn Store> {
    if database.starts_with("postgres:") {
        let options = PostgresOptions::new(database, node).unwrap();
        Arc::new(PostgresStore::open(options).unwrap())
    } else {
        Arc::new(SqliteStore::open(SqliteOptions::new(database, node)).unwrap())
    }
}

/// Starts a run, is answered, goes on, ends; notes each step that was accepted.
async fn work(store: &Arc<dyn Store>, note: &Path) {
    let accepted = |step: &str| {
        let before = std::fs::read_to_string(note).unwrap_or_default();
        std::fs::write(note, format!("{before}{step}\n")).unwrap();
    };
    waiting(store, "asks", Some(9_000)).await;
    accepted("asked");
    store.decide(decide(&run("asks"), 1, "yes", "ann", 20)).await.unwrap();
    accepted("decided");
    let lease = begin(store, "works", "victim", vec![]).await;
    accepted("began");
    for seq in 1..4 {
        store.append(append(&lease, seq, vec![output(seq + 1)])).await.unwrap();
        accepted("appended");
    }
    store.append(end(&lease, 4)).await.unwrap();
    accepted("ended");
}

#[tokio::test]
async fn the_victim() {
    let (Ok(database), Ok(note)) = (std::env::var(DATABASE), std::env::var(NOTE)) else { return };
    work(&open(&database, "victim"), Path::new(&note)).await;
}

fn start_victim(database: &str, note: &Path, crash: &str) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_victim"])
        .env(DATABASE, database)
        .env(NOTE, note)
        .env("SIGNOFF_CRASH_AT", crash)
        .env("SIGNOFF_CRASH_COUNT_FILE", note.with_extension("count"))
        .output()
        .unwrap()
        .status
        .success()
}

/// Kills a process before and after each of its commits. `fresh` gives an empty database.
async fn kill_around_commits(fresh: impl Fn(&Path) -> String) {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    assert!(start_victim(&fresh(&whole), &whole, ""));
    let commits: usize =
        std::fs::read_to_string(whole.with_extension("count")).unwrap().parse().unwrap();
    assert!(commits >= 8, "{commits}");
    for side in ["before", "after"] {
        for n in 1..=commits {
            let note = directory.path().join(format!("{side}{n}"));
            let database = fresh(&note);
            let crash = format!("{side}:{n}");
            assert!(!start_victim(&database, &note, &crash), "{crash} did not die");
            let noted = std::fs::read_to_string(&note).unwrap_or_default();
            let accepted: Vec<&str> = noted.lines().collect();
            survived(&database, &accepted, &crash).await;
        }
    }
}

#[tokio::test]
async fn what_was_accepted_survives() {
    kill_around_commits(|note| note.with_extension("db").display().to_string()).await;
}

#[tokio::test]
async fn what_was_accepted_survives_in_postgres() {
    kill_around_commits(|_| signoff_test_postgres::fresh()).await;
}

async fn survived(database: &str, accepted: &[&str], when: &str) {
    let store = open(database, "survivor");
    let noted = |step: &str| accepted.iter().filter(|noted| **noted == step).count();
    let asks = store.run(&run("asks")).unwrap();
    let works = store.run(&run("works")).unwrap();
    assert!(asks.is_some() || noted("asked") == 0, "{when}");
    assert!(works.is_some() || noted("began") == 0, "{when}");
    let decisions = store.audit(None, 0, 10).unwrap().len();
    assert!(decisions >= noted("decided"), "{when}");
    if asks.is_some() {
        assert_eq!(store.inputs(&run("asks"), 0).unwrap().len(), decisions, "{when}");
    }
    if let Some(works) = works {
        let journal = store.entries(&run("works"), 0, 99).unwrap().len() as u64;
        assert_eq!(works.head, journal, "{when}");
        let least = 1 + noted("appended") + noted("ended");
        assert!(journal >= least as u64 && journal <= least as u64 + 1, "{when}: {journal}");
        // The lease of the dead is free well before it runs out: at once, where the system says who is dead; in
        // PostgreSQL a little later, because a connection may also break.
        let (since, patience) = (Instant::now(), Duration::from_secs(5));
        let claimed = loop {
            let (run, node) = (run("works"), "survivor".into());
            let ttl = signoff_core::Span::seconds(9);
            let claimed = store.claim_run(&run, &node, at(1), ttl).await.unwrap();
            let wait = database.starts_with("postgres:") && !works.status.is_over();
            if claimed.is_some() || !wait || since.elapsed() > patience {
                break claimed;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(claimed.is_some(), !works.status.is_over(), "{when}");
    }
}
