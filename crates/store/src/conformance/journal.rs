//! Journals: atomic, fenced, in order, without gaps.

use std::sync::Arc;

use signoff_core::Actor;
use signoff_core::RunStatus;
use signoff_core::journal::{Event, Input};
use signoff_core::time::Timestamp;

use super::fixtures::*;
use crate::{Append, Definition, Lease, Rest, Snapshot, Store, StoreError};

pub async fn a_run_reads_back_as_it_was_written(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![output(2)]).await;
    assert_eq!(lease, Lease { run: run("a"), node: node("n1"), epoch: 1 });
    store.append(append(&lease, 2, vec![output(3), output(4)])).await.unwrap();

    let loaded = store.load(&run("a"), None).unwrap();
    assert_eq!(loaded.entries, [entry(1, started(None)), output(2), output(3), output(4)]);
    assert!(loaded.snapshot.is_none() && loaded.inputs.is_empty());
    let record = loaded.record;
    assert_eq!(Some(&record), store.run(&run("a")).unwrap().as_ref());
    assert_eq!(record.root, run("a"));
    assert_eq!((&*record.workflow, &*record.version), ("travel", "hash"));
    assert_eq!(record.conversation.as_str(), "conv_1");
    assert_eq!((record.status, record.head, record.error), (RunStatus::Running, 4, None));
    assert_eq!((record.created_at, record.updated_at), (at(1001), at(1004)));
    let upto = store.load(&run("a"), Some(3)).unwrap();
    assert_eq!(upto.entries, [entry(1, started(None)), output(2), output(3)]);
}

pub async fn creating_twice_changes_nothing(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![output(2)]).await;
    let again = store.create_run(new_run("a")).await.unwrap();
    assert!(again.is_none());
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 2);
    store.append(append(&lease, 2, vec![output(3)])).await.unwrap();
}

pub async fn a_run_begins_with_how_it_started(store: Arc<dyn Store>) {
    let mut new = new_run("a");
    new.entries = vec![output(1)];
    assert!(matches!(store.create_run(new).await, Err(StoreError::Failed(_))));
    assert!(store.run(&run("a")).unwrap().is_none());
}

pub async fn numbers_have_no_gaps(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    for wrong in [vec![output(3)], vec![output(2), output(4)], vec![output(1)]] {
        let refused = store.append(append(&lease, 1, wrong)).await;
        assert!(matches!(refused, Err(StoreError::Failed(_))));
    }
    for seq in 1..20 {
        store.append(append(&lease, seq, vec![output(seq + 1)])).await.unwrap();
    }
    let numbers: Vec<u64> =
        store.entries(&run("a"), 0, 100).unwrap().iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}

async fn is_fenced(store: &Arc<dyn Store>, append: Append) {
    let refused = store.append(append).await;
    assert!(matches!(refused, Err(StoreError::Fenced { run: fenced }) if fenced == run("a")));
}

pub async fn a_stale_position_is_fenced(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![output(2)]).await;
    is_fenced(&store, append(&lease, 1, vec![output(2)])).await;
    is_fenced(&store, append(&lease, 3, vec![output(4)])).await;
    store.append(append(&lease, 2, vec![output(3)])).await.unwrap();
    is_fenced(&store, append(&lease, 2, vec![output(3)])).await;
}

pub async fn a_stale_epoch_is_fenced(store: Arc<dyn Store>) {
    let old = begin(&store, "a", "n1", vec![]).await;
    let later = at(0).plus(TTL);
    let new = store.claim_run(&run("a"), &node("n1"), later, TTL).await.unwrap().unwrap();
    assert!(new.epoch > old.epoch);
    is_fenced(&store, append(&old, 1, vec![output(2)])).await;
    store.append(append(&new, 1, vec![output(2)])).await.unwrap();
}

pub async fn another_node_is_fenced(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    let stranger = Lease { node: node("n2"), ..lease.clone() };
    is_fenced(&store, append(&stranger, 1, vec![output(2)])).await;
    store.release(lease.clone()).await.unwrap();
    is_fenced(&store, append(&lease, 1, vec![output(2)])).await;
}

pub async fn a_refused_append_leaves_no_trace(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    store
        .deliver(&run("a"), Input::Pause { by: Actor::local(), reason: None }, at(5))
        .await
        .unwrap();
    let before = format!("{:?}", store.load(&run("a"), None).unwrap());
    let stale = Append {
        consumed: 1,
        status: RunStatus::Waiting,
        rest: Rest::Park,
        snapshot: Some(Snapshot { seq: 9, body: vec![1] }),
        ..append(&lease, 7, vec![asked(8, 1, question("Where to?", Some(50)))])
    };
    // Among others that go through, because they may share a transaction.
    let good = store.append(append(&lease, 1, vec![]));
    let bad = store.append(stale);
    let also = store.append(append(&lease, 1, vec![]));
    good.await.unwrap();
    assert!(matches!(bad.await, Err(StoreError::Fenced { .. })));
    also.await.unwrap();
    assert_eq!(before, format!("{:?}", store.load(&run("a"), None).unwrap()));
    assert!(store.request(&run("a").request(1)).unwrap().is_none());
    assert_eq!(store.next_due().unwrap(), None);
}

pub async fn appends_keep_their_order(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    let waiting: Vec<_> =
        (1..200).map(|seq| store.append(append(&lease, seq, vec![output(seq + 1)]))).collect();
    for submitted in waiting {
        submitted.await.unwrap();
    }
    assert_eq!(store.load(&run("a"), None).unwrap().entries.len(), 200);
}

pub async fn entries_come_in_slices(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![output(2), output(3)]).await;
    store.append(append(&lease, 3, (4..=8).map(output).collect())).await.unwrap();
    store.append(append(&lease, 8, vec![output(9)])).await.unwrap();
    for after in 0..=10 {
        for limit in 0..=10 {
            let seqs: Vec<u64> = store
                .entries(&run("a"), after, limit)
                .unwrap()
                .iter()
                .map(|entry| entry.seq)
                .collect();
            let expected: Vec<u64> = (after + 1..=9).take(limit).collect();
            assert_eq!(seqs, expected, "after {after}, {limit} at most");
        }
    }
}

pub async fn a_snapshot_shortens_loading(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![output(2)]).await;
    for (head, seq) in [(2, 2), (4, 5)] {
        let snapshot = Some(Snapshot { seq, body: vec![u8::try_from(seq).unwrap(); 3] });
        let entries = vec![output(head + 1), output(head + 2)];
        store.append(Append { snapshot, ..append(&lease, head, entries) }).await.unwrap();
    }
    let loaded = store.load(&run("a"), None).unwrap();
    assert_eq!(loaded.snapshot, Some(Snapshot { seq: 5, body: vec![5; 3] }));
    assert_eq!(loaded.entries, [output(6)]);
    let all = store.load(&run("a"), Some(6)).unwrap();
    assert!(all.snapshot.is_none());
    assert_eq!(all.entries.len(), 6);
}

pub async fn inputs_are_consumed_once(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    for key in ["x", "y", "z"] {
        let input = Input::Timer { activation: 1, key: key.into() };
        assert!(store.deliver(&run("a"), input, Timestamp(5)).await.unwrap());
    }
    let numbers = |after| -> Vec<u64> {
        store.inputs(&run("a"), after).unwrap().iter().map(|(no, _)| *no).collect()
    };
    assert_eq!(numbers(0), [1, 2, 3]);
    assert_eq!(numbers(1), [2, 3]);
    let fired = entry(2, Event::TimerFired { activation: 1, key: "x".into() });
    store.append(Append { consumed: 2, ..append(&lease, 1, vec![fired]) }).await.unwrap();
    assert_eq!(numbers(0), [3]);
    assert_eq!(store.load(&run("a"), None).unwrap().inputs.len(), 1);
    store.append(Append { consumed: 3, ..append(&lease, 2, vec![]) }).await.unwrap();
    assert!(numbers(0).is_empty());
    let input = Input::Timer { activation: 1, key: "w".into() };
    store.deliver(&run("a"), input.clone(), at(6)).await.unwrap();
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [(4, input)]);
}

pub async fn unknown_runs_are_refused(store: Arc<dyn Store>) {
    let nobody = run("nobody");
    let lease = Lease { run: nobody.clone(), node: node("n1"), epoch: 1 };
    let pause = Input::Pause { by: Actor::local(), reason: None };
    assert!(matches!(
        store.append(append(&lease, 0, vec![])).await,
        Err(StoreError::UnknownRun(_))
    ));
    assert!(matches!(store.deliver(&nobody, pause, at(0)).await, Err(StoreError::UnknownRun(_))));
    assert!(matches!(store.load(&nobody, None), Err(StoreError::UnknownRun(_))));
    assert!(matches!(store.entries(&nobody, 0, 9), Err(StoreError::UnknownRun(_))));
    let claimed = store.claim_run(&nobody, &node("n1"), at(0), TTL).await;
    assert!(matches!(claimed, Err(StoreError::UnknownRun(_))));
    assert!(store.renew(vec![lease], at(9)).await.unwrap().is_empty());
    assert!(store.run(&nobody).unwrap().is_none());
}

pub async fn a_definition_is_kept_once(store: Arc<dyn Store>) {
    let first = Definition { hash: "h".into(), id: "travel".into(), body: "{}".into() };
    let second = Definition { body: "[]".into(), ..first.clone() };
    store.put_definition(first.clone()).await.unwrap();
    store.put_definition(second).await.unwrap();
    assert_eq!(store.definition("h").unwrap(), Some(first));
    assert_eq!(store.definition("g").unwrap(), None);
}
