//! A process that sleeps through the end of its lease finds that it has nothing left to do.

use std::time::Duration;

use serde_json::{Value, json};
use signoff_core::{Decision, RunId, RunStatus, Timestamp};
use signoff_runtime::{DecideRequest, StartRun};
use signoff_store::Store as _;
use signoff_testkit::workflows::{self, GATED, open_gate};
use signoff_testkit::{Process, Record, record};

use crate::support::{Place, assert_done_once};

const LEASE_MS: &str = "1500";

/// A run that can go on and that nobody drives.
fn ready(place: &Place) -> RunId {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let engine = workflows::engine(&place.database(), &place.ledger(), GATED, None);
        let run = engine.run(StartRun::new(GATED, Value::Null)).await.unwrap().run;
        let decide = DecideRequest::new(run.request(1), Decision::respond("yes"));
        let lease = engine.take_decision(decide).await.unwrap().lease.unwrap();
        engine.store().release(lease).await.unwrap();
        run
    })
}

/// Stops `process` where it does not keep others from writing: a process that is stopped in the
/// middle of a transaction holds the database, and nobody can help that.
fn stop_between_commits(process: &Process, place: &Place) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = record::open(&place.database());
        loop {
            process.stop();
            let write = store.fire_due(Timestamp(0), 1);
            tokio::pin!(write);
            if tokio::time::timeout(Duration::from_secs(3), &mut write).await.is_ok() {
                return;
            }
            process.go_on();
            write.await.unwrap();
        }
    });
}

fn only(place: &Place) -> Record {
    let mut records = place.records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn drive(place: &Place, run: &RunId) -> Process {
    place.worker("drive", &[run.as_str(), LEASE_MS], &[])
}

#[test]
fn a_process_stopped_past_its_lease_changes_nothing() {
    let place = Place::new();
    let run = ready(&place);
    let mut stale = drive(&place, &run);
    assert_eq!(stale.json(), json!({ "at": "gate" }));
    stop_between_commits(&stale, &place);
    // It is not dead: its lease has to run out.
    let mut heir = drive(&place, &run);
    assert_eq!(heir.json(), json!({ "at": "gate" }));
    open_gate(&place.ledger());
    assert_eq!(heir.json(), json!({ "rests": RunStatus::Completed }));
    let _ = heir.wait().exits(0);
    let finished = only(&place);
    let done = place.ledger().read();
    stale.go_on();
    assert_eq!(stale.json(), json!({ "lost": "fenced" }));
    let _ = stale.wait().exits(0);
    assert_eq!(only(&place).entries, finished.entries);
    assert_eq!(place.ledger().read(), done);
    assert_done_once(&[finished], &place.ledger());
}

#[test]
fn a_stale_process_does_not_disturb_the_one_at_work() {
    let place = Place::new();
    let run = ready(&place);
    let mut stale = drive(&place, &run);
    assert_eq!(stale.json(), json!({ "at": "gate" }));
    stop_between_commits(&stale, &place);
    let mut heir = drive(&place, &run);
    assert_eq!(heir.json(), json!({ "at": "gate" }));
    // Both are awake, and both believe the run to be theirs.
    stale.go_on();
    assert_eq!(stale.json(), json!({ "lost": "fenced" }));
    open_gate(&place.ledger());
    assert_eq!(heir.json(), json!({ "rests": RunStatus::Completed }));
    let _ = (heir.wait().exits(0), stale.wait().exits(0));
    assert_done_once(&[only(&place)], &place.ledger());
}
