//! What operators do: runs are exported and taken in, moved and removed; how the store is.

use std::sync::Arc;

use signoff_core::journal::{Event, Input};
use signoff_core::request::RequestStatus;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RunStatus, Tenant};

use super::fixtures::*;
use crate::{
    Due, Mark, MemoryStore, MoveOut, NewRun, Noted, Prune, Pruned, PutPush, Store, StoreError,
    TakeIn, TakeWebhook, TakenIn, export, scoped,
};

const LATER: Timestamp = Timestamp(1_000_000);

fn take(exported: crate::Exported) -> TakeIn {
    TakeIn { exported, by: Actor::new("op"), at: at(5000) }
}

/// Everything that is checked of what came in is what went out.
pub async fn a_run_moves_from_store_to_store(store: Arc<dyn Store>) {
    let from: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut new = new_run("a");
    new.deadline = Some(at(90_000));
    new.about = Some(serde_json::Map::new());
    let lease = {
        new.claim = Some(crate::Claim { node: node("n1"), until: at(9_000) });
        from.create_run(new).await.unwrap().unwrap().lease.unwrap()
    };
    let ask = asked(2, 1, question("Where to?", Some(80_000)));
    let parked = crate::Append {
        status: RunStatus::Waiting,
        rest: crate::Rest::Park,
        ..append(&lease, 1, vec![ask])
    };
    from.append(parked).await.unwrap();
    from.create_run(child_run("a-part", &run("a"))).await.unwrap();
    let what = Noted::Commented { text: "soon".to_owned() };
    let request = run("a").request(1);
    let mark = Mark { request: request.clone(), by: Actor::new("ann"), at: at(7), what };
    from.mark(mark).await.unwrap();
    let exported = export(&*from, &run("a")).unwrap().unwrap();
    assert_eq!(exported.runs.len(), 2, "its part comes along");

    let foreign = scoped(Arc::clone(&store), Tenant::local());
    assert!(foreign.take_in(take(exported.clone())).await.is_err(), "no tenant takes in runs");
    assert_eq!(store.take_in(take(exported.clone())).await.unwrap(), TakenIn::New(2));
    assert_eq!(export(&*store, &run("a")).unwrap().unwrap(), exported);
    assert_eq!(store.take_in(take(exported.clone())).await.unwrap(), TakenIn::Known);
    let stands = store.request(&request).unwrap().unwrap();
    assert_eq!((stands.status, stands.version), (RequestStatus::Pending, 1));
    assert_eq!(store.notes(&request).unwrap().len(), 1);
    let timers = store.timers(&run("a")).unwrap();
    let due = [(Due::Request { request: 1 }, at(80_000)), (Due::Run, at(90_000))];
    assert_eq!(timers, due);
    assert_eq!(store.audit(None, 0, 9).unwrap().len(), 2, "the audit says where they come from");

    store.decide(decide(&run("a"), 1, "Lisbon", "ann", 6000)).await.unwrap();
    assert_eq!(store.inputs(&run("a"), 0).unwrap().len(), 1);
    assert_eq!(store.take_in(take(exported.clone())).await.unwrap(), TakenIn::Known, "further on");
    let mut other = exported;
    other.runs[0].entries[1].at = at(3);
    let differs = TakenIn::Differs(run("a"));
    assert_eq!(store.take_in(take(other)).await.unwrap(), differs);
}

pub async fn a_run_that_is_moved_out_is_over(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let exported = export(&*store, &run("a")).unwrap().unwrap();
    let out = |seen| MoveOut { runs: vec![seen], by: Actor::new("op"), at: at(50_000) };
    let seen = exported.runs[0].seen();
    store.decide(decide(&run("a"), 1, "Lisbon", "ann", 20)).await.unwrap();
    assert!(!store.move_out(out(seen)).await.unwrap(), "an answer came in between");
    let seen = export(&*store, &run("a")).unwrap().unwrap().runs[0].seen();
    let lease = store.claim_run(&run("a"), &node("n1"), at(49_999), TTL).await.unwrap().unwrap();
    assert!(!store.move_out(out(seen.clone())).await.unwrap(), "somebody works on it");
    store.release(lease).await.unwrap();
    assert!(store.move_out(out(seen.clone())).await.unwrap());
    let record = store.run(&run("a")).unwrap().unwrap();
    assert_eq!((record.status, record.head), (RunStatus::Cancelled, 3));
    let last = store.entries(&run("a"), 2, 1).unwrap().remove(0);
    assert!(matches!(last.event, Event::RunCancelled { .. }), "{last:?}");
    assert!(store.claim_run(&run("a"), &node("n1"), LATER, TTL).await.unwrap().is_none());
    assert!(!store.deliver(&run("a"), Input::OutOfTime {}, at(9)).await.unwrap());
    assert!(!store.move_out(out(seen)).await.unwrap(), "it is over");
}

async fn over(store: &Arc<dyn Store>, name: &str, conversation: &str) {
    let mut new = NewRun {
        entries: vec![
            entry(1, started_in("travel", conversation, None)),
            asked(2, 1, question("Where to?", None)),
        ],
        about: Some(serde_json::Map::new()),
        ..new_run(name)
    };
    new.claim = Some(crate::Claim { node: node("n1"), until: at(9_000) });
    let lease = store.create_run(new).await.unwrap().unwrap().lease.unwrap();
    store.append(end(&lease, 2)).await.unwrap();
}

fn prune(before: Timestamp) -> Prune {
    let by = Actor::new("op");
    Prune { before, workflow: None, after: 0, dry_run: false, by, at: LATER }
}

fn names(pruned: &Pruned) -> Vec<&str> {
    pruned.runs.iter().map(|it| it.run.as_str()).collect()
}

pub async fn what_is_over_is_removed(store: Arc<dyn Store>) {
    over(&store, "old", "conv_old").await;
    over(&store, "first", "conv_on").await;
    over(&store, "pushed", "conv_pushed").await;
    let push = PutPush { run: run("pushed"), id: "p".into(), body: "{}".to_owned(), from: 0 };
    assert!(store.put_push(push).await.unwrap());
    let mut goes_on = new_run("second");
    goes_on.entries = vec![entry(1, started_in("travel", "conv_on", None))];
    store.create_run(goes_on).await.unwrap();
    over(&store, "newest", "conv_newest").await;
    let lines = store.audit(None, 0, 100).unwrap().len();
    let view = scoped(Arc::clone(&store), Tenant::local());
    assert!(view.prune(prune(LATER)).await.is_err(), "a tenant removes nothing");

    let nothing = store.prune(prune(at(1000))).await.unwrap();
    assert_eq!(nothing, Pruned::default(), "all of it is younger");
    let other = Prune { workflow: Some("other".into()), ..prune(LATER) };
    assert_eq!(store.prune(other).await.unwrap(), Pruned::default());
    let dry = store.prune(Prune { dry_run: true, ..prune(LATER) }).await.unwrap();
    assert_eq!(names(&dry), [run("old").as_str()]);
    assert!(store.run(&run("old")).unwrap().is_some());
    assert_eq!(store.audit(None, 0, 100).unwrap().len(), lines);

    let pruned = store.prune(prune(LATER)).await.unwrap();
    assert_eq!((names(&pruned), pruned.next), (vec![run("old").as_str()], None));
    assert_eq!(pruned.runs, dry.runs);
    assert!(store.run(&run("old")).unwrap().is_none());
    assert!(matches!(store.load(&run("old"), None), Err(StoreError::UnknownRun(_))));
    assert!(store.request(&run("old").request(1)).unwrap().is_none());
    assert!(store.conversation(&Tenant::local(), &"conv_old".into()).unwrap().is_none());
    for kept in ["first", "second", "pushed", "newest"] {
        assert!(store.run(&run(kept)).unwrap().is_some(), "{kept}");
    }
    let audit = store.audit(None, 0, 100).unwrap();
    let mut hash = String::new();
    for line in &audit {
        assert!(line.follows(&hash), "{line:?}");
        hash.clone_from(&line.hash);
    }
    let last = audit.last().unwrap();
    assert_eq!((audit.len(), last.request.as_str()), (lines + 1, run("old").as_str()));
    assert!(last.decision.contains("\"pruned\"") && !last.ends_request(), "{last:?}");
    assert_eq!(store.prune(prune(LATER)).await.unwrap(), Pruned::default(), "once is enough");
    over(&store, "old", "conv_old").await;
    assert!(store.run(&run("old")).unwrap().is_some(), "its name is free again");
}

pub async fn what_somebody_is_to_be_told_of_is_kept(store: Arc<dyn Store>) {
    let take = TakeWebhook { name: "w".into(), node: node("n1"), now: at(1), ttl: TTL };
    store.take_webhook(take).await.unwrap();
    over(&store, "told", "conv_told").await;
    over(&store, "newest", "conv_newest").await;
    assert_eq!(store.prune(prune(LATER)).await.unwrap(), Pruned::default());
}

pub async fn a_store_says_how_it_is(store: Arc<dyn Store>) {
    waiting(&store, "a", Some(70_000)).await;
    over(&store, "b", "conv_b").await;
    store.create_run(new_run("c")).await.unwrap();
    let view = scoped(Arc::clone(&store), Tenant::local());
    assert!(view.examine(at(0)).is_err(), "a tenant does not look into it");
    let now = store.examine(at(2_000)).unwrap();
    assert_eq!((now.runs, now.over, now.pending, now.overdue), (3, 1, 1, 0));
    assert!(now.stuck.is_empty(), "{now:?}");
    let later = store.examine(LATER).unwrap();
    assert_eq!((later.stuck, later.stuck_count, later.overdue), (vec![run("c")], 1, 1));
    // These runs name a definition that no test has put there.
    let problems: Vec<&String> =
        later.problems.iter().filter(|it| !it.contains("definition")).collect();
    assert!(problems.is_empty(), "{problems:?}");
}
