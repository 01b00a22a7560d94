//! A process that dies around a commit, of each kind there is: what was accepted is there, what was not leaves no trace.
//!
//! The test starts itself again as the process to kill.

#![cfg(all(feature = "failpoints", feature = "conformance"))]
#![allow(unreachable_pub)] // the steps are used here only
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "crash/steps.rs"]
mod steps;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signoff_store::conformance::fixtures::{at, run};
use signoff_store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store};
use steps::{Held, STEPS, is_there, make};

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

/// Makes one commit after another, and notes how many were accepted.
#[tokio::test]
async fn the_victim() {
    let (Ok(database), Ok(note)) = (std::env::var(DATABASE), std::env::var(NOTE)) else { return };
    let store = open(&database, "victim");
    let mut held = Held::default();
    for (step, done) in STEPS.iter().zip(1_usize..) {
        make(&store, &mut held, step).await;
        std::fs::write(&note, done.to_string()).unwrap();
    }
}

/// Whether the victim lived to the end; and if not, what it said.
fn start_victim(database: &str, note: &Path, crash: &str) -> Result<(), String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_victim"])
        .env(DATABASE, database)
        .env(NOTE, note)
        .env("SIGNOFF_CRASH_AT", crash)
        .env("SIGNOFF_CRASH_COUNT_FILE", note.with_extension("count"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

fn count(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.parse().unwrap())
}

/// Kills a process on this side of each of its commits. `fresh` gives an empty database.
async fn kill_around_commits(side: &str, fresh: impl Fn(&Path) -> String) {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    start_victim(&fresh(&whole), &whole, "").unwrap();
    let commits = count(&whole.with_extension("count"));
    assert_eq!(commits, STEPS.len(), "each step is one commit");
    for n in 1..=commits {
        let note = directory.path().join(format!("{side}{n}"));
        let database = fresh(&note);
        let crash = format!("{side}:{n}");
        let said = start_victim(&database, &note, &crash).expect_err("it did not die");
        assert!(!said.contains("panicked"), "{crash}: {said}");
        let accepted = count(&note);
        assert_eq!(accepted, n - 1, "{crash}: {said}");
        survived(&database, accepted, side == "after").await;
    }
}

fn in_a_file(note: &Path) -> String {
    note.with_extension("db").display().to_string()
}

fn in_postgres(_: &Path) -> String {
    signoff_test_postgres::fresh()
}

#[tokio::test]
async fn what_was_accepted_survives() {
    kill_around_commits("before", in_a_file).await;
}

#[tokio::test]
async fn what_was_committed_survives() {
    kill_around_commits("after", in_a_file).await;
}

#[tokio::test]
async fn what_was_accepted_survives_in_postgres() {
    kill_around_commits("before", in_postgres).await;
}

#[tokio::test]
async fn what_was_committed_survives_in_postgres() {
    kill_around_commits("after", in_postgres).await;
}

/// All that was accepted is there; the step that was interrupted is there whole if it was committed, and not at all if not.
async fn survived(database: &str, accepted: usize, committed: bool) {
    let store = open(database, "survivor");
    let interrupted = STEPS[accepted];
    let seen = is_there(&store, interrupted).await;
    // What is taken away is not there before it comes either.
    let taken_away = ["remove a user", "end a grant", "remove a push"].contains(&interrupted);
    if !taken_away || committed {
        assert!(seen.is_none_or(|seen| seen == committed), "`{interrupted}` was interrupted");
    }
    for step in &STEPS[..accepted] {
        let there = is_there(&store, step).await;
        assert_ne!(there, Some(false), "`{step}` was accepted, then `{interrupted}` interrupted");
    }
    leases_of_the_dead_are_free(&store, database).await;
}

/// Well before they run out: at once, where the system says who is dead; in PostgreSQL a little later, because a connection may also
/// break.
async fn leases_of_the_dead_are_free(store: &Arc<dyn Store>, database: &str) {
    let Some(works) = store.run(&run("works")).unwrap() else { return };
    let journal = store.entries(&run("works"), 0, 99).unwrap().len() as u64;
    assert_eq!(works.head, journal);
    let (since, patience) = (Instant::now(), Duration::from_secs(30));
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
    assert_eq!(claimed.is_some(), !works.status.is_over());
}
