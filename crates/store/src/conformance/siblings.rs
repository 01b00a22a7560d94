//! Requests of one turn, and requests that are put off.

use std::sync::Arc;

use signoff_core::decision::{Actor, Decision, Siblings, Then};
use signoff_core::request::{RequestBody, RequestStatus};
use signoff_core::{RunStatus, Span};

use Happened::{Deferred, Reopened, Requested};
use RequestStatus::{Cancelled, Decided as Taken, Pending};

use super::fixtures::*;
use crate::{
    Append, Decide, Decided, DecidedAll, Happened, Lease, Mark, Marked, Noted, RequestFilter, Rest,
    Store, TakeWebhook,
};

/// Three questions of one turn and one of another.
async fn a_turn(store: &Arc<dyn Store>) -> Lease {
    let of = |turn: &str| RequestBody {
        turn: Some(turn.into()),
        siblings: Siblings::Replan,
        ..question("Do it?", Some(9_000_000))
    };
    let entries = vec![
        asked(2, 1, of("1/m1")),
        asked(3, 2, of("1/m1")),
        asked(4, 3, of("1/m1")),
        asked(5, 4, of("1/m2")),
    ];
    let lease = begin(store, "a", "n1", vec![]).await;
    let parked =
        Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(&lease, 1, entries) };
    store.append(parked).await.unwrap();
    lease
}

fn rejects(request: u32, ms: i64) -> Decide {
    Decide {
        decision: Decision::reject(None, Then::Continue),
        withdraw: Some("1/m1".into()),
        ..decide(&run("a"), request, "no", "ann", ms)
    }
}

fn stands(store: &Arc<dyn Store>) -> Vec<RequestStatus> {
    let one = |n| store.request(&run("a").request(n)).unwrap().unwrap().status;
    (1..=4).map(one).collect()
}

pub async fn a_rejection_takes_the_rest_of_its_turn_back(store: Arc<dyn Store>) {
    let ops = TakeWebhook { name: "ops".into(), node: node("n1"), now: at(0), ttl: TTL };
    store.take_webhook(ops).await.unwrap();
    a_turn(&store).await;
    store.decide(decide(&run("a"), 2, "yes", "bob", 2000)).await.unwrap();
    let taken = store.decide(rejects(1, 2001)).await.unwrap();
    assert!(matches!(taken, Decided::Taken { .. }));
    assert_eq!(stands(&store), [Taken, Taken, Cancelled, Pending]);
    let third = store.request(&run("a").request(3)).unwrap().unwrap();
    assert_eq!(third.version, 2);
    assert_eq!(third.withdrawn.unwrap(), "ann rejected another call of the same turn (request 1)");
    let late = store.decide(decide(&run("a"), 3, "yes", "bob", 2002)).await.unwrap();
    assert!(matches!(late, Decided::TooLate(request) if request.status == Cancelled));
    let lines = record(&store);
    let line = lines.iter().find(|line| line.request == third.id).unwrap();
    assert!(line.decision.contains("withdrawn") && line.ends_request(), "{line:?}");
    assert_eq!(line.by, Actor::new("ann"));
    let told = store.happened(0, 100).unwrap();
    assert_eq!(
        told.last().map(|event| (event.what, event.request.clone())),
        Some((Happened::Cancelled, third.id))
    );
    assert_eq!(
        store.fire_due(at(9_000_000), 10).await.unwrap(),
        1,
        "only the last is left to expire"
    );
}

pub async fn what_is_decided_along_with_a_rejection_counts(store: Arc<dyn Store>) {
    a_turn(&store).await;
    let together = vec![rejects(1, 2000), decide(&run("a"), 3, "yes", "ann", 2000)];
    let taken = store.decide_all(together).await.unwrap();
    let DecidedAll::Taken(taken) = taken else { panic!("{taken:?}") };
    assert!(taken.iter().all(|one| matches!(one, Decided::Taken { .. })), "{taken:?}");
    assert_eq!(stands(&store), [Taken, Cancelled, Taken, Pending]);
    let inputs = store.inputs(&run("a"), 0).unwrap();
    let first = format!("{:?}", inputs[0]);
    assert!(first.contains("request: 3"), "the run hears of the yes before the no: {first}");
}

pub async fn a_request_is_put_off_and_comes_back(store: Arc<dyn Store>) {
    let ops = TakeWebhook { name: "ops".into(), node: node("n1"), now: at(0), ttl: TTL };
    store.take_webhook(ops).await.unwrap();
    let lease = begin(&store, "a", "n1", vec![]).await;
    let body = RequestBody { remind: Some(Span::seconds(1)), ..question("?", Some(50_000)) };
    let ask = vec![asked(2, 1, body), asked(3, 2, question("And?", None))];
    let parked = Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(&lease, 1, ask) };
    store.append(parked).await.unwrap();
    let id = run("a").request(1);
    let defer = |until, ms| Mark {
        request: id.clone(),
        by: Actor::new("ann"),
        at: at(ms),
        what: Noted::Deferred { until: at(until), text: Some("after lunch".to_owned()) },
    };
    let count = |deferred| {
        let filter = RequestFilter { deferred, ..RequestFilter::default() };
        let listed = store.requests(&filter, None, 10).unwrap().items.len() as u64;
        assert_eq!(store.count_requests(&filter).unwrap(), listed);
        listed
    };
    assert_eq!((count(Some(true)), count(Some(false)), count(None)), (0, 2, 2));
    let marked = store.mark(defer(10_000, 1500)).await.unwrap();
    assert!(matches!(marked, Marked::Done(request) if request.deferred_until == Some(at(10_000))));
    // The same again is noted once; another time takes its place.
    store.mark(defer(10_000, 1600)).await.unwrap();
    store.mark(defer(20_000, 1700)).await.unwrap();
    assert_eq!((count(Some(true)), count(Some(false)), count(None)), (1, 1, 2));
    let before = store.request(&id).unwrap().unwrap();
    assert_eq!((before.version, before.deferred_until), (1, Some(at(20_000))));
    store.fire_due(at(19_999), 10).await.unwrap();
    let whats = |store: &Arc<dyn Store>| -> Vec<String> {
        let notes = store.notes(&id).unwrap();
        notes.iter().map(|note| serde_json::to_value(note).unwrap()["what"].to_string()).collect()
    };
    assert_eq!(whats(&store), [r#""deferred""#; 2], "nobody is reminded of what is put off");
    store.fire_due(at(20_000), 10).await.unwrap();
    assert_eq!(count(Some(true)), 0);
    assert_eq!(whats(&store)[2], r#""reopened""#);
    assert_eq!(store.request(&id).unwrap().unwrap().deferred_until, None);
    let told: Vec<Happened> = store.happened(0, 100).unwrap().iter().map(|it| it.what).collect();
    assert_eq!(told, [Requested, Requested, Deferred, Deferred, Reopened]);
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [], "its run sleeps on");
    // Its deadline holds, and what is decided is not put off.
    store.mark(defer(40_000, 21_000)).await.unwrap();
    store.decide(decide(&run("a"), 1, "yes", "ann", 22_000)).await.unwrap();
    assert_eq!((count(Some(true)), count(Some(false))), (0, 2));
    store.fire_due(at(60_000), 10).await.unwrap();
    assert_eq!(whats(&store).len(), 4, "it is not reopened once it is decided");
    let late = store.mark(defer(90_000, 61_000)).await.unwrap();
    assert!(matches!(late, Marked::Closed(_)));
}
