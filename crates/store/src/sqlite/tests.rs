//! The `SQLite` store keeps the contract, and what only it promises.

mod keeps_contract {
    use std::sync::Arc;

    use crate::{SqliteOptions, SqliteStore, Store};

    fn fresh() -> (Arc<dyn Store>, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("test.db"), "own");
        (Arc::new(SqliteStore::open(options).unwrap()), directory)
    }

    crate::store_conformance!(fresh());
}

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signoff_core::request::RequestStatus;

use crate::conformance::fixtures::{
    TTL, append, asked, at, begin, decide, new_run, node, output, question, run, waiting,
};
use crate::{Decided, NewRun, RequestFilter, Scope, SqliteOptions, SqliteStore, Store, StoreError};

fn open(path: &Path, node: &str) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(SqliteOptions::new(path, node))
}

fn open_dyn(path: &Path, node: &str) -> (Arc<SqliteStore>, Arc<dyn Store>) {
    let store = Arc::new(open(path, node).unwrap());
    (store.clone(), store)
}

/// The database from outside, to look into it and to spoil it.
fn from_outside(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/test.db");
    let (_, store) = open_dyn(&path, "first");
    waiting(&store, "a", Some(5_000)).await;
    waiting(&store, "b", None).await;
    store.decide(decide(&run("b"), 1, "yes", "ann", 20)).await.unwrap();
    let seen = |store: &Arc<dyn Store>| {
        let all = RequestFilter::default();
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            store.load(&run("a"), None),
            store.load(&run("b"), None),
            store.requests(&all, None, 9),
            store.audit(None, 0, 9),
            store.next_due()
        )
    };
    let before = seen(&store);
    drop(store);
    let (_, store) = open_dyn(&path, "second");
    assert_eq!(before, seen(&store));
    assert_eq!(store.claim(Scope::All, &node("second"), at(30), TTL, 9).await.unwrap().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data/test.db");
    let (_, store) = open_dyn(&path, "n");
    store.create_run(new_run("a")).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_decide_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (_, one) = open_dyn(&path, "one");
    let (_, two) = open_dyn(&path, "two");
    for n in 0..200 {
        waiting(&one, &format!("a{n}"), None).await;
    }
    let race = |store: Arc<dyn Store>, by: &'static str| {
        tokio::spawn(async move {
            let mut won = Vec::new();
            for n in 0..200 {
                let name = format!("a{n}");
                let decided = store.decide(decide(&run(&name), 1, by, by, 20)).await.unwrap();
                if matches!(decided, Decided::Taken { .. }) {
                    won.push(n);
                }
            }
            won
        })
    };
    let (first, second) = (race(one.clone(), "ann"), race(two.clone(), "bob"));
    let mut won = first.await.unwrap();
    won.extend(second.await.unwrap());
    won.sort_unstable();
    assert_eq!(won, (0..200).collect::<Vec<_>>());
    let audit = two.audit(None, 0, 1000).unwrap();
    let mut before = String::new();
    for line in &audit {
        assert!(line.follows(&before));
        before.clone_from(&line.hash);
    }
    assert_eq!(audit.len(), 400, "each was asked and decided");
}

#[tokio::test]
async fn a_dead_nodes_lease_ends_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (_, dying) = open_dyn(&path, "dying");
    let (_, living) = open_dyn(&path, "living");
    begin(&dying, "a", "dying", vec![]).await;
    begin(&living, "b", "living", vec![]).await;
    let (_, third) = open_dyn(&path, "third");
    assert!(third.claim(Scope::All, &node("third"), at(1), TTL, 9).await.unwrap().is_empty());
    // Its lock goes, as it does when a process is killed.
    drop(dying);
    std::thread::sleep(Duration::from_millis(250));
    let leases = third.claim(Scope::All, &node("third"), at(1), TTL, 9).await.unwrap();
    assert_eq!(leases.iter().map(|lease| &lease.run).collect::<Vec<_>>(), [&run("a")]);
    drop((living, third));
    let (_, fourth) = open_dyn(&path, "fourth");
    let leases = fourth.claim(Scope::All, &node("fourth"), at(1), TTL, 9).await.unwrap();
    assert_eq!(leases.len(), 2);
    let files = std::fs::read_dir(directory.path().join("test.db-nodes")).unwrap();
    assert_eq!(files.count(), 1, "the dead are buried");
}

#[test]
fn a_node_has_a_name_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let _first = open(&path, "same").unwrap();
    assert!(matches!(open(&path, "same"), Err(StoreError::Failed(_))));
    for wrong in ["", "../x", "a/b", ".hidden"] {
        assert!(matches!(open(&path, wrong), Err(StoreError::Failed(_))), "{wrong}");
    }
}

#[test]
fn many_can_open_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let path = directory.path().join(format!("test{round}.db"));
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || open(path, &format!("n{n}")).unwrap());
            }
        });
        let again = open(&path, "again").unwrap();
        assert!(again.run(&"run_x".into()).unwrap().is_none());
    }
}

#[tokio::test]
async fn another_process_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (_, one) = open_dyn(&path, "one");
    let (_, two) = open_dyn(&path, "two");
    let before = one.changes().unwrap();
    two.create_run(new_run("a")).await.unwrap();
    assert_ne!(before, one.changes().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_are_shared() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, store) = open_dyn(&directory.path().join("test.db"), "own");
    let mut leases = Vec::new();
    for n in 0..32 {
        leases.push(begin(&store, &format!("a{n}"), "own", vec![]).await);
    }
    let before = sqlite.commits();
    let tasks: Vec<_> = leases
        .into_iter()
        .map(|lease| {
            let store = store.clone();
            tokio::spawn(async move {
                for seq in 1..21 {
                    store.append(append(&lease, seq, vec![output(seq + 1)])).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let commits = sqlite.commits() - before;
    assert!(commits < 32 * 20 / 2, "{commits} commits for 640 appends");
}

#[tokio::test]
async fn one_broken_command_does_not_break_its_batch() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (_, store) = open_dyn(&path, "own");
    let lease = begin(&store, "a", "own", vec![asked(2, 1, question("?", None))]).await;
    let other = begin(&store, "b", "own", vec![]).await;
    // The same request a second time: the database refuses it after the fence was passed.
    let good = store.append(append(&other, 1, vec![output(2)]));
    let bad = store.append(append(&lease, 2, vec![asked(3, 1, question("again?", None))]));
    let also = store.append(append(&other, 2, vec![output(3)]));
    good.await.unwrap();
    assert!(matches!(bad.await, Err(StoreError::Failed(_))));
    also.await.unwrap();
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 2);
    assert_eq!(store.run(&run("b")).unwrap().unwrap().head, 3);
}

#[tokio::test]
async fn what_waits_is_written_before_closing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (sqlite, store) = open_dyn(&path, "own");
    let lease = begin(&store, "a", "own", vec![]).await;
    let all: Vec<_> =
        (1..100).map(|seq| store.append(append(&lease, seq, vec![output(seq + 1)]))).collect();
    drop((sqlite, store));
    for one in all {
        one.await.unwrap();
    }
    let (_, store) = open_dyn(&path, "again");
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 100);
}

#[test]
fn a_newer_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    drop(open(&path, "first").unwrap());
    from_outside(&path, "INSERT INTO schema_migrations VALUES (99, 'later', 'x', 'y')");
    let refused = open(&path, "second");
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, known: 11 })), "{refused:?}");
}

#[test]
fn a_changed_migration_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    drop(open(&path, "first").unwrap());
    from_outside(&path, "UPDATE schema_migrations SET sha256 = 'other'");
    assert!(matches!(open(&path, "second"), Err(StoreError::Corrupt(_))));
    std::fs::write(directory.path().join("no.db"), vec![b'x'; 8192]).unwrap();
    let refused = open(&directory.path().join("no.db"), "third");
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

#[tokio::test]
async fn what_is_spoilt_is_said_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (_, store) = open_dyn(&path, "own");
    waiting(&store, "a", None).await;
    let corrupt = |result: Result<_, StoreError>| matches!(result, Err(StoreError::Corrupt(_)));
    let load = || store.load(&run("a"), None).map(drop);
    assert!(load().is_ok());
    for spoil in [
        "UPDATE journal SET body = x'5b00ff'",
        "UPDATE journal SET body = 'text'",
        "UPDATE journal SET body = CAST('[]' AS BLOB)",
        "DELETE FROM journal",
        "UPDATE runs SET status = 'dancing'",
        "UPDATE runs SET workflow = x'ff'",
    ] {
        from_outside(&path, spoil);
        assert!(corrupt(load()), "{spoil}");
    }
    from_outside(&path, "UPDATE requests SET body = '{}'");
    assert!(corrupt(store.request(&run("a").request(1)).map(drop)));
}

#[tokio::test]
async fn the_probe_and_the_checkpoint_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (sqlite, store) = open_dyn(&path, "own");
    let all: Vec<_> = (0..100).map(|n| sqlite.probe(1, n, vec![7; 512])).collect();
    for one in all {
        one.await.unwrap();
    }
    store.create_run(new_run("a")).await.unwrap();
    sqlite.checkpoint().unwrap();
    let wal = std::fs::metadata(directory.path().join("test.db-wal")).unwrap();
    assert_eq!(wal.len(), 0);
    assert!(std::fs::metadata(&path).unwrap().len() > 100 * 512);
    assert_eq!(sqlite.node().as_ref(), "own");
}

#[tokio::test]
async fn a_full_inbox_opens_quickly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let (_, store) = open_dyn(&path, "own");
    let entries = |n: u32| {
        let mut entries = new_run("a").entries;
        entries.extend((1..=1000).map(|no| {
            asked(u64::from(no) + 1, no, question(&format!("Question {n} {no}?"), None))
        }));
        entries
    };
    let all: Vec<_> = (0..100)
        .map(|n| store.create_run(NewRun { entries: entries(n), ..new_run(&format!("a{n}")) }))
        .collect();
    for one in all {
        one.await.unwrap();
    }
    let filter = RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    assert_eq!(store.count_requests(&filter).unwrap(), 100_000);
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let began = Instant::now();
        let page = store.requests(&filter, None, 50).unwrap();
        best = best.min(began.elapsed());
        assert_eq!(page.items.len(), 50);
    }
    println!("first page of 100,000: {best:?}");
    assert!(best < Duration::from_millis(5), "{best:?}");
}
