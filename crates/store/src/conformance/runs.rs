//! Runs: how they end, how they hang together, how they are listed.

use std::sync::Arc;

use signoff_core::journal::{ErrorInfo, Event, Input, Outcome};
use signoff_core::request::RequestStatus;
use signoff_core::{Actor, Decision, RunStatus, Tenant};

use super::fixtures::*;
use crate::{Append, Claim, End, Follows, NewRun, Rest, RunFilter, Scope, Store, StoreError};

pub async fn the_end_clears_up(store: Arc<dyn Store>) {
    let asks = vec![
        asked(2, 1, question("Where to?", Some(900))),
        asked(3, 2, question("When?", None)),
        entry(4, Event::TimerSet { activation: 1, key: "nap".into(), due: at(800) }),
    ];
    let lease = begin(&store, "a", "n1", asks).await;
    store.decide(decide(&run("a"), 2, "May", "ann", 20)).await.unwrap();
    let error = ErrorInfo::new("model", "it fell over").hint("try again");
    let failed = entry(5, Event::RunFailed { error: error.clone() });
    let end = Append {
        status: RunStatus::Failed,
        rest: Rest::End(End {
            outcome: Outcome::Err(error.clone()),
            error: Some(error.clone()),
            stopped_by: None,
        }),
        ..append(&lease, 4, vec![failed])
    };
    store.append(end).await.unwrap();
    let record = store.run(&run("a")).unwrap().unwrap();
    assert_eq!((record.status, record.error), (RunStatus::Failed, Some(error)));
    let status = |no| store.request(&run("a").request(no)).unwrap().unwrap().status;
    assert_eq!((status(1), status(2)), (RequestStatus::Cancelled, RequestStatus::Decided));
    assert_eq!(store.next_due().unwrap(), None);
    assert!(store.inputs(&run("a"), 0).unwrap().is_empty());
    let late = store.decide(decide(&run("a"), 1, "x", "ann", 20)).await.unwrap();
    assert!(matches!(late, crate::Decided::TooLate(_)));
}

pub async fn the_end_tells_the_parent(store: Arc<dyn Store>) {
    let parent = begin(&store, "a", "n1", vec![]).await;
    let parked = Append { rest: Rest::Park, ..append(&parent, 1, vec![]) };
    store.append(parked).await.unwrap();
    let claim = Some(Claim { node: node("n2"), until: at(99) });
    let child = store
        .create_run(NewRun { claim, ..child_run("sub", &run("a")) })
        .await
        .unwrap()
        .unwrap()
        .lease
        .unwrap();
    assert_eq!(store.run(&run("sub")).unwrap().unwrap().root, run("a"));
    store.append(end(&child, 1)).await.unwrap();
    let input = Input::ChildEnded {
        activation: 4,
        key: "sub".into(),
        outcome: Outcome::Ok(Arc::new("done".into())),
        stopped_by: None,
    };
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [(1, input)]);
    let leases = store.claim(Scope::All, &node("n3"), at(5), TTL, 9).await.unwrap();
    assert_eq!(leases.iter().map(|lease| &lease.run).collect::<Vec<_>>(), [&run("a")]);

    // A parent that is over, or was never here, is no reason to fail.
    store.append(end(&leases[0], 1)).await.unwrap();
    for (name, parent) in [("late", "a"), ("orphan", "nobody")] {
        let claim = Some(Claim { node: node("n2"), until: at(99) });
        let new = NewRun { claim, ..child_run(name, &run(parent)) };
        let lease = store.create_run(new).await.unwrap().unwrap().lease.unwrap();
        store.append(end(&lease, 1)).await.unwrap();
    }
    assert!(store.inputs(&run("a"), 0).unwrap().is_empty());
}

pub async fn the_end_tells_the_runs_that_are_part_of_it(store: Arc<dyn Store>) {
    let parent = begin(&store, "a", "n1", vec![]).await;
    for name in ["sub", "over"] {
        let claim = Some(Claim { node: node("n2"), until: at(99) });
        let new = NewRun { claim, ..child_run(name, &run("a")) };
        let lease = store.create_run(new).await.unwrap().unwrap().lease.unwrap();
        let rest = match name {
            "over" => end(&lease, 1),
            _ => Append { rest: Rest::Park, ..append(&lease, 1, vec![]) },
        };
        store.append(rest).await.unwrap();
    }
    store.append(end(&parent, 1)).await.unwrap();
    assert_eq!(store.inputs(&run("sub"), 0).unwrap(), [(1, End::for_children())]);
    assert!(store.inputs(&run("over"), 0).unwrap().is_empty());
    let leases = store.claim(Scope::Tree(run("a")), &node("n3"), at(5), TTL, 9).await.unwrap();
    assert_eq!(leases.iter().map(|lease| &lease.run).collect::<Vec<_>>(), [&run("sub")]);
}

pub async fn a_fork_brings_its_answers(store: Arc<dyn Store>) {
    let by = Actor::new("ann");
    let decision = Decision::respond("Lisbon");
    let entries = vec![
        asked(2, 1, question("Where to?", Some(50))),
        asked(3, 2, question("When?", Some(60))),
        asked(4, 3, question("Why?", Some(70))),
        entry(
            5,
            Event::Decided { request: 1, decision: decision.clone(), by: by.clone(), sent: None },
        ),
        entry(6, Event::Expired { request: 2 }),
    ];
    begin(&store, "fork", "n1", entries).await;
    let get = |no| store.request(&run("fork").request(no)).unwrap().unwrap();
    assert_eq!(get(1).status, RequestStatus::Decided);
    let taken = get(1).decision.unwrap();
    assert_eq!((taken.decision, taken.by, taken.at), (decision, by, at(1005)));
    assert_eq!(get(2).status, RequestStatus::Expired);
    assert_eq!(get(3).status, RequestStatus::Pending);
    assert_eq!(store.next_due().unwrap(), Some(at(70)));
}

pub async fn withdrawn_requests_are_cancelled(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![asked(2, 1, question("?", Some(50)))]).await;
    let withdrawn = entry(3, Event::Withdrawn { request: 1, by: None, reason: None });
    store.append(append(&lease, 2, vec![withdrawn])).await.unwrap();
    let request = store.request(&run("a").request(1)).unwrap().unwrap();
    assert_eq!((request.status, request.version), (RequestStatus::Cancelled, 2));
    assert_eq!(store.next_due().unwrap(), None);
    // An answer is not undone by what the journal says later.
    waiting(&store, "b", Some(50)).await;
    store.decide(decide(&run("b"), 1, "x", "ann", 20)).await.unwrap();
    let lease = store.claim_run(&run("b"), &node("n1"), at(20), TTL).await.unwrap().unwrap();
    let expired = entry(3, Event::Expired { request: 1 });
    store.append(append(&lease, 2, vec![expired])).await.unwrap();
    let request = store.request(&run("b").request(1)).unwrap().unwrap();
    assert_eq!((request.status, request.version), (RequestStatus::Decided, 2));
}

fn names(items: &[crate::RunRecord]) -> Vec<&str> {
    items.iter().map(|run| run.id.unique()).collect()
}

pub async fn runs_are_listed_newest_first(store: Arc<dyn Store>) {
    for n in 0..7 {
        store.create_run(new_run(&format!("a{n}"))).await.unwrap();
    }
    let filter = RunFilter::default();
    let first = store.runs(&filter, None, 3).unwrap();
    assert_eq!(names(&first.items), ["a6", "a5", "a4"]);
    store.create_run(new_run("later")).await.unwrap();
    let second = store.runs(&filter, first.next.as_deref(), 3).unwrap();
    assert_eq!(names(&second.items), ["a3", "a2", "a1"]);
    let third = store.runs(&filter, second.next.as_deref(), 3).unwrap();
    assert_eq!(names(&third.items), ["a0"]);
    assert!(third.next.is_none());
    let exact = store.runs(&filter, None, 8).unwrap();
    assert!(exact.items.len() == 8 && exact.next.is_none());
    assert!(store.runs(&filter, Some("q1"), 3).is_err());
}

pub async fn runs_are_filtered(store: Arc<dyn Store>) {
    let lease = begin(&store, "abc", "n1", vec![]).await;
    store.append(end(&lease, 1)).await.unwrap();
    store.create_run(child_run("abd", &run("abc"))).await.unwrap();
    let mut other = new_run("xyz");
    other.entries = vec![entry(1, started_in("code", "conv_2", None))];
    store.create_run(other).await.unwrap();
    let list = |filter: RunFilter| {
        let page = store.runs(&filter, None, 50).unwrap();
        page.items.iter().map(|run| run.id.unique().to_owned()).collect::<Vec<_>>()
    };
    let all = RunFilter::default;
    assert_eq!(list(all()), ["xyz", "abd", "abc"]);
    assert_eq!(list(RunFilter { status: Some(RunStatus::Completed), ..all() }), ["abc"]);
    assert_eq!(list(RunFilter { workflow: Some("code".into()), ..all() }), ["xyz"]);
    assert_eq!(list(RunFilter { conversation: Some("conv_2".into()), ..all() }), ["xyz"]);
    assert_eq!(list(RunFilter { root: Some(run("abc")), ..all() }), ["abd", "abc"]);
    for prefix in ["ab", "run_ab"] {
        assert_eq!(list(RunFilter { id_prefix: Some(prefix.into()), ..all() }), ["abd", "abc"]);
    }
    assert_eq!(list(RunFilter { id_prefix: Some("run_abc".into()), ..all() }), ["abc"]);
    for nothing in ["%", "a_", "' OR 1=1 --"] {
        assert!(list(RunFilter { id_prefix: Some(nothing.into()), ..all() }).is_empty());
    }
}

pub async fn a_conversation_has_a_latest_run(store: Arc<dyn Store>) {
    assert!(store.latest_run(&Tenant::local(), &"conv_1".into()).unwrap().is_none());
    store.create_run(new_run("a")).await.unwrap();
    store.create_run(new_run("b")).await.unwrap();
    store.create_run(child_run("part", &run("a"))).await.unwrap();
    assert_eq!(store.latest_run(&Tenant::local(), &"conv_1".into()).unwrap().unwrap().id, run("b"));
}

pub async fn a_conversation_goes_on_from_where_it_was_seen(store: Arc<dyn Store>) {
    let after = |name: &str, before: Option<&str>| {
        let follows = Follows::Exactly(before.map(run));
        store.create_run(NewRun { follows, ..new_run(name) })
    };
    let (first, second) = (after("a", None), after("b", None));
    assert!(first.await.unwrap().is_some());
    let moved = second.await.unwrap_err();
    assert!(matches!(moved, StoreError::ConversationMoved { run: at } if at == run("a")));
    assert!(store.run(&run("b")).unwrap().is_none());
    store.create_run(child_run("part", &run("a"))).await.unwrap();
    assert!(after("b", Some("a")).await.unwrap().is_some());
    assert!(after("c", Some("a")).await.is_err());
    assert!(after("c", None).await.is_err());
    assert!(after("a", None).await.unwrap().is_none(), "it exists");
}

pub async fn changes_are_noticed(store: Arc<dyn Store>) {
    let before = store.changes().unwrap();
    store.create_run(new_run("a")).await.unwrap();
    let after = store.changes().unwrap();
    assert_ne!(before, after);
    store.run(&run("a")).unwrap();
    assert_eq!(after, store.changes().unwrap());
}
