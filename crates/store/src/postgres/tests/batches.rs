//! Many commands in one transaction.

use super::open_dyn;
use crate::conformance::fixtures::{
    append, asked, at, begin, decide, end, new_run, output, question, run, waiting,
};
use crate::{Follows, NewRun, RequestFilter, StoreError};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_appends_share_a_commit() {
    let (postgres, store) = open_dyn(&signoff_test_postgres::fresh(), "own");
    let mut leases = Vec::new();
    for n in 0..32 {
        leases.push(begin(&store, &format!("a{n}"), "own", vec![]).await);
    }
    let before = postgres.commits();
    let writers: Vec<_> = leases
        .into_iter()
        .map(|lease| {
            let store = store.clone();
            tokio::spawn(async move {
                for seq in 1..=20 {
                    store.append(append(&lease, seq, vec![output(seq + 1)])).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let commits = postgres.commits() - before;
    assert!(commits < 32 * 20 / 2, "{commits} commits for 640 appends");
    for n in 0..32 {
        assert_eq!(store.entries(&run(&format!("a{n}")), 0, 99).unwrap().len(), 21);
    }
}

#[tokio::test]
async fn one_broken_command_does_not_break_its_batch() {
    let (_, store) = open_dyn(&signoff_test_postgres::fresh(), "own");
    let lease = begin(&store, "a", "own", vec![asked(2, 1, question("?", None))]).await;
    let other = begin(&store, "b", "own", vec![]).await;
    // The same request a second time: the database refuses it after the fence was passed.
    let good = store.append(append(&other, 1, vec![output(2)]));
    let bad = store.append(append(&lease, 2, vec![asked(3, 1, question("again?", None))]));
    let also = store.append(append(&other, 2, vec![output(3)]));
    good.await.unwrap();
    let refused = bad.await;
    assert!(
        matches!(&refused, Err(StoreError::Failed(why)) if why.contains("duplicate")),
        "{refused:?}"
    );
    also.await.unwrap();
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 2);
    assert_eq!(store.run(&run("b")).unwrap().unwrap().head, 3);
    // What was learned in the broken batch is forgotten, and the next goes on from what is there.
    store.append(append(&lease, 2, vec![output(3)])).await.unwrap();
}

#[tokio::test]
async fn what_waits_is_written_before_closing() {
    let address = signoff_test_postgres::fresh();
    let (postgres, store) = open_dyn(&address, "own");
    let lease = begin(&store, "a", "own", vec![]).await;
    let all: Vec<_> =
        (1..100).map(|seq| store.append(append(&lease, seq, vec![output(seq + 1)]))).collect();
    drop((postgres, store));
    for one in all {
        one.await.unwrap();
    }
    let (_, store) = open_dyn(&address, "again");
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 100);
}

/// All kinds of commands at once, on few runs and few conversations, from two nodes: what they leave is what some order of
/// them would have left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_on_the_same_things_keep_their_order() {
    let address = signoff_test_postgres::fresh();
    let nodes = [open_dyn(&address, "one").1, open_dyn(&address, "two").1];
    for n in 0..8 {
        waiting(&nodes[0], &format!("asks{n}"), None).await;
    }
    // Each conversation goes on from nothing once, whoever is first.
    let next = |node: usize, n: usize| NewRun {
        follows: Follows::Exactly(None),
        entries: vec![crate::conformance::fixtures::entry(
            1,
            crate::conformance::fixtures::started_in("travel", &format!("conv_{n}"), None),
        )],
        ..new_run(&format!("next{n}of{node}"))
    };
    let mut work = Vec::new();
    for (node, store) in nodes.iter().enumerate() {
        for n in 0..8 {
            let (begun, decided) = (
                store.create_run(next(node, n + 10)),
                store.decide(decide(&run(&format!("asks{n}")), 1, "yes", "ann", 20)),
            );
            work.push(tokio::spawn(async move {
                let taken = matches!(decided.await.unwrap(), crate::Decided::Taken { .. });
                (begun.await.is_ok(), taken)
            }));
        }
    }
    let (mut begun, mut taken) = (0, 0);
    for one in work {
        let (did_begin, did_take) = one.await.unwrap();
        begun += usize::from(did_begin);
        taken += usize::from(did_take);
    }
    assert_eq!((begun, taken), (8, 8));
    let audit = nodes[1].audit(None, 0, 99).unwrap();
    let mut before = String::new();
    for (line, no) in audit.iter().zip(1..) {
        assert!(line.no == no && line.follows(&before), "{line:?}");
        before.clone_from(&line.hash);
    }
    assert_eq!(audit.len(), 16, "each was asked and decided");
}

/// A child's end comes to its parent while that parks: the parent is ready, or has it in its journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_end_of_a_child_is_missed() {
    let (_, store) = open_dyn(&signoff_test_postgres::fresh(), "own");
    for n in 0..40 {
        let name = format!("parent{n}");
        let parent = begin(&store, &name, "own", vec![]).await;
        let mut child = crate::conformance::fixtures::child_run(&format!("child{n}"), &run(&name));
        child.claim = Some(crate::Claim { node: "own".into(), until: at(99_000) });
        let lease = store.create_run(child).await.unwrap().unwrap().lease.unwrap();
        let park = crate::Append { rest: crate::Rest::Park, ..append(&parent, 1, vec![output(2)]) };
        let (parks, ends) = if n % 2 == 0 {
            let parks = store.append(park);
            (parks, store.append(end(&lease, 1)))
        } else {
            let ends = store.append(end(&lease, 1));
            (store.append(park), ends)
        };
        parks.await.unwrap();
        ends.await.unwrap();
        assert_eq!(store.inputs(&run(&name), 0).unwrap().len(), 1);
        let node = "own".into();
        let ready = store.claim(
            crate::Scope::Tree(run(&name)),
            &node,
            at(1),
            crate::conformance::fixtures::TTL,
            9,
        );
        assert_eq!(ready.await.unwrap().len(), 1, "{name}");
    }
    assert_eq!(store.count_requests(&RequestFilter::default()).unwrap(), 0);
}
