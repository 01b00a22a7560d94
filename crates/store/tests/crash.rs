//! A process that dies around a commit: what was accepted is there, what was not leaves no trace.
//!
//! The test starts itself again as the process to kill.

#![cfg(all(feature = "failpoints", feature = "conformance"))]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use signoff_store::conformance::fixtures::{append, at, begin, decide, end, output, run, waiting};
use signoff_store::{SqliteOptions, SqliteStore, Store};

const DATABASE: &str = "SIGNOFF_TEST_DATABASE";

fn open(path: &Path, node: &str) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(SqliteOptions::new(path, node)).unwrap())
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
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let database = Path::new(&database);
    work(&open(database, "victim"), &database.with_extension("note")).await;
}

fn start_victim(database: &Path, crash: &str) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_victim"])
        .env(DATABASE, database)
        .env("SIGNOFF_CRASH_AT", crash)
        .env("SIGNOFF_CRASH_COUNT_FILE", database.with_extension("count"))
        .output()
        .unwrap()
        .status
        .success()
}

#[tokio::test]
async fn what_was_accepted_survives() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole.db");
    assert!(start_victim(&whole, ""));
    let commits: usize =
        std::fs::read_to_string(whole.with_extension("count")).unwrap().parse().unwrap();
    assert!(commits >= 8, "{commits}");
    for side in ["before", "after"] {
        for n in 1..=commits {
            let path = directory.path().join(format!("{side}{n}.db"));
            assert!(!start_victim(&path, &format!("{side}:{n}")), "{side}:{n} did not die");
            let noted = std::fs::read_to_string(path.with_extension("note")).unwrap_or_default();
            let accepted: Vec<&str> = noted.lines().collect();
            survived(&path, &accepted, &format!("{side}:{n}")).await;
        }
    }
}

async fn survived(path: &Path, accepted: &[&str], when: &str) {
    let store = open(path, "survivor");
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
        // The lease of the dead is free at once, well before it runs out.
        let claimed = store
            .claim_run(&run("works"), &"survivor".into(), at(1), signoff_core::Span::seconds(9))
            .await
            .unwrap();
        assert_eq!(claimed.is_some(), !works.status.is_over(), "{when}");
    }
}
