//! What happens to requests, for those who are told elsewhere.

use std::sync::Arc;

use signoff_core::deciders::{Deciders, Who};
use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Event, Gated};
use signoff_core::policy::{Outcome, Reason};
use signoff_core::{Actor, RequestId, RunStatus, Tenant};

use super::fixtures::*;
use crate::{
    Append, Decide, Decided, Happened, MoveWebhook, NewRun, Posted, Rest, Store, TakeWebhook,
    scoped,
};

async fn take(store: &Arc<dyn Store>, name: &str, by: &str, ms: i64) -> Option<u64> {
    let take = TakeWebhook { name: name.into(), node: node(by), now: at(ms), ttl: TTL };
    store.take_webhook(take).await.unwrap()
}

async fn pass(store: &Arc<dyn Store>, name: &str, by: &str, to: u64, ms: i64) -> bool {
    let moved = MoveWebhook {
        name: name.into(),
        node: node(by),
        to,
        now: at(ms),
        posted: None,
        told: None,
    };
    store.move_webhook(moved).await.unwrap()
}

fn told(store: &Arc<dyn Store>) -> Vec<(Happened, String)> {
    let events = store.happened(0, 100).unwrap();
    assert!(events.is_sorted_by_key(|event| event.no));
    events.into_iter().map(|event| (event.what, event.request.as_str().to_owned())).collect()
}

pub async fn what_happens_is_told_in_order(store: Arc<dyn Store>) {
    waiting(&store, "before", None).await;
    assert!(store.happened(0, 9).unwrap().is_empty(), "nobody is told, so nothing is written");
    assert_eq!(take(&store, "ops", "n1", 1000).await, Some(0));
    waiting(&store, "a", None).await;
    waiting(&store, "b", Some(5000)).await;
    store.decide(decide(&run("a"), 1, "x", "ann", 2000)).await.unwrap();
    store.fire_due(at(5000), 10).await.unwrap();
    let lease = store.claim_run(&run("before"), &node("n1"), at(6000), TTL).await.unwrap().unwrap();
    store.append(end(&lease, 2)).await.unwrap();
    let lease = begin(&store, "c", "n1", vec![asked(2, 1, question("Where to?", None))]).await;
    let back = vec![entry(3, Event::Withdrawn { request: 1, by: None, reason: None })];
    store.append(append(&lease, 2, back)).await.unwrap();
    let expected = [
        (Happened::Requested, "req_a_1"),
        (Happened::Requested, "req_b_1"),
        (Happened::Decided, "req_a_1"),
        (Happened::Expired, "req_b_1"),
        (Happened::Cancelled, "req_before_1"),
        (Happened::Requested, "req_c_1"),
        (Happened::Cancelled, "req_c_1"),
    ];
    assert_eq!(told(&store), expected.map(|(what, id)| (what, id.to_owned())));
    let first = store.happened(0, 1).unwrap();
    assert_eq!((first.len(), first[0].at, &first[0].tenant), (1, at(1002), &Tenant::local()));
    assert_eq!(store.happened(first[0].no, 100).unwrap().len(), 6);
}

pub async fn votes_and_reminders_are_told(store: Arc<dyn Store>) {
    take(&store, "ops", "n1", 1000).await;
    let mut body = question("Where to?", None);
    body.remind = Some(TTL);
    let lease = begin(&store, "a", "n1", vec![asked(2, 1, body)]).await;
    let park = Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(&lease, 2, vec![]) };
    store.append(park).await.unwrap();
    store.fire_due(at(20_000), 10).await.unwrap();
    let two = Who { count: 2, ..Who::default() };
    let deciders = Some(Box::new(Deciders::new(vec![two], &Actor::local())));
    for by in ["ann", "bob"] {
        let vote = Decide { deciders: deciders.clone(), ..decide(&run("a"), 1, "x", by, 21_000) };
        let decided = store.decide(vote).await.unwrap();
        assert_eq!(matches!(decided, Decided::Voted(_)), by == "ann");
    }
    let told = told(&store).into_iter().map(|(what, _)| what).collect::<Vec<_>>();
    let expected = [Happened::Requested, Happened::Reminded, Happened::Voted, Happened::Decided];
    assert_eq!(told, expected);
}

pub async fn what_a_fork_brings_along_is_not_told(store: Arc<dyn Store>) {
    take(&store, "ops", "n1", 1000).await;
    let answered = decide(&run("a"), 1, "x", "ann", 1).decision;
    let entries = vec![
        entry(1, started(None)),
        asked(2, 1, question("Where to?", None)),
        entry(
            3,
            Event::Decided { request: 1, decision: answered, by: Actor::new("ann"), sent: None },
        ),
        asked(4, 2, question("When?", None)),
    ];
    store.create_run(NewRun { entries, ..new_run("a") }).await.unwrap().unwrap();
    assert_eq!(told(&store), [(Happened::Requested, "req_a_2".to_owned())]);
}

fn gated(seq: Seq, criterion: &str, outcome: Outcome) -> Entry {
    let gate = Gated {
        activation: 1,
        key: format!("k{seq}").into(),
        tool: "write_file".into(),
        digest: "d".to_owned(),
        action: serde_json::Value::Null,
        policy: String::new(),
        approved: Vec::new(),
        read_only: false,
        outcome,
        reasons: vec![Reason {
            gate: "edits".into(),
            criterion: criterion.to_owned(),
            evidence: String::new(),
        }],
    };
    entry(seq, Event::Gated(Box::new(gate)))
}

pub async fn what_is_audited_is_told(store: Arc<dyn Store>) {
    take(&store, "ops", "n1", 1000).await;
    let lease = begin(&store, "a", "n1", vec![gated(2, "audit", Outcome::Allow)]).await;
    assert!(told(&store).is_empty(), "a fork brings it along");
    let done = vec![
        gated(3, "audit", Outcome::Allow),
        gated(4, "always", Outcome::Allow),
        gated(5, "audit", Outcome::Ask),
        gated(6, "audit", Outcome::Deny),
    ];
    store.append(append(&lease, 2, done)).await.unwrap();
    let events = store.happened(0, 9).unwrap();
    let entries: Vec<_> = events.iter().map(|event| event.audited().unwrap()).collect();
    assert_eq!(entries, [(run("a"), 3), (run("a"), 6)]);
    assert_eq!((events[0].at, &events[0].tenant), (at(1003), &Tenant::local()));
}

pub async fn a_webhook_is_delivered_to_by_one(store: Arc<dyn Store>) {
    assert_eq!(take(&store, "ops", "n1", 1000).await, Some(0));
    assert_eq!(take(&store, "ops", "n2", 2000).await, None, "somebody else delivers");
    waiting(&store, "a", None).await;
    let no = store.happened(0, 9).unwrap()[0].no;
    assert!(!pass(&store, "ops", "n2", no, 2000).await);
    assert_eq!(take(&store, "ops", "n1", 9000).await, Some(0), "it is prolonged");
    assert_eq!(take(&store, "ops", "n2", 18_999).await, None);
    assert_eq!(take(&store, "ops", "n2", 19_000).await, Some(0), "it has run out");
    assert!(!pass(&store, "ops", "n1", no, 19_001).await, "who comes late moves nothing");
    assert!(pass(&store, "ops", "n2", no, 19_001).await);
    assert_eq!(take(&store, "ops", "n2", 19_002).await, Some(no));
    assert!(pass(&store, "ops", "n2", 0, 19_003).await);
    assert_eq!(take(&store, "ops", "n2", 19_004).await, Some(no), "it never goes back");
}

pub async fn what_it_is_known_by_there_is_kept(store: Arc<dyn Store>) {
    take(&store, "ops", "n1", 1000).await;
    take(&store, "team", "n1", 1000).await;
    let (one, two) = (run("a").request(1), run("a").request(2));
    let keep = async |name: &str, by: &str, request: &RequestId, reference: Option<&str>| {
        let (request, reference) = (request.clone(), reference.map(str::to_owned));
        let posted = Some(Posted { request, reference });
        let (name, node) = (name.into(), node(by));
        let moved = MoveWebhook { name, node, to: 0, now: at(1001), posted, told: None };
        store.move_webhook(moved).await.unwrap()
    };
    let known = |name: &str, request: &RequestId| store.posted(&name.into(), request).unwrap();
    assert_eq!(known("ops", &one), None);
    assert!(keep("ops", "n1", &one, Some("C1/7.1")).await);
    assert!(keep("ops", "n1", &two, Some("C1/7.2")).await);
    assert!(keep("team", "n1", &one, Some("é\u{0}")).await);
    assert_eq!(known("ops", &one).as_deref(), Some("C1/7.1"));
    assert_eq!(known("ops", &two).as_deref(), Some("C1/7.2"));
    assert_eq!(known("team", &one).as_deref(), Some("é\u{0}"), "each knows it by its own name");
    assert!(!keep("ops", "n2", &one, Some("stolen")).await, "somebody else delivers");
    assert!(keep("ops", "n1", &one, Some("C1/8.1")).await);
    assert_eq!(known("ops", &one).as_deref(), Some("C1/8.1"), "the last counts");
    assert!(keep("ops", "n1", &one, None).await);
    assert_eq!((known("ops", &one), known("ops", &two).as_deref()), (None, Some("C1/7.2")));
}

pub async fn events_are_kept_until_all_are_told(store: Arc<dyn Store>) {
    take(&store, "one", "n1", 1000).await;
    waiting(&store, "a", None).await;
    let first = store.happened(0, 9).unwrap()[0].no;
    assert_eq!(take(&store, "two", "n1", 1000).await, Some(first), "a new one begins here");
    waiting(&store, "b", None).await;
    let second = store.happened(first, 9).unwrap()[0].no;
    assert!(pass(&store, "one", "n1", second, 1001).await);
    let left: Vec<u64> = store.happened(0, 9).unwrap().iter().map(|event| event.no).collect();
    assert_eq!(left, [second], "the other was not told yet");
    assert!(pass(&store, "two", "n1", second, 1002).await);
    assert!(store.happened(0, 9).unwrap().is_empty());
    waiting(&store, "c", None).await;
    assert!(store.happened(0, 9).unwrap()[0].no > second, "no number comes twice");
    // Nobody waits for one that nobody has delivered to for a week.
    let week = 7 * 24 * 3_600_000;
    assert_eq!(take(&store, "one", "n1", week + 20_000).await, Some(second));
    let last = store.happened(0, 9).unwrap()[0].no;
    assert!(pass(&store, "one", "n1", last, week + 20_000).await);
    assert!(store.happened(0, 9).unwrap().is_empty());
}

pub async fn a_tenant_does_not_deliver(store: Arc<dyn Store>) {
    let view = scoped(Arc::clone(&store), Tenant::local());
    let take = TakeWebhook { name: "ops".into(), node: node("n1"), now: at(1), ttl: TTL };
    assert!(view.take_webhook(take).await.is_err());
    let moved = MoveWebhook {
        name: "ops".into(),
        node: node("n1"),
        to: 1,
        now: at(1),
        posted: None,
        told: None,
    };
    assert!(view.move_webhook(moved).await.is_err());
    assert!(view.happened(0, 9).is_err());
    assert!(view.posted(&"ops".into(), &run("a").request(1)).is_err());
}
