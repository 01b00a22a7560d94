//! Leases: one writer at a time, and none for long if it dies.

use std::collections::BTreeSet;
use std::sync::Arc;

use signoff_core::journal::Input;
use signoff_core::{Actor, RunStatus};

use super::fixtures::*;
use crate::{Append, Duty, Lease, Rest, Scope, Store, TakeDuty};

async fn claim(store: &Arc<dyn Store>, name: &str, ms: i64, limit: usize) -> Vec<Lease> {
    store.claim(Scope::All, &node(name), at(ms), TTL, limit).await.unwrap()
}

fn parked(lease: &Lease, expected: u64) -> Append {
    Append {
        status: RunStatus::Waiting,
        rest: Rest::Park,
        ..append(lease, expected, vec![output(expected + 1)])
    }
}

fn pause() -> Input {
    Input::Pause { by: Actor::local(), reason: None }
}

pub async fn a_new_run_is_ready(store: Arc<dyn Store>) {
    let created = store.create_run(new_run("a")).await.unwrap().unwrap();
    assert!(created.lease.is_none());
    let leases = claim(&store, "n1", 0, 10).await;
    assert_eq!(leases, [Lease { run: run("a"), node: node("n1"), epoch: 1 }]);
    assert!(claim(&store, "n1", 0, 10).await.is_empty());
}

pub async fn a_lease_excludes_others(store: Arc<dyn Store>) {
    begin(&store, "a", "n1", vec![]).await;
    assert!(claim(&store, "n2", 9_999, 10).await.is_empty());
    assert!(store.claim_run(&run("a"), &node("n2"), at(9_999), TTL).await.unwrap().is_none());
    assert!(store.claim_run(&run("a"), &node("n1"), at(9_999), TTL).await.unwrap().is_none());
}

pub async fn a_lease_runs_out(store: Arc<dyn Store>) {
    let old = begin(&store, "a", "n1", vec![]).await;
    let new = claim(&store, "n2", 10_000, 10).await;
    assert_eq!(new, [Lease { run: run("a"), node: node("n2"), epoch: old.epoch + 1 }]);
    assert!(store.renew(vec![old], at(99_999)).await.unwrap().is_empty());
    assert_eq!(claim(&store, "n1", 20_000, 10).await.len(), 1);
}

pub async fn claims_do_not_overlap(store: Arc<dyn Store>) {
    for n in 0..50 {
        store.create_run(new_run(&format!("a{n}"))).await.unwrap();
    }
    let claims: Vec<_> =
        (0..20).map(|n| store.claim(Scope::All, &node(&format!("n{n}")), at(1), TTL, 7)).collect();
    let mut seen = BTreeSet::new();
    for claimed in claims {
        let leases = claimed.await.unwrap();
        assert!(leases.len() <= 7);
        for lease in leases {
            assert!(seen.insert(lease.run), "leased twice");
        }
    }
    assert_eq!(seen.len(), 50);
}

pub async fn a_parked_run_is_not_ready(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    store.append(parked(&lease, 1)).await.unwrap();
    assert!(claim(&store, "n1", 99_999, 10).await.is_empty());
    assert_eq!(store.run(&run("a")).unwrap().unwrap().status, RunStatus::Waiting);
    assert!(store.deliver(&run("a"), pause(), at(5)).await.unwrap());
    assert_eq!(claim(&store, "n1", 5, 10).await.len(), 1);
}

pub async fn parking_with_a_waiting_input_stays_ready(store: Arc<dyn Store>) {
    for (name, consumed, ready) in [("a", 1, 1), ("b", 2, 0)] {
        let lease = begin(&store, name, "n1", vec![]).await;
        store.deliver(&run(name), pause(), at(5)).await.unwrap();
        store.deliver(&run(name), pause(), at(6)).await.unwrap();
        assert!(claim(&store, "n2", 7, 10).await.is_empty());
        store.append(Append { consumed, ..parked(&lease, 1) }).await.unwrap();
        assert_eq!(claim(&store, "n2", 7, 10).await.len(), ready, "{name}");
    }
}

pub async fn a_released_run_is_ready(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    store.release(Lease { epoch: 9, ..lease.clone() }).await.unwrap();
    assert!(claim(&store, "n2", 1, 10).await.is_empty());
    store.release(lease.clone()).await.unwrap();
    store.release(lease).await.unwrap();
    assert_eq!(claim(&store, "n2", 1, 10).await.len(), 1);
}

pub async fn renewing_keeps_what_is_held(store: Arc<dyn Store>) {
    let kept = begin(&store, "a", "n1", vec![]).await;
    let lost = begin(&store, "b", "n1", vec![]).await;
    store.release(lost.clone()).await.unwrap();
    let held = store.renew(vec![kept.clone(), lost], at(50_000)).await.unwrap();
    assert_eq!(held, std::slice::from_ref(&kept));
    let claimed = claim(&store, "n2", 49_999, 10).await;
    assert_eq!(claimed.iter().map(|lease| &lease.run).collect::<Vec<_>>(), [&run("b")]);
    assert_eq!(claim(&store, "n2", 50_000, 1).await[0].run, run("a"));
}

pub async fn a_tree_is_claimed_without_its_neighbours(store: Arc<dyn Store>) {
    store.create_run(new_run("a")).await.unwrap();
    store.create_run(new_run("b")).await.unwrap();
    store.create_run(child_run("a-child", &run("a"))).await.unwrap();
    store.create_run(child_run("a-grandchild", &run("a-child"))).await.unwrap();
    let scope = |name: &str| Scope::Tree(run(name));
    let names = |leases: Vec<Lease>| -> Vec<String> {
        leases.iter().map(|lease| lease.run.unique().to_owned()).collect()
    };
    let part = store.claim(scope("a-child"), &node("n"), at(1), TTL, 10).await.unwrap();
    assert_eq!(names(part), ["a-child", "a-grandchild"]);
    let rest = store.claim(scope("a"), &node("n"), at(1), TTL, 10).await.unwrap();
    assert_eq!(names(rest), ["a"]);
    assert!(store.claim(scope("nobody"), &node("n"), at(1), TTL, 10).await.unwrap().is_empty());
}

pub async fn a_single_run_is_claimed_ready_or_not(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    store.append(parked(&lease, 1)).await.unwrap();
    let again = store.claim_run(&run("a"), &node("n2"), at(1), TTL).await.unwrap().unwrap();
    assert_eq!(again, Lease { run: run("a"), node: node("n2"), epoch: 2 });
    // Whoever takes it may die before parking it: then it is found again.
    assert!(claim(&store, "n3", 2, 10).await.is_empty());
    assert_eq!(claim(&store, "n3", 20_000, 10).await.len(), 1);
}

pub async fn a_run_that_is_over_is_not_claimed(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    store.append(end(&lease, 1)).await.unwrap();
    assert!(claim(&store, "n2", 99_999, 10).await.is_empty());
    assert!(store.claim_run(&run("a"), &node("n2"), at(1), TTL).await.unwrap().is_none());
    assert!(store.append(append(&lease, 2, vec![output(3)])).await.is_err());
    assert!(!store.deliver(&run("a"), pause(), at(5)).await.unwrap());
    assert!(store.inputs(&run("a"), 0).unwrap().is_empty());
}

/// Of several nodes one at a time does what is done for all; it may go on with it, and when it does not, another does.
pub async fn a_duty_is_one_nodes_at_a_time(store: Arc<dyn Store>) {
    let take = |who: &str, now: i64, until: i64| {
        let (node, now, until) = (node(who), at(now), at(until));
        store.take_duty(TakeDuty { duty: Duty::Retention, node, now, until })
    };
    assert!(take("n1", 0, 100).await.unwrap());
    assert!(!take("n2", 50, 1_000).await.unwrap(), "n1 has it");
    assert!(take("n1", 60, 200).await.unwrap(), "n1 goes on");
    assert!(!take("n2", 199, 1_000).await.unwrap(), "and has it for longer");
    assert!(take("n2", 200, 300).await.unwrap(), "n1 did not go on");
    assert!(!take("n1", 201, 1_000).await.unwrap(), "n2 has it now");
    let both = futures_util::future::join(take("n3", 300, 400), take("n4", 300, 400)).await;
    assert_ne!(both.0.unwrap(), both.1.unwrap(), "one of those who ask at once gets it");
}
